//! One private statistic of a table, planned from public parameters, and its answer.
//!
//! The order is that of every release: plan, ask the budget, pay, read the data, release, book.
//! Through the strict door the owner learns before the charge whether every record fits the schema.

mod bins;

use std::path::PathBuf;

use sordino_data::{
    CategoryColumn, Column, CsvAsked, CsvFound, DataError, Door, Loader, NumberColumn, Rule, Schema, Source,
    Survey, Table, UnitRule, Wanted,
};
use sordino_ledger::{Digest, Label};
use sordino_mechanisms::statistics::{
    Bounds, Contributor, Histogram, Mean, Mode, Quantile, RowCount, Rows, Sum, Variance,
};
pub use sordino_mechanisms::statistics::{Cells, Estimate, Ranked, Winner};
use sordino_mechanisms::{Mechanism, MechanismError};
use sordino_noise::{Bits, danger, entropy};
use sordino_privacy::{Claim, Count, Delta, Epsilon, Guarantee, Neighbours, Permit, Quote, Release, Unit};
use sordino_spelling::hint;

use self::bins::Bins;
use crate::access::{Access, DOOR_NOTE};
use crate::error::RunError;
use crate::payer::Given;
use crate::purse::{Payment, Purse, purpose};
use crate::schema_file;
use crate::settings::Relation;

/// A request for one statistic.
#[derive(Clone, Debug)]
pub struct Query {
    /// The table.
    pub data: PathBuf,
    /// The statistic.
    pub statistic: Statistic,
    /// The column; only a count needs none.
    pub column: Option<String>,
    /// The price ε of the answer.
    pub epsilon: Epsilon,
    /// The schema with bounds, values and the unit.
    pub schema: Option<PathBuf>,
    /// Instead of a schema: the bounds of the column.
    pub bounds: Option<(f64, f64)>,
    /// Instead of a schema: the values of the column.
    pub values: Option<Vec<String>>,
    /// How a CSV file is written, if there is no schema. Default: the owner's
    /// way, or what the header line shows.
    pub csv: CsvAsked,
    /// For a histogram of numbers: the edges of its cells.
    pub edges: Option<Vec<f64>>,
    /// Count the records that have this value in the column.
    pub equals: Option<String>,
    /// For a quantile: the share of records below it.
    pub at: f64,
    /// The neighbouring relation. Default: the ledger's, or `add_remove` without a ledger.
    pub neighbours: Option<Relation>,
    /// Fit records to the schema or drop them, instead of stopping at one that does not fit.
    pub permissive: bool,
    /// Who pays.
    pub payment: Payment,
    /// A seed for repeatable noise, which voids the guarantee.
    pub danger_seed: Option<u64>,
}

/// The share of records below the median.
const MEDIAN_SHARE: f64 = 0.5;

/// A statistic of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Statistic {
    /// The number of records, or of those with a value
    Count,
    /// The sum of a column
    Sum,
    /// The mean of a column
    Mean,
    /// The variance of a column
    Variance,
    /// The median of a column: the quantile at 0.5
    Median,
    /// The quantile of a column that --at names
    Quantile,
    /// The number of records with each of the declared values, or between the declared --edges
    Histogram,
    /// The most frequent of the declared values
    Mode,
}

impl Statistic {
    /// Its name in flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Variance => "variance",
            Self::Median => "median",
            Self::Quantile => "quantile",
            Self::Histogram => "histogram",
            Self::Mode => "mode",
        }
    }
}

/// Plans, pays for, computes and books one statistic.
pub fn answer(query: &Query) -> Result<(Answer, Purse), RunError> {
    answer_given(query, Given::default())
}

/// The same for what a program has in memory. A table takes the place of [`Query::data`], a schema
/// that of [`Query::schema`].
pub fn answer_given(query: &Query, given: Given) -> Result<(Answer, Purse), RunError> {
    let (mut access, mut question) = opened(query, given)?;
    let survey = question.survey()?;
    let mut purse = open_purse(query, &mut access, Some(survey.content()))?;
    let is_told = question.door == Door::Permissive && !query.permissive;
    let notes = is_told.then_some(DOOR_NOTE).into_iter().chain(question.note).collect();
    let answer = question.planned(query, &purse)?.answer(&survey, &mut purse)?;
    Ok((Answer { notes, ..answer }, purse))
}

/// A query with its price, which the budget would grant.
#[derive(Debug)]
pub struct PlannedQuery {
    /// The claim to pay for.
    pub claim: Claim,
    /// The unit that it protects.
    pub unit: Unit,
    /// What would pay for it.
    pub purse: Purse,
    /// What it would take of what is left, if there is a ledger.
    pub quote: Option<Quote>,
}

/// Plans one statistic and asks for its price. Charges nothing. With a ledger it reads the data for
/// its digest. Fails if the budget would refuse the query.
pub fn plan(query: &Query) -> Result<PlannedQuery, RunError> {
    plan_given(query, Given::default())
}

/// The same for what a program has in memory.
pub fn plan_given(query: &Query, given: Given) -> Result<PlannedQuery, RunError> {
    let (mut access, mut question) = opened(query, given)?;
    let content = if access.is_metered() { Some(question.survey()?.content()) } else { None };
    let purse = open_purse(query, &mut access, content)?;
    let Asked { question, plan } = question.planned(query, &purse)?;
    let (claim, unit) = (plan.claim(), question.schema.unit().unit());
    let quote = purse.quote(&claim, &unit)?;
    Ok(PlannedQuery { claim, unit, purse, quote })
}

fn opened(query: &Query, given: Given) -> Result<(Access, Question), RunError> {
    let Given { table, schema, payer } = given;
    let data = table.as_ref().map_or(query.data.as_path(), |table| table.path());
    let access = Access::by(&payer, data, &query.payment, table.is_some())?;
    access.check_seed(query.danger_seed.is_some())?;
    let question = Question::open(query, table, schema, &access)?;
    Ok((access, question))
}

fn open_purse(query: &Query, access: &mut Access, content: Option<[u8; 32]>) -> Result<Purse, RunError> {
    let asked = query.neighbours.map(Relation::neighbours);
    access.open(content, asked, Neighbours::AddRemove, query.purpose())
}

impl Query {
    /// The purpose that the history shows. Its first word is the verb, which a locked data set may
    /// refuse.
    fn purpose(&self) -> Label {
        let words = [Some(self.statistic.name()), self.column.as_deref()];
        purpose("query", Some(&words.into_iter().flatten().collect::<Vec<_>>().join(" ")))
    }
}

struct Question {
    source: Source,
    schema: Schema,
    door: Door,
    column: String,
    seed: Option<u64>,
    /// Whether a schema was given, and not made from flags.
    has_schema: bool,
    /// How the file is read, if its header shows it.
    note: Option<&'static str>,
}

/// A query with its plan.
struct Asked {
    question: Question,
    plan: QueryPlan,
}

/// One statistic, ready to be paid for.
enum QueryPlan {
    Count(RowCount),
    /// Counts the records whose category has this code.
    CountEqual(RowCount, u32),
    Sum(Sum),
    Mean(Mean),
    Variance(Variance),
    Quantile(Quantile),
    Histogram(Histogram),
    /// Counts the records whose number lies in each cell.
    Binned(Histogram, Bins),
    Mode(Mode),
}

/// A released statistic with its guarantee.
#[derive(Debug)]
pub struct Answer {
    /// The value.
    pub value: AnswerValue,
    /// Its guarantee.
    pub guarantee: Guarantee,
    /// What it has taken of what was left, if there is a ledger.
    pub took: Option<Quote>,
    /// Notes to show with it.
    pub notes: Vec<&'static str>,
}

/// The value of a statistic.
#[derive(Clone, Debug)]
pub enum AnswerValue {
    /// A number and its error.
    Estimate(Estimate),
    /// A quantile and its error in ranks.
    Ranked(Ranked),
    /// Counts by value.
    Cells(Cells),
    /// The most frequent value.
    Winner(Winner),
}

impl Question {
    /// Reads the schema and the header, and no record.
    fn open(
        query: &Query,
        table: Option<Source>,
        schema: Option<Schema>,
        access: &Access,
    ) -> Result<Self, RunError> {
        let declared = match schema {
            Some(schema) => Some(schema),
            None => query.schema.as_deref().map(schema_file::read).transpose()?,
        };
        let has_schema = declared.is_some();
        declared.as_ref().map_or(Ok(()), |schema| access.check_schema(schema))?;
        let found = match declared {
            Some(_) if !query.csv.is_empty() => {
                return Err(RunError::TwoSettings {
                    first: "--schema",
                    second: "--delimiter, --decimal, --thousands or --header",
                });
            }
            Some(_) => None,
            None if table.is_some() => None,
            None => Some(access.csv_for(&query.csv, &query.data)?),
        };
        let note = found.as_ref().and_then(CsvFound::note);
        let csv = match (&declared, found) {
            (Some(schema), _) => schema.csv().clone(),
            (None, Some(found)) => found.options,
            (None, None) => access.csv(),
        };
        let source = match table {
            Some(table) => table,
            None => {
                access.check_csv(&csv)?;
                Source::open(&query.data, &csv)?
            }
        };
        let schema = match declared {
            Some(schema) => schema,
            None => {
                let schema = inline_schema(query, &source)?.with_csv(csv);
                access.check_schema(&schema)?;
                schema
            }
        };
        access.check_source(&schema, &source)?;
        let source = if access.needs_identity() { source.identified(&schema) } else { source };
        let column =
            query.column.clone().or_else(|| first_column(&schema, &source)).ok_or(RunError::NoColumn)?;
        let names = source.names();
        // A pattern may match a column that the file does not have.
        if !names.contains(&column) && schema.column(&column).is_some() {
            let hint = hint(&column, names.iter().map(String::as_str));
            return Err(RunError::NoSuchColumn { column, hint });
        }
        // A statistic that does not suit the column is refused before the whole file is read; this
        // depends on no record.
        QueryPlan::new(query, &schema, &column, Neighbours::ZeroOut)?;
        let door = access.door(query.permissive);
        Ok(Self { source, schema, door, column, seed: query.danger_seed, has_schema, note })
    }

    /// The first pass over the file. Only the owner may learn what it found before the charge.
    fn survey(&mut self) -> Result<Survey, RunError> {
        Ok(self.loader().survey(Wanted::Columns(&[&self.column]), &mut entropy()?)?)
    }

    /// The question with its plan, under the relation of the purse.
    fn planned(self, query: &Query, purse: &Purse) -> Result<Asked, RunError> {
        let plan = QueryPlan::new(query, &self.schema, &self.column, purse.neighbours())?;
        check_drops(query.statistic, &self.schema, &self.column, self.door, purse.neighbours())?;
        Ok(Asked { question: self, plan })
    }

    /// The error for a record that does not fit. If there is no schema, it does not mention one.
    fn without_schema(&self, error: DataError) -> RunError {
        if self.has_schema {
            return error.into();
        }
        let instead = match self.schema.column(&self.column) {
            Some(Column::Number(_)) => "--decimal , or --thousands . if numbers are written so",
            _ => "--values that has all of them",
        };
        if let DataError::Cell { path, row, column, expected, .. } = error {
            let place = format!(", row {row} (without the header), column `{}`", column.escape_debug());
            let what = format!("expected {expected}");
            return RunError::UnfitWithoutSchema { path, place, what, instead };
        }
        if let DataError::Misfits { path, misfits } = error {
            let count = misfits.count();
            let place = format!(" does not fit in {count} places (rows are counted without the header)");
            let what = misfits.lines(false).trim_start().to_owned();
            return RunError::UnfitWithoutSchema { path, place, what, instead };
        }
        error.into()
    }

    fn loader(&self) -> Loader<'_> {
        Loader::new(&self.source, &self.schema, self.door)
    }
}

impl Asked {
    /// Asks the budget, tells the owner if a record does not fit, pays, reads, releases, books.
    fn answer(&self, survey: &Survey, purse: &mut Purse) -> Result<Answer, RunError> {
        let Self { question, plan } = self;
        let unit = question.schema.unit().unit();
        let took = purse.quote(&plan.claim(), &unit)?;
        if question.door == Door::Strict {
            survey.check().map_err(|error| question.without_schema(error))?;
        }
        let fills = purse.neighbours().has_public_size() && question.schema.unit().column().is_none();
        // All statistics are pure: δ is 0.
        let permit = purse.pay(plan.claim(), unit, Delta::ZERO)?;
        let reservation = permit.reservation();
        let table = question.loader().table(&[&question.column], survey)?;
        let (value, guarantee) = match question.seed {
            Some(seed) => plan.release(&table, &question.column, fills, permit, &mut danger::seeded(seed))?,
            None => plan.release(&table, &question.column, fills, permit, &mut entropy()?)?,
        }
        .into_parts();
        if let Some(reservation) = reservation {
            purse.book(reservation, Some(Digest::of(format!("{value:?}").as_bytes())))?;
        }
        Ok(Answer { value, guarantee, took, notes: Vec::new() })
    }
}

impl QueryPlan {
    fn new(args: &Query, schema: &Schema, column: &str, neighbours: Neighbours) -> Result<Self, RunError> {
        if args.edges.is_some() && args.statistic != Statistic::Histogram {
            let by = format!("a {}", args.statistic.name());
            return Err(RunError::Unused { setting: "--edges".to_owned(), by });
        }
        if args.at != MEDIAN_SHARE && args.statistic != Statistic::Quantile {
            let by = format!("a {}", args.statistic.name());
            return Err(RunError::Unused { setting: "--at".to_owned(), by });
        }
        let epsilon = args.epsilon;
        let most = schema.unit().max_records();
        let of_rows = match schema.unit().column() {
            Some(column) => Contributor::owner(neighbours, column, most),
            None => Contributor::record(neighbours),
        };
        // A unit has at most `most` records, so at most `most` values, and counts once for each.
        let of_keys = match schema.unit().column() {
            Some(column) => Contributor::owner(neighbours, column, Count::ONE).in_keys(most),
            None => of_rows.clone(),
        };
        Ok(match args.statistic {
            Statistic::Count => match &args.equals {
                Some(value) => {
                    Self::CountEqual(RowCount::new(epsilon, of_rows)?, code(schema, column, value)?)
                }
                None => Self::Count(RowCount::new(epsilon, of_rows)?),
            },
            Statistic::Sum => Self::Sum(Sum::new(epsilon, bounds(schema, column)?, of_rows)?),
            Statistic::Mean => Self::Mean(Mean::new(epsilon, bounds(schema, column)?, of_rows)?),
            Statistic::Variance => Self::Variance(Variance::new(epsilon, bounds(schema, column)?, of_rows)?),
            Statistic::Median | Statistic::Quantile => {
                Self::Quantile(Quantile::new(epsilon, args.at, bounds(schema, column)?, of_rows)?)
            }
            Statistic::Histogram => match (&args.edges, schema.column(column)) {
                (Some(edges), _) => {
                    let bins = Bins::new(edges, bounds(schema, column)?)?;
                    Self::Binned(Histogram::new(epsilon, &bins.names(), of_keys)?, bins)
                }
                (None, Some(Column::Number(_))) => {
                    return Err(RunError::NoEdges { column: column.to_owned() });
                }
                (None, _) => Self::Histogram(Histogram::new(epsilon, values(schema, column)?, of_keys)?),
            },
            Statistic::Mode => Self::Mode(Mode::new(epsilon, values(schema, column)?, of_keys)?),
        })
    }

    fn claim(&self) -> Claim {
        match self {
            Self::Count(plan) | Self::CountEqual(plan, _) => plan.claim(),
            Self::Sum(plan) => plan.claim(),
            Self::Mean(plan) => plan.claim(),
            Self::Variance(plan) => plan.claim(),
            Self::Quantile(plan) => plan.claim(),
            Self::Histogram(plan) | Self::Binned(plan, _) => plan.claim(),
            Self::Mode(plan) => plan.claim(),
        }
    }

    fn release<R: Bits + ?Sized>(
        &self,
        table: &Table,
        column: &str,
        fills: bool,
        permit: Permit,
        bits: &mut R,
    ) -> Result<Release<AnswerValue>, RunError> {
        let owners = table.owners();
        let owners = owners.as_deref();
        let numbers = || -> Result<Vec<f64>, RunError> { Ok(table.numbers(column)?.1.collect()) };
        let all = || if fills { filled(table, column) } else { numbers() };
        let keys = || -> Result<Vec<&str>, RunError> {
            let (values, codes) = table.codes(column)?;
            Ok(codes.map(|code| values[code as usize].as_str()).collect())
        };
        Ok(match self {
            Self::Count(plan) => {
                let all = vec![true; table.records()];
                plan.release_with(rows(&all, owners)?, permit, bits)?.post_process(AnswerValue::Estimate)
            }
            Self::CountEqual(plan, code) => {
                let equal: Vec<bool> = table.codes(column)?.1.map(|of| of == *code).collect();
                plan.release_with(rows(&equal, owners)?, permit, bits)?.post_process(AnswerValue::Estimate)
            }
            Self::Sum(plan) => {
                plan.release_with(rows(&all()?, owners)?, permit, bits)?.post_process(AnswerValue::Estimate)
            }
            Self::Mean(plan) => {
                plan.release_with(rows(&all()?, owners)?, permit, bits)?.post_process(AnswerValue::Estimate)
            }
            Self::Variance(plan) => plan
                .release_with(rows(&numbers()?, owners)?, permit, bits)?
                .post_process(AnswerValue::Estimate),
            Self::Quantile(plan) => {
                plan.release_with(rows(&numbers()?, owners)?, permit, bits)?.post_process(AnswerValue::Ranked)
            }
            Self::Histogram(plan) => {
                plan.release_with(rows(&keys()?, owners)?, permit, bits)?.post_process(AnswerValue::Cells)
            }
            Self::Binned(plan, bins) => {
                let names = bins.names();
                let cells: Vec<&str> =
                    numbers()?.into_iter().map(|value| names[bins.cell(value)].as_str()).collect();
                plan.release_with(rows(&cells, owners)?, permit, bits)?.post_process(AnswerValue::Cells)
            }
            Self::Mode(plan) => {
                plan.release_with(rows(&keys()?, owners)?, permit, bits)?.post_process(AnswerValue::Winner)
            }
        })
    }
}

/// Refuses sums, means and variances if n is public and a record can be dropped because of its
/// values. Their sensitivity assumes that every record stays: dropping one would change the number
/// of rows, or a sum by more than the distance between two values. Sums and means can use the
/// permissive door: `filled` replaces a dropped record by the middle of the bounds.
fn check_drops(
    statistic: Statistic,
    schema: &Schema,
    column: &str,
    door: Door,
    neighbours: Neighbours,
) -> Result<(), RunError> {
    let is_private = neighbours == Neighbours::AddRemove || schema.unit().column().is_some();
    let may_drop = match statistic {
        // Records that the permissive door drops are filled in. A rule of the schema that drops
        // records is refused: its author does not expect them to be filled in.
        Statistic::Sum | Statistic::Mean => schema.may_drop(&[column], Door::Strict),
        // Nothing can be filled in: even the middle of the bounds adds to a sum of squares.
        Statistic::Variance => schema.may_drop(&[column], door),
        Statistic::Count
        | Statistic::Median
        | Statistic::Quantile
        | Statistic::Histogram
        | Statistic::Mode => false,
    };
    if may_drop && !is_private {
        let remedy = instead_of_dropping(statistic, schema, column);
        return Err(RunError::Drops {
            column: column.to_owned(),
            neighbours,
            statistic: statistic.name(),
            remedy,
        });
    }
    Ok(())
}

/// The advice: what to write in the schema, or how to ask, so that every record stays.
fn instead_of_dropping(statistic: Statistic, schema: &Schema, column: &str) -> String {
    let Some(Column::Number(number)) = schema.column(column) else {
        return "say in the schema what missing values become".to_owned();
    };
    let (lower, upper) = (number.bounds().lower(), number.bounds().upper());
    let middle = 0.5 * lower + 0.5 * upper;
    let middle = if number.is_whole() { middle.floor() } else { middle };
    let stays = format!("give it a number in the schema, such as `missing = {middle}`");
    // The permissive door drops records too, and a variance cannot fill them in.
    if statistic == Statistic::Variance {
        return format!("{stays}, and ask without --permissive");
    }
    format!("{stays}, or ask with `--bounds {lower},{upper} --permissive` and no schema")
}

/// One number for each slot, so that their count is n, which is public. An empty slot gets the
/// middle of the bounds, which adds nothing to a centred sum. The rule looks at one record alone.
fn filled(table: &Table, column: &str) -> Result<Vec<f64>, RunError> {
    let (bounds, mut present) = table.numbers(column)?;
    // The same expression as in the statistics, so that it is exactly 0 once it is centred.
    let middle = 0.5 * bounds.lower() + 0.5 * bounds.upper();
    let value = |slot| if table.is_present(slot) { present.next().unwrap_or(middle) } else { middle };
    Ok((0..table.slots()).map(value).collect())
}

fn rows<'a, T: Copy>(values: &'a [T], owners: Option<&'a [u64]>) -> Result<Rows<'a, T>, MechanismError> {
    owners.map_or_else(|| Ok(Rows::new(values)), |owners| Rows::owned(values, owners))
}

/// A schema that declares one column from the settings and ignores all others.
fn inline_schema(args: &Query, source: &Source) -> Result<Schema, RunError> {
    args.edges.as_deref().map_or(Ok(()), Bins::check)?;
    let ends = args.edges.as_deref().and_then(|edges| Some((*edges.first()?, *edges.last()?)));
    let declared = match (&args.bounds.or(ends), &args.values, &args.column) {
        (Some((low, high)), _, Some(_)) => {
            Column::Number(NumberColumn::new(sordino_data::Bounds::new(*low, *high)?))
        }
        (None, Some(values), Some(_)) => Column::Category(CategoryColumn::new(values.clone())?),
        // Counting records needs no declared column.
        (None, None, None) if args.statistic == Statistic::Count => anything()?,
        _ => return Err(RunError::NothingDeclared { statistic: args.statistic.name() }),
    };
    let names = source.header().iter().map(|column| column.name.clone());
    let asked = args.column.clone().or_else(|| names.clone().next()).ok_or(RunError::NoColumn)?;
    if !names.clone().any(|name| name == asked) {
        let hint = hint(&asked, source.header().iter().map(|column| column.name.as_str()));
        return Err(RunError::NoSuchColumn { column: asked, hint });
    }
    let columns: Vec<(String, Column)> = names
        .map(|name| if name == asked { (name, declared.clone()) } else { (name, Column::Ignore) })
        .collect();
    Ok(Schema::new(UnitRule::Record, columns)?)
}

/// A column that gives every record the same value.
fn anything() -> Result<Column, RunError> {
    let any = CategoryColumn::new(["any"])?.missing(Rule::Become("any"))?.other(Rule::Become("any"))?;
    Ok(Column::Category(any))
}

/// The first column of the file that the schema uses, by name or by a pattern.
fn first_column(schema: &Schema, source: &Source) -> Option<String> {
    let is_used = |name: &String| schema.column(name).is_some_and(|column| !matches!(column, Column::Ignore));
    source.names().into_iter().find(is_used)
}

fn bounds(schema: &Schema, column: &str) -> Result<Bounds, RunError> {
    match schema.column(column) {
        Some(Column::Number(number)) => {
            let bounds = number.bounds();
            Ok(Bounds::new(bounds.lower(), bounds.upper())?)
        }
        other => Err(other_column(schema, column, "a number", other)),
    }
}

fn values<'a>(schema: &'a Schema, column: &str) -> Result<&'a [String], RunError> {
    match schema.column(column) {
        Some(Column::Category(category)) => Ok(category.values()),
        other => Err(other_column(schema, column, "a category", other)),
    }
}

fn code(schema: &Schema, column: &str, value: &str) -> Result<u32, RunError> {
    let known = values(schema, column)?;
    let place = known.iter().position(|known| known == value);
    // A column has fewer than 2^32 values.
    place.map(|place| place as u32).ok_or_else(|| RunError::NoSuchValue {
        column: column.to_owned(),
        value: value.to_owned(),
        known: known.join(", "),
    })
}

/// The error for a column of the wrong kind, or one that is not declared.
fn other_column(schema: &Schema, name: &str, needed: &'static str, found: Option<&Column>) -> RunError {
    let column = name.to_owned();
    let is = match found {
        Some(Column::Number(_)) => "a number",
        Some(Column::Category(_)) => "a category",
        Some(Column::Ignore) => "ignored",
        None => {
            let hint = hint(name, schema.columns().map(|(name, _)| name));
            return RunError::NotDeclared { column, hint };
        }
    };
    RunError::ColumnKind { column, needed, is }
}
