//! The fields of one JSON object, before its type is known.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, Visitor};

use super::super::fields::Field;
use super::super::kind::Kind;
use super::super::{Event, Nodes, Trials};
use crate::params::{Count, ParamError};
use crate::relation::Neighbours;

/// Values by field; `type` may come last in an object, so all are kept until its end.
pub(super) struct Bag {
    pub(super) kind: Option<Kind>,
    pub(super) event: Option<Box<Event>>,
    pub(super) events: Option<Vec<Event>>,
    pub(super) orders: Option<Vec<f64>>,
    pub(super) epsilons: Option<Vec<f64>>,
    pub(super) trials: Option<Trials>,
    pub(super) nodes: Option<Nodes>,
    pub(super) neighbours: Option<Neighbours>,
    pub(super) format_version: Option<u64>,
    numbers: [Option<Number>; Field::LEN],
    seen: [bool; Field::LEN],
}

/// A JSON number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Whole(u64),
    Real(f64),
    Null,
}

impl Default for Bag {
    fn default() -> Self {
        Self {
            kind: None,
            event: None,
            events: None,
            orders: None,
            epsilons: None,
            trials: None,
            nodes: None,
            neighbours: None,
            format_version: None,
            numbers: [None; Field::LEN],
            seen: [false; Field::LEN],
        }
    }
}

impl Bag {
    /// Notes that `field` came; a second time is an error, since readers disagree on which one counts.
    pub(super) fn mark<E: de::Error>(&mut self, field: Field) -> Result<(), E> {
        if std::mem::replace(&mut self.seen[field.index()], true) {
            return Err(E::custom(format_args!("field `{}` is given twice", field.name())));
        }
        Ok(())
    }

    pub(super) fn put(&mut self, field: Field, number: Number) {
        self.numbers[field.index()] = Some(number);
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.seen[field.index()]
    }

    /// Fields that came.
    pub(super) fn present(&self) -> impl Iterator<Item = Field> {
        Field::all().filter(|field| self.has(*field))
    }

    /// A number through the door of its type.
    pub(super) fn number<T, E: de::Error>(
        &self,
        field: Field,
        new: fn(f64) -> Result<T, ParamError>,
    ) -> Result<T, E> {
        let value = match self.numbers[field.index()] {
            Some(Number::Real(value)) => value,
            Some(Number::Whole(value)) => value as f64,
            Some(Number::Null) | None => return Err(self.missing(field)),
        };
        new(value).map_err(|error| renamed(field, error))
    }

    /// A whole number.
    pub(super) fn count<E: de::Error>(&self, field: Field) -> Result<Count, E> {
        match self.numbers[field.index()] {
            Some(Number::Real(value)) => Count::from_f64(value).map_err(|error| renamed(field, error)),
            // `got` is a float, and not every whole number is one: 2^53 + 1 would be shown as 2^53.
            Some(Number::Whole(value)) => Count::new(value).map_err(|ParamError { expected, .. }| {
                E::custom(format_args!("{} must be {expected}, got {value}", field.name()))
            }),
            Some(Number::Null) | None => Err(self.missing(field)),
        }
    }

    /// A whole number, or null or nothing.
    pub(super) fn optional_count<E: de::Error>(&self, field: Field) -> Result<Option<Count>, E> {
        match self.numbers[field.index()] {
            None | Some(Number::Null) => Ok(None),
            Some(Number::Whole(_) | Number::Real(_)) => self.count(field).map(Some),
        }
    }

    pub(super) fn missing<E: de::Error>(&self, field: Field) -> E {
        let owner = self.kind.map_or("the claim", Kind::name);
        E::custom(format_args!("{owner} must have a field `{}`", field.name()))
    }
}

/// An error in the words of JSON.
fn renamed<E: de::Error>(field: Field, error: ParamError) -> E {
    E::custom(ParamError { name: field.name(), ..error })
}

/// A number for a field.
pub(super) struct NumberSeed {
    pub(super) field: Field,
    pub(super) nullable: bool,
}

impl<'de> DeserializeSeed<'de> for NumberSeed {
    type Value = Number;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for NumberSeed {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number{} for `{}`", if self.nullable { " or null" } else { "" }, self.field.name())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number::Whole(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
        // Some formats only have signed numbers.
        Ok(u64::try_from(value).map_or(Number::Real(value as f64), Number::Whole))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number::Real(value))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Number, E> {
        if self.nullable { Ok(Number::Null) } else { Err(E::invalid_type(de::Unexpected::Unit, &self)) }
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
