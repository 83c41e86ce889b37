//! One value from which sampling, clipping, divisor, noise, grid and event follow.
//!
//! # Guarantee
//! Each step releases `Σ_{i in batch} clip(g_i) + N(0, (z C)² I)`, rounded to the grid, which is
//! post-processing; one record moves the sum by at most C (2C under `replace`, which the accountant
//! doubles, not the plan). Together with the law of the batches that is [`Plan::event`], and it
//! depends on public numbers only. The sum is divided by a public constant: the expected size of a
//! batch where n is public, else what the plan states. Never by the size of the batch at hand,
//! which is a statistic of the data.
//!
//! Where a unit has up to k records the event is that of groups of k.

use sordino_data::{BatchPlan, ContributionLimit, Sampling};
use sordino_noise::grid::{Grid, GridPlan, MAX_DEPTH};
use sordino_privacy::{
    Claim, Count, Delta, Epsilon, Event, Neighbours, NoiseMultiplier, SamplingRate, Unit, calibrate,
};

use crate::checkpoint::Checkpoint;
use crate::clip::{Clip, ClipRule, Clipping};
use crate::error::{OptimError, positive};
use crate::objective::FloatSums;
use crate::run::Priced;

/// Bits of depth beyond those of the number of records: truncation then
/// moves no sum by 1/512 of the noise.
const SPARE_BITS: u32 = 9;

/// Where n is private, the records that every grid has room for: the most that a table can hold.
const MOST_RECORDS: u64 = u32::MAX as u64;

/// What a plan is made of, beside its noise.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOptions {
    /// How batches are drawn.
    pub sampling: Sampling,
    /// n: slots of the data. Public under `zero_out` and `replace`.
    pub slots: Count,
    /// Batches, or epochs for samplings by epochs.
    pub rounds: Count,
    /// The relation.
    pub neighbours: Neighbours,
    /// How gradients are clipped.
    pub clipping: Clipping,
    /// What coordinates of gradients are divided by before clipping, and
    /// multiplied by after the noise.
    pub scales: Option<Vec<f64>>,
    /// What noisy sums are divided by; the expected size of a batch if not given.
    pub divisor: Option<f64>,
    /// How many records a unit has.
    pub limit: ContributionLimit,
}

/// Noise multipliers of what a step releases: together they cost what one release
/// of [`Plan::noise_multiplier`] does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseSplit {
    /// Of the sum of gradients, in clip norms.
    pub gradients: f64,
    /// Of the count of unclipped records, where the clip norm follows one: in halves of a
    /// record, which is what one contributes.
    pub count: Option<f64>,
}

impl NoiseSplit {
    /// Gradients and count, where there is one.
    pub fn with_count(&self) -> Option<(f64, f64)> {
        Some((self.gradients, self.count?))
    }
}

/// A checked plan with its noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    options: PlanOptions,
    batches: BatchPlan,
    noise_multiplier: NoiseMultiplier,
    divisor: f64,
    /// Scales, or the bounds of coordinates.
    scales: Option<Vec<f64>>,
}

impl Plan {
    /// A plan with this noise multiplier a step.
    pub fn with_noise(options: PlanOptions, noise_multiplier: NoiseMultiplier) -> Result<Self, OptimError> {
        let PlanOptions { sampling, slots, rounds, neighbours, .. } = options;
        let batches = BatchPlan::new(sampling, slots, rounds, neighbours)?;
        if neighbours.contribution().is_none() {
            return Err(OptimError::Relation { neighbours });
        }
        options.clipping.check(noise_multiplier.get())?;
        if !neighbours.has_public_size() && slots.get() > MOST_RECORDS {
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
        Ok(Self { options, batches, noise_multiplier, divisor, scales })
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
            // The fast road: closed form without sampling.
            Some(rate) => calibrate::noise_multiplier(epsilon, delta, neighbours, rate, rounds)?,
            None => calibrate::noise_of(epsilon, delta, |noise| {
                Claim::new(neighbours, limit.event(batches.event(Event::gaussian(noise))))
            })?,
        })
    }

    /// What the whole run costs.
    pub fn event(&self) -> Event {
        self.event_of(&self.batches)
    }

    /// What the whole run costs, under the relation.
    pub fn claim(&self) -> Claim {
        Claim::new(self.neighbours(), self.event())
    }

    /// What `steps` of its steps cost; of epochs, as many as the steps have begun.
    pub fn claim_of(&self, steps: u64) -> Result<Claim, OptimError> {
        let rounds = steps.div_ceil(self.steps_a_round());
        let event = if rounds == 0 {
            Event::composed([])
        } else {
            let PlanOptions { sampling, slots, neighbours, .. } = self.options;
            self.event_of(&BatchPlan::new(sampling, slots, Count::new(rounds)?, neighbours)?)
        };
        Ok(Claim::new(self.neighbours(), event))
    }

    /// What must be charged before a run can go on from `checkpoint`: the
    /// steps that may be done a second time.
    pub fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, OptimError> {
        checkpoint.replay_claim(self)
    }

    fn event_of(&self, batches: &BatchPlan) -> Event {
        self.options.limit.event(batches.event(Event::gaussian(self.noise_multiplier)))
    }

    /// Batches in an epoch; 1 where there are none.
    pub(crate) fn steps_a_round(&self) -> u64 {
        self.batches.steps() / self.options.rounds.get()
    }

    /// How many records a unit has.
    pub fn limit(&self) -> &ContributionLimit {
        &self.options.limit
    }

    /// The relation.
    pub fn neighbours(&self) -> Neighbours {
        self.options.neighbours
    }

    /// Which batches are drawn.
    pub fn batches(&self) -> &BatchPlan {
        &self.batches
    }

    /// z of a step, as it is accounted.
    pub fn noise_multiplier(&self) -> NoiseMultiplier {
        self.noise_multiplier
    }

    /// How the noise of a step is shared out between what it releases.
    pub fn noise_split(&self) -> NoiseSplit {
        let (gradients, count) = self.options.clipping.multipliers(self.noise_multiplier.get());
        NoiseSplit { gradients, count }
    }

    /// What noisy sums are divided by.
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

    /// Clipping and grids of a step with clip norm C, for an objective of this shape.
    pub fn clip(&self, clip_norm: f64, dimension: usize, sums: FloatSums) -> Result<Clip<'_>, OptimError> {
        let (gradients, count) = self.options.clipping.multipliers(self.noise_multiplier.get());
        let most = self.largest_batch();
        let plan = GridPlan::new(clip_norm, gradients, dimension, most);
        let grid = deep(plan.allowance(sums.allowance(self.neighbours())?), most)?;
        let count = count.map(|noise| deep(GridPlan::new(0.5, noise, 1, most), most)).transpose()?;
        let rule = match self.options.clipping {
            Clipping::Flat { .. } | Clipping::Quantile { .. } => ClipRule::Flat,
            Clipping::Automatic { gamma, .. } => ClipRule::Automatic { gamma },
            Clipping::Coordinates { .. } => ClipRule::Coordinates,
        };
        Ok(Clip::new(grid, rule, self.scales.as_deref(), count))
    }

    /// What coordinate j of a noisy sum is multiplied by.
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

    /// Records of the largest batch that can occur, by public numbers: the depth of
    /// a grid shows in what is released.
    fn largest_batch(&self) -> u64 {
        let is_public = self.options.neighbours.has_public_size();
        let n = if is_public { self.options.slots.get() } else { MOST_RECORDS };
        match self.options.sampling {
            Sampling::Poisson { .. } | Sampling::BallsInBins { .. } | Sampling::FullBatch => n,
            Sampling::WithoutReplacement { size } | Sampling::WithReplacement { size } => size.get(),
            Sampling::ShuffledEpochs { batches } => n.div_ceil(batches.get()),
        }
    }
}

impl Priced for Plan {
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

/// The deepest grid that is of use, down to what truncation of one record needs.
fn deep(plan: GridPlan, most: u64) -> Result<Grid, OptimError> {
    let least = plan.least_depth()?;
    let wanted = (u64::BITS - most.leading_zeros() + SPARE_BITS).min(MAX_DEPTH);
    let deeper = (least.depth() + 1..=wanted).rev().find_map(|depth| plan.at_depth(depth).ok());
    Ok(deeper.unwrap_or(least))
}
