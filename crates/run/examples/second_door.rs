//! A front end beside the command: it trains a network within a ledger's budget. If an earlier call
//! was stopped or killed, this one resumes from its checkpoint.
//!
//! ```text
//! cargo run --release -p sordino-run --example second_door -- \
//!     examples/data/digits.csv.gz examples/digits.toml /tmp/door
//! ```
//! The folder then has the ledger, the model with its guarantee, and `report.html`.
//! Everything that makes the run sound is in the library: this program chooses settings,
//! shows progress and prints the result.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use sordino_ledger::{Label, Ledger};
use sordino_privacy::{Count, Delta, Epsilon, Neighbours, Terms};
use sordino_run::training::{self, ImageShape, Observer, Session, Step, Trained};
use sordino_run::{LearnerSettings, Ownership, Payment, Settings, identity, read_schema};

#[allow(clippy::print_stdout, reason = "a program prints its result")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, schema, folder] = &arguments[..] else {
        return Err("usage: second_door DATA SCHEMA FOLDER".into());
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    give_a_budget(data.as_ref(), schema.as_ref(), folder)?;
    let trained = train(data.as_ref(), schema.as_ref(), folder, u64::MAX)?;
    print!("{}", summary(&trained)?);
    Ok(())
}

/// What the owner does once: creates a budget of ε = 8, and fixes that the file is read by this
/// schema.
pub(crate) fn give_a_budget(data: &Path, schema: &Path, folder: &Path) -> Result<(), Box<dyn Error>> {
    let place = folder.join("budgets.ledger");
    if Ledger::exists(&place)? {
        return Ok(());
    }
    let owner = Ownership { schema: Some(read_schema(schema)?), owner: Label::new("ann")?, lock: None };
    let (rules, unit) = owner.rules(None, Some(data))?;
    let terms =
        Terms::new(Epsilon::new(8.0)?, Neighbours::ZeroOut).with_delta(Delta::new(1e-6)?).for_unit(unit);
    Ledger::create(&place)?.create_data_set_with(&identity(data, None)?, &terms, &rules)?;
    Ok(())
}

/// Trains a small convolutional network, or resumes from the checkpoint of an earlier call. Stops
/// after `most` steps.
pub(crate) fn train(data: &Path, schema: &Path, folder: &Path, most: u64) -> Result<Trained, Box<dyn Error>> {
    let settings = Settings {
        data: Some(data.to_owned()),
        schema: Some(schema.to_owned()),
        target: Some("digit".to_owned()),
        epsilon: Some(Epsilon::new(6.0)?),
        learner: LearnerSettings {
            model: Some("cnn".to_owned()),
            image: Some("1x8x8".parse::<ImageShape>()?),
            batch_size: Some(Count::new(256)?),
            epochs: Some(Count::new(10)?),
            ..LearnerSettings::default()
        },
        payment: Payment {
            ledger: Some(folder.join("budgets.ledger")),
            who: Some(Label::new("ann")?),
            ..Payment::default()
        },
        out: Some(folder.join("digits.model")),
        ..Settings::default()
    };
    let stop = AtomicBool::new(false);
    let mut watch = Watch { stop: &stop, most };
    let resume = folder.join("digits.model.part/checkpoint").exists();
    Ok(training::train(&settings, Session { resume, stop: &stop, observer: &mut watch })?)
}

/// Shows every tenth step, and asks the run to stop when it has done enough.
struct Watch<'a> {
    stop: &'a AtomicBool,
    most: u64,
}

impl Observer for Watch<'_> {
    fn step(&mut self, step: &Step<'_>) {
        let (done, of) = (step.progress.step(), step.progress.of());
        if done.is_multiple_of(10) {
            eprintln!("{} {done} of {of}", step.name);
        }
        self.stop.store(done >= self.most, Ordering::Relaxed);
    }
}

pub(crate) fn summary(trained: &Trained) -> Result<String, Box<dyn Error>> {
    let left = trained.purse.left()?.unwrap_or_default();
    Ok(format!(
        "{} in {}\n{}\nleft of the budget: {left:.3}\n",
        trained.model.kind(),
        trained.plan.out.display(),
        trained.guarantee
    ))
}
