//! A planner chooses settings for a number of records, a budget and a limit of time. It needs no
//! data.

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
    // The default comes first if its score is within the error of the best.
    assert!(candidates[1..].windows(2).all(|pair| score(&pair[0]) >= score(&pair[1])), "{object}");
    // The classes of synthetic records can be told apart nine times out of ten.
    assert!(score(&candidates[0]) > 0.8 && score(&candidates[0]) < 1.0, "{object}");
    for candidate in candidates {
        assert!(candidate["seconds"].as_f64().unwrap() <= 300.0, "{candidate}");
    }
    for name in ["seconds_of_record", "seconds_of_step"] {
        let speed = object[name].as_f64().unwrap();
        assert!((0.0..1.0).contains(&speed), "{name} {speed}");
    }
    let said = plan("--rows 500 --minutes 5 --method gradient-descent");
    assert!(said.line("use").starts_with("--method "), "{said:?}");
    assert!(said.line("sure").starts_with("best of "), "{said:?}");
}

/// A run with the advised flags costs what the advice says.
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
    assert_eq!(flags, "--method gradient-descent");
    assert_eq!(guarantee["event"]["count"].as_u64(), Some(1000), "{flags} {guarantee}");
}

fn network_plan(more: &str) -> Run {
    let (data, schema) = (example("data/digits.csv.gz"), example("digits.toml"));
    let line = format!(
        "train {data} --schema {schema} --target digit --epsilon 3 --delta 1e-6 --model mlp --hidden 16 \
        --plan {more}"
    );
    sordino_in(&std::env::temp_dir(), &line.split_whitespace().collect::<Vec<_>>())
}

/// Networks are not rehearsed. Their candidates are ranked by a bound, which is typed here again
/// from the documentation.
#[test]
fn batches_passes_and_rate_of_a_network_are_chosen_by_a_bound() {
    let object = network_plan("--minutes 10 --json").object();
    let weights = 64.0 * 16.0 + 16.0 + 160.0 + 10.0;
    assert_eq!(object["weights"].as_f64(), Some(weights), "{object}");
    assert!(object["seconds_of_record"].as_f64().unwrap() < 1.0 && object["micro_batch"].as_u64() > Some(0));
    let candidates = object["candidates"].as_array().unwrap();
    // Batches of 64 to 512 of 1797 records, five numbers of passes each.
    assert_eq!(candidates.len() as u64 + object["too_long"].as_u64().unwrap(), 20, "{object}");
    let of = |candidate: &Value, name: &str| {
        candidate[name].as_f64().unwrap_or_else(|| panic!("{name}: {candidate}"))
    };
    let mut lengths = Vec::new();
    for candidate in candidates {
        let batch = of(candidate, "sampling_rate") * 1797.0;
        let noise = of(candidate, "noise_multiplier") * weights.sqrt() / batch;
        let bound = ((1.0 + noise * noise) / of(candidate, "steps")).sqrt();
        assert!((of(candidate, "bound") / bound - 1.0).abs() < 1e-9, "{candidate}");
        assert!(of(candidate, "seconds") <= 600.0 && candidate["score"].is_null(), "{candidate}");
        // The rule for learning rates, solved for the norm of the initial weights, which is the
        // same for all candidates: the noise moves the weights by 3 norms in all, unless the rate
        // is the largest stable one.
        let steps = of(candidate, "steps");
        let signal = steps.sqrt() / noise;
        let clip_norm = (100.0 * signal.powf(0.4).clamp(1.0, 10.0)).round() / 100.0;
        let rate = of(candidate, "learning_rate") / (1.0 - 0.9);
        let longest = f64::min(3.0, 1797.0 / steps);
        if rate < 0.999 * longest {
            lengths.push(rate * 0.375f64.sqrt() * clip_norm * steps / (3.0 * signal));
        }
    }
    assert!(lengths.len() > 5, "{object}");
    assert!(lengths.iter().all(|length| (length / lengths[0] - 1.0).abs() < 1e-9), "{lengths:?}");
    let bounds = || candidates.iter().map(|candidate| of(candidate, "bound"));
    let least = bounds().fold(f64::INFINITY, f64::min);
    let best = &candidates[0];
    assert!(of(best, "bound") <= 1.1 * least, "{object}");
    let alike = candidates.iter().filter(|candidate| of(candidate, "bound") <= 1.1 * least);
    assert!(alike.into_iter().all(|other| of(other, "seconds") >= of(best, "seconds")), "{object}");
}

/// A network run with the advised flags does what the advice says. No accuracy is promised.
#[test]
fn advice_on_a_network_can_be_followed() {
    let said = network_plan("--minutes 10 --batch-size 128");
    let flags = said.line("use").to_owned();
    assert!(flags.starts_with("--batch-size 128 --epochs "), "{said:?}");
    assert!(said.line("accuracy").starts_with("not estimated"), "{said:?}");
    assert!(said.line("memory").contains("micro-batches"), "{said:?}");
    assert!(said.stdout.contains("clip norms long in the mean of 128 records"), "{said:?}");
    let followed = network_plan(&flags);
    assert_eq!(followed.line("noise multiplier"), said.line("noise multiplier"), "{followed:?}");
    assert_eq!(followed.line("spend"), said.line("spend"), "{followed:?}");
    network_plan("--minutes 0.0000001").refuses(&["no method is done within", "--minutes"]);
    // With full batches, only the number of passes is chosen.
    let full = network_plan("--minutes 10 --method gradient-descent");
    assert!(full.line("use").starts_with("--epochs "), "{full:?}");
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
