//! The data stored by columns, and the sums of clipped derivatives over one column.
//!
//! # Row independence
//! A record's clamped derivative is a function of its own row, its target and the public weights:
//! its score is the sum of its own products, in the order of the steps. The grid's allowance covers
//! the rounding of a block's sum.
//!
//! # Joint clipping
//! Record i's slope is clamped to `ρ_i = (1 - η) / sqrt(Σ_j (x_ij/C_j)²)`, so that it moves
//! the sum of coordinate j by at most `(1 - η) u_ij N` steps plus the grid's allowance `ι N`
//! (N the clip norm in steps, ι the inflation), at most `N (1 + ι) <= 2^k/z` for one
//! coordinate. Over a pass, in norm,
//! ```text
//! N (1 - η) + sqrt(p) ι N <= N (1 + ι)        if    η >= (sqrt(p) - 1) ι                       (1)
//! ```

use sordino_data::{Encoded, ROWS_PER_BLOCK};
use sordino_noise::grid::{Allowance, Grid, GridSum};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::weighting::Weighting;

/// A copy of the data by columns, so that a step reads one column alone.
pub(super) struct Columns {
    pub(super) slots: usize,
    values: Vec<f32>,
    targets: Vec<f64>,
    pub(super) present: Vec<bool>,
    /// ρ of each record; infinite where coordinates are clamped one by one.
    slopes: Vec<f64>,
    weighting: Weighting,
}

impl Columns {
    pub(super) fn new(data: &Encoded, weighting: Weighting) -> Self {
        let (slots, width) = (data.slots(), data.width());
        let mut values = vec![0.0; slots * width];
        let (mut targets, mut present) = (Vec::with_capacity(slots), Vec::with_capacity(slots));
        for block in data.blocks() {
            for (row, x) in block.rows.chunks_exact(width).enumerate() {
                let slot = block.first_slot + row;
                x.iter().enumerate().for_each(|(j, x)| values[j * slots + slot] = *x);
            }
            targets.extend(block.targets.iter().map(|target| f64::from(*target)));
            present.extend_from_slice(block.present);
        }
        Self { slots, values, targets, present, slopes: vec![f64::INFINITY; slots], weighting }
    }

    /// Limits each record's slope so that its contributions to all coordinates together are short
    /// enough. `grids` has one grid for each coordinate.
    pub(super) fn clip_jointly(&mut self, grids: &[Grid]) {
        let inflation = grids.iter().map(Grid::inflation).fold(0.0, f64::max);
        // The last term covers the roundings of the norm, of ρ and of a product: about p + 10 of
        // 2^-53 each.
        let rest = (grids.len() as f64).sqrt() * inflation + (grids.len() as f64 + 64.0) * f64::EPSILON;
        let mut squares = vec![0.0; self.slots];
        for (j, grid) in grids.iter().enumerate() {
            let clip_norm = grid.clip_norm();
            let column = &self.values[j * self.slots..(j + 1) * self.slots];
            squares.iter_mut().zip(column).for_each(|(sum, x)| *sum += (f64::from(*x) / clip_norm).powi(2));
        }
        // The square of a coordinate below 1e-150 may underflow, so it is counted as 1e-150.
        let norm = |square: f64| square.sqrt() + grids.len() as f64 * 1e-150;
        // A row that is not finite has no norm and contributes nothing.
        let slope = |square: f64| if square.is_finite() { (1.0 - rest).max(0.0) / norm(square) } else { 0.0 };
        self.slopes = squares.into_iter().map(slope).collect();
    }

    pub(super) fn column(&self, j: usize) -> &[f32] {
        &self.values[j * self.slots..(j + 1) * self.slots]
    }

    pub(super) fn scores(&self, weights: &[f64]) -> Vec<f64> {
        let mut scores = vec![0.0; self.slots];
        for (j, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            self.move_scores(&mut scores, j, *weight);
        }
        scores
    }

    pub(super) fn move_scores(&self, scores: &mut [f64], j: usize, change: f64) {
        scores.iter_mut().zip(self.column(j)).for_each(|(score, x)| *score += change * f64::from(*x));
    }

    /// The sum of clipped derivatives by weight j, block by block.
    pub(super) fn clamped_sum(
        &self,
        loss: Loss,
        scores: &[f64],
        j: usize,
        grid: Grid,
    ) -> Result<GridSum, LearnError> {
        let is_exact = grid.allowance() == Allowance::Exact;
        // The clip norm in steps of the grid, less a little for the rounding of the product.
        let limit = grid.clip_units() as f64 * (1.0 - 4.0 * f64::EPSILON);
        let factor = limit / grid.clip_norm();
        let mut sum = GridSum::new(grid);
        let column = self.column(j);
        for start in (0..self.slots).step_by(ROWS_PER_BLOCK) {
            let end = (start + ROWS_PER_BLOCK).min(self.slots);
            let mut steps = 0.0;
            for slot in (start..end).filter(|slot| self.present[*slot]) {
                let mut score = [scores[slot]];
                loss.differentiate(&mut score, self.targets[slot]);
                let slope = score[0].clamp(-self.slopes[slot], self.slopes[slot]);
                let part = slope * f64::from(column[slot]);
                // The weight comes after clipping: at most 1, it keeps the contribution in bounds.
                let weight = self.weighting.of_class(self.targets[slot]);
                // NaN contributes nothing.
                if is_exact {
                    // `Sum::add` clips too, but the weight must come after clipping.
                    let clipped = part.clamp(-grid.clip_norm(), grid.clip_norm());
                    sum.add(&[if weight < 1.0 && part.is_finite() { clipped * weight } else { part }])?;
                } else if !part.is_nan() {
                    steps += (part * factor).clamp(-limit, limit) * weight;
                }
            }
            if !is_exact {
                sum.add_group(&[steps], (end - start) as u32)?;
            }
        }
        Ok(sum)
    }
}
