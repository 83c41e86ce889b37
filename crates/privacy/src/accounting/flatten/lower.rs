//! One release on its own, seen under one relation.

use super::super::error::AccountError;
use super::super::step::Step;
use crate::event::{Event, GaussianNoise, LaplaceNoise};
use crate::relation::{Contribution, Neighbours};

/// What two neighbours look like to one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lens {
    /// A contribution is there or it is not.
    OneNorm,
    /// A contribution becomes another.
    TwoNorms,
    /// Inside a Poisson sample under replace: a contribution against
    /// none, though the claim compares two.
    AgainstAbsent,
    /// Two vectors of a metric ball.
    Vectors,
}

impl Lens {
    pub(super) fn of(neighbours: Neighbours) -> Self {
        match neighbours.contribution() {
            Some(Contribution::Absent) => Self::OneNorm,
            Some(Contribution::Changed) => Self::TwoNorms,
            None => Self::Vectors,
        }
    }

    /// Clip norms between two neighbours.
    pub(super) fn norms(self, event: &Event) -> Result<f64, AccountError> {
        match self {
            Self::OneNorm | Self::AgainstAbsent => Ok(1.0),
            Self::TwoNorms => Ok(2.0),
            Self::Vectors => Err(AccountError::meaningless(
                event.name(),
                "a noise multiplier is relative to one unit's contribution to a sum, and a metric ball \
                 has no units; \
                 state the noise with its sensitivity",
            )),
        }
    }

    /// Refuses what is stated under the relation of the claim where the release sees another one.
    fn stated(self, event: &Event) -> Result<(), AccountError> {
        match self {
            Self::OneNorm | Self::TwoNorms | Self::Vectors => Ok(()),
            Self::AgainstAbsent => Err(AccountError::meaningless(
                event.name(),
                "inside poisson_sampled under replace: its parameters do not say how far a record is from \
                 being \
                 absent; give a noise_multiplier, or claim add_remove or zero_out",
            )),
        }
    }
}

/// The elementary release of an event that holds no other.
pub(super) fn lower(event: &Event, lens: Lens) -> Result<Step, AccountError> {
    let finite =
        |cost: f64, step: fn(f64) -> Step| Ok(if cost.is_finite() { step(cost) } else { Step::NonPrivate });
    let stated = |step: Step| lens.stated(event).map(|()| step);
    match event {
        Event::Gaussian(noise) => finite(gaussian_ratio(event, *noise, lens)?, |mu| Step::Gaussian { mu }),
        Event::Laplace(noise) => {
            finite(laplace_ratio(event, *noise, lens)?, |epsilon| Step::Laplace { epsilon })
        }
        Event::RandomizedResponse(response) => {
            replaced(event, lens)?;
            let truth = response.truth_probability().get();
            if truth == 1.0 {
                return Ok(Step::NonPrivate);
            }
            Ok(Step::RandomizedResponse { categories: response.categories().get(), truth })
        }
        Event::NonPrivate => Ok(Step::NonPrivate),
        Event::DiscreteGaussian { sigma, sensitivity } => {
            stated(Step::DiscreteGaussian { sigma: sigma.get(), shift: sensitivity.get() })
        }
        Event::DiscreteLaplace { scale, sensitivity } => {
            stated(Step::DiscreteLaplace { scale: scale.get(), shift: sensitivity.get() })
        }
        Event::Exponential { epsilon } => stated(Step::BoundedRange { epsilon: epsilon.get() }),
        // The stream of answers up to the first one above the threshold is one pure release (Dwork,
        // Roth, "The Algorithmic Foundations of Differential Privacy", 2014, theorem 3.23).
        Event::Pure { epsilon } | Event::AboveThreshold { epsilon } => {
            stated(Step::Pure { epsilon: epsilon.get() })
        }
        Event::Approximate { epsilon, delta } => {
            stated(Step::Approximate { epsilon: epsilon.get(), delta: delta.get() })
        }
        Event::Zcdp { rho } => stated(Step::Zcdp { rho: rho.get() }),
        Event::Gdp { mu } => stated(Step::Gaussian { mu: mu.get() }),
        Event::Renyi(curve) => stated(Step::Renyi { orders: curve.orders(), epsilons: curve.epsilons() }),
        Event::PoissonSampled { .. }
        | Event::PoissonSampledTruncated { .. }
        | Event::SampledWithoutReplacement { .. }
        | Event::SampledWithReplacement { .. }
        | Event::Repeated { .. }
        | Event::Composed { .. }
        | Event::ShuffledEpochs { .. }
        | Event::BallsInBins { .. }
        | Event::ShuffledReports { .. }
        | Event::LastIterate { .. }
        | Event::OnePass { .. }
        | Event::Group { .. }
        | Event::Selected { .. }
        | Event::TreeAggregation { .. }
        | Event::Toeplitz { .. } => {
            Err(AccountError::unsupported(event.name(), "it is not an elementary release"))
        }
    }
}

fn gaussian_ratio(event: &Event, noise: GaussianNoise, lens: Lens) -> Result<f64, AccountError> {
    match noise {
        GaussianNoise::Multiplier { noise_multiplier } => {
            Ok(ratio(lens.norms(event)?, noise_multiplier.get()))
        }
        GaussianNoise::Absolute { sigma, sensitivity } => {
            lens.stated(event)?;
            Ok(ratio(sensitivity.get(), sigma.get()))
        }
    }
}

fn laplace_ratio(event: &Event, noise: LaplaceNoise, lens: Lens) -> Result<f64, AccountError> {
    match noise {
        LaplaceNoise::Multiplier { noise_multiplier } => {
            Ok(ratio(lens.norms(event)?, noise_multiplier.get()))
        }
        LaplaceNoise::Absolute { scale, sensitivity } => {
            lens.stated(event)?;
            Ok(ratio(sensitivity.get(), scale.get()))
        }
    }
}

/// Sensitivity over noise, rounded up; never 0, since two positive
/// numbers have a positive quotient.
pub(super) fn ratio(sensitivity: f64, noise: f64) -> f64 {
    let rounded = sensitivity / noise;
    // The fused product shows what rounding took away.
    let missing = rounded.mul_add(noise, -sensitivity) < 0.0;
    (if missing { rounded.next_up() } else { rounded }).max(f64::MIN_POSITIVE)
}

fn replaced(event: &Event, lens: Lens) -> Result<(), AccountError> {
    match lens {
        Lens::TwoNorms => Ok(()),
        Lens::AgainstAbsent => lens.stated(event),
        Lens::OneNorm | Lens::Vectors => Err(AccountError::meaningless(
            event.name(),
            "a randomized response hides which category a record has, not whether there is a record; \
             claim it under replace",
        )),
    }
}
