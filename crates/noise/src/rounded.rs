//! Rounded Gaussian and rounded Laplace: the continuous noise, rounded to a grid.
//!
//! # Definition
//! At depth k the grid has 2^k steps to one scale, and with N standard normal, L Laplace of scale
//! 1:
//! ```text
//! RoundedGaussian:  K = round(2^k N),   P[K = j] = Phi((j + 1/2) 2^-k) - Phi((j - 1/2) 2^-k)        (1)
//! RoundedLaplace:   K = round(2^k L),   P[K = 0] = 1 - exp(-2^-k / 2),
//!                                       P[K = j] = sinh(2^-k / 2) exp(-|j| 2^-k), j /= 0             (2)
//! ```
//! One fixed distribution per depth serves every noise scale s: the grid step is `s 2^-k`.
//!
//! # Guarantee
//! Rounding to a grid that contains the exact answer is post-processing:
//! `x + round(Z) = round(x + Z)` for x on the grid. Every statement about the continuous mechanism
//! (Rényi, zero-concentrated, privacy-loss distributions, subsampling, any dimension) holds as it
//! stands: neither rounding nor the sampler adds anything to δ.
//!
//! # Pitfalls
//! - The answer must be on the grid, and its sensitivity is that of the answer on the grid, after
//!   quantisation.
//! - One rounding of one whole draw. A sum of separately rounded draws (shares of several parties)
//!   is not the rounding of their sum, and has its own analysis.
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
/// With 50 bits behind the point of a block, the rounding bit is always among those that were
/// drawn.
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
pub struct RoundedGaussian(Rounded);

impl RoundedGaussian {
    /// Fails for a depth above 53.
    pub fn new(depth: u32) -> Result<Self, NoiseError> {
        static STACK: OnceLock<Stack> = OnceLock::new();
        // exp(-x^2/2) with x = y / 2^5.
        let curve = || Curve::new(Shape::Gaussian, one_over(2 << (2 * GAUSSIAN_BLOCK_BITS)));
        Rounded::new(depth, GAUSSIAN_BLOCK_BITS, &STACK, curve).map(Self)
    }

    /// Binary logarithm of the number of grid steps to one standard deviation.
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// One draw. Its sum with an answer may be clamped; the draw alone may not.
    #[inline]
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        self.0.sample(bits)
    }

    /// Overwrites `out` with independent draws; several times faster than one by one. They are
    /// clamped to 64 bits: clamp sums with answers of size at most A to `±(i64::MAX - A)`, and the
    /// result is that of the exact draw.
    pub fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) {
        self.0.fill(bits, out);
    }
}

impl fmt::Debug for RoundedGaussian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as("RoundedGaussian", f)
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
pub struct RoundedLaplace(Rounded);

impl RoundedLaplace {
    /// Fails for a depth above 53.
    pub fn new(depth: u32) -> Result<Self, NoiseError> {
        static STACK: OnceLock<Stack> = OnceLock::new();
        // exp(-x) with x = y / 2^4.
        let curve = || Curve::new(Shape::Laplace, one_over(1 << LAPLACE_BLOCK_BITS));
        Rounded::new(depth, LAPLACE_BLOCK_BITS, &STACK, curve).map(Self)
    }

    /// Binary logarithm of the number of grid steps to one scale.
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// One draw. Its sum with an answer may be clamped; the draw alone may not.
    #[inline]
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        self.0.sample(bits)
    }

    /// Overwrites `out` with independent draws; several times faster than one by one. They are
    /// clamped to 64 bits: clamp sums with answers of size at most A to `±(i64::MAX - A)`, and the
    /// result is that of the exact draw.
    pub fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) {
        self.0.fill(bits, out);
    }
}

impl fmt::Debug for RoundedLaplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as("RoundedLaplace", f)
    }
}

/// What the two share: a table made once for the process, and a depth.
#[derive(Clone, Copy)]
struct Rounded {
    stack: &'static Stack,
    rounding: Rounding,
    depth: u32,
}

impl Rounded {
    /// A scale of `curve` is `2^block_bits` blocks.
    fn new(
        depth: u32,
        block_bits: u32,
        stack: &'static OnceLock<Stack>,
        curve: impl FnOnce() -> Curve,
    ) -> Result<Self, NoiseError> {
        if depth > MOST_DEPTH {
            return Err(NoiseError::Depth { depth, most: MOST_DEPTH });
        }
        let rounding = Rounding::nearest(depth as i32 - block_bits as i32);
        let stack = stack.get_or_init(|| Stack::new(curve(), Support::Reals));
        Ok(Self { stack, rounding, depth })
    }

    #[inline]
    fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        self.stack.sample(self.rounding, bits)
    }

    fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) {
        self.stack.fill(self.rounding, bits, out);
    }

    fn fmt_as(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name).field("depth", &self.depth).finish_non_exhaustive()
    }
}

fn one_over(denominator: u32) -> RBig {
    RBig::from_parts(1.into(), denominator.into())
}
