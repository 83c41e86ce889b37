//! How one number, one vector or one choice is released with differential privacy.
//!
//! Every mechanism has the same face, [`Mechanism`]: it states what it costs before it looks
//! ([`Mechanism::event`]), and turns an answer into a [`Release`](sordino_privacy::Release) against
//! a permit. A sensitivity belongs to one relation and one unit; a permit for others is refused
//! before the answer is looked at. Noise is exact: integers from [`sordino_noise`], never a
//! floating-point sample.
//!
//! | question | mechanism | guarantee |
//! |---|---|---|
//! | one integer (a count, a sum of clamped integers) | [`DiscreteLaplace`] | pure |
//! | many integers at once (the cells of a histogram) | [`Counts`] | pure |
//! | one integer, many releases | [`DiscreteGaussian`] | zero-concentrated |
//! | a sum of real vectors, each clipped in L1 | [`Laplace`] | pure |
//! | a sum of real vectors, each clipped in L2 | [`Gaussian`] | Gaussian |
//! | the same, without δ | [`KNorm`] | pure |
//! | an integer that is stable on most tables | [`ProposeTestRelease`] | approximate |
//! | an integer, with noise that fits the data near by | [`SmoothSensitivity`] | pure, or approximate |
//! | which candidate has the best score | [`Exponential`] | pure, of bounded range |
//! | which k candidates have the best scores | [`TopK`] | k choices of bounded range |
//! | the same, for a single choice | [`PermuteAndFlip`] | pure |
//! | the same, in time that tells nothing | [`ReportNoisyMax`] | pure |
//! | the same, with Gaussian noise (votes of many) | [`GaussianNoisyMax`] | zero-concentrated |
//! | one person's own category, before it leaves them | [`RandomizedResponse`] | pure, under replace |
//! | the first of a stream of counts above a threshold | [`AboveThreshold`] | pure, however long the stream |
//! | count, sum, mean, quantile, histogram, ... of a table | [`statistics`] | pure; open keys: approximate |
//!
//! ```
//! use sordino_mechanisms::{DiscreteLaplace, Mechanism, Shift};
//! use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
//!
//! let one_person = Shift::count(Neighbours::AddRemove)?;
//! let mechanism = DiscreteLaplace::new(Epsilon::new(0.5)?, one_person)?;
//! let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
//! let release = mechanism.release(1_204, budget.charge_claim(mechanism.claim())?)?;
//! println!("{} ± {}, {}", release.value(), mechanism.error_at(0.95), release.guarantee());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod above_threshold;
mod accuracy;
mod contributions;
mod counts;
mod discrete_gaussian;
mod discrete_laplace;
mod error;
mod exponential;
mod gaussian;
mod gaussian_noisy_max;
mod k_norm;
mod laplace;
mod mechanism;
mod permute_and_flip;
mod propose_test_release;
mod protection;
mod randomized_response;
mod report_noisy_max;
mod scores;
mod shift;
mod smooth_sensitivity;
pub mod statistics;
#[cfg(test)]
mod testing;
mod top_k;

pub use above_threshold::{AboveThreshold, Side, Watch};
pub use contributions::Contributions;
pub use counts::Counts;
pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use error::MechanismError;
pub use exponential::Exponential;
pub use gaussian::Gaussian;
pub use gaussian_noisy_max::GaussianNoisyMax;
pub use k_norm::KNorm;
pub use laplace::Laplace;
pub use mechanism::{Covered, Mechanism};
pub use permute_and_flip::PermuteAndFlip;
pub use propose_test_release::{Proposal, ProposeTestRelease};
pub use protection::Protection;
pub use randomized_response::RandomizedResponse;
pub use report_noisy_max::{MaxNoise, ReportNoisyMax};
pub use scores::ScoreShift;
pub use shift::Shift;
pub use smooth_sensitivity::{Nearby, SmoothNoise, SmoothSensitivity};
pub use top_k::TopK;
