//! Rounded Gaussian and rounded Laplace: the continuous noise, rounded to a grid.
//!
//! # Definition
//! At depth k the grid has 2^k steps to one scale, and with N standard normal, L Laplace of scale 1:
//! ```text
//! RoundedGaussian:  K = round(2^k N),   P[K = j] = Phi((j + 1/2) 2^-k) - Phi((j - 1/2) 2^-k)        (1)
//! RoundedLaplace:   K = round(2^k L),   P[K = 0] = 1 - exp(-2^-k / 2),
//!                                       P[K = j] = sinh(2^-k / 2) exp(-|j| 2^-k), j /= 0             (2)
//! ```
//! One fixed distribution per depth serves every noise scale s: the grid step is `s 2^-k`.
//!
//! # Guarantee
//! Rounding to a grid that contains the exact answer is post-processing: `x + round(Z) = round(x + Z)` for x on the
//! grid. Every statement about the continuous mechanism (Rényi, zero-concentrated, privacy-loss distributions,
//! subsampling, any dimension) holds as it stands, with nothing added to δ. The draws are exact up to a total-variation
//! distance below 2^-240 (see the clamp in the construction of the table).
//!
//! # Pitfalls
//! - The answer must be on the grid, and its sensitivity is that of the answer on the grid, after quantisation.
//! - One rounding of one whole draw. A sum of separately rounded draws (shares of several parties) is not the rounding
//!   of their sum, and has its own analysis.
//! - This is not the discrete Gaussian: same shape, other distribution, other accounting.

use std::fmt;
use std::sync::OnceLock;

use dashu::rational::RBig;

use crate::bits::Bits;
use crate::curve::{Curve, Shape};
use crate::error::NoiseError;
use crate::stack::{Rounding, Stack, Support};

/// A standard deviation of the Gaussian is 2^5 blocks: four of them on each side of 0.
const GAUSSIAN_BLOCK_BITS: u32 = 5;
/// A scale of the Laplace is 2^4 blocks: eight of them on each side of 0.
const LAPLACE_BLOCK_BITS: u32 = 4;
/// With 50 bits behind the point of a block, the rounding bit is always among those that were drawn.
const MOST_DEPTH: u32 = 53;

/// `round(2^depth N(0, 1))`, drawn exactly.
///
/// ```
/// use sordino_noise::{RoundedGaussian, entropy};
/// let gaussian = RoundedGaussian::new(21)?;
/// let mut noise = vec![0; 1000];
/// gaussian.fill(&mut entropy()?, &mut noise);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct RoundedGaussian {
    stack: &'static Stack,
    rounding: Rounding,
    depth: u32,
}

impl RoundedGaussian {
    /// Fails for a depth above 53.
    pub fn new(depth: u32) -> Result<Self, NoiseError> {
        static STACK: OnceLock<Stack> = OnceLock::new();
        let rounding = rounding(depth, GAUSSIAN_BLOCK_BITS)?;
        let stack = STACK.get_or_init(|| {
            // exp(-x^2/2) with x = y / 2^5.
            let rate = RBig::from_parts(1.into(), (2u32 << (2 * GAUSSIAN_BLOCK_BITS)).into());
            Stack::new(Curve::new(Shape::Gaussian, rate), Support::Reals)
        });
        Ok(Self { stack, rounding, depth })
    }

    /// Binary logarithm of the number of grid steps to one standard deviation.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// One draw.
    #[inline]
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i64 {
        self.stack.sample(self.rounding, bits)
    }

    /// Overwrites `out` with independent draws; several times faster than one by one.
    pub fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) {
        self.stack.fill(self.rounding, bits, out);
    }
}

impl fmt::Debug for RoundedGaussian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundedGaussian").field("depth", &self.depth).finish_non_exhaustive()
    }
}

/// `round(2^depth L)`, L Laplace of scale 1, drawn exactly.
///
/// ```
/// use sordino_noise::{RoundedLaplace, entropy};
/// let noise = RoundedLaplace::new(10)?.sample(&mut entropy()?);
/// # let _ = noise;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct RoundedLaplace {
    stack: &'static Stack,
    rounding: Rounding,
    depth: u32,
}

impl RoundedLaplace {
    /// Fails for a depth above 53.
    pub fn new(depth: u32) -> Result<Self, NoiseError> {
        static STACK: OnceLock<Stack> = OnceLock::new();
        let rounding = rounding(depth, LAPLACE_BLOCK_BITS)?;
        let stack = STACK.get_or_init(|| {
            // exp(-x) with x = y / 2^4.
            let rate = RBig::from_parts(1.into(), (1u32 << LAPLACE_BLOCK_BITS).into());
            Stack::new(Curve::new(Shape::Laplace, rate), Support::Reals)
        });
        Ok(Self { stack, rounding, depth })
    }

    /// Binary logarithm of the number of grid steps to one scale.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// One draw.
    #[inline]
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i64 {
        self.stack.sample(self.rounding, bits)
    }

    /// Overwrites `out` with independent draws; several times faster than one by one.
    pub fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) {
        self.stack.fill(self.rounding, bits, out);
    }
}

impl fmt::Debug for RoundedLaplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundedLaplace").field("depth", &self.depth).finish_non_exhaustive()
    }
}

fn rounding(depth: u32, block_bits: u32) -> Result<Rounding, NoiseError> {
    if depth > MOST_DEPTH {
        return Err(NoiseError::Depth { depth, most: MOST_DEPTH });
    }
    Ok(Rounding::nearest(depth as i32 - block_bits as i32))
}
