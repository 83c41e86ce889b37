//! A small objective: the loss of record i is `l_i(w) = ‖w - x_i‖²/2`.

use std::num::NonZero;

use sordino_data::{Batch, BatchGroup, ContributionLimit, Sampling, UnitRule};
use sordino_noise::grid::{FloatGroups, SumError};
use sordino_optim::{
    Clip, ClipRule, ClippedSum, Clipping, Contributions, FloatSums, Objective, Partial, PlanOptions,
    TrainingPlan, sum_by_groups,
};
use sordino_privacy::{Claim, Count, Delta, Neighbours, NoiseMultiplier, Permit, Unit, danger};

#[derive(Debug)]
pub(crate) struct Points(pub(crate) Vec<Vec<f64>>);

impl Points {
    fn contribution(&self, w: &[f64], slot: usize, clip: &Clip<'_>) -> Option<(Vec<f64>, bool)> {
        let scale = |j: usize| clip.scales().map_or(1.0, |scales| scales[j]);
        let gradient: Vec<f64> = (0..w.len()).map(|j| (w[j] - self.0[slot][j]) / scale(j)).collect();
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt() * (1.0 + 1e-14);
        if !norm.is_finite() {
            return None;
        }
        let factor = clip.weight(norm);
        let limit = clip.coordinate_limit();
        let contribution = match clip.rule() {
            ClipRule::Flat | ClipRule::Automatic { .. } => gradient.iter().map(|g| g * factor).collect(),
            ClipRule::Coordinates => {
                let factor = clip.weight(0.0);
                gradient.iter().map(|g| (g * factor).clamp(-limit, limit)).collect()
            }
        };
        Some((contribution, norm <= clip.grid().clip_norm()))
    }

    fn add(
        &self,
        w: &[f64],
        clip: &Clip<'_>,
        group: BatchGroup<'_>,
        partial: &mut Partial,
    ) -> Result<(), SumError> {
        let records = group.len() as u32;
        let mut sum = vec![0.0; w.len()];
        for slot in group.into_slots() {
            let Some((contribution, is_within)) = self.contribution(w, slot, clip) else { continue };
            partial.counted(is_within)?;
            if clip.is_exact() {
                partial.gradient.add(&contribution)?;
            }
            sum.iter_mut().zip(contribution).for_each(|(sum, x)| *sum += x);
        }
        if clip.is_exact() { Ok(()) } else { partial.gradient.add_group(&sum, records) }
    }
}

impl Objective for Points {
    fn dimension(&self) -> usize {
        self.0[0].len()
    }

    fn slots(&self) -> usize {
        self.0.len()
    }

    fn float_sums(&self) -> FloatSums {
        FloatSums {
            block: 8,
            group_size: 8,
            chain: 10,
            unit_roundoff: FloatGroups::F64,
            beta: 1.0,
            positions: 1,
        }
    }

    fn contributions(&self) -> Option<&dyn Contributions> {
        Some(self)
    }

    fn clipped_sum(
        &self,
        w: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError> {
        sum_by_groups(
            clip,
            batch,
            self.float_sums(),
            threads,
            || (),
            |(), group, partial| self.add(w, clip, group, partial),
        )
    }
}

impl Contributions for Points {
    fn norms(&self, w: &[f64], batch: &Batch, clip: &Clip<'_>, _: NonZero<usize>) -> Vec<f64> {
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt() * (1.0 + 1e-14);
        let norm = |slot| self.contribution(w, slot, clip).map_or(0.0, |(record, _)| length(&record));
        batch.iter().map(norm).collect()
    }
}

pub(crate) fn options(slots: u64, rounds: u64, sampling: Sampling, clip_norm: f64) -> PlanOptions {
    PlanOptions {
        sampling,
        slots: Count::new(slots).unwrap(),
        rounds: Count::new(rounds).unwrap(),
        neighbours: Neighbours::ZeroOut,
        clipping: Clipping::Flat { norm: clip_norm },
        scales: None,
        divisor: None,
        limit: ContributionLimit::of(&UnitRule::Record),
    }
}

pub(crate) fn plan(options: PlanOptions, noise_multiplier: f64) -> TrainingPlan {
    TrainingPlan::with_noise(options, NoiseMultiplier::new(noise_multiplier).unwrap()).unwrap()
}

pub(crate) fn permit(claim: Claim) -> Permit {
    danger::unmetered(claim, Unit::Record, Delta::new(1e-6).unwrap()).unwrap()
}
