//! `cargo xtask deny`: licences, advisories and sources of every dependency, by `deny.toml`.
//!
//! Not a part of `cargo xtask test`: it needs a program that not everybody has, and the advisory
//! database changes under code that has not changed.

use crate::failure::Failure;
use crate::run;

/// Runs cargo-deny, or says how to get it.
pub(crate) fn check() -> Result<(), Failure> {
    let installed =
        run::cargo().args(["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    if !installed {
        return Err(Failure::usage(
            "cargo-deny is not installed; `cargo install --locked cargo-deny` brings it",
        ));
    }
    run::shown(run::cargo().args(["deny", "check"]))
}
