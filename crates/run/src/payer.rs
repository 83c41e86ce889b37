//! Who pays for a run that a program asks for, and what the program has at hand: a table in memory,
//! a schema.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sordino_data::{Schema, Source};
use sordino_ledger::{Account, DataSet, Digest, Identity, Label, Ledger};
use sordino_privacy::Budget;

use crate::access::find_by_name;
use crate::error::RunError;
use crate::purse::purpose;

/// A budget in memory that several runs share.
pub type SharedBudget = Arc<Mutex<Budget>>;

/// What a program has in memory, in the place of files that settings name.
#[derive(Debug, Default)]
pub struct Given {
    /// The table; the file that the settings name if there is none.
    pub table: Option<Source>,
    /// The schema; the file that the settings name if there is none.
    pub schema: Option<Schema>,
    /// Who pays.
    pub payer: Payer,
}

/// Who pays for a release.
#[derive(Clone, Debug, Default)]
pub enum Payer {
    /// The ledger that the settings name. If they name none, nobody pays, and the guarantee says
    /// so.
    #[default]
    Settings,
    /// A budget in memory. It does not know which data it is for: that is the program's to keep.
    Budget(SharedBudget),
    /// The account of a data set in a ledger. A table in memory is taken for rows and columns of
    /// that data set on the program's word, and each release is charged as one of the whole.
    Account(LedgerAccount),
}

/// The account of one analyst in the ledger of a data set. Each run opens the ledger anew, so
/// threads and processes may share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerAccount {
    ledger: PathBuf,
    name: Label,
    who: Label,
}

impl LedgerAccount {
    /// The account for a file, or for a table in memory under its owner's schema. Fails unless the
    /// ledger knows the data under this name, or under any name if none is given. A locked data set
    /// accepts files alone, whose parsing its owner fixed.
    pub fn open(
        ledger: &Path,
        data: &Source,
        schema: Option<&Schema>,
        name: Option<&Label>,
        who: &Label,
    ) -> Result<Self, RunError> {
        let content = match schema {
            Some(schema) if data.is_memory() => data.identity(schema)?,
            None if data.is_memory() => return Err(RunError::Missing { setting: "--schema FILE" }),
            Some(_) | None => data.content()?,
        };
        let (book, content) = (Ledger::open(ledger)?, Digest::from_bytes(content));
        let name = match name {
            Some(name) => name.clone(),
            None => {
                let sets = book.data_sets()?;
                let set = sets.iter().find(|set| set.contents.contains(&content));
                set.ok_or(RunError::UnknownTable)?.names[0].clone()
            }
        };
        let set = find_by_name(&book, &name)?;
        if data.is_memory() {
            check_lock(&set)?;
        }
        let identity = Identity { name: name.clone(), content };
        Account::open(book, &identity, who.clone(), purpose("open", None))?;
        Ok(Self { ledger: ledger.to_owned(), name, who: who.clone() })
    }

    /// The account by its names alone, as a process that was told of it opens it. Fails if the
    /// ledger has no such data set.
    pub fn named(ledger: &Path, name: &Label, who: &Label) -> Result<Self, RunError> {
        find_by_name(&Ledger::open(ledger)?, name)?;
        Ok(Self { ledger: ledger.to_owned(), name: name.clone(), who: who.clone() })
    }

    /// The ledger.
    pub fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// The name of the data set.
    pub fn name(&self) -> &Label {
        &self.name
    }

    /// The analyst.
    pub fn who(&self) -> &Label {
        &self.who
    }

    /// The account itself, for a look at terms and limits.
    pub fn look(&self) -> Result<Account, RunError> {
        let ledger = Ledger::open(&self.ledger)?;
        let content = find_by_name(&ledger, &self.name)?.contents[0];
        let identity = Identity { name: self.name.clone(), content };
        Ok(Account::open(ledger, &identity, self.who.clone(), purpose("look", None))?)
    }
}

/// Refuses a table in memory for a locked data set.
pub(crate) fn check_lock(set: &DataSet) -> Result<(), RunError> {
    match set.rules.as_ref().and_then(|rules| rules.lock()) {
        Some(_) => Err(RunError::LockedTable { name: set.names[0].clone() }),
        None => Ok(()),
    }
}

/// The budget, even if a thread panicked while it held the lock: every charge is complete before
/// the budget returns.
pub(crate) fn locked(budget: &SharedBudget) -> MutexGuard<'_, Budget> {
    budget.lock().unwrap_or_else(PoisonError::into_inner)
}
