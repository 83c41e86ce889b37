//! The total that is compared with a budget: the share of its capacity that is used, times its ε.
//!
//! # Definition
//! A budget (ε, δ) that is spent as one goes has room for a fixed sum of a fixed quantity. With the
//! sum S of pure bounds, the sum R of divergences at the budget's order a, the sum M of squares of
//! Gaussian distances, and δ' what is left of δ for it,
//! ```text
//! Filter::Renyi      total = min(S, ε R / C),   C = the largest R that converts to ε at δ'              (1)
//! Filter::Gaussian   total = min(S, ε M / m²),  m = the largest distance that is (ε, δ')-private        (2)
//! ```
//! Both are linear in what is charged, so that a charge takes the same from whatever is left, and
//! they are at most ε where the sums are within their capacities. What converts a sum at the end is
//! a price of the whole, and is in the capacity from the start.

use super::ceiling::Ceiling;
use super::price::certified;
use super::tallies::{Tallies, Work};
use super::terms::SLACK;
use super::{Choice, Filter, Spent, Terms};
use crate::accounting::{AccountError, Tally};
use crate::claim::Claim;
use crate::event::Event;
use crate::numerics::gaussian_profile;
use crate::params::Count;

/// Totals under one set of terms, with the sums that were already made.
#[derive(Clone, Debug)]
pub(super) struct Totals {
    pub(super) terms: Terms,
    /// What the sum of the filter's quantity may reach; it depends on the terms alone.
    capacity: f64,
    tallies: Tallies,
    ceiling: Ceiling,
    composed: u64,
}

/// What became of an event under consideration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FilterVerdict {
    Granted,
    /// The total would be this.
    TooMuch(f64),
}

impl Totals {
    pub(super) fn new(terms: &Terms) -> Self {
        let (epsilon, rest) = (terms.epsilon.get(), terms.rest_of_delta());
        let (orders, capacity) = match terms.filter {
            Filter::Renyi => {
                let order = best_order(epsilon, rest);
                (vec![order], epsilon + capacity_at_zero(order, rest))
            }
            Filter::Gaussian => {
                let distance = gaussian_profile::mu(epsilon, rest);
                (Vec::new(), distance * distance * (1.0 - 2.0 * f64::EPSILON))
            }
        };
        let tallies = Tallies::new(terms.neighbours, orders);
        Self { terms: terms.clone(), capacity, tallies, ceiling: Ceiling::default(), composed: 0 }
    }

    /// May `next` follow `spent`?
    pub(super) fn decide(&mut self, spent: &Spent, next: &Event) -> Result<FilterVerdict, AccountError> {
        if self.terms.choice == Choice::Planned {
            return self.decide_planned(spent, next);
        }
        let total = self.total(spent, Some(next))?;
        Ok(if self.fits(total) { FilterVerdict::Granted } else { FilterVerdict::TooMuch(total) })
    }

    /// What everything in `spent`, and `next` after it, uses of ε.
    pub(super) fn total(&mut self, spent: &Spent, next: Option<&Event>) -> Result<f64, AccountError> {
        let charges = charges(spent, next);
        if charges == 0 {
            return Ok(0.0);
        }
        if self.terms.choice == Choice::Planned {
            return self.composed(&listed(spent, next.map(|event| (event, 1))));
        }
        let filtered = self.filtered(spent, next.map(|event| (event, 1)))?;
        let epsilon = self.terms.epsilon.get();
        // No result has influenced the first charge: it may take everything, and leaves nothing if
        // the sums have no room for it.
        if charges == 1 && !self.fits(filtered) && self.terms.delta.get() > 0.0 {
            let alone = self.composed(&listed(spent, next.map(|event| (event, 1))))?;
            return Ok(if self.fits(alone) { epsilon } else { alone.max(epsilon * (1.0 + 2.0 * SLACK)) });
        }
        Ok(filtered)
    }

    /// What everything in `spent` would use if one of its charges were not pure; the same as the
    /// total where one is not.
    pub(super) fn total_beyond_pure(&mut self, spent: &Spent) -> Result<f64, AccountError> {
        let total = self.total(spent, None)?;
        if self.terms.choice == Choice::Planned || self.terms.rest_of_delta() == 0.0 {
            return Ok(total);
        }
        Ok(self.shared(&self.tallies.total()).max(total))
    }

    /// How many times, up to `most`, `event` could follow `spent`.
    pub(super) fn times(&mut self, spent: &Spent, event: &Event, most: u64) -> Result<u64, AccountError> {
        let first = self.decide(spent, event)? == FilterVerdict::Granted;
        if !first || most == 0 {
            return Ok(0);
        }
        // The first of them fits, and `high` does not, or is not asked for.
        let (mut low, mut high) = (1, 2);
        while high <= most && self.fits_times(spent, event, high)? {
            (low, high) = (high, 2 * high);
        }
        high = high.min(most + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.fits_times(spent, event, middle)? { low = middle } else { high = middle }
        }
        Ok(low)
    }

    fn fits_times(&mut self, spent: &Spent, event: &Event, times: u64) -> Result<bool, AccountError> {
        let sums = self.filtered(spent, Some((event, times)))?;
        if self.fits(sums) {
            return Ok(true);
        }
        if self.terms.choice == Choice::Adaptive {
            return Ok(false);
        }
        let total = self.composed(&listed(spent, Some((event, times))))?;
        Ok(self.fits(total))
    }

    pub(super) fn work(&self) -> Work {
        let Tallies { tallied, added, .. } = self.tallies;
        Work { priced: 0, tallied, added, composed: self.composed }
    }

    /// The cheapest proof first: a history that is part of one already found to fit; sums; only
    /// then everything through the tightest accountant, and then ahead of need, so that it is
    /// rarely asked.
    fn decide_planned(&mut self, spent: &Spent, next: &Event) -> Result<FilterVerdict, AccountError> {
        if self.ceiling.covers(spent, next) {
            return Ok(FilterVerdict::Granted);
        }
        let sums = self.filtered(spent, Some((next, 1)))?;
        if self.fits(sums) {
            return Ok(FilterVerdict::Granted);
        }
        let needed = listed(spent, Some((next, 1)));
        while let Some(ahead) = self.ceiling.ahead(&needed) {
            let total = self.composed(&ahead)?;
            if self.fits(total) {
                self.ceiling.raise(ahead, spent);
                return Ok(FilterVerdict::Granted);
            }
            self.ceiling.lower_aim();
        }
        let total = self.composed(&needed)?;
        if self.fits(total) {
            self.ceiling.raise(needed, spent);
            return Ok(FilterVerdict::Granted);
        }
        Ok(FilterVerdict::TooMuch(total))
    }

    fn fits(&self, total: f64) -> bool {
        total <= self.terms.epsilon.get() * (1.0 + SLACK)
    }

    /// Equation (1) or (2).
    fn filtered(&mut self, spent: &Spent, next: Option<(&Event, u64)>) -> Result<f64, AccountError> {
        self.tallies.catch_up(spent)?;
        let next = next.map(|(event, times)| Ok((self.tallies.of(spent, event)?, times))).transpose()?;
        let total = self.tallies.total_with(next.as_ref().map(|(tally, times)| (tally, *times)));
        Ok(total.pure.min(self.shared(&total)))
    }

    /// The share of the filter's capacity, times ε, rounded up.
    fn shared(&self, total: &Tally) -> f64 {
        let used = match self.terms.filter {
            Filter::Renyi => total.renyi.first().copied().unwrap_or(f64::INFINITY),
            Filter::Gaussian => total.gaussian,
        };
        // A table of losses ends somewhere, far out: as with ε, a part in 1e9 of δ does not decide.
        let is_kept = total.lost <= self.terms.set_aside.get() + SLACK * self.terms.delta.get();
        if self.terms.rest_of_delta() <= 0.0 || !is_kept {
            return f64::INFINITY;
        }
        if used == 0.0 {
            return 0.0;
        }
        // An order at which not even nothing converts to ε has no room. A sum of up to millions of
        // terms is rounded up.
        if self.capacity > 0.0 {
            self.terms.epsilon.get() * (used * (1.0 + 1e-12) / self.capacity)
        } else {
            f64::INFINITY
        }
    }

    /// A list of events, through the tightest accountant.
    fn composed(&mut self, list: &[(Event, u64)]) -> Result<f64, AccountError> {
        self.composed += 1;
        let mut events = Vec::with_capacity(list.len());
        for (event, count) in list {
            let count = Count::new(*count).map_err(|_| AccountError::TooLarge {
                what: "the number of charges".into(),
                limit: Count::MAX,
            })?;
            events.push(event.clone().repeated(count));
        }
        let claim = Claim::new(self.terms.neighbours, Event::Composed { events });
        Ok(certified(&claim, self.terms.delta)?.0.upper)
    }
}

/// How many charges there are. Whoever is charged for nothing, as a run that goes on where it was
/// stopped, gets no result that could influence what follows.
fn charges(spent: &Spent, next: Option<&Event>) -> u64 {
    let nothing = Event::composed([]);
    spent.charges() - spent.count(&nothing) + u64::from(next.is_some_and(|event| *event != nothing))
}

/// Everything in `spent`, and `next` so many times after it, equal events together.
fn listed(spent: &Spent, next: Option<(&Event, u64)>) -> Vec<(Event, u64)> {
    let mut list = spent.events().to_vec();
    match next.map(|(event, times)| (event, times, spent.place(event))) {
        Some((_, times, Some(place))) => list[place].1 += times,
        Some((event, times, None)) => list.push((event.clone(), times)),
        None => {}
    }
    list
}

/// `-(ln(1 - 1/a) - (ln δ + ln a) / (a - 1))`: divergence at order a minus this is ε at δ (Canonne,
/// Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020, proposition 12).
fn capacity_at_zero(order: f64, delta: f64) -> f64 {
    -(-1.0 / order).ln_1p() + (delta.ln() + order.ln()) / (order - 1.0)
}

/// The order at which most Gaussian releases fit: their divergence is proportional to the order.
/// Any order is valid; this one only wastes least.
fn best_order(epsilon: f64, delta: f64) -> f64 {
    let fits = |order: f64| (epsilon + capacity_at_zero(order, delta)) / order;
    let orders = (0..=600).map(|i| 1.0 + 10f64.powf(-2.0 + 0.01 * f64::from(i)));
    orders.fold(2.0, |best, order| if fits(order) > fits(best) { order } else { best })
}
