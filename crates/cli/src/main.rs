//! The `sordino` command: what does a private computation cost, how much noise is enough, and what is left?
//!
//! Results go to standard output, notes and errors to standard error. Exit 0: done; 1: the honest answer is
//! no; 2: could not run.
#![forbid(unsafe_code)]

mod account;
mod args;
mod calibrate;
mod decimal;
mod describe;
mod error;
mod input;
mod json;
mod ledger;
mod output;
mod schema;
mod split;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Verb};

fn main() -> ExitCode {
    let done = match Arguments::parse().verb {
        Verb::Account(args) => account::run(args),
        Verb::Calibrate(args) => calibrate::run(args),
        Verb::Ledger(args) => ledger::run(args),
        Verb::Schema(args) => schema::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            error.exit_code()
        }
    }
}
