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
        // The reader closes the pipe before the command has a result.
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

/// All come from one definition of the flags, so a new flag is in all of them.
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
    // `man ledger create` was once refused for its second word.
    let create = sordino("man ledger create").stdout;
    assert!(create.contains(".TH sordino-ledger-create 1") && create.contains("\\-\\-epsilon"), "{create}");
    sordino("man ledger creat").refuses(&["no verb `creat`", "did you mean `create`?"]);
    sordino("man trane").refuses(&["no verb `trane`", "did you mean `train`?"]);
}

/// What a command writes to a terminal, standard output and standard error together; `None` if the
/// system has no `script`.
#[cfg(target_os = "linux")]
fn on_a_terminal(folder: &std::path::Path, line: &str, colour: bool) -> Option<String> {
    let mut command = Command::new("script");
    command
        .args(["-qec", &format!("{} {line}", env!("CARGO_BIN_EXE_sordino")), "/dev/null"])
        .current_dir(folder);
    command.env("TERM", "xterm").env_remove("CLICOLOR").env_remove("NO_COLOR");
    if !colour {
        command.env("NO_COLOR", "1");
    }
    let output = command.stdin(Stdio::null()).output();
    if output.is_err() {
        eprintln!("skipped: this system has no `script`, so there is no terminal to write to");
    }
    Some(String::from_utf8_lossy(&output.ok()?.stdout).into_owned())
}

/// Errors about flags were once red, and other errors were not.
#[cfg(target_os = "linux")]
#[test]
fn all_errors_are_coloured_like_those_of_flags() {
    let here = command::folder("terminal");
    let ours = "man trane";
    let Some(text) = on_a_terminal(&here, ours, true) else { return };
    let label = "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m ";
    assert!(text.contains(&format!("{label}there is no verb")), "{text:?}");
    let flag = on_a_terminal(&here, "explain --nonsense", true).unwrap();
    assert!(flag.contains(label), "{flag:?}");
    let plain = on_a_terminal(&here, ours, false).unwrap();
    assert!(plain.contains("error: there is no verb") && !plain.contains('\u{1b}'), "{plain:?}");
    // There is no colour outside of a terminal.
    assert!(sordino(ours).stderr.starts_with("error: there is no verb"));
}

#[cfg(target_os = "linux")]
#[test]
fn progress_says_how_long_it_will_take() {
    let here = command::folder("progress");
    let records: String = (0..2000).map(|i| format!("0.{},{}\n", i % 10, ["no", "yes"][i % 2])).collect();
    std::fs::write(here.join("a.csv"), format!("x,y\n{records}")).unwrap();
    let schema = "columns.x = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'category', values \
        = ['no', 'yes'] }";
    std::fs::write(here.join("t.toml"), schema).unwrap();
    let line =
        "train a.csv --schema t.toml --target y --epsilon 1 --method gradient-descent --steps 3000 --out m";
    let Some(text) = on_a_terminal(&here, line, true) else { return };
    assert!(
        text.contains(" of 3000  a second to go  epsilon ") || text.contains(" s to go  epsilon "),
        "{text:?}"
    );
}
