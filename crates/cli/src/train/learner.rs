//! What the command needs of a learner, and the two kinds that there are: one that goes step by step and can be watched, stopped
//! and resumed, and one that is done at once.

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use sordino::noise::{Bits, danger, entropy};
use sordino::prelude::*;
use sordino_data::{Encoded, Encoding, Sampling};
use sordino_learn::{GradientDescent, GradientPlan, LearningPlan, LinearModel, LinearObjective, Loss, Noise};
use sordino_optim::{Checkpoint, Checkpoints, Clipping, Progress, Training, TrainingOptions};

use super::args::Settings;
use super::method::Task;
use crate::error::Error;

pub(crate) trait Learner {
    /// What a fit costs.
    fn claim(&self) -> Claim;

    /// Puts what was decided by default into the settings.
    fn settle(&self, settings: &mut Settings);

    /// Noise of a step, in clip norms.
    fn noise_multiplier(&self) -> Option<f64>;

    /// How many steps a run has, if it has any that can be watched.
    fn steps(&self) -> Option<u64>;

    /// What must be charged before a run can go on from here.
    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, Error>;

    /// Learns, against a permit.
    fn fit(
        &self,
        data: &Encoded,
        permit: Permit,
        session: Session<'_>,
    ) -> Result<Release<LinearModel>, Error>;
}

/// What one run has around it.
pub(crate) struct Session<'a> {
    pub(crate) threads: Option<NonZero<usize>>,
    pub(crate) seed: Option<u64>,
    pub(crate) checkpoints: Option<Checkpoints>,
    /// Where to go on from.
    pub(crate) from: Option<Checkpoint>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watch: &'a mut dyn FnMut(Progress<'_>),
}

/// Gradient descent of any kind.
pub(crate) struct ByGradients {
    plan: GradientPlan,
    training: TrainingOptions,
    loss: Loss,
    encoding: Encoding,
}

impl ByGradients {
    pub(crate) fn plan(learner: GradientDescent, task: &Task<'_>) -> Result<Box<dyn Learner>, Error> {
        let noise = Noise::Budget { epsilon: task.epsilon, delta: task.delta };
        let plan = task.tuned(learner).plan_with(task.encoding, task.n, noise)?;
        let mut training = plan.training().clone();
        if let Some(rate) = task.settings.learning_rate {
            training.learning_rate = rate;
        }
        Ok(Box::new(Self { plan, training, loss: task.loss, encoding: task.encoding.clone() }))
    }

    fn model(&self, weights: Vec<f64>) -> LinearModel {
        // The objective that was trained has as many parameters as loss and encoding say.
        LinearModel::from_parts(self.loss, self.encoding.clone(), weights).expect("weights of this model")
    }
}

impl Learner for ByGradients {
    fn claim(&self) -> Claim {
        self.plan.claim()
    }

    fn settle(&self, settings: &mut Settings) {
        let plan = self.plan.plan();
        settings.steps = Count::new(plan.batches().steps()).ok();
        settings.learning_rate = Some(self.training.learning_rate);
        settings.l2 = Some(self.training.l2);
        if let Clipping::Flat { norm } = plan.clipping() {
            settings.clip_norm = sordino::privacy::ClipNorm::new(*norm).ok();
        }
        if let Sampling::Poisson { rate } = plan.batches().sampling() {
            settings.sampling_rate = Some(rate);
        }
        let twentieth = plan.batches().steps().div_ceil(20);
        settings.checkpoint_every = settings.checkpoint_every.or(Count::new(twentieth).ok());
    }

    fn noise_multiplier(&self) -> Option<f64> {
        Some(self.plan.plan().noise_multiplier().get())
    }

    fn steps(&self) -> Option<u64> {
        Some(self.plan.plan().batches().steps())
    }

    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, Error> {
        Ok(self.plan.plan().replay_claim(checkpoint)?)
    }

    fn fit(
        &self,
        data: &Encoded,
        permit: Permit,
        session: Session<'_>,
    ) -> Result<Release<LinearModel>, Error> {
        let objective = LinearObjective::new(self.loss, data);
        let training = Training::new(self.plan.plan(), &objective, self.training.clone())?;
        let mut training = training.cancelled_by(session.stop);
        if let Some(checkpoints) = session.checkpoints {
            training = training.with_checkpoints(checkpoints)?;
        }
        if let Some(threads) = session.threads {
            training = training.threads(threads);
        }
        let mut seeded = session.seed.map(danger::seeded);
        let weights = match (session.from, &mut seeded) {
            (None, None) => training.run(permit, session.watch)?,
            (None, Some(bits)) => training.run_with(permit, bits, session.watch)?,
            (Some(from), None) => training.resume(from, permit, session.watch)?,
            (Some(from), Some(bits)) => training.resume_with(from, permit, bits, session.watch)?,
        };
        Ok(weights.post_process(|weights| self.model(weights)))
    }
}

/// A learner that is not watched: no progress, no checkpoints.
pub(crate) struct AtOnce<P>(P);

impl<P: LearningPlan<Model = LinearModel> + 'static> AtOnce<P> {
    /// In a box, as the table has it.
    pub(crate) fn plan(plan: P) -> Result<Box<dyn Learner>, Error> {
        Ok(Box::new(Self(plan)))
    }
}

impl<P: LearningPlan<Model = LinearModel>> Learner for AtOnce<P> {
    fn claim(&self) -> Claim {
        self.0.claim()
    }

    fn settle(&self, _: &mut Settings) {}

    fn noise_multiplier(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> Option<u64> {
        None
    }

    fn replay_claim(&self, _: &Checkpoint) -> Result<Claim, Error> {
        Err(Error::CannotResume)
    }

    fn fit(
        &self,
        data: &Encoded,
        permit: Permit,
        session: Session<'_>,
    ) -> Result<Release<LinearModel>, Error> {
        let mut bits: Box<dyn Bits> = match session.seed {
            Some(seed) => Box::new(danger::seeded(seed)),
            None => Box::new(entropy()?),
        };
        Ok(self.0.fit_with(data, permit, &mut *bits)?)
    }
}
