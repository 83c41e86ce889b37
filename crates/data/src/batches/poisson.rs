//! Poisson samples: each slot joins by its own coin, exactly.
//!
//! # Construction
//! A coin of probability p is a uniform real number compared with p, binary digit by binary digit:
//! the first digit in which they differ decides. 64 coins are flipped together, with one word of
//! fair bits per digit, until all are decided. Each digit decides half of the coins that are left,
//! so 64 coins take about seven words, whatever p is. p is a double with finitely many digits, so
//! the coin has exactly the accounted probability.
//!
//! If p is below 2^-14, the gaps between joining slots are drawn instead, as exact geometric
//! numbers.

use sordino_noise::{Bits, Geometric, Probability};
use sordino_privacy::SamplingRate;

/// The lowest rate for coins: below it, gaps are cheaper.
const MIN_COIN_RATE: f64 = 1.0 / (1u64 << 14) as f64;

/// Draws Poisson samples of the slots `0..slots`.
#[derive(Debug)]
pub(super) struct PoissonSlots {
    slots: u64,
    method: Method,
}

#[derive(Debug)]
enum Method {
    All,
    /// The binary digits of the rate after the point, up to the last 1.
    Coins(Vec<bool>),
    Gaps(Geometric),
    /// Rates below 2^-50, too small for gaps: a sample at rate 2^-50 whose slots stay with
    /// probability rate / 2^-50.
    Thinned(Geometric, Probability),
}

impl PoissonSlots {
    pub(super) fn new(rate: SamplingRate, slots: u64) -> Self {
        let rate = rate.get();
        let method = if rate == 1.0 {
            Method::All
        } else if rate >= MIN_COIN_RATE {
            Method::Coins(digits(rate))
        } else {
            Method::for_rare(rate)
        };
        Self { slots, method }
    }

    /// The slots of one sample, ascending.
    pub(super) fn draw<R: Bits + ?Sized>(&self, bits: &mut R) -> Vec<u32> {
        // No truncation: a plan has at most 2^32 - 1 slots.
        match &self.method {
            Method::All => (0..self.slots as u32).collect(),
            Method::Coins(digits) => by_coins(self.slots, digits, || bits.next_u64()),
            Method::Gaps(gap) => by_gaps(self.slots, || gap.sample(bits)),
            Method::Thinned(gap, second) => {
                let mut slots = by_gaps(self.slots, || gap.sample(bits));
                slots.retain(|_| second.flip(bits));
                slots
            }
        }
    }
}

impl Method {
    fn for_rare(rate: f64) -> Self {
        const MIN_GAP_RATE: f64 = 1.0 / (1u64 << 50) as f64;
        // Proof: both probabilities lie within (0, 1), and gaps are sampled for rates down to
        // 2^-50. Dividing by 2^-50 changes only the exponent, so the quotient is exact; it is
        // below 1.
        let probability = |p| Probability::from_f64(p).expect("a rate is a probability");
        let gaps = |p| Geometric::new(&probability(p)).expect("gaps reach 2^-50");
        if rate >= MIN_GAP_RATE {
            Self::Gaps(gaps(rate))
        } else {
            Self::Thinned(gaps(MIN_GAP_RATE), probability(rate / MIN_GAP_RATE))
        }
    }
}

/// The binary digits of a number below 1, exactly. (A double of at least 2^-14 has at most 67.)
fn digits(mut p: f64) -> Vec<bool> {
    let mut digits = Vec::new();
    while p > 0.0 {
        // Doubling and subtracting 1 are exact.
        p *= 2.0;
        digits.push(p >= 1.0);
        p -= p.floor();
    }
    digits
}

fn by_coins(slots: u64, digits: &[bool], mut word: impl FnMut() -> u64) -> Vec<u32> {
    let mut sample = Vec::new();
    for start in (0..slots).step_by(64) {
        let mut landed = coins(digits, &mut word);
        if slots - start < 64 {
            landed &= (1 << (slots - start)) - 1;
        }
        while landed != 0 {
            sample.push(start as u32 + landed.trailing_zeros());
            landed &= landed - 1;
        }
    }
    sample
}

/// 64 coins at once: bit i of the result is coin i.
fn coins(digits: &[bool], mut word: impl FnMut() -> u64) -> u64 {
    let (mut undecided, mut landed) = (u64::MAX, 0);
    for &digit in digits {
        let uniform = word();
        if digit {
            landed |= undecided & !uniform;
            undecided &= uniform;
        } else {
            undecided &= !uniform;
        }
        if undecided == 0 {
            break;
        }
    }
    // A number that agrees with p in all digits is not below p, so undecided coins are tails.
    landed
}

fn by_gaps(slots: u64, mut gap: impl FnMut() -> u128) -> Vec<u32> {
    let mut sample = Vec::new();
    let mut next = gap();
    while next < u128::from(slots) {
        sample.push(next as u32);
        next = (next + 1).saturating_add(gap());
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_the_number() {
        for p in [0.5, 0.375, 0.1, 256.0 / 60_000.0, 1.0 - f64::EPSILON, MIN_COIN_RATE] {
            let value: f64 =
                digits(p).iter().rev().fold(0.0, |value, &digit| (value + f64::from(digit)) / 2.0);
            assert_eq!(value, p);
            assert!(digits(p).len() <= 67);
        }
    }

    /// Two coins and all 64 ways to fill three digits of each: every outcome has exactly the
    /// product of its coins' probabilities.
    #[test]
    fn coins_are_exact_and_independent_by_enumeration() {
        for eighths in 1..8u32 {
            let digits = digits(f64::from(eighths) / 8.0);
            let mut counts = [0u32; 4];
            for choice in 0..64u64 {
                // Digit j of the two coins: bits 2j and 2j + 1 of the choice.
                let mut j = 0;
                let landed = coins(&digits, || {
                    j += 1;
                    (choice >> (2 * (j - 1))) & 3
                });
                counts[(landed & 3) as usize] += 1;
            }
            let one = [8 - eighths, eighths];
            assert_eq!(counts, [one[0] * one[0], one[1] * one[0], one[0] * one[1], one[1] * one[1]]);
        }
    }

    #[test]
    fn gaps_are_the_slots_between() {
        let mut gaps = [2, 0, 3, 100].into_iter();
        assert_eq!(by_gaps(10, || gaps.next().unwrap()), [2, 3, 7]);
        assert_eq!(by_gaps(0, || 0), [0u32; 0]);
        assert_eq!(by_gaps(5, || u128::MAX), [0u32; 0]);
    }

    #[test]
    fn the_last_block_is_cut() {
        assert_eq!(by_coins(66, &[true], || 0).len(), 66);
        assert_eq!(by_coins(0, &[true], || 0).len(), 0);
        assert_eq!(by_coins(64, &[true], || u64::MAX).len(), 0);
    }
}
