//! What the command needs of a learner, and the two kinds that there are: one that goes step by step and can be watched, stopped
//! and resumed, and one that is done at once.

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use sordino::noise::{Bits, danger, entropy};
use sordino::prelude::*;
use sordino::privacy::ClipNorm;
use sordino_data::{Encoded, Encoding, Sampling};
use sordino_learn::{
    FitOptions, GradientDescent, GradientPlan, LearnError, LearningPlan, LinearModel, Loss, Noise,
    StepwisePlan,
};
use sordino_optim::{Checkpoint, Checkpoints, Clipping, NoiseSplit, Plan, Progress, TrainingOptions};

use super::args::Settings;
use super::loss::flag_of;
use super::method::Task;
use crate::error::Error;
use crate::model::Model;

pub(crate) trait Learner {
    /// What a fit costs.
    fn claim(&self) -> Claim;

    /// What is minimised.
    fn loss_name(&self) -> &'static str;

    /// How many numbers are learned.
    fn weights(&self) -> usize;

    /// Puts what was decided by default into the settings.
    fn settle(&self, settings: &mut Settings);

    /// Noise of a step, in clip norms.
    fn noise_multiplier(&self) -> Option<f64>;

    /// How it is shared out where a step releases more than gradients, and where that is planned.
    fn noise_split(&self) -> Option<NoiseSplit> {
        None
    }

    /// How many steps a run has, if it has any that can be watched.
    fn steps(&self) -> Option<u64>;

    /// What these steps are called: one, and many.
    fn step_name(&self) -> [&'static str; 2] {
        ["step", "steps"]
    }

    /// How often a run looks at each record, where that is planned.
    fn passes(&self) -> Option<f64>;

    /// What one look at one record takes, in numbers of a linear model: each is a product and a sum, twice.
    fn work(&self) -> f64 {
        self.weights() as f64
    }

    /// What batches take beside the data, where that is planned, on all of `threads` threads.
    fn batches(&self, _threads: NonZero<usize>) -> Option<BatchMemory> {
        None
    }

    /// What must be charged before a run can go on from here.
    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, Error>;

    /// The model of an iterate.
    fn model(&self, parameters: &[f64]) -> Result<Model, Error>;

    /// Learns, against a permit.
    fn fit(&self, data: &Encoded, permit: Permit, session: Session<'_>) -> Result<Release<Model>, Error>;
}

/// Records that are in memory at a time with all that is computed of them, on each thread, and bytes of it on all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchMemory {
    pub(crate) records: usize,
    pub(crate) bytes: usize,
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

/// What all linear learners have in common.
pub(crate) struct Linear {
    loss: Loss,
    encoding: Encoding,
}

impl Linear {
    pub(crate) fn new(loss: Loss, encoding: &Encoding) -> Self {
        Self { loss, encoding: encoding.clone() }
    }

    pub(crate) fn loss_name(&self) -> &'static str {
        self.loss.name()
    }

    pub(crate) fn weights(&self) -> usize {
        self.loss.outputs() * self.encoding.width()
    }

    pub(crate) fn settle(&self, settings: &mut Settings) {
        settings.loss = Some(flag_of(self.loss));
    }

    pub(crate) fn model(&self, parameters: &[f64]) -> Result<Model, Error> {
        let model = LinearModel::from_parts(self.loss, self.encoding.clone(), parameters.to_vec())?;
        Ok(Model::Linear(model))
    }
}

/// Gradient descent of any kind.
pub(crate) struct ByGradients {
    plan: GradientPlan,
    linear: Linear,
}

impl ByGradients {
    pub(crate) fn plan(
        learner: GradientDescent,
        linear: Linear,
        task: &Task<'_>,
    ) -> Result<Box<dyn Learner>, Error> {
        let learner = task.tuned(learner);
        let budget = Noise::Budget { epsilon: task.epsilon, delta: task.delta };
        let noise = task.noise.map_or(budget, Noise::Multiplier);
        let mut plan = learner.plan_with(task.encoding, task.n, noise)?;
        if let Some(learning_rate) = task.settings.learning_rate {
            let training = TrainingOptions { learning_rate, ..plan.training().clone() };
            let noise = Noise::Multiplier(plan.plan().noise_multiplier());
            plan = learner.training(training).plan_with(task.encoding, task.n, noise)?;
        }
        Ok(Box::new(Self { plan, linear }))
    }
}

impl Learner for ByGradients {
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
        let (plan, training) = (self.plan.plan(), self.plan.training());
        self.linear.settle(settings);
        settings.epochs = None;
        settings.batch_size = None;
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
        Some(self.plan.plan().noise_multiplier().get())
    }

    fn steps(&self) -> Option<u64> {
        Some(self.plan.plan().batches().steps())
    }

    fn passes(&self) -> Option<f64> {
        Some(passes(self.plan.plan()))
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

/// From the first step, or from where an earlier run stopped.
pub(crate) fn fit_stepwise(
    plan: &impl StepwisePlan<Model = LinearModel, Error = LearnError>,
    data: &Encoded,
    permit: Permit,
    session: Session<'_>,
) -> Result<Release<Model>, Error> {
    let mut seeded = session.seed.map(danger::seeded);
    let options = FitOptions {
        progress: Some(session.watch),
        cancel: Some(session.stop),
        checkpoints: session.checkpoints,
        witness: None,
        threads: session.threads,
        bits: seeded.as_mut().map(|bits| bits as &mut dyn Bits),
    };
    let release = match session.from {
        None => plan.fit_under(data, permit, options)?,
        Some(checkpoint) => plan.resume(data, checkpoint, permit, options)?,
    };
    Ok(release.post_process(Model::Linear))
}

/// A learner that is not watched: no progress, no checkpoints.
pub(crate) struct AtOnce<P> {
    plan: P,
    linear: Linear,
    /// The penalty it uses: the one asked for, or what its theorem or its balance of errors makes of that.
    l2: f64,
}

impl<P: LearningPlan<Model = LinearModel, Error = LearnError> + 'static> AtOnce<P> {
    /// In a box, as the table has it.
    pub(crate) fn plan(plan: P, linear: Linear, l2: f64) -> Result<Box<dyn Learner>, Error> {
        Ok(Box::new(Self { plan, linear, l2 }))
    }
}

impl<P: LearningPlan<Model = LinearModel, Error = LearnError>> Learner for AtOnce<P> {
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
    }

    fn noise_multiplier(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> Option<u64> {
        None
    }

    fn passes(&self) -> Option<f64> {
        None
    }

    fn replay_claim(&self, _: &Checkpoint) -> Result<Claim, Error> {
        Err(Error::CannotResume)
    }

    fn model(&self, parameters: &[f64]) -> Result<Model, Error> {
        self.linear.model(parameters)
    }

    fn fit(&self, data: &Encoded, permit: Permit, session: Session<'_>) -> Result<Release<Model>, Error> {
        let mut bits: Box<dyn Bits> = match session.seed {
            Some(seed) => Box::new(danger::seeded(seed)),
            None => Box::new(entropy()?),
        };
        Ok(self.plan.fit_with(data, permit, &mut *bits)?.post_process(Model::Linear))
    }
}

/// Steps, times the part of all records that one of them looks at.
pub(crate) fn passes(plan: &Plan) -> f64 {
    rate(plan) * plan.batches().steps() as f64
}

/// Records of a batch, on average.
pub(crate) fn expected_batch(plan: &Plan) -> f64 {
    rate(plan) * plan.batches().slots().get() as f64
}

fn rate(plan: &Plan) -> f64 {
    match plan.batches().sampling() {
        Sampling::Poisson { rate } => rate.get(),
        // All records, or all within an epoch; the command makes no batches of a fixed size.
        Sampling::FullBatch
        | Sampling::WithoutReplacement { .. }
        | Sampling::WithReplacement { .. }
        | Sampling::ShuffledEpochs { .. }
        | Sampling::BallsInBins { .. } => 1.0,
    }
}
