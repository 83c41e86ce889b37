//! Coordinate descent, as the command's other learners. What is watched, kept and resumed are its passes over all coordinates.

use sordino::prelude::*;
use sordino_data::Encoded;
use sordino_learn::{CoordinateDescent, CoordinatePlan, LearningPlan, Noise, StepwisePlan};
use sordino_optim::Checkpoint;

use super::args::Settings;
use super::learner::{Learner, Linear, Session, fit_stepwise};
use super::method::Task;
use crate::error::Error;
use crate::model::Model;

pub(crate) struct ByCoordinates {
    plan: CoordinatePlan,
    linear: Linear,
    l2: f64,
}

impl ByCoordinates {
    /// In a box, as the table has it.
    pub(crate) fn plan(
        learner: &CoordinateDescent,
        linear: Linear,
        task: &Task<'_>,
    ) -> Result<Box<dyn Learner>, Error> {
        let budget = Noise::Budget { epsilon: task.epsilon, delta: task.delta };
        let plan = learner.plan_with(task.encoding, task.n, task.noise.map_or(budget, Noise::Multiplier))?;
        Ok(Box::new(Self { plan, linear, l2: task.settings.l2.unwrap_or(0.0) }))
    }
}

impl Learner for ByCoordinates {
    fn claim(&self) -> Claim {
        self.plan.claim()
    }

    fn loss_name(&self) -> &'static str {
        self.linear.loss_name()
    }

    fn weights(&self) -> usize {
        self.linear.weights()
    }

    fn settle(&self, settings: &mut Settings) {
        self.linear.settle(settings);
        settings.l2 = Some(self.l2);
        settings.steps = Count::new(self.plan.coordinate_steps()).ok();
        let twentieth = self.plan.steps().div_ceil(20);
        settings.checkpoint_every = settings.checkpoint_every.or(Count::new(twentieth).ok());
    }

    fn noise_multiplier(&self) -> Option<f64> {
        Some(self.plan.noise_multiplier().get())
    }

    fn steps(&self) -> Option<u64> {
        Some(self.plan.steps())
    }

    fn step_name(&self) -> [&'static str; 2] {
        ["pass", "passes"]
    }

    /// A pass takes longer than a step of gradient descent, by which times are planned: rehearsals tell.
    fn passes(&self) -> Option<f64> {
        None
    }

    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, Error> {
        Ok(self.plan.replay_claim(checkpoint)?)
    }

    fn model(&self, parameters: &[f64]) -> Result<Model, Error> {
        self.linear.model(parameters)
    }

    fn fit(&self, data: &Encoded, permit: Permit, session: Session<'_>) -> Result<Release<Model>, Error> {
        fit_stepwise(&self.plan, data, permit, session)
    }
}
