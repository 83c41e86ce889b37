//! Why nothing was discovered. No message depends on a record.

use sordino_mechanisms::MechanismError;
use sordino_noise::EntropyError;
use sordino_privacy::{ChargeError, ParamError, ReleaseError};

use crate::error::DataError;

/// A plan that cannot be made, or a file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// Nothing to do.
    #[error("no column was named; say of which the bounds or the values are unknown")]
    NoColumns,
    /// Declared, or named twice.
    #[error("column `{column}` is declared already or named twice; what is known is not bought again")]
    Known {
        /// The column.
        column: String,
    },
    /// A file that cannot be read, or has no such column.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Parameters that no mechanism takes.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// A part that its share does not pay for.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// A permit for something else.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// A privacy parameter outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// No random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
