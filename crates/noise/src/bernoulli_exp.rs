//! A coin that lands with probability `exp(-g)`, g a rational number, in integers alone.
//!
//! # Definition and proof
//! Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020,
//! arXiv:2004.00010, Algorithm 1. For g <= 1 flip coins of probability g/1, g/2, g/3, ... until one
//! fails, at the K-th. Then
//! ```text
//! P[K > k] = g^k / k!,     P[K odd] = sum over k of (-g)^k / k! = exp(-g).                           (1)
//! ```
//! For g > 1: `exp(-g) = exp(-1)^floor(g) exp(-(g - floor(g)))`, independent coins that must all
//! land.
//!
//! # Cost
//! About 3 words for a coin with g <= 1; for a larger g the first coin that fails ends it, after
//! 1.6 of them on average.

use std::num::NonZero;

use crate::bits::Bits;
use crate::error::NoiseError;
use crate::uniform::uniform_below;

/// True with probability `exp(-numerator / denominator)`.
///
/// ```
/// use sordino_noise::{BernoulliExp, entropy};
/// let coin = BernoulliExp::new(1, 3)?; // exp(-1/3)
/// let landed: bool = coin.flip(&mut entropy()?);
/// # let _ = landed;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BernoulliExp {
    whole: u64,
    /// g - floor(g) as a numerator over `denominator`.
    rest: u64,
    denominator: NonZero<u64>,
}

impl BernoulliExp {
    /// Fails for a denominator of 0. A numerator of 0 gives a coin that always lands.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, NoiseError> {
        let denominator = NonZero::new(denominator).ok_or_else(|| NoiseError::NotPositive {
            parameter: "denominator of the exponent",
            value: denominator.to_string(),
        })?;
        Ok(Self { whole: numerator / denominator, rest: numerator % denominator, denominator })
    }

    /// One flip.
    pub fn flip<R: Bits + ?Sized>(&self, bits: &mut R) -> bool {
        const ONE: NonZero<u64> = NonZero::<u64>::MIN;
        (0..self.whole).all(|_| flip_up_to_one(1, ONE, bits))
            && flip_up_to_one(self.rest, self.denominator, bits)
    }
}

/// Equation (1) for g = numerator / denominator <= 1. A coin of probability g/k is one of g and one
/// of 1/k, both landing: no product that could overflow.
fn flip_up_to_one<R: Bits + ?Sized>(numerator: u64, denominator: NonZero<u64>, bits: &mut R) -> bool {
    let mut k = NonZero::<u64>::MIN;
    while uniform_below(k, bits) == 0 && uniform_below(denominator, bits) < numerator {
        // 2^64 coins in a row do not land: the k-th has a chance of 1/k at most.
        k = k.saturating_add(1);
    }
    k.get() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::chi_square;

    #[test]
    fn coins_land_with_the_stated_probability() {
        let mut bits = seeded(202);
        for (numerator, denominator) in [(1, 1), (1, 2), (3, 7), (99, 100), (5, 2), (4, 1), (1, 1000)] {
            let coin = BernoulliExp::new(numerator, denominator).unwrap();
            let landed = (0..300_000).filter(|_| coin.flip(&mut bits)).count() as u64;
            let p = (-(numerator as f64) / denominator as f64).exp();
            chi_square(&[landed, 300_000 - landed], &[p, 1.0 - p]).unwrap();
        }
    }

    #[test]
    fn edges() {
        let mut bits = seeded(203);
        assert!((0..1000).all(|_| BernoulliExp::new(0, 5).unwrap().flip(&mut bits)), "exp(0) = 1");
        assert!(!BernoulliExp::new(u64::MAX, 1).unwrap().flip(&mut bits), "and ends at once");
        assert!(BernoulliExp::new(u64::MAX - 1, u64::MAX).is_ok());
        let message = BernoulliExp::new(1, 0).unwrap_err().to_string();
        assert_eq!(message, "denominator of the exponent must be a finite number above 0, got 0");
    }
}
