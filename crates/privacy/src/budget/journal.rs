//! Where a budget keeps what was granted.

use std::collections::HashMap;

use super::ChargeError;
use crate::event::Event;

/// A record of grants. It stores; it does not decide and it makes no permits.
///
/// # Contract
/// - `append` is one step for everyone who shares the journal: under a lock, all that was granted is shown to
///   `decide`; if it agrees, the event is recorded *durably*; only then does `append` return.
/// - If `decide` or the recording fails, nothing is recorded and the error is returned.
/// - Nothing is ever removed.
pub trait Journal {
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
    places: HashMap<Event, usize>,
    charges: u64,
}

impl Spent {
    /// One more.
    pub fn record(&mut self, event: Event) {
        self.charges += 1;
        match self.places.get(&event) {
            Some(place) => self.events[*place].1 += 1,
            None => {
                self.places.insert(event.clone(), self.events.len());
                self.events.push((event, 1));
            }
        }
    }

    /// Distinct events and how often each was granted.
    pub fn events(&self) -> &[(Event, u64)] {
        &self.events
    }

    /// How many grants there were.
    pub fn charges(&self) -> u64 {
        self.charges
    }
}

/// A journal that ends with the process.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    spent: Spent,
}

impl Journal for Memory {
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
        Ok(self.spent.charges)
    }
}
