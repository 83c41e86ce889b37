//! Exact integer noise for differential privacy, drawn from a cryptographic stream of bits.
//!
//! # What it offers
//! - **Bits**: [`entropy()`] is this thread's stream (operating system -> AES-256 or ChaCha20,
//!   reseeded, fork-safe). Repeatable bits come only from [`danger::seeded`], as another type.
//! - **Noise for vectors of reals on a grid**: [`RoundedGaussian`] and [`RoundedLaplace`], the
//!   continuous noise rounded, for which every theorem about the continuous mechanism holds as it
//!   stands.
//! - **Noise of other shapes on a grid**: [`RoundedCauchy`] and [`RoundedStudent`] (heavy tails),
//!   [`ScaledLaplace`] (any whole scale), [`RoundedSpherical`] (vectors, by length).
//! - **Noise for integer answers**: [`DiscreteLaplace`] and [`DiscreteGaussian`].
//! - **Coins, counts and choices**: [`Probability`], [`BernoulliExp`], [`Geometric`], [`Binomial`],
//!   [`uniform_below`], [`choose`].
//! - **The grid** itself: [`grid`] turns clipped contributions into integers and noisy sums back
//!   into numbers.
//!
//! # What "exact" means
//! No sampler rounds a probability, cuts a tail or trusts a library's `exp`. Given fair bits, every
//! draw has exactly the stated distribution: its total-variation distance is 0, and nothing is to
//! be added to δ. (Noise has no bounds; where it is stored in 64 bits, `fill` says how sums are to
//! be clamped so that this stays true.) Where floating point takes part in a comparison, it decides
//! only outside of a proved margin; inside of it integers of any length decide.
//!
//! ```
//! use sordino_noise::{RoundedGaussian, entropy};
//! // Exact sums on a grid of 2^21 steps to a standard deviation.
//! let mut sums = vec![1_000_i64, -250, 0];
//! let mut noise = vec![0; sums.len()];
//! const MOST: i64 = i64::MAX - 1_000;               // no sum is larger than 1000
//! RoundedGaussian::new(21)?.fill(&mut entropy()?, &mut noise);
//! for (sum, noise) in sums.iter_mut().zip(noise) {
//!     *sum = sum.saturating_add(noise).clamp(-MOST, MOST); // clamping after the noise is post-processing
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Timing
//! Rejections take time, and how many there are is random but independent of the data: it depends
//! on the bits alone. How long a draw takes may tell something about that draw; draw vectors, and
//! do not publish timings of single draws.

mod bernoulli_exp;
mod binomial;
mod bits;
mod branch;
mod cauchy;
mod choice;
mod curve;
pub mod danger;
mod discrete_gaussian;
mod discrete_laplace;
mod entropy;
mod error;
mod exact;
mod geometric;
pub mod grid;
mod parameter;
mod probability;
mod rounded;
mod scaled_laplace;
mod spherical;
mod stack;
mod stream;
mod student;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod uniform;

pub use bernoulli_exp::BernoulliExp;
pub use binomial::Binomial;
pub use bits::Bits;
pub use cauchy::RoundedCauchy;
pub use choice::{Weight, choose};
pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use entropy::{Entropy, EntropyError, RESEED_AFTER, RESEED_BYTES, entropy};
pub use error::NoiseError;
pub use geometric::Geometric;
pub use probability::Probability;
pub use rounded::{RoundedGaussian, RoundedLaplace};
pub use scaled_laplace::ScaledLaplace;
pub use spherical::RoundedSpherical;
pub use student::RoundedStudent;
pub use uniform::{uniform_below, uniform_below_u128};
