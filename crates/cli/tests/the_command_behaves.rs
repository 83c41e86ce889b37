//! A shell user pipes, redirects and asks for help.

mod command;

use std::io::Write;
use std::process::{Command, Stdio};

use command::sordino;

#[test]
fn help_and_version_succeed_on_standard_output() {
    for line in [
        "--help",
        "help",
        "account --help",
        "calibrate --help",
        "train --help",
        "predict --help",
        "--version",
    ] {
        let run = sordino(line);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{line}: {run:?}");
        assert!(!run.stdout.is_empty());
    }
    assert_eq!(sordino("--version").stdout.trim(), concat!("sordino ", env!("CARGO_PKG_VERSION")));
    assert!(sordino("account --help").stdout.contains("Examples:"));
}

/// An example that no longer runs is worse than none.
#[test]
fn the_examples_in_the_help_run() {
    let mut seen = 0;
    for verb in ["account", "calibrate"] {
        let help = sordino(&format!("{verb} --help")).stdout;
        let examples = help.lines().filter_map(|line| line.strip_prefix("    sordino "));
        for example in examples {
            assert_eq!(sordino(example).code, 0, "{example}");
            seen += 1;
        }
    }
    assert!(seen >= 5, "only {seen} examples were found");
}

#[test]
fn no_verb_shows_the_help_and_fails() {
    let run = sordino("");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("Usage: sordino"), "{run:?}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    for format in ["--compare", "--json"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sordino"))
            .args(["account", "-", "--delta", "1e-5", format])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The reader leaves before the command knows what to write.
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(br#"{"type":"pure","epsilon":0.5}"#).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(["account", "--noise-multiplier", "1", "--delta", "1e-5"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: cannot write the result"));
}

#[test]
fn results_are_plain_text() {
    let run = sordino("account --noise-multiplier 1 --delta 1e-5 --compare");
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'), "{run:?}");
    assert!(run.stdout.lines().all(|line| line == line.trim_end()), "{run:?}");
}

/// From the one definition of the flags: a flag that is added is in all of them.
#[test]
fn shells_and_manual_pages_know_every_verb_and_flag() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sordino(&format!("completions {shell}"));
        assert_eq!(script.code, 0, "{script:?}");
        for word in ["train", "predict", "calibrate", "checkpoint-every"] {
            assert!(script.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    let (all, train) = (sordino("man").stdout, sordino("man train").stdout);
    assert!(all.contains(".TH sordino 1") && all.contains("sordino\\-predict(1)"), "{all}");
    assert!(train.contains(".TH sordino-train 1") && train.contains("\\-\\-checkpoint\\-every"), "{train}");
    sordino("man trane").refuses(&["no verb `trane`", "did you mean `train`?"]);
}
