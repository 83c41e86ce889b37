//! Top-k: the k best candidates, in the order in which they were found.
//!
//! # Definition
//! The exponential mechanism k times, each time among the candidates that are left (*peeling*): the
//! list r_1, ..., r_k has probability
//! ```text
//! product over i of exp(ε u(r_i) / R) / sum over s not among r_1, ..., r_(i-1) of exp(ε u(s) / R)        (1)
//! ```
//! R is the range of [`ScoreShift`] (2Δ, or Δ for monotone scores).
//!
//! # One shot
//! Adding independent Gumbel noise of scale R/ε to every score once, and taking the k largest in
//! order, has exactly the law (1): the largest of the noisy scores is a choice of the exponential
//! mechanism, and given it the others are again independent (Durfee, Rogers, "Practical
//! differentially private top-k selection with pay-what-you-get composition", 2019). So there is
//! nothing to gain from either, and peeling is sampled exactly, without Gumbel noise in floating
//! point.
//!
//! # Guarantee
//! Adaptive composition of k exponential mechanisms of ε each: kε-private, and `k ε²/8`-zCDP by
//! bounded range. The event says `repeated`, so that an accountant takes the better one.
//!
//! # Accuracy
//! With probability 1 - β each chosen score is less than t below the best of those left then, hence
//! below the k-th best of all, for `t = (R/ε) ln((n - 1)(1 - β')/β')`, `1 - β' = (1 - β)^(1/k)`, n
//! the number of candidates.
//!
//! # Pitfalls
//! - Noisy scores of the chosen are not released with them; they cost more.
//! - k times report noisy max with *one* draw of Laplace noise is not this mechanism, and costs
//!   more than ε.

use sordino_noise::{Bits, choose};
use sordino_privacy::{Count, Epsilon, Event};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::scores::{ScoreShift, WeightedChoice};

/// Chooses several candidates by score.
///
/// ```
/// use sordino_mechanisms::{Mechanism, ScoreShift, TopK};
/// use sordino_privacy::{Budget, Charge, Count, Epsilon, Neighbours, Terms};
/// let votes = ScoreShift::monotone(Count::ONE, Neighbours::AddRemove)?;
/// // Two of four, ε = 0.5 for each.
/// let mechanism = TopK::new(Epsilon::new(0.5)?, votes, Count::new(4)?, Count::new(2)?)?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
/// let best = mechanism.release(&[310, 95, 402, 17], budget.charge_claim(mechanism.claim())?)?;
/// assert_eq!(best.value(), &[2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TopK {
    choice: WeightedChoice,
    chosen: Count,
}

impl TopK {
    /// Chooses `chosen` of `candidates` (public numbers), with ε for each choice. Fails for more
    /// choices than candidates, for ε = 0, and for scores on a grid so fine that ε/R is below
    /// 2^-47.
    pub fn new(
        epsilon: Epsilon,
        shift: ScoreShift,
        candidates: Count,
        chosen: Count,
    ) -> Result<Self, MechanismError> {
        if chosen > candidates {
            return Err(MechanismError::TooManyChoices {
                chosen: chosen.get(),
                candidates: candidates.get(),
            });
        }
        Ok(Self { choice: WeightedChoice::new(epsilon, shift, candidates)?, chosen })
    }

    /// With probability at least `confidence` every chosen score is less than this below the k-th
    /// best (or at least as good).
    pub fn score_gap(&self, confidence: f64) -> f64 {
        self.choice.exponential_gap(accuracy::miss_of_each(confidence, self.chosen.get() as usize))
    }
}

impl Mechanism for TopK {
    type Answer<'a> = &'a [i64];
    /// Indices, the first choice first.
    type Output = Vec<usize>;

    fn protection(&self) -> &Protection {
        self.choice.shift.protection()
    }

    fn event(&self) -> Event {
        Event::Exponential { epsilon: self.choice.epsilon }.repeated(self.chosen)
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        scores: &[i64],
        bits: &mut R,
        _: &Covered,
    ) -> Result<Vec<usize>, MechanismError> {
        let mut weights = self.choice.weights(scores)?;
        let mut peel = || {
            let chosen = choose(&weights, self.choice.coin.denominator(), bits)?;
            weights[chosen].multiplicity = 0;
            Some(chosen)
        };
        // Proof: no more are chosen than there are.
        Ok((0..self.chosen.get()).map(|_| peel().expect("a candidate is left")).collect())
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{
        DrawFreely, chi_square, count, epsilon, histogram, loss, misses_at_most, neighbouring_scores,
        reveals_at_most,
    };

    const SCORES: [i64; 4] = [0, 1, 2, 2];

    fn mechanism(e: f64, k: u64) -> TopK {
        let shift = ScoreShift::new(count(1), Neighbours::Replace).unwrap();
        TopK::new(epsilon(e), shift, count(4), count(k)).unwrap()
    }

    /// Equation (1), typed again, for ordered pairs (a, b) in cell 4a + b.
    fn masses(rate: f64, scores: &[i64]) -> Vec<f64> {
        let weights: Vec<f64> = scores.iter().map(|&u| (rate * u as f64).exp()).collect();
        let total: f64 = weights.iter().sum();
        let pair = |a: usize, b: usize| {
            if a == b { 0.0 } else { weights[a] / total * weights[b] / (total - weights[a]) }
        };
        (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).map(|(a, b)| pair(a, b)).collect()
    }

    #[test]
    fn draws_follow_the_definition() {
        let drawn = |e: f64| {
            histogram(16, 60_000, 33, |bits| {
                let list = mechanism(e, 2).draw_freely(&SCORES, bits).unwrap();
                4 * list[0] + list[1]
            })
        };
        chi_square(&drawn(1.0), &masses(0.5, &SCORES)).unwrap();
        chi_square(&drawn(2.0), &masses(0.5, &SCORES)).unwrap_err(); // half of the randomness
    }

    /// One draw of Gumbel noise for all, the two largest in order: in floating point, which is good
    /// enough for a test of the law.
    #[test]
    fn one_shot_of_gumbel_noise_has_the_same_law() {
        let counts = histogram(16, 60_000, 34, |bits| {
            let mut noisy: Vec<(f64, usize)> = SCORES
                .iter()
                .enumerate()
                .map(|(i, &u)| {
                    let uniform = (bits.next_u64() >> 11) as f64 * 2f64.powi(-53) + 2f64.powi(-54);
                    (u as f64 * 0.5 - (-uniform.ln()).ln(), i)
                })
                .collect();
            noisy.sort_by(|a, b| b.0.total_cmp(&a.0));
            4 * noisy[0].1 + noisy[1].1
        });
        chi_square(&counts, &masses(0.5, &SCORES)).unwrap();
    }

    #[test]
    fn no_list_reveals_more_than_k_epsilon() {
        let off_diagonal = |all: Vec<f64>| -> Vec<f64> { all.into_iter().filter(|p| *p > 0.0).collect() };
        let mut worst: f64 = 0.0;
        for scores in [SCORES, [5, 0, 0, 0], [0, 0, 0, 0]] {
            for moved in neighbouring_scores(&scores, 1) {
                let (one, two) = (off_diagonal(masses(0.5, &scores)), off_diagonal(masses(0.5, &moved)));
                reveals_at_most(2.0, &one, &two).unwrap();
                worst = worst.max(loss(&one, &two));
            }
        }
        // The twin that charges one ε for two choices is caught.
        assert!(worst > 1.2, "{worst}");
        let far = off_diagonal(masses(0.5, &[40, 40, 0, 0]));
        let moved = off_diagonal(masses(0.5, &[38, 38, 2, 2]));
        reveals_at_most(2.0, &far, &moved).unwrap_err(); // sensitivity off by two
    }

    #[test]
    fn the_stated_gap_is_met() {
        let mechanism = mechanism(1.0, 2);
        let gap = mechanism.score_gap(0.95).ceil() as i64;
        misses_at_most(0.05, 4000, 35, |bits| {
            let list = mechanism.draw_freely(&[gap, 0, gap, 0], bits).unwrap();
            list.iter().any(|chosen| chosen % 2 == 1)
        });
        assert_eq!(mechanism.score_gap(1.0), f64::INFINITY);
    }

    #[test]
    fn edges() {
        let mut bits = sordino_noise::danger::seeded(36);
        let mut all = mechanism(1.0, 4).draw_freely(&[i64::MIN, i64::MAX, 0, 7], &mut bits).unwrap();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3], "everybody once");
        let shift = ScoreShift::new(count(1), Neighbours::Replace).unwrap();
        let error = TopK::new(epsilon(1.0), shift, count(2), count(3)).unwrap_err().to_string();
        assert_eq!(error, "cannot choose 3 of 2 candidates; choose fewer");
        assert!(mechanism(1.0, 2).draw_freely(&[1], &mut bits).is_err());
    }
}
