//! Report noisy max with Gaussian noise: one choice at the price of all scores, zero-concentrated
//! privacy.
//!
//! # Definition
//! An independent discrete Gaussian of parameter sigma is added to every integer score, and the
//! index of the largest is released; ties go to one of the largest, uniformly at random:
//! ```text
//! P[Z = z] ~ exp(-z^2 / (2 sigma^2)),      sigma^2 >= Δ^2 / (2ρ)                                      (1)
//! ```
//! # Guarantee
//! If neighbours move the *vector* of scores by at most Δ in L2, all noisy scores together are
//! ρ-zCDP (Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020,
//! Theorem 4, added up over independent coordinates), and the index is post-processing. There is no
//! better theorem for the index alone. A vote that changes moves two counts by 1: Δ^2 = 2.
//!
//! # Accuracy
//! The difference of two such noises is sub-Gaussian with variance `2 sigma^2`: a candidate t below
//! the best has the larger noisy score with probability at most `exp(-t^2 / (4 sigma^2))`, and any
//! of k - 1 with at most β for `t = 2 sigma sqrt(ln((k - 1)/β))`.
//!
//! # Pitfalls
//! - Its price is that of the whole vector, so that the sensitivity is in L2 over all scores and
//!   not the largest change of one.
//! - The event is `zcdp`: a vector with discrete noise is not the scalar event at its L2 norm.

use sordino_noise::{Bits, DiscreteGaussian};
use sordino_privacy::{Count, Event, Neighbours, Rho, Unit};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::scores::{best_of, largest};

/// Releases the index of the largest score with Gaussian noise.
///
/// ```
/// use sordino_mechanisms::{GaussianNoisyMax, Mechanism};
/// use sordino_privacy::{Count, Neighbours, Rho};
/// // 250 voters, one of whom may change a vote: two counts move by 1.
/// let squared = Count::new(2)?;
/// let mechanism = GaussianNoisyMax::new(Rho::new(0.01)?, squared, Neighbours::Replace, Count::new(10)?)?;
/// assert!(mechanism.score_gap(0.95) < 50.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GaussianNoisyMax {
    rho: Rho,
    noise: DiscreteGaussian,
    sigma_squared: f64,
    protection: Protection,
    candidates: Count,
}

impl GaussianNoisyMax {
    /// Chooses among `candidates` (a public number) whose scores neighbours move by at most the
    /// square root of `squared` in L2. Fails for ρ = 0 and for sigma beyond 2^40.
    pub fn new(
        rho: Rho,
        squared: Count,
        neighbours: Neighbours,
        candidates: Count,
    ) -> Result<Self, MechanismError> {
        if rho.get() == 0.0 {
            return Err(MechanismError::NoBudget);
        }
        // The product is exact, the quotient within half a unit of the last place: one unit more is
        // enough.
        let sigma_squared = (squared.get() as f64 / (2.0 * rho.get())).next_up();
        let noise = DiscreteGaussian::with_sigma_squared(sigma_squared)?;
        Ok(Self { rho, noise, sigma_squared, protection: Protection::of_records(neighbours), candidates })
    }

    /// States that the bound on scores was derived for this unit, however many records one of them
    /// has. Without it, it is for single records.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { protection: self.protection.for_unit(unit), ..self }
    }

    /// With probability at least `confidence` the chosen score is less than this below the best (or
    /// is the best).
    pub fn score_gap(&self, confidence: f64) -> f64 {
        let others = (self.candidates.get() - 1) as f64;
        let exponent = (others / accuracy::miss(confidence)).ln().max(0.0);
        if others == 0.0 { 0.0 } else { 2.0 * (self.sigma_squared * exponent).sqrt() }
    }
}

impl Mechanism for GaussianNoisyMax {
    type Answer<'a> = &'a [i64];
    type Output = usize;

    fn protection(&self) -> &Protection {
        &self.protection
    }

    fn event(&self) -> Event {
        Event::Zcdp { rho: self.rho }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        scores: &[i64],
        bits: &mut R,
        _: &Covered,
    ) -> Result<usize, MechanismError> {
        best_of(scores, self.candidates)?; // for the number of scores
        let noisy =
            scores.iter().map(|&score| i128::from(score) + self.noise.sample(bits)).collect::<Vec<_>>();
        Ok(largest(&noisy, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DrawFreely, chi_square, count, histogram, misses_at_most, neighbouring_scores};

    fn mechanism(rho: f64, squared: u64, candidates: u64) -> GaussianNoisyMax {
        GaussianNoisyMax::new(Rho::new(rho).unwrap(), count(squared), Neighbours::Replace, count(candidates))
            .unwrap()
    }

    /// The definition for three candidates, typed again: the winner's noise, and for each other one
    /// less, or as much and of lower priority t, integrated over t by Simpson's rule, which is
    /// exact for quadratics.
    fn masses(sigma_squared: f64, scores: &[i64]) -> Vec<f64> {
        let reach = (9.0 * sigma_squared.sqrt()) as i64 + 20;
        let weight = |z: i64| (-((z * z) as f64) / (2.0 * sigma_squared)).exp();
        let total: f64 = (-reach..=reach).map(weight).sum();
        let pmf = |z: i64| weight(z) / total;
        let below = |z: i64| (-reach..z.min(reach + 1)).map(pmf).sum::<f64>();
        let table: Vec<f64> = (-4 * reach..=4 * reach).map(below).collect();
        let below = |z: i64| table[(z + 4 * reach) as usize];
        (0..3)
            .map(|i| {
                let others: Vec<usize> = (0..3).filter(|j| *j != i).collect();
                let wins = |z: i64, t: f64| -> f64 {
                    let margin = |j: &usize| scores[i] + z - scores[*j];
                    others.iter().map(margin).map(|m| below(m) + t * pmf(m)).product()
                };
                let at = |z: i64| pmf(z) * (wins(z, 0.0) + 4.0 * wins(z, 0.5) + wins(z, 1.0)) / 6.0;
                (-reach..=reach).map(at).sum()
            })
            .collect()
    }

    fn follows(made: &GaussianNoisyMax, sigma_squared: f64) -> Result<(), String> {
        let counts = histogram(3, 60_000, 56, |bits| made.draw_freely(&[0, 1, 2], bits).unwrap());
        chi_square(&counts, &masses(sigma_squared, &[0, 1, 2]))
    }

    #[test]
    fn draws_follow_the_definition() {
        follows(&mechanism(0.25, 2, 3), 4.0).unwrap();
        // A twin: the sensitivity of one count instead of two.
        follows(&mechanism(0.25, 1, 3), 4.0).unwrap_err();
        follows(&mechanism(1.0, 2, 3), 4.0).unwrap_err(); // half of the noise
    }

    /// Rényi divergences of the index, of several orders, are below those of ρ-zCDP for all scores
    /// that move by at most Δ.
    #[test]
    fn no_order_exceeds_zero_concentrated_privacy() {
        let renyi = |order: f64, p: &[f64], q: &[f64]| {
            let sum: f64 = p.iter().zip(q).map(|(p, q)| p.powf(order) * q.powf(1.0 - order)).sum();
            sum.ln() / (order - 1.0)
        };
        let sigma_squared = mechanism(0.25, 2, 3).sigma_squared;
        for scores in [[0, 0, 0], [2, 0, 0], [6, 1, 0]] {
            let one = masses(sigma_squared, &scores);
            for moved in neighbouring_scores(&scores, 1) {
                let squared: i64 = scores.iter().zip(&moved).map(|(a, b)| (a - b) * (a - b)).sum();
                let two = masses(sigma_squared, &moved);
                for order in [1.5, 2.0, 8.0] {
                    assert!(squared > 2 || renyi(order, &one, &two) <= 0.25 * order);
                }
            }
        }
    }

    #[test]
    fn the_stated_gap_is_met() {
        let mechanism = mechanism(0.02, 2, 5);
        let gap = mechanism.score_gap(0.95).ceil() as i64;
        misses_at_most(0.05, 4000, 57, |bits| mechanism.draw_freely(&[0, 0, gap, 0, 0], bits).unwrap() != 2);
        assert_eq!(mechanism.score_gap(1.0), f64::INFINITY);
        assert_eq!(self::mechanism(0.1, 1, 1).score_gap(1.0), 0.0);
    }

    #[test]
    fn edges() {
        let rho = Rho::new(0.0).unwrap();
        let none = GaussianNoisyMax::new(rho, count(1), Neighbours::Replace, count(2));
        assert!(matches!(none, Err(MechanismError::NoBudget)));
        let mut bits = sordino_noise::danger::seeded(59);
        assert_eq!(mechanism(1.0, 1, 2).draw_freely(&[i64::MIN, i64::MAX], &mut bits).unwrap(), 1);
        assert!(mechanism(1.0, 1, 2).draw_freely(&[1], &mut bits).is_err());
    }
}
