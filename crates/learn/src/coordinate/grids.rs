//! The clip norms of coordinates, and the grids to which their sums are rounded.

use sordino_data::Encoding;
use sordino_noise::grid::{Grid, GridPlan};
use sordino_privacy::{Count, NoiseMultiplier};

use super::{CoordinateClipping, CoordinateDescent};
use crate::block_sums;
use crate::error::LearnError;

/// The greatest depth of a grid: noise of 2^30 steps, which leaves room for 2^32 records down to a
/// multiplier of 1.
const MAX_DEPTH: u32 = 30;

/// One grid of one dimension for each coordinate.
pub(super) fn grids(
    learner: &CoordinateDescent,
    encoding: &Encoding,
    n: Count,
    noise: NoiseMultiplier,
    smoothness: &[f64],
) -> Result<Vec<Grid>, LearnError> {
    let allowance = block_sums::allowance(learner.neighbours, 2);
    let grid = |norm: f64| deepest(&GridPlan::new(norm, noise.get(), 1, n.get()).allowance(allowance));
    clip_norms(learner, encoding, smoothness).into_iter().map(grid).collect()
}

/// The deepest grid up to [`MAX_DEPTH`] that the plan allows, or else the shallowest that it needs.
pub(super) fn deepest(plan: &GridPlan) -> Result<Grid, LearnError> {
    let least = plan.least_depth()?;
    let deeper = (least.depth()..=MAX_DEPTH).rev().find_map(|depth| plan.at_depth(depth).ok());
    Ok(deeper.unwrap_or(least))
}

/// C_j of each coordinate.
fn clip_norms(learner: &CoordinateDescent, encoding: &Encoding, smoothness: &[f64]) -> Vec<f64> {
    let (total, p) = (smoothness.iter().sum::<f64>(), smoothness.len() as f64);
    match learner.clipping {
        CoordinateClipping::BySmoothness { norm } => {
            smoothness.iter().map(|m| norm * (m / total).sqrt()).collect()
        }
        CoordinateClipping::Uniform { norm } => vec![norm / p.sqrt(); smoothness.len()],
        CoordinateClipping::Jointly { norm } => {
            smoothness.iter().map(|m| norm * (p * m / total).sqrt()).collect()
        }
        CoordinateClipping::Lipschitz => {
            // `CoordinateDescent::check` refuses losses without a Lipschitz constant.
            let of = |bound| learner.loss.coordinate_lipschitz(bound).unwrap_or(f64::INFINITY).max(1e-30);
            encoding.coordinate_bounds().into_iter().map(of).collect()
        }
    }
}
