//! One pass over all coordinates, and the state between two passes.

use std::num::NonZero;

use sordino_noise::grid::Grid;
use sordino_noise::{Bits, uniform_below};
use sordino_optim::{Checkpoint, OptimError, Snapshot};

use super::CoordinateDescent;
use super::columns::Columns;
use super::iterates::{Iterates, Tail};
use crate::error::LearnError;

/// What stays constant during a fit.
pub(super) struct Descent<'a> {
    pub(super) learner: &'a CoordinateDescent,
    pub(super) n: f64,
    pub(super) columns: Columns,
    pub(super) smoothness: Vec<f64>,
    pub(super) grids: Vec<Grid>,
}

/// The state between two passes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) pass: u64,
    pub(super) iterates: Iterates,
}

impl State {
    /// Before the first pass.
    pub(super) fn new(learner: &CoordinateDescent, width: usize) -> Self {
        Self { pass: 0, iterates: Iterates::new(width, tail(learner)) }
    }

    /// The state that a checkpoint holds, and the smoothness.
    pub(super) fn of(
        mut checkpoint: Checkpoint,
        learner: &CoordinateDescent,
        width: usize,
    ) -> Result<(Self, Vec<f64>), OptimError> {
        let [weights, sum, smoothness] =
            ["weights", "sum", "smoothness"].map(|name| checkpoint.take_vector(name));
        if [&weights, &sum, &smoothness].iter().any(|vector| vector.len() != width) {
            return Err(checkpoint.of_another_run());
        }
        let pass = checkpoint.steps();
        let at = boundary(learner, pass, width) % learner.steps;
        Ok((Self { pass, iterates: Iterates::from_parts(weights, sum, at, tail(learner)) }, smoothness))
    }

    pub(super) fn snapshot<'a>(&'a self, smoothness: &'a [f64]) -> Snapshot<'a> {
        let Iterates { weights, sum, .. } = &self.iterates;
        let vectors: Vec<(_, &[f64])> = vec![("weights", weights), ("sum", sum), ("smoothness", smoothness)];
        Snapshot { step: self.pass, numbers: Vec::new(), vectors }
    }
}

impl Descent<'_> {
    /// Does the next pass. `scores` are those of the current weights, before and after it.
    pub(super) fn pass(
        &self,
        state: &mut State,
        scores: &mut Vec<f64>,
        bits: &mut dyn Bits,
    ) -> Result<(), LearnError> {
        let &CoordinateDescent { loss, steps, step_size, l2, .. } = self.learner;
        let State { pass, iterates } = state;
        let width = self.grids.len();
        let [first, end] = [*pass, *pass + 1].map(|pass| boundary(self.learner, pass, width));
        for (step, j) in (first..end).zip(order(width, bits)) {
            let sum = self.columns.clamped_sum(loss, scores, j, self.grids[j])?;
            let gradient = sum.add_gaussian(bits)?.to_f64()[0] / self.n + l2 * iterates.weights[j];
            let change = -step_size / self.smoothness[j] * gradient;
            iterates.step(step % steps, j, change);
            self.columns.move_scores(scores, j, change);
            if (step + 1).is_multiple_of(steps) {
                iterates.end_round();
                *scores = self.columns.scores(&iterates.weights);
            }
        }
        iterates.settle(end % steps);
        *pass += 1;
        Ok(())
    }
}

/// The number of steps before this pass, over all rounds. The last pass is shorter if the number of
/// coordinates does not divide that of all steps.
fn boundary(learner: &CoordinateDescent, pass: u64, width: usize) -> u64 {
    pass.saturating_mul(width as u64).min(learner.all_steps())
}

fn tail(learner: &CoordinateDescent) -> Tail {
    Tail::new(learner.steps, learner.tail)
}

/// The coordinates of one pass, each once, in a uniformly random order.
pub(super) fn order(width: usize, bits: &mut dyn Bits) -> Vec<usize> {
    let mut coordinates: Vec<usize> = (0..width).collect();
    for taken in 0..width {
        // `taken` is below `width`, so the difference is at least 1.
        let rest = NonZero::new((width - taken) as u64).unwrap_or(NonZero::<u64>::MIN);
        coordinates.swap(taken, taken + uniform_below(rest, bits) as usize);
    }
    coordinates
}
