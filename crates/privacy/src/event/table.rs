//! The table of events: the name of each in JSON, and its fields with their types.
//!
//! Reading, writing, the check for fields that do not belong, and every list in a message follow
//! from it. A new event is a variant of [`Event`], a row here, and its meaning in
//! `accounting/flatten.rs`. A variant without a row does not compile.
//!
//! A field's name is its key. A type with several keys ([`FixedSample`], for example) names them
//! itself: see [`Field`].

use serde::de;
use serde::ser::SerializeMap;

use super::bag::Bag;
use super::field::{Field, Key, LeftOut};
use super::{
    Event, EventError, FixedSample, GaussianNoise, LaplaceNoise, Nodes, RandomizedResponseLaw, RenyiCurve,
    Trials,
};
use crate::params::{
    Count, Delta, Epsilon, Mu, NoiseMultiplier, Radius, Rho, SamplingRate, Scale, Smoothness, StepSize,
    StrongConvexity,
};

/// Writes [`EventKind`] and all that goes through the rows.
macro_rules! events {
    ($($variant:ident $fields:tt = $name:literal;)*) => {
        /// Which variant of [`Event`], without its contents.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum EventKind {
            $($variant,)*
        }

        impl EventKind {
            /// All of them.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The kind of an event.
            pub(crate) fn of(event: &Event) -> Self {
                match event {
                    $(Event::$variant { .. } => Self::$variant,)*
                }
            }

            /// `type` in JSON.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The keys it may have in JSON, besides `type`.
            pub(super) fn keys(self) -> Vec<Key> {
                match self {
                    $(Self::$variant => keys!($fields),)*
                }
            }

            /// Builds an event of this kind from what was read.
            pub(super) fn build<E: de::Error>(self, bag: &mut Bag) -> Result<Event, E> {
                Ok(match self {
                    $(Self::$variant => built!($variant $fields, bag),)*
                })
            }
        }

        /// Writes all fields of an event, in the order of the rows.
        pub(super) fn write<M: SerializeMap>(event: &Event, out: &mut M) -> Result<(), M::Error> {
            match event {
                $(pattern!($variant $fields) => written!($fields, out),)*
            }
            Ok(())
        }
    };
}

macro_rules! keys {
    ({ $($field:ident: $type:ty),* }) => { <[Vec<Key>]>::concat(&[$(<$type>::keys(stringify!($field))),*]) };
    (($field:ident: $type:ty)) => { <$type>::keys(stringify!($field)) };
}

macro_rules! built {
    ($variant:ident { $($field:ident: $type:ty),* }, $bag:ident) => {
        Event::$variant { $($field: <$type>::read(stringify!($field), $bag)?),* }
    };
    ($variant:ident ($field:ident: $type:ty), $bag:ident) => {
        Event::$variant(<$type>::read(stringify!($field), $bag)?)
    };
}

macro_rules! pattern {
    ($variant:ident { $($field:ident: $type:ty),* }) => { Event::$variant { $($field),* } };
    ($variant:ident ($field:ident: $type:ty)) => { Event::$variant($field) };
}

macro_rules! written {
    ({ $($field:ident: $type:ty),* }, $out:ident) => {{
        $(<$type>::write($field, stringify!($field), $out)?;)*
    }};
    (($field:ident: $type:ty), $out:ident) => { <$type>::write($field, stringify!($field), $out)? };
}

events! {
    Gaussian(noise: GaussianNoise) = "gaussian";
    Laplace(noise: LaplaceNoise) = "laplace";
    DiscreteGaussian { sigma: Scale, sensitivity: Count } = "discrete_gaussian";
    DiscreteLaplace { scale: Scale, sensitivity: Count } = "discrete_laplace";
    RandomizedResponse(response: RandomizedResponseLaw) = "randomized_response";
    Exponential { epsilon: Epsilon } = "exponential";
    Pure { epsilon: Epsilon } = "pure";
    Approximate { epsilon: Epsilon, delta: Delta } = "approximate";
    Zcdp { rho: Rho } = "zcdp";
    Gdp { mu: Mu } = "gdp";
    Renyi(curve: RenyiCurve) = "renyi";
    PoissonSampled { sampling_rate: SamplingRate, event: Box<Event> } = "poisson_sampled";
    PoissonSampledTruncated {
        sampling_rate: SamplingRate,
        population: Count,
        max_batch: Count,
        event: Box<Event>
    } = "poisson_sampled_truncated";
    SampledWithoutReplacement { sample: FixedSample, event: Box<Event> } = "sampled_without_replacement";
    SampledWithReplacement { sample: FixedSample, event: Box<Event> } = "sampled_with_replacement";
    Repeated { count: Count, event: Box<Event> } = "repeated";
    Composed { events: Vec<Event> } = "composed";
    ShuffledEpochs { epochs: Count, event: Box<Event> } = "shuffled_epochs";
    BallsInBins { bins: Count, epochs: Count, event: Box<Event> } = "balls_in_bins";
    ShuffledReports { reports: Count, event: Box<Event> } = "shuffled_reports";
    LastIterate {
        steps: Count,
        step_size: StepSize,
        strong_convexity: StrongConvexity,
        smoothness: Smoothness,
        diameter: Option<Radius>,
        event: Box<Event>
    } = "last_iterate";
    OnePass {
        records: Count,
        position: Count,
        step_size: StepSize,
        strong_convexity: StrongConvexity,
        smoothness: Smoothness,
        event: Box<Event>
    } = "one_pass";
    Group { size: Count, event: Box<Event> } = "group";
    AboveThreshold { epsilon: Epsilon } = "above_threshold";
    Selected { trials: Trials, event: Box<Event> } = "selected";
    TreeAggregation {
        steps: Count,
        participations: Count,
        separation: LeftOut,
        nodes: Nodes,
        noise_multiplier: NoiseMultiplier
    } = "tree_aggregation";
    Toeplitz {
        steps: Count,
        bands: Option<Count>,
        participations: Count,
        separation: Option<Count>,
        noise_multiplier: NoiseMultiplier
    } = "toeplitz";
    NonPrivate {} = "non_private";
}

/// What must hold between fields, beyond what their types say.
pub(super) fn check(event: &Event) -> Result<(), EventError> {
    if let Event::SampledWithoutReplacement { sample, .. } = event {
        FixedSample::distinct(sample.sample_size(), sample.population())?;
    }
    if let Event::OnePass { records, position, .. } = event
        && position > records
    {
        return Err(EventError::PositionTooLate { position: position.get(), records: records.get() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value is read before its event is known, so a key has one shape everywhere.
    #[test]
    fn a_key_has_one_shape_and_an_event_has_it_once() {
        let mut shapes = std::collections::BTreeMap::new();
        for kind in EventKind::ALL {
            let keys = kind.keys();
            for (place, key) in keys.iter().enumerate() {
                assert_eq!(*shapes.entry(key.name).or_insert(key.shape), key.shape, "{}", key.name);
                assert!(keys[..place].iter().all(|other| other.name != key.name), "{kind:?}: {}", key.name);
            }
        }
    }

    #[test]
    fn names_of_events_differ() {
        let names: std::collections::BTreeSet<_> = EventKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), EventKind::ALL.len());
    }
}
