//! Elementary releases: what is left of an event once its relation is fixed.
//!
//! Everything an accountant needs is in a [`Step`]: sensitivity and noise have become one ratio, so
//! no accountant can apply the sensitivity of another relation. Numbers were checked when the event
//! was made; here they are plain `f64`.

use crate::event::Trials;

/// One elementary release under one fixed neighbouring relation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// N(0, 1) against N(mu, 1); also the worst `mu`-GDP mechanism.
    Gaussian { mu: f64 },
    /// Laplace noise; `epsilon` is L1 sensitivity over scale.
    Laplace { epsilon: f64 },
    /// P(k) ~ exp(-k^2 / (2 sigma^2)) on the integers, against itself moved by `shift`.
    DiscreteGaussian { sigma: f64, shift: u64 },
    /// P(k) ~ exp(-|k| / scale) on the integers, against itself moved by `shift`.
    DiscreteLaplace { scale: f64, shift: u64 },
    /// k-ary randomized response that reports the truth with probability `truth`.
    RandomizedResponse { categories: u64, truth: f64 },
    /// Any mechanism whose privacy loss lies in an interval of length `epsilon` that contains 0.
    BoundedRange { epsilon: f64 },
    /// Any `epsilon`-DP mechanism.
    Pure { epsilon: f64 },
    /// Any (`epsilon`, `delta`)-DP mechanism.
    Approximate { epsilon: f64, delta: f64 },
    /// Any `rho`-zCDP mechanism.
    Zcdp { rho: f64 },
    /// Any mechanism with these Rényi divergences (orders ascending, above 1).
    Renyi { orders: Vec<f64>, epsilons: Vec<f64> },
    /// `base` on a Poisson sample. `base` is the pair of one contribution against none.
    Poisson { rate: f64, sided: Sided, base: Box<Step> },
    /// `base` (under replace) on `sample` of `population` records drawn without replacement.
    WithoutReplacement { sample: u64, population: u64, base: Box<Step> },
    /// `base` on a Poisson sample, for a group of `size` units that is there or is not, or that
    /// becomes another: a binomial number of contributions against none, or against as many of the
    /// opposite. `base` is Gaussian or Laplace, one contribution against none.
    PoissonGroup { size: u64, rate: f64, sided: Sided, base: Box<Step> },
    /// One of `bins` Gaussian releases of distance `mu`, chosen uniformly,
    /// for a unit that is there or is not.
    BallsInBins { bins: u64, mu: f64 },
    /// `base` (under replace) on `sample` independent draws from `population` records.
    WithReplacement { sample: u64, population: u64, base: Box<Step> },
    /// `reports` local reports, each by some `epsilon`-DP randomizer, in
    /// random order (under replace).
    Shuffled { reports: u64, epsilon: f64 },
    /// Any release, for groups of `size` units, of which no more is
    /// known than Rényi divergences for one.
    Group { size: u64, base: Box<Step> },
    /// The best of a secret random number of runs of `run`.
    Selected { trials: Trials, run: Steps },
    /// No guarantee at all.
    NonPrivate,
}

impl Step {
    /// One release by itself: no sample, no group, no selection.
    pub(crate) fn is_elementary(&self) -> bool {
        match self {
            Self::Gaussian { .. }
            | Self::Laplace { .. }
            | Self::DiscreteGaussian { .. }
            | Self::DiscreteLaplace { .. }
            | Self::RandomizedResponse { .. }
            | Self::BoundedRange { .. }
            | Self::Pure { .. }
            | Self::Approximate { .. }
            | Self::Zcdp { .. }
            | Self::Renyi { .. }
            | Self::NonPrivate => true,
            Self::Poisson { .. }
            | Self::WithoutReplacement { .. }
            | Self::PoissonGroup { .. }
            | Self::WithReplacement { .. }
            | Self::BallsInBins { .. }
            | Self::Shuffled { .. }
            | Self::Group { .. }
            | Self::Selected { .. } => false,
        }
    }
}

/// What a neighbour does to a sampled record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sided {
    /// It is absent (add/remove, zero-out): (1-q) N(0) + q N(1) against N(0), and the reverse.
    One,
    /// It is another record (replace): (1-q) N(0) + q N(1) against (1-q) N(0) + q N(-1).
    Two,
}

/// Elementary releases with their multiplicities; the whole is their adaptive composition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Steps(pub(crate) Vec<(Step, u64)>);
