//! A person has a budget and asks how much noise, how many steps or how large a sample it allows.

mod command;

use command::{ends, sordino};
use serde_json::Value;

const RUN: &str = "--delta 1e-5 --sampling-rate 0.004266666666666667 --steps 14062 --json";

#[track_caller]
fn close(value: &Value, least: f64) {
    let value = value.as_f64().expect("a number");
    assert!(least * (1.0 - 1e-9) <= value && value <= 1.001 * least, "{value} for {least}");
}

/// The least noise multipliers, from a contour integral at high precision.
#[test]
fn the_noise_is_enough_and_not_much_more() {
    for (epsilon, least) in [(1.0, 2.024_858_411), (2.93, 0.980_391_567), (8.0, 0.655_708_163_9)] {
        let object = sordino(&format!("calibrate --epsilon {epsilon} {RUN}")).object();
        close(&object["noise_multiplier"], least);
        let (lower, upper) = ends(&object["epsilon"]);
        assert!(lower <= upper && upper <= epsilon && upper >= 0.998 * epsilon, "{object}");
    }
}

#[test]
fn the_object_repeats_given_numbers_and_names_the_solved_one() {
    let object = sordino("calibrate --epsilon 2 --delta 1e-5 --neighbours replace --json").object();
    assert_eq!(object["sordino"], env!("CARGO_PKG_VERSION"));
    assert_eq!(object["format_version"], 1);
    assert_eq!(object["solved"], "noise_multiplier");
    assert_eq!(object["target_epsilon"], 2.0);
    assert_eq!(object["delta"], 1e-5);
    assert_eq!(object["sampling_rate"], 1.0);
    assert_eq!(object["steps"], 1);
    assert_eq!(object["neighbours"], "replace");
    assert!(object["accountant"].is_string());
}

#[test]
fn steps_are_the_most_that_fit() {
    let given = "--delta 1e-5 --noise-multiplier 1.1 --sampling-rate 0.01";
    let object = sordino(&format!("calibrate --epsilon 3 {given} --json")).object();
    assert_eq!(object["solved"], "steps");
    let steps = object["steps"].as_u64().expect("a count");
    let cost =
        |steps: u64| ends(&sordino(&format!("account {given} --steps {steps} --json")).object()["epsilon"]);
    assert!(cost(steps).1 <= 3.0, "{steps} steps cost {:?}", cost(steps));
    let more = steps + steps / 500 + 1;
    assert!(cost(more).1 > 3.0, "{more} steps would fit as well: {:?}", cost(more));
}

#[test]
fn the_sampling_rate_is_the_largest_that_fits() {
    let given = "--delta 1e-5 --noise-multiplier 1.1 --steps 2000";
    let object = sordino(&format!("calibrate --epsilon 3 {given} --json")).object();
    assert_eq!(object["solved"], "sampling_rate");
    let rate = object["sampling_rate"].as_f64().expect("a rate");
    let cost = |rate: f64| {
        ends(&sordino(&format!("account {given} --sampling-rate {rate} --json")).object()["epsilon"]).1
    };
    assert!(cost(rate) <= 3.0 && cost(rate * 1.002) > 3.0, "{rate}");
}

#[test]
fn the_table_shows_the_solved_number_first_and_rounds_the_noise_up() {
    let words = "--epsilon 2 --delta 1e-5 --sampling-rate 0.01 --steps 1000";
    let exact = sordino(&format!("calibrate {words} --json")).object()["noise_multiplier"].as_f64().unwrap();
    let run = sordino(&format!("calibrate {words}"));
    assert!(run.stdout.starts_with("noise multiplier  "), "{run:?}");
    let shown: f64 = run.line("noise multiplier").parse().unwrap();
    assert!(exact <= shown && shown <= exact * 1.00002, "{shown} for {exact}");
    assert_eq!((run.line("steps"), run.line("sampling rate"), run.line("target")), ("1000", "0.01", "2"));
    assert_eq!(run.stderr, "");
}

#[test]
fn without_a_delta_the_default_is_taken_and_a_note_says_so() {
    let run = sordino("calibrate --epsilon 2 --json");
    assert_eq!(run.object()["delta"], 1e-6);
    assert!(run.stderr.contains("delta = 1e-6"), "{run:?}");
}

#[test]
fn a_solved_number_can_be_named() {
    let object =
        sordino("calibrate --epsilon 3 --delta 1e-5 --noise-multiplier 30 --solve steps --json").object();
    assert_eq!((object["solved"].as_str(), object["sampling_rate"].as_f64()), (Some("steps"), Some(1.0)));
    let object =
        sordino("calibrate --epsilon 3 --delta 1e-5 --noise-multiplier 1.1 --solve sampling-rate --json")
            .object();
    assert_eq!((object["solved"].as_str(), object["steps"].as_u64()), (Some("sampling_rate"), Some(1)));
    // The spelling of JSON works too.
    for (unknown, given) in [("noise_multiplier", ""), ("sampling_rate", "--noise-multiplier 30")] {
        let line = format!("calibrate --epsilon 3 --delta 1e-5 {given} --solve {unknown} --json");
        assert_eq!(sordino(&line).object()["solved"], unknown);
    }
}

#[test]
fn an_unreachable_target_exits_1_and_says_what_to_change() {
    let run =
        sordino("calibrate --epsilon 0.001 --delta 1e-9 --noise-multiplier 0.1 --sampling-rate 0.5 --json");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
    let advice = "raise epsilon or delta, or the noise multiplier, or lower the sampling rate\n";
    assert!(run.stderr.starts_with("error: even one step") && run.stderr.ends_with(advice), "{run:?}");
}

#[test]
fn too_many_or_too_few_numbers_are_refused_with_a_remedy() {
    sordino("calibrate --epsilon 1 --noise-multiplier 1").refuses(&[
        "two unknowns",
        "--steps",
        "--sampling-rate",
    ]);
    sordino("calibrate --epsilon 1 --noise-multiplier 1 --steps 2 --sampling-rate 0.5")
        .refuses(&["nothing is left to solve", "sordino account"]);
    sordino("calibrate --epsilon 1 --solve steps").refuses(&["--solve steps needs --noise-multiplier"]);
    sordino("calibrate --epsilon 1 --solve noise --noise-multiplier 2")
        .refuses(&["leave --noise-multiplier out"]);
    sordino("calibrate --epsilon 1 --solve steps --noise-multiplier 2 --steps 3")
        .refuses(&["leave --steps out"]);
    sordino("calibrate").refuses(&["--epsilon"]);
}

#[test]
fn no_gaussian_noise_reaches_delta_zero() {
    sordino("calibrate --epsilon 1 --delta 0").refuses(&["--delta 0", "pure privacy", "Laplace"]);
}
