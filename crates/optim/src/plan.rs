//! One value that determines sampling, clipping, divisor, noise, grid and event.
//!
//! # Guarantee
//! Each step releases `Σ_{i in batch} clip(g_i) + N(0, (z C)² I)`, rounded to the grid, which is
//! post-processing. One record moves the sum by at most C (2C under `replace`; the accountant
//! doubles it, not the plan). Together with the distribution of the batches this is
//! [`TrainingPlan::event`], and it depends on public numbers only. The sum is divided by a public
//! constant: the expected size of a batch where n is public, else the divisor that the plan states.
//! It is never divided by the size of the actual batch, which is a statistic of the data.
//!
//! Where a unit has up to k records, the event is that of groups of k.
//!
//! # Individual filter
//! A plan that is [`filtered_over`](TrainingPlan::filtered_over) more steps does those steps, and
//! its event is still that of its rounds: each record takes part until the squares of its
//! contributions add up to those of so many full steps ([`IndividualFilter`] has the proof).
//! Records are then quantised one by one on an exact grid. In float groups the presence of a record
//! would move the rounding of others by more than its own norm.

use std::fmt;

use sordino_data::{BatchPlan, ContributionLimit, Sampling};
use sordino_noise::grid::{Allowance, Grid, GridPlan, MAX_DEPTH};
use sordino_privacy::{
    Claim, Count, Delta, Epsilon, Event, IndividualFilter, Neighbours, NoiseMultiplier, SamplingRate, Unit,
    calibrate,
};

use crate::checkpoint::Checkpoint;
use crate::clip::{Clip, ClipRule, Clipping};
use crate::error::{OptimError, positive};
use crate::objective::FloatSums;
use crate::run::Priced;

/// Bits of depth beyond those of the number of records. With them, truncation moves no sum by 1/512
/// of the noise.
const SPARE_BITS: u32 = 9;

/// The number of records that every grid has room for where n is private: the most that a table can
/// hold.
const MAX_RECORDS: u64 = u32::MAX as u64;

/// The parts of a plan, without its noise.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOptions {
    /// How batches are drawn.
    pub sampling: Sampling,
    /// n, the number of slots of the data. Public under `zero_out` and `replace`.
    pub slots: Count,
    /// The number of batches, or of epochs where sampling is by epochs.
    pub rounds: Count,
    /// The neighbouring relation.
    pub neighbours: Neighbours,
    /// How gradients are clipped.
    pub clipping: Clipping,
    /// Public numbers by which the coordinates of gradients are divided before clipping, and those
    /// of the noisy sum multiplied again.
    pub scales: Option<Vec<f64>>,
    /// The divisor of noisy sums; by default the expected size of a batch.
    pub divisor: Option<f64>,
    /// The unit, and the most records of one unit.
    pub limit: ContributionLimit,
}

/// The noise multipliers of a step's releases. Together they cost as much as one release of
/// [`TrainingPlan::noise_multiplier`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseSplit {
    /// The multiplier of the sum of gradients, in clip norms.
    pub gradients: f64,
    /// The multiplier of the count of unclipped records, if clipping is adaptive. Its unit is 1/2,
    /// which is what one record contributes.
    pub count: Option<f64>,
}

impl NoiseSplit {
    /// The multipliers of gradients and count, if there is a count.
    pub fn with_count(&self) -> Option<(f64, f64)> {
        Some((self.gradients, self.count?))
    }
}

/// A checked plan with its noise.
#[derive(Clone, PartialEq)]
pub struct TrainingPlan {
    options: PlanOptions,
    batches: BatchPlan,
    noise_multiplier: NoiseMultiplier,
    divisor: f64,
    /// The scales, or the bounds of coordinates.
    scales: Option<Vec<f64>>,
    /// The full steps that each record may take part in, and that are charged, if that is not all.
    individual: Option<Count>,
}

impl TrainingPlan {
    /// A plan with this noise multiplier for each step.
    pub fn with_noise(options: PlanOptions, noise_multiplier: NoiseMultiplier) -> Result<Self, OptimError> {
        let PlanOptions { sampling, slots, rounds, neighbours, .. } = options;
        let batches = BatchPlan::new(sampling, slots, rounds, neighbours)?;
        if neighbours.contribution().is_none() {
            return Err(OptimError::Relation { neighbours });
        }
        options.clipping.check(noise_multiplier.get())?;
        if !neighbours.has_public_size() && slots.get() > MAX_RECORDS {
            let expected = "at most 4294967295 where their number is private";
            return Err(OptimError::Parameter { name: "records", expected, got: slots.get() as f64 });
        }
        let divisor = options.divisor.or_else(|| batches.divisor());
        let divisor = positive("divisor", divisor.ok_or(OptimError::NoDivisor { neighbours })?)?;
        let scales = match &options.clipping {
            Clipping::Coordinates { bounds } => Some(bounds.clone()),
            Clipping::Flat { .. } | Clipping::Automatic { .. } | Clipping::Quantile { .. } => {
                options.scales.clone()
            }
        };
        scales.iter().flatten().try_for_each(|scale| positive("scale of a coordinate", *scale).map(drop))?;
        Ok(Self { options, batches, noise_multiplier, divisor, scales, individual: None })
    }

    /// The same noise, for at most as many full steps of each record as the plan has rounds, in
    /// `steps` steps. The event stays. A tool for owners of data of which most records soon have
    /// small gradients.
    ///
    /// Fails unless batches are full, clipping is flat and not scaled, each unit has one record,
    /// and there are no fewer steps than rounds.
    pub fn filtered_over(mut self, steps: Count) -> Result<Self, OptimError> {
        let refused = |why| Err(OptimError::IndividualFilter { why });
        if self.options.sampling != Sampling::FullBatch {
            return refused("needs full batches: on a sample a record's norm does not bound its loss");
        }
        if !matches!(self.options.clipping, Clipping::Flat { .. }) || self.scales.is_some() {
            return refused("needs flat clipping without scales: use `Clipping::Flat`");
        }
        if self.options.limit.max_records() != Count::ONE {
            return refused("counts single records: use it where each unit has at most one");
        }
        if self.individual.is_some() || steps < self.options.rounds {
            return refused(
                "spreads the rounds of a plan over more steps, once: give more steps than rounds",
            );
        }
        let limit = std::mem::replace(&mut self.options.rounds, steps);
        let PlanOptions { sampling, slots, neighbours, .. } = self.options;
        self.batches = BatchPlan::new(sampling, slots, steps, neighbours)?;
        IndividualFilter::new(limit, 0)?;
        Ok(Self { individual: Some(limit), ..self })
    }

    /// A new filter for the records of one run, if the plan has one.
    pub(crate) fn individual_filter(&self) -> Result<Option<IndividualFilter>, OptimError> {
        let filter = |limit| IndividualFilter::new(limit, self.options.slots.get() as usize);
        Ok(self.individual.map(filter).transpose()?)
    }

    /// The full steps that each record may take part in, if the plan has an individual filter.
    pub fn individual_limit(&self) -> Option<Count> {
        self.individual
    }

    /// The plan with the least noise that costs at most (ε, δ), by the tightest accountant.
    pub fn calibrated(options: PlanOptions, epsilon: Epsilon, delta: Delta) -> Result<Self, OptimError> {
        let noise = Self::least_noise(&options, epsilon, delta)?;
        Self::with_noise(options, noise.value)
    }

    fn least_noise(
        options: &PlanOptions,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<calibrate::Calibrated<NoiseMultiplier>, OptimError> {
        let PlanOptions { sampling, slots, rounds, neighbours, ref limit, .. } = *options;
        let batches = BatchPlan::new(sampling, slots, rounds, neighbours)?;
        let rate = match sampling {
            Sampling::Poisson { rate } => Some(rate),
            Sampling::FullBatch => Some(SamplingRate::new(1.0)?),
            Sampling::WithoutReplacement { .. }
            | Sampling::WithReplacement { .. }
            | Sampling::ShuffledEpochs { .. }
            | Sampling::BallsInBins { .. } => None,
        };
        Ok(match rate.filter(|_| limit.max_records() == Count::ONE) {
            // The fast path: a closed form where nothing is sampled.
            Some(rate) => calibrate::noise_multiplier(epsilon, delta, neighbours, rate, rounds)?,
            None => calibrate::noise_of(epsilon, delta, |noise| {
                Claim::new(neighbours, limit.event(batches.event(Event::gaussian(noise))))
            })?,
        })
    }

    /// The event of the whole run.
    pub fn event(&self) -> Event {
        match self.individual {
            // Full batches have no event of their own: `filtered_over` has no others.
            Some(limit) => Event::gaussian(self.noise_multiplier).repeated(limit),
            None => self.event_of(&self.batches),
        }
    }

    /// The claim of the whole run.
    pub fn claim(&self) -> Claim {
        Claim::new(self.neighbours(), self.event())
    }

    /// The claim of `steps` steps. An epoch that has begun counts as a whole.
    pub fn claim_of(&self, steps: u64) -> Result<Claim, OptimError> {
        let rounds = steps.div_ceil(self.steps_per_round());
        // With an individual filter, no number of steps costs more than its limit.
        let rounds = self.individual.map_or(rounds, |limit| limit.get().min(rounds));
        let event = if rounds == 0 {
            Event::composed([])
        } else {
            let PlanOptions { sampling, slots, neighbours, .. } = self.options;
            self.event_of(&BatchPlan::new(sampling, slots, Count::new(rounds)?, neighbours)?)
        };
        Ok(Claim::new(self.neighbours(), event))
    }

    /// The claim that must be paid before a run can resume from `checkpoint`: the steps that may be
    /// done a second time.
    pub fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, OptimError> {
        checkpoint.replay_claim(self)
    }

    fn event_of(&self, batches: &BatchPlan) -> Event {
        self.options.limit.event(batches.event(Event::gaussian(self.noise_multiplier)))
    }

    /// The number of batches in an epoch; 1 where sampling is not by epochs.
    pub(crate) fn steps_per_round(&self) -> u64 {
        self.batches.steps() / self.options.rounds.get()
    }

    /// The unit, and the most records of one unit.
    pub fn limit(&self) -> &ContributionLimit {
        &self.options.limit
    }

    /// The neighbouring relation.
    pub fn neighbours(&self) -> Neighbours {
        self.options.neighbours
    }

    /// How batches are drawn.
    pub fn batches(&self) -> &BatchPlan {
        &self.batches
    }

    /// z, the noise multiplier of a step as it is accounted for.
    pub fn noise_multiplier(&self) -> NoiseMultiplier {
        self.noise_multiplier
    }

    /// How the noise of a step is split between gradients and count.
    pub fn noise_split(&self) -> NoiseSplit {
        let (gradients, count) = self.options.clipping.multipliers(self.noise_multiplier.get());
        NoiseSplit { gradients, count }
    }

    /// The divisor of noisy sums.
    pub fn divisor(&self) -> f64 {
        self.divisor
    }

    /// How gradients are clipped.
    pub fn clipping(&self) -> &Clipping {
        &self.options.clipping
    }

    /// C of the first step, in the units of the (scaled) gradient.
    pub(crate) fn initial_clip_norm(&self, dimension: usize) -> f64 {
        match &self.options.clipping {
            Clipping::Flat { norm } | Clipping::Automatic { norm, .. } => *norm,
            Clipping::Coordinates { .. } => (dimension as f64).sqrt(),
            Clipping::Quantile { initial, .. } => *initial,
        }
    }

    /// The clipping and the grids of a step with clip norm C, for an objective of this shape.
    pub fn clip(&self, clip_norm: f64, dimension: usize, sums: FloatSums) -> Result<Clip<'_>, OptimError> {
        let (gradients, count) = self.options.clipping.multipliers(self.noise_multiplier.get());
        let most = self.largest_batch();
        let plan = GridPlan::new(clip_norm, gradients, dimension, most);
        let allowance = sums.allowance(self.neighbours())?;
        let allowance = if self.individual.is_some() { Allowance::Exact } else { allowance };
        let grid = deepest(plan.allowance(allowance), most)?;
        let count = count.map(|noise| deepest(GridPlan::new(0.5, noise, 1, most), most)).transpose()?;
        let rule = match self.options.clipping {
            Clipping::Flat { .. } | Clipping::Quantile { .. } => ClipRule::Flat,
            Clipping::Automatic { gamma, .. } => ClipRule::Automatic { gamma },
            Clipping::Coordinates { .. } => ClipRule::Coordinates,
        };
        Ok(Clip::new(grid, rule, self.scales.as_deref(), count))
    }

    /// The factor of coordinate j of a noisy sum.
    #[inline]
    pub(crate) fn scale(&self, j: usize) -> f64 {
        self.scales.as_ref().map_or(1.0, |scales| scales[j])
    }

    pub(crate) fn check_dimension(&self, dimension: usize) -> Result<(), OptimError> {
        match &self.scales {
            Some(scales) if scales.len() != dimension => {
                Err(OptimError::Length { what: "scales", expected: dimension, got: scales.len() })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The size of the largest possible batch. It depends on public numbers alone, because released
    /// numbers reveal the depth of their grid.
    fn largest_batch(&self) -> u64 {
        let is_public = self.options.neighbours.has_public_size();
        let n = if is_public { self.options.slots.get() } else { MAX_RECORDS };
        match self.options.sampling {
            Sampling::Poisson { .. } | Sampling::BallsInBins { .. } | Sampling::FullBatch => n,
            Sampling::WithoutReplacement { size } | Sampling::WithReplacement { size } => size.get(),
            Sampling::ShuffledEpochs { batches } => n.div_ceil(batches.get()),
        }
    }
}

impl Priced for TrainingPlan {
    fn steps(&self) -> u64 {
        self.batches.steps()
    }

    fn claim(&self) -> Claim {
        Self::claim(self)
    }

    fn unit(&self) -> Unit {
        self.options.limit.unit().clone()
    }

    fn claim_of(&self, steps: u64) -> Result<Claim, OptimError> {
        Self::claim_of(self, steps)
    }
}

/// The deepest grid that the plan allows, up to [`SPARE_BITS`] beyond the bits of `most`, the size
/// of the largest batch; or else the shallowest grid that it allows.
fn deepest(plan: GridPlan, most: u64) -> Result<Grid, OptimError> {
    let least = plan.least_depth()?;
    let wanted = (u64::BITS - most.leading_zeros() + SPARE_BITS).min(MAX_DEPTH);
    let deeper = (least.depth() + 1..=wanted).rev().find_map(|depth| plan.at_depth(depth).ok());
    Ok(deeper.unwrap_or(least))
}

/// Checkpoints know their plan by this text, so a plan without an individual filter is written as
/// it was before there were such filters.
impl fmt::Debug for TrainingPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plan = f.debug_struct("TrainingPlan");
        plan.field("options", &self.options)
            .field("batches", &self.batches)
            .field("noise_multiplier", &self.noise_multiplier)
            .field("divisor", &self.divisor)
            .field("scales", &self.scales);
        if let Some(limit) = &self.individual {
            plan.field("individual", limit);
        }
        plan.finish()
    }
}
