//! Second derivatives. They give directions and certify nothing.
//!
//! Near a minimum the Hessian of a sample does nearly as well as that of all records. For a random
//! sample of m records, its eigenvalues relative to those of the whole lie within about
//! `2 sqrt(d/m)` of 1 (Erdogdu, Montanari, *Convergence Rates of Sub-sampled Newton Methods*,
//! 2015), so each step leaves that part of the error. A Hessian of m records takes `m d²/2`
//! products and a gradient `2 n d`: with m = 8n/d the two take about as long, and with `m >= 64 d`
//! the part is at most a quarter.

use sordino_data::{BlockView, ROWS_PER_BLOCK};

use super::problem::{Problem, on_threads, records, score};
use crate::kernel::Gram;

/// Which records a Hessian covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    /// Some blocks, evenly spread, weighted to stand for all.
    Sample,
    /// All records.
    All,
}

impl Problem<'_> {
    /// The Hessian at `w` over `part` of the records, as a lower triangle by rows.
    pub(super) fn hessian(&self, w: &[f64], part: Part) -> Vec<f64> {
        let all: Vec<BlockView<'_>> = self.data.blocks().collect();
        let stride = match part {
            Part::Sample => self.stride(all.len()),
            Part::All => 1,
        };
        let sample: Vec<BlockView<'_>> = all.iter().step_by(stride).copied().collect();
        self.rough_hessian(&sample, w)
    }

    /// The Hessian over some blocks, weighted to stand for all.
    pub(super) fn rough_hessian(&self, blocks: &[BlockView<'_>], w: &[f64]) -> Vec<f64> {
        let (d, weight) = (w.len(), self.weight(blocks));
        let mut total = vec![0.0; d * d];
        for part in on_threads(blocks, |blocks| self.hessian_of(blocks, w)) {
            total.iter_mut().zip(part).for_each(|(total, part)| *total += weight * part);
        }
        (0..d).for_each(|j| total[j * d + j] += self.ridge);
        total
    }

    /// The gradient over some blocks, weighted to stand for all.
    pub(super) fn rough_gradient(&self, blocks: &[BlockView<'_>], w: &[f64]) -> Vec<f64> {
        let weight = self.weight(blocks);
        let penalty = w.iter().zip(&self.tilt).map(|(w, b)| self.ridge * w + b);
        let mut total: Vec<f64> = penalty.collect();
        let sums = on_threads(blocks, |blocks| {
            blocks.iter().map(|block| self.block_gradient(block, w).0).collect::<Vec<_>>()
        });
        for part in sums.iter().flatten() {
            total.iter_mut().zip(part).for_each(|(total, part)| *total += weight * part);
        }
        total
    }

    /// The number of all slots divided by that of slots in `blocks`.
    fn weight(&self, blocks: &[BlockView<'_>]) -> f64 {
        let slots: usize = blocks.iter().map(|block| block.targets.len()).sum();
        self.data.slots() as f64 / slots as f64
    }

    /// The distance between two blocks of the sample.
    pub(super) fn stride(&self, blocks: usize) -> usize {
        let (n, d) = (self.data.slots(), self.dimension());
        let records = (8 * n / self.data.width()).max(64 * d);
        (blocks / records.div_ceil(ROWS_PER_BLOCK)).max(1)
    }

    /// The Hessian of the losses in these blocks, without the penalty.
    fn hessian_of(&self, blocks: &[BlockView<'_>], w: &[f64]) -> Vec<f64> {
        let (d, width, outputs) = (w.len(), self.data.width(), self.loss.outputs());
        let pairs: Vec<(usize, usize)> = (0..outputs).flat_map(|k| (0..=k).map(move |l| (k, l))).collect();
        let mut gram = Gram::new(width, pairs.len());
        let (mut scores, mut curvature) = (vec![0.0; outputs], vec![0.0; outputs * outputs]);
        for (row, target) in blocks.iter().flat_map(|block| records(block, width)) {
            score(row, w, &mut scores);
            self.bend(&scores, target, &mut curvature);
            gram.add(row, pairs.iter().map(|(k, l)| curvature[k * outputs + l]));
        }
        let mut total = vec![0.0; d * d];
        for ((k, l), entry) in pairs.into_iter().zip(gram.into_sums()) {
            for (i, j) in (0..width).flat_map(|i| (0..width).map(move |j| (i, j))) {
                // Each sum is symmetric. Entries above the diagonal of the whole are not used.
                total[(k * width + i) * d + l * width + j] = entry(i.max(j), i.min(j));
            }
        }
        total
    }
}
