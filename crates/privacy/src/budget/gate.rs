//! The decision alone, without a journal and without permits.

use std::collections::HashMap;

use super::filter::{Filter, Verdict};
use super::price::price;
use super::tallies::Work;
use super::{ChargeError, Refusal, Spent, Terms};
use crate::claim::Claim;
use crate::event::Event;
use crate::guarantee::Guarantee;

/// Prices that are kept. Beyond this all are forgotten, which costs time and nothing else.
const MOST_PRICES: usize = 4096;

/// Decides whether an event fits after what was spent. It grants nothing: only a [`Budget`](super::Budget) makes permits.
///
/// For whoever keeps a second limit inside a budget, such as an analyst's share of it. One gate belongs to one
/// growing record: it remembers what it has added up.
#[derive(Clone, Debug)]
pub struct Gate {
    filter: Filter,
    /// What a refusal calls it.
    name: String,
    prices: HashMap<Event, Guarantee>,
    priced: u64,
}

impl Gate {
    /// Of a whole budget.
    pub fn new(terms: &Terms) -> Self {
        Self::named("the budget", terms)
    }

    /// Of a part, which refusals call by this name: `the grant of ann`.
    pub fn named(name: impl Into<String>, terms: &Terms) -> Self {
        Self { filter: Filter::new(terms), name: name.into(), prices: HashMap::new(), priced: 0 }
    }

    /// What may be spent.
    pub fn terms(&self) -> &Terms {
        &self.filter.terms
    }

    /// Fails with [`ChargeError::Refused`] if `event` does not fit after `spent`.
    pub fn decide(&mut self, spent: &Spent, event: &Event) -> Result<(), ChargeError> {
        match self.filter.decide(spent, event)? {
            Verdict::Granted => Ok(()),
            Verdict::TooMuch(total) => {
                let before = self.filter.total(spent, None)?;
                Err(ChargeError::Refused(Box::new(Refusal {
                    name: self.name.clone(),
                    costs: self.price(event)?.epsilon,
                    left: self.terms().left(before),
                    total,
                    terms: self.terms().clone(),
                })))
            }
        }
    }

    /// The total of `spent` that is compared with the limit. Reading it changes nothing.
    pub fn total(&self, spent: &Spent) -> Result<f64, ChargeError> {
        Ok(self.filter.clone().total(spent, None)?)
    }

    /// What deciding has cost so far.
    pub fn work(&self) -> Work {
        Work { priced: self.priced, ..self.filter.work() }
    }

    /// The guarantee of one event alone.
    pub(super) fn price(&mut self, event: &Event) -> Result<Guarantee, ChargeError> {
        if let Some(known) = self.prices.get(event) {
            return Ok(known.clone());
        }
        let Terms { neighbours, unit, delta, .. } = &self.filter.terms;
        let guarantee = price(Claim::new(*neighbours, event.clone()), unit.clone(), *delta, true)?;
        self.priced += 1;
        if self.prices.len() >= MOST_PRICES {
            self.prices.clear();
        }
        self.prices.insert(event.clone(), guarantee.clone());
        Ok(guarantee)
    }
}
