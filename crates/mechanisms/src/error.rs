//! Why a mechanism could not be made, or released nothing. No message depends on an answer.

use sordino_noise::grid::{GridError, SumError};
use sordino_noise::{EntropyError, NoiseError};
use sordino_privacy::{AccountError, EventError, Neighbours, ParamError, RelationError, ReleaseError};

/// A mechanism that cannot be made as asked, or a release that did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MechanismError {
    /// No finite noise hides everything.
    #[error("epsilon must be above 0: no finite noise makes an answer say nothing at all")]
    NoBudget,
    /// ε so small that the parameters of the mechanism round to "no information".
    #[error(
        "epsilon {epsilon} is too small for {categories} categories in double precision; use a larger one"
    )]
    EpsilonTooSmall {
        /// What came.
        epsilon: f64,
        /// Number of categories.
        categories: u64,
    },
    /// Clamping bounds the wrong way round.
    #[error("the lower bound must be at most the upper, got {lower} and {upper}")]
    Bounds {
        /// What came.
        lower: i64,
        /// What came.
        upper: i64,
    },
    /// A range of answers beyond any grid for noise that fits the data.
    #[error("answers may range over a width of at most {most}, got {width}; count in larger units")]
    RangeTooWide {
        /// What came.
        width: u64,
        /// What is accepted.
        most: u64,
    },
    /// Bounds of real numbers that bound nothing.
    #[error(
        "bounds must be finite numbers, the lower below the upper by a finite width, got {lower} and {upper}"
    )]
    RealBounds {
        /// What came.
        lower: f64,
        /// What came.
        upper: f64,
    },
    /// Rows and plan disagree on whether rows have owners.
    #[error("rows and owners do not fit: {advice}")]
    Owners {
        /// What to do.
        advice: &'static str,
    },
    /// Keys that cannot be the domain of a histogram.
    #[error("{what}; declare every key once, from public knowledge")]
    Keys {
        /// What is wrong.
        what: &'static str,
    },
    /// What cannot be done with δ = 0.
    #[error("delta must be above 0: {why}")]
    NeedsDelta {
        /// The reason.
        why: &'static str,
    },
    /// A rank outside of the data.
    #[error("a quantile must be a number above 0 and below 1, got {got}")]
    QuantileRank {
        /// What came.
        got: f64,
    },
    /// The relation says nothing about this question.
    #[error("{what} has no sensitivity under {neighbours}; {advice}")]
    Relation {
        /// The question.
        what: &'static str,
        /// The relation.
        neighbours: Neighbours,
        /// What to do.
        advice: &'static str,
    },
    /// Scores on so fine a grid that the exponent per step cannot be held to five digits.
    #[error(
        "epsilon over the range of scores must be at least 2^-47, got {rate}; put the scores on a coarser \
         grid"
    )]
    ScoresTooFine {
        /// ε over range.
        rate: f64,
    },
    /// The number of scores is not the number of candidates.
    #[error("this mechanism chooses among {expected} candidates, got {got} scores; give every candidate one")]
    Candidates {
        /// Number of candidates.
        expected: u64,
        /// Number of scores.
        got: usize,
    },
    /// The list has another length than the mechanism was made for.
    #[error("this mechanism is for {expected} integers, got {got}; make it for the length of the list")]
    Length {
        /// What it was made for.
        expected: u64,
        /// What came.
        got: usize,
    },
    /// More choices than candidates.
    #[error("cannot choose {chosen} of {candidates} candidates; choose fewer")]
    TooManyChoices {
        /// Number of choices.
        chosen: u64,
        /// Number of candidates.
        candidates: u64,
    },
    /// Smooth sensitivity on more levels than is reasonable.
    #[error(
        "noise from the floor up to the bounds would need {levels} levels at this epsilon, and at most \
         {most} are reasonable; use a larger floor or a larger epsilon"
    )]
    TooManyLevels {
        /// What it would take.
        levels: u64,
        /// What is accepted.
        most: u64,
    },
    /// A public floor or bound of noise that is no such thing.
    #[error("{what} must be a number above 0 and at most the width of the bounds, got {got}")]
    Floor {
        /// The parameter.
        what: &'static str,
        /// What came.
        got: f64,
    },
    /// A sum that was made on another grid.
    #[error("the sum lies on another grid than this mechanism's; begin it with the mechanism's `sum()`")]
    OtherGrid,
    /// After the first answer above the threshold the privacy is used up.
    #[error("an answer was above the threshold and ended the stream; charge and start another one")]
    Halted,
    /// A parameter out of range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// Parameters that do not go together.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A relation without an answer.
    #[error(transparent)]
    Sensitivity(#[from] RelationError),
    /// Noise that cannot be drawn.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// No grid for these bounds.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// A sum that does not fit its noise.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// No noise is enough, or no accountant can price it.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The permit is for something else.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// No random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
