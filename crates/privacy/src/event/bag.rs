//! The fields of one JSON object, before its type is known.

use serde::de;

use super::table::EventKind;
use super::{Event, Nodes, Trials};
use crate::params::{Count, ParamError};
use crate::relation::Neighbours;

/// Values by key, in the order of the file. `type` may come last, so all are kept until the object
/// ends.
#[derive(Default)]
pub(super) struct Bag(Vec<(&'static str, Value)>);

/// What was read for a key.
pub(super) enum Value {
    Number(Number),
    Null,
    Reals(Vec<f64>),
    Trials(Trials),
    Nodes(Nodes),
    Event(Box<Event>),
    Events(Vec<Event>),
    Kind(EventKind),
    Neighbours(Neighbours),
    FormatVersion(u64),
}

/// A JSON number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Whole(u64),
    Real(f64),
}

/// The value of a key if it is of this variant. A key has one shape, so another variant is not
/// there to be taken.
macro_rules! take {
    ($bag:ident, $key:expr, $variant:ident) => {
        if let Some(Value::$variant(value)) = $bag.take($key) { Some(value) } else { None }
    };
}

impl Bag {
    /// A second value for a key is an error, since readers disagree on which one counts.
    pub(super) fn refuse_second<E: de::Error>(&self, key: &str) -> Result<(), E> {
        if self.has(key) { Err(E::custom(format_args!("field `{key}` is given twice"))) } else { Ok(()) }
    }

    pub(super) fn put(&mut self, key: &'static str, value: Value) {
        self.0.push((key, value));
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys().any(|present| present == key)
    }

    /// Keys that came.
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(key, _)| *key)
    }

    /// The type of the event, if it came.
    pub(super) fn kind(&self) -> Option<EventKind> {
        self.0.iter().find_map(|(_, value)| if let Value::Kind(kind) = value { Some(*kind) } else { None })
    }

    /// A number through the door of its type.
    pub(super) fn number<T, E: de::Error>(
        &self,
        key: &'static str,
        new: fn(f64) -> Result<T, ParamError>,
    ) -> Result<T, E> {
        let value = match self.get_number(key) {
            Some(Number::Real(real)) => real,
            Some(Number::Whole(whole)) => whole as f64,
            None => return Err(self.missing(key)),
        };
        new(value).map_err(|error| renamed(key, error))
    }

    /// The same, or null or nothing.
    pub(super) fn optional_number<T, E: de::Error>(
        &self,
        key: &'static str,
        new: fn(f64) -> Result<T, ParamError>,
    ) -> Result<Option<T>, E> {
        self.get_number(key).map(|_| self.number(key, new)).transpose()
    }

    /// A whole number.
    pub(super) fn count<E: de::Error>(&self, key: &'static str) -> Result<Count, E> {
        match self.get_number(key) {
            Some(Number::Real(real)) => Count::from_f64(real).map_err(|error| renamed(key, error)),
            // `got` is a float, and not every whole number is one: 2^53 + 1 would be shown as 2^53.
            Some(Number::Whole(whole)) => Count::new(whole).map_err(|ParamError { expected, .. }| {
                E::custom(format_args!("{key} must be {expected}, got {whole}"))
            }),
            None => Err(self.missing(key)),
        }
    }

    /// A whole number, or null or nothing.
    pub(super) fn optional_count<E: de::Error>(&self, key: &'static str) -> Result<Option<Count>, E> {
        self.get_number(key).map(|_| self.count(key)).transpose()
    }

    pub(super) fn reals<E: de::Error>(&mut self, key: &'static str) -> Result<Vec<f64>, E> {
        take!(self, key, Reals).ok_or_else(|| self.missing(key))
    }

    pub(super) fn trials<E: de::Error>(&mut self, key: &'static str) -> Result<Trials, E> {
        take!(self, key, Trials).ok_or_else(|| self.missing(key))
    }

    pub(super) fn nodes(&mut self, key: &'static str) -> Option<Nodes> {
        take!(self, key, Nodes)
    }

    pub(super) fn event<E: de::Error>(&mut self, key: &'static str) -> Result<Box<Event>, E> {
        take!(self, key, Event).ok_or_else(|| self.missing(key))
    }

    pub(super) fn events<E: de::Error>(&mut self, key: &'static str) -> Result<Vec<Event>, E> {
        take!(self, key, Events).ok_or_else(|| self.missing(key))
    }

    pub(super) fn neighbours<E: de::Error>(&mut self) -> Result<Neighbours, E> {
        take!(self, "neighbours", Neighbours).ok_or_else(|| self.missing("neighbours"))
    }

    pub(super) fn format_version(&mut self) -> Option<u64> {
        take!(self, "format_version", FormatVersion)
    }

    /// The owner of the fields, in messages.
    pub(super) fn owner(&self) -> &'static str {
        self.kind().map_or("the claim", EventKind::name)
    }

    fn get_number(&self, key: &str) -> Option<Number> {
        let (_, value) = self.0.iter().find(|(present, _)| *present == key)?;
        if let Value::Number(number) = value { Some(*number) } else { None }
    }

    /// Leaves null behind, so that the key still counts as present.
    fn take(&mut self, key: &str) -> Option<Value> {
        let place = self.0.iter_mut().find(|(present, _)| *present == key)?;
        Some(std::mem::replace(&mut place.1, Value::Null))
    }

    fn missing<E: de::Error>(&self, key: &str) -> E {
        E::custom(format_args!("{} must have a field `{key}`", self.owner()))
    }
}

/// An error in the words of JSON.
fn renamed<E: de::Error>(key: &'static str, error: ParamError) -> E {
    E::custom(ParamError { name: key, ..error })
}
