//! Gaussian noise beside releases of few losses: exact, without a lattice.
//!
//! # Definition
//! If the releases that are not Gaussian have the losses `l_k` with probabilities `p_k` and mass s
//! of infinite loss, and all Gaussian ones are one pair of distance mu, then by the composition of
//! loss distributions
//! ```text
//! delta(eps) = s + sum_k p_k delta_mu(eps - l_k)                                              (1)
//! ```
//! with `delta_mu` the Gaussian profile at any real argument.
//! # Guarantee
//! (1) is an equality for the worst mechanisms of the events, all of whose pairs are symmetric.
//! What is computed is off by the error of `delta_mu` and of the probabilities.
//! # Pitfalls
//! A lattice that resolves both a tiny pure bound and a Gaussian loss of hundreds has too many
//! cells: (1) is for that.

use super::step::{Step, Steps};
use super::{closed, optimal};
use crate::bound::Bound;
use crate::numerics::logspace::ln_binomial;
use crate::numerics::squares::SquareSum;
use crate::numerics::{gaussian_profile, search};

/// Most losses of all releases together.
const MOST_LOSSES: usize = 4_096;

/// Relative room for the probabilities, and for the error of their losses.
const ROOM: f64 = 2e-12;

/// Certified ends of epsilon at `delta > 0`, if the steps are of this kind.
pub(crate) fn epsilon(steps: &Steps, delta: f64) -> Option<Bound> {
    let mixture = Mixture::new(steps)?;
    let upper = mixture.least_epsilon(|bound| bound.upper, delta).1;
    Some(Bound::enclosing(mixture.least_epsilon(|bound| bound.lower, delta).0, upper))
}

/// Certified ends of delta at `epsilon`, if the steps are of this kind.
pub(crate) fn delta(steps: &Steps, epsilon: f64) -> Option<Bound> {
    Some(Mixture::new(steps)?.delta(epsilon))
}

struct Mixture {
    mu: Bound,
    /// `(loss, probability)`.
    losses: Vec<(f64, f64)>,
    infinite: f64,
}

impl Mixture {
    /// `None` without Gaussian noise, without anything else, or with too many losses.
    fn new(steps: &Steps) -> Option<Self> {
        let mut squares = SquareSum::default();
        let (mut losses, mut ln_finite) = (vec![(0.0, 1.0)], 0.0);
        let mut others = 0;
        for (step, count) in steps.0.iter().filter(|(_, count)| *count > 0) {
            if let Step::Gaussian { mu } = step {
                squares.add(*mu, *count);
                continue;
            }
            let (epsilon, lost) = two_losses(step)?;
            others += 1;
            ln_finite += *count as f64 * (-lost).ln_1p();
            if losses.len().saturating_mul(usize::try_from(*count).ok()?.saturating_add(1)) > MOST_LOSSES {
                return None;
            }
            losses = both(&losses, epsilon, *count);
        }
        let mu = squares.root();
        (others > 0 && mu.lower > 0.0 && mu.upper.is_finite()).then(|| Self {
            mu,
            losses,
            infinite: -f64::exp_m1(ln_finite),
        })
    }

    fn delta(&self, epsilon: f64) -> Bound {
        let (mut lower, mut upper) = (0.0, 0.0);
        for (loss, mass) in &self.losses {
            // Losses are rounded; delta falls with its argument.
            let (at, room) = (epsilon - loss, ROOM * (loss.abs() + f64::EPSILON * epsilon));
            upper += mass * profile(at - room, self.mu.upper).upper;
            lower += mass * profile(at + room, self.mu.lower).lower;
        }
        let finite = 1.0 - self.infinite;
        let end = |sum: f64, room: f64| (self.infinite + finite * sum * (1.0 + room)).clamp(0.0, 1.0);
        Bound::enclosing(end(lower, -ROOM), (end(upper, ROOM) + ROOM * self.infinite).min(1.0))
    }

    /// The neighbouring doubles between which `end` of delta falls to `delta`.
    fn least_epsilon(&self, end: impl Fn(Bound) -> f64, delta: f64) -> (f64, f64) {
        if end(self.delta(0.0)) <= delta {
            return (0.0, 0.0);
        }
        let most = self.losses.iter().map(|l| l.0).fold(0.0, f64::max);
        let mut high = most + 0.5 * self.mu.upper * self.mu.upper + self.mu.upper + 1.0;
        while end(self.delta(high)) > delta {
            if high > 1e30 {
                return (f64::INFINITY, f64::INFINITY); // infinite losses alone are more than delta
            }
            high *= 2.0;
        }
        search::bisect(0.0, high, |epsilon| end(self.delta(epsilon)) <= delta)
    }
}

/// The Gaussian profile at any real epsilon.
fn profile(epsilon: f64, mu: f64) -> Bound {
    if epsilon >= 0.0 {
        return gaussian_profile::enclosure(epsilon, mu);
    }
    let (gap, factor, other) = (-epsilon.exp_m1(), epsilon.exp(), gaussian_profile::enclosure(-epsilon, mu));
    Bound::enclosing(
        (gap + factor * other.lower) * (1.0 - ROOM),
        ((gap + factor * other.upper) * (1.0 + ROOM)).min(1.0),
    )
}

/// Losses of `step` are ± the first number outside an event of probability the second.
fn two_losses(step: &Step) -> Option<(f64, f64)> {
    if let Step::Approximate { epsilon, delta } = step {
        Some((*epsilon, *delta))
    } else if let Step::Pure { epsilon } = step {
        Some((*epsilon, 0.0))
    } else if let Step::RandomizedResponse { categories: 2, .. } = step {
        Some((closed::pure_epsilon(step)?, 0.0))
    } else {
        None
    }
}

/// All sums of these losses and of `count` losses of ±`epsilon`.
fn both(losses: &[(f64, f64)], epsilon: f64, count: u64) -> Vec<(f64, f64)> {
    let n = count as f64;
    let (lie, truth) = optimal::lie_and_truth(epsilon);
    let lies = |l: u64| ((n - 2.0 * l as f64) * epsilon, ln_binomial(l as f64, n, lie, truth).exp());
    let sum = |(loss, mass): &(f64, f64), (more, chance): (f64, f64)| (loss + more, mass * chance);
    losses.iter().flat_map(|one| (0..=count).map(move |l| sum(one, lies(l)))).filter(|l| l.1 > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(list: &[(Step, u64)]) -> Steps {
        Steps(list.to_vec())
    }

    /// `p delta(eps - e) + (1 - p) delta(eps + e)`, p = e^e / (1 + e^e), with fifty digits.
    #[test]
    fn a_tiny_pure_release_beside_a_gaussian() {
        for (mu, e, delta, exact) in REFERENCE {
            let list = steps(&[(Step::Gaussian { mu }, 1), (Step::Pure { epsilon: e }, 1)]);
            let found = epsilon(&list, delta).unwrap();
            assert!(found.contains(exact) && found.relative_gap() < 1e-9, "{mu} {e}: {found:?} {exact}");
        }
    }

    const REFERENCE: [(f64, f64, f64, f64); 5] = [
        (20.0, 0.001, 1e-5, 284.391_850_104_260_9),
        (30.0, 0.001, 1e-5, 577.011_974_259_065_1),
        (50.0, 0.001, 1e-5, 1_462.285_016_507_421),
        (76.98, 0.005, 1e-5, 3_290.298_274_146_188),
        (2.0, 0.3, 1e-10, 14.431_712_405_579_64),
    ];

    /// (1) against the best composition of five pure releases: Gaussian noise of next to no
    /// distance adds nothing.
    #[test]
    fn almost_without_gaussian_noise() {
        let list = steps(&[(Step::Gaussian { mu: 1e-9 }, 1), (Step::Pure { epsilon: 1.0 }, 5)]);
        let found = delta(&list, 3.0).unwrap();
        assert!((found.upper - 0.180554628603).abs() < 1e-8, "{found:?}");
        let lossy =
            steps(&[(Step::Gaussian { mu: 1e-9 }, 1), (Step::Approximate { epsilon: 0.5, delta: 1e-6 }, 10)]);
        assert!((delta(&lossy, 2.0).unwrap().upper - 0.145474991738).abs() < 1e-8);
    }

    #[test]
    fn other_lists_are_left_to_others() {
        let gaussian = (Step::Gaussian { mu: 1.0 }, 1);
        assert_eq!(epsilon(&steps(std::slice::from_ref(&gaussian)), 1e-5), None);
        assert_eq!(epsilon(&steps(&[gaussian.clone(), (Step::Laplace { epsilon: 1.0 }, 1)]), 1e-5), None);
        assert_eq!(epsilon(&steps(&[gaussian, (Step::Pure { epsilon: 1e-3 }, 1 << 40)]), 1e-5), None);
    }
}
