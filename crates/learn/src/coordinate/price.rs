//! What coordinate descent costs, whole and by passes.

use sordino_data::{ContributionLimit, Encoding};
use sordino_optim::{OptimError, Priced};
use sordino_privacy::{Claim, Count, Event, Neighbours, NoiseMultiplier, Unit};

use super::{CoordinateClipping, CoordinateDescent, Smoothness};
use crate::error::LearnError;

/// Noise and how often it is drawn; see the [module](super) for why that is what it costs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Price {
    /// z of a step.
    pub(super) noise: NoiseMultiplier,
    /// The multiplier of the estimate of smoothness, if there is one.
    pub(super) estimate: Option<NoiseMultiplier>,
    neighbours: Neighbours,
    limit: ContributionLimit,
    passes: u64,
    /// Gaussian releases of a pass, and of all: the last pass may be shorter.
    of_a_pass: u64,
    releases: Count,
}

impl Price {
    pub(super) fn new(
        learner: &CoordinateDescent,
        encoding: &Encoding,
        noise: NoiseMultiplier,
    ) -> Result<Self, LearnError> {
        let (width, steps) = (encoding.width() as u64, learner.all_steps());
        let passes = steps.div_ceil(width);
        let (of_a_pass, releases) = match learner.clipping {
            CoordinateClipping::Jointly { .. } => (1, passes),
            CoordinateClipping::BySmoothness { .. }
            | CoordinateClipping::Uniform { .. }
            | CoordinateClipping::Lipschitz => (width, steps),
        };
        let releases = Count::new(releases)?;
        let estimate = match learner.smoothness {
            Smoothness::Declared | Smoothness::Public(_) => None,
            // Squares of inverse multipliers add up: the estimate has its share of them.
            Smoothness::Estimated { share, .. } => {
                let ratio = ((1.0 - share) / (share * releases.get() as f64)).sqrt();
                Some(NoiseMultiplier::new(noise.get() * ratio)?)
            }
        };
        let limit = ContributionLimit::of(encoding.schema().unit());
        Ok(Self { noise, estimate, neighbours: learner.neighbours, limit, passes, of_a_pass, releases })
    }

    /// Of the estimate and all passes.
    pub(super) fn whole(&self) -> Claim {
        self.with_estimate(Some(self.releases))
    }

    fn with_estimate(&self, releases: Option<Count>) -> Claim {
        let steps = releases.map(|releases| self.gaussians(releases));
        let event = match (self.estimate.map(Event::gaussian), steps) {
            (None, Some(steps)) => steps,
            (estimate, steps) => Event::composed(estimate.into_iter().chain(steps)),
        };
        self.to_units(event)
    }

    fn gaussians(&self, releases: Count) -> Event {
        Event::gaussian(self.noise).repeated(releases)
    }

    /// Releases of so many passes, whichever they are: at most. None of no passes.
    fn releases_of(&self, passes: u64) -> Option<Count> {
        let releases = passes.saturating_mul(self.of_a_pass).min(self.releases.get());
        // Between 1 and a count, or none at all.
        Count::new(releases).ok()
    }

    /// What costs a record this event, in terms of units.
    fn to_units(&self, event: Event) -> Claim {
        Claim::new(self.neighbours, self.limit.event(event))
    }
}

/// By passes.
impl Priced for Price {
    fn steps(&self) -> u64 {
        self.passes
    }

    fn claim(&self) -> Claim {
        self.whole()
    }

    fn unit(&self) -> Unit {
        self.limit.unit().clone()
    }

    fn claim_of(&self, passes: u64) -> Result<Claim, OptimError> {
        Ok(self.with_estimate(self.releases_of(passes)))
    }

    /// Without the estimate, which is never made a second time.
    fn claim_again(&self, passes: u64) -> Result<Claim, OptimError> {
        Ok(match self.releases_of(passes) {
            Some(releases) => self.to_units(self.gaussians(releases)),
            None => Claim::new(self.neighbours, Event::composed([])),
        })
    }
}
