//! Certified intervals.

use serde::{Deserialize, Serialize};

/// A number known to lie between two certified ends. The upper end is what may be promised to
/// people.
///
/// Either end may be +∞, which JSON writes as `null`.
///
/// ```
/// use sordino_privacy::Bound;
/// let bound = Bound::enclosing(0.997, 1.0);
/// assert_eq!(bound.upper, 1.0);
/// // What could not be computed is unbounded, never free.
/// assert_eq!(Bound::enclosing(0.5, f64::NAN).upper, f64::INFINITY);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BoundJson", into = "BoundJson")]
pub struct Bound {
    /// The truth is at least this.
    pub lower: f64,
    /// The truth is at most this.
    pub upper: f64,
}

/// Ends that differ by no more are one number, computed in two ways.
const ROUNDING: f64 = 1e-9;

impl Bound {
    /// The interval from `lower` to `upper`, both at least 0. It fails closed:
    ///
    /// | given | taken as |
    /// |---|---|
    /// | `upper` NaN | ∞ |
    /// | `upper` negative | 0 (losses and probabilities are never below it) |
    /// | `lower` NaN or negative | 0 |
    /// | `lower` above `upper`, by rounding (1e-9 of it) | both ends, in order |
    /// | `lower` above `upper`, otherwise | 0 and ∞: one end is false, and nobody knows which |
    pub fn enclosing(lower: f64, upper: f64) -> Self {
        let upper = if upper.is_nan() { f64::INFINITY } else { upper.max(0.0) };
        // `max` returns the other argument for NaN.
        let lower = lower.max(0.0);
        if lower <= upper {
            Self { lower, upper }
        } else if lower - upper <= ROUNDING * upper {
            Self { lower: upper, upper: lower }
        } else {
            Self::UNKNOWN
        }
    }

    /// The ends contradict each other: nothing is known.
    pub(crate) const UNKNOWN: Self = Self { lower: 0.0, upper: f64::INFINITY };

    /// A number known exactly (or so well that the caller vouches for it).
    pub fn exactly(value: f64) -> Self {
        Self::enclosing(value, value)
    }

    /// Nothing finite can be promised.
    pub const UNBOUNDED: Self = Self { lower: f64::INFINITY, upper: f64::INFINITY };

    /// (upper - lower) / upper, 0 for an exact answer; 1 when only the lower end is finite.
    pub fn relative_gap(self) -> f64 {
        if self.lower == self.upper {
            0.0
        } else if self.upper == f64::INFINITY {
            1.0
        } else {
            (self.upper - self.lower) / self.upper
        }
    }

    /// Does `value` lie in the interval?
    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// A bound as JSON has it: an unbounded end is null.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundJson {
    lower: Option<f64>,
    upper: Option<f64>,
}

impl From<Bound> for BoundJson {
    fn from(bound: Bound) -> Self {
        let end = |value: f64| value.is_finite().then_some(value);
        Self { lower: end(bound.lower), upper: end(bound.upper) }
    }
}

impl TryFrom<BoundJson> for Bound {
    type Error = String;

    fn try_from(ends: BoundJson) -> Result<Self, String> {
        let lower = ends.lower.unwrap_or(f64::INFINITY);
        let upper = ends.upper.unwrap_or(f64::INFINITY);
        if 0.0 <= lower && lower <= upper {
            Ok(Self { lower, upper })
        } else {
            Err(format!("a bound must have 0 <= lower <= upper (null: no bound), got {lower} and {upper}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_unbounded() {
        assert_eq!(Bound::enclosing(f64::NAN, f64::NAN), Bound { lower: 0.0, upper: f64::INFINITY });
        assert_eq!(Bound::enclosing(-1.0, -0.5), Bound { lower: 0.0, upper: 0.0 });
        assert_eq!(Bound::exactly(f64::INFINITY), Bound::UNBOUNDED);
    }

    /// A lower end above the upper one was once clamped to it: a false number that looked exact.
    #[test]
    fn a_contradiction_is_never_an_exact_answer() {
        assert_eq!(Bound::enclosing(3.0, 2.0), Bound { lower: 0.0, upper: f64::INFINITY });
        assert_eq!(Bound::enclosing(f64::INFINITY, 2.0).upper, f64::INFINITY);
        assert_eq!(Bound::enclosing(1e-300, 0.0).upper, f64::INFINITY);
        let rounded = Bound::enclosing(1.0 + 1e-12, 1.0);
        assert_eq!(rounded, Bound { lower: 1.0, upper: 1.0 + 1e-12 });
    }

    #[test]
    fn the_relative_gap_compares_both_ends() {
        assert_eq!(Bound::enclosing(1.0, 2.0).relative_gap(), 0.5);
        assert_eq!(Bound::UNBOUNDED.relative_gap(), 0.0);
        assert_eq!(Bound::enclosing(1.0, f64::INFINITY).relative_gap(), 1.0);
        assert!(Bound::enclosing(1.0, 2.0).contains(1.5));
    }

    #[test]
    fn json_writes_an_unbounded_end_as_null() {
        let json = serde_json::to_string(&Bound::enclosing(0.5, f64::INFINITY)).unwrap();
        assert_eq!(json, r#"{"lower":0.5,"upper":null}"#);
        assert_eq!(serde_json::from_str::<Bound>(&json).unwrap(), Bound::enclosing(0.5, f64::INFINITY));
        for bad in [r#"{"lower":-1,"upper":2}"#, r#"{"lower":3,"upper":2}"#, r#"{"lower":null,"upper":2}"#] {
            assert!(serde_json::from_str::<Bound>(bad).is_err(), "{bad}");
        }
    }
}
