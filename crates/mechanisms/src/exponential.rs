//! Exponential mechanism: which candidate has the best score.
//!
//! # Definition
//! With integer scores u(r) and the range R of [`ScoreShift`] (2Δ, or Δ for monotone scores):
//! ```text
//! P[r] = exp(ε u(r) / R) / sum over candidates s of exp(ε u(s) / R)                               (1)
//! ```
//! # Guarantee
//! ε-private (McSherry, Talwar, "Mechanism design via differential privacy", 2007), and more: for
//! any two neighbours all losses `ln P[r] - ln P'[r]` lie in an interval of length ε, since the
//! normaliser moves them together. Such a mechanism of *bounded range* is ε²/8-zCDP, four times
//! less than pure privacy gives (Dong, Durfee, Rogers, "Optimal differential privacy composition
//! for exponential mechanisms", 2020). The event says so.
//!
//! # Sampling
//! By inversion, with weights enclosed in integers wherever floating point cannot decide
//! ([`choose`]): exactly (1) for ε/R rounded down to a rational. Every score is looked at, whatever
//! the scores.
//!
//! # Accuracy
//! With m of k candidates at least t below the best, one of them is chosen with probability at most
//! `w/(1 + w)`, `w = (k - 1) exp(-ε t / R)`; this is at most β for
//! `t = (R/ε) ln((k - 1)(1 - β)/β)`.
//!
//! # Pitfalls
//! - Gumbel noise in floating point is this mechanism on paper only: low bits leak, ties and
//!   underflow change the support.
//! - One choice in about 2^35 over the number of candidates takes longer, when its random number
//!   lies next to a border: the time a release takes is not protected. Where it can be observed,
//!   use [`ReportNoisyMax`](crate::ReportNoisyMax).

use sordino_noise::{Bits, choose};
use sordino_privacy::{Count, Epsilon, Event};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::scores::{ScoreShift, WeightedChoice};

/// Chooses one of several candidates by score.
///
/// ```
/// use sordino_mechanisms::{Exponential, Mechanism, ScoreShift};
/// use sordino_privacy::{Budget, Charge, Count, Epsilon, Neighbours, Terms};
/// // Votes: one more voter adds 1 to one of four counts.
/// let votes = ScoreShift::monotone(Count::ONE, Neighbours::AddRemove)?;
/// let mechanism = Exponential::new(Epsilon::new(0.5)?, votes, Count::new(4)?)?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
/// let winner = mechanism.release(&[310, 95, 402, 17], budget.charge_claim(mechanism.claim())?)?;
/// assert!(*winner.value() < 4 && mechanism.score_gap(0.95) < 9.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Exponential(WeightedChoice);

impl Exponential {
    /// Chooses among `candidates` (a public number). Fails for ε = 0 and for scores on a grid so
    /// fine that ε/R is below 2^-47.
    pub fn new(epsilon: Epsilon, shift: ScoreShift, candidates: Count) -> Result<Self, MechanismError> {
        WeightedChoice::new(epsilon, shift, candidates).map(Self)
    }

    /// With probability at least `confidence` the chosen score is less than this below the best (or
    /// is the best).
    pub fn score_gap(&self, confidence: f64) -> f64 {
        self.0.exponential_gap(accuracy::miss(confidence))
    }
}

impl Mechanism for Exponential {
    type Answer<'a> = &'a [i64];
    type Output = usize;

    fn protection(&self) -> &Protection {
        self.0.shift.protection()
    }

    fn event(&self) -> Event {
        Event::Exponential { epsilon: self.0.epsilon }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        scores: &[i64],
        bits: &mut R,
        _: &Covered,
    ) -> Result<usize, MechanismError> {
        let weights = self.0.weights(scores)?;
        // Proof: there is a score at least, and every multiplicity is 1.
        Ok(choose(&weights, self.0.coin.denominator(), bits).expect("there is a candidate"))
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::{Claim, Delta, Neighbours, accounting};

    use super::*;
    use crate::testing::{
        DrawFreely, chi_square, count, epsilon, histogram, neighbouring_scores, reveals_at_most,
    };

    fn mechanism(e: f64, candidates: u64) -> Exponential {
        let shift = ScoreShift::new(count(1), Neighbours::Replace).unwrap();
        Exponential::new(epsilon(e), shift, count(candidates)).unwrap()
    }

    /// Equation (1) typed again, with rate = ε / R.
    fn masses(rate: f64, scores: &[i64]) -> Vec<f64> {
        let weights: Vec<f64> = scores.iter().map(|&u| (rate * u as f64).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| w / total).collect()
    }

    fn follows(mechanism: &Exponential, rate: f64, scores: &[i64]) -> Result<(), String> {
        let counts =
            histogram(scores.len(), 100_000, 22, |bits| mechanism.draw_freely(scores, bits).unwrap());
        chi_square(&counts, &masses(rate, scores))
    }

    /// Scores (0, 1, 2), ε = 1, Δ = 1.
    #[test]
    fn textbook_values() {
        let masses = masses(mechanism(1.0, 3).0.coin.rate(), &[0, 1, 2]);
        for (p, expected) in
            masses.iter().zip([0.186_323_723_225_85, 0.307_195_885_718_50, 0.506_480_391_055_65])
        {
            assert!((p - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn draws_follow_the_definition() {
        follows(&mechanism(1.0, 3), 0.5, &[0, 1, 2]).unwrap();
        follows(&mechanism(0.3, 4), 0.15, &[-7, 11, 3, 11]).unwrap();
        let monotone = ScoreShift::monotone(count(2), Neighbours::AddRemove).unwrap();
        follows(&Exponential::new(epsilon(0.3), monotone, count(3)).unwrap(), 0.15, &[5, 0, -5]).unwrap();
    }

    #[test]
    fn no_output_reveals_more_than_epsilon_and_the_range_is_bounded() {
        for e in [0.1, 1.0, 3.0] {
            let rate = mechanism(e, 3).0.coin.rate();
            for scores in [[0, 1, 2], [0, 0, 0], [5, 0, 0]] {
                for moved in neighbouring_scores(&scores, 1) {
                    let (one, two) = (masses(rate, &scores), masses(rate, &moved));
                    reveals_at_most(e, &one, &two).unwrap();
                    let losses: Vec<f64> = one.iter().zip(&two).map(|(p, q)| (p / q).ln()).collect();
                    let range = losses.iter().fold(f64::MIN, |a, b| a.max(*b))
                        - losses.iter().fold(f64::MAX, |a, b| a.min(*b));
                    assert!(range <= e * (1.0 + 1e-9));
                }
            }
        }
    }

    #[test]
    fn broken_twins_are_caught() {
        let half = mechanism(2.0, 3); // half of the randomness of ε = 1
        follows(&half, 0.5, &[0, 1, 2]).unwrap_err();
        let worst = |rate: f64, by: i64| {
            neighbouring_scores(&[20, 20, 0], by)
                .iter()
                .try_for_each(|moved| reveals_at_most(1.0, &masses(rate, &[20, 20, 0]), &masses(rate, moved)))
        };
        worst(mechanism(1.0, 3).0.coin.rate(), 1).unwrap();
        worst(half.0.coin.rate(), 1).unwrap_err();
        worst(mechanism(1.0, 3).0.coin.rate(), 2).unwrap_err();
    }

    /// By bounded range, many choices cost about 40 % less than by pure privacy (Dong, Durfee,
    /// Rogers 2020): 100 choices of ε = 0.1 at δ = 1e-6, against the *optimal* composition of 100
    /// mechanisms that are 0.1-private, which is the loss distribution of randomized response.
    #[test]
    fn bounded_range_saves_over_plain_composition() {
        let total = |event: Event, times: u64| {
            let claim = Claim::new(Neighbours::Replace, event.repeated(count(times)));
            accounting::epsilon(&claim, Delta::new(1e-6).unwrap(), accounting::Accountant::Auto)
                .unwrap()
                .bound
        };
        let pure = Event::Pure { epsilon: epsilon(0.1) };
        let exponential = mechanism(0.1, 3).event();
        let (ours, plain) = (total(exponential.clone(), 100), total(pure, 100));
        let saving = 1.0 - ours.upper / plain.lower;
        assert!((0.35..0.55).contains(&saving), "saving {saving}");
        // One public accountant forgot the number of compositions for this event.
        assert!(total(exponential.clone(), 10).lower > 2.0 * total(exponential, 1).upper);
    }

    #[test]
    fn the_stated_gap_is_met_where_it_is_worst() {
        let mechanism = mechanism(1.0, 5);
        let gap = mechanism.score_gap(0.9);
        // All others exactly so far below: together they are chosen with probability 1/10.
        let far = masses(0.5, &[0, -1, -1, -1, -1].map(|u: i64| u * gap.ceil() as i64));
        assert!(1.0 - far[0] <= 0.1);
        let near = masses(0.5, &[0, -1, -1, -1, -1].map(|u: i64| u * (gap.floor() as i64)));
        assert!(1.0 - near[0] >= 0.1);
        assert_eq!(mechanism.score_gap(1.0), f64::INFINITY);
        assert_eq!(self::mechanism(1.0, 1).score_gap(0.95), 0.0, "one candidate");
    }

    #[test]
    fn edges() {
        let mut bits = sordino_noise::danger::seeded(23);
        let extreme = mechanism(5.0, 2).draw_freely(&[i64::MIN, i64::MAX], &mut bits).unwrap();
        assert_eq!(extreme, 1, "the gap does not overflow");
        assert!(matches!(
            mechanism(1.0, 3).draw_freely(&[1, 2], &mut bits),
            Err(MechanismError::Candidates { .. })
        ));
    }
}
