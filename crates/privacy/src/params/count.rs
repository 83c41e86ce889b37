//! Whole numbers of releases, records and categories.

use std::fmt;
use std::num::NonZeroU64;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use super::{ParamError, ParseNumberError};

const NAME: &str = "count";
const EXPECTED: &str = "a whole number from 1 to 2^53";

/// A whole number from 1 to 2^53.
///
/// The upper end is the last point up to which every whole number is also an `f64`, so that
/// accountants may multiply by a count without losing releases. Nobody reaches it honestly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Count(NonZeroU64);

impl Count {
    /// One.
    pub const ONE: Self = Self(NonZeroU64::MIN);

    /// The largest count, 2^53.
    pub const MAX: u64 = 1 << 53;

    /// Accepts a whole number from 1 to 2^53.
    pub fn new(value: u64) -> Result<Self, ParamError> {
        match NonZeroU64::new(value) {
            Some(count) if value <= Self::MAX => Ok(Self(count)),
            Some(_) | None => Err(ParamError { name: NAME, expected: EXPECTED, got: value as f64 }),
        }
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// Whole numbers are often written as `1.0` or `1e6`.
    pub(crate) fn from_f64(value: f64) -> Result<Self, ParamError> {
        // Every f64 from 1 to 2^53 without a fraction is exactly a u64.
        if value.fract() == 0.0 && (1.0..=Self::MAX as f64).contains(&value) {
            Self::new(value as u64)
        } else {
            Err(ParamError { name: NAME, expected: EXPECTED, got: value })
        }
    }
}

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Count({})", self.0)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for Count {
    type Err = ParseNumberError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if let Ok(whole) = text.parse() {
            return Ok(Self::new(whole)?);
        }
        let number = text.parse().map_err(|_| ParseNumberError::NotANumber {
            name: NAME,
            expected: EXPECTED,
            got: text.to_owned(),
        })?;
        Ok(Self::from_f64(number)?)
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(CountVisitor)
    }
}

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Count, E> {
        Count::new(value).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Count, E> {
        Count::from_f64(value as f64).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Count, E> {
        Count::from_f64(value).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<u64, String> {
        serde_json::from_str::<Count>(json).map(Count::get).map_err(|e| e.to_string())
    }

    #[test]
    fn whole_numbers_in_any_spelling() {
        for (json, value) in [("1", 1), ("1.0", 1), ("1e6", 1_000_000), ("9007199254740992", 1 << 53)] {
            assert_eq!(read(json), Ok(value));
        }
        assert_eq!("1e3".parse::<Count>().unwrap().get(), 1000);
        assert_eq!(" 12 ".parse::<Count>().unwrap().get(), 12);
    }

    #[test]
    fn everything_else_is_refused_with_the_range() {
        for json in ["0", "-3", "1.5", "9007199254740993", "9223372036854775808", "1e30", "\"7\"", "null"] {
            let error = read(json).unwrap_err();
            assert!(error.contains("a whole number from 1 to 2^53"), "{json}: {error}");
        }
    }
}
