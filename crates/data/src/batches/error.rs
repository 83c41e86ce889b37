//! Why a plan of batches is refused.

use sordino_privacy::{EventError, Neighbours};

/// Why a plan of batches is refused. No error depends on data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The sampling's event has no guarantee under this relation.
    #[error(
        "{sampling} batches have no guarantee under {neighbours}; use poisson_sampled batches, or state \
        another relation (fixed-size samples need replace, shuffled epochs zero_out or replace)"
    )]
    Relation {
        /// The sampling's name.
        sampling: &'static str,
        /// The relation.
        neighbours: Neighbours,
    },
    /// There are more slots than slot numbers.
    #[error("a data set in memory has at most 2^32 - 1 slots, got {slots}; train on a part of it")]
    TooManySlots {
        /// The number of slots.
        slots: u64,
    },
    /// There are more batches in an epoch than records.
    #[error("{slots} records cannot be cut into {batches} batches; take at most {slots}")]
    MoreBatchesThanSlots {
        /// Batches in an epoch.
        batches: u64,
        /// The number of records.
        slots: u64,
    },
    /// The plan has more than 2^53 steps, the largest count that a double holds exactly.
    #[error("{epochs} epochs of {batches} batches are more than 2^53 steps")]
    TooManySteps {
        /// Epochs.
        epochs: u64,
        /// Batches in each.
        batches: u64,
    },
    /// A run cannot resume at this step.
    #[error(
        "a run of {steps} steps in epochs of {epoch} cannot resume at step {step}; resume at a multiple of \
        {epoch}"
    )]
    Resume {
        /// The step at which to resume.
        step: u64,
        /// Steps in all.
        steps: u64,
        /// Steps in an epoch.
        epoch: u64,
    },
    /// A sample is larger than the data set that it is drawn from.
    #[error(transparent)]
    Sample(#[from] EventError),
}
