//! Numbers as they are written in JSON.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, Visitor};

use super::super::bag::{Number, Value};

/// A number for a key.
pub(super) struct NumberSeed {
    pub(super) key: &'static str,
    pub(super) nullable: bool,
}

impl<'de> DeserializeSeed<'de> for NumberSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for NumberSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number{} for `{}`", if self.nullable { " or null" } else { "" }, self.key)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(Number::Whole(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        // Some formats only have signed numbers.
        Ok(Value::Number(u64::try_from(value).map_or(Number::Real(value as f64), Number::Whole)))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(Number::Real(value)))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        if self.nullable { Ok(Value::Null) } else { Err(E::invalid_type(de::Unexpected::Unit, &self)) }
    }
}

/// The value of `format_version`.
pub(super) struct VersionSeed;

impl<'de> DeserializeSeed<'de> for VersionSeed {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_u64(self)
    }
}

impl Visitor<'_> for VersionSeed {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number for `format_version`, such as 1")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
        u64::try_from(value).map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
    }
}
