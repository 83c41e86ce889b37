//! How the types of an event's fields are read from and written to JSON.

use serde::de;
use serde::ser::SerializeMap;

use super::bag::Bag;
use super::{
    Event, FixedSample, GaussianNoise, LaplaceNoise, Nodes, RandomizedResponseLaw, RenyiCurve, Trials,
};
use crate::params::{
    Count, Delta, Epsilon, Mu, NoiseMultiplier, Radius, Rho, SamplingRate, Scale, Sensitivity, Smoothness,
    StepSize, StrongConvexity, TruthProbability,
};

/// Whether a field was written.
type Written<M> = Result<(), <M as SerializeMap>::Error>;

/// A key in JSON, and how its value is read while the type of its event is not yet known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: JsonShape,
}

/// What stands behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonShape {
    /// A number.
    Number,
    /// A number, null or nothing.
    NumberOrNull,
    /// A list of numbers.
    Reals,
    /// An object of its own, of this one type.
    Trials,
    /// The name of a choice of nodes.
    Nodes,
    /// An event.
    Event,
    /// A list of events.
    Events,
    /// The `type` of the event.
    Kind,
    /// The relation beside an event.
    Neighbours,
    /// The version beside an event.
    FormatVersion,
}

/// A field of an event, with one key (its name) or several (its own).
pub(super) trait Field {
    /// What the event holds; mostly the type itself.
    type Value;

    /// All keys it may have.
    fn keys(field: &'static str) -> Vec<Key>;

    /// Takes it out of what was read. A missing key is an error.
    fn read<E: de::Error>(field: &'static str, bag: &mut Bag) -> Result<Self::Value, E>;

    /// Writes its keys.
    fn write<M: SerializeMap>(value: &Self::Value, field: &'static str, out: &mut M) -> Written<M>;
}

/// Numbers that are checked by their constructor.
macro_rules! numbers {
    ($($type:ident),* $(,)?) => {
        $(impl Field for $type {
            type Value = Self;

            fn keys(field: &'static str) -> Vec<Key> {
                vec![Key { name: field, shape: JsonShape::Number }]
            }

            fn read<E: de::Error>(field: &'static str, bag: &mut Bag) -> Result<Self, E> {
                bag.number(field, Self::new)
            }

            fn write<M: SerializeMap>(value: &Self, field: &'static str, out: &mut M) -> Written<M> {
                out.serialize_entry(field, value)
            }
        })*
    };
}

numbers!(
    Delta,
    Epsilon,
    Mu,
    NoiseMultiplier,
    Rho,
    SamplingRate,
    Scale,
    Sensitivity,
    Smoothness,
    StepSize,
    StrongConvexity,
    TruthProbability,
);

/// Values with one key, kept as they were read.
macro_rules! values {
    ($($type:ty: $shape:ident, $read:ident;)*) => {
        $(impl Field for $type {
            type Value = Self;

            fn keys(field: &'static str) -> Vec<Key> {
                vec![Key { name: field, shape: JsonShape::$shape }]
            }

            fn read<E: de::Error>(field: &'static str, bag: &mut Bag) -> Result<Self, E> {
                bag.$read(field)
            }

            fn write<M: SerializeMap>(value: &Self, field: &'static str, out: &mut M) -> Written<M> {
                out.serialize_entry(field, value)
            }
        })*
    };
}

values! {
    Count: Number, count;
    Option<Count>: NumberOrNull, optional_count;
    Box<Event>: Event, event;
    Vec<Event>: Events, events;
    Trials: Trials, trials;
}

/// A count that is left out of JSON where it is not given, as in records from before it existed.
pub(super) struct LeftOut;

impl Field for LeftOut {
    type Value = Option<Count>;

    fn keys(field: &'static str) -> Vec<Key> {
        <Option<Count>>::keys(field)
    }

    fn read<E: de::Error>(field: &'static str, bag: &mut Bag) -> Result<Option<Count>, E> {
        bag.optional_count(field)
    }

    fn write<M: SerializeMap>(value: &Option<Count>, field: &'static str, out: &mut M) -> Written<M> {
        value.iter().try_for_each(|count| out.serialize_entry(field, count))
    }
}

/// A number that is left out of JSON where it is not given.
impl Field for Option<Radius> {
    type Value = Self;

    fn keys(field: &'static str) -> Vec<Key> {
        vec![Key { name: field, shape: JsonShape::NumberOrNull }]
    }

    fn read<E: de::Error>(field: &'static str, bag: &mut Bag) -> Result<Self, E> {
        bag.optional_number(field, Radius::new)
    }

    fn write<M: SerializeMap>(value: &Self, field: &'static str, out: &mut M) -> Written<M> {
        value.iter().try_for_each(|radius| out.serialize_entry(field, radius))
    }
}

/// `"all"` is left out of JSON, as in records from before there was a choice.
impl Field for Nodes {
    type Value = Self;

    fn keys(field: &'static str) -> Vec<Key> {
        vec![Key { name: field, shape: JsonShape::Nodes }]
    }

    fn read<E: de::Error>(field: &'static str, bag: &mut Bag) -> Result<Self, E> {
        Ok(bag.nodes(field).unwrap_or_default())
    }

    fn write<M: SerializeMap>(value: &Self, field: &'static str, out: &mut M) -> Written<M> {
        if *value == Self::All { Ok(()) } else { out.serialize_entry(field, value) }
    }
}

impl Field for FixedSample {
    type Value = Self;

    fn keys(_: &'static str) -> Vec<Key> {
        [Count::keys("sample_size"), Count::keys("population")].concat()
    }

    /// Reads independent draws, which may outnumber the records. Distinct ones are checked once the
    /// event is known.
    fn read<E: de::Error>(_: &'static str, bag: &mut Bag) -> Result<Self, E> {
        Ok(Self::draws(bag.count("sample_size")?, bag.count("population")?))
    }

    fn write<M: SerializeMap>(value: &Self, _: &'static str, out: &mut M) -> Written<M> {
        Count::write(&value.sample_size(), "sample_size", out)?;
        Count::write(&value.population(), "population", out)
    }
}

impl Field for RandomizedResponseLaw {
    type Value = Self;

    fn keys(_: &'static str) -> Vec<Key> {
        [Count::keys("categories"), TruthProbability::keys("truth_probability")].concat()
    }

    fn read<E: de::Error>(_: &'static str, bag: &mut Bag) -> Result<Self, E> {
        let truth = TruthProbability::read("truth_probability", bag)?;
        Self::new(bag.count("categories")?, truth).map_err(E::custom)
    }

    fn write<M: SerializeMap>(value: &Self, _: &'static str, out: &mut M) -> Written<M> {
        Count::write(&value.categories(), "categories", out)?;
        TruthProbability::write(&value.truth_probability(), "truth_probability", out)
    }
}

impl Field for RenyiCurve {
    type Value = Self;

    fn keys(_: &'static str) -> Vec<Key> {
        ["orders", "epsilons"].map(|name| Key { name, shape: JsonShape::Reals }).to_vec()
    }

    fn read<E: de::Error>(_: &'static str, bag: &mut Bag) -> Result<Self, E> {
        let (orders, epsilons) = (bag.reals("orders")?, bag.reals("epsilons")?);
        Self::new(&orders, &epsilons).map_err(E::custom)
    }

    fn write<M: SerializeMap>(value: &Self, _: &'static str, out: &mut M) -> Written<M> {
        out.serialize_entry("orders", &value.orders())?;
        out.serialize_entry("epsilons", &value.epsilons())
    }
}

/// Noise over the clip norm, or noise and sensitivity.
macro_rules! two_spellings {
    ($type:ident, $scale:ident) => {
        impl Field for $type {
            type Value = Self;

            fn keys(_: &'static str) -> Vec<Key> {
                let absolute = [Scale::keys(stringify!($scale)), Sensitivity::keys("sensitivity")];
                [NoiseMultiplier::keys("noise_multiplier"), absolute.concat()].concat()
            }

            fn read<E: de::Error>(_: &'static str, bag: &mut Bag) -> Result<Self, E> {
                if states_multiplier(bag, stringify!($scale))? {
                    let noise_multiplier = NoiseMultiplier::read("noise_multiplier", bag)?;
                    return Ok(Self::Multiplier { noise_multiplier });
                }
                let $scale = Scale::read(stringify!($scale), bag)?;
                Ok(Self::Absolute { $scale, sensitivity: Sensitivity::read("sensitivity", bag)? })
            }

            fn write<M: SerializeMap>(value: &Self, _: &'static str, out: &mut M) -> Written<M> {
                match value {
                    Self::Multiplier { noise_multiplier } => {
                        NoiseMultiplier::write(noise_multiplier, "noise_multiplier", out)
                    }
                    Self::Absolute { $scale, sensitivity } => {
                        Scale::write($scale, stringify!($scale), out)?;
                        Sensitivity::write(sensitivity, "sensitivity", out)
                    }
                }
            }
        }
    };
}

two_spellings!(GaussianNoise, sigma);
two_spellings!(LaplaceNoise, scale);

/// Is it `noise_multiplier` (true), or `scale` with `sensitivity` (false)? A mixture or a half is
/// an error.
fn states_multiplier<E: de::Error>(bag: &Bag, scale: &str) -> Result<bool, E> {
    match (bag.has("noise_multiplier"), bag.has(scale), bag.has("sensitivity")) {
        (true, false, false) => Ok(true),
        (false, true, true) => Ok(false),
        (true, _, _) | (false, false, _) | (false, true, false) => Err(E::custom(format_args!(
            "{} must have either `noise_multiplier`, or `{scale}` and `sensitivity`",
            bag.owner()
        ))),
    }
}
