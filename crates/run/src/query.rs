//! One private statistic of a table, planned from public parameters, and its answer.
//!
//! The order is that of every release: plan, ask the budget, pay, read the data, release, book. Through the
//! strict door the owner learns before the charge whether every record fits the schema.

use std::path::PathBuf;

use sordino_data::{
    CategoryColumn, Column, Door, Loader, NumberColumn, Rule, Schema, Source, Survey, Table, UnitRule, Wanted,
};
use sordino_ledger::{Digest, Label};
use sordino_mechanisms::statistics::{
    Bounds, Contributor, Histogram, Mean, Mode, Quantile, RowCount, Rows, Sum, Variance,
};
pub use sordino_mechanisms::statistics::{Cells, Estimate, Ranked, Winner};
use sordino_mechanisms::{Mechanism, MechanismError};
use sordino_noise::{Bits, danger, entropy};
use sordino_privacy::{Claim, Count, Delta, Epsilon, Guarantee, Neighbours, Permit, Release};

use crate::access::{Access, DOOR_NOTE};
use crate::error::RunError;
use crate::purse::{Payment, Purse, purpose};
use crate::schema_file;
use crate::settings::Relation;
use sordino_data::hint;

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
    /// Bounds, values, and whose records they are.
    pub schema: Option<PathBuf>,
    /// Instead of a schema: the bounds of the column.
    pub bounds: Option<(f64, f64)>,
    /// Instead of a schema: the values of the column.
    pub values: Option<Vec<String>>,
    /// Count the records that have this value in the column.
    pub equals: Option<String>,
    /// Which quantile: the share of records below it.
    pub at: f64,
    /// The neighbouring relation. Default: the ledger's, or `add_remove` without a ledger.
    pub neighbours: Option<Relation>,
    /// Map or drop records that do not fit the schema instead of stopping.
    pub permissive: bool,
    /// Who pays.
    pub payment: Payment,
    /// A seed for repeatable noise, which voids the guarantee.
    pub danger_seed: Option<u64>,
}

/// A statistic of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Statistic {
    /// How many records there are, or have a value
    Count,
    /// The sum of a column
    Sum,
    /// The mean of a column
    Mean,
    /// The variance of a column
    Variance,
    /// A quantile of a column: the median, or what --at says
    Quantile,
    /// How many records have each of the declared values
    Histogram,
    /// The most frequent of the declared values
    Mode,
}

impl Statistic {
    /// As flags spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Variance => "variance",
            Self::Quantile => "quantile",
            Self::Histogram => "histogram",
            Self::Mode => "mode",
        }
    }
}

/// Plans, pays for, computes and books one statistic.
pub fn answer(query: &Query) -> Result<(Answer, Purse), RunError> {
    let mut access = Access::find(&query.data, &query.payment)?;
    access.check_seed(query.danger_seed.is_some())?;
    let mut question = Question::open(query, &access)?;
    let survey = question.survey()?;
    let (asked, what) = (query.neighbours.map(Relation::neighbours), query.purpose());
    let mut purse = access.open(Some(survey.content()), asked, Neighbours::AddRemove, what)?;
    let is_told = question.door == Door::Permissive && !query.permissive;
    let answer = question.planned(query, &purse)?.answer(&survey, &mut purse)?;
    let notes = is_told.then_some(DOOR_NOTE).into_iter().collect();
    Ok((Answer { notes, ..answer }, purse))
}

impl Query {
    /// The purpose that the history shows. Its first word is the verb, which a locked data set may refuse.
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
}

/// A question with its price.
struct Asked {
    question: Question,
    plan: Plan,
}

/// One statistic, ready to be paid for.
enum Plan {
    Count(RowCount),
    /// Counts the records whose category has this code.
    CountEqual(RowCount, u32),
    Sum(Sum),
    Mean(Mean),
    Variance(Variance),
    Quantile(Quantile),
    Histogram(Histogram),
    Mode(Mode),
}

/// A released statistic with its guarantee.
#[derive(Debug)]
pub struct Answer {
    /// The value.
    pub value: Value,
    /// What is promised about it.
    pub guarantee: Guarantee,
    /// Notes to show with it.
    pub notes: Vec<&'static str>,
}

/// The value of a statistic.
#[derive(Clone, Debug)]
pub enum Value {
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
    fn open(query: &Query, access: &Access) -> Result<Self, RunError> {
        let declared = query.schema.as_deref().map(schema_file::read).transpose()?;
        declared.as_ref().map_or(Ok(()), |schema| access.check_schema(schema))?;
        let csv = declared.as_ref().map_or_else(|| access.csv(), |schema| schema.csv().clone());
        let source = Source::open(&query.data, &csv)?;
        let schema = match declared {
            Some(schema) => schema,
            None => {
                let schema = inline_schema(query, &source)?.with_csv(csv);
                access.check_schema(&schema)?;
                schema
            }
        };
        access.check_source(&schema, &source)?;
        let column =
            query.column.clone().or_else(|| first_column(&schema, &source)).ok_or(RunError::NoColumn)?;
        // Refuses a statistic that does not suit the column before the whole file is read; this depends on no
        // record.
        Plan::new(query, &schema, &column, Neighbours::ZeroOut)?;
        let door = access.door(query.permissive);
        Ok(Self { source, schema, door, column, seed: query.danger_seed })
    }

    /// The first pass over the file. Only the owner may learn what it found before the charge.
    fn survey(&mut self) -> Result<Survey, RunError> {
        Ok(self.loader().survey(Wanted::Columns(&[&self.column]), &mut entropy()?)?)
    }

    /// The question with its plan, under the relation of the purse.
    fn planned(self, query: &Query, purse: &Purse) -> Result<Asked, RunError> {
        let plan = Plan::new(query, &self.schema, &self.column, purse.neighbours())?;
        check_drops(query.statistic, &self.schema, &self.column, self.door, purse.neighbours())?;
        Ok(Asked { question: self, plan })
    }

    fn loader(&self) -> Loader<'_> {
        Loader::new(&self.source, &self.schema, self.door)
    }
}

impl Asked {
    /// Asks the budget, tells the owner of a record that does not fit, pays, reads, releases, books.
    fn answer(&self, survey: &Survey, purse: &mut Purse) -> Result<Answer, RunError> {
        let Self { question, plan } = self;
        let unit = question.schema.unit().unit();
        purse.ask(&plan.claim(), &unit)?;
        if question.door == Door::Strict {
            survey.check()?;
        }
        let fills = purse.neighbours().has_public_size() && question.schema.unit().column().is_none();
        // Pure privacy: the statistics here have no δ.
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
        Ok(Answer { value, guarantee, notes: Vec::new() })
    }
}

impl Plan {
    fn new(args: &Query, schema: &Schema, column: &str, neighbours: Neighbours) -> Result<Self, RunError> {
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
            Statistic::Quantile => {
                Self::Quantile(Quantile::new(epsilon, args.at, bounds(schema, column)?, of_rows)?)
            }
            Statistic::Histogram => {
                Self::Histogram(Histogram::new(epsilon, values(schema, column)?, of_keys)?)
            }
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
            Self::Histogram(plan) => plan.claim(),
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
    ) -> Result<Release<Value>, RunError> {
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
                plan.release_with(rows(&all, owners)?, permit, bits)?.post_process(Value::Estimate)
            }
            Self::CountEqual(plan, code) => {
                let equal: Vec<bool> = table.codes(column)?.1.map(|of| of == *code).collect();
                plan.release_with(rows(&equal, owners)?, permit, bits)?.post_process(Value::Estimate)
            }
            Self::Sum(plan) => {
                plan.release_with(rows(&all()?, owners)?, permit, bits)?.post_process(Value::Estimate)
            }
            Self::Mean(plan) => {
                plan.release_with(rows(&all()?, owners)?, permit, bits)?.post_process(Value::Estimate)
            }
            Self::Variance(plan) => {
                plan.release_with(rows(&numbers()?, owners)?, permit, bits)?.post_process(Value::Estimate)
            }
            Self::Quantile(plan) => {
                plan.release_with(rows(&numbers()?, owners)?, permit, bits)?.post_process(Value::Ranked)
            }
            Self::Histogram(plan) => {
                plan.release_with(rows(&keys()?, owners)?, permit, bits)?.post_process(Value::Cells)
            }
            Self::Mode(plan) => {
                plan.release_with(rows(&keys()?, owners)?, permit, bits)?.post_process(Value::Winner)
            }
        })
    }
}

/// Refuses sums, means and variances where n is public and a record can be dropped for what it holds. Their
/// sensitivity assumes that every record stays: dropping one would change the number of rows, or a sum by
/// more than the distance between two values. Sums and means survive the permissive door: `filled` puts a
/// value in the place of a record that has none.
fn check_drops(
    statistic: Statistic,
    schema: &Schema,
    column: &str,
    door: Door,
    neighbours: Neighbours,
) -> Result<(), RunError> {
    let is_private = neighbours == Neighbours::AddRemove || schema.unit().column().is_some();
    let may_drop = match statistic {
        // What the permissive door leaves out is filled in; a rule that drops is not what the schema's author expects.
        Statistic::Sum | Statistic::Mean => schema.may_drop(&[column], Door::Strict),
        // The middle of the bounds adds as little to a sum of squares as any value can, and not nothing.
        Statistic::Variance => schema.may_drop(&[column], door),
        Statistic::Count | Statistic::Quantile | Statistic::Histogram | Statistic::Mode => false,
    };
    if may_drop && !is_private {
        return Err(RunError::Drops { column: column.to_owned(), neighbours });
    }
    Ok(())
}

/// One number for each slot, so that their count is n, which is public: a slot without a record has the middle of the
/// bounds. The rule looks at one record alone, and an empty slot adds nothing to a centred sum.
fn filled(table: &Table, column: &str) -> Result<Vec<f64>, RunError> {
    let (bounds, mut present) = table.numbers(column)?;
    // As the statistics have it, so that it is 0 to the last bit once it is centred.
    let middle = 0.5 * bounds.lower() + 0.5 * bounds.upper();
    let value = |slot| if table.is_present(slot) { present.next().unwrap_or(middle) } else { middle };
    Ok((0..table.slots()).map(value).collect())
}

fn rows<'a, T: Copy>(values: &'a [T], owners: Option<&'a [u64]>) -> Result<Rows<'a, T>, MechanismError> {
    owners.map_or_else(|| Ok(Rows::new(values)), |owners| Rows::owned(values, owners))
}

/// A schema that declares one column from the settings and ignores all others.
fn inline_schema(args: &Query, source: &Source) -> Result<Schema, RunError> {
    let declared = match (&args.bounds, &args.values, &args.column) {
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
