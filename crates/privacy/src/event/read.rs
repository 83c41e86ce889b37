//! Events from JSON (or any self-describing format).
//!
//! One pass, no intermediate tree: memory is that of the events themselves. A key that is unknown,
//! repeated, or of another type of event is refused by name, with the nearest one that would do. Depth is
//! counted here, so that hostile nesting ends in a message long before it could exhaust the stack.

mod bag;
mod build;

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use self::bag::{Bag, NumberSeed, VersionSeed};
use super::Event;
use super::fields::Field;
use super::kind::Kind;
use crate::relation::Neighbours;
use crate::spelling::{hint, name_of};

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
    if bag.kind.is_some() {
        return bag.into_event().map(TopLevel::Bare);
    }
    bag.into_claim()
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
        deserializer.deserialize_map(BagVisitor { depth: self.depth })?.into_event()
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
        while let Some(field) = map.next_key_seed(FieldSeed)? {
            bag.mark(field)?;
            self.read_value(field, &mut bag, &mut map)?;
        }
        Ok(bag)
    }
}

impl BagVisitor {
    fn read_value<'de, A: MapAccess<'de>>(
        &self,
        field: Field,
        bag: &mut Bag,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let depth = self.depth + 1;
        match field {
            Field::Type => bag.kind = Some(map.next_value_seed(KindSeed)?),
            Field::Event => bag.event = Some(Box::new(map.next_value_seed(EventSeed { depth })?)),
            Field::Events => bag.events = Some(map.next_value_seed(EventsSeed { depth })?),
            Field::Orders => bag.orders = Some(map.next_value()?),
            Field::Epsilons => bag.epsilons = Some(map.next_value()?),
            Field::Trials => bag.trials = Some(map.next_value()?),
            Field::Nodes => bag.nodes = Some(map.next_value()?),
            Field::Neighbours => bag.neighbours = Some(map.next_value()?),
            Field::FormatVersion => bag.format_version = Some(map.next_value_seed(VersionSeed)?),
            Field::Bands | Field::Separation => {
                bag.put(field, map.next_value_seed(NumberSeed { field, nullable: true })?);
            }
            Field::NoiseMultiplier
            | Field::Sigma
            | Field::Scale
            | Field::Sensitivity
            | Field::Categories
            | Field::TruthProbability
            | Field::Epsilon
            | Field::Delta
            | Field::Rho
            | Field::Mu
            | Field::SamplingRate
            | Field::SampleSize
            | Field::Population
            | Field::Count
            | Field::Epochs
            | Field::Bins
            | Field::Reports
            | Field::Steps
            | Field::StepSize
            | Field::StrongConvexity
            | Field::Smoothness
            | Field::Size
            | Field::Participations => {
                bag.put(field, map.next_value_seed(NumberSeed { field, nullable: false })?);
            }
        }
        Ok(())
    }
}

/// A key.
struct FieldSeed;

impl<'de> DeserializeSeed<'de> for FieldSeed {
    type Value = Field;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldSeed {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field of an event")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Field, E> {
        Field::named(name).ok_or_else(|| {
            E::custom(format_args!("unknown field {}{}", name_of(name), hint(name, Field::names())))
        })
    }
}

/// A `type`.
struct KindSeed;

impl<'de> DeserializeSeed<'de> for KindSeed {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KindSeed {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type of an event, such as \"gaussian\"")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Kind, E> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = Kind::ALL.iter().map(|kind| kind.name());
            E::custom(format_args!("unknown type of event {}{}", name_of(name), hint(name, known)))
        })
    }
}
