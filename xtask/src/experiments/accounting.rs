//! The accountants against each other, over ten thousand random nested events.

use super::no_options;
use crate::failure::Failure;
use crate::run;

const EVENTS: &str = "10000";

/// The comparison of the test-suite, in release profile and with more events.
pub(crate) fn run(options: &[&str]) -> Result<(), Failure> {
    no_options(options)?;
    let mut command = run::cargo();
    command.args(["test", "--release", "--package", "sordino-privacy", "--test", "tightest"]);
    run::shown(command.env("SORDINO_RANDOM_EVENTS", EVENTS))
}
