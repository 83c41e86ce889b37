//! The decision alone, without a journal and without permits.

use std::collections::HashMap;

use super::filter::{FilterVerdict, Totals};
use super::fitting;
use super::gauge::{Gauge, Quote};
use super::price::price;
use super::tallies::Work;
use super::{ChargeError, Refusal, Spent, Terms};
use crate::claim::Claim;
use crate::event::Event;
use crate::grant::guarantee::Guarantee;

/// The number of cached prices. Beyond it all are dropped, which costs time only.
const MOST_PRICES: usize = 4096;

/// Decides whether an event fits after what was spent. It grants nothing: only a
/// [`Budget`](super::Budget) makes permits.
///
/// It serves limits inside a budget, such as an analyst's share. One gate belongs to one growing
/// record: it remembers what it has added up.
#[derive(Clone, Debug)]
pub struct Gate {
    totals: Totals,
    /// What a refusal calls it.
    name: String,
    /// What a refusal advises beside asking for less.
    remedy: String,
    prices: HashMap<Event, Guarantee>,
    priced: u64,
}

impl Gate {
    /// The gate of a whole budget.
    pub fn new(terms: &Terms) -> Self {
        Self::named("the budget", terms)
    }

    /// The gate of a part of a budget, with its name in refusals: `the grant of ann`.
    pub fn named(name: impl Into<String>, terms: &Terms) -> Self {
        Self {
            totals: Totals::new(terms),
            name: name.into(),
            remedy: String::new(),
            prices: HashMap::new(),
            priced: 0,
        }
    }

    /// With this advice at the end of refusals, such as who can grant more, and how.
    pub fn advising(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// What may be spent.
    pub fn terms(&self) -> &Terms {
        &self.totals.terms
    }

    /// Fails with [`ChargeError::Refused`] if `event` does not fit after `spent`.
    pub fn decide(&mut self, spent: &Spent, event: &Event) -> Result<(), ChargeError> {
        match self.totals.decide(spent, event)? {
            FilterVerdict::Granted => Ok(()),
            FilterVerdict::TooMuch(total) => {
                let before = self.totals.total(spent, None)?;
                let fits = fitting::largest(&self.totals, spent, event)?;
                Err(ChargeError::Refused(Box::new(Refusal {
                    name: self.name.clone(),
                    costs: self.price(event)?.epsilon,
                    left: self.terms().left(before),
                    takes: total - before,
                    fits,
                    remedy: self.remedy.clone(),
                    terms: self.terms().clone(),
                })))
            }
        }
    }

    /// What `event` would take of what is left after `spent`. Fails as [`decide`](Self::decide)
    /// does.
    pub fn quote(&mut self, spent: &Spent, event: &Event) -> Result<Quote, ChargeError> {
        self.decide(spent, event)?;
        let (before, after) = (self.totals.total(spent, None)?, self.totals.total(spent, Some(event))?);
        Ok(Quote { before: self.terms().left(before), after: self.terms().left(after) })
    }

    /// How often `event` could follow `spent`, up to `most`, if nothing else is charged.
    pub fn times(&mut self, spent: &Spent, event: &Event, most: u64) -> Result<u64, ChargeError> {
        Ok(self.totals.times(spent, event, most)?)
    }

    /// The total of `spent` that is compared with the limit: the share of the capacity that it
    /// uses, times ε. Reading it changes nothing.
    pub fn total(&self, spent: &Spent) -> Result<f64, ChargeError> {
        Ok(self.totals.clone().total(spent, None)?)
    }

    /// How much of the limit is used, and what is left. Reading it changes nothing.
    pub fn gauge(&self, spent: &Spent) -> Result<Gauge, ChargeError> {
        let mut totals = self.totals.clone();
        let (used, beyond) = (totals.total(spent, None)?, totals.total_beyond_pure(spent)?);
        let terms = self.terms();
        let (left, left_beyond_pure) = (terms.left(used), terms.left(beyond));
        Ok(Gauge { epsilon: terms.epsilon.get(), used, left, left_beyond_pure })
    }

    /// What deciding has cost so far.
    pub fn work(&self) -> Work {
        Work { priced: self.priced, ..self.totals.work() }
    }

    /// The guarantee of one event alone.
    pub(super) fn price(&mut self, event: &Event) -> Result<Guarantee, ChargeError> {
        if let Some(known) = self.prices.get(event) {
            return Ok(known.clone());
        }
        let Terms { neighbours, unit, delta, .. } = &self.totals.terms;
        let guarantee = price(Claim::new(*neighbours, event.clone()), unit.clone(), *delta, true)?;
        self.priced += 1;
        if self.prices.len() >= MOST_PRICES {
            self.prices.clear();
        }
        self.prices.insert(event.clone(), guarantee.clone());
        Ok(guarantee)
    }
}
