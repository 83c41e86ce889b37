//! Why nothing was trained. No message depends on a record.

use std::path::PathBuf;

use sordino_data::BatchError;
use sordino_noise::EntropyError;
use sordino_noise::grid::{GridError, SumError};
use sordino_privacy::{AccountError, ChargeError, Neighbours, ParamError, ReleaseError};

use crate::class_weights::ClassWeightsError;

/// A plan that cannot be made, or a run that ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptimError {
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
    /// A vector of the wrong length.
    #[error("{what} must have {expected} numbers, one for each parameter, got {got}")]
    Length {
        /// The vector.
        what: &'static str,
        /// Parameters of the objective.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// The objective has other data than the plan was made for.
    #[error("the plan is for {planned} records and the data has {slots}; make the plan for this data's n")]
    OtherData {
        /// n of the plan.
        planned: u64,
        /// n of the objective.
        slots: usize,
    },
    /// Data that the plan was not made for.
    #[error("the plan was made for another encoding than the data's; plan with the encoding of this data")]
    OtherEncoding,
    /// Data with another number of records a unit than the plan's.
    #[error(
        "the data was bounded for another unit, or for another number of records a unit, than the plan is \
        for; use one schema for both"
    )]
    OtherLimit,
    /// Data without a target.
    #[error("the data has no target column; encode it with the column that is to be predicted")]
    NoTarget,
    /// A learner that divides by n.
    #[error("learning needs a public n, which {neighbours} does not give; state zero_out or replace")]
    PrivateSize {
        /// The relation.
        neighbours: Neighbours,
    },
    /// n is private under this relation, and something must divide.
    #[error(
        "under {neighbours} the number of records is private, and nothing else says what a noisy sum is to \
        be divided by; state a public divisor"
    )]
    NoDivisor {
        /// The relation.
        neighbours: Neighbours,
    },
    /// Inputs that are not records.
    #[error("training has no guarantee under {neighbours}; state zero_out, replace or add_remove")]
    Relation {
        /// The relation.
        neighbours: Neighbours,
    },
    /// Stopped on request.
    #[error("stopped on request after {steps} steps; all that was charged stays charged")]
    Cancelled {
        /// Steps that were done.
        steps: u64,
    },
    /// A checkpoint that cannot be written or read.
    #[error("checkpoint `{}`: {source}", path.display())]
    CheckpointFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A checkpoint of something else.
    #[error("checkpoint `{}` cannot be used: {reason}", path.display())]
    CheckpointContent {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Progress that could not be recorded.
    #[error("what a checkpoint keeps could not be recorded, and the run stops: {0}")]
    Witness(Box<dyn std::error::Error + Send + Sync>),
    /// Class weights that do not suit the target.
    #[error(transparent)]
    ClassWeights(#[from] ClassWeightsError),
    /// Batches that cannot be drawn.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A grid that cannot be made.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// A sum that its grid does not allow.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// No random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// A permit for something else.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// No accountant knows the event.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A charge that was not granted.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// A privacy parameter outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
}

/// A finite number above 0, or an error that names it.
pub(crate) fn positive(name: &'static str, got: f64) -> Result<f64, OptimError> {
    within(name, "a finite number above 0", got, |x| x > 0.0 && x.is_finite())
}

/// A number that satisfies `valid`, or an error that names it.
pub(crate) fn within(
    name: &'static str,
    expected: &'static str,
    got: f64,
    valid: impl Fn(f64) -> bool,
) -> Result<f64, OptimError> {
    if valid(got) { Ok(got) } else { Err(OptimError::Parameter { name, expected, got }) }
}
