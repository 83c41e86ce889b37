//! Audits that take too long for the test suite: in release profile, with more outputs.

use super::no_options;
use crate::failure::Failure;
use crate::run;

/// The number of outputs of each audit.
const SAMPLES: &str = "1e6";
/// The test files with audits.
const TESTS: [&str; 3] =
    ["every_mechanism_keeps_its_claim", "every_statistic_keeps_its_claim", "broken_mechanisms_are_caught"];

/// Runs the audits of the test suite on a million outputs or more, which must give the same
/// verdicts.
pub(crate) fn suite(options: &[&str]) -> Result<(), Failure> {
    no_options(options)?;
    let mut command = run::cargo();
    command.args(["test", "--release", "--package", "sordino-audit"]);
    for name in TESTS {
        command.args(["--test", name]);
    }
    run::shown(command.env("SORDINO_AUDIT_SAMPLES", SAMPLES))
}

/// Prints DP-Sniper's table.
pub(crate) fn sniper(options: &[&str]) -> Result<(), Failure> {
    let program = ["run", "--quiet", "--release", "--package", "sordino-audit", "--example", "sniper", "--"];
    run::shown(run::cargo().args(program).args(options))
}
