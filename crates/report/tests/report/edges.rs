//! Runs at the edges: without a promise, a charge or scores, or with an event that no accountant
//! bounds.

use serde_json::json;
use sordino_privacy::Statement;
use sordino_report::{Better, Curve, Evaluation, PublicData, Report, RunFacts, Scale, Score};

use super::pages::{embedded, logistic};

/// The complete run with another guarantee, without its budget, which would contradict it.
fn with(neighbours: &str, epsilon: serde_json::Value, delta: f64, event: serde_json::Value) -> RunFacts {
    let mut run = logistic();
    run.guarantee = serde_json::from_value::<Statement>(json!({
        "neighbours": neighbours, "unit": "record", "epsilon": epsilon, "delta": delta, "accountant": "pld",
        "event": event, "arithmetic": 0.0, "seeded": false, "metered": false,
    }))
    .unwrap();
    run.budget = None;
    run.requested = None;
    run
}

/// The page of a run, after checks that it shows no NaN or similar words and that its JSON copy is
/// the run.
fn readable(run: &RunFacts) -> String {
    let report = Report::of(run);
    let (html, markdown) = (report.html(), report.markdown());
    assert_eq!(serde_json::from_str::<RunFacts>(embedded(&html)).unwrap(), *run);
    let page = html.split("<script").next().unwrap();
    for text in [page, &markdown] {
        for word in ["NaN", "inf", "-0 ", ">-0<", "null", "None", "Some("] {
            assert!(!text.contains(word), "{word:?} in {text}");
        }
    }
    html
}

#[test]
fn a_run_without_a_promise_says_so() {
    let run = with("add_remove", json!({"lower": null, "upper": null}), 0.0, json!({"type": "non_private"}));
    let html = readable(&run);
    assert!(html.contains("class=\"void\"") && html.contains("Nothing is promised"));
    assert!(html.contains("There is no finite ε at any δ"));
    assert!(!html.contains("plot-profile"));
}

/// Only the lower end is finite.
#[test]
fn an_open_upper_end_is_no_promise() {
    let event = json!({"type": "gaussian", "noise_multiplier": 1.0});
    let html = readable(&with("add_remove", json!({"lower": 0.5, "upper": null}), 1e-6, event));
    assert!(html.contains("ε is unbounded") && html.contains("class=\"void\""));
}

#[test]
fn a_release_that_costs_nothing_has_a_promise() {
    let html = readable(&with(
        "replace",
        json!({"lower": 0.0, "upper": 0.0}),
        1e-6,
        json!({"type": "composed", "events": []}),
    ));
    assert!(html.contains("ε ≤ <data value=\"0.0\">0</data>") && html.contains("plot-profile"));
    assert!(html.contains("right in at most 50\u{a0}of\u{a0}100 cases"));
}

/// Fixed-size sampling has no guarantee under `add_remove`: the accountant refuses, and only the
/// stated (ε, δ) is left.
#[test]
fn an_event_that_no_accountant_bounds_is_taken_on_trust() {
    let gaussian = json!({"type": "gaussian", "noise_multiplier": 1.0});
    let event = json!({
        "type": "sampled_without_replacement", "sample_size": 10, "population": 100, "event": gaussian
    });
    let run = with("add_remove", json!({"lower": 0.5, "upper": 0.75}), 1e-6, event);
    let html = readable(&run);
    let report = Report::of(&run);
    assert!(report.findings().iter().any(|finding| finding.code.name() == "not_confirmed"));
    assert!(html.contains("No accountant of the program") && html.contains("plot-attacker"));
    assert!(report.avoided().iter().all(|avoided| avoided.number != 9));
}

#[test]
fn few_diverged_and_constant_curves_are_shown() {
    let pure = json!({"type": "pure", "epsilon": 1.0});
    let mut run = with("zero_out", json!({"lower": 1.0, "upper": 1.0}), 0.0, pure);
    let curve = |values: &[f64]| {
        let mut curve = Curve::new("loss", Scale::Number, Better::Lower);
        values.iter().zip(0..).for_each(|(value, step)| curve.push(step, *value));
        curve
    };
    let curves = vec![
        curve(&[]),
        curve(&[0.3]),
        curve(&[2.0, 2.0]),
        curve(&[1.0, f64::NAN, -1e300]),
        curve(&[f64::INFINITY]),
    ];
    let scores = vec![Score::new("loss", f64::NAN, Better::Lower), Score::share("accuracy", 1.0)];
    let mut evaluation = Evaluation::new(PublicData::declared("test", None), scores);
    evaluation.curves = curves;
    run.evaluation = Some(evaluation);
    let html = readable(&run);
    for (id, there) in [
        ("plot-curve-1", false),
        ("plot-curve-2", true),
        ("plot-curve-3", true),
        ("plot-curve-4", true),
        ("plot-curve-5", false),
    ] {
        assert_eq!(html.contains(&format!("<figure id=\"{id}\">")), there, "{id}");
    }
    assert!(html.contains("not a number") && html.contains(">100.0\u{a0}%<"));
    run.evaluation = None;
    assert!(readable(&run).contains("Nothing was measured"));
}
