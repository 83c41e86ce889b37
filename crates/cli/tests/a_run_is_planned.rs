//! With so many records, so much budget and so many minutes: what should be done? The data need not be there.

mod command;

use std::fs;

use command::{Run, ends, example, folder, sordino_in};
use serde_json::Value;

fn plan(more: &str) -> Run {
    let schema = example("breast-cancer.toml");
    let line = format!("train --schema {schema} --target diagnosis --epsilon 1 --delta 1e-6 --plan {more}");
    sordino_in(&std::env::temp_dir(), &line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn a_planner_needs_a_schema_and_a_number_of_records() {
    let object = plan("--rows 5000 --minutes 5 --json").object();
    assert_eq!((object["rows"].as_u64(), object["coordinates"].as_u64()), (Some(5000), Some(31)));
    let candidates = object["candidates"].as_array().unwrap();
    assert!(candidates.len() >= 6, "{object}");
    let score = |candidate: &Value| candidate["score"].as_f64().unwrap();
    assert!(candidates.windows(2).all(|pair| score(&pair[0]) >= score(&pair[1])), "{object}");
    // Invented records can be told apart nine times out of ten.
    assert!(score(&candidates[0]) > 0.8 && score(&candidates[0]) < 1.0, "{object}");
    for candidate in candidates {
        assert!(candidate["seconds"].as_f64().unwrap() <= 300.0, "{candidate}");
    }
    for name in ["seconds_of_data", "seconds_of_noise"] {
        let speed = object[name].as_f64().unwrap();
        assert!((0.0..1.0).contains(&speed), "{name} {speed}");
    }
    let said = plan("--rows 500 --minutes 5 --method gradient-descent");
    assert!(said.line("use").starts_with("--method "), "{said:?}");
    assert!(said.line("sure").starts_with("best of "), "{said:?}");
}

/// What is advised is what a run with these flags costs.
#[test]
fn advice_can_be_followed() {
    let said = plan("--rows 456 --minutes 1 --method gradient-descent");
    let flags = said.line("use").to_owned();
    let here = folder("followed");
    let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
    let line = format!(
        "train {data} --schema {schema} --target diagnosis --epsilon 1 --delta 1e-6 {flags} --out m --quiet"
    );
    let run = sordino_in(&here, &line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:?}");
    let guarantee = fs::read_to_string(here.join("m/guarantee.json")).unwrap();
    let guarantee: Value = serde_json::from_str(&guarantee).unwrap();
    assert!(ends(&guarantee["epsilon"]).1 <= 1.0, "{guarantee}");
    let steps: u64 = flags.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(guarantee["event"]["count"].as_u64(), Some(steps), "{flags} {guarantee}");
}

#[test]
fn a_planner_that_cannot_help_says_why() {
    plan("--rows 1000000000 --minutes 0.0001")
        .refuses(&["no method is done within 0.0001 minutes", "--minutes"]);
    plan("--minutes 5").refuses(&["--rows N is missing"]);
    plan("--rows 100 --minutes 0").refuses(&["--minutes", "above 0"]);
    plan("--rows 100 --minutes 5 --method sgd --steps 10 --target nobody").refuses(&["--target"]);
    let digits = example("digits.toml");
    let line = format!("train --schema {digits} --target digit --epsilon 1 --rows 1000 --plan --minutes 1");
    let pattern = sordino_in(&std::env::temp_dir(), &line.split(' ').collect::<Vec<_>>());
    pattern.refuses(&["name DATA"]);
    let line = format!("train --schema {digits} --target digit --epsilon 1 --rows 1000 --minutes 1");
    sordino_in(&std::env::temp_dir(), &line.split(' ').collect::<Vec<_>>()).refuses(&["--plan"]);
}
