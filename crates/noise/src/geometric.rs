//! Geometric distributions: how often something fails before it first succeeds.
//!
//! # Definition
//! ```text
//! P[X = k] = (1 - q) q^k,    k = 0, 1, 2, ...,     q the probability of one more failure              (1)
//! ```
//! [`Geometric::new`] takes the probability `p = 1 - q` of a success, any exact probability;
//! [`Geometric::with_ratio_exp`] takes `q = exp(-g)`, g rational: the one-sided discrete Laplace.
//!
//! # Construction
//! For an exact p: let `m = 2^b` be about 1/p. Write X = m V + U: then V and U are independent, V
//! geometric with ratio `q^m` and U on {0..m-1} with weights q^u. V counts coins of probability
//! q^m; U is drawn uniformly and kept with probability q^u. Such a coin is a uniform real number
//! compared with a power of q, which is enclosed in integers by repeated squaring with outward
//! rounding, at doubling precision and with further bits of the same real number until the
//! comparison is decided (the idea: Bringmann, Friedrich, "Exact and efficient generation of
//! geometric random variates and random graphs", 2013). Cost: about ten microseconds, whatever p.
//!
//! For q = exp(-s/t): U uniform on {0..t-1} kept with probability exp(-U/t), V counts coins of
//! exp(-1), and `X = floor((U + t V) / s)` (Canonne, Kamath, Steinke 2020, arXiv:2004.00010,
//! Algorithm 2).

use std::num::NonZero;

use dashu::base::UnsignedAbs;
use dashu::integer::UBig;
use dashu::rational::RBig;

use crate::bernoulli_exp::BernoulliExp;
use crate::bits::Bits;
use crate::error::NoiseError;
use crate::parameter::positive_ratio;
use crate::probability::Probability;
use crate::uniform::uniform_below;

/// Failures before the first success, drawn exactly.
///
/// ```
/// use sordino_noise::{Geometric, Probability, entropy};
/// let waiting = Geometric::new(&Probability::new(1, 1000)?)?;
/// let failures: u128 = waiting.sample(&mut entropy()?);
/// # let _ = failures;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Geometric(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// q, and b.
    Ratio { failure: RBig, block_bits: u32 },
    /// s and t.
    Exponential { s: NonZero<u64>, t: NonZero<u64> },
}

impl Geometric {
    /// Fails for a success that never comes (p = 0), or comes too rarely (p < 2^-50) for blocks of
    /// 64 bits.
    pub fn new(success: &Probability) -> Result<Self, NoiseError> {
        let rare = RBig::from_parts(1.into(), (1u64 << 50).into());
        if success.value() < &rare {
            return Err(NoiseError::NotPositive {
                parameter: "probability of success (at least 2^-50)",
                value: success.value().to_string(),
            });
        }
        let block_bits = (-success.to_f64().log2()).ceil() as u32; // any value is exact, this one is fast
        Ok(Self(Kind::Ratio { failure: RBig::ONE - success.value(), block_bits }))
    }

    /// Ratio `q = exp(-numerator / denominator)`, both above 0. Fails for an exponent below 2^-50.
    pub fn with_ratio_exp(numerator: u64, denominator: u64) -> Result<Self, NoiseError> {
        positive_ratio("exponent of the ratio", numerator, denominator)?;
        if u128::from(denominator) > u128::from(numerator) << 50 {
            return Err(NoiseError::TooLarge {
                parameter: "inverse of the exponent of the ratio",
                value: format!("{denominator}/{numerator}"),
                most: "2^50",
            });
        }
        // Proof: both were just found to be above 0.
        let above_zero = |x| NonZero::new(x).expect("checked to be above 0");
        Ok(Self(Kind::Exponential { s: above_zero(numerator), t: above_zero(denominator) }))
    }

    /// One draw.
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> u128 {
        match &self.0 {
            Kind::Ratio { failure, block_bits } => sample_ratio(failure, *block_bits, bits),
            &Kind::Exponential { s, t } => sample_exponential(s, t, bits),
        }
    }
}

fn sample_ratio<R: Bits + ?Sized>(failure: &RBig, block_bits: u32, bits: &mut R) -> u128 {
    if failure.is_zero() {
        return 0;
    }
    let block = 1u64 << block_bits;
    let within = loop {
        let candidate = bits.next_u64() & (block - 1);
        if flip_power(failure, candidate, bits) {
            break candidate;
        }
    };
    // No overflow before 2^64 coins have been tossed.
    let mut total = u128::from(within);
    while flip_power(failure, block, bits) {
        total += u128::from(block);
    }
    total
}

fn sample_exponential<R: Bits + ?Sized>(s: NonZero<u64>, t: NonZero<u64>, bits: &mut R) -> u128 {
    // Proof: the denominators t and 1 are not 0.
    let coin = |numerator, denominator: u64| {
        BernoulliExp::new(numerator, denominator).expect("a denominator above 0")
    };
    let within = loop {
        let candidate = uniform_below(t, bits);
        if coin(candidate, t.get()).flip(bits) {
            break candidate;
        }
    };
    let (e, mut rounds) = (coin(1, 1), 0u128);
    while e.flip(bits) {
        rounds += 1;
    }
    (u128::from(within) + u128::from(t.get()) * rounds) / u128::from(s.get())
}

/// True with probability `ratio^exponent`, 0 < ratio < 1.
fn flip_power<R: Bits + ?Sized>(ratio: &RBig, exponent: u64, bits: &mut R) -> bool {
    if exponent == 0 {
        return true;
    }
    let mut uniform = UBig::from(bits.next_u64());
    let mut precision = 64;
    loop {
        let (lower, upper) = enclose_power(ratio, exponent, precision);
        if &uniform + UBig::ONE <= lower {
            return true;
        }
        if uniform >= upper {
            return false;
        }
        // Undecided: as many further bits of the same uniform number.
        for _ in 0..precision / 64 {
            uniform = (uniform << 64usize) + UBig::from(bits.next_u64());
        }
        precision *= 2;
    }
}

/// Integers with `lower <= 2^precision ratio^exponent <= upper`, by squaring with outward rounding.
fn enclose_power(ratio: &RBig, exponent: u64, precision: usize) -> (UBig, UBig) {
    // Squaring doubles relative errors: the exponent's bits, and eight for the roundings, are
    // added.
    let places = precision + (64 - exponent.leading_zeros()) as usize + 8;
    let base_lower = (ratio.numerator().unsigned_abs() << places) / ratio.denominator();
    let base_upper = &base_lower + UBig::ONE;
    let (mut lower, mut upper) = (UBig::ONE << places, UBig::ONE << places);
    for bit in (0..64 - exponent.leading_zeros()).rev() {
        lower = (&lower * &lower) >> places;
        upper = ((&upper * &upper) >> places) + UBig::ONE;
        if (exponent >> bit) & 1 == 1 {
            lower = (&lower * &base_lower) >> places;
            upper = ((&upper * &base_upper) >> places) + UBig::ONE;
        }
    }
    (lower >> (places - precision), (upper >> (places - precision)) + UBig::ONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::{Replay, chi_square};

    /// Equation (1) for k below `cells`, and the rest.
    fn masses(q: f64, cells: usize) -> Vec<f64> {
        let mut masses: Vec<f64> = (0..cells).map(|k| (1.0 - q) * q.powi(k as i32)).collect();
        masses.push(q.powi(cells as i32));
        masses
    }

    fn check(geometric: &Geometric, q: f64, draws: usize) {
        let mut bits = seeded(404);
        let cells = 40;
        let mut counts = vec![0; cells + 1];
        for _ in 0..draws {
            counts[geometric.sample(&mut bits).min(cells as u128) as usize] += 1;
        }
        chi_square(&counts, &masses(q, cells)).unwrap();
    }

    #[test]
    fn counts_follow_the_stated_probabilities() {
        for (numerator, denominator) in [(1, 2), (1, 3), (9, 10), (1, 30)] {
            let p = Probability::new(numerator, denominator).unwrap();
            check(&Geometric::new(&p).unwrap(), 1.0 - p.to_f64(), 30_000);
        }
        for (numerator, denominator) in [(1, 1), (1, 7), (5, 2), (3, 20)] {
            let q = (-(numerator as f64) / denominator as f64).exp();
            check(&Geometric::with_ratio_exp(numerator, denominator).unwrap(), q, 30_000);
        }
    }

    #[test]
    fn rare_successes_have_the_stated_mean() {
        let mut bits = seeded(405);
        let p = Probability::from_f64(1e-9).unwrap();
        let rare = Geometric::new(&p).unwrap();
        let draws = 4000;
        let mean = (0..draws).map(|_| rare.sample(&mut bits) as f64).sum::<f64>() / f64::from(draws);
        // Standard deviation of the mean: 1e9 / sqrt(4000); six of them (false alarm 2e-9).
        assert!((mean / 1e9 - 1.0).abs() < 6.0 / f64::from(draws).sqrt(), "mean {mean}");
    }

    #[test]
    fn powers_are_enclosed() {
        let ratio = RBig::from_parts(2.into(), 3u32.into());
        for exponent in [1u64, 2, 5, 17, 40] {
            let exact = ratio.pow(exponent as isize) * RBig::from(UBig::ONE << 100usize);
            let (lower, upper) = enclose_power(&ratio, exponent, 100);
            assert!(RBig::from(lower.clone()) <= exact && exact <= RBig::from(upper.clone()));
            assert!(upper - lower <= UBig::from(3u8));
        }
    }

    /// (1/3)^1 = 0.0101...: a number that agrees for 64 bits is neither accepted nor rejected
    /// before more is known.
    #[test]
    fn an_undecided_power_draws_more_bits() {
        let third = RBig::from_parts(1.into(), 3u32.into());
        for (next, lands) in [(0x5555_5555_5555_5000, true), (0x5555_5555_5555_6000, false)] {
            let mut bits = Replay::new([0x5555_5555_5555_5555, next]);
            assert_eq!(flip_power(&third, 1, &mut bits), lands);
            bits.assert_used_up();
        }
    }

    #[test]
    fn edges() {
        let mut bits = seeded(406);
        assert_eq!(Geometric::new(&Probability::new(1, 1).unwrap()).unwrap().sample(&mut bits), 0);
        assert!(Geometric::new(&Probability::new(0, 1).unwrap()).is_err());
        assert!(Geometric::with_ratio_exp(0, 1).is_err() && Geometric::with_ratio_exp(1, 0).is_err());
        assert_eq!(Geometric::with_ratio_exp(u64::MAX, 1).unwrap().sample(&mut bits), 0);
        // Up to a mean of 2^50 counts fit; beyond it they would pile up at the largest one.
        for numerator in [1, 3] {
            assert!(Geometric::with_ratio_exp(numerator, numerator << 50).is_ok());
            let refused = Geometric::with_ratio_exp(numerator, (numerator << 50) + 1).unwrap_err();
            assert!(matches!(refused, NoiseError::TooLarge { most: "2^50", .. }), "{refused}");
        }
        assert!(Geometric::with_ratio_exp(1, u64::MAX).is_err());
        assert!(Geometric::with_ratio_exp(u64::MAX, u64::MAX).is_ok());
    }
}
