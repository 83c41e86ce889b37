//! Why a search fails. No message depends on a record.

use sordino_mechanisms::MechanismError;
use sordino_noise::EntropyError;
use sordino_privacy::{ChargeError, ParamError, ReleaseError};

use crate::error::DataError;

/// A plan that cannot be made, or a file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiscoverError {
    /// The request names no column.
    #[error("no column was named; say of which the bounds or the values are unknown")]
    NoColumns,
    /// A column is declared, or named twice.
    #[error("column `{column}` is declared already or named twice; what is known is not bought again")]
    Known {
        /// The column.
        column: String,
    },
    /// The file cannot be read, or lacks a column.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A mechanism refuses its parameters.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// A share does not pay for its part.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// The permit does not cover the search.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// A privacy parameter is outside of its range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The system provides no random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
