//! Whatever the input, the command says what is wrong and exits with 2. It does not panic, hang or
//! answer silently.

mod command;

use std::fs::File;

use command::{account_file, place, sordino, sordino_reading};

#[track_caller]
fn refused(json: &str, parts: &[&str]) {
    sordino_reading("account - --delta 1e-5", json.as_bytes()).refuses(parts);
}

#[test]
fn texts_in_place_of_numbers_are_refused() {
    for value in ["nan", "inf", "-inf", "-1", "x", "", "1e400", "--json"] {
        let value = if value.is_empty() { "=" } else { value };
        sordino(&format!("account --noise-multiplier {value}")).refuses(&["--noise-multiplier"]);
        sordino(&format!("account --noise-multiplier 1 --delta {value}")).refuses(&["--delta"]);
        sordino(&format!("account --noise-multiplier 1 --epsilon {value}")).refuses(&["--epsilon"]);
        sordino(&format!("calibrate --epsilon {value}")).refuses(&["--epsilon"]);
        sordino(&format!("calibrate --epsilon 1 --sampling-rate {value}")).refuses(&["--sampling-rate"]);
        sordino(&format!("calibrate --epsilon 1 --steps {value}")).refuses(&["--steps"]);
    }
}

#[test]
fn numbers_out_of_range_are_refused() {
    sordino("account --noise-multiplier 0").refuses(&["noise multiplier must be", "got 0"]);
    sordino("account --noise-multiplier -1.1").refuses(&["noise multiplier must be", "got -1.1"]);
    sordino("account --noise-multiplier 1 --delta 1").refuses(&["delta must be", "got 1"]);
    sordino("account --noise-multiplier 1 --delta 1.5").refuses(&["delta must be", "got 1.5"]);
    sordino("account --noise-multiplier 1 --sampling-rate 1.0000001")
        .refuses(&["sampling rate must be", "got 1.0000001"]);
    sordino("account --noise-multiplier 1 --steps 0").refuses(&["--steps", "got 0"]);
    sordino("account --noise-multiplier 1 --steps 2.5").refuses(&["whole number", "2.5"]);
    sordino("account --noise-multiplier 1 --steps 18446744073709551616").refuses(&["--steps"]);
    sordino("account --noise-multiplier 1 --sampling-rate 1e-400")
        .refuses(&["sampling rate must be", "got 0"]);
}

#[test]
fn a_count_of_two_to_the_63_is_refused() {
    let count = "9223372036854775808";
    sordino(&format!("account --noise-multiplier 1 --sampling-rate 0.01 --steps {count}")).refuses(&[count]);
    refused(
        &format!(
            r#"{{"type":"repeated","count":{count},"event":{{"type":"gaussian","noise_multiplier":1}}}}"#
        ),
        &["count", "2^53"],
    );
}

/// The float next to this number is 2^53, which would be allowed.
#[test]
fn a_count_just_too_large_is_shown_unrounded() {
    let (count, message) = ("9007199254740993", "2^53, got 9007199254740993");
    sordino(&format!("account --noise-multiplier 1 --steps {count}")).refuses(&["--steps", message]);
    sordino(&format!("calibrate --epsilon 1 --parts {count}")).refuses(&["--parts", message]);
    refused(
        &format!(r#"{{"type":"repeated","count":{count},"event":{{"type":"pure","epsilon":1}}}}"#),
        &[message],
    );
}

#[test]
fn counts_whose_product_exceeds_64_bits_are_refused() {
    let inner = r#"{"type":"gaussian","noise_multiplier":100}"#;
    let nested = (0..8).fold(inner.to_owned(), |event, _| {
        format!(r#"{{"type":"repeated","count":1000000000,"event":{event}}}"#)
    });
    refused(&nested, &["number of releases", "at most"]);
}

#[test]
fn truncated_json_is_refused() {
    let whole = concat!(
        r#"{"neighbours":"add_remove","#,
        r#""event":{"type":"repeated","count":7,"event":{"type":"pure","epsilon":0.5}}}"#
    );
    for length in 0..whole.len() {
        refused(&whole[..length], &["standard input"]);
    }
    assert_eq!(sordino_reading("account - --delta 1e-5", whole.as_bytes()).code, 0);
}

#[test]
fn nesting_a_hundred_thousand_deep_is_refused() {
    let depth = 100_000;
    refused(&"[".repeat(depth), &["standard input"]);
    refused(&r#"{"a":"#.repeat(depth), &["standard input"]);
    let open = r#"{"type":"repeated","count":1,"event":"#;
    refused(&open.repeat(depth), &["standard input"]);
    let whole = format!("{}{}{}", open.repeat(depth), r#"{"type":"pure","epsilon":1}"#, "}".repeat(depth));
    refused(&whole, &["standard input"]);
    let listed = r#"{"type":"composed","events":["#;
    refused(&format!("{}{}", listed.repeat(depth), "]}".repeat(depth)), &["standard input"]);
}

#[test]
fn hostile_numbers_are_refused() {
    refused(r#"{"type":"gaussian","noise_multiplier":1e400}"#, &["standard input"]);
    refused(r#"{"type":"gaussian","noise_multiplier":NaN}"#, &["standard input"]);
    refused(r#"{"type":"gaussian","noise_multiplier":-Infinity}"#, &["standard input"]);
    refused(r#"{"type":"gaussian","noise_multiplier":-1}"#, &["noise_multiplier must be", "got -1"]);
    refused(r#"{"type":"gaussian","noise_multiplier":0}"#, &["noise_multiplier must be", "got 0"]);
    refused(r#"{"type":"pure","epsilon":null}"#, &["standard input"]);
    refused(&format!(r#"{{"type":"pure","epsilon":{}}}"#, "9".repeat(100_000)), &["standard input"]);
    refused(
        r#"{"type":"poisson_sampled","sampling_rate":1.5,"event":{"type":"gaussian","noise_multiplier":1}}"#,
        &["sampling_rate must be", "got 1.5"],
    );
    for count in ["0", "-1", "1.5", "1e30", "18446744073709551616"] {
        refused(
            &format!(r#"{{"type":"repeated","count":{count},"event":{{"type":"pure","epsilon":0.1}}}}"#),
            &["standard input"],
        );
    }
}

#[test]
fn wrong_types_unknown_words_and_duplicates_are_refused() {
    refused(r#"{"type":"gaussian","noise_multiplier":"1"}"#, &["standard input"]);
    refused(r#"{"type":"gaussian","noise_multiplier":[1]}"#, &["standard input"]);
    refused(r#"{"type":"gaussian"}"#, &["noise_multiplier"]);
    refused(r#"{"type":"gausian","noise_multiplier":1}"#, &["gausian", "gaussian"]);
    refused(r#"{"type":"gaussian","noise_multiplyer":1}"#, &["noise_multiplyer"]);
    refused(r#"{"type":"gaussian","noise_multiplier":100,"noise_multiplier":1}"#, &["noise_multiplier"]);
    refused(r#"{"event":{"type":"pure","epsilon":0.1},"event":{"type":"pure","epsilon":9}}"#, &["event"]);
    refused(r#"{"neighbours":"friends","event":{"type":"pure","epsilon":1}}"#, &["friends"]);
    refused(r#"{"neighbours":"replace"}"#, &["event"]);
    refused("[]", &["standard input"]);
    refused("17", &["standard input"]);
    refused("null", &["standard input"]);
    refused("", &["standard input: it is empty", "gaussian"]);
    refused("\u{feff} \n", &["standard input: it is empty"]);
    refused(r#"{"type":"pure","epsilon":1} {"type":"pure","epsilon":1}"#, &["standard input"]);
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    account_file("latin.json", b"{\"type\":\"p\xfcre\"}", "").refuses(&["latin.json", "UTF-8", "byte 11"]);
    let utf16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    account_file("wide.json", &[&[0xff, 0xfe], &utf16[..]].concat(), "").refuses(&["wide.json", "UTF-8"]);
}

#[test]
fn an_enormous_file_is_refused() {
    let path = place("huge.json");
    // A sparse file takes no space on disk.
    File::create(&path).and_then(|file| file.set_len((64 << 20) + 1)).unwrap();
    sordino(&format!("account {}", path.display())).refuses(&["huge.json", "67108864 bytes", "repeated"]);
}

#[test]
fn unknown_flags_and_verbs_are_refused() {
    sordino("account --noise-multiplyer 1").refuses(&["--noise-multiplyer", "--noise-multiplier"]);
    sordino("acount").refuses(&["acount", "account"]);
    // A verb that is planned has no stub.
    sordino("synthesize data.csv").refuses(&["synthesize"]);
}
