//! Permute-and-flip: which candidate has the best score, never worse than the exponential
//! mechanism.
//!
//! # Definition
//! Candidates are visited in a uniformly random order; r is chosen with probability
//! ```text
//! p_r = exp(-(ε / R) (max u - u(r)))                                                              (1)
//! ```
//! and the first one chosen is released. R is the range of [`ScoreShift`]. The best candidate has
//! `p = 1`, so one is always chosen.
//!
//! # Guarantee
//! ε-private, and of no greater expected gap than the exponential mechanism (McKenna, Sheldon,
//! "Permute-and-flip: a new mechanism for differentially private selection", 2020). The output is
//! distributed as the index of the largest score plus Exponential noise (Ding, Kifer, Saghaian,
//! Steinke, Wang, Xiao, Zhang, "The permute-and-flip mechanism is identical to report-noisy-max
//! with exponential noise", 2021).
//!
//! # Accuracy
//! A candidate t below the best is chosen with probability at most `exp(-ε t / R)`, any of them
//! with at most `(k - 1) exp(-ε t / R)`: at most β for `t = (R/ε) ln((k - 1)/β)`.
//!
//! # Pitfalls
//! - It is *not* of bounded range: the ε²/8-zCDP of the exponential mechanism is not proven for it,
//!   and charging that is a theorem of one mechanism applied to another. The event is plain pure
//!   privacy; for many choices under one budget the exponential mechanism is cheaper.
//! - How many coins are flipped depends on the scores: the time a release takes is not protected.
//!   Where it can be observed, use [`ReportNoisyMax`](crate::ReportNoisyMax).

use std::num::NonZero;

use sordino_noise::{Bits, uniform_below};
use sordino_privacy::{Count, Epsilon, Event};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::scores::{ScoreShift, WeightedChoice, best_of};

/// Chooses one of several candidates by score.
///
/// ```
/// use sordino_mechanisms::{Mechanism, PermuteAndFlip, ScoreShift};
/// use sordino_privacy::{Budget, Charge, Count, Epsilon, Neighbours, Terms};
/// let votes = ScoreShift::monotone(Count::ONE, Neighbours::AddRemove)?;
/// let mechanism = PermuteAndFlip::new(Epsilon::new(0.5)?, votes, Count::new(3)?)?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
/// let winner = mechanism.release(&[310, 95, 402], budget.charge_claim(mechanism.claim())?)?;
/// assert!(*winner.value() < 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PermuteAndFlip(WeightedChoice);

impl PermuteAndFlip {
    /// Chooses among `candidates` (a public number). Fails for ε = 0 and for scores on a grid so
    /// fine that ε/R is below 2^-47.
    pub fn new(epsilon: Epsilon, shift: ScoreShift, candidates: Count) -> Result<Self, MechanismError> {
        WeightedChoice::new(epsilon, shift, candidates).map(Self)
    }

    /// With probability at least `confidence` the chosen score is less than this below the best (or
    /// is the best).
    pub fn score_gap(&self, confidence: f64) -> f64 {
        let others = (self.0.candidates.get() - 1) as f64;
        ((others / accuracy::miss(confidence)).ln() / self.0.coin.rate()).max(0.0)
    }
}

impl Mechanism for PermuteAndFlip {
    type Answer<'a> = &'a [i64];
    type Output = usize;

    fn protection(&self) -> &Protection {
        self.0.shift.protection()
    }

    fn event(&self) -> Event {
        Event::Pure { epsilon: self.0.epsilon }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        scores: &[i64],
        bits: &mut R,
        _: &Covered,
    ) -> Result<usize, MechanismError> {
        let best = best_of(scores, self.0.candidates)?;
        let mut left: Vec<usize> = (0..scores.len()).collect();
        while let Some(remaining) = NonZero::new(left.len() as u64) {
            let candidate = left.swap_remove(uniform_below(remaining, bits) as usize);
            if self.0.coin.flip(best.abs_diff(scores[candidate]), bits) {
                return Ok(candidate);
            }
        }
        unreachable!("the best candidate is always chosen when it is visited: exp(0) = 1")
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::{Claim, Delta, Neighbours, accounting};

    use super::*;
    use crate::Exponential;
    use crate::testing::{
        DrawFreely, chi_square, count, epsilon, histogram, neighbouring_scores, reveals_at_most,
    };

    fn shift() -> ScoreShift {
        ScoreShift::new(count(1), Neighbours::Replace).unwrap()
    }

    fn mechanism(e: f64, candidates: u64) -> PermuteAndFlip {
        PermuteAndFlip::new(epsilon(e), shift(), count(candidates)).unwrap()
    }

    /// The definition, typed again: the mean over all orders of visiting, by recursion on the set
    /// of those left.
    fn masses(rate: f64, scores: &[i64]) -> Vec<f64> {
        let best = scores.iter().max().unwrap();
        let p: Vec<f64> = scores.iter().map(|u| (-rate * (best - u) as f64).exp()).collect();
        let mut masses = vec![0.0; scores.len()];
        visit(&p, (0..scores.len()).collect(), 1.0, &mut masses);
        masses
    }

    fn visit(p: &[f64], left: Vec<usize>, reached: f64, masses: &mut [f64]) {
        for &next in &left {
            let here = reached / left.len() as f64;
            masses[next] += here * p[next];
            let others = left.iter().copied().filter(|&i| i != next).collect();
            visit(p, others, here * (1.0 - p[next]), masses);
        }
    }

    fn follows(mechanism: &PermuteAndFlip, rate: f64, scores: &[i64]) -> Result<(), String> {
        let counts =
            histogram(scores.len(), 100_000, 24, |bits| mechanism.draw_freely(scores, bits).unwrap());
        chi_square(&counts, &masses(rate, scores))
    }

    /// Scores (0, 1, 2), ε = 1, Δ = 1.
    #[test]
    fn textbook_values() {
        let masses = masses(mechanism(1.0, 3).0.coin.rate(), &[0, 1, 2]);
        for (p, expected) in
            masses.iter().zip([0.146_751_360_560_98, 0.266_076_969_831_58, 0.587_171_669_607_44])
        {
            assert!((p - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn draws_follow_the_definition() {
        follows(&mechanism(1.0, 3), 0.5, &[0, 1, 2]).unwrap();
        follows(&mechanism(0.3, 4), 0.15, &[-7, 11, 3, 11]).unwrap();
    }

    #[test]
    fn no_output_reveals_more_than_epsilon() {
        for e in [0.1, 1.0, 3.0] {
            let rate = mechanism(e, 3).0.coin.rate();
            for scores in [[0, 1, 2], [0, 0, 0], [9, 0, 0], [9, 8, 0]] {
                for moved in neighbouring_scores(&scores, 1) {
                    reveals_at_most(e, &masses(rate, &scores), &masses(rate, &moved)).unwrap();
                }
            }
        }
    }

    #[test]
    fn broken_twins_are_caught() {
        let half = mechanism(2.0, 3);
        follows(&half, 0.5, &[0, 1, 2]).unwrap_err();
        let worst = |rate: f64, by: i64| {
            neighbouring_scores(&[9, 0, 0], by)
                .iter()
                .try_for_each(|moved| reveals_at_most(1.0, &masses(rate, &[9, 0, 0]), &masses(rate, moved)))
        };
        worst(mechanism(1.0, 3).0.coin.rate(), 1).unwrap();
        worst(half.0.coin.rate(), 1).unwrap_err();
        worst(mechanism(1.0, 3).0.coin.rate(), 2).unwrap_err();
    }

    /// Pitfall 5: charged elsewhere with the exponential mechanism's bounded range. There is a pair
    /// of neighbours whose losses span more than ε, so that the theorem does not apply, and our
    /// event is not that one.
    #[test]
    fn pitfall_05_permute_and_flip_is_not_of_bounded_range() {
        let rate = mechanism(1.0, 3).0.coin.rate();
        let range = |one: &[f64], two: &[f64]| {
            let losses = one.iter().zip(two).map(|(p, q)| (p / q).ln());
            losses.clone().fold(f64::MIN, f64::max) - losses.fold(f64::MAX, f64::min)
        };
        let base = [1, 0, 0];
        let widest = neighbouring_scores(&base, 1)
            .iter()
            .map(|moved| range(&masses(rate, &base), &masses(rate, moved)))
            .fold(0.0, f64::max);
        assert!(widest > 1.05, "range {widest} at ε = 1");
        let cost = |event: Event| {
            let claim = Claim::new(Neighbours::Replace, event.repeated(count(100)));
            accounting::epsilon(&claim, Delta::new(1e-6).unwrap(), accounting::Accountant::Auto)
                .unwrap()
                .bound
        };
        let exponential = Exponential::new(epsilon(0.1), shift(), count(3)).unwrap();
        assert!(cost(mechanism(0.1, 3).event()).lower > 1.3 * cost(exponential.event()).upper);
    }

    /// McKenna and Sheldon's theorem, on all small scores.
    #[test]
    fn never_worse_than_the_exponential_mechanism() {
        for a in 0..6 {
            for b in 0..6 {
                let scores = [0, -a, -b];
                let weights: Vec<f64> = scores.iter().map(|&u| (0.5 * u as f64).exp()).collect();
                let total: f64 = weights.iter().sum();
                let gap = |p: &[f64]| p.iter().zip(scores).map(|(p, u)| -p * u as f64).sum::<f64>();
                let exponential: Vec<f64> = weights.iter().map(|w| w / total).collect();
                assert!(gap(&masses(0.5, &scores)) <= gap(&exponential) + 1e-12);
            }
        }
    }

    #[test]
    fn the_stated_gap_is_met() {
        let mechanism = mechanism(1.0, 4);
        let gap = mechanism.score_gap(0.95).ceil() as i64;
        let masses = masses(0.5, &[0, -gap, -gap, -gap]);
        assert!(1.0 - masses[0] <= 0.05 && 1.0 - masses[0] > 0.01);
        assert_eq!(mechanism.score_gap(f64::NAN), f64::INFINITY);
    }

    #[test]
    fn edges() {
        let mut bits = sordino_noise::danger::seeded(25);
        assert_eq!(mechanism(5.0, 2).draw_freely(&[i64::MIN, i64::MAX], &mut bits).unwrap(), 1);
        assert_eq!(mechanism(5.0, 1).draw_freely(&[7], &mut bits).unwrap(), 0);
        assert!(matches!(
            mechanism(1.0, 3).draw_freely(&[], &mut bits),
            Err(MechanismError::Candidates { .. })
        ));
    }
}
