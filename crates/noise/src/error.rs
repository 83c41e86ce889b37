//! Why a sampler could not be built. Drawing itself never fails.

/// A parameter outside of what a sampler can draw exactly.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoiseError {
    /// The depth of a rounded sampler is the number of grid steps per scale, as a power of two.
    #[error("depth must be at most {most}, got {depth}; draw at a smaller depth and scale the grid instead")]
    Depth {
        /// What came.
        depth: u32,
        /// The largest depth whose rounding bit is among the drawn bits.
        most: u32,
    },
    /// A scale, a variance or a rate must be a positive finite number.
    #[error("{parameter} must be a finite number above 0, got {value}")]
    NotPositive {
        /// The name of the parameter.
        parameter: &'static str,
        /// What came, as written.
        value: String,
    },
    /// A draw could leave the range of `i64`.
    #[error(
        "{parameter} must be at most {most} so that draws fit 64-bit integers, got {value}; use a coarser \
         unit"
    )]
    TooLarge {
        /// The name of the parameter.
        parameter: &'static str,
        /// What came, as written.
        value: String,
        /// The largest value that is accepted, as written.
        most: &'static str,
    },
    /// A probability outside of [0, 1].
    #[error("probability must be a number from 0 to 1, got {value}")]
    Probability {
        /// What came, as written.
        value: String,
    },
}
