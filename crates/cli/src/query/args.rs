//! The flags of `sordino query`.

use std::path::PathBuf;

use clap::Args;
use sordino::prelude::*;
use sordino_run::query::{Query, Statistic};
use sordino_run::{Payment, Relation};

use crate::args::Output;
use crate::csv::CsvArgs;

const EXAMPLES: &str = "\
Examples:
  How many records are there, and how old are people on average?
    sordino query patients.csv count --epsilon 0.1 --schema patients.toml
    sordino query patients.csv mean age --epsilon 0.5 --bounds 0,120
  The ninth decile, and a histogram of declared values:
    sordino query patients.csv quantile income --at 0.9 --epsilon 0.5 --bounds 0,500000
    sordino query patients.csv histogram smoker --epsilon 0.5 --values no,yes
    sordino query patients.csv histogram age --epsilon 0.5 --edges 0,18,65,120
  The median, of a file with semicolons and decimal commas:
    sordino query visits.csv median cost --epsilon 0.5 --bounds 0,9000 --delimiter ';' --decimal ,
  Paid for from a budget (see `sordino ledger create`), after a look at the price:
    sordino query patients.csv mean age --epsilon 0.5 --schema patients.toml --ledger budgets.ledger --plan
    sordino query patients.csv mean age --epsilon 0.5 --schema patients.toml --ledger budgets.ledger

Bounds and values are declared, never read off the data: what lies outside is clamped. With a schema whose
unit is a column, a histogram and a mode count units, each at most once for a value.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct QueryArgs {
    /// The table: CSV (also .gz, .zst), Parquet, Arrow IPC, NPY, IDX (MNIST) or CIFAR binary
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    /// The statistic
    #[arg(value_enum)]
    pub(crate) statistic: Statistic,

    /// The column; only `count` needs none
    #[arg(value_name = "COLUMN", required_if_eq_any([
        ("statistic", "sum"), ("statistic", "mean"), ("statistic", "variance"),
        ("statistic", "median"), ("statistic", "quantile"), ("statistic", "histogram"),
        ("statistic", "mode")]))]
    pub(crate) column: Option<String>,

    /// The epsilon that the answer costs
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Epsilon,

    /// The schema with bounds, values and the unit (TOML; see `sordino schema`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bounds", "values"])]
    pub(crate) schema: Option<PathBuf>,

    /// Instead of a schema: the bounds of the column, such as 0,120
    #[arg(long, value_name = "LOW,HIGH", value_parser = bounds, allow_hyphen_values = true)]
    pub(crate) bounds: Option<(f64, f64)>,

    /// Instead of a schema: the values of the column, such as no,yes
    #[arg(long, value_name = "VALUES", value_delimiter = ',', conflicts_with = "bounds")]
    pub(crate) values: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) csv: CsvArgs,

    /// For a histogram of numbers: the edges of its cells, such as 0,18,65,120
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        allow_hyphen_values = true,
        conflicts_with = "values"
    )]
    pub(crate) edges: Option<Vec<f64>>,

    /// Count the records that have this value in the column
    #[arg(long, value_name = "VALUE", requires = "column")]
    pub(crate) equals: Option<String>,

    /// For a quantile: the share of records below it
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub(crate) at: f64,

    /// What a neighbouring data set is [default: add_remove, or what the ledger says]
    #[arg(long, value_enum)]
    pub(crate) neighbours: Option<Relation>,

    /// Fit values to the schema by its rules, or drop the record, instead of stopping at a record
    /// that does not fit; no error then depends on a record
    #[arg(long)]
    pub(crate) permissive: bool,

    /// Say what the query would cost and leave of the budget, without asking it
    #[arg(long)]
    pub(crate) plan: bool,

    #[command(flatten)]
    pub(crate) payment: Payment,

    /// Repeatable noise, for tests: the guarantee is void and says so
    #[arg(long, value_name = "N")]
    pub(crate) danger_seed: Option<u64>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Parses two numbers with a comma between them. Whether they are bounds is checked later.
fn bounds(text: &str) -> Result<(f64, f64), String> {
    let numbers = text
        .split_once(',')
        .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    numbers.ok_or_else(|| format!("bounds are two numbers such as 0,120; got `{text}`"))
}

impl QueryArgs {
    pub(crate) fn query(&self) -> Query {
        Query {
            data: self.data.clone(),
            statistic: self.statistic,
            column: self.column.clone(),
            epsilon: self.epsilon,
            schema: self.schema.clone(),
            bounds: self.bounds,
            values: self.values.clone(),
            csv: self.csv.asked(),
            edges: self.edges.clone(),
            equals: self.equals.clone(),
            at: self.at,
            neighbours: self.neighbours,
            permissive: self.permissive,
            payment: self.payment.clone(),
            danger_seed: self.danger_seed,
        }
    }
}
