//! The mean loss of a linear model, as an [`Objective`].
//!
//! # Sums
//! A record's gradient is `d ⊗ x` with d the derivative by the scores: one position (T = 1), so its norm is `‖d‖ ‖x‖` and
//! `b_i` is that norm (beta = 1). Rows are `f32`, sums of a block of 4096 slots are `f64`, and chains have at most 4096
//! additions: the allowance is some 4e-9 of the clip norm. Norms of rows are computed once, upward.
//!
//! # Row independence
//! A record's coefficient is a function of its row, its target and the parameters ([`kernel`](crate::kernel)); how rows are
//! summed is what the allowance is for, and blocks are merged as integers.

use std::num::NonZero;

use sordino_data::{Batch, BlockView, Encoded, Group, ROWS_PER_BLOCK};
use sordino_noise::grid::{FloatGroups, SumError};
use sordino_optim::{Clip, ClipRule, ClippedSum, FloatSums, Objective, Partial, sum_by_groups};

use crate::kernel::{TILE, accumulate, dot, dots, fetch, norm_above};
use crate::loss::Loss;

/// Rows beyond it contribute nothing: the allowance for underflow needs a bound.
const LONGEST_ROW: f32 = (1u64 << 40) as f32;

/// Losses of a linear model on encoded records.
pub struct LinearObjective<'a> {
    loss: Loss,
    width: usize,
    slots: usize,
    blocks: Vec<BlockView<'a>>,
    /// Of each slot's row, rounded up; infinite for an empty slot, which contributes nothing.
    norms: Vec<f32>,
    empty: Vec<f32>,
}

impl<'a> LinearObjective<'a> {
    /// Reads all rows once, for their norms.
    pub fn new(loss: Loss, data: &'a Encoded) -> Self {
        let (width, slots) = (data.width(), data.slots());
        let blocks: Vec<BlockView<'a>> = data.blocks().collect();
        let mut norms = Vec::with_capacity(slots);
        for block in &blocks {
            let rows = block.rows.chunks_exact(width).zip(block.present);
            norms.extend(rows.map(|(row, present)| if *present { norm_above(row) } else { f32::INFINITY }));
            block.done();
        }
        Self { loss, width, slots, blocks, norms, empty: vec![0.0; width] }
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
        self.norms[slot] <= LONGEST_ROW
    }

    /// Turns the scores of a slot's record into the derivative by them; whether there is one.
    fn turn(&self, slot: usize, scores: &mut [f64]) -> bool {
        if !self.contributes(slot) {
            return false;
        }
        self.loss.differentiate(scores, self.target(slot));
        scores.iter().all(|d| d.is_finite())
    }

    /// Writes the derivative by the scores of a slot's record to `out`; whether there is one.
    fn derivative(&self, parameters: &[f64], slot: usize, out: &mut [f64]) -> bool {
        if !self.contributes(slot) {
            return false;
        }
        let row = self.row(slot);
        for (score, weights) in out.iter_mut().zip(parameters.chunks_exact(self.width)) {
            *score = dot(row, weights);
        }
        self.turn(slot, out)
    }

    /// Turns a record's derivative into coefficients of its row; whether it was within the clip norm.
    fn weigh(&self, slot: usize, clip: &Clip<'_>, derivative: &mut [f64]) -> bool {
        let norm = f64::from(self.norms[slot]) * length_above(derivative) * (1.0 + 2.0 * f64::EPSILON);
        let weight = clip.weight(norm);
        derivative.iter_mut().for_each(|d| *d *= weight);
        norm <= clip.grid().clip_norm()
    }

    /// The whole contribution of one record, coordinate by coordinate, with scales; whether there is one, and
    /// whether it was within the clip norm.
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
        if !norm.is_finite() || norm > f64::from(LONGEST_ROW) {
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
        (true, norm <= clip.grid().clip_norm())
    }

    fn add_group(
        &self,
        parameters: &[f64],
        clip: &Clip<'_>,
        work: &mut Workspace,
        group: Group<'_>,
        partial: &mut Partial,
    ) -> Result<(), SumError> {
        let records = group.len() as u32;
        let is_range = matches!(group, Group::Range(_));
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
                if !is_range {
                    next.iter().flatten().for_each(|slot| fetch(self.row(*slot)));
                }
                self.add_tile(parameters, clip, work, tile, partial)?;
                last = first;
            }
        }
        if is_range {
            self.blocks[last / ROWS_PER_BLOCK].done();
        }
        if clip.is_exact() { Ok(()) } else { partial.gradient.add_group(&work.sum, records) }
    }

    /// The slow road: one record's contribution as a whole vector.
    fn add_record(
        &self,
        parameters: &[f64],
        clip: &Clip<'_>,
        work: &mut Workspace,
        slot: usize,
        partial: &mut Partial,
    ) -> Result<(), SumError> {
        let derivative = &mut work.coefficients[0];
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

    /// The fast road: scores of a tile of rows, their coefficients, and their sum while the rows are at hand.
    fn add_tile(
        &self,
        parameters: &[f64],
        clip: &Clip<'_>,
        work: &mut Workspace,
        tile: [Option<usize>; TILE],
        partial: &mut Partial,
    ) -> Result<(), SumError> {
        let mut rows: [&[f32]; TILE] = [&self.empty; TILE];
        for (row, slot) in rows.iter_mut().zip(tile) {
            if let Some(slot) = slot.filter(|slot| self.contributes(*slot)) {
                *row = self.row(slot);
            }
        }
        for (k, weights) in parameters.chunks_exact(self.width).enumerate() {
            for (coefficients, score) in work.coefficients.iter_mut().zip(dots(rows, weights)) {
                coefficients[k] = score;
            }
        }
        for ((slot, row), coefficients) in tile.iter().zip(&mut rows).zip(&mut work.coefficients) {
            match slot.filter(|slot| self.turn(*slot, coefficients)) {
                Some(slot) => partial.counted(self.weigh(slot, clip, coefficients))?,
                None => {
                    // A record that contributes nothing is not multiplied by 0 (0 times infinity is not 0) but left out.
                    *row = &self.empty;
                    coefficients.fill(0.0);
                }
            }
        }
        for (k, sum) in work.sum.chunks_exact_mut(self.width).enumerate() {
            let mut coefficients = [0.0; TILE];
            coefficients.iter_mut().zip(&work.coefficients).for_each(|(to, from)| *to = from[k]);
            accumulate(sum, rows, coefficients);
        }
        Ok(())
    }
}

/// What one thread needs.
struct Workspace {
    /// Of a group, in steps of the grid.
    sum: Vec<f64>,
    /// One record's contribution.
    record: Vec<f64>,
    coefficients: [Vec<f64>; TILE],
}

impl Objective for LinearObjective<'_> {
    fn dimension(&self) -> usize {
        self.width * self.loss.outputs()
    }

    fn slots(&self) -> usize {
        self.slots
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
            coefficients: std::array::from_fn(|_| vec![0.0; self.loss.outputs()]),
        };
        sum_by_groups(clip, batch, self.float_sums(), threads, workspace, |work, group, partial| {
            self.add_group(parameters, clip, work, group, partial)
        })
    }
}

/// The next slots, as many as make a tile.
fn tile_of(slots: &mut impl Iterator<Item = usize>) -> [Option<usize>; TILE] {
    let mut tile = [None; TILE];
    tile.iter_mut().zip(slots).for_each(|(place, slot)| *place = Some(slot));
    tile
}

/// At least the exact norm of a finite vector.
fn length_above(vector: &[f64]) -> f64 {
    if let [one] = vector {
        return one.abs();
    }
    let sum: f64 = vector.iter().map(|x| x * x).sum();
    // Squares that vanish: a vector below 1e-150 in all coordinates is counted as one of 1e-150.
    (sum * (1.0 + (vector.len() as f64 + 8.0) * f64::EPSILON)).sqrt() * (1.0 + f64::EPSILON)
        + (vector.len() as f64) * 1e-150
}
