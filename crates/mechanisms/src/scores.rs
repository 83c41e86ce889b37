//! Scores of candidates: how far neighbours move them, and coins of probability `exp(-rate · gap)`.
//!
//! # Range
//! What a choice reveals depends on how much neighbours change *differences* of scores: on
//! ```text
//! range = max over candidates of (u - u') - min over candidates of (u - u')                       (1)
//! ```
//! A score that moves by at most Δ has range 2Δ. A *monotone* one, where one record appearing moves
//! all scores the same way (counts of votes, for example), has range Δ. Adding a constant to all
//! scores changes no choice, so that a bound by range is all that the proofs need.
//!
//! # Pitfalls
//! - Monotone holds for records that appear or disappear; one that becomes another moves one score
//!   up and another down.
//! - Real scores are put on a public grid record by record before they are added, and Δ is that of
//!   the integers.

use std::num::NonZero;

use sordino_noise::{BernoulliExp, Bits, Weight, uniform_below};
use sordino_privacy::{Contribution, Count, Epsilon, Neighbours, Unit};

use crate::error::MechanismError;
use crate::protection::Protection;

/// The least rate of which five digits can be held: see [`Coin`].
const LEAST_RATE: f64 = 1.0 / (1u64 << 47) as f64;

/// How far one neighbour moves differences of integer scores, and the relation and unit for which
/// that was derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreShift {
    range: Count,
    protection: Protection,
}

impl ScoreShift {
    /// Each score moves by at most `sensitivity`, up or down, for single records.
    pub fn new(sensitivity: Count, neighbours: Neighbours) -> Result<Self, MechanismError> {
        let range = Count::new(2 * sensitivity.get())?;
        Ok(Self { range, protection: Protection::of_records(neighbours) })
    }

    /// Each score moves by at most `sensitivity`, all of them in the same direction. Refused for
    /// relations under which a record becomes another.
    pub fn monotone(sensitivity: Count, neighbours: Neighbours) -> Result<Self, MechanismError> {
        match neighbours.contribution() {
            Some(Contribution::Absent) => {
                Ok(Self { range: sensitivity, protection: Protection::of_records(neighbours) })
            }
            Some(Contribution::Changed) | None => Err(MechanismError::Relation {
                what: "a monotone score",
                neighbours,
                advice: "scores may move both ways: use `ScoreShift::new`",
            }),
        }
    }

    /// States that the bound was derived for this unit: however many records one of them has.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { protection: self.protection.for_unit(unit), ..self }
    }

    /// The range of (1).
    pub fn range(&self) -> Count {
        self.range
    }

    /// The relation and the unit for which it was derived.
    pub fn protection(&self) -> &Protection {
        &self.protection
    }
}

/// Coins of probability `exp(-rate · gap)` for integer gaps, with `rate = numerator / 2^bits`, the
/// quotient ε / range rounded down to 32 bits (fewer below 2^-31): rounding makes choices more
/// random, never less.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coin {
    numerator: u32,
    bits: u32,
}

impl Coin {
    pub(crate) fn new(epsilon: Epsilon, range: Count) -> Result<Self, MechanismError> {
        let (epsilon, range) = (epsilon.get(), range.get() as f64);
        if epsilon == 0.0 {
            return Err(MechanismError::NoBudget);
        }
        let quotient = epsilon / range;
        if quotient < LEAST_RATE {
            return Err(MechanismError::ScoresTooFine { rate: quotient });
        }
        // The fused product has the sign of the exact difference.
        let rate = if quotient.mul_add(range, -epsilon) > 0.0 { quotient.next_down() } else { quotient };
        let exponent = ((rate.to_bits() >> 52) as i64) - 1023; // normal: at least 2^-48
        let bits = (31 - exponent).clamp(0, 63) as u32;
        // Exact: a product with a power of two, then cut. Beyond 2^32 it saturates, which is down
        // too.
        let numerator = (rate * (1u64 << bits) as f64) as u32;
        Ok(Self { numerator, bits })
    }

    /// The rate that is really used, at most ε / range.
    pub(crate) fn rate(self) -> f64 {
        f64::from(self.numerator) / (1u64 << self.bits) as f64
    }

    /// Lands with probability `exp(-rate · gap)`.
    pub(crate) fn flip<R: Bits + ?Sized>(self, gap: u64, bits: &mut R) -> bool {
        let exponent = u128::from(gap) * u128::from(self.numerator);
        let denominator = 1u64 << self.bits;
        // exp(-2^64) and less: such a coin does not land.
        let whole = u64::try_from(exponent >> self.bits).unwrap_or(u64::MAX);
        let rest = (exponent & u128::from(denominator - 1)) as u64;
        // Proof: neither denominator is 0.
        let coin = |numerator, denominator| BernoulliExp::new(numerator, denominator).expect("not 0");
        coin(whole, 1).flip(bits) && coin(rest, denominator).flip(bits)
    }
}

impl Coin {
    /// `multiplicity · exp(-rate · gap)`, over [`Coin::denominator`].
    pub(crate) fn weight(self, multiplicity: u64, gap: u64) -> Weight {
        Weight { multiplicity, exponent: u128::from(gap) * u128::from(self.numerator) }
    }

    /// What exponents of [`Coin::weight`] are divided by.
    pub(crate) fn denominator(self) -> NonZero<u64> {
        // Proof: `bits` is at most 63, so that the power is not 0.
        NonZero::new(1u64 << self.bits).expect("a power of two")
    }
}

/// What choices by exact weights have in common: a rate, a relation, and a public number of
/// candidates.
#[derive(Clone, Debug)]
pub(crate) struct WeightedChoice {
    pub(crate) epsilon: Epsilon,
    pub(crate) coin: Coin,
    pub(crate) shift: ScoreShift,
    pub(crate) candidates: Count,
}

impl WeightedChoice {
    pub(crate) fn new(
        epsilon: Epsilon,
        shift: ScoreShift,
        candidates: Count,
    ) -> Result<Self, MechanismError> {
        Ok(Self { epsilon, coin: Coin::new(epsilon, shift.range())?, shift, candidates })
    }

    /// `exp(-rate (max u - u))` for every candidate.
    pub(crate) fn weights(&self, scores: &[i64]) -> Result<Vec<Weight>, MechanismError> {
        let best = best_of(scores, self.candidates)?;
        Ok(scores.iter().map(|score| self.coin.weight(1, best.abs_diff(*score))).collect())
    }

    /// The gap t at which all others together, each of weight `exp(-rate t)`, are as likely as
    /// `miss` against the best one's 1.
    pub(crate) fn exponential_gap(&self, miss: f64) -> f64 {
        let others = (self.candidates.get() - 1) as f64;
        ((others * (1.0 - miss) / miss).ln() / self.coin.rate()).max(0.0)
    }
}

/// Checks that there are as many scores as candidates, and returns the best one.
pub(crate) fn best_of(scores: &[i64], candidates: Count) -> Result<i64, MechanismError> {
    let wrong = MechanismError::Candidates { expected: candidates.get(), got: scores.len() };
    if scores.len() as u64 != candidates.get() {
        return Err(wrong);
    }
    scores.iter().copied().max().ok_or(wrong)
}

/// The index of the largest; among equals each is as likely.
pub(crate) fn largest<R: Bits + ?Sized>(noisy: &[i128], bits: &mut R) -> usize {
    let (mut winner, mut ties) = (0, NonZero::<u64>::MIN);
    for (candidate, value) in noisy.iter().enumerate().skip(1) {
        if *value > noisy[winner] {
            (winner, ties) = (candidate, NonZero::<u64>::MIN);
        } else if *value == noisy[winner] {
            // The n-th of n equals takes over with probability 1/n: each is as likely in the end.
            ties = ties.saturating_add(1);
            if uniform_below(ties, bits) == 0 {
                winner = candidate;
            }
        }
    }
    winner
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;

    use super::*;
    use crate::testing::{chi_square, count, epsilon, histogram};

    #[test]
    fn rates_are_rounded_down_by_little() {
        for e in [1e-3, 0.1, 1.0, 2.5, 40.0, 1e5] {
            for range in [1, 2, 3, 10, 1 << 20] {
                let rate = Coin::new(epsilon(e), count(range)).unwrap().rate();
                assert!(rate.mul_add(range as f64, -e) <= 0.0, "{rate} for {e} / {range}");
                assert!(rate * range as f64 >= e * (1.0 - 1e-9));
            }
        }
        assert!(Coin::new(epsilon(1e300), count(1)).unwrap().rate() < 1e10, "saturates toward less");
        let fine = Coin::new(epsilon(0.1), count(1 << 50)).unwrap_err().to_string();
        assert!(fine.ends_with("put the scores on a coarser grid"), "{fine}");
        assert!(matches!(Coin::new(epsilon(0.0), count(1)), Err(MechanismError::NoBudget)));
    }

    #[test]
    fn coins_land_with_the_stated_probability() {
        let mut bits = seeded(21);
        for (e, range, gap) in
            [(1.0, 2, 1), (1.0, 2, 5), (0.1, 3, 7), (1.0, 1 << 40, 1 << 40), (3.0, 1, 1), (1.0, 1, 0)]
        {
            let coin = Coin::new(epsilon(e), count(range)).unwrap();
            let landed = (0..50_000).filter(|_| coin.flip(gap, &mut bits)).count() as u64;
            let p = (-e / range as f64 * gap as f64).exp();
            if p == 1.0 {
                assert_eq!(landed, 50_000);
            } else {
                chi_square(&[landed, 50_000 - landed], &[p, 1.0 - p]).unwrap();
            }
        }
        assert!(!Coin::new(epsilon(1e300), count(1)).unwrap().flip(u64::MAX, &mut bits));
    }

    #[test]
    fn monotone_needs_records_that_appear() {
        assert_eq!(ScoreShift::new(count(3), Neighbours::Replace).unwrap().range().get(), 6);
        assert_eq!(ScoreShift::monotone(count(3), Neighbours::AddRemove).unwrap().range().get(), 3);
        let error = ScoreShift::monotone(count(3), Neighbours::Replace).unwrap_err().to_string();
        assert!(error.ends_with("scores may move both ways: use `ScoreShift::new`"), "{error}");
    }

    #[test]
    fn ties_are_fair() {
        let counts = histogram(4, 30_000, 58, |bits| largest(&[5, 7, 7, 7], bits));
        chi_square(&counts[1..], &[1.0 / 3.0; 3]).unwrap();
        assert_eq!(counts[0], 0);
    }

    #[test]
    fn every_candidate_needs_a_score() {
        let error = best_of(&[1, 2], count(3)).unwrap_err().to_string();
        assert_eq!(
            error,
            "this mechanism chooses among 3 candidates, got 2 scores; give every candidate one"
        );
        assert_eq!(best_of(&[i64::MIN, 4], count(2)).unwrap(), 4);
    }
}
