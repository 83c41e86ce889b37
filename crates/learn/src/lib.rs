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
//!
//! n is public under both relations. Nothing is read off the data to choose a parameter, and what must be estimated (the
//! smoothness of coordinates) is paid for.
#![deny(unsafe_code)]

mod coordinate;
mod error;
mod gradient;
mod kernel;
mod linear_objective;
mod loss;
mod model;
mod plan;

pub use coordinate::{CoordinateClipping, CoordinateDescent, CoordinatePlan, Smoothness};
pub use error::LearnError;
pub use gradient::{GradientDescent, GradientPlan, Noise};
pub use linear_objective::LinearObjective;
pub use loss::Loss;
pub use model::LinearModel;
pub use plan::LearningPlan;
