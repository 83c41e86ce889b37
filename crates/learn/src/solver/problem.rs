//! The objective `J(w) = Σ_i l_i(w) + (Λ/2)‖w‖² + <b, w>`, its derivatives, and a bound on the
//! error of its gradient.
//!
//! # The gradient's error
//! Rows, of norm at most X, are exact numbers, and so are targets, w, Λ and b: J is a function of
//! reals. The computed gradient differs from the exact one by at most
//! ```text
//! E = n X (κ γ_(p+2) X ‖w‖ + e) + γ_K X Σ_i |d_i| + 8u (Λ‖w‖ + ‖b‖ + ‖g‖)                      (1)
//! ```
//! in norm: scores err by `γ_(p+2) X ‖w‖` whatever the order of a dot product (Higham, *Accuracy
//! and Stability of Numerical Algorithms*, 2002, section 3.1), which moves derivatives d by κ times
//! as much, κ the curvature of the loss; e is the error of evaluating the derivative itself, with
//! 2^-46 for the exponential function (its own error is 2^-50) and the operations after it; and
//! sums of products err by γ_K, K the longest chain of additions. Rows are summed by 8, these sums
//! by blocks of 4096, and blocks in order, so K is about 516 + n/4096. Four roundings of the last
//! three terms would be enough; eight also allow that every coordinate of b is itself rounded. The
//! bound (1) is rounded up by a millionth, which covers its own evaluation.
//!
//! # Class weights
//! With a weight w_i of at most 1 for each record, J has `w_i l_i` for `l_i`. A computed derivative
//! `d + e` becomes `w_i (d + e)(1 + u)`, which is off by at most `e` and one rounding of itself: K
//! counts eight roundings more than occur without weights, and this is one of them. Curvature, and
//! so the smoothness L, is at most that without weights.

use sordino_data::{BlockView, Encoded, ROWS_PER_BLOCK};
use sordino_threads::{available, gather};

use crate::kernel::{TILE, accumulate, differentiate, dot, dots, prefetch};
use crate::loss::Loss;
use crate::weighting::Weighting;

/// The unit roundoff u of `f64`.
const U: f64 = f64::EPSILON / 2.0;
/// Roundings of a number on its way into the sum of a block: a product, three additions
/// in its tile, and one for each tile.
const CHAIN: f64 = (4 + ROWS_PER_BLOCK / TILE) as f64;
/// Relative error of evaluating a derivative, where the loss has slope 1.
const EVALUATION: f64 = 1.0 / (1u64 << 46) as f64;

/// An objective on data, as the module defines it.
pub(crate) struct Problem<'a> {
    pub(crate) loss: Loss,
    pub(crate) data: &'a Encoded,
    /// Λ.
    pub(crate) ridge: f64,
    /// b.
    pub(crate) tilt: Vec<f64>,
    pub(crate) weighting: Weighting,
}

/// The gradient at a point.
pub(crate) struct Gradient {
    pub(crate) vector: Vec<f64>,
    /// An upper bound on the norm of the exact gradient.
    pub(crate) norm_above: f64,
}

impl Problem<'_> {
    /// The number of parameters.
    pub(crate) fn dimension(&self) -> usize {
        self.loss.outputs() * self.data.width()
    }

    /// L, the Lipschitz constant of the gradient.
    pub(crate) fn smoothness(&self) -> f64 {
        let row_norm = self.data.encoding().row_norm();
        self.loss.smoothness(row_norm) * self.data.slots() as f64 + self.ridge
    }

    /// The gradient at `w`, with an upper bound on the norm of the exact one.
    pub(crate) fn gradient(&self, w: &[f64]) -> Gradient {
        let blocks = self.by_blocks(|block| self.block_gradient(&block, w));
        let mut vector = vec![0.0; w.len()];
        let mut slopes = 0.0;
        for (sum, more) in &blocks {
            vector.iter_mut().zip(sum).for_each(|(total, sum)| *total += sum);
            slopes += more;
        }
        for (g, (w, b)) in vector.iter_mut().zip(w.iter().zip(&self.tilt)) {
            *g += self.ridge * w + b;
        }
        let norm = length(&vector);
        let error = self.error(length(w), slopes, norm);
        Gradient { vector, norm_above: (norm + error) * (1.0 + 1e-6) }
    }

    /// The bound (1), for `‖w‖ = size`, `Σ |d_i| = slopes` and `‖g‖ = norm`.
    fn error(&self, size: f64, slopes: f64, norm: f64) -> f64 {
        let (n, x) = (self.data.slots() as f64, self.data.encoding().row_norm());
        let p = self.data.width() as f64;
        let score = (p + 2.0) * U * 1.001 * x * size;
        let of_records =
            n * x * (self.loss.curvature() * score + evaluation_error(self.loss)) + x * slopes * EVALUATION;
        let chain = CHAIN + self.data.blocks().len() as f64 + 8.0;
        let of_sums = chain * U * 1.001 * x * slopes;
        of_records + of_sums + 8.0 * U * (self.ridge * size + length(&self.tilt) + norm)
    }

    /// The sum of a block's gradients, and of the norms of their derivatives by the scores.
    pub(super) fn block_gradient(&self, block: &BlockView<'_>, w: &[f64]) -> (Vec<f64>, f64) {
        let width = self.data.width();
        let (mut total, mut slopes) = (vec![0.0; w.len()], 0.0);
        let mut coefficients = vec![[0.0; TILE]; self.loss.outputs()];
        let empty = vec![0.0; width];
        for first in (0..block.targets.len()).step_by(TILE) {
            let (rows, targets, [soon, later]) = tile(block, first, &empty);
            prefetch(soon);
            for (scores, w) in coefficients.iter_mut().zip(w.chunks_exact(width)) {
                *scores = dots(rows, w);
            }
            differentiate(self.loss, &mut coefficients, targets);
            coefficients.iter_mut().for_each(|derivatives| self.weighting.apply(derivatives, targets));
            prefetch(later);
            for (sum, coefficients) in total.chunks_exact_mut(width).zip(&coefficients) {
                accumulate(sum, rows, *coefficients);
            }
            let there = lengths(&coefficients).into_iter().zip(&block.present[first..]);
            slopes += there.filter(|(_, present)| **present).map(|(length, _)| length).sum::<f64>();
        }
        (total, slopes)
    }

    /// The Hessian at `w` times `v`.
    pub(crate) fn hessian_times(&self, w: &[f64], v: &[f64]) -> Vec<f64> {
        let mut total: Vec<f64> = v.iter().map(|v| self.ridge * v).collect();
        for part in self.by_blocks(|block| self.block_times(&block, w, v)) {
            total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
        }
        total
    }

    fn block_times(&self, block: &BlockView<'_>, w: &[f64], v: &[f64]) -> Vec<f64> {
        let (width, outputs) = (self.data.width(), self.loss.outputs());
        let mut total = vec![0.0; w.len()];
        let (mut scores, mut moved) = (vec![0.0; outputs], vec![0.0; outputs]);
        let mut curvature = vec![0.0; outputs * outputs];
        for (row, target) in records(block, width) {
            score(row, w, &mut scores);
            score(row, v, &mut moved);
            self.bend(&scores, target, &mut curvature);
            for (sum, bend) in total.chunks_exact_mut(width).zip(curvature.chunks_exact(outputs)) {
                let part: f64 = bend.iter().zip(&moved).map(|(bend, moved)| bend * moved).sum();
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += part * f64::from(*x));
            }
        }
        total
    }

    /// The second derivative of a record's loss by its scores.
    pub(super) fn bend(&self, scores: &[f64], target: f64, out: &mut [f64]) {
        self.loss.bend(scores, target, out);
        if !self.weighting.is_plain() {
            let weight = self.weighting.of_class(target);
            out.iter_mut().for_each(|out| *out *= weight);
        }
    }

    /// One result for each block, in order, so that sums do not depend on the number of threads.
    fn by_blocks<T: Send>(&self, work: impl Fn(BlockView<'_>) -> T + Sync) -> Vec<T> {
        let parts = self.by_threads(|blocks| blocks.iter().map(|block| work(*block)).collect::<Vec<_>>());
        parts.into_iter().flatten().collect()
    }

    /// One result for each run of blocks, one run for each thread.
    fn by_threads<T: Send>(&self, work: impl Fn(&[BlockView<'_>]) -> T + Sync) -> Vec<T> {
        on_threads(&self.data.blocks().collect::<Vec<_>>(), work)
    }
}

/// One result for each run of blocks, one run for each thread.
pub(super) fn on_threads<'a, T: Send>(
    blocks: &[BlockView<'a>],
    work: impl Fn(&[BlockView<'a>]) -> T + Sync,
) -> Vec<T> {
    if blocks.len() <= 1 {
        return vec![work(blocks)];
    }
    let threads = available();
    gather(threads, blocks.chunks(blocks.len().div_ceil(threads.get())).collect(), work)
}

/// A bound on (1) from public numbers, at any point of norm up to `size`.
pub(crate) fn error_of_gradients(
    loss: Loss,
    slope: f64,
    (n, width): (u64, usize),
    row_norm: f64,
    size: f64,
) -> f64 {
    let n = n as f64;
    let score = (width as f64 + 2.0) * U * 1.001 * row_norm * size;
    let chain = CHAIN + n / ROWS_PER_BLOCK as f64 + 9.0;
    let of_record = loss.curvature() * score
        + evaluation_error(loss)
        + slope * (EVALUATION + chain * U * 1.001)
        + 8.0 * U * slope;
    n * row_norm * of_record * (1.0 + 1e-6)
}

/// The absolute part of e: a few roundings of numbers that the loss bounds.
fn evaluation_error(loss: Loss) -> f64 {
    let parts = match loss {
        Loss::Logistic => 4.0,
        // For (1 + h - m)/(2h), where m is at most 1 + h unless it is clamped.
        Loss::SmoothHinge { width } => 4.0 + 4.0 / width,
        // The difference is rounded in proportion to itself.
        Loss::Squared => 0.0,
        Loss::Huber { width } => 4.0 * width,
        Loss::Softmax { classes } => 4.0 + classes as f64,
    };
    parts * EVALUATION
}

/// The rows and targets of the block's records. Empty slots are left out.
pub(super) fn records<'a>(
    block: &BlockView<'a>,
    width: usize,
) -> impl Iterator<Item = (&'a [f32], f64)> + use<'a> {
    let rows = block.rows.chunks_exact(width).zip(block.targets).zip(block.present);
    rows.filter(|(_, present)| **present).map(|((row, target), _)| (row, f64::from(*target)))
}

/// The rows and targets of a tile of slots from `first` on, and the next tile's rows in two halves,
/// to prefetch. A slot without a record has the row `empty`, which adds nothing.
fn tile<'a>(
    block: &BlockView<'a>,
    first: usize,
    empty: &'a [f32],
) -> ([&'a [f32]; TILE], [f64; TILE], [&'a [f32]; 2]) {
    let (width, left) = (empty.len(), block.targets.len() - first);
    let (here, after) = block.rows[first * width..].split_at(left.min(TILE) * width);
    let (mut rows, mut targets) = ([empty; TILE], [0.0; TILE]);
    for (lane, row) in here.chunks_exact(width).enumerate() {
        if block.present[first + lane] {
            (rows[lane], targets[lane]) = (row, f64::from(block.targets[first + lane]));
        }
    }
    let (soon, later) = after.split_at(after.len().min(TILE / 2 * width));
    (rows, targets, [soon, &later[..later.len().min(TILE / 2 * width)]])
}

/// Writes one score for each row of weights to `out`.
pub(super) fn score(row: &[f32], weights: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(weights.chunks_exact(row.len())).for_each(|(score, w)| *score = dot(row, w));
}

/// The norm of each record's derivative in a tile.
fn lengths(derivatives: &[[f64; TILE]]) -> [f64; TILE] {
    if let [one] = derivatives {
        return one.map(f64::abs);
    }
    std::array::from_fn(|lane| derivatives.iter().map(|d| d[lane] * d[lane]).sum::<f64>().sqrt())
}

pub(crate) fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}
