//! What the owner of a data set allows, checked before the data file is opened.
//!
//! # Why first
//! The choice of how to parse a file decides what a record is and to whom it belongs. With the
//! wrong options even an error about the header can show records. So the ledger is opened first,
//! finds the data set by its name, and the schema is compared with the owner's
//! [reading](sordino_data::Reading). Only then is the file opened and digested, and the digest must
//! be that of the data set with the budget ([`Purse`]).
//!
//! # Doors
//! The strict door says which record does not fit the schema. Only the owner may use it. Without a
//! ledger, the user is the owner. A ledger names the owner; if it names none, everybody counts as
//! the owner until an analyst gets a share. Everybody else uses the permissive door.

use std::path::Path;

use sordino_data::{CsvAsked, CsvFound, CsvOptions, Door, Reading, Schema, Source};
use sordino_ledger::{Account, DataSet, Digest, Identity, Label, Ledger, LedgerError, Lock, Rules};
use sordino_privacy::{Charge, Neighbours};

use crate::error::RunError;
use crate::identity::file_name;
use crate::payer::{Payer, SharedBudget, check_lock, locked};
use crate::purse::{Payment, Purse};

/// The note for somebody who is not the owner and did not ask for the permissive door.
pub(crate) const DOOR_NOTE: &str = "you are not told which records do not fit the schema; only the owner is";

/// The most names that an error lists.
const MAX_NAMES: usize = 5;

/// A data set and its owner's rules. Without a ledger there are no rules.
#[derive(Debug)]
pub struct Access {
    known: Option<Known>,
    /// The budget in memory that pays, if one does.
    budget: Option<SharedBudget>,
    /// Whether the data is a table in memory, and not a file.
    is_table: bool,
}

#[derive(Debug)]
struct Known {
    /// The open ledger, until the budget takes it.
    ledger: Option<Ledger>,
    /// The ledger's path, for messages.
    place: String,
    name: Label,
    who: Label,
    set: DataSet,
    reading: Reading,
    /// Whether the data counts as that of the data set on a program's word.
    is_vouched: bool,
}

/// The data set with this name. If there is none, the error lists the known names: the file may be
/// a copy of one of theirs.
pub(crate) fn find_by_name(ledger: &Ledger, name: &Label) -> Result<DataSet, RunError> {
    match ledger.find_by_name(name) {
        Err(LedgerError::Unknown { name }) => {
            let known: Vec<String> =
                ledger.data_sets()?.iter().map(|set| format!("`--name {}`", set.names[0])).collect();
            let known = match known.len() {
                0 => "create its budget first".to_owned(),
                1..=MAX_NAMES => {
                    format!("if the file is a copy of one that has a budget, give {}", known.join(" or "))
                }
                _ => "if the file is a copy of one that has a budget, give that one's --name".to_owned(),
            };
            Err(RunError::UnknownDataSet { name, known })
        }
        found => Ok(found?),
    }
}

impl Access {
    /// Finds the data set by its name in the ledger that pays. Does not open the data file.
    pub fn find(data: &Path, payment: &Payment) -> Result<Self, RunError> {
        let Some(path) = &payment.ledger else {
            payment.check_without_ledger()?;
            return Ok(Self { known: None, budget: None, is_table: false });
        };
        let name = payment.name.clone().map_or_else(|| file_name(data), Ok)?;
        let known = Known::open(path, name, payment.analyst()?)?;
        Ok(Self { known: Some(known), budget: None, is_table: false })
    }

    /// The same for whoever pays, and for a table in memory too, whose name `data` is.
    pub(crate) fn by(
        payer: &Payer,
        data: &Path,
        payment: &Payment,
        is_table: bool,
    ) -> Result<Self, RunError> {
        if payment.ledger.is_some() && !matches!(payer, Payer::Settings) {
            return Err(RunError::TwoSettings { first: "--ledger", second: "a budget" });
        }
        let access = match payer {
            Payer::Settings => Self::find(data, payment)?,
            Payer::Budget(budget) => Self { known: None, budget: Some(budget.clone()), is_table },
            Payer::Account(account) => {
                let (name, who) = (account.name().clone(), account.who().clone());
                let known = Known::open(account.ledger(), name, who)?;
                // The digest of a file is known, and is compared.
                Self { known: Some(Known { is_vouched: is_table, ..known }), budget: None, is_table }
            }
        };
        if let Some(known) = access.known.as_ref().filter(|_| is_table) {
            check_lock(&known.set)?;
        }
        Ok(Self { is_table, ..access })
    }

    /// The owner's CSV options, for requests without a schema.
    pub fn csv(&self) -> CsvOptions {
        self.known.as_ref().map_or_else(CsvOptions::default, |known| known.reading.csv().clone())
    }

    /// CSV options for a request without a schema. With a ledger they are the owner's, overridden
    /// by `asked` for a later check, and no file is opened. Otherwise they come from `asked` and
    /// from the header line.
    pub fn csv_for(&self, asked: &CsvAsked, data: &Path) -> Result<CsvFound, RunError> {
        if self.known.is_none() {
            return Ok(asked.find(data)?);
        }
        Ok(CsvFound { options: asked.over(self.csv()), delimiter: None })
    }

    /// Checks that a schema reads the data as its owner does, as far as that is known before the
    /// file is opened, and that a locked data set allows it.
    pub fn check_schema(&self, schema: &Schema) -> Result<(), RunError> {
        self.check_reading(schema)?;
        match (&self.known, self.lock()) {
            (Some(known), Some(lock)) if lock.schema() != Digest::from_bytes(schema.digest()) => {
                Err(RunError::OtherSchema { name: known.name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The same without the lock, for a schema that was bought: it declares more than the one it
    /// was bought with.
    pub(crate) fn check_reading(&self, schema: &Schema) -> Result<(), RunError> {
        let Some(known) = &self.known else { return Ok(()) };
        // `check_before_opening` compares units too; this error says what to do.
        let (stated, got) = (known.reading.unit(), schema.unit().unit());
        if *stated != got {
            return Err(RunError::other_unit(stated, &got));
        }
        // A table in memory is not parsed.
        if self.is_table { Ok(()) } else { Ok(known.reading.check_before_opening(schema)?) }
    }

    /// Checks CSV options before the file is opened.
    pub(crate) fn check_csv(&self, csv: &CsvOptions) -> Result<(), RunError> {
        self.known.as_ref().map_or(Ok(()), |known| Ok(known.reading.check_csv(csv)?))
    }

    /// Checks that a schema may be completed by a purchase: a locked data set has one schema, which
    /// is complete.
    pub fn check_purchase(&self) -> Result<(), RunError> {
        if self.lock().is_some() { Err(RunError::LockedSchema) } else { Ok(()) }
    }

    /// Checks the rest once the file is open: its first line, its format, and that the schema uses
    /// no column that the owner ignores.
    pub fn check_source(&self, schema: &Schema, source: &Source) -> Result<(), RunError> {
        source.check_header(schema)?;
        self.known.as_ref().map_or(Ok(()), |known| Ok(known.reading.check(schema, source)?))
    }

    /// Checks that none of these columns is one that the owner ignores.
    pub fn check_columns<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), RunError> {
        let Some(known) = &self.known else { return Ok(()) };
        match names.into_iter().find(|name| known.reading.ignores(name)) {
            Some(column) => Err(RunError::IgnoredColumn { column: column.to_owned() }),
            None => Ok(()),
        }
    }

    /// Checks that results may be written to this path. For a locked data set it must lie in the
    /// owner's folder and not exist yet, neither as another result nor as a link.
    pub fn check_place(&self, out: &Path) -> Result<(), RunError> {
        let Some(lock) = self.lock() else { return Ok(()) };
        if out.symlink_metadata().is_ok() {
            return Err(RunError::FileExists { path: out.to_owned() });
        }
        let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_there = parent.canonicalize().is_ok_and(|parent| parent == lock.folder());
        if is_there { Ok(()) } else { Err(RunError::OtherFolder { folder: lock.folder().to_owned() }) }
    }

    /// Checks that a model may stay in the memory of a program. Those of a locked data set are
    /// written to the owner's folder.
    pub(crate) fn check_unlocked(&self) -> Result<(), RunError> {
        match (&self.known, self.lock()) {
            (Some(known), Some(lock)) => {
                let (name, folder) = (known.name.clone(), lock.folder().to_owned());
                Err(RunError::LockedModel { name, folder })
            }
            _ => Ok(()),
        }
    }

    /// Checks that a public test is allowed. A locked data set allows none, because its score would
    /// be free.
    pub fn check_public_test(&self) -> Result<(), RunError> {
        if self.lock().is_some() { Err(RunError::LockedTest) } else { Ok(()) }
    }

    /// Checks that no ledger would pay for seeded noise.
    pub fn check_seed(&self, is_seeded: bool) -> Result<(), RunError> {
        if is_seeded && self.known.is_some() { Err(RunError::SeededCharge) } else { Ok(()) }
    }

    /// The door for this request: strict if the owner asks and did not ask for the permissive one.
    pub fn door(&self, is_permissive: bool) -> Door {
        let is_owners = self.known.as_ref().is_none_or(|known| {
            let owner = known.set.rules.as_ref().and_then(Rules::owner);
            let is_owner = owner.map_or(known.set.grants.is_empty(), |owner| *owner == known.who);
            is_owner && self.lock().is_none()
        });
        if is_permissive || !is_owners { Door::Permissive } else { Door::Strict }
    }

    /// Opens the budget of a file with this content. `asked` is the relation that a setting
    /// names. Without one the ledger's relation holds; without a ledger, `usual`. `what` is
    /// the purpose that the history shows.
    pub fn open(
        &mut self,
        content: Option<[u8; 32]>,
        asked: Option<Neighbours>,
        usual: Neighbours,
        what: Label,
    ) -> Result<Purse, RunError> {
        if let Some(budget) = &self.budget {
            let stated = locked(budget).terms().neighbours;
            check_relation("the budget", stated, asked)?;
            return Ok(Purse::of_budget(budget.clone(), content.map(Digest::from_bytes)));
        }
        let Some(Known { ledger, place, name, who, set, is_vouched, .. }) = &mut self.known else {
            return Ok(Purse::unmetered(content.map(Digest::from_bytes), asked.unwrap_or(usual)));
        };
        // The ledger is opened once, and the purse takes it.
        let ledger = ledger.take().ok_or(RunError::Missing { setting: "--ledger" })?;
        let content = Digest::from_bytes(content.ok_or(RunError::Missing { setting: "DATA" })?);
        let stated = if *is_vouched { set.contents[0] } else { content };
        let identity = Identity { name: name.clone(), content: stated };
        let account = Account::open(ledger, &identity, who.clone(), what)?;
        // The rules may have changed since the schema was compared with them.
        if account.rules() != set.rules.as_ref() || account.data_set() != set.number {
            return Err(LedgerError::RulesChanged { name: name.clone() }.into());
        }
        check_relation(place, account.terms().neighbours, asked)?;
        Ok(Purse::of(account, content))
    }

    /// Whether the payer must know which data it is, so that a table in memory needs its identity.
    pub(crate) fn needs_identity(&self) -> bool {
        self.known.as_ref().is_some_and(|known| !known.is_vouched)
    }

    /// Whether a ledger pays, so that the content of the data must be known.
    pub fn is_metered(&self) -> bool {
        self.known.is_some()
    }

    fn lock(&self) -> Option<&Lock> {
        self.known.as_ref()?.set.rules.as_ref()?.lock()
    }
}

impl Known {
    fn open(path: &Path, name: Label, who: Label) -> Result<Self, RunError> {
        let ledger = Ledger::open(path)?;
        let set = find_by_name(&ledger, &name)?;
        let reading = match &set.rules {
            Some(rules) => Reading::from_text(rules.reading())?,
            None => Reading::default_for(set.terms.unit.clone()),
        };
        let place = path.display().to_string();
        Ok(Self { ledger: Some(ledger), place, name, who, set, reading, is_vouched: false })
    }
}

fn check_relation(place: &str, stated: Neighbours, asked: Option<Neighbours>) -> Result<(), RunError> {
    match asked {
        Some(asked) if asked != stated => {
            Err(RunError::TwoRelations { name: place.to_owned(), stated, asked })
        }
        Some(_) | None => Ok(()),
    }
}
