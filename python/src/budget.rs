//! What pays: a budget in memory, or a ledger's account.
//!
//! Locks are taken without the interpreter's lock, so that a thread that waits for one does not
//! hold the other.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use sordino_ledger::{Account as LedgerAccount, Digest, Identity, Label, Ledger};
use sordino_privacy::{
    Budget as MemoryBudget, Charge, Delta, Epsilon, Filter, Gauge, Neighbours, Quote, Terms, Unit,
};
use sordino_run::Payment;
use sordino_run::single::Paying;

use crate::accounting::{parsed, relation};
use crate::errors::{Failure, long};

/// Used and left, in ε.
type Used = (f64, f64);

/// A budget in memory.
#[pyclass(frozen, module = "sordino._sordino")]
pub(crate) struct Budget {
    terms: Terms,
    inner: Mutex<MemoryBudget>,
}

#[pymethods]
impl Budget {
    #[new]
    fn new(
        epsilon: f64,
        delta: f64,
        neighbours: &str,
        unit: &str,
        planned: bool,
        gaussian_filter: bool,
        set_aside: f64,
    ) -> PyResult<Self> {
        let terms = terms(epsilon, delta, neighbours, unit, planned, gaussian_filter, set_aside)?;
        Ok(Self { inner: Mutex::new(MemoryBudget::new(terms.clone())), terms })
    }

    /// The terms in JSON.
    fn terms(&self) -> PyResult<String> {
        written(&self.terms)
    }

    /// What is used and what is left.
    fn gauge(&self, py: Python<'_>) -> PyResult<Used> {
        long(py, || {
            let Gauge { used, left, .. } = self.lock().gauge()?;
            Ok((used, left))
        })
    }

    /// What an event would take of what is left. Charges nothing.
    fn quote(&self, py: Python<'_>, event: &str) -> PyResult<f64> {
        long(py, || Ok(self.lock().quote(&parsed(event)?)?.price()))
    }

    /// Pays for a release that is made elsewhere.
    fn charge(&self, py: Python<'_>, event: &str) -> PyResult<()> {
        long(py, || Ok(self.lock().charge(parsed(event)?).map(drop)?))
    }

    /// Every event that was charged, as JSON, and how often.
    fn spent(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        long(py, || {
            let spent = self.lock().spent()?;
            spent.events().iter().map(|(event, times)| Ok((serde_json::to_string(event)?, *times))).collect()
        })
    }
}

impl Budget {
    /// The budget itself. A panic of somebody who held it has charged or has not; either is
    /// consistent.
    pub(crate) fn lock(&self) -> MutexGuard<'_, MemoryBudget> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it allows.
    pub(crate) fn agreed(&self) -> &Terms {
        &self.terms
    }
}

/// One analyst's view of one data set's budget in a ledger.
#[pyclass(frozen, module = "sordino._sordino")]
pub(crate) struct Account {
    path: PathBuf,
    identity: Identity,
    who: Label,
    terms: Terms,
    /// With the process that opened it: a connection to a ledger must not be used after a fork.
    inner: Mutex<(u32, LedgerAccount)>,
}

#[pymethods]
impl Account {
    /// Opens the budget of the data set that has this name and this content. Without content, in
    /// another process of the same run, it is the content that the ledger has under the name.
    #[new]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        name: &str,
        content: Option<[u8; 32]>,
        who: Option<&str>,
    ) -> PyResult<Self> {
        long(py, || {
            let (name, who) = (Label::new(name)?, who.map(Label::new).transpose()?);
            let who = Payment { who, ..Payment::default() }.analyst()?;
            let content = match content {
                Some(content) => Digest::from_bytes(content),
                None => known_content(&path, &name)?,
            };
            let identity = Identity { name, content };
            let account = opened(&path, &identity, &who)?;
            let terms = account.terms().clone();
            Ok(Self { path, identity, who, terms, inner: Mutex::new((process::id(), account)) })
        })
    }

    /// Path, name and analyst: what opens it again.
    fn places(&self) -> (PathBuf, String, String) {
        (self.path.clone(), self.identity.name.to_string(), self.who.to_string())
    }

    /// The terms in JSON.
    fn terms(&self) -> PyResult<String> {
        written(&self.terms)
    }

    /// Whether its owner has locked the data set.
    fn is_locked(&self, py: Python<'_>) -> PyResult<bool> {
        long(py, || self.with(|account| Ok(account.rules().is_some_and(|rules| rules.lock().is_some()))))
    }

    /// What is used and what is left, of the analyst's share if there is one.
    fn gauge(&self, py: Python<'_>) -> PyResult<Used> {
        long(py, || {
            self.with(|account| {
                let Gauge { used, left, .. } = account.limit()?.gauge;
                Ok((used, left))
            })
        })
    }

    /// What an event would take of what is left. Charges nothing.
    fn quote(&self, py: Python<'_>, event: &str) -> PyResult<f64> {
        long(py, || {
            let event = parsed(event)?;
            self.with(|account| Ok(Quote::price(&account.quote(&event)?)))
        })
    }

    /// Pays for a release that is made elsewhere. The charge stays reserved.
    fn charge(&self, py: Python<'_>, event: &str, what: &str) -> PyResult<()> {
        long(py, || {
            let (event, what) = (parsed(event)?, Label::new(what)?);
            self.with(|account| {
                account.set_purpose(what);
                Ok(account.charge(event).map(drop)?)
            })
        })
    }
}

impl Account {
    /// Runs `work` with the account of this process.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut LedgerAccount) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.0 != process::id() {
            let fresh = (process::id(), opened(&self.path, &self.identity, &self.who)?);
            // Closing the parent's connection in a child would disturb the parent's locks.
            std::mem::forget(std::mem::replace(&mut *inner, fresh));
        }
        work(&mut inner.1)
    }

    /// What it allows.
    pub(crate) fn agreed(&self) -> &Terms {
        &self.terms
    }
}

fn opened(path: &Path, identity: &Identity, who: &Label) -> Result<LedgerAccount, Failure> {
    let what = Label::new("python")?;
    Ok(LedgerAccount::open(Ledger::open(path)?, identity, who.clone(), what)?)
}

fn known_content(path: &Path, name: &Label) -> Result<Digest, Failure> {
    let set = Ledger::open(path)?.find_by_name(name)?;
    // A data set is created with its first content.
    set.contents.last().copied().ok_or_else(|| Failure::declaration("the data set has no content"))
}

/// What pays, as Python passes it.
#[derive(FromPyObject)]
pub(crate) enum Payer {
    /// A budget in memory.
    Budget(Py<Budget>),
    /// A ledger's account.
    Account(Py<Account>),
}

impl Payer {
    /// The relation of everything that it pays for.
    pub(crate) fn neighbours(&self) -> Neighbours {
        self.agreed().neighbours
    }

    fn agreed(&self) -> &Terms {
        match self {
            Self::Budget(budget) => budget.get().agreed(),
            Self::Account(account) => account.get().agreed(),
        }
    }
}

/// Runs `work` with what pays; nobody does if there is no payer.
pub(crate) fn paid_by<T>(
    payer: Option<&Payer>,
    delta: Delta,
    what: &str,
    work: impl FnOnce(Paying<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match payer {
        None => work(Paying::Nobody(delta)),
        Some(Payer::Budget(budget)) => work(Paying::Budget(&mut budget.get().lock())),
        Some(Payer::Account(account)) => account.get().with(|account| {
            account.set_purpose(Label::new(what)?);
            work(Paying::Account(account))
        }),
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

fn written(terms: &Terms) -> PyResult<String> {
    Ok(serde_json::to_string(terms).map_err(Failure::from)?)
}
