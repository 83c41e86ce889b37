//! From a claim to elementary releases: the relation is applied once, here.
//!
//! # What a noise multiplier costs
//! With noise z times the clip norm C, one contribution more or fewer moves a clipped sum by C and
//! one changed contribution by 2C, so the Gaussian pair has mu = 1/z under `add_remove` and
//! `zero_out`, and mu = 2/z under `replace`. `sigma` with `sensitivity` is mu = sensitivity /
//! sigma under the relation as claimed.
//!
//! # Sampling
//! - *Poisson, add/remove or zero-out.* If (P, Q) dominates the base release on one record more
//!   against none, ((1-q) Q + q P, Q) and its reverse dominate the sampled one (Zhu, Dong, Wang,
//!   "Optimal Accounting of Differential Privacy via Characteristic Function", 2022, theorem
//!   11). Under zero-out this uses that a null record contributes exactly nothing, so that
//!   sampling it is not sampling anything.
//! - *Poisson, replace.* A record may be absent from the sample on both sides, so the base must say
//!   how far a record is from being absent. A noise multiplier does (one clip norm); a guarantee or
//!   a sensitivity stated under `replace` does not, and is refused.
//! - *A sample used for several releases.* Sampling does not distribute over composition: the
//!   pair is the mixture of products, not the product of mixtures. Gaussian releases of one
//!   sample are one Gaussian release with mu the root of the sum of squares, which is sampled as
//!   a whole; any other list is refused.
//! - *Poisson of Poisson.* A record survives two independent coins with the product of the rates.
//! - *Poisson of bounded size.* Module `truncated`.
//! - *Fixed size without replacement.* Only under `replace`, with the base under `replace`.
//!
//! # Shuffled epochs
//! Batches of one epoch are disjoint and every unit is in exactly one, so a neighbour changes one
//! batch and the epoch costs what one batch costs (parallel composition: McSherry, "Privacy
//! Integrated Queries", 2009; later batches may depend on released results of earlier ones). Epochs
//! compose. This needs batches that do not move when a unit changes: slots under `zero_out` and
//! `replace`; under `add_remove` each unit must pick its batch without looking at the others.
//! Nothing is gained from the secrecy of the order, which no theorem here covers.
//!
//! # Groups, selections, hidden states, trees, shuffled reports
//! Modules `group` and `wrapped`.
//!
//! # Rounding
//! Quotients and products are rounded up to the next double, since a single pure bound is
//! handed on as it is. A quotient beyond the largest double is no guarantee at all, and
//! one below the smallest is not free.

mod aside;
mod attained;
mod equal;
pub(crate) mod group;
mod lower;
mod toeplitz;
mod tree;
mod truncated;
mod wrapped;

pub(crate) use self::attained::is_attained;
use self::equal::Grouped;
use self::group::grouped;
use self::lower::{Lens, lower};
use self::toeplitz::Toeplitz;
use self::tree::Tree;
use self::truncated::Truncated;
use super::error::AccountError;
use super::step::{Sided, Step, Steps};
use crate::claim::Claim;
use crate::event::{Event, FixedSample};
use crate::numerics::squares::SquareSum;
use crate::params::Count;
use crate::relation::{Contribution, Neighbours};

/// How deep events may nest: far more than JSON allows, far less than the stack.
const MAX_DEPTH: usize = 128;

/// The elementary releases of a claim, equal ones grouped, free ones left out.
pub(crate) fn flatten(claim: &Claim) -> Result<Steps, AccountError> {
    Ok(flatten_for(claim, LOCAL_DELTA)?.0)
}

/// The same, where local reports without a pure bound are taken at `local_delta`, or, if that is 0,
/// as if they were not shuffled: any choice is a proof. With the number of such reports.
pub(crate) fn flatten_for(claim: &Claim, local_delta: f64) -> Result<(Steps, f64), AccountError> {
    let lens = Lens::of(claim.neighbours);
    let mut walk = Walk { local_delta, ..Walk::new(claim.neighbours, lens) };
    walk.visit(&claim.event, 1, 0)?;
    Ok((walk.out.into_steps(), walk.local_reports))
}

/// Releases of one mechanism that the claim allows, or of parts of it, which can only cost less:
/// for a certified lower end where the steps of [`flatten`] are only an upper bound.
///
/// Participations come as early and as close together as they may; a batch that is full counts as
/// missed; Gaussian reports are added up; a group of units moves a sum with Laplace noise, or is
/// one unit; a descent is on a quadratic. What has no such mechanism here is left out.
pub(crate) fn instance(claim: &Claim) -> Result<Steps, AccountError> {
    let lens = Lens::of(claim.neighbours);
    let mut walk = Walk { instance: true, ..Walk::new(claim.neighbours, lens) };
    walk.visit(&claim.event, 1, 0)?;
    Ok(walk.out.into_steps())
}

/// Local reports are taken at this delta where nobody says which one serves.
pub(crate) const LOCAL_DELTA: f64 = 1e-16;

/// One descent through an event, under one relation.
struct Walk {
    neighbours: Neighbours,
    lens: Lens,
    /// Units that change together.
    group: u64,
    /// Inside the batches of an epoch.
    in_epoch: bool,
    /// Inside the one release of a sample.
    in_sample: bool,
    /// The delta at which local reports without a pure bound are taken, and how many there are.
    local_delta: f64,
    local_reports: f64,
    /// For a lower end (see [`instance`]).
    instance: bool,
    out: Grouped,
}

impl Walk {
    fn new(neighbours: Neighbours, lens: Lens) -> Self {
        Self {
            neighbours,
            lens,
            group: 1,
            in_epoch: false,
            in_sample: false,
            local_delta: LOCAL_DELTA,
            local_reports: 0.0,
            instance: false,
            out: Grouped::default(),
        }
    }

    fn visit(&mut self, event: &Event, count: u64, depth: usize) -> Result<(), AccountError> {
        self.check_depth(depth)?;
        match event {
            Event::Repeated { count: times, event } => self.visit(event, multiply(count, *times)?, depth + 1),
            Event::Composed { events } => {
                events.iter().try_for_each(|event| self.visit(event, count, depth + 1))
            }
            Event::ShuffledEpochs { epochs, event: inner } => {
                self.units(event, "its vectors are not units in batches")?;
                self.epochs(*epochs, inner, count, depth)
            }
            Event::BallsInBins { epochs, event: inner, bins } => {
                self.units(event, "its vectors are not units in bins")?;
                self.balls(*bins, *epochs, inner, count, depth)
            }
            Event::Group { size, event: inner } => self.grouped(event, *size, inner, count, depth),
            Event::Selected { trials, event } => self.selected(*trials, event, count, depth),
            Event::LastIterate { .. } => self.last_iterate(event, count, depth),
            Event::OnePass { .. } => self.one_pass(event, count, depth),
            Event::TreeAggregation { steps, participations, separation, nodes, noise_multiplier } => {
                let tree = Tree::new(*steps, *participations, *separation, *nodes);
                let sensitivity = if self.instance { tree.instance() } else { tree.sensitivity() };
                let step = self.correlated(event, sensitivity, *noise_multiplier)?;
                self.add(step, count)
            }
            Event::Toeplitz { steps, bands, participations, separation, noise_multiplier } => {
                let factor = Toeplitz::new(*steps, *bands, *participations, *separation);
                let sensitivity = if self.instance { factor.instance() } else { factor.sensitivity() };
                let step = self.correlated(event, sensitivity, *noise_multiplier)?;
                self.add(step, count)
            }
            Event::ShuffledReports { reports, event: inner } => {
                self.shuffled(event, *reports, inner, count, depth)
            }
            Event::PoissonSampled { sampling_rate, event } => {
                let step = self.poisson(sampling_rate.get(), event, depth)?;
                self.add(step, count)
            }
            Event::PoissonSampledTruncated { sampling_rate, population, max_batch, event: inner } => {
                let (rate, population, most) = (sampling_rate.get(), population.get(), max_batch.get());
                self.truncated(event, Truncated { rate, population, most }, inner, count, depth)
            }
            Event::SampledWithoutReplacement { sample, event: inner } => {
                let step = self.without_replacement(event, *sample, inner, depth)?;
                self.add(step, count)
            }
            Event::SampledWithReplacement { sample, event: inner } => {
                let step = self.with_replacement(event, *sample, inner, depth)?;
                self.add(step, count)
            }
            Event::Gaussian(_)
            | Event::Laplace(_)
            | Event::DiscreteGaussian { .. }
            | Event::DiscreteLaplace { .. }
            | Event::RandomizedResponse(_)
            | Event::Exponential { .. }
            | Event::Pure { .. }
            | Event::Approximate { .. }
            | Event::Zcdp { .. }
            | Event::Gdp { .. }
            | Event::Renyi(_)
            | Event::AboveThreshold { .. }
            | Event::NonPrivate => {
                let step = lower(event, self.lens)?;
                self.add(step, count)
            }
        }
    }

    /// `count` times `step`, which is stated for one unit.
    fn add(&mut self, step: Step, count: u64) -> Result<(), AccountError> {
        if self.instance {
            return self.out.add(group::instance(step, self.group)?, count);
        }
        self.spread_over_batches(&step)?;
        self.out.add(grouped(step, self.group)?, count)
    }

    /// Refuses groups whose units may be in different batches, where no
    /// theorem adds up what they cost there.
    fn spread_over_batches(&self, step: &Step) -> Result<(), AccountError> {
        if self.in_epoch && self.group > 1 && !step.is_elementary() {
            return Err(AccountError::unsupported(
                "group",
                "of units in different batches of an epoch, each batch sampled or selected again: no theorem \
                 covers it; state the group's own guarantee",
            ));
        }
        Ok(())
    }

    /// `event` on a Poisson sample.
    fn poisson(&self, rate: f64, event: &Event, depth: usize) -> Result<Step, AccountError> {
        let (sided, lens) = match self.neighbours.contribution() {
            Some(Contribution::Absent) => (Sided::One, self.lens),
            Some(Contribution::Changed) => (Sided::Two, Lens::AgainstAbsent),
            None => {
                return Err(AccountError::meaningless(
                    "poisson_sampled",
                    "a metric ball has no records to sample",
                ));
            }
        };
        let single = unwrap_single(event);
        if let Event::PoissonSampled { sampling_rate, event } = single {
            self.check_depth(depth)?;
            // Two positive rates have a positive product, even one too small for a double.
            let rate = (rate * sampling_rate.get()).max(f64::MIN_POSITIVE);
            return self.poisson(rate, event, depth + 1);
        }
        let base = self.base("poisson_sampled", single, lens, depth)?;
        if rate < 1.0 {
            // A unit that is not drawn is safe even from a release without a guarantee.
            return Ok(match (base, sided) {
                (Step::NonPrivate, Sided::One) => {
                    let revealed = Step::Approximate { epsilon: 0.0, delta: 1.0 };
                    Step::Poisson { rate, sided, base: Box::new(revealed) }
                }
                (Step::NonPrivate, Sided::Two) => Step::Approximate { epsilon: 0.0, delta: rate },
                (base, sided) => Step::Poisson { rate, sided, base: Box::new(base) },
            });
        }
        match sided {
            Sided::One => Ok(base),
            // Everyone is in, so that one contribution becomes another: as without sampling.
            Sided::Two => self.base("poisson_sampled", single, Lens::TwoNorms, depth),
        }
    }

    /// `inner` on a Poisson sample of bounded size: two releases (module `truncated`).
    fn truncated(
        &mut self,
        event: &Event,
        sample: Truncated,
        inner: &Event,
        count: u64,
        depth: usize,
    ) -> Result<(), AccountError> {
        if !self.neighbours.has_public_size() {
            return Err(AccountError::meaningless(
                event.name(),
                format!(
                    "under {}: how often a batch is full depends on the number of records, which must be \
                     public; claim it under zero_out or replace",
                    self.neighbours
                ),
            ));
        }
        if self.instance {
            // Nobody else contributes: the unit is seen if it has joined and the batch is not full.
            let rate = sample.rate * (1.0 - sample.full()) * (1.0 - 1e-14);
            if rate <= 0.0 {
                return Ok(());
            }
            let step = self.poisson(rate, inner, depth)?;
            return self.out.add(step, count);
        }
        let step = self.poisson(sample.rate, inner, depth)?;
        self.add(step, count)?;
        let delta = sample.disclosure(self.group);
        let disclosed = Step::Approximate { epsilon: 0.0, delta };
        self.out.add(if delta < 1.0 { disclosed } else { Step::NonPrivate }, count)
    }

    /// `inner` on a sample of fixed size.
    fn without_replacement(
        &self,
        event: &Event,
        sample: FixedSample,
        inner: &Event,
        depth: usize,
    ) -> Result<Step, AccountError> {
        self.replaced(event)?;
        let base = self.base(event.name(), unwrap_single(inner), Lens::TwoNorms, depth)?;
        let (sample, population) = (sample.sample_size().get(), sample.population().get());
        if sample == population {
            return Ok(base);
        }
        if base == Step::NonPrivate {
            return Ok(drawn(sample as f64 / population as f64));
        }
        Ok(Step::WithoutReplacement { sample, population, base: Box::new(base) })
    }

    /// The one release that is made of a sample.
    fn base(&self, sampling: &str, event: &Event, lens: Lens, depth: usize) -> Result<Step, AccountError> {
        match event {
            // Bounded range gives no single pair to mix; as a pure release it has one.
            Event::Exponential { epsilon } => lower(&Event::Pure { epsilon: *epsilon }, lens),
            Event::Zcdp { .. } | Event::Renyi(_) => Err(AccountError::unsupported(
                event.name(),
                format!(
                    "inside {sampling}: concentrated and Rényi bounds do not say how sampling helps; \
                     state the mechanism itself"
                ),
            )),
            Event::Repeated { .. } | Event::Composed { .. } => {
                self.gaussian_base(sampling, event, lens, depth)
            }
            Event::Gaussian(_)
            | Event::Laplace(_)
            | Event::DiscreteGaussian { .. }
            | Event::DiscreteLaplace { .. }
            | Event::RandomizedResponse(_)
            | Event::Pure { .. }
            | Event::Approximate { .. }
            | Event::Gdp { .. }
            | Event::AboveThreshold { .. }
            | Event::NonPrivate => lower(event, lens),
            Event::PoissonSampled { .. }
            | Event::PoissonSampledTruncated { .. }
            | Event::SampledWithoutReplacement { .. }
            | Event::SampledWithReplacement { .. }
            | Event::ShuffledEpochs { .. }
            | Event::BallsInBins { .. }
            | Event::ShuffledReports { .. }
            | Event::LastIterate { .. }
            | Event::OnePass { .. }
            | Event::Group { .. }
            | Event::Selected { .. }
            | Event::TreeAggregation { .. }
            | Event::Toeplitz { .. } => Err(AccountError::unsupported(
                event.name(),
                format!("inside {sampling}: only a single noisy release can be sampled"),
            )),
        }
    }

    /// Several Gaussian releases of one sample are one.
    fn gaussian_base(
        &self,
        sampling: &str,
        event: &Event,
        lens: Lens,
        depth: usize,
    ) -> Result<Step, AccountError> {
        let mut several = Walk { in_sample: true, ..Walk::new(self.neighbours, lens) };
        several.visit(event, 1, depth + 1)?;
        let mut squares = SquareSum::default();
        for (step, count) in several.out.into_steps().0 {
            let Step::Gaussian { mu } = step else {
                return Err(AccountError::unsupported(
                    event.name(),
                    format!(
                        "inside {sampling}: one sample serves several releases, whose joint law is no \
                         product; \
                         only Gaussian releases can be combined. For a fresh sample each time, put \
                         {sampling} inside {}",
                        event.name()
                    ),
                ));
            };
            squares.add(mu, count);
        }
        let mu = squares.root().upper;
        Ok(if mu.is_finite() { Step::Gaussian { mu } } else { Step::NonPrivate })
    }

    fn check_depth(&self, depth: usize) -> Result<(), AccountError> {
        if depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(AccountError::TooLarge { what: "the depth of nested events".into(), limit: MAX_DEPTH as u64 })
    }

    /// Refuses relations that have no units.
    fn units(&self, event: &Event, why: &str) -> Result<(), AccountError> {
        match self.neighbours.contribution() {
            Some(Contribution::Absent | Contribution::Changed) => Ok(()),
            None => Err(AccountError::meaningless(event.name(), format!("under {}: {why}", self.neighbours))),
        }
    }

    /// Refuses all relations but `replace`.
    fn replaced(&self, event: &Event) -> Result<(), AccountError> {
        match self.neighbours.contribution() {
            Some(Contribution::Changed) => Ok(()),
            Some(Contribution::Absent) | None => Err(AccountError::meaningless(
                event.name(),
                format!(
                    "under {}: a sample of fixed size needs a public number of records, all of them \
                     present; claim it under replace",
                    self.neighbours
                ),
            )),
        }
    }
}

/// A release that reveals everything, of whoever is drawn: with probability `rate`.
fn drawn(rate: f64) -> Step {
    let delta = rate.next_up();
    if delta < 1.0 { Step::Approximate { epsilon: 0.0, delta } } else { Step::NonPrivate }
}

/// A composition of one event, once, is that event.
fn unwrap_single(mut event: &Event) -> &Event {
    loop {
        if let Event::Repeated { count: Count::ONE, event: inner } = event {
            event = inner;
        } else if let Event::Composed { events } = event
            && let [only] = &events[..]
        {
            event = only;
        } else {
            return event;
        }
    }
}

fn multiply(count: u64, times: Count) -> Result<u64, AccountError> {
    count.checked_mul(times.get()).filter(|product| *product <= Count::MAX).ok_or_else(too_many)
}

fn too_many() -> AccountError {
    AccountError::TooLarge { what: "the number of releases".into(), limit: Count::MAX }
}

#[cfg(test)]
mod tests;
