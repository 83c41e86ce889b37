//! Probabilities as exact rationals, and coins that land with exactly that probability.
//!
//! A coin of probability p is a uniform real number U compared with p, both read bit by bit until
//! they differ: 64 bits settle it but for one time in 2^64, and then the next 64 are drawn. Nothing
//! is rounded, so that a sampling rate that is accounted is the sampling rate that is drawn.

use std::fmt;

use dashu::base::{DivRem, UnsignedAbs};
use dashu::integer::UBig;
use dashu::rational::RBig;

use crate::bits::Bits;
use crate::error::NoiseError;

/// An exact probability: a rational number from 0 to 1.
#[derive(Clone, PartialEq, Eq)]
pub struct Probability {
    value: RBig,
    /// The first 64 binary digits, `floor(2^64 value)`; saturated for 1.
    head: u64,
}

impl Probability {
    /// `numerator / denominator`.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, NoiseError> {
        if denominator == 0 || numerator > denominator {
            return Err(NoiseError::Probability { value: format!("{numerator}/{denominator}") });
        }
        Ok(Self::from_exact(RBig::from_parts(numerator.into(), denominator.into())))
    }

    /// The rational that a double stands for, exactly.
    pub fn from_f64(value: f64) -> Result<Self, NoiseError> {
        match RBig::try_from(value) {
            Ok(exact) if (0.0..=1.0).contains(&value) => Ok(Self::from_exact(exact)),
            _ => Err(NoiseError::Probability { value: value.to_string() }),
        }
    }

    pub(crate) fn from_exact(value: RBig) -> Self {
        let head = QuotientDigits::of(&value).next_word();
        Self { value, head }
    }

    /// The exact value.
    pub(crate) fn value(&self) -> &RBig {
        &self.value
    }

    /// `1 - p`.
    pub fn complement(&self) -> Self {
        Self::from_exact(RBig::ONE - &self.value)
    }

    /// The nearest double, for display and estimates of cost.
    pub fn to_f64(&self) -> f64 {
        self.value.to_f64().value()
    }

    /// True with exactly this probability.
    #[inline]
    pub fn flip<R: Bits + ?Sized>(&self, bits: &mut R) -> bool {
        let word = bits.next_u64();
        if word == self.head { self.flip_on(bits) } else { word < self.head }
    }

    /// The first 64 digits of U and p agree: compare the following ones.
    #[cold]
    fn flip_on<R: Bits + ?Sized>(&self, bits: &mut R) -> bool {
        if self.value.is_one() {
            return true;
        }
        let mut digits = QuotientDigits::of(&self.value);
        digits.next_word();
        // U < p needs a later digit of p that is not 0.
        while !digits.remainder.is_zero() {
            let (head, word) = (digits.next_word(), bits.next_u64());
            if word != head {
                return word < head;
            }
        }
        false
    }

    /// The binary digits of p < 1 behind the point, in order, up to the last 1.
    pub(crate) fn binary_digits(&self) -> impl Iterator<Item = bool> {
        let mut digits = QuotientDigits::of(&self.value);
        let (mut word, mut left) = (0u64, 0);
        std::iter::from_fn(move || {
            if left == 0 {
                if digits.remainder.is_zero() {
                    return None;
                }
                word = digits.next_word();
                left = 64;
            }
            left -= 1;
            Some((word >> left) & 1 == 1)
        })
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Probability({})", self.value)
    }
}

/// Long division in base 2^64: digits of `remainder / denominator`, a number below 1.
struct QuotientDigits {
    remainder: UBig,
    denominator: UBig,
}

impl QuotientDigits {
    fn of(value: &RBig) -> Self {
        Self { remainder: value.numerator().unsigned_abs(), denominator: value.denominator().clone() }
    }

    /// The next 64 digits.
    fn next_word(&mut self) -> u64 {
        let (digit, remainder) = (&self.remainder << 64usize).div_rem(&self.denominator);
        self.remainder = remainder;
        // Below 2^64 since the remainder is below the denominator, but for the probability 1
        // itself.
        digit.try_into().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::{Replay, chi_square};

    #[test]
    fn coins_land_with_the_stated_probability() {
        let mut bits = seeded(303);
        for (numerator, denominator) in [(1, 2), (1, 3), (999, 1000), (1, 4096), (5, 7)] {
            let p = Probability::new(numerator, denominator).unwrap();
            let landed = (0..1_000_000).filter(|_| p.flip(&mut bits)).count() as u64;
            chi_square(&[landed, 1_000_000 - landed], &[p.to_f64(), 1.0 - p.to_f64()]).unwrap();
        }
    }

    /// 1/3 = 0.010101...: a coin that agrees with it for 64 bits must look at the next ones.
    #[test]
    fn agreeing_digits_are_followed_by_more_of_the_same_number() {
        let third = Probability::new(1, 3).unwrap();
        const AGREES: u64 = 0x5555_5555_5555_5555;
        for (last, lands) in [(AGREES - 1, true), (AGREES + 1, false)] {
            let mut bits = Replay::new([AGREES, AGREES, last]);
            assert_eq!(third.flip(&mut bits), lands);
            bits.assert_used_up();
        }
        // A dyadic number ends: U >= p whatever follows, and nothing more is drawn.
        let mut bits = Replay::new([1 << 62]);
        assert!(!Probability::from_f64(0.25).unwrap().flip(&mut bits));
    }

    #[test]
    fn doubles_are_taken_exactly() {
        let tenth = Probability::from_f64(0.1).unwrap();
        assert_eq!(tenth, Probability::new(3_602_879_701_896_397, 1 << 55).unwrap());
        assert_ne!(tenth, Probability::new(1, 10).unwrap());
        let digits: Vec<bool> = Probability::new(5, 8).unwrap().binary_digits().collect();
        assert_eq!(digits[..4], [true, false, true, false]);
        assert_eq!(Probability::from_f64(0.0).unwrap().binary_digits().count(), 0);
    }

    #[test]
    fn certainty_is_certain_and_nonsense_is_refused() {
        let (never, always) = (Probability::from_f64(0.0).unwrap(), Probability::from_f64(1.0).unwrap());
        assert!(!never.flip(&mut Replay::new([0])) && always.flip(&mut Replay::new([u64::MAX])));
        assert_eq!(never.complement(), always);
        for wrong in [-0.1, 1.0000000000000002, f64::NAN, f64::INFINITY, -f64::MIN_POSITIVE] {
            let message = Probability::from_f64(wrong).unwrap_err().to_string();
            assert_eq!(message, format!("probability must be a number from 0 to 1, got {wrong}"));
        }
        assert!(Probability::new(2, 1).is_err() && Probability::new(0, 0).is_err());
    }
}
