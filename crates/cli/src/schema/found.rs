//! `sordino schema DATA --epsilon E`: bounds and values that nobody can declare, found with noise
//! and paid for.
//!
//! The order is that of every release: plan from public facts, pay, read the data through the
//! permissive door, release, book. The result is a schema that states its origin. Its guarantee is
//! in it as a comment and, with `--out`, in a file beside it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use sordino::prelude::*;
use sordino_data::{Discovered, Found};
use sordino_run::discovery::{Bought, PlannedDiscovery, Search};
use sordino_run::{Payment, Relation, RunError};

use super::SchemaArgs;
use crate::args::DEFAULT_DELTA_NOTE;
use crate::decimal;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output::{self, SEEDED_NOTE, UNMETERED_NOTE};

/// The flags of a search.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Find bounds and values with noise, for this epsilon; each column has an equal share
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Option<Epsilon>,

    /// At this delta, which only categories use [default: what the ledger set aside; else 1e-6]
    #[arg(long, requires = "epsilon", allow_hyphen_values = true)]
    delta: Option<Delta>,

    /// The schema to complete, with all that is known already
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    schema: Option<PathBuf>,

    /// Columns of numbers whose bounds to find
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "epsilon")]
    numbers: Vec<String>,

    /// Columns of categories whose values to find
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "epsilon")]
    categories: Vec<String>,

    /// What a neighbouring data set is [default: zero_out, as for training, or what the ledger
    /// says]
    #[arg(long, value_enum, requires = "epsilon")]
    neighbours: Option<Relation>,

    #[command(flatten)]
    payment: Payment,

    /// Write the schema here, and its guarantee beside it with the ending `.guarantee.json`;
    /// neither may exist
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    out: Option<PathBuf>,

    /// Repeatable noise, for tests: the guarantee is void and says so
    #[arg(long, value_name = "N", requires = "epsilon")]
    danger_seed: Option<u32>,
}

impl FindArgs {
    /// The first flag that needs a ledger, for a template, which costs nothing. clap refuses the
    /// other flags of a search.
    pub(crate) fn stray(&self) -> Option<&'static str> {
        let Payment { ledger, name, who } = &self.payment;
        let flags = [(ledger.is_some(), "--ledger"), (name.is_some(), "--name"), (who.is_some(), "--who")];
        flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

pub(crate) fn run(args: &SchemaArgs, epsilon: Epsilon) -> Result<(), Error> {
    let find = &args.find;
    let mut planned = PlannedDiscovery::new(&Search {
        data: args.data.clone(),
        epsilon,
        delta: find.delta,
        schema: find.schema.clone(),
        csv: args.csv.asked(),
        numbers: find.numbers.clone(),
        categories: find.categories.clone(),
        neighbours: find.neighbours,
        payment: find.payment.clone(),
        out: find.out.clone(),
        danger_seed: find.danger_seed,
    })?;
    find.out.iter().flat_map(|out| [out.clone(), beside(out)]).try_for_each(check_free)?;
    if !args.output.quiet {
        planned.note.into_iter().for_each(output::note);
    }
    if !args.output.quiet && planned.has_default_delta && !find.categories.is_empty() {
        output::note(DEFAULT_DELTA_NOTE);
    }
    let bought = planned.buy()?;
    let Bought { found, guarantee, text, .. } = &bought;
    if let Some(out) = &find.out {
        write(out, text, guarantee)?;
    }
    match (args.output.json, &find.out) {
        (true, _) => output::result(&object(found, guarantee)?)?,
        (false, None) => output::result(text)?,
        (false, Some(_)) => {}
    }
    planned.book(&bought)?;
    if !args.output.quiet {
        notes(found, guarantee).iter().for_each(|note| output::note(note));
    }
    Ok(())
}

fn check_free(path: PathBuf) -> Result<(), Error> {
    if fs::symlink_metadata(&path).is_ok() {
        return Err(RunError::FileExists { path }.into());
    }
    fs::File::create_new(&path)
        .and_then(|_| fs::remove_file(&path))
        .map_err(|source| RunError::WriteFile { name: path.display().to_string(), source }.into())
}

/// Writes the schema and its guarantee, such as `patients.toml` and `patients.guarantee.json`.
fn write(out: &Path, text: &str, guarantee: &Guarantee) -> Result<(), Error> {
    let pretty = serde_json::to_string_pretty(guarantee);
    let pretty = pretty.map_err(|error| RunError::Unwritable { reason: error.to_string() })? + "\n";
    for (path, content) in [(out.to_owned(), text), (beside(out), pretty.as_str())] {
        if let Err(source) = fs::write(&path, content) {
            // The schema is paid for, so it is at least printed.
            output::result(text)?;
            return Err(RunError::WriteFile { name: path.display().to_string(), source }.into());
        }
    }
    Ok(())
}

fn beside(out: &Path) -> PathBuf {
    out.with_extension("guarantee.json")
}

fn notes(found: &Discovered, guarantee: &Guarantee) -> Vec<String> {
    let mut notes = Vec::new();
    let missed: Vec<&str> = found
        .columns
        .iter()
        .filter(|(_, found)| *found == Found::Nothing)
        .map(|(name, _)| name.as_str())
        .collect();
    if !missed.is_empty() {
        notes.push(format!(
            "nothing stood out of the noise in {}: ignored; a larger epsilon, or a declaration, would help",
            missed.join(", ")
        ));
    }
    notes.push(format!("epsilon {}, delta {}", decimal::between(guarantee.epsilon), guarantee.delta));
    if !guarantee.metered {
        notes.push(UNMETERED_NOTE.to_owned());
    }
    if guarantee.seeded {
        notes.push(SEEDED_NOTE.to_owned());
    }
    notes
}

/// `sordino schema --epsilon E --json`.
#[derive(Serialize)]
struct FoundObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    columns: Vec<ColumnObject<'a>>,
    /// The completed schema, as TOML.
    schema: String,
    guarantee: &'a Guarantee,
}

#[derive(Serialize)]
struct ColumnObject<'a> {
    name: &'a str,
    #[serde(flatten)]
    found: FoundColumn<'a>,
}

#[derive(Serialize)]
#[serde(tag = "found", rename_all = "snake_case")]
enum FoundColumn<'a> {
    Number { bounds: [f64; 2] },
    Category { values: &'a [String] },
    Nothing,
}

impl<'a> ColumnObject<'a> {
    fn of((name, found): &'a (String, Found)) -> Self {
        let found = match found {
            Found::Number { bounds, .. } => FoundColumn::Number { bounds: [bounds.lower(), bounds.upper()] },
            Found::Category { values } => FoundColumn::Category { values },
            Found::Nothing => FoundColumn::Nothing,
        };
        Self { name, found }
    }
}

fn object(found: &Discovered, guarantee: &Guarantee) -> Result<String, Error> {
    json::text(&FoundObject {
        writer: Writer::this(),
        columns: found.columns.iter().map(ColumnObject::of).collect(),
        schema: found.schema.to_toml(),
        guarantee,
    })
}
