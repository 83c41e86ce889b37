//! Where a budget keeps what was granted.

use std::collections::{HashMap, HashSet};

use super::{ChargeError, Terms};
use crate::event::Event;

/// One grant, as a journal records it.
#[derive(Clone, Debug, PartialEq)]
pub struct Charged {
    /// What was paid for.
    pub event: Event,
    /// Whether the noise may come from a fixed seed, so that the result is not protected.
    pub seeded: bool,
}

/// A record of grants under one set of terms. It stores; it does not decide and it makes no
/// permits.
///
/// # Contract
/// - Everybody who shares the journal has the same terms: events of one relation and one unit,
///   under one budget.
/// - `append` is one step for everyone who shares the journal: under a lock, all that was granted
///   is shown to `decide`; if it agrees, the charge is recorded *durably*; only then does `append`
///   return.
/// - If `decide` or the recording fails, nothing is recorded and the error is returned.
/// - Nothing is ever removed.
/// - `recorded` gives back what `append` was given, and nothing that was not granted under these
///   terms.
pub trait Journal {
    /// The terms of everything in it.
    fn terms(&self) -> &Terms;

    /// Everything granted so far.
    fn spent(&self) -> Result<Spent, ChargeError>;

    /// Records `charge` if `decide` allows it, and returns the number of the record.
    fn append(
        &mut self,
        charge: &Charged,
        decide: &mut dyn FnMut(&Spent) -> Result<(), ChargeError>,
    ) -> Result<u64, ChargeError>;

    /// The charge that was recorded under this number, if there is one.
    fn recorded(&self, number: u64) -> Result<Option<Charged>, ChargeError>;

    /// Does it outlive the process? What such a journal has paid for is not drawn from a seed,
    /// unless the charge says so.
    fn is_durable(&self) -> bool;
}

/// Granted events, equal ones together, in order of first appearance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    events: Vec<(Event, u64)>,
    places: HashMap<Event, u32>,
    /// The place of each grant, in the order of granting: whoever has added up some need only add
    /// the rest.
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

    /// The grant of this place in the order of granting, from 0.
    fn grant(&self, place: usize) -> Option<&Event> {
        let place = *self.log.get(place)?;
        Some(&self.events[place as usize].0)
    }

    /// Places of the grants after the first `charges`.
    pub(super) fn since(&self, charges: usize) -> &[u32] {
        self.log.get(charges..).unwrap_or_default()
    }
}

/// A journal that ends with the process.
#[derive(Clone, Debug)]
pub struct MemoryJournal {
    terms: Terms,
    spent: Spent,
    /// Numbers of the charges for seeded noise.
    seeded: HashSet<u64>,
}

impl MemoryJournal {
    /// Nothing granted yet.
    pub fn new(terms: Terms) -> Self {
        Self { terms, spent: Spent::default(), seeded: HashSet::new() }
    }
}

impl Journal for MemoryJournal {
    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn spent(&self) -> Result<Spent, ChargeError> {
        Ok(self.spent.clone())
    }

    fn append(
        &mut self,
        charge: &Charged,
        decide: &mut dyn FnMut(&Spent) -> Result<(), ChargeError>,
    ) -> Result<u64, ChargeError> {
        decide(&self.spent)?;
        self.spent.record(charge.event.clone());
        let number = self.spent.charges();
        if charge.seeded {
            self.seeded.insert(number);
        }
        Ok(number)
    }

    /// Numbers begin at 1.
    fn recorded(&self, number: u64) -> Result<Option<Charged>, ChargeError> {
        let place = number.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        let event = place.and_then(|place| self.spent.grant(place));
        let seeded = self.seeded.contains(&number);
        Ok(event.map(|event| Charged { event: event.clone(), seeded }))
    }

    fn is_durable(&self) -> bool {
        false
    }
}
