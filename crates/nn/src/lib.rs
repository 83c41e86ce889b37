//! Neural networks whose backward pass measures the norm of each example's gradient.
//!
//! # What it does
//! [`Network`] is a list of [`Layer`]s with a [`NetworkLoss`], written in Rust, as a [`Description`], or by the name of a
//! [`preset`]. [`NetworkObjective`] makes it an objective of `sordino-optim`, which provides batches, noise, events,
//! checkpoints and averages. A step runs micro-batches of a few examples whose activations stay in a core's cache: a
//! forward pass, one backward pass in which every layer with weights measures each example's gradient, clipping weights,
//! and one weighted product per layer. An example's whole gradient is computed only where that is cheaper, and sums over
//! groups of fixed slots are rounded to the grid.
//!
//! # Guarantee
//! The guarantee is that of the plan in `sordino-optim`: each record contributes a vector of norm at most C, whatever its
//! numbers are, and the float error of group sums is part of the sensitivity. It rests on three facts:
//! - a record's inputs and gradients in every layer are functions of that record and the parameters, to the last bit: no
//!   layer mixes records (batch normalisation is refused), and kernels compute each row by the same operations, whatever
//!   its neighbours;
//! - measured norms are upper bounds, and clipping weights are rounded down;
//! - a record that is not finite is overwritten by zeros before it is added to others.
//!
//! # Pitfalls
//! A bias on a sequence, ignored tokens, shared positions: the norm of a sum is not the sum of norms. Tests compare every
//! layer with naive gradients, example by example.

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
pub use examples::{DenseExamples, Example, Examples, Records};
pub use kernel::speed::product_speed;
pub use layer::Layer;
pub use learner::{EPOCHS, NetworkLearner, noise_length, usual_rate_of_sampling, usual_steps};
pub use loss::NetworkLoss;
pub use model::{NetworkModel, NetworkPrediction};
pub use network::{Evaluator, Network, NetworkScore};
pub use objective::NetworkObjective;
pub use op::activation::Activation;
pub use plan::{BatchMemory, NetworkPlan};
pub use shape::Shape;
pub use style::ClippingStyle;
pub use view::View;
pub use weights::WeightsError;
