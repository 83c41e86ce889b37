//! Norms of per-example gradients: how they are computed, and how far they can be trusted.
//!
//! # Guarantee
//! A [`NormBound`] is an upper bound. Sums of squares are in double precision, or in short chains of single
//! precision, and are enlarged by more than their error. Where a gradient is materialised, the very numbers
//! that are measured are added later: their own rounding does not matter, and b is the norm.

use crate::kernel::outer::{FREE_RUN, RUN};

/// How a layer computes norms of gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NormMethod {
    /// One position: the norm of an outer product is the product of norms.
    RankOne,
    /// The gradient of each example is computed and kept.
    Materialised,
    /// `‖Σ a_t d_t^T‖² = Σ_st (a_s·a_t)(d_s·d_t)`; no gradient is computed.
    Ghost,
}

impl NormMethod {
    /// Rows of one chain of additions in the layer's outer products.
    pub(crate) fn run(self) -> usize {
        match self {
            Self::Materialised => FREE_RUN,
            Self::RankOne | Self::Ghost => RUN,
        }
    }

    /// The cheapest method for T positions of K inputs and N outputs. A materialised number is written, read
    /// and added, which costs about eight multiplications. A Gram matrix is in double precision.
    pub(crate) fn cheapest(positions: usize, inputs: usize, outputs: usize) -> Self {
        let (t, k, n) = (positions as f64, inputs as f64, outputs as f64);
        if positions == 1 {
            Self::RankOne
        } else if 1.5 * t * t * (k + n) < 8.0 * k * n {
            Self::Ghost
        } else {
            Self::Materialised
        }
    }
}

/// A part of a network with weights: what per-layer clipping clips by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) parameters: usize,
    pub(crate) method: NormMethod,
    /// T V: the number of outer products in an example's gradient.
    pub(crate) positions: usize,
}

/// Upper bounds on one example's gradient in one layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NormBound {
    /// `‖g‖²`.
    pub(crate) squared: f64,
    /// `b²`.
    pub(crate) spread: f64,
    /// At least the largest entry of a and of d.
    pub(crate) largest: f64,
}

/// Above 1 by more than the relative error of a sum of squares in double precision, whatever its length.
const MARGIN: f64 = 1.0 + 1e-6;

impl NormBound {
    /// For a gradient that was measured as a whole.
    pub(crate) fn of_whole(squared: f64) -> Self {
        let squared = squared * MARGIN;
        Self { squared, spread: squared, largest: squared.sqrt() }
    }

    /// For `Σ a_t d_t^T`: from its computed squared norm, `Σ ‖a_t‖ ‖d_t‖`, the largest norm of the vectors, and
    /// the number of operations in one chain of the computation.
    pub(crate) fn of_sum(squared: f64, spread: f64, largest: f64, operations: f64) -> Self {
        let spread = spread * spread * MARGIN;
        // Terms that cancel are as large as the spread, and so are their rounding errors.
        let cancelled = spread * operations * f64::EPSILON;
        Self { squared: squared.max(0.0) * MARGIN + cancelled, spread, largest: largest * MARGIN }
    }
}
