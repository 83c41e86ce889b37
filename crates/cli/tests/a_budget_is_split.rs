//! A person has one budget and several releases to pay from it.

mod command;

use command::{ends, sordino};
use serde_json::Value;

fn parts(object: &Value) -> Vec<f64> {
    let parts = object["parts"].as_array().expect("a list");
    parts.iter().map(|part| part.as_f64().expect("a number")).collect()
}

#[test]
fn equal_parts_of_a_pure_budget_add_up_to_it() {
    let object = sordino("calibrate --epsilon 1 --parts 4 --delta 0 --json").object();
    assert_eq!((object["solved"].as_str(), object["delta"].as_f64()), (Some("parts"), Some(0.0)));
    let parts = parts(&object);
    assert_eq!(parts.len(), 4);
    assert!(parts.iter().all(|part| (0.2497..=0.25).contains(part)), "{parts:?}");
    assert!(ends(&object["epsilon"]).1 <= 1.0, "{object}");
}

#[test]
fn shares_are_proportions() {
    let object = sordino("calibrate --epsilon 2 --split 5,3,2 --delta 0 --json").object();
    let parts = parts(&object);
    for (part, share) in parts.iter().zip([1.0, 0.6, 0.4]) {
        assert!((0.999 * share..=share).contains(part), "{parts:?}");
    }
}

#[test]
fn many_parts_gain_from_a_delta() {
    let sum = |delta: &str| {
        let object = sordino(&format!("calibrate --epsilon 1 --parts 200 --delta {delta} --json")).object();
        assert!(ends(&object["epsilon"]).1 <= 1.0, "{object}");
        parts(&object).iter().sum::<f64>()
    };
    // Advanced composition: 200 parts at δ = 1e-5 cost about sqrt(2 · 200 · ln 1e5) of one, not
    // 200.
    assert!(sum("1e-5") > 2.0 * sum("0"));
}

#[test]
fn without_a_delta_parts_are_pure_and_a_note_says_so() {
    let run = sordino("calibrate --epsilon 1 --parts 3");
    assert_eq!(run.line("delta"), "0");
    let each: f64 = run.line("each of 3 parts").parse().unwrap();
    assert!(3.0 * each <= 1.0 && each > 0.333, "{each}");
    assert!(run.stderr.contains("delta = 0"), "{run:?}");
    assert_eq!(sordino("calibrate --epsilon 1 --parts 3 --quiet").stderr, "");
}

#[test]
fn a_table_has_a_line_for_each_part() {
    let run = sordino("calibrate --epsilon 1 --split 0.75,0.25 --delta 0");
    let part = |name: &str| run.line(name).parse::<f64>().unwrap();
    assert!((0.749..=0.75).contains(&part("part 1")) && (0.249..=0.25).contains(&part("part 2")), "{run:?}");
}

#[test]
fn nonsense_is_refused() {
    for shares in ["0,1", "-1,2", "nan", "inf,1", "a,b", "1,,2"] {
        sordino(&format!("calibrate --epsilon 1 --split {shares}"))
            .refuses(&["a share must be a finite number above 0"]);
    }
    sordino("calibrate --epsilon 1 --parts 0").refuses(&["--parts", "got 0"]);
    sordino("calibrate --epsilon 1 --parts 9007199254740992").refuses(&["at most 10000 parts"]);
    sordino("calibrate --epsilon 1 --parts 2 --split 1,1").refuses(&["--parts", "--split"]);
    sordino("calibrate --epsilon 1 --parts 2 --steps 5").refuses(&["--steps", "one question"]);
    sordino("calibrate --epsilon 1 --parts 2 --solve steps").refuses(&["--solve", "one question"]);
    sordino("calibrate --epsilon 0 --parts 2").refuses(&["nothing to share"]);
}
