//! Statistics of one column: planned, paid for, computed and booked by `sordino-run`.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use sordino_data::{CsvAsked, Schema};
use sordino_privacy::Epsilon;
use sordino_run::query::{AnswerValue, Query, Statistic, answer_given};
use sordino_run::{Given, Payer, Payment, Relation};

use crate::accounting::relation;
use crate::budget::NativePayer;
use crate::errors::{Failure, long};
use crate::table::PyTable;

/// The statistics, by their names in the command.
const STATISTICS: [Statistic; 8] = [
    Statistic::Count,
    Statistic::Sum,
    Statistic::Mean,
    Statistic::Variance,
    Statistic::Median,
    Statistic::Quantile,
    Statistic::Histogram,
    Statistic::Mode,
];

/// One statistic of a column of a table, or of a file. Returns the value in JSON, what it is off by
/// at most with 95 % confidence, and the guarantee in JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn statistic(
    py: Python<'_>,
    name: &str,
    column: &str,
    epsilon: f64,
    schema: &str,
    table: Option<PyRef<'_, PyTable>>,
    file: Option<PathBuf>,
    edges: Option<Vec<f64>>,
    equals: Option<String>,
    at: f64,
    neighbours: Option<&str>,
    payer: Option<PyRef<'_, NativePayer>>,
    seed: Option<u64>,
) -> PyResult<(String, f64, String)> {
    let table = table.map(|table| table.source()).transpose()?;
    let payer = payer.map_or(Payer::Settings, |payer| payer.0.clone());
    long(py, || {
        let statistic = STATISTICS.into_iter().find(|statistic| statistic.name() == name);
        let statistic = statistic.ok_or_else(|| Failure::declaration("there is no such statistic"))?;
        let neighbours = neighbours.map(relation).transpose()?;
        let neighbours = neighbours.map(|neighbours| {
            let message = "a statistic takes neighbours= add_remove, zero_out or replace";
            Relation::of(neighbours).ok_or_else(|| Failure::declaration(message))
        });
        let query = Query {
            data: file.unwrap_or_default(),
            statistic,
            column: Some(column.to_owned()),
            epsilon: Epsilon::new(epsilon)?,
            schema: None,
            bounds: None,
            values: None,
            csv: CsvAsked::default(),
            edges,
            equals,
            at,
            neighbours: neighbours.transpose()?,
            permissive: false,
            payment: Payment::default(),
            danger_seed: seed,
        };
        let given = Given { table, schema: Some(Schema::from_toml(schema)?), payer };
        let (answer, _) = answer_given(&query, given)?;
        let (value, error) = match answer.value {
            AnswerValue::Estimate(found) => (json!(found.value), found.error),
            AnswerValue::Ranked(found) => (json!(found.value), found.rank_error),
            AnswerValue::Cells(found) => (json!(found.counts), found.error),
            AnswerValue::Winner(found) => (json!(found.key), found.gap),
        };
        Ok((value.to_string(), error, serde_json::to_string(&answer.guarantee)?))
    })
}
