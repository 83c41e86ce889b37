//! Numbers that were checked when they were made.
//!
//! Every parameter of a private computation has its own type with one door, `new`, which refuses
//! NaN, infinities and values outside the stated range; JSON goes through the same door. Nothing
//! further in checks again. There is no `From<f64>`, no `Default` and no arithmetic: only
//! accountants add.
//!
//! Since no value is NaN and a zero is always the positive one, the types are ordered and can be
//! hashed.
//!
//! ```
//! use sordino_privacy::{Delta, Epsilon, NoiseMultiplier};
//! let epsilon = Epsilon::new(0.5)?;
//! assert_eq!(epsilon.get(), 0.5);
//! let error = NoiseMultiplier::new(-1.1).unwrap_err();
//! assert_eq!(error.to_string(), "noise multiplier must be a finite number above 0, got -1.1");
//! assert!(Delta::new(f64::NAN).is_err());
//! # Ok::<(), sordino_privacy::ParamError>(())
//! ```

mod count;

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

pub use count::Count;

/// A number outside the range of its parameter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{name} must be {expected}, got {}", Shown(*got))]
pub struct ParamError {
    /// The parameter, in words.
    pub name: &'static str,
    /// The range it must lie in, in words.
    pub expected: &'static str,
    /// What came.
    pub got: f64,
}

/// One checked `f64`: documentation, name in messages, range in words, range as a predicate.
macro_rules! number {
    ($(#[$doc:meta])* $type:ident, $name:literal, $expected:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq)]
        pub struct $type(f64);

        impl $type {
            #[doc = concat!("Accepts ", $expected, ".")]
            pub fn new(value: f64) -> Result<Self, ParamError> {
                let valid: fn(f64) -> bool = $valid;
                if valid(value) {
                    // Adding 0 turns -0 into 0, so that equal values have equal bits.
                    Ok(Self(value + 0.0))
                } else {
                    Err(ParamError { name: $name, expected: $expected, got: value })
                }
            }

            /// The number.
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl Eq for $type {}

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.0.total_cmp(&other.0)
            }
        }

        impl std::hash::Hash for $type {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.0.to_bits().hash(state);
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($type), Shown(self.0))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Shown(self.0).fmt(f)
            }
        }

        impl std::str::FromStr for $type {
            type Err = ParseNumberError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let number = text.trim().parse().map_err(|_| ParseNumberError::NotANumber {
                    name: $name,
                    expected: $expected,
                    got: text.to_owned(),
                })?;
                Ok(Self::new(number)?)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64(self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = deserializer.deserialize_f64(NumberVisitor(concat!($name, ", ", $expected)))?;
                Self::new(value).map_err(de::Error::custom)
            }
        }
    };
}

number!(
    /// ε: the bound on a privacy loss. Zero is a legal question (total variation distance).
    Epsilon, "epsilon", "a finite number of at least 0", |x| x.is_finite() && x >= 0.0
);
number!(
    /// δ: the mass that may lie above ε.
    Delta, "delta", "a number of at least 0 and below 1", |x| (0.0..1.0).contains(&x)
);
number!(
    /// ρ of zero-concentrated privacy: every Rényi divergence of order α is at most ρα
    /// (Bun, Steinke, "Concentrated Differential Privacy", 2016).
    Rho, "rho", "a finite number of at least 0", |x| x.is_finite() && x >= 0.0
);
number!(
    /// μ of Gaussian privacy: no easier to tell apart than N(0, 1) and N(μ, 1)
    /// (Dong, Roth, Su, "Gaussian Differential Privacy", 2019).
    Mu, "mu", "a finite number of at least 0", |x| x.is_finite() && x >= 0.0
);
number!(
    /// Noise (standard deviation or Laplace scale) divided by the clip norm.
    NoiseMultiplier, "noise multiplier", "a finite number above 0", |x| x.is_finite() && x > 0.0
);
number!(
    /// Size of noise in the units of the answer: a standard deviation, or a Laplace scale.
    Scale, "noise scale", "a finite number above 0", |x| x.is_finite() && x > 0.0
);
number!(
    /// How far one neighbour can move an answer, under the relation of the claim it stands in.
    Sensitivity, "sensitivity", "a finite number above 0", |x| x.is_finite() && x > 0.0
);
number!(
    /// The largest norm of one unit's contribution.
    ClipNorm, "clip norm", "a finite number above 0", |x| x.is_finite() && x > 0.0
);
number!(
    /// Probability with which each record joins a Poisson sample. Zero is refused: it is far more
    /// often a rounded-down quotient than a plan to look at nothing.
    SamplingRate, "sampling rate", "a number above 0 and at most 1", |x| x > 0.0 && x <= 1.0
);
number!(
    /// Order of a Rényi divergence.
    Order, "order", "a finite number above 1", |x| x.is_finite() && x > 1.0
);
number!(
    /// Length of one step of gradient descent.
    StepSize, "step size", "a finite number above 0", |x| x.is_finite() && x > 0.0
);
number!(
    /// Modulus of strong convexity of a loss; 0 for a loss that is only convex.
    StrongConvexity, "strong convexity", "a finite number of at least 0", |x| x.is_finite() && x >= 0.0
);
number!(
    /// Lipschitz constant of a gradient.
    Smoothness, "smoothness", "a finite number above 0", |x| x.is_finite() && x > 0.0
);
number!(
    /// Radius of a ball of neighbouring vectors.
    Radius, "radius", "a finite number above 0", |x| x.is_finite() && x > 0.0
);
number!(
    /// p of an Lp norm; infinity is the maximum norm.
    Norm, "norm order p", "a number of at least 1, or infinity", |x| x >= 1.0
);
number!(
    /// Expected number of trials of a selection.
    MeanTrials, "mean number of trials", "a finite number above 0", |x| x.is_finite() && x > 0.0
);
number!(
    /// Shape η of a truncated negative binomial number of trials (0: logarithmic, 1: geometric).
    Shape, "shape", "a finite number above -1", |x| x.is_finite() && x > -1.0
);
number!(
    /// γ of a truncated negative binomial number of trials.
    Gamma, "gamma", "a number above 0 and below 1", |x| x > 0.0 && x < 1.0
);
number!(
    /// Probability with which a randomized response is the truth.
    TruthProbability, "truth probability", "a number above 0 and at most 1", |x| x > 0.0 && x <= 1.0
);
number!(
    /// Relative inflation of a sensitivity paid for floating-point error; 0 for exact arithmetic.
    Inflation, "arithmetic inflation", "a finite number of at least 0", |x| x.is_finite() && x >= 0.0
);

impl Epsilon {
    /// No loss at all.
    pub const ZERO: Self = Self(0.0);
}

impl Delta {
    /// No mass at all.
    pub const ZERO: Self = Self(0.0);
}

impl Norm {
    /// Sum of absolute values.
    pub const L1: Self = Self(1.0);
    /// Euclidean length.
    pub const L2: Self = Self(2.0);
    /// Largest absolute value.
    pub const MAX: Self = Self(f64::INFINITY);
}

/// A parameter given as text that is no number, or not one in range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseNumberError {
    /// The text is no number at all.
    #[error("{name} must be {expected}, got `{got}`, which is not a number")]
    NotANumber {
        /// The parameter, in words.
        name: &'static str,
        /// The range it must lie in, in words.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// The number is out of range.
    #[error(transparent)]
    OutOfRange(#[from] ParamError),
}

/// Accepts any JSON number; says what was wanted otherwise.
pub(crate) struct NumberVisitor(pub(crate) &'static str);

impl Visitor<'_> for NumberVisitor {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }
}

/// A number as people write it: `0.25`, `14063`, `1e-9`, `2.5e300`.
pub(crate) struct Shown(pub(crate) f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if size == 0.0 || !self.0.is_finite() || (1e-4..1e16).contains(&size) {
            fmt::Display::fmt(&self.0, f)
        } else {
            fmt::LowerExp::fmt(&self.0, f)
        }
    }
}

/// A number to six digits, for sentences that are no certificate.
pub(crate) struct Rounded(pub(crate) f64);

/// Six digits, rounded down: what is left of something.
pub(crate) struct RoundedDown(pub(crate) f64);

impl fmt::Display for RoundedDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let six_digits = |value: f64| format!("{value:.5e}").parse::<f64>().unwrap_or(value);
        let nearest = six_digits(self.0);
        if nearest == 0.0 || !nearest.is_finite() {
            return Shown(nearest).fmt(f);
        }
        // One unit of the sixth digit less, where the nearest is above.
        let unit = 10_f64.powi(nearest.abs().log10().floor() as i32 - 5);
        let below = if nearest > self.0 { six_digits(nearest - unit) } else { nearest };
        Shown(below).fmt(f)
    }
}

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What was just written is a number; should it not be read, the whole number is shown.
        let six_digits = format!("{:.5e}", self.0).parse().unwrap_or(self.0);
        Shown(six_digits).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONSENSE: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0];

    macro_rules! refuses {
        ($type:ident: $($value:expr),*) => {
            $(assert!($type::new($value).is_err(), "{} accepted {}", stringify!($type), $value);)*
        };
    }

    macro_rules! accepts {
        ($type:ident: $($value:expr),*) => {
            $(assert_eq!($type::new($value).unwrap().get(), $value);)*
        };
    }

    #[test]
    fn nan_infinities_and_negatives_never_get_in() {
        macro_rules! all {
            ($($type:ident)*) => { $(for bad in NONSENSE { refuses!($type: bad); })* };
        }
        all!(Epsilon Delta Rho Mu NoiseMultiplier Scale Sensitivity ClipNorm SamplingRate Order StepSize
             StrongConvexity Smoothness Radius MeanTrials Shape Gamma TruthProbability Inflation);
        refuses!(Norm: f64::NAN, -1.0, 0.5);
    }

    #[test]
    fn the_ends_of_each_range_are_where_the_words_say() {
        accepts!(Epsilon: 0.0, 5e-324, 1e308);
        accepts!(Delta: 0.0, 0.999_999_9);
        refuses!(Delta: 1.0);
        refuses!(NoiseMultiplier: 0.0);
        accepts!(NoiseMultiplier: 1e-3, 1e9);
        accepts!(SamplingRate: 1e-9, 1.0);
        refuses!(SamplingRate: 0.0, 1.0000000000000002);
        refuses!(Order: 1.0);
        accepts!(Order: 1.0000000000000002);
        accepts!(Norm: 1.0, 2.0, f64::INFINITY);
        accepts!(Shape: -0.5, 0.0, 1.0);
        refuses!(Gamma: 0.0, 1.0);
        accepts!(TruthProbability: 1.0);
    }

    #[test]
    fn negative_zero_is_zero() {
        let zero = Epsilon::new(-0.0).unwrap();
        assert_eq!(zero.get().to_bits(), 0);
        assert_eq!(zero, Epsilon::new(0.0).unwrap());
    }

    #[test]
    fn messages_have_one_shape() {
        let message = |e: ParamError| e.to_string();
        assert_eq!(
            message(Delta::new(1.5).unwrap_err()),
            "delta must be a number of at least 0 and below 1, got 1.5"
        );
        assert_eq!(
            message(SamplingRate::new(f64::NAN).unwrap_err()),
            "sampling rate must be a number above 0 and at most 1, got NaN"
        );
        assert_eq!(
            message(Epsilon::new(-1e300).unwrap_err()),
            "epsilon must be a finite number of at least 0, got -1e300"
        );
        assert_eq!(
            "twelve".parse::<Epsilon>().unwrap_err().to_string(),
            "epsilon must be a finite number of at least 0, got `twelve`, which is not a number"
        );
    }

    #[test]
    fn sentences_have_six_digits() {
        for (number, text) in [
            (0.4000000000000001, "0.4"),
            (0.19999999999999996, "0.2"),
            (1234567.0, "1234570"),
            (2.5e-7, "2.5e-7"),
            (0.0, "0"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Rounded(number).to_string(), text);
        }
    }

    #[test]
    fn json_goes_through_the_same_door() {
        assert_eq!(serde_json::from_str::<NoiseMultiplier>("2").unwrap().get(), 2.0);
        let error = serde_json::from_str::<NoiseMultiplier>("-2").unwrap_err().to_string();
        assert!(error.starts_with("noise multiplier must be a finite number above 0, got -2"), "{error}");
        let error = serde_json::from_str::<Delta>("\"small\"").unwrap_err().to_string();
        assert!(error.contains("expected delta, a number of at least 0 and below 1"), "{error}");
        assert!(serde_json::from_str::<Epsilon>("1e400").is_err());
    }
}
