//! A person wants to see what each accountant says, side by side.

mod command;

use command::{ends, sordino, sordino_reading};

const RUN: &str = "account --noise-multiplier 1.1 --sampling-rate 0.01 --steps 1000 --delta 1e-5";

#[test]
fn every_accountant_gives_a_line() {
    let run = sordino(&format!("{RUN} --compare"));
    for name in ["basic", "advanced", "rdp", "pld"] {
        assert!(run.stdout.lines().any(|line| line.starts_with(name)), "{name} is missing in {run:?}");
    }
    assert!(run.stdout.contains("accountant  epsilon at least  at most"), "{run:?}");
}

#[test]
fn the_object_lists_all_and_the_answer_is_the_tightest_of_them() {
    let object = sordino(&format!("{RUN} --compare --json")).object();
    let answer = ends(&object["epsilon"]);
    let lines = object["compare"].as_array().expect("a list");
    let names: Vec<&str> = lines.iter().map(|line| line["accountant"].as_str().expect("a name")).collect();
    assert_eq!(names, ["basic", "advanced", "rdp", "pld"]);
    for line in lines.iter().filter(|line| line["refused"].is_null()) {
        let (lower, upper) = ends(&line["epsilon"]);
        assert!(answer.1 <= upper, "{line} beats {answer:?}");
        assert!(lower <= answer.1, "{line} contradicts {answer:?}");
    }
    // The Rényi accountant is known to lose some 5 to 30 % here, and says at which order.
    let rdp = &lines[2];
    assert!(ends(&rdp["epsilon"]).1 > 1.01 * answer.1, "{rdp} against {answer:?}");
    assert!(rdp["order"].as_f64().expect("an order") > 1.0);
}

#[test]
fn without_compare_there_is_no_list() {
    assert!(sordino(&format!("{RUN} --json")).object().get("compare").is_none());
}

#[test]
fn basic_composition_of_pure_events_is_their_sum() {
    let event = br#"{"type":"repeated","count":8,"event":{"type":"pure","epsilon":0.25}}"#;
    let object = sordino_reading("account - --delta 0 --accountant basic --json", event).object();
    assert_eq!(object["accountant"], "basic");
    // The upper end may be inflated for rounding, never deflated.
    let upper = ends(&object["epsilon"]).1;
    assert!((2.0..2.000_000_1).contains(&upper), "{upper}");
}

#[test]
fn an_accountant_can_be_asked_by_name() {
    let epsilon = |name: &str| {
        let object = sordino(&format!("{RUN} --accountant {name} --json")).object();
        assert_eq!(object["accountant"], name);
        ends(&object["epsilon"]).1
    };
    assert!(epsilon("pld") < epsilon("rdp"));
}

#[test]
fn an_unknown_accountant_is_refused_and_the_known_ones_are_named() {
    sordino(&format!("{RUN} --accountant moments"))
        .refuses(&["moments", "auto", "basic", "advanced", "rdp", "pld"]);
}
