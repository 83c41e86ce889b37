//! Private empirical risk minimisation for linear models.
//!
//! Every learner is used in the same way: a builder takes public numbers, and its
//! `plan(&encoding, n, ε, δ)` makes a plan. The plan states its [`LearningPlan::claim`], a budget
//! grants a permit for that claim, and [`LearningPlan::fit`] returns a `Release` of a
//! [`LinearModel`]. A fit that proceeds in steps can be watched, stopped and resumed: see
//! [`StepwisePlan`].
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
//! n is public under both relations. No parameter is chosen by looking at the data, except the
//! smoothness of coordinates, whose estimate is paid for.
//!
//! ```
//! use sordino_data::{Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table};
//! use sordino_learn::{LearningPlan, Loss, ObjectivePerturbation};
//! use sordino_privacy::{Budget, Charge, Count, Delta, Epsilon, Neighbours, Terms};
//!
//! let schema = Schema::from_toml(
//!     "columns.age = { kind = 'number', bounds = [0, 100] }\n\
//!      columns.ill = { kind = 'category', values = ['no', 'yes'] }",
//! )?;
//! let options = EncodingOptions { target: Some("ill".into()), intercept: true, ..Default::default() };
//! let encoding = Encoding::new(&schema, &["age".into(), "ill".into()], options)?;
//!
//! // The price is known before data is opened.
//! let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
//! let plan = ObjectivePerturbation::new(Loss::Logistic).plan(&encoding, Count::new(1000)?, epsilon, delta)?;
//! let mut budget = Budget::new(Terms::new(epsilon, Neighbours::ZeroOut).with_delta(delta));
//! let permit = budget.charge_claim(plan.claim())?;
//!
//! let raw = RawTable::new().numbers("age", (0..1000).map(|i| f64::from(i % 100)).collect())?;
//! let raw = raw.texts("ill", (0..1000).map(|i| Some(if i % 100 > 60 { "yes" } else { "no" })))?;
//! let table = Table::new(raw, &schema, Door::Permissive, &mut sordino_noise::entropy()?)?;
//! let release = plan.fit(&Encoded::new(&encoding, &table)?, permit)?;
//! println!("{:?}\n{}", release.value().weights().next(), release.guarantee());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod bits;
mod block_sums;
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
mod perturbation;
mod plan;
mod solver;
mod sufficient_statistics;
#[cfg(test)]
mod testing;
mod usual;
mod vector_noise;
mod weighting;
#[cfg(test)]
mod weighting_tests;

pub use coordinate::{CoordinateClipping, CoordinateDescent, CoordinatePlan, Smoothness};
pub use error::LearnError;
pub use gradient::{GradientDescent, GradientPlan};
pub use linear_objective::LinearObjective;
pub use loss::Loss;
pub use model::LinearModel;
pub use objective_perturbation::{ObjectivePerturbation, ObjectivePlan};
pub use output_perturbation::{OutputPerturbation, OutputPlan};
pub use sordino_optim::{ClassWeights, ClassWeightsError, FitOptions, LearningPlan, Noise, StepwisePlan};
pub use sufficient_statistics::{StatisticsPlan, SufficientStatistics};
pub use usual::{DefaultChoice, Facts};
