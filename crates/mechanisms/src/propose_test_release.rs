//! Propose-test-release: an answer that is stable on most tables, or nothing.
//!
//! # Definition
//! An integer answer f, a *proposed* bound b on its local sensitivity, and a distance a(x): a whole
//! number that neighbours move by at most 1 and that is 0 wherever the local sensitivity of f
//! exceeds b (the number of rows that would have to change until that happens is the largest such
//! distance). With independent discrete Laplace noise Z of scale at least 2/ε, Y of scale at least
//! 2b/ε:
//! ```text
//! release nothing      if a(x) + Z < τ,      τ the least integer with P[Z >= τ] <= δ
//! release f(x) + Y     otherwise                                                                       (1)
//! ```
//! # Guarantee
//! (ε, δ)-private (Dwork, Lei, "Differential privacy and robust statistics", 2009). *Proof.* The
//! outcome of the test is ε/2-private, since a moves by at most 1. If the local sensitivity at x or
//! at its neighbour x' is at most b, then `|f(x) - f(x')| <= b`, and test and answer together are
//! ε-private by composition. Otherwise a(x) = a(x') = 0: both release an answer with probability at
//! most δ, and "nothing" with probabilities within the factor e^(ε/2); so
//! `P[S] <= P[S and nothing] + δ <= e^ε P'[S] + δ` for every set S.
//!
//! # Accuracy
//! A table with `a(x) >= distance_for(confidence)` is answered with that confidence; an answer is
//! off by more than `error_at(confidence)` with probability at most 1 - confidence.
//!
//! # Pitfalls
//! - b comes from public knowledge. Trying several bounds is several releases.
//! - A distance that is too large anywhere, or that jumps, is a breach that no test of outputs is
//!   likely to find: prove it, or enumerate small tables as
//!   [`StableMedian`](crate::statistics::StableMedian)'s tests do.

use sordino_noise::Bits;
use sordino_privacy::{Count, Delta, Epsilon, Event};

use crate::accuracy;
use crate::discrete_laplace::DiscreteLaplace;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::shift::Shift;

/// Releases an answer where it is stable.
///
/// ```
/// use sordino_mechanisms::{Mechanism, ProposeTestRelease, Proposal, Shift};
/// use sordino_privacy::{Budget, Charge, Count, Delta, Epsilon, Neighbours, Terms};
/// let bound = Shift::new(Count::new(3)?, Neighbours::Replace);
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let mechanism = ProposeTestRelease::new(epsilon, delta, bound)?;
/// let mut budget = Budget::new(Terms::new(epsilon, Neighbours::Replace).with_delta(delta));
/// let permit = budget.charge_claim(mechanism.claim())?;
/// // 400 rows would have to change before one more could move the answer by more than 3.
/// let release = mechanism.release(Proposal { answer: 1000, distance: 400 }, permit)?;
/// assert!(release.value().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ProposeTestRelease {
    epsilon: Epsilon,
    delta: Delta,
    test: DiscreteLaplace,
    threshold: i128,
    answer: DiscreteLaplace,
}

/// What is protected: an answer, and how far its table is from one where the answer is not stable.
#[derive(Clone, Copy)]
pub struct Proposal {
    /// f(x).
    pub answer: i64,
    /// a(x); see [`ProposeTestRelease`] for what it must satisfy.
    pub distance: u64,
}

impl std::fmt::Debug for Proposal {
    /// Without what is in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proposal").finish_non_exhaustive()
    }
}

impl ProposeTestRelease {
    /// For a proposed bound on the local sensitivity. Fails for ε = 0 and δ = 0.
    pub fn new(epsilon: Epsilon, delta: Delta, bound: Shift) -> Result<Self, MechanismError> {
        if delta.get() == 0.0 {
            let why = "an answer that is not stable must be refused with certainty, which no test can do";
            return Err(MechanismError::NeedsDelta { why });
        }
        let half = Epsilon::new(epsilon.get() / 2.0)?;
        let test = DiscreteLaplace::new(
            half,
            Shift::new(Count::ONE, bound.neighbours()).for_unit(bound.unit().clone()),
        )?;
        let threshold = accuracy::discrete_laplace_beyond(test.scale().get(), delta.get());
        let answer = DiscreteLaplace::new(half, bound)?;
        Ok(Self { epsilon, delta, test, threshold, answer })
    }

    /// The least distance at which an answer is released with at least this confidence.
    pub fn distance_for(&self, confidence: f64) -> f64 {
        self.threshold as f64 + self.test.error_at(confidence)
    }

    /// What the noise of a released answer exceeds with probability at most 1 - `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        self.answer.error_at(confidence)
    }

    pub(crate) fn tested<R: Bits + ?Sized>(&self, proposal: Proposal, bits: &mut R) -> Option<i64> {
        // Clamping a distance that cannot occur moves no two of them apart.
        let distance = i64::try_from(proposal.distance).unwrap_or(i64::MAX);
        let stable = i128::from(self.test.noisy(distance, bits)) >= self.threshold;
        stable.then(|| self.answer.noisy(proposal.answer, bits))
    }
}

impl Mechanism for ProposeTestRelease {
    type Answer<'a> = Proposal;
    /// `None` if the answer did not seem stable.
    type Output = Option<i64>;

    fn protection(&self) -> &Protection {
        self.answer.protection()
    }

    fn event(&self) -> Event {
        Event::Approximate { epsilon: self.epsilon, delta: self.delta }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        proposal: Proposal,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Option<i64>, MechanismError> {
        Ok(self.tested(proposal, bits))
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{chi_square, count, epsilon, histogram, misses_at_most};

    const CELLS: i64 = 30;

    fn mechanism(e: f64, d: f64, bound: u64) -> ProposeTestRelease {
        let bound = Shift::new(count(bound), Neighbours::Replace);
        ProposeTestRelease::new(epsilon(e), Delta::new(d).unwrap(), bound).unwrap()
    }

    /// The law (1), typed again: nothing first, then answers from -CELLS to CELLS with the tails in
    /// the end cells. The scales are those of the test and of the answer.
    fn masses(scales: (f64, f64), threshold: i128, proposal: Proposal) -> Vec<f64> {
        let tail = |t: f64, z: i64| {
            let r = (-1.0 / t).exp();
            if z > 0 { r.powf(z as f64) / (1.0 + r) } else { 1.0 - r.powf((1 - z) as f64) / (1.0 + r) }
        };
        let passes = tail(scales.0, threshold as i64 - proposal.distance as i64);
        let cell = |k: i64| match k {
            k if k == -CELLS => 1.0 - tail(scales.1, k + 1 - proposal.answer),
            CELLS => tail(scales.1, k - proposal.answer),
            k => tail(scales.1, k - proposal.answer) - tail(scales.1, k + 1 - proposal.answer),
        };
        [1.0 - passes].into_iter().chain((-CELLS..=CELLS).map(|k| passes * cell(k))).collect()
    }

    fn at(answer: i64, distance: u64) -> Proposal {
        Proposal { answer, distance }
    }

    #[test]
    fn draws_follow_the_definition() {
        let mechanism = mechanism(1.0, 0.05, 2);
        let proposal = at(3, 5);
        let counts = histogram(62, 60_000, 41, |bits| match mechanism.tested(proposal, bits) {
            None => 0,
            Some(answer) => (answer.clamp(-CELLS, CELLS) + CELLS + 1) as usize,
        });
        chi_square(&counts, &masses((2.0, 4.0), mechanism.threshold, proposal)).unwrap();
        chi_square(&counts, &masses((2.0, 2.0), mechanism.threshold, proposal)).unwrap_err();
    }

    /// The least δ for which two laws are (ε, δ)-close.
    fn delta_of(e: f64, one: &[f64], two: &[f64]) -> f64 {
        let excess =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(p, q)| (p - e.exp() * q).max(0.0)).sum::<f64>();
        excess(one, two).max(excess(two, one))
    }

    /// All cases of the proof: stable neighbours, one of them at the brink, and two that are not
    /// stable, whose answers may be anywhere.
    #[test]
    fn no_set_of_outputs_reveals_more_than_epsilon_and_delta() {
        for (e, d) in [(1.0, 1e-3), (2.0, 0.05)] {
            let made = mechanism(e, d, 2);
            let scales = (made.test.scale().get(), made.answer.scale().get());
            let found = |threshold: i128, one: Proposal, two: Proposal| {
                delta_of(e, &masses(scales, threshold, one), &masses(scales, threshold, two))
            };
            for distance in 0..30 {
                for step in [0, 1] {
                    let moved = found(made.threshold, at(0, distance + step), at(2, distance));
                    assert!(moved <= d, "{distance}: {moved}");
                }
            }
            assert!(found(made.threshold, at(-25, 0), at(25, 0)) <= d);
            // Twins: a threshold one lower; a distance that jumps by many; an answer that moves
            // farther although it is called stable.
            assert!(found(made.threshold - 1, at(-25, 0), at(25, 0)) > d);
            assert!(found(made.threshold, at(0, 30), at(0, 0)) > d);
            assert!(found(made.threshold, at(0, 30), at(6, 30)) > d);
        }
    }

    #[test]
    fn stable_answers_are_released_within_the_stated_error() {
        let mechanism = mechanism(1.0, 1e-6, 2);
        let distance = mechanism.distance_for(0.95) as u64;
        misses_at_most(0.05, 4000, 42, |bits| mechanism.tested(at(0, distance), bits).is_none());
        misses_at_most(0.05, 4000, 43, |bits| {
            mechanism
                .tested(at(7, 1000), bits)
                .is_none_or(|x| (x - 7).abs() as f64 > mechanism.error_at(0.95))
        });
    }

    #[test]
    fn edges() {
        let bound = Shift::new(count(1), Neighbours::Replace);
        assert!(matches!(
            ProposeTestRelease::new(epsilon(1.0), Delta::new(0.0).unwrap(), bound),
            Err(MechanismError::NeedsDelta { .. })
        ));
        let mut bits = sordino_noise::danger::seeded(44);
        assert!(mechanism(1.0, 1e-6, 1).tested(at(i64::MAX, u64::MAX), &mut bits).is_some());
        assert!(!format!("{:?}", at(4711, 1)).contains("4711"));
    }
}
