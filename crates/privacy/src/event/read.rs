//! Events from JSON (or any self-describing format).
//!
//! One pass, no intermediate tree: memory is that of the events themselves. A key that is unknown,
//! repeated, or of another type of event is refused by name, with the nearest one that would do.
//! Depth is counted here, so that hostile nesting ends in a message long before it could exhaust
//! the stack.

mod frame;
mod number;

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use sordino_spelling::{hint, quoted_name};

use self::number::{NumberSeed, VersionSeed};
use super::Event;
use super::bag::{Bag, Value};
use super::field::{JsonShape, Key};
use super::table::EventKind;
use crate::relation::Neighbours;

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EventSeed { depth: 1 }.deserialize(deserializer)
    }
}

/// What a file holds: an event alone, or one with the relation it is claimed under.
pub(crate) enum TopLevel {
    /// `{"type": ...}`
    Bare(Event),
    /// `{"neighbours": ..., "event": {...}}`, perhaps with a `format_version`.
    Claim { format_version: Option<u64>, neighbours: Neighbours, event: Event },
}

/// Reads either form.
pub(crate) fn read_top_level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TopLevel, D::Error> {
    // Depth 0, so that whatever can be read alone can also be read inside a claim.
    let bag = deserializer.deserialize_map(BagVisitor { depth: 0 })?;
    if bag.kind().is_some() { frame::event(bag).map(TopLevel::Bare) } else { frame::claim(bag) }
}

/// An event at a known depth.
#[derive(Clone, Copy)]
struct EventSeed {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for EventSeed {
    type Value = Event;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Event, D::Error> {
        if self.depth > Event::MAX_DEPTH {
            return Err(de::Error::custom(format_args!(
                "events must nest at most {} deep; use `repeated` with a larger `count`, or one flat \
                 `composed`",
                Event::MAX_DEPTH
            )));
        }
        frame::event(deserializer.deserialize_map(BagVisitor { depth: self.depth })?)
    }
}

/// A list of events at a known depth.
struct EventsSeed {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for EventsSeed {
    type Value = Vec<Event>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Event>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EventsSeed {
    type Value = Vec<Event>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Event>, A::Error> {
        // Grown as it comes: a length that input claims is not trusted.
        let mut events = Vec::new();
        while let Some(event) = list.next_element_seed(EventSeed { depth: self.depth })? {
            events.push(event);
        }
        Ok(events)
    }
}

/// Collects the fields of one object.
struct BagVisitor {
    depth: usize,
}

impl<'de> Visitor<'de> for BagVisitor {
    type Value = Bag;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event, such as {\"type\":\"gaussian\",\"noise_multiplier\":1.1}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Bag, A::Error> {
        let mut bag = Bag::default();
        while let Some(key) = map.next_key_seed(KeySeed)? {
            bag.refuse_second(key.name)?;
            bag.put(key.name, self.read_value(key, &mut map)?);
        }
        Ok(bag)
    }
}

impl BagVisitor {
    fn read_value<'de, A: MapAccess<'de>>(&self, key: Key, map: &mut A) -> Result<Value, A::Error> {
        let depth = self.depth + 1;
        Ok(match key.shape {
            JsonShape::Number => map.next_value_seed(NumberSeed { key: key.name, nullable: false })?,
            JsonShape::NumberOrNull => map.next_value_seed(NumberSeed { key: key.name, nullable: true })?,
            JsonShape::Reals => Value::Reals(map.next_value()?),
            JsonShape::Trials => Value::Trials(map.next_value()?),
            JsonShape::Nodes => Value::Nodes(map.next_value()?),
            JsonShape::Event => Value::Event(Box::new(map.next_value_seed(EventSeed { depth })?)),
            JsonShape::Events => Value::Events(map.next_value_seed(EventsSeed { depth })?),
            JsonShape::Kind => Value::Kind(map.next_value_seed(KindSeed)?),
            JsonShape::Neighbours => Value::Neighbours(map.next_value()?),
            JsonShape::FormatVersion => Value::FormatVersion(map.next_value_seed(VersionSeed)?),
        })
    }
}

/// A key.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field of an event")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Key, E> {
        let known = frame::known_keys();
        known.iter().find(|key| key.name == name).copied().ok_or_else(|| {
            let names = known.iter().map(|key| key.name);
            E::custom(format_args!("unknown field {}{}", quoted_name(name), hint(name, names)))
        })
    }
}

/// A `type`.
struct KindSeed;

impl<'de> DeserializeSeed<'de> for KindSeed {
    type Value = EventKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<EventKind, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KindSeed {
    type Value = EventKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type of an event, such as \"gaussian\"")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<EventKind, E> {
        EventKind::ALL.iter().find(|kind| kind.name() == name).copied().ok_or_else(|| {
            let known = EventKind::ALL.iter().map(|kind| kind.name());
            E::custom(format_args!("unknown type of event {}{}", quoted_name(name), hint(name, known)))
        })
    }
}
