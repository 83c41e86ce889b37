//! The total that is compared with a budget.

use super::price::certified;
use super::{Choice, Spent, Terms};
use crate::accounting::{self, AccountError, Tally};
use crate::claim::Claim;
use crate::event::Event;
use crate::params::Count;

/// Totals under one set of terms, with the sums that were already made.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    terms: Terms,
    /// The order of the Rényi filter; it depends on the terms alone.
    order: f64,
    /// Sums over all grants, so that a charge need not add up everything again.
    made: Sums,
    /// What they become if the charge under consideration is granted.
    pending: Option<Sums>,
}

/// Sums over a number of grants.
#[derive(Clone, Copy, Debug)]
struct Sums {
    tally: Tally,
    charges: u64,
}

impl Filter {
    pub(super) fn new(terms: &Terms) -> Self {
        let order = best_order(terms.epsilon.get(), terms.delta.get());
        Self { terms: terms.clone(), order, made: Sums { tally: Tally::NOTHING, charges: 0 }, pending: None }
    }

    /// ε of everything in `spent`, and of `next` after it.
    pub(super) fn total(&mut self, spent: &Spent, next: Option<&Event>) -> Result<f64, AccountError> {
        let charges = spent.charges() + u64::from(next.is_some());
        if charges == 0 {
            return Ok(0.0);
        }
        match self.terms.choice {
            Choice::Planned => self.composed(spent, next),
            Choice::Adaptive => {
                let filtered = self.filtered(spent, next)?;
                // No result has influenced the first charge. The filter is exact at δ = 0.
                if charges == 1 && self.terms.delta.get() > 0.0 {
                    return Ok(filtered.min(self.composed(spent, next)?));
                }
                Ok(filtered)
            }
        }
    }

    /// The event last considered was granted.
    pub(super) fn granted(&mut self) {
        self.made = self.pending.take().unwrap_or(self.made);
    }

    /// The smaller of the two filters.
    fn filtered(&mut self, spent: &Spent, next: Option<&Event>) -> Result<f64, AccountError> {
        self.catch_up(spent)?;
        let mut tally = self.made.tally;
        if let Some(event) = next {
            tally = tally.and(self.tally(event)?, 1);
            self.pending = Some(Sums { tally, charges: spent.charges() + 1 });
        }
        Ok(tally.pure.min(self.converted(tally.renyi)))
    }

    /// Sums over all of `spent`. Journals only grow; if this one grew by others' charges, sums are made anew.
    fn catch_up(&mut self, spent: &Spent) -> Result<(), AccountError> {
        if self.made.charges == spent.charges() {
            return Ok(());
        }
        let mut tally = Tally::NOTHING;
        for (event, count) in spent.events() {
            tally = tally.and(self.tally(event)?, *count);
        }
        self.made = Sums { tally, charges: spent.charges() };
        Ok(())
    }

    fn tally(&self, event: &Event) -> Result<Tally, AccountError> {
        accounting::tally(&Claim::new(self.terms.neighbours, event.clone()), self.order)
    }

    /// The total of Rényi divergences as an ε at δ.
    fn converted(&self, divergence: f64) -> f64 {
        if self.terms.delta.get() == 0.0 {
            return f64::INFINITY;
        }
        // A sum of up to millions of terms, rounded up.
        (divergence * (1.0 + 1e-12) - capacity_at_zero(self.order, self.terms.delta.get())).max(0.0)
    }

    /// Everything, through the tightest accountant.
    fn composed(&self, spent: &Spent, next: Option<&Event>) -> Result<f64, AccountError> {
        let mut events = Vec::with_capacity(spent.events().len() + 1);
        for (event, count) in spent.events() {
            let count = Count::new(*count).map_err(|_| AccountError::TooLarge {
                what: "the number of charges".into(),
                limit: Count::MAX,
            })?;
            events.push(event.clone().repeated(count));
        }
        events.extend(next.cloned());
        let claim = Claim::new(self.terms.neighbours, Event::Composed { events });
        Ok(certified(&claim, self.terms.delta)?.0.upper)
    }
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
