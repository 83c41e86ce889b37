//! Ledgers: making them, giving data sets their budgets, reading what was spent.
//!
//! A ledger is opened for each call, so that nothing of it is shared with a forked process.

use std::path::PathBuf;

use pyo3::prelude::*;
use sordino_data::{Reading, Schema};
use sordino_ledger::{Digest, Identity, Label, Ledger, LedgerError, Rules};
use sordino_privacy::{Delta, Epsilon};
use sordino_run::{Ownership, Payment, identity};

use crate::budget::terms;
use crate::errors::{Failure, long};

/// A data set by its number, what is used of its budget, and what is left.
type Total = (u64, f64, f64);

/// A new ledger in a new file.
#[pyfunction]
pub(crate) fn ledger_create(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    long(py, || Ok(Ledger::create(&path).map(drop)?))
}

/// The name and the content of a data file.
#[pyfunction]
pub(crate) fn ledger_file_identity(
    py: Python<'_>,
    data: PathBuf,
    name: Option<&str>,
) -> PyResult<(String, [u8; 32])> {
    long(py, || {
        let name = name.map(Label::new).transpose()?;
        let Identity { name, content } = identity(&data, name.as_ref())?;
        Ok((name.to_string(), *content.bytes()))
    })
}

/// Gives a data set its budget, once and for all. `file` fixes the format of a data file; an array
/// has none.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn ledger_create_budget(
    py: Python<'_>,
    path: PathBuf,
    name: &str,
    content: [u8; 32],
    file: Option<PathBuf>,
    schema: Option<&str>,
    who: Option<&str>,
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    unit: &str,
    planned: bool,
    gaussian_filter: bool,
    set_aside: f64,
) -> PyResult<()> {
    long(py, || {
        let terms = terms(epsilon, delta, neighbours, unit, planned, gaussian_filter, set_aside)?;
        let identity = Identity { name: Label::new(name)?, content: Digest::from_bytes(content) };
        let schema = schema.map(Schema::from_toml).transpose()?;
        let who = who.map(Label::new).transpose()?;
        let owner = Payment { who, ..Payment::default() }.analyst()?;
        let rules = match &file {
            Some(file) => Ownership { schema, owner, lock: None }.rules(Some(&terms.unit), Some(file))?.0,
            None => {
                let reading =
                    schema.as_ref().map_or_else(|| Reading::default_for(terms.unit.clone()), Reading::of);
                Rules::new(reading.to_text()).map_err(LedgerError::from)?.owned_by(owner)
            }
        };
        let ledger = if Ledger::exists(&path)? { Ledger::open(&path)? } else { Ledger::create(&path)? };
        Ok(ledger.create_data_set_with(&identity, &terms, &rules).map(drop)?)
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
