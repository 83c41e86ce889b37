//! The ledger: opening, writing, reading.

use std::cell::{Ref, RefCell};
use std::path::Path;

use sordino_privacy::{Delta, Epsilon, Terms};

use crate::FORMAT_VERSION;
use crate::book::Book;
use crate::clock::Time;
use crate::digest::Digest;
use crate::entry::{Body, Entry, Head, Identity, Row};
use crate::error::LedgerError;
use crate::label::Label;
use crate::record::{ChargeRecord, DataSet};
use crate::rules::Rules;
use crate::store::{self, Store};

/// A durable record of budgets and of what was spent from them, shared by processes.
///
/// Opening reads and checks the whole chain; later calls read what others have added since.
#[derive(Debug)]
pub struct Ledger {
    store: Box<dyn Store>,
    book: RefCell<Book>,
    clock: fn() -> Time,
}

impl Ledger {
    /// A new ledger in a new file, or in a database that has none.
    pub fn create(path: &Path) -> Result<Self, LedgerError> {
        let book = Book::new();
        let first = next_row(&book, Body::Ledger { format_version: FORMAT_VERSION }, Time::now())?;
        let ledger = Self::new(store::create(path, std::slice::from_ref(&first), FORMAT_VERSION)?);
        ledger.book.borrow_mut().read(&first)?;
        Ok(ledger)
    }

    /// Is there something in this place, a ledger or not?
    pub fn exists(path: &Path) -> Result<bool, LedgerError> {
        store::exists(path)
    }

    /// A ledger that exists. Fails if any entry is not as it was written, or if entries are
    /// missing.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let ledger = Self::new(store::open(path)?);
        let witness = ledger.store.witness()?;
        ledger.read_from_the_start(witness, None)?;
        Ok(ledger)
    }

    /// Opens a ledger for reading only; the right to write is not needed. What needs to write
    /// fails. Without that right it may see no more than the moment at which it was opened.
    pub fn open_to_read(path: &Path) -> Result<Self, LedgerError> {
        let ledger = Self::new(store::open_to_read(path)?);
        let witness = ledger.store.witness()?;
        let read = ledger.read_from_the_start(witness, None);
        // First check that one moment was read: nothing else would be true of it.
        ledger.store.check_still()?;
        read.map(|()| ledger)
    }

    fn new(store: Box<dyn Store>) -> Self {
        Self { store, book: RefCell::new(Book::new()), clock: Time::now }
    }

    /// Gives a data set its budget, once and for all. Neither its name nor its content may have
    /// one.
    pub fn create_data_set(&self, identity: &Identity, terms: &Terms) -> Result<u64, LedgerError> {
        self.create_budget(identity, terms, None)
    }

    /// The same, with rules on how it may be read and used, once and for all.
    pub fn create_data_set_with(
        &self,
        identity: &Identity,
        terms: &Terms,
        rules: &Rules,
    ) -> Result<u64, LedgerError> {
        self.create_budget(identity, terms, Some(rules))
    }

    fn create_budget(
        &self,
        identity: &Identity,
        terms: &Terms,
        rules: Option<&Rules>,
    ) -> Result<u64, LedgerError> {
        let Identity { name, content } = identity.clone();
        self.append(&mut |book| {
            book.check_new(identity, terms, rules)?;
            Ok(Body::Created { name: name.clone(), content, terms: terms.clone(), rules: rules.cloned() })
        })
    }

    /// Sets, as the owner of the data, the rules of the data set called `name`. Fails if it has
    /// rules.
    pub fn rule(&self, name: &Label, rules: &Rules) -> Result<u64, LedgerError> {
        self.append(&mut |book| {
            let set = book.named(name)?;
            book.check_unruled(set)?;
            Ok(Body::Ruled { data_set: set.number, rules: rules.clone() })
        })
    }

    /// Declares, as the owner of the data, that a changed file under a known name or known content
    /// under a new name is the same data set: it shares the budget, and what was spent stays spent.
    pub fn link(&self, identity: &Identity) -> Result<u64, LedgerError> {
        let Identity { name, content } = identity.clone();
        self.append(&mut |book| {
            let data_set = book.linkable(identity)?.number;
            Ok(Body::Linked { data_set, name: name.clone(), content })
        })
    }

    /// Gives `to` a share of the budget of the data set called `name`, or another share than
    /// before. From the first one on, the data set is spent by those who have one.
    pub fn grant(
        &self,
        name: &Label,
        to: &Label,
        epsilon: Epsilon,
        delta: Option<Delta>,
    ) -> Result<u64, LedgerError> {
        self.append(&mut |book| {
            let set = book.named(name)?;
            let (data_set, delta) = (set.number, delta.unwrap_or(set.terms.delta));
            book.share(data_set, (epsilon, delta))?;
            Ok(Body::Granted { data_set, to: to.clone(), epsilon, delta })
        })
    }

    /// Raises an older ledger to [`FORMAT_VERSION`], after which older programs refuse it. Nothing
    /// that was written changes. Returns the version it had.
    pub fn migrate(&self) -> Result<u32, LedgerError> {
        let found = self.fresh()?.version;
        if found == FORMAT_VERSION {
            return Ok(found);
        }
        self.append(&mut |book| {
            // Somebody else may have been faster.
            if book.version == FORMAT_VERSION {
                return Err(LedgerError::Migrated);
            }
            Ok(Body::Migrated { format_version: FORMAT_VERSION })
        })
        .map(drop)
        .or_else(|error| if matches!(error, LedgerError::Migrated) { Ok(()) } else { Err(error) })?;
        Ok(found)
    }

    /// The version of its entries.
    pub fn format_version(&self) -> Result<u32, LedgerError> {
        Ok(self.fresh()?.version)
    }

    /// Records that the result of a charge was released. A charge that is never booked stays spent.
    pub fn book(&self, reservation: u64, result: Option<Digest>) -> Result<(), LedgerError> {
        self.append(&mut |book| {
            book.open_reservation(reservation)?;
            Ok(Body::Booked { reservation, result })
        })?;
        Ok(())
    }

    /// All data sets, in the order in which they were created.
    pub fn data_sets(&self) -> Result<Vec<DataSet>, LedgerError> {
        Ok(self.fresh()?.data_sets.clone())
    }

    /// The data set called `name`, whatever its content: for programs that need its rules before
    /// they open the file.
    pub fn find_by_name(&self, name: &Label) -> Result<DataSet, LedgerError> {
        Ok(self.fresh()?.named(name)?.clone())
    }

    /// All charges, in the order in which they were granted.
    pub fn charges(&self) -> Result<Vec<ChargeRecord>, LedgerError> {
        Ok(self.fresh()?.charges.clone())
    }

    /// The last entry. Whoever keeps it elsewhere can later [`verify`](Self::verify) that the
    /// history still has it.
    pub fn head(&self) -> Result<Head, LedgerError> {
        Ok(self.fresh()?.head)
    }

    /// Reads everything again, from the container to the last hash; `known` heads must be in the
    /// history.
    pub fn verify(&self, known: Option<Head>) -> Result<Head, LedgerError> {
        self.store.check()?;
        let witness = self.store.witness()?;
        self.book.replace(Book::new());
        let read = self.read_from_the_start(witness, known);
        self.store.check_still()?;
        read?;
        Ok(self.book.borrow().head)
    }

    /// Every entry, in order.
    pub fn entries(&self) -> Result<Vec<Entry>, LedgerError> {
        let (mut book, mut entries) = (Book::new(), Vec::new());
        self.store.read(1, &mut |row| {
            entries.push(book.read(&row)?);
            Ok(())
        })?;
        Ok(entries)
    }

    /// Copies one moment to a new file or an empty database, safely while others write. The copy is
    /// a ledger of its own: charging both spends the budget twice, so keep it and do not charge it.
    pub fn backup(&self, to: &Path) -> Result<Head, LedgerError> {
        self.store.backup(to)?;
        Self::open(to)?.head()
    }

    /// The state now, with what others have written.
    pub(crate) fn fresh(&self) -> Result<Ref<'_, Book>, LedgerError> {
        {
            let mut book = self.book.borrow_mut();
            let mut reader = Reader::new(&mut book);
            self.store.read(reader.from(), &mut |row| reader.read(row))?;
            reader.finish()?;
        }
        Ok(self.book.borrow())
    }

    /// Appends what `decide` makes of the state; returns the number of the entry. The lock of the
    /// store is held meanwhile. If `decide` fails, nothing happens.
    pub(crate) fn append(
        &self,
        decide: &mut dyn FnMut(&Book) -> Result<Body, LedgerError>,
    ) -> Result<u64, LedgerError> {
        let mut book = self.book.borrow_mut();
        let shared = RefCell::new(Reader::new(&mut book));
        let from = shared.borrow().from();
        let mut written = None;
        self.store.append(from, &mut |row| shared.borrow_mut().read(row), &mut || {
            let reader = shared.borrow();
            reader.finish()?;
            let body = decide(reader.book)?;
            // The version of the store changes with the entry that states it.
            let version = if let Body::Migrated { format_version } = body {
                format_version
            } else {
                reader.book.version
            };
            let row = next_row(reader.book, body, (self.clock)())?;
            written = Some(row.clone());
            Ok((row, version))
        })?;
        // Only a committed row is part of the state. If it was not, the store has failed above.
        let row = written.ok_or(LedgerError::Unwritable { detail: "the store made no row".to_owned() })?;
        book.read(&row)?;
        Ok(row.number)
    }

    /// Fills an empty book, which must then contain what the store's witness saw and what somebody
    /// else knows.
    fn read_from_the_start(&self, witness: Option<Head>, known: Option<Head>) -> Result<(), LedgerError> {
        let stated = self.store.version()?;
        let mut book = self.book.borrow_mut();
        let (mut witnessed, mut recalled) = (None, None);
        self.store.read(1, &mut |row| {
            for (head, seen) in [(witness, &mut witnessed), (known, &mut recalled)] {
                if head.is_some_and(|head| head.number == row.number) {
                    *seen = Some(row.hash);
                }
            }
            book.read(&row).map(drop)
        })?;
        if book.head.number == 0 {
            return Err(LedgerError::Broken { number: 1, reason: "it is missing".to_owned() });
        }
        // Unless it was migrated meanwhile, what the store says of itself is what its entries say.
        if book.version != stated && self.store.version()? == stated {
            let reason = format!("it is of format_version {}, and the store says {stated}", book.version);
            return Err(LedgerError::Broken { number: book.head.number, reason });
        }
        if let Some(head) = witness.filter(|head| witnessed != Some(head.hash)) {
            let witness = self.store.witness_path();
            return Err(LedgerError::LostEntries { expected: head.number, witness });
        }
        match known.filter(|head| recalled != Some(head.hash)) {
            Some(head) => Err(LedgerError::OtherHistory { head, entries: book.head.number }),
            None => Ok(()),
        }
    }
}

/// The row of a new entry, after checking that it will be read as it is meant.
fn next_row(book: &Book, body: Body, clock: Time) -> Result<Row, LedgerError> {
    let unwritable = |error: serde_json::Error| LedgerError::Unwritable { detail: error.to_string() };
    let time = clock.max(book.time);
    let entry = Entry { number: book.head.number + 1, time, body };
    let row = book.head.next(serde_json::to_string(&entry).map_err(unwritable)?);
    let read: Entry = serde_json::from_str(&row.body).map_err(unwritable)?;
    if read != entry {
        return Err(LedgerError::Unwritable { detail: "it reads back as something else".to_owned() });
    }
    Ok(row)
}

/// Reads rows onto a book. The first row is the one the book ends with: if it is not, history was
/// changed.
struct Reader<'a> {
    book: &'a mut Book,
    is_anchored: bool,
}

impl<'a> Reader<'a> {
    fn new(book: &'a mut Book) -> Self {
        let is_anchored = book.head.number == 0;
        Self { book, is_anchored }
    }

    fn from(&self) -> u64 {
        self.book.head.number
    }

    fn read(&mut self, row: Row) -> Result<(), LedgerError> {
        if self.is_anchored {
            return self.book.read(&row).map(drop);
        }
        self.is_anchored = true;
        let Head { number, hash } = self.book.head;
        if (row.number, row.hash) == (number, hash) { Ok(()) } else { Err(changed(number)) }
    }

    fn finish(&self) -> Result<(), LedgerError> {
        if self.is_anchored { Ok(()) } else { Err(changed(self.book.head.number)) }
    }
}

fn changed(number: u64) -> LedgerError {
    LedgerError::Broken { number, reason: "it is gone or was changed while the ledger was open".to_owned() }
}

#[cfg(test)]
mod tests;
