//! Schemas: what the owner of the data declares.

use std::path::PathBuf;

use pyo3::prelude::*;
use sordino_data::{Column, CsvAsked, Schema, Source, template};

use crate::errors::long;

/// Kind, lower bound, upper bound and values of a column.
type ColumnFacts = (String, &'static str, Option<(f64, f64)>, Option<Vec<String>>);

/// Checks a schema and writes it in the one normal form, with its digest.
#[pyfunction]
pub(crate) fn schema(py: Python<'_>, toml: &str) -> PyResult<(String, [u8; 32])> {
    long(py, || {
        let schema = Schema::from_toml(toml)?;
        Ok((schema.to_toml(), schema.digest()))
    })
}

/// The columns of a schema, in its order, and the column and the limit of its unit.
#[pyfunction]
pub(crate) fn schema_facts(toml: &str) -> PyResult<(Vec<ColumnFacts>, Option<String>)> {
    let schema = Schema::from_toml(toml).map_err(crate::errors::Failure::from)?;
    let columns = schema.columns().map(|(name, column)| {
        let (kind, bounds, values) = match column {
            Column::Number(number) => {
                let kind = if number.is_whole() { "integer" } else { "number" };
                (kind, Some((number.bounds().lower(), number.bounds().upper())), None)
            }
            Column::Category(category) => {
                let kind = if category.is_boolean() { "boolean" } else { "category" };
                (kind, None, Some(category.values().to_vec()))
            }
            Column::Ignore => ("ignore", None, None),
        };
        (name.to_owned(), kind, bounds, values)
    });
    Ok((columns.collect(), schema.unit().column().map(str::to_owned)))
}

/// A template from the header of a data file alone.
#[pyfunction]
pub(crate) fn schema_template(py: Python<'_>, data: PathBuf) -> PyResult<String> {
    long(py, || {
        let csv = CsvAsked::default().find(&data)?.options;
        let source = Source::open(&data, &csv)?;
        Ok(template(source.header(), &csv))
    })
}
