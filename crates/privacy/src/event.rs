//! What a computation does, in the language of accounting.
//!
//! An [`Event`] is everything an accountant needs and nothing else; it depends on public parameters
//! only. Its JSON form is the stable one: variants are never removed and never change meaning.
//!
//! # Two spellings of noise
//! `noise_multiplier` is the noise divided by the largest norm of one unit's contribution to a sum
//! (the clip norm). What that means for a relation is the accountant's business: one contribution
//! appears or disappears under `add_remove` and `zero_out`, and becomes its opposite under
//! `replace`. `sigma` or `scale` with `sensitivity` states the ratio for the relation as given, and
//! nothing is added to it; the same holds for the parameters of `pure`, `approximate`, `zcdp`,
//! `gdp`, `renyi`, `exponential`, `above_threshold` and the discrete events.
//!
//! # Limits
//! JSON may nest events [`Event::MAX_DEPTH`] deep. Counts reach 2^53. Programs that build events by
//! hand are trusted not to nest them thousands of levels deep; accounting refuses more than 128.

mod bag;
mod field;
mod noise;
mod parts;
mod read;
mod table;
mod write;

use crate::params::{
    Count, Delta, Epsilon, Mu, NoiseMultiplier, Radius, Rho, SamplingRate, Scale, Smoothness, StepSize,
    StrongConvexity,
};

pub use noise::{GaussianNoise, LaplaceNoise};
pub use parts::{EventError, FixedSample, Nodes, RandomizedResponseLaw, RenyiCurve, Trials};
pub(crate) use read::{TopLevel, read_top_level};
use table::EventKind;

/// One private computation: what it adds noise to, how much, how often, on which sample.
///
/// ```
/// use sordino_privacy::{Count, Event, NoiseMultiplier, SamplingRate};
/// let step = Event::gaussian(NoiseMultiplier::new(1.1)?);
/// let training = step.poisson_sampled(SamplingRate::new(0.01)?).repeated(Count::new(1000)?);
/// let json = serde_json::to_string(&training)?;
/// assert_eq!(
///     json,
///     concat!(
///         r#"{"type":"repeated","count":1000,"event":{"type":"poisson_sampled","sampling_rate":0.01,"#,
///         r#""event":{"type":"gaussian","noise_multiplier":1.1}}}"#,
///     )
/// );
/// assert_eq!(serde_json::from_str::<Event>(&json)?, training);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// Gaussian noise on a vector.
    Gaussian(GaussianNoise),
    /// Laplace noise on every coordinate of a vector.
    Laplace(LaplaceNoise),
    /// P(k) ~ exp(-k² / (2 sigma²)) on one integer. A vector is not the scalar at its norm: state
    /// it as zCDP.
    DiscreteGaussian {
        /// The parameter sigma of the law.
        sigma: Scale,
        /// How far one neighbour moves the integer.
        sensitivity: Count,
    },
    /// P(k) ~ exp(-|k| / scale) on one integer.
    DiscreteLaplace {
        /// The parameter scale of the law.
        scale: Scale,
        /// How far one neighbour moves the integer.
        sensitivity: Count,
    },
    /// A category that is reported as it is, or as one of the others.
    RandomizedResponse(RandomizedResponseLaw),
    /// The exponential mechanism: its loss has range `epsilon`; the score's sensitivity is folded
    /// in.
    Exponential {
        /// The range of the loss.
        epsilon: Epsilon,
    },
    /// Any mechanism with pure privacy.
    Pure {
        /// ε of the guarantee.
        epsilon: Epsilon,
    },
    /// Any mechanism with approximate privacy.
    Approximate {
        /// ε of the guarantee.
        epsilon: Epsilon,
        /// δ of the guarantee.
        delta: Delta,
    },
    /// Any mechanism with zero-concentrated privacy.
    Zcdp {
        /// ρ of the guarantee.
        rho: Rho,
    },
    /// Any mechanism with Gaussian privacy.
    Gdp {
        /// μ of the guarantee.
        mu: Mu,
    },
    /// Any mechanism with these Rényi divergences.
    Renyi(RenyiCurve),
    /// `event` on a sample that each record joins independently.
    PoissonSampled {
        /// The probability of joining.
        sampling_rate: SamplingRate,
        /// What is done to the sample.
        event: Box<Event>,
    },
    /// `event` on a sample that each record joins independently, of whom at most `max_batch` stay,
    /// chosen uniformly.
    PoissonSampledTruncated {
        /// The probability of joining.
        sampling_rate: SamplingRate,
        /// How many records there are.
        population: Count,
        /// How many stay at most.
        max_batch: Count,
        /// What is done to the sample.
        event: Box<Event>,
    },
    /// `event` on a uniform sample of fixed size of distinct records.
    SampledWithoutReplacement {
        /// How many of how many.
        sample: FixedSample,
        /// What is done to the sample.
        event: Box<Event>,
    },
    /// `event` on independent uniform draws, so that a record may occur several times.
    SampledWithReplacement {
        /// How many of how many.
        sample: FixedSample,
        /// What is done to the sample.
        event: Box<Event>,
    },
    /// Adaptive composition of one event with itself.
    Repeated {
        /// How often.
        count: Count,
        /// What is repeated.
        event: Box<Event>,
    },
    /// Adaptive composition, one after the other. Of nothing: free.
    Composed {
        /// The parts.
        events: Vec<Event>,
    },
    /// Disjoint batches, each unit in exactly one batch an epoch, `event` on every batch; no
    /// amplification.
    ShuffledEpochs {
        /// Passes over the data.
        epochs: Count,
        /// What is done to each batch.
        event: Box<Event>,
    },
    /// Each unit joins one of `bins` batches an epoch, chosen uniformly and independently.
    BallsInBins {
        /// Batches in an epoch.
        bins: Count,
        /// Passes over the data.
        epochs: Count,
        /// What is done to each batch.
        event: Box<Event>,
    },
    /// Local reports, each made by `event`, through a shuffler.
    ShuffledReports {
        /// How many reports are shuffled together.
        reports: Count,
        /// The local randomizer.
        event: Box<Event>,
    },
    /// Noisy gradient descent on a convex loss of which only the last iterate is released. What
    /// that assumes is said at [`HiddenDescent`](crate::notion::HiddenDescent).
    LastIterate {
        /// Steps taken.
        steps: Count,
        /// Length of a step.
        step_size: StepSize,
        /// Modulus of strong convexity.
        strong_convexity: StrongConvexity,
        /// Lipschitz constant of the gradient.
        smoothness: Smoothness,
        /// Diameter of the convex set that iterates are projected to, in deviations of one step's
        /// noise; none if not given.
        diameter: Option<Radius>,
        /// One step.
        event: Box<Event>,
    },
    /// One pass of noisy gradient descent, a record a step, of which only the last iterate is
    /// released; the steps after `position` use records of nobody.
    OnePass {
        /// Steps taken.
        records: Count,
        /// The last one that uses a unit's record, counted from 1.
        position: Count,
        /// Length of a step.
        step_size: StepSize,
        /// Modulus of strong convexity.
        strong_convexity: StrongConvexity,
        /// Lipschitz constant of the gradient.
        smoothness: Smoothness,
        /// One step.
        event: Box<Event>,
    },
    /// `event`, for groups of units that change together. On a sample: that are there or are not.
    Group {
        /// Units in a group.
        size: Count,
        /// What is done, as it would cost one unit.
        event: Box<Event>,
    },
    /// The sparse-vector technique up to its first answer above the threshold; c answers: repeat
    /// it.
    AboveThreshold {
        /// ε of the whole.
        epsilon: Epsilon,
    },
    /// The best of a secret random number of runs.
    Selected {
        /// The law of the number of runs.
        trials: Trials,
        /// One run.
        event: Box<Event>,
    },
    /// Prefix sums from noisy nodes of a binary tree.
    TreeAggregation {
        /// Leaves of the tree.
        steps: Count,
        /// How many leaves one unit may contribute to.
        participations: Count,
        /// Least distance of two of them; none is guaranteed if not given.
        separation: Option<Count>,
        /// Which nodes are released.
        nodes: Nodes,
        /// Noise of a node over the clip norm.
        noise_multiplier: NoiseMultiplier,
    },
    /// Prefix sums with correlated noise: the square root of their matrix, `c_k = binom(2k, k) /
    /// 4^k` in its k-th diagonal, times the stream, plus white Gaussian noise.
    Toeplitz {
        /// Length of the stream.
        steps: Count,
        /// Bands of the root that are kept; all of them if not given.
        bands: Option<Count>,
        /// How many steps one unit may contribute to.
        participations: Count,
        /// Least distance of two of them; none is guaranteed if not given.
        separation: Option<Count>,
        /// White noise over the clip norm.
        noise_multiplier: NoiseMultiplier,
    },
    /// No guarantee at all.
    NonPrivate,
}

impl Event {
    /// How deep events may nest in JSON. Each level takes up to two levels of JSON, of which the
    /// reader allows 128.
    pub const MAX_DEPTH: usize = 60;

    /// Gaussian noise relative to the clip norm.
    pub fn gaussian(noise_multiplier: NoiseMultiplier) -> Self {
        Self::Gaussian(GaussianNoise::Multiplier { noise_multiplier })
    }

    /// Laplace noise relative to the (L1) clip norm.
    pub fn laplace(noise_multiplier: NoiseMultiplier) -> Self {
        Self::Laplace(LaplaceNoise::Multiplier { noise_multiplier })
    }

    /// A release with no guarantee.
    pub fn non_private() -> Self {
        Self::NonPrivate
    }

    /// This event, on a Poisson sample.
    pub fn poisson_sampled(self, sampling_rate: SamplingRate) -> Self {
        Self::PoissonSampled { sampling_rate, event: Box::new(self) }
    }

    /// This event, on a sample of fixed size of distinct records.
    pub fn sampled_without_replacement(self, sample: FixedSample) -> Self {
        Self::SampledWithoutReplacement { sample, event: Box::new(self) }
    }

    /// This event, `count` times.
    pub fn repeated(self, count: Count) -> Self {
        Self::Repeated { count, event: Box::new(self) }
    }

    /// These events, one after the other.
    pub fn composed(events: impl IntoIterator<Item = Self>) -> Self {
        Self::Composed { events: events.into_iter().collect() }
    }

    /// This event and then `next`. A composition is extended, so that many of them make a list and
    /// not a tower, which no reader of JSON would climb.
    pub fn followed_by(self, next: Self) -> Self {
        let mut events = if let Self::Composed { events } = self { events } else { vec![self] };
        events.push(next);
        Self::Composed { events }
    }

    /// The `type` of this event in JSON.
    pub fn name(&self) -> &'static str {
        EventKind::of(self).name()
    }
}

#[cfg(test)]
pub(crate) mod tests;
