//! From a bag of fields to an event.

use serde::de;

use super::super::fields::Field as F;
use super::super::kind::Kind;
use super::super::{Event, FixedSample, GaussianNoise, LaplaceNoise, RandomizedResponse, RenyiCurve};
use super::TopLevel;
use super::bag::Bag;
use crate::params::{
    Delta, Epsilon, Mu, NoiseMultiplier, Rho, SamplingRate, Scale, Sensitivity, Smoothness, StepSize,
    StrongConvexity, TruthProbability,
};
use crate::spelling::hint;

impl Bag {
    /// The event these fields describe.
    pub(super) fn into_event<E: de::Error>(mut self) -> Result<Event, E> {
        let Some(kind) = self.kind else {
            return Err(E::custom("an event must have a field `type`, such as \"gaussian\""));
        };
        self.refuse_strangers(kind)?;
        match kind {
            Kind::Gaussian => self.gaussian(),
            Kind::Laplace => self.laplace(),
            Kind::DiscreteGaussian => Ok(Event::DiscreteGaussian {
                sigma: self.number(F::Sigma, Scale::new)?,
                sensitivity: self.count(F::Sensitivity)?,
            }),
            Kind::DiscreteLaplace => Ok(Event::DiscreteLaplace {
                scale: self.number(F::Scale, Scale::new)?,
                sensitivity: self.count(F::Sensitivity)?,
            }),
            Kind::RandomizedResponse => {
                let truth = self.number(F::TruthProbability, TruthProbability::new)?;
                let response =
                    RandomizedResponse::new(self.count(F::Categories)?, truth).map_err(E::custom)?;
                Ok(Event::RandomizedResponse(response))
            }
            Kind::Exponential => Ok(Event::Exponential { epsilon: self.number(F::Epsilon, Epsilon::new)? }),
            Kind::Pure => Ok(Event::Pure { epsilon: self.number(F::Epsilon, Epsilon::new)? }),
            Kind::Approximate => Ok(Event::Approximate {
                epsilon: self.number(F::Epsilon, Epsilon::new)?,
                delta: self.number(F::Delta, Delta::new)?,
            }),
            Kind::Zcdp => Ok(Event::Zcdp { rho: self.number(F::Rho, Rho::new)? }),
            Kind::Gdp => Ok(Event::Gdp { mu: self.number(F::Mu, Mu::new)? }),
            Kind::AboveThreshold => {
                Ok(Event::AboveThreshold { epsilon: self.number(F::Epsilon, Epsilon::new)? })
            }
            Kind::Renyi => self.renyi(),
            Kind::TreeAggregation => Ok(Event::TreeAggregation {
                steps: self.count(F::Steps)?,
                participations: self.count(F::Participations)?,
                separation: self.optional_count(F::Separation)?,
                nodes: self.nodes.unwrap_or_default(),
                noise_multiplier: self.number(F::NoiseMultiplier, NoiseMultiplier::new)?,
            }),
            Kind::Toeplitz => Ok(Event::Toeplitz {
                steps: self.count(F::Steps)?,
                bands: self.optional_count(F::Bands)?,
                participations: self.count(F::Participations)?,
                separation: self.optional_count(F::Separation)?,
                noise_multiplier: self.number(F::NoiseMultiplier, NoiseMultiplier::new)?,
            }),
            Kind::NonPrivate => Ok(Event::NonPrivate),
            Kind::Composed => {
                let events = self.events.take().ok_or_else(|| self.missing(F::Events))?;
                Ok(Event::Composed { events })
            }
            Kind::PoissonSampled => Ok(Event::PoissonSampled {
                sampling_rate: self.number(F::SamplingRate, SamplingRate::new)?,
                event: self.inner()?,
            }),
            Kind::SampledWithoutReplacement => {
                let (size, population) = (self.count(F::SampleSize)?, self.count(F::Population)?);
                let sample = FixedSample::distinct(size, population).map_err(E::custom)?;
                Ok(Event::SampledWithoutReplacement { sample, event: self.inner()? })
            }
            Kind::SampledWithReplacement => {
                let sample = FixedSample::draws(self.count(F::SampleSize)?, self.count(F::Population)?);
                Ok(Event::SampledWithReplacement { sample, event: self.inner()? })
            }
            Kind::Repeated => Ok(Event::Repeated { count: self.count(F::Count)?, event: self.inner()? }),
            Kind::ShuffledEpochs => {
                Ok(Event::ShuffledEpochs { epochs: self.count(F::Epochs)?, event: self.inner()? })
            }
            Kind::BallsInBins => Ok(Event::BallsInBins {
                bins: self.count(F::Bins)?,
                epochs: self.count(F::Epochs)?,
                event: self.inner()?,
            }),
            Kind::ShuffledReports => {
                Ok(Event::ShuffledReports { reports: self.count(F::Reports)?, event: self.inner()? })
            }
            Kind::LastIterate => Ok(Event::LastIterate {
                steps: self.count(F::Steps)?,
                step_size: self.number(F::StepSize, StepSize::new)?,
                strong_convexity: self.number(F::StrongConvexity, StrongConvexity::new)?,
                smoothness: self.number(F::Smoothness, Smoothness::new)?,
                event: self.inner()?,
            }),
            Kind::Group => Ok(Event::Group { size: self.count(F::Size)?, event: self.inner()? }),
            Kind::Selected => Ok(Event::Selected {
                trials: self.trials.ok_or_else(|| self.missing(F::Trials))?,
                event: self.inner()?,
            }),
        }
    }

    /// `{"neighbours": ..., "event": ...}`.
    pub(super) fn into_claim<E: de::Error>(mut self) -> Result<TopLevel, E> {
        if !self.has(F::Event) && !self.has(F::Neighbours) {
            return Err(E::custom(
                "expected an event (with a field `type`) or {\"neighbours\": ..., \"event\": {...}}, \
                 found neither",
            ));
        }
        let around = [F::FormatVersion, F::Neighbours, F::Event];
        if let Some(stranger) = self.present().find(|field| !around.contains(field)) {
            return Err(E::custom(format_args!(
                "field `{}` belongs inside an event, which needs a `type`; beside `event` there may be \
                 `neighbours` and `format_version`",
                stranger.name()
            )));
        }
        let Some(neighbours) = self.neighbours else { return Err(self.missing(F::Neighbours)) };
        Ok(TopLevel::Claim { format_version: self.format_version, neighbours, event: *self.inner()? })
    }

    /// Fields that exist, but not here.
    fn refuse_strangers<E: de::Error>(&self, kind: Kind) -> Result<(), E> {
        let fields = kind.fields();
        let Some(stranger) = self.present().find(|field| *field != F::Type && !fields.contains(field)) else {
            return Ok(());
        };
        if matches!(stranger, F::Neighbours | F::FormatVersion) {
            return Err(E::custom(format_args!(
                "`{}` stands beside an event, not inside it: {{\"neighbours\": ..., \"event\": {{...}}}}",
                stranger.name()
            )));
        }
        let names = || fields.iter().map(|field| field.name());
        let known =
            if fields.is_empty() { "none".to_owned() } else { names().collect::<Vec<_>>().join(", ") };
        Err(E::custom(format_args!(
            "`{}` is not a field of {} (its fields: {known}){}",
            stranger.name(),
            kind.name(),
            hint(stranger.name(), names())
        )))
    }

    fn gaussian<E: de::Error>(&self) -> Result<Event, E> {
        let noise = if self.one_spelling("gaussian", F::Sigma)? {
            GaussianNoise::Multiplier {
                noise_multiplier: self.number(F::NoiseMultiplier, NoiseMultiplier::new)?,
            }
        } else {
            GaussianNoise::Absolute {
                sigma: self.number(F::Sigma, Scale::new)?,
                sensitivity: self.number(F::Sensitivity, Sensitivity::new)?,
            }
        };
        Ok(Event::Gaussian(noise))
    }

    fn laplace<E: de::Error>(&self) -> Result<Event, E> {
        let noise = if self.one_spelling("laplace", F::Scale)? {
            LaplaceNoise::Multiplier {
                noise_multiplier: self.number(F::NoiseMultiplier, NoiseMultiplier::new)?,
            }
        } else {
            LaplaceNoise::Absolute {
                scale: self.number(F::Scale, Scale::new)?,
                sensitivity: self.number(F::Sensitivity, Sensitivity::new)?,
            }
        };
        Ok(Event::Laplace(noise))
    }

    /// Is it `noise_multiplier` (true), or `scale` with `sensitivity` (false)? A mixture or a half is an
    /// error.
    fn one_spelling<E: de::Error>(&self, name: &str, scale: F) -> Result<bool, E> {
        match (self.has(F::NoiseMultiplier), self.has(scale), self.has(F::Sensitivity)) {
            (true, false, false) => Ok(true),
            (false, true, true) => Ok(false),
            (true, _, _) | (false, false, _) | (false, true, false) => Err(E::custom(format_args!(
                "{name} must have either `noise_multiplier`, or `{}` and `sensitivity`",
                scale.name()
            ))),
        }
    }

    fn renyi<E: de::Error>(&self) -> Result<Event, E> {
        let orders = self.orders.as_deref().ok_or_else(|| self.missing(F::Orders))?;
        let epsilons = self.epsilons.as_deref().ok_or_else(|| self.missing(F::Epsilons))?;
        RenyiCurve::new(orders, epsilons).map(Event::Renyi).map_err(E::custom)
    }

    fn inner<E: de::Error>(&mut self) -> Result<Box<Event>, E> {
        self.event.take().ok_or_else(|| self.missing(F::Event))
    }
}
