//! Plans linear models from settings. Each method takes the settings that it uses.

use sordino_data::Encoding;
use sordino_learn::{
    CoordinateClipping, CoordinateDescent, GradientDescent, Loss, ObjectivePerturbation, OutputPerturbation,
    SufficientStatistics,
};
use sordino_optim::{Clipping, Noise, TrainingOptions};
use sordino_privacy::{ClipNorm, Count};

use super::learner::Learner;
use super::subject::Task;
use crate::error::RunError;
use crate::settings::{LearnerSettings, LossName, Method};

/// Default steps of gradient descent on all records.
const FULL_BATCH_STEPS: f64 = 100.0;
/// Default batch size and passes over the data.
const BATCH: f64 = 256.0;
const PASSES: f64 = 10.0;

/// Plans the learner that the settings name, from public things alone.
pub(super) fn plan(task: &Task<'_>, wishes: &mut LearnerSettings) -> Result<Learner, RunError> {
    let method = wishes.method.take().unwrap_or_default();
    task.check_delta(method)?;
    // The encoding has used it.
    wishes.row_norm.take();
    let asked = wishes.loss.take();
    match method {
        Method::GradientDescent => {
            let steps = task.steps(wishes, 1.0, FULL_BATCH_STEPS)?;
            gradient(GradientDescent::full_batch(loss(asked, task.encoding)?).steps(steps), task, wishes)
        }
        Method::Sgd => {
            let rate = task.rate(wishes, (BATCH / task.n.get() as f64).min(1.0))?;
            let steps = task.steps(wishes, rate.get(), PASSES)?;
            gradient(GradientDescent::poisson(loss(asked, task.encoding)?, rate).steps(steps), task, wishes)
        }
        Method::CoordinateDescent => coordinate(loss(asked, task.encoding)?, task, wishes),
        Method::OutputPerturbation => {
            let learner = OutputPerturbation::new(loss(asked, task.encoding)?).neighbours(task.neighbours);
            let learner = wishes.l2.take().map_or(learner.clone(), |l2| learner.l2(l2));
            Ok(Learner::Output(learner.plan(task.encoding, task.n, task.epsilon, task.delta)?))
        }
        Method::ObjectivePerturbation => {
            let learner = ObjectivePerturbation::new(loss(asked, task.encoding)?).neighbours(task.neighbours);
            let learner = wishes.l2.take().map_or(learner.clone(), |l2| learner.l2(l2));
            Ok(Learner::Objective(learner.plan(task.encoding, task.n, task.epsilon, task.delta)?))
        }
        Method::SufficientStatistics => {
            // The loss is squared. Any other stays in `wishes`, and is refused there.
            wishes.loss = asked.filter(|loss| *loss != LossName::Squared);
            let learner = SufficientStatistics::adaptive().neighbours(task.neighbours);
            let learner = learner.l2(wishes.l2.take().unwrap_or(0.0));
            Ok(Learner::Statistics(learner.plan(task.encoding, task.n, task.epsilon, task.delta)?))
        }
    }
}

fn gradient(
    learner: GradientDescent,
    task: &Task<'_>,
    wishes: &mut LearnerSettings,
) -> Result<Learner, RunError> {
    wishes.checkpoint_every.take();
    let learner = learner.neighbours(task.neighbours).l2(wishes.l2.take().unwrap_or(0.0));
    let learner = match wishes.clip_norm.take() {
        Some(norm) => learner.clipping(Clipping::Flat { norm: norm.get() }),
        None => learner,
    };
    let plan = learner.plan_with(task.encoding, task.n, task.noise())?;
    let Some(learning_rate) = wishes.learning_rate.take() else { return Ok(Learner::Gradient(plan)) };
    let training = TrainingOptions { learning_rate, ..plan.training().clone() };
    let noise = Noise::Multiplier(plan.plan().noise_multiplier());
    Ok(Learner::Gradient(learner.training(training).plan_with(task.encoding, task.n, noise)?))
}

fn coordinate(loss: Loss, task: &Task<'_>, wishes: &mut LearnerSettings) -> Result<Learner, RunError> {
    wishes.checkpoint_every.take();
    let learner =
        CoordinateDescent::new(loss).neighbours(task.neighbours).l2(wishes.l2.take().unwrap_or(0.0));
    let learner = wishes.steps.take().map(Count::get).map_or(learner.clone(), |steps| learner.steps(steps));
    let learner = match wishes.clip_norm.take().map(ClipNorm::get) {
        Some(norm) => learner.clipping(CoordinateClipping::BySmoothness { norm }),
        None => learner,
    };
    Ok(Learner::Coordinate(learner.plan_with(task.encoding, task.n, task.noise())?))
}

/// The loss that is asked for; by default logistic for two classes, softmax for more, squared for a number.
/// Fails if it does not suit the target.
fn loss(asked: Option<LossName>, encoding: &Encoding) -> Result<Loss, RunError> {
    let classes = encoding.classes().map_or(0, <[String]>::len);
    let loss = match asked {
        Some(LossName::Logistic) => Loss::Logistic,
        Some(LossName::SmoothHinge) => Loss::SmoothHinge { width: 0.5 },
        Some(LossName::Softmax) => Loss::Softmax { classes },
        Some(LossName::Squared) => Loss::Squared,
        Some(LossName::Huber) => Loss::Huber { width: 0.5 },
        None if encoding.target_bounds().is_some() => Loss::Squared,
        None if classes == 2 => Loss::Logistic,
        None => Loss::Softmax { classes },
    };
    loss.check(encoding)?;
    Ok(loss)
}

/// The setting that names a loss.
pub(super) fn loss_name(loss: Loss) -> LossName {
    match loss {
        Loss::Logistic => LossName::Logistic,
        Loss::SmoothHinge { .. } => LossName::SmoothHinge,
        Loss::Squared => LossName::Squared,
        Loss::Huber { .. } => LossName::Huber,
        // The enum may grow; plans here have these losses only.
        Loss::Softmax { .. } | _ => LossName::Softmax,
    }
}
