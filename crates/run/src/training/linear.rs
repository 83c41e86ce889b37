//! Plans linear models from settings. Each method takes the settings that it uses.

use sordino_learn::{
    CoordinateClipping, CoordinateDescent, DefaultChoice, GradientDescent, Loss, ObjectivePerturbation,
    OutputPerturbation, SufficientStatistics,
};
use sordino_optim::Clipping;
use sordino_privacy::{ClipNorm, Count};

use super::learner::Learner;
use super::subject::Task;
use crate::error::RunError;
use crate::settings::{LearnerSettings, LossName, Method};

/// The default batch size of `--method sgd`.
const DEFAULT_BATCH: f64 = 256.0;
/// The default number of passes of `--method sgd`.
const DEFAULT_PASSES: f64 = 10.0;
/// The fewest steps of `--method sgd` by default.
const MIN_STEPS: f64 = 1000.0;

/// Plans the learner that the settings name, from public facts alone. If they name no method, the
/// settings of gradient descent imply it; otherwise it is the [usual](Usual) one.
pub(super) fn plan(task: &Task<'_>, wishes: &mut LearnerSettings) -> Result<Learner, RunError> {
    // The encoding has already used this setting.
    wishes.row_norm.take();
    let Some(method) = wishes.method.take().or_else(|| implied(wishes)) else { return usual(task, wishes) };
    task.check_delta(method)?;
    match method {
        Method::GradientDescent => {
            let steps = match (wishes.steps, wishes.epochs) {
                (None, None) => None,
                _ => Some(task.steps(wishes, 1.0, 1.0)?),
            };
            let learner = GradientDescent::full_batch(loss(task, wishes)?);
            gradient(steps.map_or(learner.clone(), |steps| learner.steps(steps)), task, wishes)
        }
        Method::Sgd => {
            let usual = (DEFAULT_BATCH / task.n.get() as f64).min(1.0);
            let (sampling, part) = task.sampling(wishes, usual)?;
            let steps = task.steps(wishes, part, DEFAULT_PASSES.max(MIN_STEPS * part))?;
            let learner = GradientDescent::sampled(loss(task, wishes)?, sampling);
            gradient(learner.steps(steps), task, wishes)
        }
        Method::CoordinateDescent => coordinate(loss(task, wishes)?, task, wishes),
        Method::OutputPerturbation => {
            let learner = OutputPerturbation::new(loss(task, wishes)?).neighbours(task.neighbours);
            let learner = wishes.l2.take().map_or(learner.clone(), |l2| learner.l2(l2));
            let weights = task.class_weights(wishes)?;
            let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights));
            Ok(Learner::Output(learner.plan(task.encoding, task.n, task.epsilon, task.delta)?))
        }
        Method::ObjectivePerturbation => {
            let learner = ObjectivePerturbation::new(loss(task, wishes)?).neighbours(task.neighbours);
            objective(learner, task, wishes)
        }
        Method::SufficientStatistics => {
            // The loss is squared. Any other loss stays in `wishes` and is refused later.
            wishes.loss = wishes.loss.take().filter(|loss| *loss != LossName::Squared);
            let learner = SufficientStatistics::adaptive().neighbours(task.neighbours);
            let learner = learner.l2(wishes.l2.take().unwrap_or(0.0));
            Ok(Learner::Statistics(learner.plan(task.encoding, task.n, task.epsilon, task.delta)?))
        }
    }
}

/// The method that the settings imply: batches imply sgd, steps imply gradient descent.
fn implied(wishes: &LearnerSettings) -> Option<Method> {
    let LearnerSettings { steps, epochs, learning_rate, momentum, clip_norm, checkpoint_every, .. } = wishes;
    if wishes.sampling.is_some() || wishes.sampling_rate.is_some() || wishes.batch_size.is_some() {
        return Some(Method::Sgd);
    }
    let of_steps = steps.is_some() || epochs.is_some() || checkpoint_every.is_some();
    let of_a_step = learning_rate.is_some() || momentum.is_some() || clip_norm.is_some();
    (of_steps || of_a_step).then_some(Method::GradientDescent)
}

/// The usual learner for the task.
fn usual(task: &Task<'_>, wishes: &mut LearnerSettings) -> Result<Learner, RunError> {
    let loss = loss(task, wishes)?;
    match task.facts().learner(loss)? {
        DefaultChoice::Gradient(learner) => gradient(learner, task, wishes),
        DefaultChoice::Objective(learner) => objective(learner, task, wishes),
    }
}

fn objective(
    learner: ObjectivePerturbation,
    task: &Task<'_>,
    wishes: &mut LearnerSettings,
) -> Result<Learner, RunError> {
    let learner = wishes.l2.take().map_or(learner.clone(), |l2| learner.l2(l2));
    let weights = task.class_weights(wishes)?;
    let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights));
    Ok(Learner::Objective(learner.plan(task.encoding, task.n, task.epsilon, task.delta)?))
}

fn gradient(
    learner: GradientDescent,
    task: &Task<'_>,
    wishes: &mut LearnerSettings,
) -> Result<Learner, RunError> {
    wishes.checkpoint_every.take();
    let learner = learner.neighbours(task.neighbours);
    let learner = wishes.l2.take().map_or(learner.clone(), |l2| learner.l2(l2));
    let learner = wishes.learning_rate.take().map_or(learner.clone(), |rate| learner.learning_rate(rate));
    let learner = wishes.momentum.take().map_or(learner.clone(), |momentum| learner.momentum(momentum));
    let weights = task.class_weights(wishes)?;
    let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights));
    let learner = match wishes.clip_norm.take() {
        Some(norm) => learner.clipping(Clipping::Flat { norm: norm.get() }),
        None => learner,
    };
    Ok(Learner::Gradient(learner.plan_with(task.encoding, task.n, task.noise())?))
}

fn coordinate(loss: Loss, task: &Task<'_>, wishes: &mut LearnerSettings) -> Result<Learner, RunError> {
    wishes.checkpoint_every.take();
    let learner =
        CoordinateDescent::new(loss).neighbours(task.neighbours).l2(wishes.l2.take().unwrap_or(0.0));
    let learner = wishes.steps.take().map(Count::get).map_or(learner.clone(), |steps| learner.steps(steps));
    let weights = task.class_weights(wishes)?;
    let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights));
    let learner = match wishes.clip_norm.take().map(ClipNorm::get) {
        Some(norm) => learner.clipping(CoordinateClipping::BySmoothness { norm }),
        None => learner,
    };
    Ok(Learner::Coordinate(learner.plan_with(task.encoding, task.n, task.noise())?))
}

/// Takes the loss out of `wishes`. By default it is logistic for two classes, softmax for more,
/// Huber's for a number. Fails if it does not suit the target.
fn loss(task: &Task<'_>, wishes: &mut LearnerSettings) -> Result<Loss, RunError> {
    let classes = task.encoding.classes().map_or(0, <[String]>::len);
    let loss = match wishes.loss.take() {
        Some(LossName::Logistic) => Loss::Logistic,
        Some(LossName::SmoothHinge) => Loss::SmoothHinge { width: 0.5 },
        Some(LossName::Softmax) => Loss::Softmax { classes },
        Some(LossName::Squared) => Loss::Squared,
        Some(LossName::Huber) | None => task.facts().loss()?,
    };
    let loss = match (loss, wishes.huber_width) {
        (Loss::Huber { .. }, Some(width)) => {
            wishes.huber_width.take();
            Loss::Huber { width }
        }
        _ => loss,
    };
    loss.check(task.encoding)?;
    Ok(loss)
}

/// The width of a Huber loss.
pub(super) fn huber_width(loss: Loss) -> Option<f64> {
    if let Loss::Huber { width } = loss { Some(width) } else { None }
}

/// The setting that names a loss.
pub(super) fn loss_name(loss: Loss) -> LossName {
    match loss {
        Loss::Logistic => LossName::Logistic,
        Loss::SmoothHinge { .. } => LossName::SmoothHinge,
        Loss::Squared => LossName::Squared,
        Loss::Huber { .. } => LossName::Huber,
        // The enum may grow; these plans have no other loss.
        Loss::Softmax { .. } | _ => LossName::Softmax,
    }
}
