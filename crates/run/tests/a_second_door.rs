//! The example is a front end of its own: metered, resumable, with a report and a model's
//! directory, and without the command.

use std::path::{Path, PathBuf};

use sordino_ledger::{Digest, Ledger, State};
use sordino_run::RunError;
use sordino_run::model::Stored;
use sordino_testing::Scratch;

#[path = "../examples/second_door.rs"]
#[allow(dead_code, reason = "its main is another program's")]
mod second_door;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

#[test]
fn a_network_is_trained_stopped_resumed_and_booked() {
    let folder = Scratch::new("second-door");
    let (data, schema) = (example("data/digits.csv.gz"), example("digits.toml"));
    second_door::give_a_budget(&data, &schema, &folder).unwrap();

    let stopped = second_door::train(&data, &schema, &folder, 5).unwrap_err();
    let stopped = stopped.downcast::<RunError>().unwrap();
    assert!(matches!(*stopped, RunError::Stopped { steps: 5, .. }), "{stopped}");
    let ledger = Ledger::open(&folder.join("budgets.ledger")).unwrap();
    let spent = ledger.total(2).unwrap();
    assert!(spent > 5.0 && spent <= 6.0, "{spent}");
    assert!(!folder.join("digits.model").exists());

    let trained = second_door::train(&data, &schema, &folder, u64::MAX).unwrap();
    assert!(trained.guarantee.metered && trained.guarantee.holds() && trained.guarantee.epsilon.upper <= 6.0);
    assert!((ledger.total(2).unwrap() - spent).abs() < 1e-12, "going on after a stop costs nothing");
    let out = folder.join("digits.model");
    let stored = Stored::open(&out).unwrap();
    assert_eq!(stored.guarantee.epsilon.upper, trained.guarantee.epsilon.upper);
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(report.starts_with("<!doctype html>") && report.contains("budgets.ledger"));
    let manifest = Digest::of(&std::fs::read(out.join("manifest.json")).unwrap());
    let charges = ledger.charges().unwrap();
    let last = charges.last().unwrap();
    assert!(matches!(last.state, State::Booked { result: Some(digest), .. } if digest == manifest));
    assert!(charges.iter().all(|charge| charge.state != State::Reserved));
    assert!(second_door::summary(&trained).unwrap().contains("left of the budget: 2.4"));
}
