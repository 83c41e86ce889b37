//! What the command needs of a learner, and the two kinds that there are: one that goes step by step and can be watched, stopped
//! and resumed, and one that is done at once.

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use sordino::noise::{Bits, danger, entropy};
use sordino::prelude::*;
use sordino::privacy::ClipNorm;
use sordino_data::{Encoded, Sampling};
use sordino_learn::{FitOptions, GradientDescent, GradientPlan, LearningPlan, LinearModel, Noise};
use sordino_optim::{Checkpoint, Checkpoints, Clipping, Progress, TrainingOptions};

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
pub(crate) struct ByGradients(GradientPlan);

impl ByGradients {
    pub(crate) fn plan(learner: GradientDescent, task: &Task<'_>) -> Result<Box<dyn Learner>, Error> {
        let learner = task.tuned(learner);
        let plan = learner.plan(task.encoding, task.n, task.epsilon, task.delta)?;
        let Some(learning_rate) = task.settings.learning_rate else { return Ok(Box::new(Self(plan))) };
        let training = TrainingOptions { learning_rate, ..plan.training().clone() };
        let noise = Noise::Multiplier(plan.plan().noise_multiplier());
        Ok(Box::new(Self(learner.training(training).plan_with(task.encoding, task.n, noise)?)))
    }
}

impl Learner for ByGradients {
    fn claim(&self) -> Claim {
        self.0.claim()
    }

    fn settle(&self, settings: &mut Settings) {
        let (plan, training) = (self.0.plan(), self.0.training());
        settings.steps = Count::new(plan.batches().steps()).ok();
        settings.learning_rate = Some(training.learning_rate);
        settings.l2 = Some(training.l2);
        if let Clipping::Flat { norm } = plan.clipping() {
            settings.clip_norm = ClipNorm::new(*norm).ok();
        }
        if let Sampling::Poisson { rate } = plan.batches().sampling() {
            settings.sampling_rate = Some(rate);
        }
        let twentieth = plan.batches().steps().div_ceil(20);
        settings.checkpoint_every = settings.checkpoint_every.or(Count::new(twentieth).ok());
    }

    fn noise_multiplier(&self) -> Option<f64> {
        Some(self.0.plan().noise_multiplier().get())
    }

    fn steps(&self) -> Option<u64> {
        Some(self.0.plan().batches().steps())
    }

    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, Error> {
        Ok(self.0.replay_claim(checkpoint)?)
    }

    fn fit(
        &self,
        data: &Encoded,
        permit: Permit,
        session: Session<'_>,
    ) -> Result<Release<LinearModel>, Error> {
        let mut seeded = session.seed.map(danger::seeded);
        let options = FitOptions {
            progress: Some(session.watch),
            cancel: Some(session.stop),
            checkpoints: session.checkpoints,
            threads: session.threads,
            bits: seeded.as_mut().map(|bits| bits as &mut dyn Bits),
        };
        Ok(match session.from {
            None => self.0.fit_under(data, permit, options)?,
            Some(checkpoint) => self.0.resume(data, checkpoint, permit, options)?,
        })
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
