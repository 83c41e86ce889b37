//! Audits that are too long for every day: in release profile, with more outputs.

use super::no_options;
use crate::failure::Failure;
use crate::run;

/// Outputs of each audit of the suite.
const SAMPLES: &str = "1e6";

/// The audits of the test-suite, with the same verdicts on a million outputs or more.
pub(crate) fn suite(options: &[&str]) -> Result<(), Failure> {
    no_options(options)?;
    let tests =
        ["test", "--release", "--package", "sordino-audit", "--test", "every_mechanism_keeps_its_claim"];
    let broken = ["--test", "broken_mechanisms_are_caught"];
    run::shown(run::cargo().args(tests).args(broken).env("SORDINO_AUDIT_SAMPLES", SAMPLES))
}

/// DP-Sniper's table.
pub(crate) fn sniper(options: &[&str]) -> Result<(), Failure> {
    let program = ["run", "--quiet", "--release", "--package", "sordino-audit", "--example", "sniper", "--"];
    run::shown(run::cargo().args(program).args(options))
}
