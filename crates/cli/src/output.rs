//! Where words go: results to standard output, the rest to standard error.

use std::io::{self, ErrorKind, Write};

use sordino_run::Purse;

use crate::decimal;
use crate::error::Error;

/// Said wherever nothing is charged.
pub(crate) const UNMETERED_NOTE: &str =
    "no --ledger given: nothing was charged, and nobody adds this up with other releases";

/// Said of every release with seeded noise.
pub(crate) const SEEDED_NOTE: &str = "the noise is seeded: this is for tests, and nothing is promised";

/// What is left of the budget, for people.
pub(crate) fn left(purse: &Purse) -> Result<Option<String>, Error> {
    let budget = purse.terms().map(|terms| terms.epsilon.get());
    Ok(purse.left()?.zip(budget).map(|(left, budget)| format!("epsilon {}", decimal::left(left, budget))))
}

/// Prints a result. A reader that has seen enough (`| head -1`) is not an error.
pub(crate) fn result(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(Error::Write { source }),
        _ => Ok(()),
    }
}

/// Says something that is not the result.
pub(crate) fn note(text: &str) {
    say("note", text);
}

/// Says why the command stops, in the shape that clap uses for bad flags.
pub(crate) fn complain(error: &Error) {
    say("error", &error.to_string());
}

fn say(kind: &str, text: &str) {
    // If standard error is closed, nobody is left to tell.
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}
