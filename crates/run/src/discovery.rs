//! Finds bounds and categories that nobody can declare, with noise, against a charge.
//!
//! The order is that of every release: plan from public facts, pay, read the data through the
//! permissive door, release, book. The result is a schema whose comments say how it was found and
//! what is promised.

use std::path::{Path, PathBuf};

use sordino_data::{
    Column, CsvAsked, CsvFound, CsvOptions, Discovered, Discovery, DiscoveryPlan, Schema, Source, TypeHint,
    UnitRule,
};
use sordino_ledger::Digest;
use sordino_noise::danger;
use sordino_privacy::{Delta, Epsilon, Guarantee, Neighbours, Paid, Permit, Release, Unit};
use sordino_spelling::hint;

use crate::access::Access;
use crate::error::RunError;
use crate::purse::{Payment, Purse, purpose};
use crate::schema_file;
use crate::settings::{Relation, Settings};

/// The default δ: well below 1/n for up to a hundred thousand people.
const DEFAULT_DELTA: f64 = 1e-6;

/// A request for bounds and categories.
#[derive(Clone, Debug)]
pub struct Search {
    /// The table.
    pub data: PathBuf,
    /// The price ε.
    pub epsilon: Epsilon,
    /// The price δ, which only categories use. Default: what the ledger has
    /// set aside, or [`default_delta`].
    pub delta: Option<Delta>,
    /// A file with the columns that are declared already.
    pub schema: Option<PathBuf>,
    /// How a CSV file is written, if there is no schema. Default: the owner's
    /// way, or what the header line shows.
    pub csv: CsvAsked,
    /// Columns of numbers whose bounds to find.
    pub numbers: Vec<String>,
    /// Columns of categories whose values to find.
    pub categories: Vec<String>,
    /// The neighbouring relation. Default: the ledger's, or `zero_out` without a ledger.
    pub neighbours: Option<Relation>,
    /// Who pays.
    pub payment: Payment,
    /// The file that the schema will be written to, if any.
    pub out: Option<PathBuf>,
    /// A seed for repeatable noise, which voids the guarantee.
    pub danger_seed: Option<u32>,
}

/// A search with its plan, which the budget would grant.
#[derive(Debug)]
pub struct PlannedDiscovery {
    plan: DiscoveryPlan,
    source: Source,
    purse: Purse,
    unit: Unit,
    delta: Delta,
    seed: Option<u32>,
    /// Whether δ is the fixed default.
    pub has_default_delta: bool,
    /// How the file is read, if its header shows it.
    pub note: Option<&'static str>,
}

/// A schema that is paid for and not booked yet.
#[derive(Debug)]
pub struct Bought {
    pub(crate) paid: Paid,
    /// The bounds and categories that were found.
    pub found: Discovered,
    /// Its guarantee.
    pub guarantee: Guarantee,
    /// The schema as TOML, with its guarantee in comments.
    pub text: String,
    pub(crate) reservation: Option<u64>,
}

impl PlannedDiscovery {
    /// Reads the schema and the header, digests the file, and asks the budget. Charges nothing.
    pub fn new(search: &Search) -> Result<Self, RunError> {
        if search.epsilon.get() == 0.0 {
            return Err(RunError::NoEpsilon);
        }
        let mut access = Access::find(&search.data, &search.payment)?;
        search.out.as_deref().map_or(Ok(()), |out| access.check_place(out))?;
        access.check_seed(search.danger_seed.is_some())?;
        let found = match search.schema {
            Some(_) => None,
            None => Some(access.csv_for(&search.csv, &search.data)?),
        };
        let note = found.as_ref().and_then(CsvFound::note);
        let csv = found.map(|found| found.options).unwrap_or_default();
        let known = known(search.schema.as_deref(), csv)?;
        let (unit, what) = (known.unit().unit(), purpose("schema", None));
        access.check_schema(&known)?;
        let source = Source::open(&search.data, known.csv())?;
        access.check_source(&known, &source)?;
        let columns = Columns { numbers: &search.numbers, categories: &search.categories };
        access.check_columns(columns.names())?;
        let asked = search.neighbours.map(Relation::neighbours);
        let purse = access.open(Some(source.content()?), asked, Neighbours::ZeroOut, what)?;
        let (delta, has_default_delta) = match (search.delta, purse.terms()) {
            (Some(delta), _) => (delta, false),
            (None, Some(terms)) => (terms.set_aside, false),
            (None, None) => (default_delta(), true),
        };
        let plan = wanted(&columns, known, &source, purse.neighbours())?.plan(search.epsilon, delta)?;
        purse.ask(&plan.claim(), &unit)?;
        Ok(Self { plan, source, purse, unit, delta, seed: search.danger_seed, has_default_delta, note })
    }

    /// Pays and searches. The caller shows or writes the schema, then [books](Self::book) it.
    pub fn buy(&mut self) -> Result<Bought, RunError> {
        let Self { plan, source, purse, unit, delta, seed, .. } = self;
        search(plan, source, purse, unit.clone(), *delta, *seed)
    }

    /// Records that the schema was released.
    pub fn book(&mut self, bought: &Bought) -> Result<(), RunError> {
        let digest = Digest::of(bought.text.as_bytes());
        bought.reservation.map_or(Ok(()), |reservation| self.purse.book(reservation, Some(digest)))
    }
}

/// Pays and searches.
pub(crate) fn search(
    plan: &DiscoveryPlan,
    source: &Source,
    purse: &mut Purse,
    unit: Unit,
    delta: Delta,
    seed: Option<u32>,
) -> Result<Bought, RunError> {
    let content = purse.content().ok_or(RunError::Missing { setting: "DATA" })?;
    let permit = purse.pay(plan.claim(), unit, delta)?;
    let reservation = permit.reservation();
    let release = release(plan, source, *content.bytes(), permit, seed)?;
    let (found, paid) = release.into_paid();
    let guarantee = paid.guarantee().clone();
    Ok(Bought { paid, text: text(&found, &guarantee)?, found, guarantee, reservation })
}

/// The columns to search, by kind.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) numbers: &'a [String],
    pub(crate) categories: &'a [String],
}

impl<'a> Columns<'a> {
    /// The columns that the settings of a training run name.
    pub(crate) fn of(settings: &'a Settings) -> Self {
        let named = |names: &'a Option<Vec<String>>| names.as_deref().unwrap_or_default();
        Self { numbers: named(&settings.numbers), categories: named(&settings.categories) }
    }

    /// All columns to search.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.numbers.iter().chain(self.categories).map(String::as_str)
    }
}

/// The schema in a file, or one that ignores every column if no file is named.
pub(crate) fn known(path: Option<&Path>, csv: CsvOptions) -> Result<Schema, RunError> {
    if let Some(path) = path {
        return schema_file::read(path);
    }
    Ok(Schema::new(UnitRule::Record, vec![("*".to_owned(), Column::Ignore)])?.with_csv(csv))
}

/// The search for the named columns. If none is named, it is for every column that the schema does
/// not declare; the file must state their types.
pub(crate) fn wanted(
    named: &Columns<'_>,
    known: Schema,
    source: &Source,
    neighbours: Neighbours,
) -> Result<Discovery, RunError> {
    let names = source.names();
    let stranger = named.numbers.iter().chain(named.categories).find(|name| !names.contains(name));
    if let Some(column) = stranger {
        let hint = hint(column, names.iter().map(String::as_str));
        return Err(RunError::NoSuchColumn { column: column.clone(), hint });
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
            TypeHint::Unknown => return Err(RunError::UnknownKind { column: column.name.clone() }),
        };
    }
    Ok(wanted)
}

/// The default δ, 10^-6.
pub fn default_delta() -> Delta {
    // Cannot fail: 1e-6 lies in [0, 1), which is all that a δ needs.
    Delta::new(DEFAULT_DELTA).expect("the default delta is a delta")
}

fn release(
    plan: &DiscoveryPlan,
    source: &Source,
    content: [u8; 32],
    permit: Permit,
    seed: Option<u32>,
) -> Result<Release<Discovered>, RunError> {
    Ok(match seed {
        Some(seed) => plan.release_with(source, content, permit, &mut danger::seeded(u64::from(seed)))?,
        None => plan.release(source, content, permit)?,
    })
}

/// The schema as TOML, with its guarantee in comments.
fn text(found: &Discovered, guarantee: &Guarantee) -> Result<String, RunError> {
    let written = serde_json::to_string(guarantee);
    let written = written.map_err(|error| RunError::Unwritable { reason: error.to_string() })?;
    Ok(format!(
        "# Bounds and values in this file were found in the data with noise, and paid for.\n# {guarantee}\n# \
        {written}\n{}",
        found.schema.to_toml()
    ))
}
