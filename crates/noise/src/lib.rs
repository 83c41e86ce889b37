//! Exact integer noise for differential privacy, drawn from a cryptographic stream of bits.
//!
//! # What it offers
//! - **Bits**: [`entropy()`] is this thread's stream (operating system -> AES-256 or ChaCha20, reseeded, fork-safe).
//!   Repeatable bits come only from [`danger::seeded`], as another type.
//! - **Noise for vectors of reals on a grid**: [`RoundedGaussian`] and [`RoundedLaplace`], the continuous noise rounded,
//!   for which every theorem about the continuous mechanism holds as it stands.
//! - **Noise of other shapes on a grid**: [`RoundedCauchy`] (heavy tails), [`RoundedSpherical`] (vectors, by length).
//! - **Noise for integer answers**: [`DiscreteLaplace`] and [`DiscreteGaussian`].
//! - **Coins, counts and choices**: [`Probability`], [`BernoulliExp`], [`Geometric`], [`Binomial`], [`uniform_below`], [`choose`].
//! - **The grid** itself: [`grid`] turns clipped contributions into integers and noisy sums back into numbers.
//!
//! # What "exact" means
//! No sampler rounds a probability, cuts a tail or trusts a library's `exp`. Given fair bits, the coins, counts and
//! uniform numbers have exactly the stated distribution; the four noise samplers have it up to a total-variation
//! distance of less than 2^-240 a draw, [`TOTAL_VARIATION`] (a clamp at 128 standard deviations or 170 scales keeps
//! results within 64 bits). That is a number to be added to δ, `(1 + e^ε) draws 2^-240`, and it says there how small it is.
//! Where floating point takes part in a comparison, it decides only outside of a proved margin; inside of it integers
//! of any length decide.
//!
//! ```
//! use sordino_noise::{RoundedGaussian, entropy};
//! let mut sums = vec![1_000_i64, -250, 0];          // exact sums on a grid of 2^21 steps to a standard deviation
//! let mut noise = vec![0; sums.len()];
//! RoundedGaussian::new(21)?.fill(&mut entropy()?, &mut noise);
//! for (sum, noise) in sums.iter_mut().zip(noise) {
//!     *sum = sum.saturating_add(noise);             // clamping after the noise is post-processing
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Timing
//! Rejections take time, and how many there are is random but independent of the data: it depends on the bits alone.
//! How long a draw takes may tell something about that draw; draw vectors, and do not publish timings of single draws.

mod bernoulli_exp;
mod binomial;
mod bits;
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
mod spherical;
mod stack;
mod stream;
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
pub use spherical::{RoundedSpherical, SPHERICAL_VARIATION};
pub use stack::TOTAL_VARIATION;
pub use uniform::{uniform_below, uniform_below_u128};
