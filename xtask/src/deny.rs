//! `cargo xtask deny`: licences, advisories and sources of every dependency, by `deny.toml`.
//!
//! It is not part of `cargo xtask test`: it needs a program that may not be installed, and new
//! advisories would make unchanged code fail.

use crate::failure::Failure;
use crate::run;

/// Runs cargo-deny, or says how to install it.
pub(crate) fn check() -> Result<(), Failure> {
    let installed =
        run::cargo().args(["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    if !installed {
        return Err(Failure::usage(
            "cargo-deny is not installed; `cargo install --locked cargo-deny` installs it",
        ));
    }
    run::shown(run::cargo().args(["deny", "check"]))
}
