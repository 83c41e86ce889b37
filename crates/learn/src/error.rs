//! Why nothing was learned. Everything here depends on schema, shapes and
//! parameters, never on a record's value.

use sordino_noise::grid::{GridError, SumError};
use sordino_optim::{ClassWeightsError, OptimError};
use sordino_privacy::{AccountError, ParamError, ReleaseError};

/// A plan that cannot be made, or a fit that did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// A loss for another kind of target.
    #[error(
        "the {loss} loss needs {expected}, and the encoding has {got}; choose another loss or another target"
    )]
    Target {
        /// The loss.
        loss: &'static str,
        /// What it needs.
        expected: String,
        /// What there is.
        got: String,
    },
    /// A loss that a learner cannot do.
    #[error("{learner} does not do the {loss} loss; {instead}")]
    Loss {
        /// The learner.
        learner: &'static str,
        /// The loss.
        loss: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// A number outside its range.
    #[error("{name} must be {expected}, got {got}")]
    Parameter {
        /// The parameter, in words.
        name: &'static str,
        /// Its range, in words.
        expected: &'static str,
        /// What came.
        got: f64,
    },
    /// Weights of another model.
    #[error("a model of this loss and encoding has {expected} weights, got {got}")]
    Weights {
        /// Outputs times coordinates.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// Class weights that do not suit the target.
    #[error(transparent)]
    ClassWeights(#[from] ClassWeightsError),
    /// The training loop.
    #[error(transparent)]
    Optim(#[from] OptimError),
    /// A permit for something else.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// No accountant knows the event.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A privacy parameter outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A grid that cannot be made.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// A sum that its grid does not allow.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// Noise that cannot be drawn.
    #[error(transparent)]
    Noise(#[from] sordino_noise::NoiseError),
    /// No random bits.
    #[error(transparent)]
    Entropy(#[from] sordino_noise::EntropyError),
}
