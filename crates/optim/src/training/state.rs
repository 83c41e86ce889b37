//! The state of gradient descent between two steps, and how a checkpoint stores it.

use super::TrainingOptions;
use crate::average::Average;
use crate::checkpoint::{Checkpoint, Snapshot};
use crate::error::OptimError;
use crate::rule::RuleState;

/// The state between two steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) step: u64,
    pub(super) clip_norm: f64,
    pub(super) parameters: Vec<f64>,
    pub(super) rule: RuleState,
    pub(super) average: Average,
}

impl State {
    /// The state before the first step.
    pub(super) fn new(
        options: &TrainingOptions,
        start: Option<Vec<f64>>,
        clip_norm: f64,
        dimension: usize,
    ) -> Self {
        Self {
            step: 0,
            clip_norm,
            parameters: start.unwrap_or_else(|| vec![0.0; dimension]),
            rule: RuleState::new(&options.rule, dimension),
            average: Average::new(options.averaging, dimension),
        }
    }

    /// The state in a checkpoint, if it has the shape that the options need.
    pub(super) fn of(
        mut checkpoint: Checkpoint,
        options: &TrainingOptions,
        dimension: usize,
    ) -> Result<Self, OptimError> {
        let (clip_norm, weight) = (checkpoint.number("clip_norm"), checkpoint.number("weight"));
        let rule =
            RuleState { first: checkpoint.take_vector("first"), second: checkpoint.take_vector("second") };
        let (averaging, sum) = (options.averaging, checkpoint.take_vector("average"));
        let state = Self {
            step: checkpoint.steps(),
            clip_norm: clip_norm.unwrap_or_default(),
            parameters: checkpoint.take_vector("parameters"),
            rule,
            average: Average { averaging, sum, weight: weight.unwrap_or_default() },
        };
        let fits = state.parameters.len() == dimension
            && state.rule.has_dimension(&options.rule, dimension)
            && state.average.has_dimension(dimension)
            && state.clip_norm > 0.0;
        if fits { Ok(state) } else { Err(checkpoint.of_another_run()) }
    }

    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            step: self.step,
            numbers: vec![("clip_norm", self.clip_norm), ("weight", self.average.weight)],
            vectors: vec![
                ("parameters", &self.parameters),
                ("first", &self.rule.first),
                ("second", &self.rule.second),
                ("average", &self.average.sum),
            ],
        }
    }
}
