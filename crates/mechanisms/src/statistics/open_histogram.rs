//! Counts of keys that nobody declared: only keys that many contributors have are shown.
//!
//! # Definition
//! Each key that occurs gets discrete Laplace noise of scale `t = Δ/ε`, and is released, with that
//! noisy count, if the count is at least a threshold:
//! ```text
//! τ = m + j,   j the least integer with k P[Z >= j] <= δ',                                        (1)
//! P[Z >= j] = r^j / (1 + r),   r = exp(-1/t)
//! ```
//! for contributors of at most m rows in each of at most k keys.
//!
//! # Guarantee
//! (ε, δ)-private. *Appearing or disappearing* (Δ = k m, δ' = δ): let D have a contributor more
//! than D', and N be the keys that only D has; there are j <= k of them, of counts at most m, so
//! that one of them is shown with probability at most δ. Keys that both have move by at most k m
//! together, and given that no key of N is shown the outputs are of the same form: with S any set
//! of outputs, S' its part without keys of N and a <= δ the chance of showing one,
//! `P_D[S] <= a + P_D[S'] <= δ + e^ε P_D'[S]`, and
//! `P_D'[S] = P_D'[S'] <= (1 - a) P_D'[S'] + a <= e^ε P_D[S'] + δ` as noise of different keys is
//! independent (Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing search queries and clicks
//! privately", 2009). *Becoming another* is disappearing and then appearing: each with ε/2 and δ'
//! such that `(1 + e^(ε/2)) δ' <= δ`.
//!
//! # Pitfalls
//! - With δ = 0 it is impossible: a key that one contributor alone has must never be shown.
//! - Counts next to the threshold are too large on average: those that are too small are not shown.
//! - How many keys were left out is another question, with a price of its own.
//! - Released keys are in the order of the keys, not of rows or counts.

use sordino_noise::Bits;
use sordino_privacy::{Contribution, Delta, Epsilon, Event};

use super::CONFIDENCE;
use super::contributor::Contributor;
use super::estimate::Cells;
use super::keys;
use super::rows::Rows;
use crate::accuracy;
use crate::discrete_laplace::DiscreteLaplace;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism, clamped};
use crate::protection::Protection;

/// Counts rows of whatever keys there are.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Contributor, OpenHistogram, Rows};
/// use sordino_privacy::{Budget, Charge, Delta, Epsilon, Neighbours, Terms};
/// let one_row = Contributor::record(Neighbours::AddRemove);
/// let plan = OpenHistogram::new(Epsilon::new(1.0)?, Delta::new(1e-6)?, one_row)?;
/// assert_eq!(plan.threshold(), 15);
/// let terms = Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove).with_delta(Delta::new(1e-6)?);
/// let mut words = vec!["common"; 500];
/// words.push("secret");
/// let release = plan.release(Rows::new(&words), Budget::new(terms).charge_claim(plan.claim())?)?;
/// assert_eq!(release.value().counts[0].0, "common");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OpenHistogram {
    epsilon: Epsilon,
    delta: Delta,
    noise: DiscreteLaplace,
    threshold: i128,
    who: Contributor,
}

impl OpenHistogram {
    /// Fails for ε = 0, δ = 0, and for a relation without rows.
    pub fn new(epsilon: Epsilon, delta: Delta, who: Contributor) -> Result<Self, MechanismError> {
        if delta.get() == 0.0 {
            let why = "keys that were not declared cannot be released with pure privacy";
            return Err(MechanismError::NeedsDelta { why });
        }
        let noise = DiscreteLaplace::new(epsilon, who.shift(who.moves_counts()?))?;
        let each = match who.change("a histogram")? {
            Contribution::Absent => delta.get(),
            // Rounded down by more than the roundings of this expression.
            Contribution::Changed => delta.get() / (1.0 + (0.5 * epsilon.get()).exp()) * (1.0 - 1e-12),
        };
        let beyond = accuracy::discrete_laplace_beyond(noise.scale().get(), each / who.keys() as f64);
        let threshold = beyond.saturating_add(who.rows().into());
        Ok(Self { epsilon, delta, noise, threshold, who })
    }

    /// The least noisy count that is released. (One that no count of 64 bits reaches is stated as
    /// the largest of them.)
    pub fn threshold(&self) -> i64 {
        clamped(self.threshold)
    }
}

impl Mechanism for OpenHistogram {
    type Answer<'a> = Rows<'a, &'a str>;
    /// The error holds for each key by itself: its noise exceeds it with probability at most 5 %.
    /// Keys whose true count lies below the threshold are shown only if their noise is large.
    type Output = Cells;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        Event::Approximate { epsilon: self.epsilon, delta: self.delta }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, &'_ str>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Cells, MechanismError> {
        let error = self.noise.error_at(CONFIDENCE);
        keys::open_cells(rows, &self.who, self.threshold, error, bits, |count, bits| {
            self.noise.noisy(count, bits)
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, count, epsilon};

    fn plan(e: f64, d: f64, who: Contributor) -> OpenHistogram {
        OpenHistogram::new(epsilon(e), Delta::new(d).unwrap(), who).unwrap()
    }

    fn owner(neighbours: Neighbours, rows: u64, keys: u64) -> Contributor {
        Contributor::owner(neighbours, "user_id", count(rows)).in_keys(count(keys))
    }

    /// Continuous noise of scale b has `1 + b ln(k/(2δ))`; the discrete threshold is at most a step
    /// or two away.
    #[test]
    fn thresholds_agree_with_the_literature() {
        for (e, d, k, continuous) in
            [(1.0, 1e-6, 1, 14.122363), (1.0, 1e-6, 3, 43.662927), (0.5, 1e-8, 1, 36.455067)]
        {
            let b = k as f64 / e;
            assert!((1.0 + b * (k as f64 / (2.0 * d)).ln() - continuous).abs() < 1e-6);
            let found = plan(e, d, owner(Neighbours::AddRemove, 1, k)).threshold();
            assert!((found as f64 - continuous).abs() < 2.0, "{found} against {continuous}");
        }
        assert_eq!(plan(1.0, 1e-6, Contributor::record(Neighbours::AddRemove)).threshold(), 15);
    }

    /// The chance that a key of one contributor is shown, by adding up the tail of the noise.
    #[test]
    fn a_key_of_one_contributor_is_shown_with_probability_at_most_delta() {
        for (e, d, m, k) in [(1.0f64, 1e-6, 1, 1), (0.5, 1e-4, 3, 2), (2.0, 0.01, 1, 5)] {
            let plan = plan(e, d, owner(Neighbours::AddRemove, m, k));
            let r = (-1.0 / plan.noise.scale().get()).exp();
            let shown = |threshold: i64| {
                let from = threshold - m as i64;
                let tail: f64 = (from..from + 4000).map(|z| (1.0 - r) / (1.0 + r) * r.powf(z as f64)).sum();
                k as f64 * tail
            };
            assert!(shown(plan.threshold()) <= d && shown(plan.threshold() - 1) > d);
        }
    }

    /// The same by simulation, with a δ that can be seen.
    #[test]
    fn rare_keys_are_shown_as_rarely_as_stated() {
        let plan = plan(1.0, 0.02, Contributor::record(Neighbours::AddRemove));
        let r = (-1.0f64).exp();
        let exact = r.powi(plan.threshold() as i32 - 1) / (1.0 + r);
        let mut bits = sordino_noise::danger::seeded(83);
        let draws = 50_000;
        let shown = (0..draws)
            .filter(|_| !plan.draw_freely(Rows::new(&["mine"]), &mut bits).unwrap().counts.is_empty())
            .count() as f64;
        let spread = (f64::from(draws) * exact).sqrt();
        assert!((shown - f64::from(draws) * exact).abs() < 6.0 * spread, "{shown}");
        assert!(exact <= 0.02);
    }

    /// What a key of this count shows: nothing, then noisy counts from the threshold on, the last
    /// cell with the tail. A key of no rows is never shown.
    fn law(scale: f64, threshold: i64, count: i64) -> Vec<f64> {
        const SHOWN: i64 = 30;
        let r = (-1.0 / scale).exp();
        let tail = |z: i64| match z {
            1.. => r.powi(z as i32) / (1.0 + r),
            _ => 1.0 - r.powi((1 - z) as i32) / (1.0 + r),
        };
        let from = |v: i64| if count == 0 { 0.0 } else { tail(threshold + v - count) };
        let shown = (0..SHOWN).map(|v| from(v) - from(v + 1));
        [1.0 - from(0)].into_iter().chain(shown).chain([from(SHOWN)]).collect()
    }

    /// The least δ for which two tables of two keys are (ε, δ)-close.
    fn delta_of(e: f64, law: impl Fn(i64) -> Vec<f64>, one: (i64, i64), two: (i64, i64)) -> f64 {
        let both = |(a, b): (i64, i64)| {
            let (a, b) = (law(a), law(b));
            a.into_iter().flat_map(|p| b.iter().map(move |q| p * q).collect::<Vec<_>>()).collect::<Vec<f64>>()
        };
        both(one).iter().zip(both(two)).map(|(p, q)| (p - e.exp() * q).max(0.0)).sum()
    }

    /// (ε, δ) by enumeration of all that two keys can show, for all that a contributor can have
    /// before and after, on tables of keys that are absent, next to the threshold, and above it;
    /// and twins.
    #[test]
    fn no_set_of_outputs_reveals_more_than_epsilon_and_delta() {
        for (e, d, m, k) in [(1.0, 0.01, 1, 1), (0.5, 0.02, 1, 2), (2.0, 0.05, 2, 2), (1.0, 0.05, 2, 1)] {
            for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
                let plan = plan(e, d, owner(neighbours, m, k));
                let own: Vec<(i64, i64)> = (0..=m as i64)
                    .flat_map(|a| (0..=m as i64).map(move |b| (a, b)))
                    .filter(|&(a, b)| u64::from(a > 0) + u64::from(b > 0) <= k)
                    .collect();
                let others = if neighbours == Neighbours::Replace { &own[..] } else { &[(0, 0)] };
                let worst = |threshold: i64, scale: f64| {
                    let found = |base: (i64, i64), one: &(i64, i64), two: &(i64, i64)| {
                        let with = |own: &(i64, i64)| (base.0 + own.0, base.1 + own.1);
                        let law = |count| law(scale, threshold, count);
                        delta_of(e, law, with(one), with(two)).max(delta_of(e, law, with(two), with(one)))
                    };
                    let counts = [0, threshold - 1, threshold + 3];
                    let bases = counts.iter().flat_map(|&a| counts.iter().map(move |&b| (a, b)));
                    bases
                        .flat_map(|base| own.iter().map(move |one| (base, one)))
                        .flat_map(|(base, one)| others.iter().map(move |two| found(base, one, two)))
                        .fold(0.0, f64::max)
                };
                let (threshold, scale) = (plan.threshold(), plan.noise.scale().get());
                assert!(worst(threshold, scale) <= d, "{e} {d} {m} {k} {neighbours}");
                assert!(worst(threshold - m as i64 - (2.0 * scale) as i64, scale) > d, "a low threshold");
            }
        }
    }

    #[test]
    fn edges() {
        let none = OpenHistogram::new(
            epsilon(1.0),
            Delta::new(0.0).unwrap(),
            Contributor::record(Neighbours::AddRemove),
        );
        assert!(
            none.unwrap_err().to_string().starts_with("delta must be above 0: keys that were not declared")
        );
        let plan = plan(1.0, 1e-6, Contributor::record(Neighbours::ZeroOut));
        let mut bits = sordino_noise::danger::seeded(84);
        assert!(plan.draw_freely(Rows::new(&[]), &mut bits).unwrap().counts.is_empty());
    }
}
