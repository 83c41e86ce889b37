//! The `sordino` command: trains within a budget, and says what private computations cost, what
//! they promise and what is left of a budget.
//!
//! Results go to standard output, notes and errors to standard error. Exit 0: done; 1: the
//! honest answer is no; 2: could not run.
//!
//! It is a library only so that tests can feed it any input without starting a process.
#![forbid(unsafe_code)]

mod account;
mod args;
mod calibrate;
mod csv;
mod decimal;
mod describe;
mod error;
mod explain;
mod input;
mod json;
mod ledger;
mod manual;
mod output;
mod predict;
mod query;
mod schema;
mod split;
mod table;
mod train;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Verb};

/// Does what the command line asks for.
pub fn run() -> ExitCode {
    let done = match Arguments::parse().verb {
        Verb::Train(args) => train::run(*args),
        Verb::Predict(args) => predict::run(args),
        Verb::Account(args) => account::run(args),
        Verb::Calibrate(args) => calibrate::run(args),
        Verb::Explain(args) => explain::run(args),
        Verb::Query(args) => query::run(args),
        Verb::Ledger(args) => ledger::run(args),
        Verb::Schema(args) => schema::run(args),
        Verb::Completions(args) => manual::completions(args),
        Verb::Man(args) => manual::man(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            error.exit_code()
        }
    }
}

/// The settings that `sordino train --config` reads from a file's text, as TOML again. `Err` says
/// what is wrong with the text.
pub fn effective_configuration(text: &str) -> Result<String, String> {
    train::effective_configuration(text).map_err(|error| error.to_string())
}
