//! A program wrote down what was released; a person asks what the file costs.

mod command;

use std::fs;

use command::{account_file, encloses, ends, place, sordino, sordino_reading};

const GAUSSIAN: &str = r#"{"type":"gaussian","sigma":4,"sensitivity":1}"#;

#[test]
fn a_bare_event_means_add_remove() {
    let object = account_file("bare.json", GAUSSIAN.as_bytes(), "--delta 1e-5 --json").object();
    assert_eq!(object["neighbours"], "add_remove");
    assert_eq!(object["event"]["type"], "gaussian");
}

#[test]
fn a_file_may_state_its_relation_and_version() {
    let claim = format!(r#"{{"format_version":1,"neighbours":"replace","event":{GAUSSIAN}}}"#);
    let object = account_file("claim.json", claim.as_bytes(), "--delta 1e-5 --json").object();
    assert_eq!(object["neighbours"], "replace");
}

#[test]
fn standard_input_is_a_file_named_by_a_dash() {
    let object =
        sordino_reading("account - --delta 0 --json", br#"{"type":"laplace","noise_multiplier":10}"#)
            .object();
    encloses(&object["epsilon"], 0.1, 1e-3);
}

#[test]
fn printed_json_can_be_read_again() {
    let first =
        sordino("account --noise-multiplier 1.1 --sampling-rate 0.01 --steps 100 --delta 1e-5 --json")
            .object();
    let again = serde_json::json!({"neighbours": first["neighbours"], "event": first["event"]}).to_string();
    let second = sordino_reading("account - --delta 1e-5 --json", again.as_bytes()).object();
    assert_eq!(first, second);
}

#[test]
fn a_flag_completes_a_bare_event() {
    let event = br#"{"type":"gaussian","noise_multiplier":4}"#;
    let epsilon = |words: &str| {
        ends(&sordino_reading(&format!("account - --delta 1e-5 --json {words}"), event).object()["epsilon"]).1
    };
    assert!(epsilon("--neighbours replace") > 1.5 * epsilon(""));
}

#[test]
fn a_flag_may_repeat_the_relation_of_the_file_but_not_contradict_it() {
    let claim = format!(r#"{{"neighbours":"replace","event":{GAUSSIAN}}}"#);
    account_file("repeats.json", claim.as_bytes(), "--neighbours replace --json").object();
    account_file("contradicts.json", claim.as_bytes(), "--neighbours zero_out").refuses(&[
        "replace",
        "zero_out",
        "leave one",
    ]);
}

#[test]
fn flags_of_a_training_run_beside_a_file_are_refused() {
    for flag in ["--noise-multiplier 1", "--sampling-rate 0.5", "--steps 3"] {
        let name = flag.split(' ').next().unwrap();
        account_file("flags.json", GAUSSIAN.as_bytes(), flag).refuses(&[name, "FILE"]);
    }
}

#[test]
fn a_newer_format_is_refused() {
    let claim = format!(r#"{{"format_version":2,"neighbours":"replace","event":{GAUSSIAN}}}"#);
    account_file("newer.json", claim.as_bytes(), "").refuses(&["newer.json", "version", "2"]);
    let unknown =
        br#"{"format_version":2,"who":[],"neighbours":"add_remove","event":{"type":"brandnew","x":1}}"#;
    account_file("unknown.json", unknown, "").refuses(&["format_version must be 1, got 2", "newer program"]);
    let fraction = format!(r#"{{"format_version":1.0,"neighbours":"replace","event":{GAUSSIAN}}}"#);
    account_file("fraction.json", fraction.as_bytes(), "").refuses(&["a whole number for `format_version`"]);
}

#[test]
fn an_editor_may_have_put_a_byte_order_mark_in_front() {
    let text = format!("\u{feff}{GAUSSIAN}\r\n");
    account_file("mark.json", text.as_bytes(), "--json").object();
}

#[test]
fn a_missing_file_is_named() {
    sordino("account no-such-file.json").refuses(&["no-such-file.json", "cannot read"]);
}

#[test]
fn a_directory_is_not_a_file() {
    let folder = place("folder");
    fs::create_dir_all(&folder).unwrap();
    sordino(&format!("account {}", folder.display())).refuses(&["folder", "directory"]);
}

#[test]
fn an_event_that_no_accountant_can_bound_is_refused_by_name() {
    let event = br#"{"type":"poisson_sampled","sampling_rate":0.5,"event":{"type":"zcdp","rho":1}}"#;
    sordino_reading("account -", event).refuses(&["zcdp"]);
}

#[test]
fn no_privacy_is_an_honest_infinity() {
    let run = sordino_reading("account - --delta 1e-5 --json", br#"{"type":"non_private"}"#);
    assert_eq!(run.object()["epsilon"]["upper"], serde_json::Value::Null);
}
