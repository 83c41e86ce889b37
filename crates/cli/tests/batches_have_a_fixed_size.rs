//! `--sampling fixed` draws batches of exactly `--batch-size` records, and pays for such batches.

mod command;

use std::fs;
use std::path::PathBuf;

use command::{Run, ends, example, folder, sordino_in};
use serde_json::Value;

fn train(name: &str, more: &str) -> (PathBuf, Run) {
    let here = folder(name);
    let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
    let line = format!(
        "train {data} --schema {schema} --target diagnosis --epsilon 2 --delta 1e-5 --out m --quiet {more}"
    );
    let run = sordino_in(&here, &line.split_whitespace().collect::<Vec<_>>());
    (here, run)
}

fn object(place: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(place).unwrap()).unwrap()
}

#[test]
fn the_event_says_what_is_sampled() {
    let (here, run) =
        train("fixed-linear", "--sampling fixed --batch-size 50 --steps 40 --neighbours replace");
    assert_eq!(run.code, 0, "{run:?}");
    let guarantee = object(here.join("m/guarantee.json"));
    assert_eq!(guarantee["neighbours"], "replace");
    assert!(ends(&guarantee["epsilon"]).1 <= 2.0, "{guarantee}");
    let step = &guarantee["event"]["event"];
    assert_eq!(step["type"], "sampled_without_replacement", "{guarantee}");
    assert_eq!((step["sample_size"].as_u64(), step["population"].as_u64()), (Some(50), Some(456)));
    let configuration = fs::read_to_string(here.join("m/configuration.toml")).unwrap();
    assert!(configuration.contains("sampling = \"fixed\"\n"), "{configuration}");
    assert!(configuration.contains("batch_size = 50\n"), "{configuration}");
    assert!(!configuration.contains("sampling_rate"), "{configuration}");
    let report = fs::read_to_string(here.join("m/report.html")).unwrap();
    assert!(report.contains("batch_size"), "the report states the size");
}

#[test]
fn a_network_has_batches_of_fixed_size_too() {
    let (here, run) = train(
        "fixed-network",
        "--model mlp --hidden 4 --sampling fixed --batch-size 64 --epochs 2 --neighbours replace",
    );
    assert_eq!(run.code, 0, "{run:?}");
    let event = &object(here.join("m/guarantee.json"))["event"];
    // Two passes over 456 records by batches of 64.
    assert_eq!(event["count"].as_u64(), Some(15), "{event}");
    assert_eq!(event["event"]["type"], "sampled_without_replacement", "{event}");
}

#[test]
fn what_does_not_fit_is_refused() {
    for (more, expected) in [
        ("--sampling fixed", "give --neighbours replace"),
        ("--sampling fixed --batch-size 500 --neighbours replace", "a batch of 500 is more than all 456"),
        ("--sampling fixed --sampling-rate 0.1 --neighbours replace", "--sampling-rate has no meaning"),
        ("--sampling fixed --method gradient-descent --neighbours replace", "--sampling has no meaning"),
    ] {
        let (_, run) = train("fixed-refused", more);
        assert_eq!(run.code, 2, "{more}: {run:?}");
        let said = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(expected), "{more}: {said}");
    }
}
