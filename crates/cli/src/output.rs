//! Writes results to standard output, and notes and errors to standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};

use sordino::privacy::Quote;
use sordino_run::Purse;

use crate::decimal;
use crate::error::Error;
use crate::table::Table;

/// The note on every release that no ledger is charged for.
pub(crate) const UNMETERED_NOTE: &str =
    "no --ledger given: nothing was charged, and no budget adds this to other releases";

/// The note on every release with seeded noise.
pub(crate) const SEEDED_NOTE: &str = "the noise is seeded: this is for tests, and nothing is promised";

/// What a charge takes of a budget, and what it leaves to the payer.
pub(crate) struct Taken {
    /// ε of the whole budget or grant.
    all: f64,
    quote: Quote,
    /// `all` for people, with the analyst's name if it is a grant.
    of: String,
}

impl Taken {
    pub(crate) fn new(purse: &Purse, quote: Option<Quote>) -> Result<Option<Self>, Error> {
        let Some((limit, quote)) = purse.limit()?.zip(quote) else { return Ok(None) };
        let all = limit.terms.epsilon.get();
        let whose = limit.share_of.map(|who| format!(", the grant of {who}")).unwrap_or_default();
        Ok(Some(Self { all, quote, of: format!("{}{whose}", decimal::exact(all)) }))
    }

    pub(crate) fn takes(&self) -> String {
        format!("{} of {}", decimal::up(self.quote.price()), self.of)
    }

    pub(crate) fn left_before(&self) -> String {
        format!("{} of {}", decimal::left(self.quote.before, self.all), self.of)
    }

    pub(crate) fn left_after(&self) -> String {
        format!("{} of {}", decimal::left(self.quote.after, self.all), self.of)
    }

    /// Adds the rows of a plan.
    pub(crate) fn plan(&self, table: &mut Table) {
        table.row(["takes", &self.takes()]);
        table.row(["left before", &self.left_before()]);
        table.row(["left after", &self.left_after()]);
    }
}

/// What is left to the payer, for people; `None` without a ledger.
pub(crate) fn left(purse: &Purse) -> Result<Option<String>, Error> {
    let Some(limit) = purse.limit()? else { return Ok(None) };
    let all = limit.terms.epsilon.get();
    let whose = limit.share_of.map(|who| format!(", the grant of {who}")).unwrap_or_default();
    Ok(Some(format!("{} of {}{whose}", decimal::left(limit.gauge.left, all), decimal::exact(all))))
}

/// Prints a result. A reader that closes the pipe early (`| head -1`) is not an error.
pub(crate) fn result(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(Error::Write { source }),
        _ => Ok(()),
    }
}

/// Prints a note.
pub(crate) fn note(text: &str) {
    say("note", text);
}

/// Prints why the command stops, in the form that clap uses for bad flags.
pub(crate) fn complain(error: &Error) {
    let _ = writeln!(io::stderr().lock(), "{} {error}", error_label());
}

fn say(kind: &str, text: &str) {
    // If standard error is closed, nobody reads it.
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}

/// `error:` as clap writes it: bold and red on a terminal.
fn error_label() -> &'static str {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let is_plain = !io::stderr().is_terminal()
        || !variable("NO_COLOR").is_empty()
        || variable("CLICOLOR") == "0"
        || variable("TERM") == "dumb";
    if is_plain { "error:" } else { "\x1b[1m\x1b[31merror:\x1b[0m" }
}
