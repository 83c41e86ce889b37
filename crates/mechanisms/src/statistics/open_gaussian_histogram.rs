//! Counts of keys that nobody declared, with Gaussian noise: only keys that many contributors have
//! are shown.
//!
//! # Definition
//! Each key that occurs gets discrete Gaussian noise of parameter sigma, and is released, with that
//! noisy count, if the count is at least a threshold:
//! ```text
//! sigma^2 = c m^2 / (2ρ),    τ = m + j,   j the least integer >= 1 with 1 - (1 - P[Z >= j])^k <= δ       (1)
//! ```
//! for contributors of at most m rows in each of at most k keys, of whom one neighbour moves c
//! counts: k if they appear or disappear, 2 k if they become others.
//!
//! # Guarantee
//! δ-approximately ρ-zCDP (Bun, Steinke, "Concentrated differential privacy: simplifications,
//! extensions, and lower bounds", 2016, Definition 8.1): the price of a ρ-zCDP release and of one
//! that tells everything with probability δ. Both relations have the same proof. Let D and D' be
//! neighbours, N the keys that only D has and N' those that only D' has. All rows of keys in N are
//! of one contributor: there are at most k such keys, of counts at most m, and as their noises are
//! independent one of them is shown with probability `a <= 1 - (1 - P[Z >= j])^k <= δ`. The same
//! holds for a' of N'. Given that none is shown, the releases P of D and P' of D' are thresholds of
//! noisy counts of the keys that both have. Those move by at most `sqrt(c) m` in L2, and noise of
//! other keys is independent of theirs, so that P and P' have Rényi divergences of at most ρ times
//! the order. The releases are `(1 - δ) P + δ R` and `(1 - δ) P' + δ R'` for some R and R', since a
//! and a' are at most δ. Who is told, with probability δ, which of D and D' it is, and otherwise a
//! draw of P or P', can draw from them: that is what the event composes. (All of this holds for
//! each choice of the rows that count of owners, and hence for its mixtures.)
//!
//! # Pitfalls
//! - With δ = 0 it is impossible: a key that one contributor alone has must never be shown.
//! - This δ is spent on keys. A budget needs a larger one, since what is left of it pays for the
//!   noise.
//! - Counts next to the threshold are too large on average: those that are too small are not shown.
//! - How many keys were left out is another question, with a price of its own.
//! - Released keys are in the order of the keys, not of rows or counts.

use sordino_noise::Bits;
use sordino_privacy::{Delta, Epsilon, Event, Rho, Scale};

use super::CONFIDENCE;
use super::contributor::Contributor;
use super::estimate::Cells;
use super::gaussian_cells::GaussianCells;
use super::keys;
use super::rows::Rows;
use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// Counts rows of whatever keys there are, with Gaussian noise.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Contributor, OpenGaussianHistogram, Rows};
/// use sordino_privacy::{Budget, Charge, Delta, Epsilon, Neighbours, Rho, Terms};
/// let one_row = Contributor::record(Neighbours::AddRemove);
/// let plan = OpenGaussianHistogram::new(Rho::new(0.02)?, Delta::new(1e-6)?, one_row)?;
/// assert_eq!(plan.threshold(), 26);
/// let terms = Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove).with_delta(Delta::new(1e-5)?);
/// let mut words = vec!["common"; 500];
/// words.push("secret");
/// let release = plan.release(Rows::new(&words), Budget::new(terms).charge_claim(plan.claim())?)?;
/// assert_eq!(release.value().counts[0].0, "common");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OpenGaussianHistogram {
    noise: GaussianCells,
    delta: Delta,
    threshold: i64,
    who: Contributor,
}

impl OpenGaussianHistogram {
    /// Noise for ρ, and a threshold for δ. Fails for ρ = 0, δ = 0, for sigma beyond 2^40, and for a
    /// relation without rows.
    pub fn new(rho: Rho, delta: Delta, who: Contributor) -> Result<Self, MechanismError> {
        if delta.get() == 0.0 {
            let why = "keys that were not declared cannot be released without a small chance to show \
                       one that is private";
            return Err(MechanismError::NeedsDelta { why });
        }
        let noise = GaussianCells::new(rho, u64::MAX, &who)?;
        // The chance for each of k keys, rounded down by more than the roundings of this
        // expression.
        let each = -((-delta.get()).ln_1p() / who.keys() as f64).exp_m1() * (1.0 - 1e-12);
        let beyond = accuracy::discrete_gaussian_beyond(noise.sigma().get(), each);
        // No overflow: rows have 53 bits, and sigma at most 2^40.
        let threshold = who.rows() as i64 + beyond;
        Ok(Self { noise, delta, threshold, who })
    }

    /// sigma of (1).
    pub fn sigma(&self) -> Scale {
        self.noise.sigma()
    }

    /// The least noisy count that is released.
    pub fn threshold(&self) -> i64 {
        self.threshold
    }
}

impl Mechanism for OpenGaussianHistogram {
    type Answer<'a> = Rows<'a, &'a str>;
    /// The error holds for each key by itself: its noise exceeds it with probability at most 5 %.
    /// Keys whose true count lies below the threshold are shown only if their noise is large.
    type Output = Cells;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        let keys = Event::Approximate { epsilon: Epsilon::ZERO, delta: self.delta };
        Event::composed([self.noise.event(), keys])
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, &'_ str>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Cells, MechanismError> {
        let error = self.noise.error_at(CONFIDENCE, 1);
        keys::open_cells(rows, &self.who, self.threshold.into(), error, bits, |count, bits| {
            self.noise.noisy(count, bits)
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;
    use sordino_privacy::accounting::{self, Accountant};

    use super::*;
    use crate::testing::{DrawFreely, count, epsilon, misses_at_most, parts_of};

    fn plan(rho: f64, d: f64, who: Contributor) -> OpenGaussianHistogram {
        OpenGaussianHistogram::new(Rho::new(rho).unwrap(), Delta::new(d).unwrap(), who).unwrap()
    }

    fn owner(neighbours: Neighbours, rows: u64, keys: u64) -> Contributor {
        Contributor::owner(neighbours, "user_id", count(rows)).in_keys(count(keys))
    }

    /// Continuous noise has `1 + s Φ⁻¹((1 - δ)^(1/k))`, computed in high precision; the discrete
    /// threshold is at most a step or two away.
    #[test]
    fn thresholds_agree_with_those_of_continuous_noise() {
        for (s, k, continuous) in [(5.0f64, 1, 24.767122), (10.0, 8, 52.577012)] {
            let rho = k as f64 / (2.0 * s * s);
            let found = plan(rho, 1e-6, owner(Neighbours::AddRemove, 1, k));
            assert!((found.sigma().get() / s - 1.0).abs() < 1e-12);
            assert!((found.threshold() as f64 - continuous).abs() < 2.0, "{}", found.threshold());
        }
        assert_eq!(plan(0.02, 1e-6, Contributor::record(Neighbours::AddRemove)).threshold(), 26);
    }

    /// Equation (1) of the noise, from 0 outward.
    fn masses(sigma: f64) -> Vec<f64> {
        let reach = (12.0 * sigma) as i64 + 8;
        let weight = |z: i64| (-((z * z) as f64) / (2.0 * sigma * sigma)).exp();
        let total: f64 = (-reach..=reach).map(weight).sum();
        (0..=reach).map(|z| weight(z) / total).collect()
    }

    /// P[Z >= z], by adding up.
    fn tail(sigma: f64, z: i64) -> f64 {
        let masses = masses(sigma);
        let from = |z: i64| masses.iter().skip(z as usize).rev().sum::<f64>();
        if z > 0 { from(z) } else { 1.0 - from(1 - z) }
    }

    /// The threshold is the least that shows keys of one contributor rarely enough.
    #[test]
    fn a_contributor_alone_is_shown_with_probability_at_most_delta() {
        for (rho, d, m, k) in [(0.5, 1e-6, 1, 1), (0.1, 1e-4, 3, 2), (0.02, 0.01, 1, 5), (8.0, 1e-9, 2, 3)] {
            for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
                let plan = plan(rho, d, owner(neighbours, m, k));
                let shown = |threshold: i64| {
                    -((-tail(plan.sigma().get(), threshold - m as i64)).ln_1p() * k as f64).exp_m1()
                };
                assert!(shown(plan.threshold()) <= d && shown(plan.threshold() - 1) > d, "{rho} {d} {m} {k}");
            }
        }
    }

    /// The same by simulation, with a δ that can be seen: two keys of one owner.
    #[test]
    fn rare_keys_are_shown_as_rarely_as_stated() {
        let plan = plan(0.25, 0.02, owner(Neighbours::AddRemove, 1, 2));
        let rows = || Rows::owned(&["mine", "my own"], &[7, 7]).unwrap();
        misses_at_most(0.02, 50_000, 94, |bits| !plan.draw_freely(rows(), bits).unwrap().counts.is_empty());
        let low = OpenGaussianHistogram { threshold: plan.threshold() - 2, ..plan };
        let mut bits = sordino_noise::danger::seeded(95);
        let shown =
            (0..50_000).filter(|_| !low.draw_freely(rows(), &mut bits).unwrap().counts.is_empty()).count();
        assert!(shown > 1000 + 6 * 32, "a low threshold: {shown}");
    }

    /// What a key of this count shows: nothing, then noisy counts from the threshold on, the last
    /// cell with the tail. A key of no rows is never shown.
    fn law(sigma: f64, threshold: i64, count: i64) -> Vec<f64> {
        const SHOWN: i64 = 40;
        let from = |v: i64| if count == 0 { 0.0 } else { tail(sigma, threshold + v - count) };
        let shown = (0..SHOWN).map(|v| from(v) - from(v + 1));
        [1.0 - from(0)].into_iter().chain(shown).chain([from(SHOWN)]).collect()
    }

    /// The least δ for which two tables of two keys are (ε, δ)-close, in the worse direction.
    fn delta_of(e: f64, law: impl Fn(i64) -> Vec<f64>, one: (i64, i64), two: (i64, i64)) -> f64 {
        let both = |(a, b): (i64, i64)| {
            let (a, b) = (law(a), law(b));
            a.into_iter().flat_map(|p| b.iter().map(move |q| p * q).collect::<Vec<_>>()).collect::<Vec<f64>>()
        };
        let (one, two) = (both(one), both(two));
        let excess =
            |p: &[f64], q: &[f64]| -> f64 { p.iter().zip(q).map(|(p, q)| (p - e.exp() * q).max(0.0)).sum() };
        excess(&one, &two).max(excess(&two, &one))
    }

    /// The worst over all that a contributor can have before and after, on tables of keys that are
    /// absent, next to the threshold, and above it.
    fn worst(e: f64, who: Contributor, threshold: i64, sigma: f64) -> f64 {
        let (m, k) = (who.rows() as i64, who.keys());
        let own: Vec<(i64, i64)> = (0..=m)
            .flat_map(|a| (0..=m).map(move |b| (a, b)))
            .filter(|&(a, b)| u64::from(a > 0) + u64::from(b > 0) <= k)
            .collect();
        let others = if who.neighbours() == Neighbours::Replace { &own[..] } else { &[(0, 0)] };
        let counts = [0, threshold - 1, threshold + 3];
        let mut most = 0.0f64;
        for base in counts.iter().flat_map(|&a| counts.iter().map(move |&b| (a, b))) {
            for (one, two) in own.iter().flat_map(|one| others.iter().map(move |two| (one, two))) {
                let with = |own: &(i64, i64)| (base.0 + own.0, base.1 + own.1);
                most = most.max(delta_of(e, |count| law(sigma, threshold, count), with(one), with(two)));
            }
        }
        most
    }

    /// Against the price that an accountant reads off the event, at an ε where most of it is for
    /// the noise and at one where all of it is for keys; and twins.
    #[test]
    fn no_set_of_outputs_reveals_more_than_the_event_says() {
        for (rho, e, d, m, k) in [(0.5, 1.5, 0.01, 1, 1), (0.3, 1.0, 0.02, 1, 2), (1.0, 3.0, 0.02, 2, 2)] {
            for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
                let plan = plan(rho, d, owner(neighbours, m, k));
                let (threshold, sigma) = (plan.threshold(), plan.sigma().get());
                let exceeds = |e: f64, threshold: i64, sigma: f64| {
                    let cost = accounting::delta(&plan.claim(), epsilon(e), Accountant::Auto).unwrap();
                    worst(e, plan.who.clone(), threshold, sigma) > cost.bound.upper
                };
                assert!(!exceeds(e, threshold, sigma), "{rho} {m} {k} {neighbours}");
                assert!(exceeds(e, threshold, 0.5 * sigma), "half of the noise: {rho} {m} {k} {neighbours}");
                assert!(!exceeds(12.0, threshold, sigma), "{rho} {m} {k} {neighbours}");
                assert!(exceeds(12.0, threshold - 1, sigma), "a low threshold: {rho} {m} {k} {neighbours}");
            }
        }
    }

    #[test]
    fn the_stated_error_is_met() {
        let plan = plan(0.02, 1e-6, Contributor::record(Neighbours::AddRemove));
        misses_at_most(0.05, 4000, 96, |bits| {
            let cells = plan.draw_freely(Rows::new(&["a"; 200]), bits).unwrap();
            (cells.counts[0].1 - 200).abs() as f64 > cells.error
        });
    }

    #[test]
    fn edges() {
        let row = Contributor::record(Neighbours::AddRemove);
        let made = |rho: f64, d: f64| {
            OpenGaussianHistogram::new(Rho::new(rho).unwrap(), Delta::new(d).unwrap(), row.clone())
        };
        let error = made(1.0, 0.0).unwrap_err().to_string();
        assert!(error.starts_with("delta must be above 0: keys that were not declared"), "{error}");
        assert!(matches!(made(0.0, 1e-6), Err(MechanismError::NoBudget)));
        assert!(made(0.5, 5e-324).unwrap().threshold() > 38, "the least delta there is");
        let plan = made(0.5, 1e-6).unwrap();
        assert_eq!(parts_of(&plan.event()), 2);
        // Where δ is all spent on keys, nothing is left for the noise.
        let all = accounting::epsilon(&plan.claim(), Delta::new(1e-6).unwrap(), Accountant::Auto);
        assert!(all.is_err() || all.unwrap().bound.upper > 1e3);
        let mut bits = sordino_noise::danger::seeded(97);
        assert!(plan.draw_freely(Rows::new(&[]), &mut bits).unwrap().counts.is_empty());
    }
}
