//! Ledgers: making them, giving data sets their budgets, reading what was spent.
//!
//! A ledger is opened for each call, so that nothing of it is shared with a forked process.

use std::path::PathBuf;

use pyo3::prelude::*;
use sordino_data::Schema;
use sordino_ledger::{Identity, Label, Ledger};
use sordino_privacy::{Delta, Epsilon};
use sordino_run::{Ownership, identity, table_identity};

use crate::budget::{analyst, terms};
use crate::errors::{Failure, long};
use crate::table::PyTable;

/// A data set by its number, what is used of its budget, and what is left.
type Total = (u64, f64, f64);

/// A new ledger in a new file.
#[pyfunction]
pub(crate) fn ledger_create(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    long(py, || Ok(Ledger::create(&path).map(drop)?))
}

/// Gives a data set its budget, once and for all: a data file, or a table under its schema. Returns
/// its name.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn ledger_create_budget(
    py: Python<'_>,
    path: PathBuf,
    file: Option<PathBuf>,
    table: Option<PyRef<'_, PyTable>>,
    schema: Option<&str>,
    name: Option<&str>,
    who: Option<&str>,
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    unit: &str,
    planned: bool,
    gaussian_filter: bool,
    set_aside: f64,
) -> PyResult<String> {
    let table = table.map(|table| table.source()).transpose()?;
    long(py, || {
        let terms = terms(epsilon, delta, neighbours, unit, planned, gaussian_filter, set_aside)?;
        let name = name.map(Label::new).transpose()?;
        let schema = schema.map(Schema::from_toml).transpose()?;
        let identity = match (&file, &table, &schema, name) {
            (Some(file), None, _, name) => identity(file, name.as_ref())?,
            (None, Some(table), Some(schema), Some(name)) => {
                Identity { name, content: table_identity(table, schema)? }
            }
            _ => return Err(Failure::declaration("a table in memory needs a schema and a name")),
        };
        let owner = Ownership { schema, owner: analyst(who)?, lock: None };
        let (rules, _) = owner.rules(Some(&terms.unit), file.as_deref())?;
        let ledger = if Ledger::exists(&path)? { Ledger::open(&path)? } else { Ledger::create(&path)? };
        ledger.create_data_set_with(&identity, &terms, &rules)?;
        Ok(identity.name.to_string())
    })
}

/// Lets a table in memory find the budget of the file that has the same values.
#[pyfunction]
pub(crate) fn ledger_link_values(
    py: Python<'_>,
    path: PathBuf,
    name: &str,
    table: PyRef<'_, PyTable>,
    schema: &str,
    who: Option<&str>,
) -> PyResult<()> {
    let table = table.source()?;
    long(py, || {
        let schema = Some(Schema::from_toml(schema)?);
        let owner = Ownership { schema, owner: analyst(who)?, lock: None };
        owner.link_values(&Ledger::open(&path)?, &Label::new(name)?, &table)?;
        Ok(())
    })
}

/// Gives an analyst a share of a data set's budget.
#[pyfunction]
pub(crate) fn ledger_grant(
    py: Python<'_>,
    path: PathBuf,
    name: &str,
    to: &str,
    epsilon: f64,
    delta: Option<f64>,
) -> PyResult<()> {
    long(py, || {
        let delta = delta.map(Delta::new).transpose()?;
        let (name, to, epsilon) = (Label::new(name)?, Label::new(to)?, Epsilon::new(epsilon)?);
        Ok(Ledger::open(&path)?.grant(&name, &to, epsilon, delta).map(drop)?)
    })
}

/// Everything that a ledger holds, as `sordino ledger export --json` has it, and the total of each
/// data set.
#[pyfunction]
pub(crate) fn ledger_export(py: Python<'_>, path: PathBuf) -> PyResult<(String, Vec<Total>)> {
    long(py, || {
        let ledger = Ledger::open_to_read(&path)?;
        let totals = ledger
            .data_sets()?
            .iter()
            .map(|set| {
                let total = ledger.total(set.number)?;
                Ok((set.number, total, set.terms.left(total)))
            })
            .collect::<Result<_, Failure>>()?;
        Ok((serde_json::to_string(&ledger.export()?)?, totals))
    })
}

/// Reads every entry again; returns the last one's number and hash.
#[pyfunction]
pub(crate) fn ledger_verify(py: Python<'_>, path: PathBuf, known: Option<&str>) -> PyResult<String> {
    long(py, || {
        let known = known.map(|text| {
            text.parse().map_err(|error| {
                let error: sordino_ledger::HeadError = error;
                Failure::declaration(error.to_string())
            })
        });
        Ok(Ledger::open_to_read(&path)?.verify(known.transpose()?)?.to_string())
    })
}
