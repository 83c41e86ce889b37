//! What coordinate descent costs: all of it, or some of its passes.

use sordino_data::{ContributionLimit, Encoding};
use sordino_optim::{OptimError, Priced};
use sordino_privacy::{Claim, Count, Event, Neighbours, NoiseMultiplier, Unit};

use super::{CoordinateClipping, CoordinateDescent, Smoothness};
use crate::error::LearnError;

/// The noise and how often it is drawn. The [module](super) shows why these determine the cost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Price {
    /// z, the noise multiplier of a step.
    pub(super) noise: NoiseMultiplier,
    /// The noise multiplier of the estimate of smoothness, if there is one.
    pub(super) estimate: Option<NoiseMultiplier>,
    neighbours: Neighbours,
    limit: ContributionLimit,
    passes: u64,
    /// Gaussian releases in a full pass.
    releases_per_pass: u64,
    /// Gaussian releases in all passes. The last pass may be shorter.
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
        let (releases_per_pass, releases) = match learner.clipping {
            CoordinateClipping::Jointly { .. } => (1, passes),
            CoordinateClipping::BySmoothness { .. }
            | CoordinateClipping::Uniform { .. }
            | CoordinateClipping::Lipschitz => (width, steps),
        };
        let releases = Count::new(releases)?;
        let estimate = match learner.smoothness {
            Smoothness::Declared | Smoothness::Public(_) => None,
            // Squares of inverse multipliers add up, and the estimate takes its share of the sum.
            Smoothness::Estimated { share, .. } => {
                let ratio = ((1.0 - share) / (share * releases.get() as f64)).sqrt();
                Some(NoiseMultiplier::new(noise.get() * ratio)?)
            }
        };
        let limit = ContributionLimit::of(encoding.schema().unit());
        Ok(Self {
            noise,
            estimate,
            neighbours: learner.neighbours,
            limit,
            passes,
            releases_per_pass,
            releases,
        })
    }

    /// The claim of the estimate and all passes.
    pub(super) fn whole(&self) -> Claim {
        self.with_estimate(Some(self.releases))
    }

    /// The claim of the estimate and so many releases of steps.
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

    /// The most releases that this number of passes makes, whichever passes they are; `None` for 0
    /// passes.
    fn releases_of(&self, passes: u64) -> Option<Count> {
        let releases = passes.saturating_mul(self.releases_per_pass).min(self.releases.get());
        // Fails for 0 alone: the number is at most `self.releases`, which is a `Count`.
        Count::new(releases).ok()
    }

    /// The claim for units, from the event for one record.
    fn to_units(&self, event: Event) -> Claim {
        Claim::new(self.neighbours, self.limit.event(event))
    }
}

/// A step of the price is a pass.
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

    /// Excludes the estimate, which is never made a second time.
    fn claim_again(&self, passes: u64) -> Result<Claim, OptimError> {
        Ok(match self.releases_of(passes) {
            Some(releases) => self.to_units(self.gaussians(releases)),
            None => Claim::new(self.neighbours, Event::composed([])),
        })
    }
}
