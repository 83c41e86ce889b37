//! Errors of plans and runs. No message depends on a record.

use std::path::PathBuf;

use sordino_data::BatchError;
use sordino_noise::EntropyError;
use sordino_noise::grid::{GridError, SumError};
use sordino_privacy::{AccountError, ChargeError, Neighbours, ParamError, ReleaseError};

use crate::class_weights::ClassWeightsError;

/// Why a plan cannot be made, or why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptimError {
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
    /// A vector of the wrong length.
    #[error("{what} must have {expected} numbers, one for each parameter, got {got}")]
    Length {
        /// The vector.
        what: &'static str,
        /// The number of parameters of the objective.
        expected: usize,
        /// The length given.
        got: usize,
    },
    /// The data has another number of records than the plan.
    #[error("the plan is for {planned} records and the data has {slots}; make the plan for this data's n")]
    OtherData {
        /// n of the plan.
        planned: u64,
        /// n of the objective.
        slots: usize,
    },
    /// The data has another encoding than the plan.
    #[error("the data has another encoding than the plan; make the plan with the encoding of this data")]
    OtherEncoding,
    /// The data has another unit, or another limit of records per unit, than the plan.
    #[error(
        "the data was limited for another unit, or for another number of records per unit, than the plan \
        is for; use one schema for both"
    )]
    OtherLimit,
    /// The data has no target.
    #[error("the data has no target column; encode it with the column that is to be predicted")]
    NoTarget,
    /// The learner divides by n, which is private under this relation.
    #[error("learning needs a public n, which {neighbours} does not give; state zero_out or replace")]
    PrivateSize {
        /// The relation.
        neighbours: Neighbours,
    },
    /// n is private under this relation, and the plan states no divisor.
    #[error(
        "under {neighbours} the number of records is private, so noisy sums cannot be divided by it; state \
        a public divisor"
    )]
    NoDivisor {
        /// The relation.
        neighbours: Neighbours,
    },
    /// A relation under which training has no guarantee.
    #[error("training has no guarantee under {neighbours}; state zero_out, replace or add_remove")]
    Relation {
        /// The relation.
        neighbours: Neighbours,
    },
    /// A plan or a run that an individual filter does not serve.
    #[error("an individual filter {why}")]
    IndividualFilter {
        /// What it needs, and what to do.
        why: &'static str,
    },
    /// The run was stopped on request.
    #[error("stopped on request after {steps} steps; all that was charged stays charged")]
    Cancelled {
        /// The number of steps done.
        steps: u64,
    },
    /// A checkpoint could not be written or read.
    #[error("checkpoint `{}`: {source}", path.display())]
    CheckpointFile {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A checkpoint is damaged, or belongs to another run.
    #[error("checkpoint `{}` cannot be used: {reason}", path.display())]
    CheckpointContent {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The witness could not record a checkpoint.
    #[error("the progress of the run could not be recorded, so the run stops: {0}")]
    Witness(Box<dyn std::error::Error + Send + Sync>),
    /// The class weights do not suit the target.
    #[error(transparent)]
    ClassWeights(#[from] ClassWeightsError),
    /// The batches cannot be drawn.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// No grid can be made for the sum.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The grid does not allow the sum.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// The operating system gave no random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The permit is for another claim.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// No accountant could bound the event, or no noise meets the target.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The budget refused the charge.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// A privacy parameter outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
}

/// Returns `got` if it is finite and above 0, else an error that names it.
pub(crate) fn positive(name: &'static str, got: f64) -> Result<f64, OptimError> {
    within(name, "a finite number above 0", got, |x| x > 0.0 && x.is_finite())
}

/// Returns `got` if it satisfies `valid`, else an error that names it.
pub(crate) fn within(
    name: &'static str,
    expected: &'static str,
    got: f64,
    valid: impl Fn(f64) -> bool,
) -> Result<f64, OptimError> {
    if valid(got) { Ok(got) } else { Err(OptimError::Parameter { name, expected, got }) }
}
