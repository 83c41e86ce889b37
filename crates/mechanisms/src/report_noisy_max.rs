//! Report noisy max: the index of the largest score plus noise, and nothing else.
//!
//! # Definition
//! Scores are multiplied by 2^m (a finer grid, m public), an independent integer Z_r is added to
//! each, and the index of the largest is released; ties go to one of the largest, uniformly at
//! random. With T the least integer at or above `2^m R/ε`:
//! ```text
//! MaxNoise::Laplace      P[Z = z] ~ exp(-|z| / T), all integers
//! MaxNoise::Exponential  P[Z = z] ~ exp(-z / T),   z >= 0                                         (1)
//! ```
//! R is the range of [`ScoreShift`] (2Δ, or Δ for monotone scores).
//!
//! # Guarantee
//! ε-private. *Proof* (after Dwork, Roth, "The algorithmic foundations of differential privacy",
//! 2014, Claim 3.9, for integers): break ties by a random priority drawn beforehand. Fix it, a
//! winner i and all noise but Z_i. On one data set i wins exactly if Z_i >= z for some integer z.
//! On a neighbour no difference of scores changes by more than `2^m R`, so that i wins whenever
//! `Z_i >= z + 2^m R`. Both laws of (1) have `P[Z >= z + s] >= exp(-s/T) P[Z >= z]` for all
//! integers z and s >= 0. With s = 2^m R this is the claim, by symmetry of neighbours in both
//! directions.
//!
//! # Other noise
//! | noise | is |
//! |---|---|
//! | Gumbel | the [`Exponential`](crate::Exponential) mechanism, with its better event |
//! | Exponential | [`PermuteAndFlip`](crate::PermuteAndFlip), up to the fineness of the grid |
//! | Gaussian | [`GaussianNoisyMax`](crate::GaussianNoisyMax), at the price of all scores |
//!
//! # Pitfalls
//! - The index only. The noisy maximum itself, or a second index, costs more.
//! - Its loss is not of bounded range: the event is plain pure privacy.

use sordino_noise::{Bits, DiscreteLaplace, Geometric};
use sordino_privacy::{Count, Epsilon, Event};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::scores::{ScoreShift, best_of, largest};
use crate::shift::scale_for;

/// The noise has about 2^30 steps to its scale, so that ties by rounding are as good as never.
const SCALE_BITS: i32 = 30;
/// Scores of 64 bits times 2^60, plus noise of 63 bits, fit 128 bits.
const MOST_REFINEMENT: i32 = 60;
/// The largest R/ε; the least ε/R that [`MechanismError::ScoresTooFine`] names.
const MOST_SCALE: f64 = (1u64 << 47) as f64;

/// The noise that is added to the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxNoise {
    /// Two-sided.
    Laplace,
    /// One-sided; never worse.
    Exponential,
}

/// Releases the index of the largest noisy score.
///
/// ```
/// use sordino_mechanisms::{MaxNoise, Mechanism, ReportNoisyMax, ScoreShift};
/// use sordino_privacy::{Budget, Charge, Count, Epsilon, Neighbours, Terms};
/// let scores = ScoreShift::new(Count::ONE, Neighbours::Replace)?;
/// let mechanism = ReportNoisyMax::new(Epsilon::new(0.5)?, scores, Count::new(3)?, MaxNoise::Exponential)?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::Replace));
/// let winner = mechanism.release(&[310, 95, 402], budget.charge_claim(mechanism.claim())?)?;
/// assert!(*winner.value() < 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReportNoisyMax {
    epsilon: Epsilon,
    shift: ScoreShift,
    candidates: Count,
    noise: Sampler,
    /// m of the definition.
    refinement: u32,
    /// T of the definition.
    scale: u64,
}

#[derive(Debug)]
enum Sampler {
    Laplace(Box<DiscreteLaplace>),
    Exponential(Geometric),
}

impl ReportNoisyMax {
    /// Chooses among `candidates` (a public number). Fails for ε = 0 and for scores on a grid so
    /// fine that ε/R is below 2^-47.
    pub fn new(
        epsilon: Epsilon,
        shift: ScoreShift,
        candidates: Count,
        noise: MaxNoise,
    ) -> Result<Self, MechanismError> {
        let least = scale_for(shift.range().get(), epsilon)?.get();
        let refinement = (SCALE_BITS - least.log2().floor() as i32).clamp(0, MOST_REFINEMENT) as u32;
        Self::refined(epsilon, shift, candidates, noise, refinement)
    }

    fn refined(
        epsilon: Epsilon,
        shift: ScoreShift,
        candidates: Count,
        noise: MaxNoise,
        refinement: u32,
    ) -> Result<Self, MechanismError> {
        let least = scale_for(shift.range().get(), epsilon)?.get();
        if least > MOST_SCALE {
            return Err(MechanismError::ScoresTooFine { rate: 1.0 / least });
        }
        // Exact: a product with a power of two, then rounded up; at most 2^47, or 2^31 if refined,
        // or 1.
        let scale = (least * (1u64 << refinement) as f64).ceil().max(1.0) as u64;
        let noise = match noise {
            MaxNoise::Laplace => Sampler::Laplace(Box::new(DiscreteLaplace::new(scale, 1)?)),
            MaxNoise::Exponential => Sampler::Exponential(Geometric::with_ratio_exp(1, scale)?),
        };
        Ok(Self { epsilon, shift, candidates, noise, refinement, scale })
    }

    /// With probability at least `confidence` the chosen score is less than this below the best (or
    /// is the best). A candidate s steps below wins only if its noise exceeds that of the best by
    /// s; the chances of all others are added up.
    pub fn score_gap(&self, confidence: f64) -> f64 {
        let (miss, others) = (accuracy::miss(confidence), (self.candidates.get() - 1) as f64);
        if others == 0.0 {
            return 0.0;
        }
        if miss == 0.0 {
            return f64::INFINITY;
        }
        let scale = self.scale as f64;
        // The tail falls faster than exp(-s/(2T)): beyond 2T ln(2 others / miss) it is small
        // enough.
        let (mut low, mut high) = (0.0, 2.0 * scale * (2.0 * others / miss).ln() + 2.0);
        while high - low > 0.5 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if others * self.exceeds_by(middle) > miss { low = middle } else { high = middle }
        }
        high.ceil() / (1u64 << self.refinement) as f64
    }

    /// The chance that one draw of the noise exceeds another by at least s, from the laws (1): with
    /// `r = exp(-1/T)`, `r^s / (1 + r)` (one-sided) and
    /// `((1-r)/(1+r))^2 r^s ((s + 1)/(1-r) + r/(1-r)^2 + 2 r^2/((1-r^2)(1-r)))` (two-sided).
    fn exceeds_by(&self, s: f64) -> f64 {
        let rate = 1.0 / self.scale as f64;
        let (r, rest, power) = ((-rate).exp(), -(-rate).exp_m1(), (-s * rate).exp());
        match self.noise {
            Sampler::Exponential(_) => power / (1.0 + r),
            Sampler::Laplace(_) => {
                let sum = (s + 1.0) * rest + r + 2.0 * r * r / (1.0 + r);
                power * sum / (1.0 + r).powi(2)
            }
        }
    }
}

impl Sampler {
    fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        match self {
            Self::Laplace(noise) => noise.sample(bits),
            // Far below 2^127: that is 2^80 scales.
            Self::Exponential(noise) => noise.sample(bits) as i128,
        }
    }
}

impl Mechanism for ReportNoisyMax {
    type Answer<'a> = &'a [i64];
    type Output = usize;

    fn protection(&self) -> &Protection {
        self.shift.protection()
    }

    fn event(&self) -> Event {
        Event::Pure { epsilon: self.epsilon }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        scores: &[i64],
        bits: &mut R,
        _: &Covered,
    ) -> Result<usize, MechanismError> {
        best_of(scores, self.candidates)?; // for the number of scores
        let noisy: Vec<i128> = scores
            .iter()
            .map(|&score| (i128::from(score) << self.refinement) + self.noise.sample(bits))
            .collect();
        Ok(largest(&noisy, bits))
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{
        DrawFreely, chi_square, count, epsilon, histogram, loss, neighbouring_scores, reveals_at_most,
    };

    const BOTH: [MaxNoise; 2] = [MaxNoise::Laplace, MaxNoise::Exponential];

    fn shift() -> ScoreShift {
        ScoreShift::new(count(1), Neighbours::Replace).unwrap()
    }

    fn mechanism(e: f64, noise: MaxNoise) -> ReportNoisyMax {
        ReportNoisyMax::new(epsilon(e), shift(), count(3), noise).unwrap()
    }

    /// On the integers themselves, where ties are frequent and probabilities can be enumerated.
    fn coarse(e: f64, noise: MaxNoise) -> ReportNoisyMax {
        ReportNoisyMax::refined(epsilon(e), shift(), count(3), noise, 0).unwrap()
    }

    /// The definition for three candidates, typed again: i wins with noise z and priority t if each
    /// other one is below, or equal and of lower priority: an integral over t of a quadratic, for
    /// which Simpson's rule is exact.
    fn masses(scale: f64, noise: MaxNoise, scores: &[i64]) -> Vec<f64> {
        let r = (-1.0 / scale).exp();
        let pmf = |z: i64| match noise {
            MaxNoise::Laplace => (1.0 - r) / (1.0 + r) * r.powf(z.abs() as f64),
            MaxNoise::Exponential if z < 0 => 0.0,
            MaxNoise::Exponential => (1.0 - r) * r.powf(z as f64),
        };
        let below = |z: i64| match noise {
            MaxNoise::Laplace if z <= 0 => r.powf((1 - z) as f64) / (1.0 + r),
            MaxNoise::Laplace => 1.0 - r.powf(z as f64) / (1.0 + r),
            MaxNoise::Exponential if z <= 0 => 0.0,
            MaxNoise::Exponential => 1.0 - r.powf(z as f64),
        };
        let reach = (60.0 * scale) as i64 + 50;
        let wins = |i: usize| {
            let with_noise = |z: i64| {
                let all = |t: f64| -> f64 {
                    let others = (0..scores.len()).filter(|&j| j != i);
                    others.map(|j| scores[i] + z - scores[j]).map(|z| below(z) + t * pmf(z)).product()
                };
                pmf(z) * (all(0.0) + 4.0 * all(0.5) + all(1.0)) / 6.0
            };
            (-reach..=reach).map(with_noise).sum()
        };
        (0..scores.len()).map(wins).collect()
    }

    fn follows(mechanism: &ReportNoisyMax, masses: &[f64], scores: &[i64]) -> Result<(), String> {
        let counts = histogram(scores.len(), 60_000, 26, |bits| mechanism.draw_freely(scores, bits).unwrap());
        chi_square(&counts, masses)
    }

    /// Scores (0, 1, 2), ε = 1, Δ = 1, continuous noise; the second row is also permute-and-flip's.
    #[test]
    fn a_fine_grid_has_the_textbooks_probabilities() {
        let laplace = [0.174_642_630_579_54, 0.305_705_982_039_90, 0.519_651_387_380_56];
        let exponential = [0.146_751_360_560_98, 0.266_076_969_831_58, 0.587_171_669_607_44];
        for (noise, masses) in [(MaxNoise::Laplace, laplace), (MaxNoise::Exponential, exponential)] {
            follows(&mechanism(1.0, noise), &masses, &[0, 1, 2]).unwrap();
            // The enumeration below tends to the same numbers: scores and scale 50 times as fine.
            for (p, expected) in self::masses(100.0, noise, &[0, 50, 100]).iter().zip(masses) {
                assert!((p - expected).abs() < 1e-4, "{p} against {expected}");
            }
        }
    }

    #[test]
    fn draws_follow_the_definition_where_ties_are_frequent() {
        for noise in BOTH {
            for scores in [[0, 1, 2], [3, 3, 0]] {
                follows(&coarse(1.0, noise), &masses(2.0, noise, &scores), &scores).unwrap();
            }
        }
    }

    #[test]
    fn no_output_reveals_more_than_epsilon() {
        for noise in BOTH {
            for e in [0.5, 1.0] {
                let scale = coarse(e, noise).scale as f64;
                for scores in [[0, 1, 2], [0, 0, 0], [6, 0, 0]] {
                    for moved in neighbouring_scores(&scores, 1) {
                        reveals_at_most(e, &masses(scale, noise, &scores), &masses(scale, noise, &moved))
                            .unwrap();
                    }
                }
            }
        }
    }

    #[test]
    fn broken_twins_are_caught() {
        for noise in BOTH {
            let half = coarse(2.0, noise);
            follows(&half, &masses(2.0, noise, &[0, 1, 2]), &[0, 1, 2]).unwrap_err();
            let base = [9, 0, 0];
            let worst = |scale: f64, by: i64| {
                let one = masses(scale, noise, &base);
                neighbouring_scores(&base, by)
                    .iter()
                    .map(|two| loss(&one, &masses(scale, noise, two)))
                    .fold(0.0, f64::max)
            };
            assert!(worst(2.0, 1) <= 1.0 + 1e-9, "{noise:?}");
            assert!(worst(half.scale as f64, 1) > 1.0, "{noise:?}: half of the noise");
            assert!(worst(2.0, 2) > 1.0, "{noise:?}: sensitivity off by two");
        }
    }

    #[test]
    fn the_stated_gap_is_met() {
        for noise in BOTH {
            let mechanism = coarse(0.5, noise);
            let gap = mechanism.score_gap(0.95) as i64;
            let chosen = |gap: i64| 1.0 - masses(4.0, noise, &[0, -gap, -gap])[0];
            assert!(chosen(gap) <= 0.05, "{noise:?}");
            assert!(chosen(gap - 4) > 0.05, "{noise:?}: not by far");
            // The formula of `exceeds_by`, by enumeration of two draws.
            let direct: f64 = (0..400).map(|d| difference(4.0, noise, gap + d)).sum();
            assert!((mechanism.exceeds_by(gap as f64) - direct).abs() < 1e-12, "{noise:?}");
            let fine = ReportNoisyMax::new(epsilon(0.5), shift(), count(3), noise).unwrap();
            assert!((fine.score_gap(0.95) - gap as f64).abs() < 3.0);
            assert_eq!(fine.score_gap(1.0), f64::INFINITY);
        }
    }

    fn difference(scale: f64, noise: MaxNoise, d: i64) -> f64 {
        let r = (-1.0 / scale).exp();
        let pmf = |z: i64| match noise {
            MaxNoise::Laplace => (1.0 - r) / (1.0 + r) * r.powf(z.abs() as f64),
            MaxNoise::Exponential if z < 0 => 0.0,
            MaxNoise::Exponential => (1.0 - r) * r.powf(z as f64),
        };
        (-400..=400).map(|z| pmf(z) * pmf(z + d)).sum()
    }

    #[test]
    fn edges() {
        let mut bits = sordino_noise::danger::seeded(27);
        for noise in BOTH {
            let sharp = ReportNoisyMax::new(epsilon(1e300), shift(), count(2), noise).unwrap();
            assert_eq!(sharp.draw_freely(&[i64::MIN, i64::MAX], &mut bits).unwrap(), 1);
            let fine = ScoreShift::new(count(1 << 48), Neighbours::Replace).unwrap();
            assert!(ReportNoisyMax::new(epsilon(0.5), fine, count(2), noise).is_err());
            let wrong = mechanism(1.0, noise).draw_freely(&[1], &mut bits);
            assert!(matches!(wrong, Err(MechanismError::Candidates { .. })));
        }
    }
}
