//! Events to JSON: `type` first, then the fields in the order of the documentation.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::fields::Field as F;
use super::{Event, GaussianNoise, LaplaceNoise, Nodes};

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = Object(serializer.serialize_map(None)?);
        out.put(F::Type, self.name())?;
        match self {
            Self::Gaussian(GaussianNoise::Multiplier { noise_multiplier })
            | Self::Laplace(LaplaceNoise::Multiplier { noise_multiplier }) => {
                out.put(F::NoiseMultiplier, noise_multiplier)?;
            }
            Self::Gaussian(GaussianNoise::Absolute { sigma, sensitivity }) => {
                out.put(F::Sigma, sigma)?.put(F::Sensitivity, sensitivity)?;
            }
            Self::Laplace(LaplaceNoise::Absolute { scale, sensitivity }) => {
                out.put(F::Scale, scale)?.put(F::Sensitivity, sensitivity)?;
            }
            Self::DiscreteGaussian { sigma, sensitivity } => {
                out.put(F::Sigma, sigma)?.put(F::Sensitivity, sensitivity)?;
            }
            Self::DiscreteLaplace { scale, sensitivity } => {
                out.put(F::Scale, scale)?.put(F::Sensitivity, sensitivity)?;
            }
            Self::RandomizedResponse(response) => {
                out.put(F::Categories, &response.categories())?
                    .put(F::TruthProbability, &response.truth_probability())?;
            }
            Self::Exponential { epsilon } | Self::Pure { epsilon } | Self::AboveThreshold { epsilon } => {
                out.put(F::Epsilon, epsilon)?;
            }
            Self::Approximate { epsilon, delta } => {
                out.put(F::Epsilon, epsilon)?.put(F::Delta, delta)?;
            }
            Self::Zcdp { rho } => {
                out.put(F::Rho, rho)?;
            }
            Self::Gdp { mu } => {
                out.put(F::Mu, mu)?;
            }
            Self::Renyi(curve) => {
                out.put(F::Orders, &curve.orders())?.put(F::Epsilons, &curve.epsilons())?;
            }
            Self::PoissonSampled { sampling_rate, event } => {
                out.put(F::SamplingRate, sampling_rate)?.put(F::Event, event)?;
            }
            Self::SampledWithoutReplacement { sample, event }
            | Self::SampledWithReplacement { sample, event } => {
                out.put(F::SampleSize, &sample.sample_size())?
                    .put(F::Population, &sample.population())?
                    .put(F::Event, event)?;
            }
            Self::Repeated { count, event } => {
                out.put(F::Count, count)?.put(F::Event, event)?;
            }
            Self::Composed { events } => {
                out.put(F::Events, events)?;
            }
            Self::ShuffledEpochs { epochs, event } => {
                out.put(F::Epochs, epochs)?.put(F::Event, event)?;
            }
            Self::BallsInBins { bins, epochs, event } => {
                out.put(F::Bins, bins)?.put(F::Epochs, epochs)?.put(F::Event, event)?;
            }
            Self::ShuffledReports { reports, event } => {
                out.put(F::Reports, reports)?.put(F::Event, event)?;
            }
            Self::LastIterate { steps, step_size, strong_convexity, smoothness, event } => {
                out.put(F::Steps, steps)?
                    .put(F::StepSize, step_size)?
                    .put(F::StrongConvexity, strong_convexity)?
                    .put(F::Smoothness, smoothness)?
                    .put(F::Event, event)?;
            }
            Self::Group { size, event } => {
                out.put(F::Size, size)?.put(F::Event, event)?;
            }
            Self::Selected { trials, event } => {
                out.put(F::Trials, trials)?.put(F::Event, event)?;
            }
            Self::TreeAggregation { steps, participations, separation, nodes, noise_multiplier } => {
                out.put(F::Steps, steps)?.put(F::Participations, participations)?;
                // Left out where they say nothing, as older records do.
                if separation.is_some() {
                    out.put(F::Separation, separation)?;
                }
                if *nodes != Nodes::All {
                    out.put(F::Nodes, nodes)?;
                }
                out.put(F::NoiseMultiplier, noise_multiplier)?;
            }
            Self::Toeplitz { steps, bands, participations, separation, noise_multiplier } => {
                out.put(F::Steps, steps)?
                    .put(F::Bands, bands)?
                    .put(F::Participations, participations)?
                    .put(F::Separation, separation)?
                    .put(F::NoiseMultiplier, noise_multiplier)?;
            }
            Self::NonPrivate => {}
        }
        out.0.end()
    }
}

/// Fields of one JSON object.
struct Object<M>(M);

impl<M: SerializeMap> Object<M> {
    fn put<T: Serialize + ?Sized>(&mut self, field: F, value: &T) -> Result<&mut Self, M::Error> {
        self.0.serialize_entry(field.name(), value)?;
        Ok(self)
    }
}
