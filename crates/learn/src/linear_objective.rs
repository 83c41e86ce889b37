//! The mean loss of a linear model, as an [`Objective`].
//!
//! # Sums
//! A record's gradient is `d ⊗ x` with d the derivative by the scores: one position (T = 1), so its
//! norm is `‖d‖ ‖x‖` and `b_i` is that norm (beta = 1). Rows are `f32`, sums of a block of 4096
//! slots are `f64`, and chains have at most 4096 additions: the allowance is about 4e-9 of the clip
//! norm. The norms of rows are computed once, rounded up.
//!
//! # Class weights
//! A record's clipped gradient is multiplied by the weight of its class, which is at most 1. So its
//! norm and `b_i` are at most those for weight 1. The product is rounded, but never above the
//! clipped gradient.
//!
//! # Row independence
//! A record's coefficient is a function of its row, its target and the parameters
//! ([`kernel`](crate::kernel)). The allowance covers the rounding of a block's sum, and blocks are
//! merged as integers.

use std::num::NonZero;

use sordino_data::{Batch, BatchGroup, BlockView, ContributionLimit, Encoded, ROWS_PER_BLOCK};
use sordino_noise::grid::{FloatGroups, SumError};
use sordino_optim::{
    ClassWeights, Clip, ClipRule, ClippedSum, Contributions, FloatSums, Objective, Partial, sum_by_groups,
};
use sordino_threads::gather;

use crate::kernel::{TILE, accumulate, differentiate, dot, dots, norm_above, prefetch};
use crate::loss::Loss;
use crate::weighting::Weighting;

/// The largest norm of a row that contributes. The allowance for underflow needs a bound.
const MAX_ROW_NORM: f32 = (1u64 << 40) as f32;

/// The losses of a linear model on encoded records.
pub struct LinearObjective<'a> {
    loss: Loss,
    width: usize,
    slots: usize,
    limit: ContributionLimit,
    blocks: Vec<BlockView<'a>>,
    /// The norm of each slot's row, rounded up; infinite for an empty slot, which contributes
    /// nothing.
    norms: Vec<f32>,
    /// A row of zeros, in place of a row that does not contribute.
    empty: Vec<f32>,
    pub(crate) weighting: Weighting,
}

impl<'a> LinearObjective<'a> {
    /// Reads all rows once, to compute their norms.
    pub fn new(loss: Loss, data: &'a Encoded) -> Self {
        let (width, slots) = (data.width(), data.slots());
        let blocks: Vec<BlockView<'a>> = data.blocks().collect();
        let mut norms = Vec::with_capacity(slots);
        for block in &blocks {
            let rows = block.rows.chunks_exact(width).zip(block.present);
            norms.extend(rows.map(|(row, present)| if *present { norm_above(row) } else { f32::INFINITY }));
            block.done();
        }
        let limit = data.limit().clone();
        let (empty, weighting) = (vec![0.0; width], Weighting::default());
        Self { loss, width, slots, limit, blocks, norms, empty, weighting }
    }

    /// Multiplies each record's clipped gradient by the weight of its class.
    pub fn class_weights(self, weights: &ClassWeights) -> Self {
        Self { weighting: Weighting::of(Some(weights)), ..self }
    }

    fn row(&self, slot: usize) -> &'a [f32] {
        let start = slot % ROWS_PER_BLOCK * self.width;
        &self.blocks[slot / ROWS_PER_BLOCK].rows[start..start + self.width]
    }

    fn target(&self, slot: usize) -> f64 {
        f64::from(self.blocks[slot / ROWS_PER_BLOCK].targets[slot % ROWS_PER_BLOCK])
    }

    /// Whether a slot has a record that can contribute.
    fn contributes(&self, slot: usize) -> bool {
        self.norms[slot] <= MAX_ROW_NORM
    }

    /// Writes the derivative by the scores of a slot's record to `out`. Returns whether it exists
    /// and is finite.
    fn derivative(&self, parameters: &[f64], slot: usize, out: &mut [f64]) -> bool {
        if !self.contributes(slot) {
            return false;
        }
        let row = self.row(slot);
        for (score, weights) in out.iter_mut().zip(parameters.chunks_exact(self.width)) {
            *score = dot(row, weights);
        }
        self.loss.differentiate(out, self.target(slot));
        out.iter().all(|d| d.is_finite())
    }

    /// Writes one record's contribution to `out`, scaled and clipped. Returns whether it
    /// contributes, and whether its gradient was within the clip norm.
    fn contribution(
        &self,
        slot: usize,
        clip: &Clip<'_>,
        derivative: &[f64],
        out: &mut [f64],
    ) -> (bool, bool) {
        let row = self.row(slot);
        for (out, d) in out.chunks_exact_mut(self.width).zip(derivative) {
            out.iter_mut().zip(row).for_each(|(out, x)| *out = d * f64::from(*x));
        }
        if let Some(scales) = clip.scales() {
            out.iter_mut().zip(scales).for_each(|(out, scale)| *out /= scale);
        }
        let norm = length_above(out);
        if !norm.is_finite() || norm > f64::from(MAX_ROW_NORM) {
            return (false, false);
        }
        match clip.rule() {
            ClipRule::Flat | ClipRule::Automatic { .. } => {
                let weight = clip.weight(norm);
                out.iter_mut().for_each(|out| *out *= weight);
            }
            ClipRule::Coordinates => {
                let (weight, limit) = (clip.weight(0.0), clip.coordinate_limit());
                out.iter_mut().for_each(|out| *out = (*out * weight).clamp(-limit, limit));
            }
        }
        if !self.weighting.is_plain() {
            let weight = self.weighting.of_class(self.target(slot));
            out.iter_mut().for_each(|out| *out *= weight);
        }
        (true, norm <= clip.grid().clip_norm())
    }

    fn add_group(
        &self,
        parameters: &[f64],
        clip: &Clip<'_>,
        work: &mut Workspace,
        group: BatchGroup<'_>,
        partial: &mut Partial,
    ) -> Result<(), SumError> {
        let records = group.len() as u32;
        let is_range = matches!(group, BatchGroup::Range(_));
        work.sum.fill(0.0);
        let mut last = 0;
        if clip.is_exact() || clip.scales().is_some() {
            for slot in group.into_slots() {
                self.add_record(parameters, clip, work, slot, partial)?;
                last = slot;
            }
        } else {
            let mut slots = group.into_slots();
            let mut next = tile_of(&mut slots);
            while let Some(first) = next[0] {
                let tile = std::mem::replace(&mut next, tile_of(&mut slots));
                self.add_tile(parameters, clip, work, [tile, next], partial)?;
                last = first;
            }
        }
        if is_range {
            self.blocks[last / ROWS_PER_BLOCK].done();
        }
        if clip.is_exact() { Ok(()) } else { partial.gradient.add_group(&work.sum, records) }
    }

    /// The slow path: one record's contribution as a whole vector.
    fn add_record(
        &self,
        parameters: &[f64],
        clip: &Clip<'_>,
        work: &mut Workspace,
        slot: usize,
        partial: &mut Partial,
    ) -> Result<(), SumError> {
        let derivative = &mut work.derivative;
        if !self.derivative(parameters, slot, derivative) {
            return Ok(());
        }
        let (exists, is_within) = self.contribution(slot, clip, derivative, &mut work.record);
        if !exists {
            return Ok(());
        }
        partial.counted(is_within)?;
        if clip.is_exact() {
            return partial.gradient.add(&work.record);
        }
        work.sum.iter_mut().zip(&work.record).for_each(|(sum, x)| *sum += x);
        Ok(())
    }

    /// The fast path: the scores of a tile of rows, their coefficients, and their sum while the
    /// rows are in the cache. The next tile is prefetched in two halves, because a processor tracks
    /// a limited number of outstanding loads.
    fn add_tile(
        &self,
        parameters: &[f64],
        clip: &Clip<'_>,
        work: &mut Workspace,
        [tile, next]: [[Option<usize>; TILE]; 2],
        partial: &mut Partial,
    ) -> Result<(), SumError> {
        let (soon, later) = next.split_at(TILE / 2);
        soon.iter().flatten().for_each(|slot| prefetch(self.row(*slot)));
        let Workspace { sum, coefficients, .. } = work;
        let mut rows: [&[f32]; TILE] = [&self.empty; TILE];
        let (mut targets, mut norms) = ([0.0; TILE], [f64::INFINITY; TILE]);
        for (lane, slot) in tile.iter().enumerate() {
            if let Some(slot) = slot.filter(|slot| self.contributes(*slot)) {
                rows[lane] = self.row(slot);
                (targets[lane], norms[lane]) = (self.target(slot), f64::from(self.norms[slot]));
            }
        }
        for (scores, weights) in coefficients.iter_mut().zip(parameters.chunks_exact(self.width)) {
            *scores = dots(rows, weights);
        }
        differentiate(self.loss, coefficients, targets);
        let norms = gradient_norms(norms, coefficients);
        let mut weights = clip.weights(norms);
        self.weighting.apply(&mut weights, targets);
        // A record that does not contribute is left out. Multiplying by 0 is not enough: 0 times
        // infinity is not 0.
        for derivatives in coefficients.iter_mut() {
            for lane in 0..TILE {
                derivatives[lane] =
                    if norms[lane].is_finite() { derivatives[lane] * weights[lane] } else { 0.0 };
            }
        }
        for (row, norm) in rows.iter_mut().zip(norms) {
            if !norm.is_finite() {
                *row = &self.empty;
            }
        }
        if clip.count().is_some() {
            let contributing = norms.iter().filter(|norm| norm.is_finite());
            contributing.copied().try_for_each(|norm| partial.counted(norm <= clip.grid().clip_norm()))?;
        }
        later.iter().flatten().for_each(|slot| prefetch(self.row(*slot)));
        for (sum, coefficients) in sum.chunks_exact_mut(self.width).zip(coefficients) {
            accumulate(sum, rows, *coefficients);
        }
        Ok(())
    }
}

/// The buffers of one thread.
struct Workspace {
    /// The sum of a group, in steps of the grid.
    sum: Vec<f64>,
    /// One record's contribution.
    record: Vec<f64>,
    /// One record's derivative by the scores.
    derivative: Vec<f64>,
    /// For each score, one number for each record of a tile: first the scores, then the
    /// derivatives, then the factors of rows.
    coefficients: Vec<[f64; TILE]>,
}

impl Objective for LinearObjective<'_> {
    fn dimension(&self) -> usize {
        self.width * self.loss.outputs()
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn limit(&self) -> ContributionLimit {
        self.limit.clone()
    }

    fn float_sums(&self) -> FloatSums {
        let block = ROWS_PER_BLOCK as u32;
        FloatSums {
            block,
            group_size: block,
            chain: u64::from(block) + 2,
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
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError> {
        let workspace = || Workspace {
            sum: vec![0.0; self.dimension()],
            record: vec![0.0; self.dimension()],
            derivative: vec![0.0; self.loss.outputs()],
            coefficients: vec![[0.0; TILE]; self.loss.outputs()],
        };
        sum_by_groups(clip, batch, self.float_sums(), threads, workspace, |work, group, partial| {
            self.add_group(parameters, clip, work, group, partial)
        })
    }
}

impl Contributions for LinearObjective<'_> {
    /// The lengths of the very vectors that `add_record` adds on an exact grid.
    fn norms(&self, parameters: &[f64], batch: &Batch, clip: &Clip<'_>, threads: NonZero<usize>) -> Vec<f64> {
        let slots: Vec<usize> = batch.iter().collect();
        let share = |slots: &[usize]| {
            let (mut derivative, mut record) = (vec![0.0; self.loss.outputs()], vec![0.0; self.dimension()]);
            let mut norm = |slot: usize| {
                let contributes = self.derivative(parameters, slot, &mut derivative)
                    && self.contribution(slot, clip, &derivative, &mut record).0;
                if contributes { length_above(&record) } else { 0.0 }
            };
            slots.iter().map(|slot| norm(*slot)).collect::<Vec<f64>>()
        };
        let shares = slots.chunks(slots.len().div_ceil(threads.get()).max(1)).collect();
        gather(threads, shares, share).concat()
    }
}

/// The next slots, up to a full tile.
fn tile_of(slots: &mut impl Iterator<Item = usize>) -> [Option<usize>; TILE] {
    let mut tile = [None; TILE];
    tile.iter_mut().zip(slots).for_each(|(place, slot)| *place = Some(slot));
    tile
}

/// Upper bounds on the norms of gradients, from those of rows and the derivatives by the scores.
/// Not finite where a derivative is not, or where there is no row.
fn gradient_norms(rows: [f64; TILE], derivatives: &[[f64; TILE]]) -> [f64; TILE] {
    let mut norms = [0.0; TILE];
    if let [one] = derivatives {
        norms.iter_mut().zip(one).for_each(|(norm, d)| *norm = d.abs());
    } else {
        for derivatives in derivatives {
            norms.iter_mut().zip(derivatives).for_each(|(sum, d)| *sum += d * d);
        }
        norms.iter_mut().for_each(|norm| *norm = root_above(*norm, derivatives.len()));
    }
    norms.iter_mut().zip(rows).for_each(|(norm, row)| *norm = row * *norm * (1.0 + 2.0 * f64::EPSILON));
    norms
}

/// An upper bound on the exact norm of a finite vector.
fn length_above(vector: &[f64]) -> f64 {
    if let [one] = vector {
        return one.abs();
    }
    root_above(vector.iter().map(|x| x * x).sum(), vector.len())
}

/// An upper bound on the exact norm of a vector, from the computed sum of its squares.
fn root_above(sum: f64, length: usize) -> f64 {
    let length = length as f64;
    // The square of a coordinate below 1e-150 may underflow, so each coordinate adds 1e-150.
    (sum * (1.0 + (length + 8.0) * f64::EPSILON)).sqrt() * (1.0 + f64::EPSILON) + length * 1e-150
}
