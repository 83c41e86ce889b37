//! A journal as a ledger's is, for tests of all crates: what it was charged for is not drawn from a
//! seed.

use sordino_privacy::{Budget, ChargeError, Charged, Journal, MemoryJournal, Spent, Terms};

pub(crate) struct Durable(MemoryJournal);

impl Durable {
    pub(crate) fn budget(terms: Terms) -> Budget<Self> {
        Budget::with_journal(&terms, Self(MemoryJournal::new(terms.clone()))).unwrap()
    }
}

impl Journal for Durable {
    fn terms(&self) -> &Terms {
        self.0.terms()
    }

    fn spent(&self) -> Result<Spent, ChargeError> {
        self.0.spent()
    }

    fn append(
        &mut self,
        charge: &Charged,
        decide: &mut dyn FnMut(&Spent) -> Result<(), ChargeError>,
    ) -> Result<u64, ChargeError> {
        self.0.append(charge, decide)
    }

    fn recorded(&self, number: u64) -> Result<Option<Charged>, ChargeError> {
        self.0.recorded(number)
    }

    fn is_durable(&self) -> bool {
        true
    }
}
