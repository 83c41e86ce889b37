//! The statistic that is asked for, planned from public parameters, and its answer.

use sordino::mechanisms::statistics::{
    Bounds, Cells, Contributor, Estimate, Histogram, Mean, Mode, Quantile, Ranked, RowCount, Rows, Sum,
    Variance, Winner,
};
use sordino::mechanisms::{Mechanism, MechanismError};
use sordino::noise::{danger, entropy};
use sordino::prelude::*;
use sordino::privacy::{Guarantee, Permit, Release};
use sordino_data::{
    CategoryColumn, Column, CsvOptions, Door, Loader, NumberColumn, Rule, Schema, Source, Table, UnitRule,
    Wanted,
};

use sordino_ledger::Digest;

use super::args::{QueryArgs, Statistic};
use crate::error::Error;
use crate::nearest::hint;
use crate::purse::Purse;
use crate::schema_file;

pub(crate) struct Question {
    source: Source,
    schema: Schema,
    door: Door,
    column: String,
    plan: Plan,
    seed: Option<u64>,
}

/// One statistic, ready to be paid for.
enum Plan {
    Count(RowCount),
    /// Of the records whose category has this code.
    CountEqual(RowCount, u32),
    Sum(Sum),
    Mean(Mean),
    Variance(Variance),
    Quantile(Quantile),
    Histogram(Histogram),
    Mode(Mode),
}

/// What came out, with what is promised about it.
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) guarantee: Guarantee,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Estimate(Estimate),
    Ranked(Ranked),
    Cells(Cells),
    Winner(Winner),
}

impl Question {
    /// Reads the schema and the header, and no record.
    pub(crate) fn new(args: &QueryArgs, purse: &Purse) -> Result<Self, Error> {
        let declared = args.schema.as_deref().map(schema_file::read).transpose()?;
        let csv = declared.as_ref().map_or_else(CsvOptions::default, |schema| schema.csv().clone());
        let source = Source::open(&args.data, &csv)?;
        let schema = match declared {
            Some(schema) => schema,
            None => inline_schema(args, &source)?,
        };
        let column = args.column.clone().or_else(|| first_column(&schema, &source)).ok_or(Error::NoColumn)?;
        let plan = Plan::new(args, &schema, &column, purse.neighbours())?;
        let door = if args.permissive { Door::Permissive } else { Door::Strict };
        check_drops(args.statistic, &schema, &column, door, purse.neighbours())?;
        Ok(Self { source, schema, door, column, plan, seed: args.danger_seed })
    }

    /// Asks, checks that nothing will fail, pays, then reads, then releases, then books. The check looks at records, and is for their owner: where
    /// analysts have shares of the budget, they pay before anything is looked at.
    pub(crate) fn answer(&self, purse: &mut Purse) -> Result<Answer, Error> {
        let unit = self.schema.unit().unit();
        purse.ask(&self.plan.claim(), &unit)?;
        let (loader, columns) = (Loader::new(&self.source, &self.schema, self.door), [self.column.as_str()]);
        let mut bits = entropy()?;
        let survey = loader.survey(Wanted::Columns(&columns), &mut bits)?;
        if !purse.has_shares()? {
            survey.check()?;
        }
        // Pure privacy: the statistics here have no δ.
        let permit = purse.pay(self.plan.claim(), unit, Delta::ZERO)?;
        let reservation = permit.reservation();
        let table = loader.table(&columns, &survey)?;
        let (value, guarantee) = match self.seed {
            Some(seed) => self.plan.release(&table, &self.column, permit, &mut danger::seeded(seed))?,
            None => self.plan.release(&table, &self.column, permit, &mut bits)?,
        }
        .into_parts();
        if let Some(reservation) = reservation {
            purse.book(reservation, Some(Digest::of(format!("{value:?}").as_bytes())))?;
        }
        Ok(Answer { value, guarantee })
    }
}

impl Plan {
    fn new(args: &QueryArgs, schema: &Schema, column: &str, neighbours: Neighbours) -> Result<Self, Error> {
        let epsilon = args.epsilon;
        let most = schema.unit().max_records();
        let of_rows = match schema.unit().column() {
            Some(_) => Contributor::owner(neighbours, most),
            None => Contributor::record(neighbours),
        };
        // Of one unit at most `most` records are there, so at most as many values; each counts once.
        let of_keys = match schema.unit().column() {
            Some(_) => Contributor::owner(neighbours, Count::ONE).in_keys(most),
            None => of_rows,
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

    fn release<R: sordino::noise::Bits + ?Sized>(
        &self,
        table: &Table,
        column: &str,
        permit: Permit,
        bits: &mut R,
    ) -> Result<Release<Value>, Error> {
        let owners = table.owners();
        let owners = owners.as_deref();
        let numbers = || -> Result<Vec<f64>, Error> { Ok(table.numbers(column)?.1.collect()) };
        let keys = || -> Result<Vec<&str>, Error> {
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
                plan.release_with(rows(&numbers()?, owners)?, permit, bits)?.post_process(Value::Estimate)
            }
            Self::Mean(plan) => {
                plan.release_with(rows(&numbers()?, owners)?, permit, bits)?.post_process(Value::Estimate)
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

/// Where n is public, sums and what divides by n rest on every record being there, whatever it holds. A record that its value drops
/// would change the number of rows, or a sum by more than the distance between two values.
fn check_drops(
    statistic: Statistic,
    schema: &Schema,
    column: &str,
    door: Door,
    neighbours: Neighbours,
) -> Result<(), Error> {
    let rests_on_n = match statistic {
        Statistic::Sum | Statistic::Mean | Statistic::Variance => true,
        Statistic::Count | Statistic::Quantile | Statistic::Histogram | Statistic::Mode => false,
    };
    let is_private = neighbours == Neighbours::AddRemove || schema.unit().column().is_some();
    if rests_on_n && !is_private && schema.may_drop(&[column], door) {
        return Err(Error::Drops { column: column.to_owned(), neighbours });
    }
    Ok(())
}

fn rows<'a, T: Copy>(values: &'a [T], owners: Option<&'a [u64]>) -> Result<Rows<'a, T>, MechanismError> {
    owners.map_or_else(|| Ok(Rows::new(values)), |owners| Rows::owned(values, owners))
}

/// A schema of one column, from flags; all others are ignored.
fn inline_schema(args: &QueryArgs, source: &Source) -> Result<Schema, Error> {
    let declared = match (&args.bounds, &args.values, &args.column) {
        (Some((low, high)), _, Some(_)) => {
            Column::Number(NumberColumn::new(sordino_data::Bounds::new(*low, *high)?))
        }
        (None, Some(values), Some(_)) => Column::Category(CategoryColumn::new(values.clone())?),
        // Records can be counted without a word about what is in them.
        (None, None, None) if args.statistic == Statistic::Count => anything()?,
        _ => return Err(Error::NothingDeclared { statistic: args.statistic.name() }),
    };
    let names = source.header().iter().map(|column| column.name.clone());
    let asked = args.column.clone().or_else(|| names.clone().next()).ok_or(Error::NoColumn)?;
    if !names.clone().any(|name| name == asked) {
        let hint = hint(&asked, source.header().iter().map(|column| column.name.as_str()));
        return Err(Error::NoSuchColumn { column: asked, hint });
    }
    let columns: Vec<(String, Column)> = names
        .map(|name| if name == asked { (name, declared.clone()) } else { (name, Column::Ignore) })
        .collect();
    Ok(Schema::new(UnitRule::Record, columns)?)
}

/// A column in which every record has the same value.
fn anything() -> Result<Column, Error> {
    let any = CategoryColumn::new(["any"])?.missing(Rule::Become("any"))?.other(Rule::Become("any"))?;
    Ok(Column::Category(any))
}

/// The first column of the file that is used. The schema may name it by a pattern.
fn first_column(schema: &Schema, source: &Source) -> Option<String> {
    let is_used = |name: &String| schema.column(name).is_some_and(|column| !matches!(column, Column::Ignore));
    source.names().into_iter().find(is_used)
}

fn bounds(schema: &Schema, column: &str) -> Result<Bounds, Error> {
    match schema.column(column) {
        Some(Column::Number(number)) => {
            let bounds = number.bounds();
            Ok(Bounds::new(bounds.lower(), bounds.upper())?)
        }
        other => Err(other_column(schema, column, "a number", other)),
    }
}

fn values<'a>(schema: &'a Schema, column: &str) -> Result<&'a [String], Error> {
    match schema.column(column) {
        Some(Column::Category(category)) => Ok(category.values()),
        other => Err(other_column(schema, column, "a category", other)),
    }
}

fn code(schema: &Schema, column: &str, value: &str) -> Result<u32, Error> {
    let known = values(schema, column)?;
    let place = known.iter().position(|known| known == value);
    // A column has fewer than 2^32 values.
    place.map(|place| place as u32).ok_or_else(|| Error::NoSuchValue {
        column: column.to_owned(),
        value: value.to_owned(),
        known: known.join(", "),
    })
}

/// A column that does not serve, or is not declared at all.
fn other_column(schema: &Schema, name: &str, needed: &'static str, found: Option<&Column>) -> Error {
    let column = name.to_owned();
    let is = match found {
        Some(Column::Number(_)) => "a number",
        Some(Column::Category(_)) => "a category",
        Some(Column::Ignore) => "ignored",
        None => {
            let hint = hint(name, schema.columns().map(|(name, _)| name));
            return Error::NotDeclared { column, hint };
        }
    };
    Error::ColumnKind { column, needed, is }
}
