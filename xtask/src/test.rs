//! `cargo xtask test`: runs every check, the cheapest first, and stops at the first failure.

use std::time::Instant;

use crate::failure::Failure;
use crate::{book, python, run, widths};

/// A check: its name, and the function that does it.
type Check = (&'static str, fn() -> Result<(), Failure>);

const CHECKS: &[Check] = &[
    ("format", format),
    ("widths", widths::check),
    ("contents of the book", book::check_contents),
    ("lints", lints),
    ("tests: unit, property, integration, documentation, the book's Rust", tests),
    ("rustdoc", rustdoc),
    ("commands shown in the README and the book", book::check_outputs),
    ("the Python package: wheel, tests, doctests, notebooks", python::check),
];

/// The optional features, which are checked too.
const ALL_FEATURES: &str = "sordino-cli/postgresql,sordino/postgresql,sordino/arrow,sordino/parquet";

/// Runs every check and prints how long each took.
pub(crate) fn everything() -> Result<(), Failure> {
    let start = Instant::now();
    for (number, (name, check)) in CHECKS.iter().enumerate() {
        println!("\n== {}/{}  {name}", number + 1, CHECKS.len());
        let begun = Instant::now();
        check().map_err(|failure| Failure::check(format!("check `{name}` did not pass\n{failure}")))?;
        println!("== {name}: passed in {:.1} s", begun.elapsed().as_secs_f64());
    }
    println!("\nall {} checks passed in {:.0} s", CHECKS.len(), start.elapsed().as_secs_f64());
    Ok(())
}

fn format() -> Result<(), Failure> {
    run::shown(run::cargo().args(["fmt", "--all", "--", "--check"]))
}

fn lints() -> Result<(), Failure> {
    run::shown(run::cargo().args([
        "clippy",
        "--quiet",
        "--workspace",
        "--all-targets",
        "--features",
        ALL_FEATURES,
        "--",
        "-D",
        "warnings",
    ]))
}

fn tests() -> Result<(), Failure> {
    run::shown(run::cargo().args(["test", "--workspace", "--no-fail-fast", "--features", ALL_FEATURES]))
}

fn rustdoc() -> Result<(), Failure> {
    let words = ["doc", "--quiet", "--workspace", "--no-deps"];
    run::shown(run::cargo().args(words).env("RUSTDOCFLAGS", "-D warnings"))
}
