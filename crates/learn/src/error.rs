//! Errors of plans and fits. They depend on schema, shapes and parameters, never on a record's
//! value.

use sordino_noise::grid::{GridError, SumError};
use sordino_optim::{ClassWeightsError, OptimError};
use sordino_privacy::{AccountError, ParamError, ReleaseError};

/// Why a plan cannot be made, or why a fit failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The loss needs another kind of target.
    #[error(
        "the {loss} loss needs {expected}, and the encoding has {got}; choose another loss or another target"
    )]
    Target {
        /// The loss.
        loss: &'static str,
        /// The target that it needs.
        expected: String,
        /// The target that the encoding has.
        got: String,
    },
    /// The learner does not support the loss.
    #[error("{learner} does not support the {loss} loss; {instead}")]
    Loss {
        /// The learner.
        learner: &'static str,
        /// The loss.
        loss: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// A parameter outside its range.
    #[error("{name} must be {expected}, got {got}")]
    Parameter {
        /// The parameter, in words.
        name: &'static str,
        /// Its range, in words.
        expected: &'static str,
        /// The value given.
        got: f64,
    },
    /// The wrong number of weights for a model.
    #[error("a model of this loss and encoding has {expected} weights, got {got}")]
    Weights {
        /// Outputs times coordinates.
        expected: usize,
        /// The number given.
        got: usize,
    },
    /// The class weights do not suit the target.
    #[error(transparent)]
    ClassWeights(#[from] ClassWeightsError),
    /// The checks before a fit, the training loop or its checkpoints failed.
    #[error(transparent)]
    Optim(#[from] OptimError),
    /// The permit is for another claim.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// No accountant could bound the event, or no noise meets the target.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A privacy parameter outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// No grid can be made for the sum.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The grid does not allow the sum.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// The noise could not be drawn.
    #[error(transparent)]
    Noise(#[from] sordino_noise::NoiseError),
    /// The operating system gave no random bits.
    #[error(transparent)]
    Entropy(#[from] sordino_noise::EntropyError),
}
