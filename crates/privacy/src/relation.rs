//! Who is protected: neighbouring relations and units of privacy.
//!
//! # Definition
//! A guarantee compares the outputs on two *neighbouring* inputs; a sensitivity, an ε or a noise
//! multiplier means nothing until it is said which those are.
//!
//! | relation | x ~ x' | public | sum of contributions clipped to norm C moves by |
//! |---|---|---|---|
//! | `add_remove` | x' has one record more or fewer | nothing: n is private | C |
//! | `zero_out` | the record in one slot becomes the null record, which contributes exactly nothing | n | C |
//! | `replace` | one record becomes another | n | 2C |
//! | a metric ball | two vectors with ‖a - a'‖_p <= R | the dimension | not a sum of records |
//!
//! Data sets are multisets or sequences. *Unordered* (multisets: the order of records carries no
//! information and must not show) is the stronger claim for `add_remove` and `replace` and is what
//! their plain names mean. *Ordered* (sequences: all other records keep their places) is enough for
//! programs that touch records by position. `zero_out` speaks of slots, so its plain name means the
//! ordered relation.
//!
//! # Pitfalls
//! - Guarantees over different relations do not compose. [`Neighbours::hops`] is the explicit
//!   conversion.
//! - Under `zero_out` a null record in a sample is the same as no record: a mechanism that counts
//!   slots of its sample (an average over the batch as drawn) does not satisfy this definition.
//! - A mean has sensitivity C/n or 2C/n only where n, or the divisor, is public.

mod hops;
mod json;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sordino_spelling::{hint, quoted};

pub use self::hops::group_guarantee;
use crate::params::{ClipNorm, Norm, ParamError, Radius, Sensitivity, Shown};

/// Which pairs of inputs a guarantee compares.
///
/// ```
/// use sordino_privacy::{ClipNorm, Neighbours};
/// let clip = ClipNorm::new(1.5)?;
/// assert_eq!(Neighbours::AddRemove.clipped_sum(clip)?.get(), 1.5);
/// assert_eq!(Neighbours::Replace.clipped_sum(clip)?.get(), 3.0);
/// assert_eq!("zero_out".parse(), Ok(Neighbours::ZeroOut));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// Not `non_exhaustive`: a match on a relation must fail to compile when one is added, in every
// crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Neighbours {
    /// One record more or fewer; data sets are multisets.
    AddRemove,
    /// One record more or fewer at any place of a sequence; the others keep their order.
    AddRemoveOrdered,
    /// One slot becomes empty; the other slots keep their records. n is public.
    ZeroOut,
    /// One record becomes null; data sets are multisets. n is public.
    ZeroOutUnordered,
    /// One record becomes another; data sets are multisets. n is public.
    Replace,
    /// The record at one place of a sequence becomes another. n is public.
    ReplaceOrdered,
    /// Two vectors at most `radius` apart.
    MetricBall(MetricBall),
}

/// Vectors with ‖a - a'‖_p at most `radius`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MetricBall {
    /// p of the norm.
    pub norm: Norm,
    /// The largest distance of two neighbours.
    pub radius: Radius,
}

/// What a neighbour does to one unit's contribution to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contribution {
    /// It is there or it is not: the sum moves by at most one clip norm.
    Absent,
    /// It becomes another one: the sum moves by at most two clip norms.
    Changed,
}

/// Names of the relations that a plain string can state.
pub(crate) const NAMES: [(&str, Neighbours); 6] = [
    ("add_remove", Neighbours::AddRemove),
    ("zero_out", Neighbours::ZeroOut),
    ("replace", Neighbours::Replace),
    ("add_remove_ordered", Neighbours::AddRemoveOrdered),
    ("zero_out_unordered", Neighbours::ZeroOutUnordered),
    ("replace_ordered", Neighbours::ReplaceOrdered),
];

impl Neighbours {
    /// What this relation does to one unit's contribution to a sum; nothing for vectors that are
    /// not sums.
    pub fn contribution(self) -> Option<Contribution> {
        match self {
            Self::AddRemove | Self::AddRemoveOrdered | Self::ZeroOut | Self::ZeroOutUnordered => {
                Some(Contribution::Absent)
            }
            Self::Replace | Self::ReplaceOrdered => Some(Contribution::Changed),
            Self::MetricBall(_) => None,
        }
    }

    /// Whether neighbours have the same number of records, so that it may be known and divided by.
    pub fn has_public_size(self) -> bool {
        match self {
            Self::ZeroOut | Self::ZeroOutUnordered | Self::Replace | Self::ReplaceOrdered => true,
            Self::AddRemove | Self::AddRemoveOrdered | Self::MetricBall(_) => false,
        }
    }

    /// Sensitivity of a sum of contributions, each clipped to `clip_norm`.
    ///
    /// Fails for a metric ball, whose inputs are not sums of units, and where twice the clip norm
    /// overflows.
    pub fn clipped_sum(self, clip_norm: ClipNorm) -> Result<Sensitivity, RelationError> {
        let norms = match self.contribution() {
            Some(Contribution::Absent) => 1.0,
            Some(Contribution::Changed) => 2.0,
            None => return Err(RelationError::NotASum { neighbours: self }),
        };
        Ok(Sensitivity::new(norms * clip_norm.get())?)
    }
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddRemove => f.write_str("add_remove"),
            Self::AddRemoveOrdered => f.write_str("add_remove_ordered"),
            Self::ZeroOut => f.write_str("zero_out"),
            Self::ZeroOutUnordered => f.write_str("zero_out_unordered"),
            Self::Replace => f.write_str("replace"),
            Self::ReplaceOrdered => f.write_str("replace_ordered"),
            Self::MetricBall(ball) => {
                write!(f, "metric_ball(L{}, radius {})", ball.norm, Shown(ball.radius.get()))
            }
        }
    }
}

impl FromStr for Neighbours {
    type Err = RelationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = NAMES.iter().find(|(name, _)| *name == text);
        known.map(|(_, relation)| *relation).ok_or_else(|| RelationError::Unknown {
            got: quoted(text),
            hint: hint(text, NAMES.iter().map(|(name, _)| *name)),
        })
    }
}

/// Whose data moves between neighbours: one record, all records of one value of a column, or one
/// client.
///
/// ```
/// use sordino_privacy::Unit;
/// let unit: Unit = serde_json::from_str(r#"{"column":"user_id"}"#)?;
/// assert_eq!(unit, Unit::Column("user_id".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// One record.
    Record,
    /// All records that share a value of this column.
    Column(String),
    /// One client of a federation, with everything it holds.
    Client,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record => f.write_str("record"),
            Self::Column(name) => write!(f, "column {}", quoted(name)),
            Self::Client => f.write_str("client"),
        }
    }
}

/// A relation that is unknown, or asked something it has no answer to.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RelationError {
    /// No relation has this name.
    #[error(
        "neighbours must be add_remove, zero_out or replace (or add_remove_ordered, zero_out_unordered, \
         replace_ordered, or a metric_ball), got {got}{hint}"
    )]
    Unknown {
        /// What came.
        got: String,
        /// The nearest known name.
        hint: String,
    },
    /// Only relations of records have clipped sums.
    #[error(
        "a clipped sum has no sensitivity under {neighbours}: its inputs are vectors, not records; \
         state the sensitivity of the answer itself"
    )]
    NotASum {
        /// The relation.
        neighbours: Neighbours,
    },
    /// A number outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clipped_sum_moves_by_one_or_two_clip_norms() {
        let clip = ClipNorm::new(0.75).unwrap();
        let sum = |n: Neighbours| n.clipped_sum(clip).map(Sensitivity::get);
        for one in [
            Neighbours::AddRemove,
            Neighbours::AddRemoveOrdered,
            Neighbours::ZeroOut,
            Neighbours::ZeroOutUnordered,
        ] {
            assert_eq!(sum(one), Ok(0.75));
        }
        for two in [Neighbours::Replace, Neighbours::ReplaceOrdered] {
            assert_eq!(sum(two), Ok(1.5));
        }
        let ball = Neighbours::MetricBall(MetricBall { norm: Norm::L2, radius: Radius::new(1.0).unwrap() });
        assert!(matches!(sum(ball), Err(RelationError::NotASum { .. })));
        assert!(Neighbours::Replace.clipped_sum(ClipNorm::new(f64::MAX).unwrap()).is_err());
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for (name, relation) in NAMES {
            assert_eq!(name.parse(), Ok(relation));
            assert_eq!(relation.to_string(), name);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = "add-remove".parse::<Neighbours>().unwrap_err().to_string();
        assert!(error.ends_with("got `add-remove`; did you mean `add_remove`?"), "{error}");
    }

    #[test]
    fn units_survive_json() {
        for (unit, json) in [
            (Unit::Record, r#""record""#),
            (Unit::Column("user_id".into()), r#"{"column":"user_id"}"#),
            (Unit::Client, r#""client""#),
        ] {
            assert_eq!(serde_json::to_string(&unit).unwrap(), json);
            assert_eq!(serde_json::from_str::<Unit>(json).unwrap(), unit);
        }
        assert!(serde_json::from_str::<Unit>(r#""person""#).is_err());
    }
}
