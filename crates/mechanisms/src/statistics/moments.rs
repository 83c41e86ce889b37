//! Noisy count and power sums, from which mean and variance follow.
//!
//! # Definition
//! With c the middle and r half the width of the bounds:
//! ```text
//! count   number of rows                         (only where it is private)
//! first   sum of (x - c)                          in [-r, r] each
//! second  sum of (x - c)^2 - r^2/2                in [-r^2/2, r^2/2] each                                (1)
//! ```
//! Centring halves what a row can move: 25 instead of 100 for bounds [50, 100]. Each part has an
//! equal share of ε and its own noise; the event is their composition.
//!
//! # Pitfalls
//! Dividing by the true number of rows under `add_remove` is a violation: that number is private
//! and has its own noise.

use sordino_noise::Bits;
use sordino_privacy::{Epsilon, Event};

use super::bounds::Bounds;
use super::contributor::Contributor;
use super::count::row_count_noise;
use super::estimate::Interval;
use super::lattice::LatticeSum;
use super::rows::Rows;
use crate::accuracy;
use crate::discrete_laplace::DiscreteLaplace;
use crate::error::MechanismError;
use crate::mechanism::Mechanism;

#[derive(Debug)]
pub(super) struct Moments {
    bounds: Bounds,
    pub(super) who: Contributor,
    /// None where the count is public.
    count: Option<DiscreteLaplace>,
    first: LatticeSum,
    second: Option<LatticeSum>,
}

/// Means of the terms of (1), and intervals that hold the true ones, all of them together, with the
/// confidence asked for.
pub(super) struct Drawn {
    pub(super) first: (f64, Interval),
    pub(super) second: Option<(f64, Interval)>,
}

impl Moments {
    pub(super) fn new(
        epsilon: Epsilon,
        bounds: Bounds,
        who: Contributor,
        with_second: bool,
    ) -> Result<Self, MechanismError> {
        let counted = !who.has_public_count();
        let share = share(epsilon, 1 + u8::from(counted) + u8::from(with_second))?;
        let (r, half) = (0.5 * bounds.width(), 0.125 * bounds.width() * bounds.width());
        if with_second && !(half.is_normal()) {
            return Err(MechanismError::RealBounds { lower: bounds.lower(), upper: bounds.upper() });
        }
        let count = counted.then(|| row_count_noise(share, &who)).transpose()?;
        let second = with_second.then(|| LatticeSum::new(share, -half, half, &who)).transpose()?;
        let first = LatticeSum::new(share, -r, r, &who)?;
        Ok(Self { bounds, who, count, first, second })
    }

    pub(super) fn event(&self) -> Event {
        let count = self.count.iter().map(Mechanism::event);
        let sums = [Some(&self.first), self.second.as_ref()].into_iter().flatten().map(LatticeSum::event);
        let mut events: Vec<Event> = count.chain(sums).collect();
        match events.len() {
            1 => events.remove(0),
            _ => Event::composed(events),
        }
    }

    pub(super) fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, f64>,
        confidence: f64,
        bits: &mut R,
    ) -> Result<Drawn, MechanismError> {
        let kept = rows.limited(&self.who, bits)?;
        let parts = 1 + u32::from(self.count.is_some()) + u32::from(self.second.is_some());
        // All parts together miss no more often than their misses added up.
        let each = 1.0 - accuracy::miss(confidence) / f64::from(parts);
        let (n, count) = self.draw_count(kept.len(), each, bits);
        let (middle, half) = (self.bounds.middle(), 0.125 * self.bounds.width() * self.bounds.width());
        let centred = || kept.iter().map(|x| self.bounds.clamp(*x) - middle);
        let mut mean = |sum: &LatticeSum, total: i128| {
            let noisy = sum.draw(total, bits);
            let interval = Interval::around(noisy, sum.error_at(each)).over(count);
            // Rounding to the grid moved each row by half a step at most.
            (noisy / n, interval.widened(0.5 * sum.step()))
        };
        let first = mean(&self.first, self.first.total(centred()));
        let second = self.second.as_ref().map(|sum| mean(sum, sum.total(centred().map(|x| x * x - half))));
        Ok(Drawn { first, second })
    }

    /// What divides, and what the true count lies in; at least 1.
    fn draw_count<R: Bits + ?Sized>(&self, rows: usize, confidence: f64, bits: &mut R) -> (f64, Interval) {
        match &self.count {
            None => {
                let n = (rows as f64).max(1.0);
                (n, Interval::around(n, 0.0))
            }
            Some(noise) => {
                let noisy = noise.noisy(i64::try_from(rows).unwrap_or(i64::MAX), bits) as f64;
                let interval = Interval::around(noisy, noise.error_at(confidence));
                (noisy.max(1.0), interval.within(1.0, f64::MAX))
            }
        }
    }
}

/// ε over `parts`, rounded down so far that what the accountant certifies for all parts, which it
/// rounds up, is at most ε.
fn share(epsilon: Epsilon, parts: u8) -> Result<Epsilon, MechanismError> {
    let parts = f64::from(parts);
    let room = if parts > 1.0 { 1.0 - 1e-11 } else { 1.0 };
    Ok(Epsilon::new(epsilon.get() / parts * room)?)
}

#[cfg(test)]
mod tests {
    use sordino_privacy::{Claim, Delta, Neighbours, accounting};

    use super::*;
    use crate::testing::{epsilon, parts_of, sensitivity_of};

    #[test]
    fn shares_never_add_up_to_more() {
        for e in [0.1, 0.3, 1.0, 2.7, 10.0] {
            for parts in 1..=3 {
                let share = share(epsilon(e), parts).unwrap().get();
                assert!(share.mul_add(f64::from(parts), -e) <= 0.0);
                assert!(share * f64::from(parts) > e * (1.0 - 2e-11));
            }
        }
    }

    /// Bounds [50, 100]: the centred sum moves by 25 (in steps of 25 / 2^30), the second one by
    /// 25^2 / 2.
    #[test]
    fn centred_sums_move_by_half_the_width() {
        let bounds = Bounds::new(50.0, 100.0).unwrap();
        let moments =
            Moments::new(epsilon(1.0), bounds, Contributor::record(Neighbours::AddRemove), true).unwrap();
        let moved = |sum: &LatticeSum| sensitivity_of(&sum.event()) as f64 * sum.step();
        assert_eq!(moved(&moments.first), 25.0);
        assert_eq!(moved(moments.second.as_ref().unwrap()), 312.5);
        // Uncentred, the twin of it that forgets to centre: 100.
        let twin = LatticeSum::new(epsilon(1.0), 50.0, 100.0, &moments.who).unwrap();
        assert_eq!(moved(&twin), 100.0);
    }

    #[test]
    fn public_counts_have_no_noise_and_no_event() {
        let bounds = Bounds::new(0.0, 1.0).unwrap();
        let parts = |neighbours| {
            let who = Contributor::record(neighbours);
            parts_of(&Moments::new(epsilon(1.0), bounds, who, true).unwrap().event())
        };
        assert_eq!(
            (parts(Neighbours::AddRemove), parts(Neighbours::Replace), parts(Neighbours::ZeroOut)),
            (3, 2, 2)
        );
    }

    /// Pitfall 7: no slice of the budget is spent twice. The accountant adds up all parts of mean
    /// and variance, and finds no more than ε; a twin that gives all of ε to each part is found
    /// out.
    #[test]
    fn pitfall_07_parts_share_one_budget() {
        let bounds = Bounds::new(0.0, 1.0).unwrap();
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
            for with_second in [false, true] {
                let cost = |e: f64| {
                    let who = Contributor::record(neighbours);
                    let event = Moments::new(epsilon(e), bounds, who, with_second).unwrap().event();
                    let (claim, delta) = (Claim::new(neighbours, event), Delta::new(0.0).unwrap());
                    accounting::epsilon(&claim, delta, accounting::Accountant::Auto).unwrap().bound
                };
                assert!(cost(0.6).upper <= 0.6 * (1.0 + 1e-9) && cost(0.6).lower > 0.599);
                assert!(cost(1.2).lower > 0.6);
            }
        }
    }
}
