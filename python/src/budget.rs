//! What pays: a budget in memory, or a ledger's account.
//!
//! Locks are taken without the interpreter's lock, so that a thread that waits for one does not
//! hold the other. A ledger is opened for each call: nothing of it is shared with a forked process.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use sordino_data::{Schema, Source};
use sordino_ledger::Label;
use sordino_privacy::{Budget, Charge, Delta, Epsilon, Filter, Gauge, Neighbours, Quote, Terms, Unit};
use sordino_run::{LedgerAccount, Payer, Payment, SharedBudget};

use crate::accounting::{parsed, relation};
use crate::errors::{Failure, long};
use crate::table::PyTable;

/// Used and left, in ε.
type Used = (f64, f64);

/// What pays for a release.
#[pyclass(frozen, module = "sordino._sordino")]
pub(crate) struct NativePayer(pub(crate) Payer);

#[pymethods]
impl NativePayer {
    /// A budget in memory.
    #[staticmethod]
    fn budget(
        epsilon: f64,
        delta: f64,
        neighbours: &str,
        unit: &str,
        planned: bool,
        gaussian_filter: bool,
        set_aside: f64,
    ) -> PyResult<Self> {
        let terms = terms(epsilon, delta, neighbours, unit, planned, gaussian_filter, set_aside)?;
        Ok(Self(Payer::Budget(Arc::new(Mutex::new(Budget::new(terms))))))
    }

    /// The account of a data file, or of a table under its schema.
    #[staticmethod]
    fn account(
        py: Python<'_>,
        path: PathBuf,
        file: Option<PathBuf>,
        table: Option<PyRef<'_, PyTable>>,
        schema: Option<&str>,
        name: Option<&str>,
        who: Option<&str>,
    ) -> PyResult<Self> {
        let table = table.map(|table| table.source()).transpose()?;
        long(py, || {
            let schema = schema.map(Schema::from_toml).transpose()?;
            let source = source(file, table, schema.as_ref())?;
            let name = name.map(Label::new).transpose()?;
            let account =
                LedgerAccount::open(&path, &source, schema.as_ref(), name.as_ref(), &analyst(who)?)?;
            Ok(Self(Payer::Account(account)))
        })
    }

    /// The account by its names alone, in another process of the same run.
    #[staticmethod]
    fn named(py: Python<'_>, path: PathBuf, name: &str, who: &str) -> PyResult<Self> {
        long(py, || {
            let account = LedgerAccount::named(&path, &Label::new(name)?, &Label::new(who)?)?;
            Ok(Self(Payer::Account(account)))
        })
    }

    /// Ledger, name and analyst of an account; none for a budget in memory.
    fn places(&self) -> Option<(PathBuf, String, String)> {
        let Payer::Account(account) = &self.0 else { return None };
        Some((account.ledger().to_owned(), account.name().to_string(), account.who().to_string()))
    }

    /// The terms in JSON.
    fn terms(&self, py: Python<'_>) -> PyResult<String> {
        long(py, || Ok(serde_json::to_string(&self.agreed()?)?))
    }

    /// What is used and what is left; of the analyst's share, if a ledger has given one.
    fn gauge(&self, py: Python<'_>) -> PyResult<Used> {
        long(py, || {
            let Gauge { used, left, .. } = match &self.0 {
                Payer::Settings => return Err(nobody()),
                Payer::Budget(budget) => locked(budget).gauge()?,
                Payer::Account(account) => account.look()?.limit()?.gauge,
            };
            Ok((used, left))
        })
    }

    /// What an event would take of what is left. Charges nothing; fails as a charge would.
    fn quote(&self, py: Python<'_>, event: &str) -> PyResult<f64> {
        long(py, || {
            let event = parsed(event)?;
            let quote = match &self.0 {
                Payer::Settings => return Err(nobody()),
                Payer::Budget(budget) => locked(budget).quote(&event)?,
                Payer::Account(account) => account.look()?.quote(&event)?,
            };
            Ok(Quote::price(&quote))
        })
    }

    /// Pays for a release that is made elsewhere. In a ledger the charge stays reserved.
    fn charge(&self, py: Python<'_>, event: &str, what: &str) -> PyResult<()> {
        long(py, || {
            let (event, what) = (parsed(event)?, Label::new(what)?);
            match &self.0 {
                Payer::Settings => Err(nobody()),
                Payer::Budget(budget) => Ok(locked(budget).charge(event).map(drop)?),
                Payer::Account(account) => {
                    let mut account = account.look()?;
                    account.set_purpose(what);
                    Ok(account.charge(event).map(drop)?)
                }
            }
        })
    }

    /// Every event that was charged to a budget in memory, as JSON, and how often.
    fn spent(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        long(py, || {
            let Payer::Budget(budget) = &self.0 else { return Err(nobody()) };
            let spent = locked(budget).spent()?;
            spent.events().iter().map(|(event, times)| Ok((serde_json::to_string(event)?, *times))).collect()
        })
    }
}

impl NativePayer {
    /// What it allows.
    pub(crate) fn agreed(&self) -> Result<Terms, Failure> {
        match &self.0 {
            Payer::Settings => Err(nobody()),
            Payer::Budget(budget) => Ok(locked(budget).terms().clone()),
            Payer::Account(account) => Ok(account.look()?.terms().clone()),
        }
    }

    /// The relation of everything that it pays for.
    pub(crate) fn neighbours(&self) -> Result<Neighbours, Failure> {
        Ok(self.agreed()?.neighbours)
    }
}

/// A panic of somebody who held it has charged or has not; either is consistent.
fn locked(budget: &SharedBudget) -> MutexGuard<'_, Budget> {
    budget.lock().unwrap_or_else(PoisonError::into_inner)
}

fn nobody() -> Failure {
    Failure::declaration("nobody pays here: state a budget")
}

/// The analyst who is named, or the user.
pub(crate) fn analyst(who: Option<&str>) -> Result<Label, Failure> {
    let who = who.map(Label::new).transpose()?;
    Ok(Payment { who, ..Payment::default() }.analyst()?)
}

/// A file, read as its schema says, or a table.
pub(crate) fn source(
    file: Option<PathBuf>,
    table: Option<Source>,
    schema: Option<&Schema>,
) -> Result<Source, Failure> {
    match (file, table) {
        (Some(file), None) => {
            let csv = schema.map(|schema| schema.csv().clone()).unwrap_or_default();
            Ok(Source::open(&file, &csv)?)
        }
        (None, Some(table)) => Ok(table),
        _ => Err(Failure::declaration("state a file or a table")),
    }
}

/// The terms of a new budget.
pub(crate) fn terms(
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    unit: &str,
    planned: bool,
    gaussian_filter: bool,
    set_aside: f64,
) -> Result<Terms, Failure> {
    let unit: Unit = serde_json::from_str(unit)?;
    let terms = Terms::new(Epsilon::new(epsilon)?, relation(neighbours)?)
        .with_delta(Delta::new(delta)?)
        .for_unit(unit)
        .setting_aside(Delta::new(set_aside)?);
    let terms = if gaussian_filter { terms.filtered_by(Filter::Gaussian) } else { terms };
    Ok(if planned { terms.planned() } else { terms })
}
