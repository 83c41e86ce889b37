//! Where a budget keeps what was granted.

use std::collections::HashMap;

use super::{ChargeError, Terms};
use crate::event::Event;

/// A record of grants under one set of terms. It stores; it does not decide and it makes no permits.
///
/// # Contract
/// - Everybody who shares the journal has the same terms: events of one relation and one unit, under one budget.
/// - `append` is one step for everyone who shares the journal: under a lock, all that was granted is shown to
///   `decide`; if it agrees, the event is recorded *durably*; only then does `append` return.
/// - If `decide` or the recording fails, nothing is recorded and the error is returned.
/// - Nothing is ever removed.
pub trait Journal {
    /// The terms of everything in it.
    fn terms(&self) -> &Terms;

    /// Everything granted so far.
    fn spent(&self) -> Result<Spent, ChargeError>;

    /// Records `event` if `decide` allows it, and returns the number of the record.
    fn append(
        &mut self,
        event: &Event,
        decide: &mut dyn FnMut(&Spent) -> Result<(), ChargeError>,
    ) -> Result<u64, ChargeError>;
}

/// Granted events, equal ones together, in order of first appearance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    events: Vec<(Event, u64)>,
    places: HashMap<Event, u32>,
    /// The place of each grant, in the order of granting: whoever has added up some need only add the rest.
    log: Vec<u32>,
}

impl Spent {
    /// One more.
    pub fn record(&mut self, event: Event) {
        // Four thousand million distinct events do not fit in memory.
        let next = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        let place = *self.places.entry(event.clone()).or_insert(next);
        if place == next {
            self.events.push((event, 0));
        }
        self.events[place as usize].1 += 1;
        self.log.push(place);
    }

    /// Distinct events and how often each was granted.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// How many grants there were.
    pub fn charges(&self) -> u64 {
        self.log.len() as u64
    }

    /// How often `event` was granted.
    pub fn count(&self, event: &Event) -> u64 {
        self.place(event).map_or(0, |place| self.events[place].1)
    }

    /// The place of `event` among the distinct ones.
    pub(super) fn place(&self, event: &Event) -> Option<usize> {
        self.places.get(event).map(|place| *place as usize)
    }

    /// Places of the grants after the first `charges`.
    pub(super) fn since(&self, charges: usize) -> &[u32] {
        self.log.get(charges..).unwrap_or_default()
    }
}

/// A journal that ends with the process.
#[derive(Clone, Debug)]
pub struct Memory {
    terms: Terms,
    spent: Spent,
}

impl Memory {
    /// Nothing granted yet.
    pub fn new(terms: Terms) -> Self {
        Self { terms, spent: Spent::default() }
    }
}

impl Journal for Memory {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn spent(&self) -> Result<Spent, ChargeError> {
        Ok(self.spent.clone())
    }

    fn append(
        &mut self,
        event: &Event,
        decide: &mut dyn FnMut(&Spent) -> Result<(), ChargeError>,
    ) -> Result<u64, ChargeError> {
        decide(&self.spent)?;
        self.spent.record(event.clone());
        Ok(self.spent.charges())
    }
}
