//! Why an audit could not be made.

use sordino_noise::EntropyError;
use sordino_privacy::{AccountError, ParamError};

use crate::error_rates::ErrorRates;

/// An audit that cannot be made as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// Counts that no test produces.
    #[error(
        "counts must lie between 0 and the number of trials, which must be above 0, got {rates:?}; count \
         again"
    )]
    Counts {
        /// What came.
        rates: ErrorRates,
    },
    /// Guesses that no run produces.
    #[error(
        "there must be canaries, at most as many guesses, and at most as many right ones, got {canaries}, \
         {guesses} and {right}"
    )]
    Guesses {
        /// Canaries.
        canaries: u64,
        /// Guesses.
        guesses: u64,
        /// Right guesses.
        right: u64,
    },
    /// A confidence of 0 or 1: certainty cannot be had, and no confidence needs no audit.
    #[error("confidence must be above 0 and below 1, got {got}; 0.95 is usual")]
    Confidence {
        /// What came.
        got: f64,
    },
    /// Too few samples to learn, choose and count.
    #[error("an audit needs at least {least} samples for each input, got {got}; draw more")]
    Samples {
        /// The least.
        least: u64,
        /// What came.
        got: u64,
    },
    /// A search over no pair of inputs.
    #[error("a search needs at least one pair of neighbouring inputs, got none; name one")]
    NoPairs,
    /// A parameter out of range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// No accountant can price it.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// No random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
