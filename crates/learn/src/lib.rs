//! Private empirical risk minimisation for linear models.
//!
//! Every learner has one face: a builder with public numbers, `plan(&encoding, n, ε, δ)`, [`LearningPlan::claim`], a permit for
//! it, and [`LearningPlan::fit`], which gives a `Release` of a [`LinearModel`].
//!
//! | learner | releases | relation |
//! |---|---|---|
//! | [`GradientDescent`] on full batches | all iterates of noisy gradient descent | `zero_out`, `replace` |
//! | on Poisson samples | the same, amplified | `zero_out`, `replace` |
//! | on samples of fixed size | the same | `replace` |
//! | [`CoordinateDescent`] | one noisy coordinate of the gradient a step | `zero_out`, `replace` |
//! | [`OutputPerturbation`] | the minimum, with noise | `zero_out`, `replace` |
//! | [`ObjectivePerturbation`] | the minimum of a noisy objective | `zero_out`, `replace` |
//! | [`SufficientStatistics`] (AdaSSP, private ridge) | noisy `XᵀX` and `Xᵀy` | `zero_out`, `replace` |
//!
//! n is public under both relations. Nothing is read off the data to choose a parameter, and what must be estimated (the
//! smoothness of coordinates) is paid for.
#![forbid(unsafe_code)]

mod coordinate;
pub mod danger;
mod error;
mod gradient;
mod kernel;
mod linear_objective;
mod loss;
mod model;
mod objective_perturbation;
mod output_perturbation;
mod plan;
mod solver;
mod sufficient_statistics;
#[cfg(test)]
mod testing;
mod vector_noise;

pub use coordinate::{CoordinateClipping, CoordinateDescent, CoordinatePlan, Smoothness};
pub use error::LearnError;
pub use gradient::{FitOptions, GradientDescent, GradientPlan, Noise};
pub use linear_objective::LinearObjective;
pub use loss::Loss;
pub use model::LinearModel;
pub use objective_perturbation::{ObjectivePerturbation, ObjectivePlan};
pub use output_perturbation::{OutputPerturbation, OutputPlan};
pub use plan::LearningPlan;
pub use sufficient_statistics::{StatisticsPlan, SufficientStatistics};
