//! The total that is compared with a budget.

use super::ceiling::Ceiling;
use super::price::certified;
use super::tallies::{Tallies, Work};
use super::terms::SLACK;
use super::{Choice, Spent, Terms};
use crate::accounting::{AccountError, Tally};
use crate::claim::Claim;
use crate::event::Event;
use crate::params::Count;

/// Totals under one set of terms, with the sums that were already made.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) terms: Terms,
    /// The order of the Rényi filter; it depends on the terms alone.
    order: f64,
    tallies: Tallies,
    ceiling: Ceiling,
    composed: u64,
}

/// What became of an event under consideration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    Granted,
    /// The total would be this.
    TooMuch(f64),
}

impl Filter {
    pub(super) fn new(terms: &Terms) -> Self {
        let order = best_order(terms.epsilon.get(), terms.rest_of_delta());
        let tallies = Tallies::new(terms.neighbours, vec![order]);
        Self { terms: terms.clone(), order, tallies, ceiling: Ceiling::default(), composed: 0 }
    }

    /// May `next` follow `spent`?
    pub(super) fn decide(&mut self, spent: &Spent, next: &Event) -> Result<Verdict, AccountError> {
        if self.terms.choice == Choice::Planned {
            return self.decide_planned(spent, next);
        }
        let total = self.total(spent, Some(next))?;
        Ok(if self.fits(total) { Verdict::Granted } else { Verdict::TooMuch(total) })
    }

    /// ε of everything in `spent`, and of `next` after it.
    pub(super) fn total(&mut self, spent: &Spent, next: Option<&Event>) -> Result<f64, AccountError> {
        // Whoever is charged for nothing, as a run that goes on where it was stopped, gets no result that could influence what follows.
        let nothing = Event::composed([]);
        let charges =
            spent.charges() - spent.count(&nothing) + u64::from(next.is_some_and(|event| *event != nothing));
        if charges == 0 {
            return Ok(0.0);
        }
        match self.terms.choice {
            Choice::Planned => self.composed(&listed(spent, next)),
            Choice::Adaptive => {
                let filtered = self.filtered(spent, next)?;
                // No result has influenced the first charge. The filter is exact at δ = 0.
                if charges == 1 && self.terms.delta.get() > 0.0 {
                    return Ok(filtered.min(self.composed(&listed(spent, next))?));
                }
                Ok(filtered)
            }
        }
    }

    pub(super) fn work(&self) -> Work {
        let Tallies { tallied, added, .. } = self.tallies;
        Work { priced: 0, tallied, added, composed: self.composed }
    }

    /// The cheapest proof first: a history that is part of one already found to fit; sums; only then everything
    /// through the tightest accountant, and then ahead of need, so that it is rarely asked.
    fn decide_planned(&mut self, spent: &Spent, next: &Event) -> Result<Verdict, AccountError> {
        if self.ceiling.covers(spent, next) {
            return Ok(Verdict::Granted);
        }
        let sums = self.filtered(spent, Some(next))?;
        if self.fits(sums) {
            return Ok(Verdict::Granted);
        }
        let needed = listed(spent, Some(next));
        while let Some(ahead) = self.ceiling.ahead(&needed) {
            let total = self.composed(&ahead)?;
            if self.fits(total) {
                self.ceiling.raise(ahead, spent);
                return Ok(Verdict::Granted);
            }
            self.ceiling.lower_aim();
        }
        let total = self.composed(&needed)?;
        if self.fits(total) {
            self.ceiling.raise(needed, spent);
            return Ok(Verdict::Granted);
        }
        Ok(Verdict::TooMuch(total))
    }

    fn fits(&self, total: f64) -> bool {
        total <= self.terms.epsilon.get() * (1.0 + SLACK)
    }

    /// The smaller of the two filters.
    fn filtered(&mut self, spent: &Spent, next: Option<&Event>) -> Result<f64, AccountError> {
        self.tallies.catch_up(spent)?;
        let next = next.map(|event| self.tallies.of(spent, event)).transpose()?;
        let total = self.tallies.total(next.as_ref());
        Ok(total.pure.min(self.converted(&total)))
    }

    /// The total of Rényi divergences as an ε at the δ that is left for it.
    fn converted(&self, total: &Tally) -> f64 {
        let rest = self.terms.rest_of_delta();
        let is_kept = total.lost == 0.0 || total.lost <= self.terms.set_aside.get() * (1.0 + SLACK);
        if rest <= 0.0 || !is_kept {
            return f64::INFINITY;
        }
        // A sum of up to millions of terms, rounded up.
        (total.renyi[0] * (1.0 + 1e-12) - capacity_at_zero(self.order, rest)).max(0.0)
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

/// Everything in `spent`, and `next` after it, equal events together.
fn listed(spent: &Spent, next: Option<&Event>) -> Vec<(Event, u64)> {
    let mut list = spent.events().to_vec();
    match next.map(|event| (event, spent.place(event))) {
        Some((_, Some(place))) => list[place].1 += 1,
        Some((event, None)) => list.push((event.clone(), 1)),
        None => {}
    }
    list
}

/// `-(ln(1 - 1/a) - (ln δ + ln a) / (a - 1))`: divergence at order a minus this is ε at δ
/// (Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", 2020, proposition 12).
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
