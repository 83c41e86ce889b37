//! Discrete Laplace: the two-sided geometric distribution on the integers.
//!
//! # Definition
//! For a scale t > 0, any rational number, and `r = exp(-1/t)`:
//! ```text
//! P[X = k] = (1 - r) / (1 + r) * r^|k|,     Var X = 2 r / (1 - r)^2                                (1)
//! ```
//! # Guarantee
//! An integer answer that one unit moves by at most D, plus X of scale t, is D/t-differentially
//! private (Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms",
//! 2009). The draw is exact.
//!
//! # Pitfalls
//! - A scale far below 1 gives 0 almost always: that is what (1) says, and hardly any privacy.
//! - Never swap in a floating-point Laplace: the gaps between doubles show the answer (Mironov, "On
//!   significance of the least significant bits for differential privacy", 2012).

use std::fmt;

use dashu::rational::RBig;

use crate::bits::Bits;
use crate::curve::{Curve, POSITION_BITS, Shape};
use crate::error::NoiseError;
use crate::parameter::{positive_double, positive_ratio};
use crate::stack::{Rounding, Stack, Support};

/// A block holds enough integers that the scale is at most this many blocks. At a scale of n
/// blocks, 1/n of the slots need a test, and exp(-128/n) lies in the tail: 24 keeps both small.
const MOST_BLOCKS_TO_A_SCALE: u64 = 24;

/// Integers with probability proportional to `exp(-|k| / scale)`, drawn exactly.
///
/// ```
/// use sordino_noise::{DiscreteLaplace, entropy};
/// let laplace = DiscreteLaplace::new(7, 2)?; // scale 3.5
/// let noise = laplace.sample(&mut entropy()?);
/// # let _ = noise;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DiscreteLaplace {
    stack: Stack,
    rounding: Rounding,
    scale: RBig,
}

impl DiscreteLaplace {
    /// Scale `numerator / denominator`: any positive rational up to 24 * 2^50 (2.7e16). Builds a
    /// table; keep the sampler where many draws have the same scale.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, NoiseError> {
        Self::exact(positive_ratio("scale", numerator, denominator)?)
    }

    /// The scale that a double stands for, exactly.
    pub fn with_scale(scale: f64) -> Result<Self, NoiseError> {
        Self::exact(positive_double("scale", scale)?)
    }

    fn exact(scale: RBig) -> Result<Self, NoiseError> {
        let fits = |&bits: &u32| scale <= RBig::from(MOST_BLOCKS_TO_A_SCALE << bits);
        let bits = (0..=POSITION_BITS).find(fits).ok_or_else(|| NoiseError::TooLarge {
            parameter: "scale",
            value: scale.to_string(),
            most: "24 * 2^50",
        })?;
        let rate = RBig::from(1u64 << bits) / &scale;
        let stack = Stack::new(Curve::new(Shape::Laplace, rate), Support::Integers { bits });
        Ok(Self { stack, rounding: Rounding::down(bits), scale })
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

impl fmt::Debug for DiscreteLaplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DiscreteLaplace {{ scale: {} }}", self.scale)
    }
}
