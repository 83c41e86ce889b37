//! Batches that cannot be drawn, or not as accounted.

use sordino_privacy::{EventError, Neighbours};

/// Why there is no such plan. None of it depends on data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The sampling's event says nothing under this relation.
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
    /// More slots than are numbered.
    #[error("a data set in memory has at most 2^32 - 1 slots, got {slots}; train on a part of it")]
    TooManySlots {
        /// What came.
        slots: u64,
    },
    /// Batches that could not all have a record.
    #[error("{slots} records cannot be cut into {batches} batches; take at most {slots}")]
    MoreBatchesThanSlots {
        /// Batches in an epoch.
        batches: u64,
        /// Records.
        slots: u64,
    },
    /// Longer than anybody trains.
    #[error("{epochs} epochs of {batches} batches are more than 2^53 steps")]
    TooManySteps {
        /// Epochs.
        epochs: u64,
        /// Batches in each.
        batches: u64,
    },
    /// A place at which a run cannot go on.
    #[error(
        "a run of {steps} steps in epochs of {epoch} cannot go on at step {step}; go on at a multiple of \
        {epoch}"
    )]
    Resume {
        /// Where to go on.
        step: u64,
        /// Steps in all.
        steps: u64,
        /// Steps in an epoch.
        epoch: u64,
    },
    /// A sample larger than what it is drawn from.
    #[error(transparent)]
    Sample(#[from] EventError),
}
