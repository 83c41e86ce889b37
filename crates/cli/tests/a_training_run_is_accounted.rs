//! A person trains with DP-SGD and asks what it cost.

mod command;

use command::{encloses, ends, sordino};
use serde_json::json;

const MNIST: &str =
    "account --noise-multiplier 1.1 --sampling-rate 0.004266666666666667 --steps 14062 --delta 1e-5";

/// The exact ε of [`MNIST`], from a contour integral at high precision.
const MNIST_EPSILON: f64 = 2.381596921;

#[test]
fn the_interval_contains_the_truth_and_is_narrow() {
    let object = sordino(&format!("{MNIST} --json")).object();
    encloses(&object["epsilon"], MNIST_EPSILON, 1e-3);
}

#[test]
fn the_object_says_what_was_asked_and_who_answered() {
    let object = sordino(&format!("{MNIST} --json")).object();
    assert_eq!(object["sordino"], env!("CARGO_PKG_VERSION"));
    assert_eq!(object["format_version"], 1);
    assert_eq!(object["neighbours"], "add_remove");
    assert_eq!(object["delta"], 1e-5);
    assert_eq!(object["accountant"], "pld");
    assert_eq!(
        object["event"],
        json!({"type":"repeated","count":14062,"event":{"type":"poisson_sampled",
            "sampling_rate":0.004266666666666667,"event":{"type":"gaussian","noise_multiplier":1.1}}})
    );
}

#[test]
fn the_table_rounds_the_promise_up_and_the_lower_end_down() {
    let bound = sordino(&format!("{MNIST} --json")).object()["epsilon"].clone();
    let (lower, upper) = ends(&bound);
    let run = sordino(MNIST);
    let words: Vec<&str> = run.line("epsilon").split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let ["at", "most", high, "at", "least", low] = words[..] else { panic!("{run:?}") };
    let (high, low): (f64, f64) = (high.parse().unwrap(), low.parse().unwrap());
    assert!(upper <= high && high <= upper * 1.00002, "{high} for {bound}");
    assert!(low <= lower && lower * 0.99998 <= low, "{low} for {bound}");
    assert_eq!(run.line("delta"), "1e-5");
    assert_eq!(run.line("neighbours"), "add_remove");
    assert_eq!(run.stderr, "");
}

#[test]
fn without_a_delta_the_default_is_taken_and_a_note_says_so() {
    let run = sordino("account --noise-multiplier 4 --json");
    assert_eq!(run.object()["delta"], 1e-6);
    assert!(run.stderr.starts_with("note: ") && run.stderr.contains("delta = 1e-6"), "{run:?}");
}

#[test]
fn quiet_leaves_the_notes_out_and_the_result_in() {
    let run = sordino("account --noise-multiplier 4 --json --quiet");
    assert_eq!(run.object()["delta"], 1e-6);
    assert_eq!(run.stderr, "");
}

#[test]
fn asking_for_delta_gives_an_interval_of_delta() {
    // Balle and Wang 2018, Theorem 8: δ = Φ(μ/2 - ε/μ) - exp(ε) Φ(-μ/2 - ε/μ), here with μ = 1 and
    // ε = 1: Φ(-1/2) - e Φ(-3/2) = 0.30853753872598690 - 2.7182818284590452 * 0.06680720126885807.
    let truth = 0.308_537_538_725_986_9 - std::f64::consts::E * 0.066_807_201_268_858_07;
    let object = sordino("account --noise-multiplier 1 --epsilon 1 --json").object();
    assert_eq!(object["epsilon"], 1.0);
    encloses(&object["delta"], truth, 1e-3);
}

#[test]
fn asking_both_ways_at_once_is_refused_with_the_reason() {
    sordino("account --noise-multiplier 1 --epsilon 1 --delta 1e-5").refuses(&[
        "--delta",
        "--epsilon",
        "nothing is left",
    ]);
}

#[test]
fn replace_costs_more_than_add_remove() {
    let upper = |relation: &str| {
        ends(
            &sordino(&format!("account --noise-multiplier 2 --delta 1e-5 --neighbours {relation} --json"))
                .object()["epsilon"],
        )
        .1
    };
    // Twice the distance is half the noise.
    let half = ends(&sordino("account --noise-multiplier 1 --delta 1e-5 --json").object()["epsilon"]).1;
    assert_eq!(upper("replace"), half);
    assert_eq!(upper("zero_out"), upper("add_remove"));
    assert!(upper("replace") > upper("add_remove"));
}

#[test]
fn steps_or_sampling_without_noise_are_refused() {
    sordino("account --steps 3").refuses(&["--steps needs --noise-multiplier"]);
    sordino("account --sampling-rate 0.1").refuses(&["--sampling-rate needs --noise-multiplier"]);
}

#[test]
fn nothing_to_account_for_is_explained() {
    sordino("account").refuses(&["nothing to account for", "FILE", "--noise-multiplier", "--help"]);
    sordino("account --delta 1e-5").refuses(&["nothing to account for"]);
}

#[test]
fn delta_zero_is_an_honest_infinity_for_gaussian_noise() {
    let run = sordino("account --noise-multiplier 1 --delta 0 --json");
    assert_eq!(run.object()["epsilon"], json!({"lower": null, "upper": null}));
    assert_eq!(sordino("account --noise-multiplier 1 --delta 0").line("epsilon"), "unbounded");
}
