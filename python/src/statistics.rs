//! Statistics of a column, released against a budget. The core plans, pays, reads and books.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::{Value, json};
use sordino_data::{CsvAsked, Schema};
use sordino_mechanisms::statistics::{Cells, Estimate, Ranked, Winner};
use sordino_privacy::Epsilon;
use sordino_run::query::{AnswerValue, Query, Statistic, answer_given};
use sordino_run::{Given, Payer, Payment, Relation};

use crate::budget::NativePayer;
use crate::errors::{Failure, long};
use crate::table::PyTable;

const ALL: [Statistic; 8] = [
    Statistic::Count,
    Statistic::Sum,
    Statistic::Mean,
    Statistic::Variance,
    Statistic::Median,
    Statistic::Quantile,
    Statistic::Histogram,
    Statistic::Mode,
];

/// One statistic of a column of a table, or of the file `data`: its value in JSON, its error with
/// 95 % confidence, and its guarantee in JSON.
#[pyfunction]
#[pyo3(signature = (statistic, column, epsilon, schema, table=None, data=None, edges=None, equals=None,
                    at=0.5, neighbours=None, payer=None, seed=None))]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn statistic(
    py: Python<'_>,
    statistic: &str,
    column: String,
    epsilon: f64,
    schema: &str,
    table: Option<PyRef<'_, PyTable>>,
    data: Option<PathBuf>,
    edges: Option<Vec<f64>>,
    equals: Option<String>,
    at: f64,
    neighbours: Option<&str>,
    payer: Option<Py<NativePayer>>,
    seed: Option<u64>,
) -> PyResult<(String, f64, String)> {
    let table = table.map(|table| table.source()).transpose()?;
    let payer = payer.map_or(Payer::Settings, |payer| payer.get().0.clone());
    long(py, || {
        let known = ALL.into_iter().find(|known| known.name() == statistic);
        let statistic = known.ok_or_else(|| Failure::declaration("there is no such statistic"))?;
        let query = Query {
            data: data.unwrap_or_default(),
            statistic,
            column: Some(column),
            epsilon: Epsilon::new(epsilon)?,
            schema: None,
            bounds: None,
            values: None,
            csv: CsvAsked::default(),
            edges,
            equals,
            at,
            neighbours: neighbours.map(relation).transpose()?,
            permissive: false,
            payment: Payment::default(),
            danger_seed: seed,
        };
        let given = Given { table, schema: Some(Schema::from_toml(schema)?), payer };
        let (answer, _) = answer_given(&query, given)?;
        let (value, error): (Value, f64) = match answer.value {
            AnswerValue::Estimate(Estimate { value, error }) => (json!(value), error),
            AnswerValue::Ranked(Ranked { value, rank_error }) => (json!(value), rank_error),
            AnswerValue::Cells(Cells { counts, error }) => (json!(counts), error),
            AnswerValue::Winner(Winner { key, gap }) => (json!(key), gap),
        };
        Ok((value.to_string(), error, serde_json::to_string(&answer.guarantee)?))
    })
}

fn relation(name: &str) -> Result<Relation, Failure> {
    let known = [Relation::AddRemove, Relation::ZeroOut, Relation::Replace];
    known
        .into_iter()
        .find(|known| known.neighbours().to_string() == name)
        .ok_or_else(|| Failure::declaration("neighbours must be `add_remove`, `zero_out` or `replace`"))
}
