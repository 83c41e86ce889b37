//! The starting point: near the minimum of a sample of records.
//!
//! The first steps of Newton's method lead from zero to the neighbourhood of the minimum, and each
//! reads all records. A sample leads there as well: over m records the mean gradient is off by
//! about `1/sqrt(m)` of one record's gradient. The starting point certifies nothing. A sample that
//! misleads costs some more steps.

use sordino_data::BlockView;

use super::cholesky::Cholesky;
use super::problem::{Problem, length};
use super::{MAX_FACTORED, add};

/// With fewer blocks than this, the starting point is zero.
const MIN_BLOCKS: usize = 32;
/// The most Newton steps on the sample.
const MAX_STEPS: usize = 5;
/// The part of the sample's gradient at which the steps end.
const TARGET_RATIO: f64 = 1e-3;

impl Problem<'_> {
    /// A point near the minimum, or zero if there are too few records for a sample to save time.
    pub(super) fn start(&self) -> Vec<f64> {
        let mut point = vec![0.0; self.dimension()];
        let all: Vec<BlockView<'_>> = self.data.blocks().collect();
        if all.len() < MIN_BLOCKS || point.len() > MAX_FACTORED {
            return point;
        }
        let sample: Vec<BlockView<'_>> = all.iter().step_by(4 * self.stride(all.len())).copied().collect();
        let mut gradient = self.rough_gradient(&sample, &point);
        let enough = TARGET_RATIO * length(&gradient);
        for _ in 0..MAX_STEPS {
            let Some(factor) = Cholesky::of(self.rough_hessian(&sample, &point), point.len()) else { break };
            let mut next = point.clone();
            let mut step = gradient.clone();
            factor.solve(&mut step);
            add(&mut next, -1.0, &step);
            let there = self.rough_gradient(&sample, &next);
            // False for NaN.
            let is_shorter = length(&there) < length(&gradient);
            if !is_shorter {
                break;
            }
            (point, gradient) = (next, there);
            if length(&gradient) <= enough {
                break;
            }
        }
        point
    }
}
