//! A manager asks what the numbers mean.

mod command;

use std::fs;

use command::{place, sordino, sordino_reading};

#[test]
fn a_pair_is_explained_in_numbers_and_words() {
    let run = sordino("explain --epsilon 1 --delta 1e-6 --people 10000 --group 4");
    assert_eq!(run.line("best attacker's advantage"), "at most 0.462118");
    assert!(run.line("detections at 0.01 false alarms").starts_with("at most 0.0271839"), "{run:?}");
    assert!(run.line("a group of 4").starts_with("epsilon 4 at delta 3.1192"), "{run:?}");
    let text = run.stdout.replace('\n', " ");
    for sentence in [
        "right in at most 74 of 100 cases; by tossing a coin, in 50",
        "from 50 to at most 74 of 100",
        "Among 10000 people that would be 0.01 records on average",
        "whoever holds the raw data still holds it",
    ] {
        assert!(text.contains(sentence), "{sentence:?} is not in {text}");
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{run:?}");
}

#[test]
fn json_has_the_facts_and_the_words() {
    let object = sordino("explain --epsilon 2 --json").object();
    assert_eq!((object["delta"].as_f64(), object["neighbours"].as_str()), (Some(0.0), Some("add_remove")));
    let found = object["attacks"][1]["true_positive_rate"].as_f64().unwrap();
    assert!((found - 0.0738906).abs() < 1e-6, "{object}");
    assert!(object["crowd"].is_null() && object["groups"].as_array().unwrap().len() == 2, "{object}");
    assert!(object["words"].as_array().unwrap().len() >= 6, "{object}");
}

/// One pair overstates what the best attacker can do with a Gaussian release.
#[test]
fn an_event_says_more_than_a_pair() {
    let event = br#"{"type":"gaussian","noise_multiplier":1}"#;
    let whole = sordino_reading("explain --event - --delta 1e-5 --json", event).object();
    let epsilon = whole["epsilon"].as_f64().unwrap();
    let pair = sordino(&format!("explain --epsilon {epsilon} --delta 1e-5 --json")).object();
    let found = |object: &serde_json::Value| object["attacks"][1]["true_positive_rate"].as_f64().unwrap();
    assert!((found(&whole) - 0.09236).abs() < 1e-4 && found(&pair) > 0.7, "{whole} {pair}");
}

#[test]
fn the_picture_is_written_to_the_named_file() {
    let path = place("curve.svg");
    let run = sordino(&format!("explain --epsilon 1 --svg {}", path.display()));
    assert!(run.stderr.contains("the picture is in"), "{run:?}");
    let svg = fs::read_to_string(&path).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.contains("guessing") && svg.trim_end().ends_with("</svg>"),
        "{svg}"
    );
    sordino("explain --epsilon 1 --svg /nowhere/at/all.svg").refuses(&["cannot write `/nowhere/at/all.svg`"]);
}

#[test]
fn nonsense_is_refused() {
    sordino("explain").refuses(&["--epsilon"]);
    sordino("explain --epsilon nan").refuses(&["epsilon"]);
    sordino("explain --epsilon -1").refuses(&["epsilon"]);
    sordino("explain --epsilon 1 --delta 1.5").refuses(&["delta"]);
    sordino("explain --epsilon 1 --people 0").refuses(&["people"]);
    sordino("explain --epsilon 1 --event x.json").refuses(&["cannot be used with"]);
    sordino("explain --event missing.json").refuses(&["cannot read `missing.json`"]);
}

/// The trade-off curve of a group of five needs losses so far out that the numbers of their cells
/// once overflowed.
#[test]
fn a_sampled_run_with_little_noise_is_explained() {
    let event =
        br#"{"neighbours":"zero_out","event":{"type":"repeated","count":40,"event":{"type":"poisson_sampled",
        "sampling_rate":0.1,"event":{"type":"gaussian","noise_multiplier":0.62}}}}"#;
    let run = command::sordino_reading("explain --event - --delta 1e-6", event);
    assert_eq!(run.code, 0, "{run:?}");
}
