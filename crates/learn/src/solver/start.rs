//! Where to begin: near the minimum of a few records.
//!
//! The first steps of Newton's method lead from nowhere to the neighbourhood of the minimum, and
//! each looks at all records. A few records lead there as well: over m of them the gradient's mean
//! is off by about `1/sqrt(m)` of a record's. What is found certifies nothing, and if the few are
//! not like the rest it costs some steps more.

use sordino_data::BlockView;

use super::cholesky::Cholesky;
use super::problem::{Problem, length};
use super::{MOST_FACTORED, add};

/// Fewer blocks than this are all looked at from the start.
const LEAST_BLOCKS: usize = 32;
/// Newton's steps on the few.
const STEPS: usize = 5;
/// What they should leave of the gradient over the few.
const ENOUGH: f64 = 1e-3;

impl Problem<'_> {
    /// A point near the minimum; zero if there are not records enough to leave most of them out.
    pub(super) fn start(&self) -> Vec<f64> {
        let mut point = vec![0.0; self.dimension()];
        let all: Vec<BlockView<'_>> = self.data.blocks().collect();
        if all.len() < LEAST_BLOCKS || point.len() > MOST_FACTORED {
            return point;
        }
        let few: Vec<BlockView<'_>> = all.iter().step_by(4 * self.stride(all.len())).copied().collect();
        let mut gradient = self.rough_gradient(&few, &point);
        let enough = ENOUGH * length(&gradient);
        for _ in 0..STEPS {
            let Some(factor) = Cholesky::of(self.rough_hessian(&few, &point), point.len()) else { break };
            let mut next = point.clone();
            let mut step = gradient.clone();
            factor.solve(&mut step);
            add(&mut next, -1.0, &step);
            let there = self.rough_gradient(&few, &next);
            // A comparison with NaN is false.
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
