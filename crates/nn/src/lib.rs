//! Neural networks whose backward pass knows the norm of each example's gradient.
//!
//! # What it does
//! [`Network`] is a list of [`Layer`]s with a [`Loss`], written in Rust or as a [`Description`], by hand or by the name of a
//! [`preset`]; [`NetworkObjective`] makes it an objective of `sordino-optim`, from which batches,
//! noise, events, checkpoints and averages come. A step runs micro-batches of a few examples whose activations stay in a core's cache:
//! forward, one backward pass in which every layer with weights measures each example's gradient, clipping weights, and one weighted
//! product a layer. No example's whole gradient is formed unless that is cheaper, and the sum is rounded to the grid in groups of fixed
//! slots.
//!
//! # Guarantee
//! That of the plan in `sordino-optim`: each record's contribution has norm at most C, whatever its numbers are, and the float error of
//! group sums is part of the sensitivity. It rests on three things:
//! - a record's inputs and slopes in every layer are functions of that record and the parameters, to the last bit: no layer mixes records
//!   (batch normalisation is refused), and the inner loops compute each row by the same operations whatever its neighbours;
//! - measured lengths are upper bounds, and weights are rounded down;
//! - a record that is not finite is overwritten by zeros before it meets others.
//!
//! # Pitfalls
//! A bias on a sequence, ignored tokens, shared positions: the length of a sum is not the sum of lengths. Every layer is compared with
//! gradients that were made without any of this, example by example.

mod build;
mod chain;
pub mod danger;
mod description;
mod engine;
mod error;
mod examples;
mod kernel;
mod layer;
mod learner;
mod loss;
mod model;
mod network;
mod objective;
mod op;
mod plan;
pub mod preset;
mod shape;
pub mod style;
pub mod usual;
mod view;
mod weights;

pub use description::{Description, DescriptionError};
pub use error::{FitError, NetworkError};
pub use examples::{Example, Examples, Records, Rows};
pub use kernel::speed::product_speed;
pub use layer::Layer;
pub use learner::{EPOCHS, NetworkLearner, noise_length, usual_rate_of_sampling, usual_steps};
pub use loss::Loss;
pub use model::{NetworkModel, NetworkPrediction};
pub use network::{Evaluation, Network, Score};
pub use objective::NetworkObjective;
pub use op::activation::Activation;
pub use plan::{BatchMemory, NetworkPlan};
pub use shape::Shape;
pub use style::ClippingStyle;
pub use view::View;
pub use weights::WeightsError;
