//! Names of events and of their fields: one table for reading, writing and messages.

use super::Event;
use super::fields::Field as F;

/// Which variant of [`Event`], without its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Gaussian,
    Laplace,
    DiscreteGaussian,
    DiscreteLaplace,
    RandomizedResponse,
    Exponential,
    Pure,
    Approximate,
    Zcdp,
    Gdp,
    Renyi,
    PoissonSampled,
    SampledWithoutReplacement,
    SampledWithReplacement,
    Repeated,
    Composed,
    ShuffledEpochs,
    BallsInBins,
    ShuffledReports,
    LastIterate,
    Group,
    AboveThreshold,
    Selected,
    TreeAggregation,
    Toeplitz,
    NonPrivate,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 26] = [
        Self::Gaussian,
        Self::Laplace,
        Self::DiscreteGaussian,
        Self::DiscreteLaplace,
        Self::RandomizedResponse,
        Self::Exponential,
        Self::Pure,
        Self::Approximate,
        Self::Zcdp,
        Self::Gdp,
        Self::Renyi,
        Self::PoissonSampled,
        Self::SampledWithoutReplacement,
        Self::SampledWithReplacement,
        Self::Repeated,
        Self::Composed,
        Self::ShuffledEpochs,
        Self::BallsInBins,
        Self::ShuffledReports,
        Self::LastIterate,
        Self::Group,
        Self::AboveThreshold,
        Self::Selected,
        Self::TreeAggregation,
        Self::Toeplitz,
        Self::NonPrivate,
    ];

    /// The kind of an event.
    pub(crate) fn of(event: &Event) -> Self {
        match event {
            Event::Gaussian(_) => Self::Gaussian,
            Event::Laplace(_) => Self::Laplace,
            Event::DiscreteGaussian { .. } => Self::DiscreteGaussian,
            Event::DiscreteLaplace { .. } => Self::DiscreteLaplace,
            Event::RandomizedResponse(_) => Self::RandomizedResponse,
            Event::Exponential { .. } => Self::Exponential,
            Event::Pure { .. } => Self::Pure,
            Event::Approximate { .. } => Self::Approximate,
            Event::Zcdp { .. } => Self::Zcdp,
            Event::Gdp { .. } => Self::Gdp,
            Event::Renyi(_) => Self::Renyi,
            Event::PoissonSampled { .. } => Self::PoissonSampled,
            Event::SampledWithoutReplacement { .. } => Self::SampledWithoutReplacement,
            Event::SampledWithReplacement { .. } => Self::SampledWithReplacement,
            Event::Repeated { .. } => Self::Repeated,
            Event::Composed { .. } => Self::Composed,
            Event::ShuffledEpochs { .. } => Self::ShuffledEpochs,
            Event::BallsInBins { .. } => Self::BallsInBins,
            Event::ShuffledReports { .. } => Self::ShuffledReports,
            Event::LastIterate { .. } => Self::LastIterate,
            Event::Group { .. } => Self::Group,
            Event::AboveThreshold { .. } => Self::AboveThreshold,
            Event::Selected { .. } => Self::Selected,
            Event::TreeAggregation { .. } => Self::TreeAggregation,
            Event::Toeplitz { .. } => Self::Toeplitz,
            Event::NonPrivate => Self::NonPrivate,
        }
    }

    /// `type` in JSON.
    pub(crate) fn name(self) -> &'static str {
        self.row().0
    }

    /// The fields it may have in JSON, besides `type`.
    pub(crate) fn fields(self) -> &'static [F] {
        self.row().1
    }

    fn row(self) -> (&'static str, &'static [F]) {
        match self {
            Self::Gaussian => ("gaussian", &[F::NoiseMultiplier, F::Sigma, F::Sensitivity]),
            Self::Laplace => ("laplace", &[F::NoiseMultiplier, F::Scale, F::Sensitivity]),
            Self::DiscreteGaussian => ("discrete_gaussian", &[F::Sigma, F::Sensitivity]),
            Self::DiscreteLaplace => ("discrete_laplace", &[F::Scale, F::Sensitivity]),
            Self::RandomizedResponse => ("randomized_response", &[F::Categories, F::TruthProbability]),
            Self::Exponential => ("exponential", &[F::Epsilon]),
            Self::Pure => ("pure", &[F::Epsilon]),
            Self::Approximate => ("approximate", &[F::Epsilon, F::Delta]),
            Self::Zcdp => ("zcdp", &[F::Rho]),
            Self::Gdp => ("gdp", &[F::Mu]),
            Self::Renyi => ("renyi", &[F::Orders, F::Epsilons]),
            Self::PoissonSampled => ("poisson_sampled", &[F::SamplingRate, F::Event]),
            Self::SampledWithoutReplacement => {
                ("sampled_without_replacement", &[F::SampleSize, F::Population, F::Event])
            }
            Self::SampledWithReplacement => {
                ("sampled_with_replacement", &[F::SampleSize, F::Population, F::Event])
            }
            Self::Repeated => ("repeated", &[F::Count, F::Event]),
            Self::Composed => ("composed", &[F::Events]),
            Self::ShuffledEpochs => ("shuffled_epochs", &[F::Epochs, F::Event]),
            Self::BallsInBins => ("balls_in_bins", &[F::Bins, F::Epochs, F::Event]),
            Self::ShuffledReports => ("shuffled_reports", &[F::Reports, F::Event]),
            Self::LastIterate => {
                ("last_iterate", &[F::Steps, F::StepSize, F::StrongConvexity, F::Smoothness, F::Event])
            }
            Self::Group => ("group", &[F::Size, F::Event]),
            Self::AboveThreshold => ("above_threshold", &[F::Epsilon]),
            Self::Selected => ("selected", &[F::Trials, F::Event]),
            Self::TreeAggregation => (
                "tree_aggregation",
                &[F::Steps, F::Participations, F::Separation, F::Nodes, F::NoiseMultiplier],
            ),
            Self::Toeplitz => {
                ("toeplitz", &[F::Steps, F::Bands, F::Participations, F::Separation, F::NoiseMultiplier])
            }
            Self::NonPrivate => ("non_private", &[]),
        }
    }
}
