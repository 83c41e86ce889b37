//! What can go wrong with a grid, and what to change. No message depends on a record.

use super::Norm;

/// A grid that cannot be made from these parameters.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// A parameter is outside its range.
    #[error("{name} must be {expected}, got {got}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// The values it can have.
        expected: &'static str,
        /// The value that came.
        got: f64,
    },
    /// The noise cannot be sampled at this depth.
    #[error(
        "grid depth must be at most {limit}, got {depth}; \
         lower the dimension or the noise multiplier, or accept a larger truncation limit"
    )]
    TooDeep {
        /// The depth asked for or needed.
        depth: u32,
        /// The deepest there is.
        limit: u32,
    },
    /// Truncation would take too large a part of a contribution.
    #[error(
        "truncation at depth {depth} may take {loss:.1e} of the clip norm, and at most {limit:.1e} is \
         accepted; use depth {least} or more"
    )]
    TooShallow {
        /// The depth asked for.
        depth: u32,
        /// Largest part of the clip norm that can be lost.
        loss: f64,
        /// What the plan accepts.
        limit: f64,
        /// The least depth that keeps to it.
        least: u32,
    },
    /// Noise and allowance leave less than one step for a contribution.
    #[error(
        "at depth {depth} noise of multiplier {noise_multiplier} leaves no whole step for a contribution; \
         raise the depth or lower the noise multiplier"
    )]
    NoRoom {
        /// The depth asked for.
        depth: u32,
        /// The noise multiplier asked for.
        noise_multiplier: f64,
    },
    /// The error of float sums could double the sensitivity: their bound says nothing useful.
    #[error(
        "the rounding error of float sums could add {inflation:.2} times the clip norm to the sensitivity, \
         at most 1 is accepted; use smaller groups, shorter chains of additions, a smaller beta or a higher \
         precision"
    )]
    FloatError {
        /// The relative term of the allowance.
        inflation: f64,
    },
    /// A sum could leave the range of `i64`.
    #[error(
        "{contributions} contributions at depth {depth} could overflow a 64-bit sum; \
         lower the depth or the number of contributions, or raise the noise multiplier"
    )]
    Headroom {
        /// The number of contributions asked for.
        contributions: u64,
        /// The depth asked for.
        depth: u32,
    },
    /// The step is too small or too large for a float.
    #[error("clip norm {clip_norm:e} cut into {clip_units} steps leaves the range of f64; rescale the data")]
    StepRange {
        /// The clip norm asked for.
        clip_norm: f64,
        /// The number of steps it is cut into.
        clip_units: i64,
    },
}

/// A use of a sum that its grid does not allow. Shapes and public limits only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SumError {
    /// A vector of the wrong length.
    #[error("the grid has {expected} coordinates, got a vector of {got}; make the grid for this dimension")]
    Dimension {
        /// The grid's dimension.
        expected: usize,
        /// The vector's length.
        got: usize,
    },
    /// More contributions than the public limit.
    #[error(
        "this sum takes at most {limit} contributions; \
         make the grid for the largest number that can occur, not for the expected one"
    )]
    TooMany {
        /// The grid's limit.
        limit: u64,
    },
    /// Contributions or sums of two different grids.
    #[error("sums and contributions must come from one grid; quantise everything with the same grid")]
    OtherGrid,
    /// A float sum on a grid that has no allowance for it.
    #[error(
        "this grid takes records one by one; for float sums of groups make it with `Allowance::FloatGroups`"
    )]
    NoAllowance,
    /// A record by itself on a grid whose allowance is for groups.
    #[error(
        "this grid is for float sums of groups, and a record quantised by itself is another number than its \
         share of a group; add it as a group of one with `add_group`, or make the grid with \
         `Allowance::Exact`"
    )]
    NeedsGroups,
    /// More groups than the batch's runs can be.
    #[error(
        "a batch cut into runs has at most {limit} groups here; fill groups before the next one is begun, or \
         make the grid for smaller groups"
    )]
    TooManyGroups {
        /// `ceil(B / m)`.
        limit: u64,
    },
    /// A group larger than the allowance covers.
    #[error(
        "a float sum may cover at most {limit} records here; split it, or make the grid for larger groups"
    )]
    GroupSize {
        /// The allowance's group size.
        limit: u32,
    },
    /// A grid that spherical noise cannot be drawn on.
    #[error(
        "spherical noise needs a grid of depth at most 40 and at most 2^20 coordinates, got depth {depth} \
         and {dimension} coordinates; make a coarser grid"
    )]
    Spherical {
        /// The grid's depth.
        depth: u32,
        /// The grid's dimension.
        dimension: usize,
    },
    /// Noise that does not protect what the grid bounds.
    #[error(
        "{noise} noise needs contributions bounded in {needed:?}, this grid bounds them in {norm:?}; {advice}"
    )]
    Noise {
        /// The noise asked for.
        noise: &'static str,
        /// The norm it needs.
        needed: Norm,
        /// The grid's norm.
        norm: Norm,
        /// What to do instead.
        advice: &'static str,
    },
}
