//! `sordino schema DATA --epsilon E`: bounds and values that nobody can declare, found with noise and paid for.
//!
//! The order is that of every release: plan from public things, pay, read the data through the permissive door, release, book. What comes out is
//! a schema that says where it comes from; its guarantee is in it as a comment and, with `--out`, in a file beside it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use sordino::noise::danger;
use sordino::prelude::*;
use sordino_data::{Column, Discovered, Discovery, DiscoveryPlan, Found, Schema, Source, TypeHint};
use sordino_ledger::Digest;

use super::SchemaArgs;
use crate::args::{DEFAULT_DELTA_NOTE, Relation, default_delta};
use crate::decimal;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::nearest::hint;
use crate::output;
use crate::purse::{Payment, Purse, SEEDED_NOTE, UNMETERED_NOTE, purpose};
use crate::schema_file;

/// Flags that only a search has.
#[derive(Debug, Args)]
pub(crate) struct FindArgs {
    /// Find bounds and values with noise, for this epsilon; each column has an equal share
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Option<Epsilon>,

    /// At this delta; only categories use one [default: what the ledger set aside; else 1e-6]
    #[arg(long, requires = "epsilon", allow_hyphen_values = true)]
    delta: Option<Delta>,

    /// What is known already: a schema, to be completed
    #[arg(long, value_name = "FILE", requires = "epsilon", conflicts_with = "delimiter")]
    schema: Option<PathBuf>,

    /// Columns of numbers whose bounds are to be found
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "epsilon")]
    numbers: Vec<String>,

    /// Columns of categories whose values are to be found
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "epsilon")]
    categories: Vec<String>,

    /// What a neighbouring data set is [default: zero_out, as for training, or what the ledger says]
    #[arg(long, value_enum, requires = "epsilon")]
    neighbours: Option<Relation>,

    #[command(flatten)]
    payment: Payment,

    /// Write the schema here, and its guarantee beside it with the ending `.guarantee.json`; neither may exist
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    out: Option<PathBuf>,

    /// Repeatable noise, for tests: the guarantee is void and says so
    #[arg(long, value_name = "N", requires = "epsilon")]
    danger_seed: Option<u32>,
}

impl FindArgs {
    /// A flag of the ledger's that makes no sense without a price. The others say so themselves.
    pub(crate) fn stray(&self) -> Option<&'static str> {
        let Payment { ledger, name, who } = &self.payment;
        let flags = [(ledger.is_some(), "--ledger"), (name.is_some(), "--name"), (who.is_some(), "--who")];
        flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

pub(crate) fn run(args: &SchemaArgs, epsilon: Epsilon) -> Result<(), Error> {
    if epsilon.get() == 0.0 {
        return Err(Error::NoEpsilon);
    }
    let find = &args.find;
    let known = known(find.schema.as_deref(), args.delimiter)?;
    let source = Source::open(&args.data, known.csv())?;
    let unit = known.unit().unit();
    let asked = find.neighbours.map(Relation::neighbours);
    let what = purpose("schema", None);
    let mut purse = Purse::open(&args.data, &find.payment, asked, Neighbours::ZeroOut, what)?;
    let columns = Columns { numbers: &find.numbers, categories: &find.categories };
    let wanted = wanted(&columns, known, &source, purse.neighbours())?;
    let (delta, has_default) = delta(find, &purse);
    let plan = wanted.plan(epsilon, delta)?;
    find.out.iter().flat_map(|out| [out.clone(), beside(out)]).try_for_each(check_free)?;
    purse.ask(&plan.claim(), &unit)?;
    if !args.output.quiet && has_default && !find.categories.is_empty() {
        output::note(DEFAULT_DELTA_NOTE);
    }
    let bought = search(&plan, &source, &mut purse, unit, delta, find.danger_seed)?;
    let Bought { found, guarantee, text, reservation } = bought;
    if let Some(out) = &find.out {
        write(out, &text, &guarantee)?;
    }
    match (args.output.json, &find.out) {
        (true, _) => output::result(&object(&found, &guarantee)?)?,
        (false, None) => output::result(&text)?,
        (false, Some(_)) => {}
    }
    if let Some(reservation) = reservation {
        purse.book(reservation, Some(Digest::of(text.as_bytes())))?;
    }
    if !args.output.quiet {
        notes(&found, &guarantee).iter().for_each(|note| output::note(note));
    }
    Ok(())
}

/// A schema that was paid for and not booked yet.
pub(crate) struct Bought {
    found: Discovered,
    pub(crate) guarantee: Guarantee,
    /// TOML, with where it comes from.
    pub(crate) text: String,
    pub(crate) reservation: Option<u64>,
}

/// Pays and looks.
pub(crate) fn search(
    plan: &DiscoveryPlan,
    source: &Source,
    purse: &mut Purse,
    unit: Unit,
    delta: Delta,
    seed: Option<u32>,
) -> Result<Bought, Error> {
    let permit = purse.pay(plan.claim(), unit, delta)?;
    let reservation = permit.reservation();
    let (found, guarantee) = release(plan, source, permit, seed)?.into_parts();
    Ok(Bought { text: text(&found, &guarantee)?, found, guarantee, reservation })
}

/// Columns that are named, by what they hold.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) numbers: &'a [String],
    pub(crate) categories: &'a [String],
}

/// What is declared already; where nothing is, everything is ignored.
pub(crate) fn known(path: Option<&Path>, delimiter: u8) -> Result<Schema, Error> {
    if let Some(path) = path {
        return schema_file::read(path);
    }
    let delimiter = char::from(delimiter).escape_default();
    Ok(Schema::from_toml(&format!("csv.delimiter = \"{delimiter}\"\ncolumns.'*' = {{ kind = 'ignore' }}"))?)
}

/// The columns that are named; if none is, all that the schema does not know and of which the file says what they hold.
pub(crate) fn wanted(
    named: &Columns<'_>,
    known: Schema,
    source: &Source,
    neighbours: Neighbours,
) -> Result<Discovery, Error> {
    let names = source.names();
    let stranger = named.numbers.iter().chain(named.categories).find(|name| !names.contains(name));
    if let Some(column) = stranger {
        let hint = hint(column, names.iter().map(String::as_str));
        return Err(Error::NoSuchColumn { column: column.clone(), hint });
    }
    let is_open = |name: &str| matches!(known.column(name), None | Some(Column::Ignore));
    let unit = known.unit().column().map(str::to_owned);
    let open: Vec<_> = source
        .header()
        .iter()
        .filter(|column| is_open(&column.name) && unit.as_ref() != Some(&column.name))
        .collect();
    let mut wanted = Discovery::new(known.clone(), neighbours);
    if !named.numbers.is_empty() || !named.categories.is_empty() {
        wanted = named.numbers.iter().fold(wanted, |wanted, name| wanted.number(name));
        return Ok(named.categories.iter().fold(wanted, |wanted, name| wanted.category(name)));
    }
    for column in open {
        wanted = match column.hint {
            TypeHint::Number | TypeHint::Byte => wanted.number(&column.name),
            TypeHint::Text | TypeHint::Boolean => wanted.category(&column.name),
            TypeHint::Nested => wanted,
            TypeHint::Unknown => return Err(Error::UnknownKind { column: column.name.clone() }),
        };
    }
    Ok(wanted)
}

/// δ of the categories, and whether it is the fixed default.
fn delta(find: &FindArgs, purse: &Purse) -> (Delta, bool) {
    match (find.delta, purse.terms()) {
        (Some(delta), _) => (delta, false),
        (None, Some(terms)) => (terms.set_aside, false),
        (None, None) => (default_delta(), true),
    }
}

fn release(
    plan: &DiscoveryPlan,
    source: &Source,
    permit: Permit,
    seed: Option<u32>,
) -> Result<Release<Discovered>, Error> {
    let content = source.content()?;
    Ok(match seed {
        Some(seed) => plan.release_with(source, content, permit, &mut danger::seeded(u64::from(seed)))?,
        None => plan.release(source, content, permit)?,
    })
}

/// The schema, with where it comes from.
fn text(found: &Discovered, guarantee: &Guarantee) -> Result<String, Error> {
    let written = serde_json::to_string(guarantee);
    let written = written.map_err(|error| Error::Unwritable { reason: error.to_string() })?;
    Ok(format!(
        "# Bounds and values in this file were found in the data with noise, and paid for.\n# {guarantee}\n# {written}\n{}",
        found.schema.to_toml()
    ))
}

fn check_free(path: PathBuf) -> Result<(), Error> {
    if fs::symlink_metadata(&path).is_ok() {
        return Err(Error::FileExists { path });
    }
    fs::File::create_new(&path)
        .and_then(|_| fs::remove_file(&path))
        .map_err(|source| Error::WriteFile { name: path.display().to_string(), source })
}

/// `patients.toml` and `patients.guarantee.json`.
fn write(out: &Path, text: &str, guarantee: &Guarantee) -> Result<(), Error> {
    let pretty = serde_json::to_string_pretty(guarantee);
    let pretty = pretty.map_err(|error| Error::Unwritable { reason: error.to_string() })? + "\n";
    for (path, content) in [(out.to_owned(), text), (beside(out), pretty.as_str())] {
        if let Err(source) = fs::write(&path, content) {
            // It was paid for: whoever cannot write it shall at least see it.
            output::result(text)?;
            return Err(Error::WriteFile { name: path.display().to_string(), source });
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
    /// TOML.
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
