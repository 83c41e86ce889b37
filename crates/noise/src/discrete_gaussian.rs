//! Discrete Gaussian on the integers.
//!
//! # Definition
//! For sigma^2 > 0, any rational number:
//! ```text
//! P[X = k] = exp(-k^2 / (2 sigma^2)) / Z,     Z = sum over all integers j of exp(-j^2 / (2 sigma^2))     (1)
//! ```
//! # Guarantee
//! An integer vector of L2 sensitivity D plus independent draws satisfies
//! `D^2 / (2 sigma^2)`-zero-concentrated privacy, exactly like the continuous Gaussian (Canonne,
//! Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020, arXiv:2004.00010,
//! Theorem 4). The draw is exact.
//!
//! # Pitfalls
//! - Its privacy profile is *not* below that of the continuous Gaussian: account it by
//!   zero-concentrated privacy or by its own privacy-loss distribution.
//! - Sums of discrete Gaussians are not discrete Gaussians.
//! - sigma^2 is the parameter, not the variance; for small sigma the variance is smaller.

use std::fmt;

use dashu::rational::RBig;

use crate::bits::Bits;
use crate::curve::{Curve, Shape};
use crate::error::NoiseError;
use crate::parameter::{positive_double, positive_ratio};
use crate::stack::{Rounding, Stack, Support};

/// A block holds enough integers that sigma is at most 2^5 blocks: four sigma on each side of 0.
const BLOCK_BITS: u32 = 5;
/// Largest block: sigma up to 2^40.
const MOST_BITS: u32 = 35;

/// Integers with probability proportional to `exp(-k^2 / (2 sigma^2))`, drawn exactly.
///
/// ```
/// use sordino_noise::{DiscreteGaussian, entropy};
/// let gaussian = DiscreteGaussian::with_sigma(2.5)?;
/// let noise = gaussian.sample(&mut entropy()?);
/// # let _ = noise;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DiscreteGaussian {
    stack: Stack,
    rounding: Rounding,
    sigma_squared: RBig,
}

impl DiscreteGaussian {
    /// `sigma^2 = numerator / denominator`, positive. Builds a table; keep the sampler where many
    /// draws have the same sigma.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, NoiseError> {
        Self::exact(positive_ratio("sigma squared", numerator, denominator)?)
    }

    /// The sigma^2 that a double stands for, exactly: positive and at most 2^80.
    pub fn with_sigma_squared(sigma_squared: f64) -> Result<Self, NoiseError> {
        Self::exact(positive_double("sigma squared", sigma_squared)?)
    }

    /// The square of a double, exactly (a rounded square would be another distribution than the one
    /// that is accounted). Positive and at most 2^40.
    pub fn with_sigma(sigma: f64) -> Result<Self, NoiseError> {
        let sigma = positive_double("sigma", sigma)?;
        Self::exact(&sigma * &sigma)
    }

    fn exact(sigma_squared: RBig) -> Result<Self, NoiseError> {
        let fits = |&bits: &u32| sigma_squared <= RBig::from(1u128 << (2 * (BLOCK_BITS + bits)));
        let bits = (0..=MOST_BITS).find(fits).ok_or_else(|| NoiseError::TooLarge {
            parameter: "sigma squared",
            value: sigma_squared.to_string(),
            most: "2^80",
        })?;
        let rate = RBig::from(1u128 << (2 * bits)) / (&sigma_squared * RBig::from(2));
        let stack = Stack::new(Curve::new(Shape::Gaussian, rate), Support::Integers { bits });
        Ok(Self { stack, rounding: Rounding::down(bits), sigma_squared })
    }

    /// One draw. Its sum with an answer may be clamped; the draw alone may not.
    #[inline]
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        self.stack.sample(self.rounding, bits)
    }

    /// Overwrites `out` with independent draws; several times faster than one by one. They are
    /// clamped to 64 bits: clamp sums with answers of size at most A to `±(i64::MAX - A)`, and the
    /// result is that of the exact draw.
    pub fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) {
        self.stack.fill(self.rounding, bits, out);
    }
}

impl fmt::Debug for DiscreteGaussian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DiscreteGaussian {{ sigma_squared: {} }}", self.sigma_squared)
    }
}
