//! The `sordino` command: train within a budget, and say what private
//! computations cost, promise and leave.
//!
//! Results go to standard output, notes and errors to standard error. Exit 0: done; 1: the
//! honest answer is no; 2: could not run.
//!
//! A library only so that the program is a line, and whatever comes in from outside can be
//! tried on it without starting one.
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

/// What `sordino train --config` makes of a file's text: every setting that it gives, as TOML
/// again. `Err` says what is wrong with it.
pub fn effective_configuration(text: &str) -> Result<String, String> {
    train::effective_configuration(text).map_err(|error| error.to_string())
}
