//! A learner with all its numbers: one variant for each method, which holds the plan of that
//! method.

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use sordino_data::{Encoded, Sampling};
use sordino_learn::{
    CoordinatePlan, GradientPlan, LearnError, LinearModel, Loss, ObjectivePlan, OutputPlan, StatisticsPlan,
};
use sordino_nn::{BatchMemory, NetworkPlan};
use sordino_noise::{Bits, danger, entropy};
use sordino_optim::{
    Averaging, Checkpoint, Checkpoints, FitOptions, LearningPlan, Progress, StepwisePlan, Stopped,
    TrainingPlan as Batches, Witness,
};
use sordino_privacy::{Claim, Paid, Permit, Release};

use crate::error::RunError;
use crate::model::{Model, network_loss};
use crate::settings::{DeclaredWeights, Method};

/// The square matrices that sufficient statistics keep: the sums of products, their factor and a
/// work copy.
const SQUARE_MATRICES: u64 = 3;

/// A learner, ready to be charged.
#[derive(Clone, Debug)]
pub enum Learner {
    /// Noisy gradient descent on all records, or on random batches.
    Gradient(GradientPlan),
    /// One noisy coordinate per step.
    Coordinate(CoordinatePlan),
    /// The minimum, with noise added to it.
    Output(OutputPlan),
    /// The minimum of a noisy objective.
    Objective(ObjectivePlan),
    /// Noisy sums of products.
    Statistics(StatisticsPlan),
    /// DP-SGD on a network.
    Network(Box<NetworkPlan>),
}

/// The surroundings of a fit.
pub(crate) struct Fit<'a> {
    pub(crate) threads: Option<NonZero<usize>>,
    pub(crate) seed: Option<u64>,
    pub(crate) checkpoints: Option<Checkpoints>,
    pub(crate) witness: Option<&'a dyn Witness>,
    /// The checkpoint to resume from, with evidence of what was paid for it.
    pub(crate) from: Option<(Checkpoint, Paid)>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watch: &'a mut dyn FnMut(Progress<'_>),
}

/// Evaluates an expression with the plan of any variant.
macro_rules! each {
    ($learner:expr, $plan:ident => $do:expr) => {
        match $learner {
            Learner::Gradient($plan) => $do,
            Learner::Coordinate($plan) => $do,
            Learner::Output($plan) => $do,
            Learner::Objective($plan) => $do,
            Learner::Statistics($plan) => $do,
            Learner::Network($plan) => $do,
        }
    };
}

impl Learner {
    /// The claim that a fit must pay for.
    pub fn claim(&self) -> Claim {
        each!(self, plan => plan.claim())
    }

    /// The method.
    pub fn method(&self) -> Method {
        match self {
            Self::Coordinate(_) => Method::CoordinateDescent,
            Self::Output(_) => Method::OutputPerturbation,
            Self::Objective(_) => Method::ObjectivePerturbation,
            Self::Statistics(_) => Method::SufficientStatistics,
            Self::Gradient(_) | Self::Network(_) => {
                match self.batches().map(|plan| plan.batches().sampling()) {
                    Some(Sampling::FullBatch) => Method::GradientDescent,
                    _ => Method::Sgd,
                }
            }
        }
    }

    /// The plan of a network, if it is one.
    pub fn network(&self) -> Option<&NetworkPlan> {
        if let Self::Network(plan) = self { Some(plan) } else { None }
    }

    /// What a linear model minimises.
    pub fn loss(&self) -> Option<Loss> {
        match self {
            Self::Gradient(plan) => Some(plan.loss()),
            Self::Coordinate(plan) => Some(plan.loss()),
            Self::Output(plan) => Some(plan.loss()),
            Self::Objective(plan) => Some(plan.loss()),
            Self::Statistics(_) => Some(Loss::Squared),
            Self::Network(_) => None,
        }
    }

    /// The name of the loss.
    pub fn loss_name(&self) -> &'static str {
        let of_network = self.network().map(|plan| network_loss(plan.network().loss()));
        of_network.or(self.loss().map(Loss::name)).unwrap_or_default()
    }

    /// Whether its models state a probability for each class.
    pub(super) fn has_probabilities(&self) -> bool {
        match self.loss() {
            Some(Loss::Logistic | Loss::Softmax { .. }) => true,
            Some(_) => false,
            None => self.encoding().classes().is_some(),
        }
    }

    /// λ of the penalty `(λ/2)‖w‖²`: given, or chosen by the method.
    pub fn l2(&self) -> f64 {
        match self {
            Self::Gradient(plan) => plan.training().l2,
            Self::Coordinate(plan) => plan.l2(),
            Self::Output(plan) => plan.l2(),
            Self::Objective(plan) => plan.l2(),
            Self::Statistics(plan) => plan.l2(),
            Self::Network(plan) => plan.training().l2,
        }
    }

    /// Weights of classes, if they were declared, divided by the largest.
    pub fn class_weights(&self) -> Option<DeclaredWeights> {
        let weights = match self {
            Self::Gradient(plan) => plan.class_weights(),
            Self::Coordinate(plan) => plan.class_weights(),
            Self::Output(plan) => plan.class_weights(),
            Self::Objective(plan) => plan.class_weights(),
            Self::Statistics(_) => None,
            Self::Network(plan) => plan.class_weights(),
        };
        weights.map(|weights| DeclaredWeights::of(self.encoding(), weights))
    }

    /// The number of weights.
    pub fn weights(&self) -> usize {
        let of_network = self.network().map(|plan| plan.network().parameters());
        let of_linear = || self.loss().map_or(0, Loss::outputs) * self.width();
        of_network.unwrap_or_else(of_linear)
    }

    /// Batches, clipping and noise of a gradient method.
    pub fn batches(&self) -> Option<&Batches> {
        match self {
            Self::Gradient(plan) => Some(plan.plan()),
            Self::Network(plan) => Some(plan.plan()),
            Self::Coordinate(_) | Self::Output(_) | Self::Objective(_) | Self::Statistics(_) => None,
        }
    }

    /// Noise of a step, in clip norms.
    pub fn noise_multiplier(&self) -> Option<f64> {
        if let Self::Coordinate(plan) = self {
            return Some(plan.noise_multiplier().get());
        }
        self.batches().map(|plan| plan.noise_multiplier().get())
    }

    /// The noise multipliers of gradients and of a count, if a step releases both.
    pub fn count_noise(&self) -> Option<(f64, f64)> {
        self.network().and_then(|plan| plan.plan().noise_split().with_count())
    }

    /// The number of steps, for methods that can be watched and resumed.
    pub fn steps(&self) -> Option<u64> {
        match self {
            Self::Gradient(plan) => Some(plan.steps()),
            Self::Coordinate(plan) => Some(plan.steps()),
            Self::Network(plan) => Some(plan.steps()),
            Self::Output(_) | Self::Objective(_) | Self::Statistics(_) => None,
        }
    }

    /// The number of noisy releases: single coordinates for coordinate
    /// descent, steps for gradient methods.
    pub(super) fn inner_steps(&self) -> u64 {
        if let Self::Coordinate(plan) = self { plan.coordinate_steps() } else { self.steps().unwrap_or(0) }
    }

    /// The word for a step, singular and plural.
    pub fn step_name(&self) -> [&'static str; 2] {
        if let Self::Coordinate(_) = self { ["pass", "passes"] } else { ["step", "steps"] }
    }

    /// What the released model is made of, if it is not the last iterate.
    pub(super) fn result(&self) -> Option<String> {
        let averaging = match self {
            Self::Gradient(plan) => plan.training().averaging,
            Self::Network(plan) => plan.training().averaging,
            Self::Coordinate(_) => return Some("an average of its iterates".to_owned()),
            Self::Output(_) | Self::Objective(_) | Self::Statistics(_) => return None,
        };
        match averaging {
            Averaging::Last => None,
            Averaging::All => Some("the mean of all iterates".to_owned()),
            Averaging::Tail { fraction } => {
                Some(format!("the mean of the last {} % of the iterates", 100.0 * fraction))
            }
            Averaging::Exponential { .. } => Some("a moving average of the iterates".to_owned()),
        }
    }

    /// The mean batch size, for gradient methods.
    pub fn batch(&self) -> Option<f64> {
        self.batches().map(Batches::divisor)
    }

    /// The mean number of batches that a record is in, for gradient methods.
    pub fn passes(&self) -> Option<f64> {
        let plan = self.batches()?;
        Some(plan.divisor() / plan.batches().slots().get() as f64 * plan.batches().steps() as f64)
    }

    /// Memory of a network's batches on `threads` threads.
    pub fn batch_memory(&self, threads: NonZero<usize>) -> Result<Option<BatchMemory>, RunError> {
        Ok(self.network().map(|plan| plan.batch_memory(threads)).transpose()?)
    }

    /// Bytes that a fit needs beside the data and that grow with the square of the width.
    /// Perturbations keep Hessians of at most 512 parameters, which do not count.
    pub(crate) fn square_bytes(&self) -> u64 {
        let square = |side: usize| (side as u64).saturating_mul(side as u64).saturating_mul(8);
        match self {
            Self::Statistics(_) => SQUARE_MATRICES.saturating_mul(square(self.width())),
            Self::Output(_)
            | Self::Objective(_)
            | Self::Gradient(_)
            | Self::Coordinate(_)
            | Self::Network(_) => 0,
        }
    }

    /// The claim that must be paid before a run can resume from `checkpoint`.
    pub(crate) fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, RunError> {
        match self {
            Self::Gradient(plan) => Ok(plan.replay_claim(checkpoint)?),
            Self::Coordinate(plan) => Ok(plan.replay_claim(checkpoint)?),
            Self::Network(plan) => Ok(plan.replay_claim(checkpoint)?),
            Self::Output(_) | Self::Objective(_) | Self::Statistics(_) => Err(RunError::CannotResume),
        }
    }

    /// The model of an iterate.
    pub(crate) fn model(&self, parameters: &[f64]) -> Result<Model, RunError> {
        match (self, self.loss()) {
            (Self::Network(plan), _) => Ok(Model::Network(plan.model(parameters.to_vec()))),
            (_, Some(loss)) => {
                let model = LinearModel::from_parts(loss, self.encoding().clone(), parameters.to_vec())?;
                Ok(Model::Linear(model))
            }
            // Cannot happen: every learner except a network has a loss.
            (_, None) => Err(RunError::CannotResume),
        }
    }

    /// Learns, against a permit.
    pub(crate) fn fit(
        &self,
        data: &Encoded,
        permit: Permit,
        fit: Fit<'_>,
    ) -> Result<Release<Model>, RunError> {
        match self {
            Self::Gradient(plan) => Ok(stepwise(plan, data, permit, fit)?.post_process(Model::Linear)),
            Self::Coordinate(plan) => Ok(stepwise(plan, data, permit, fit)?.post_process(Model::Linear)),
            Self::Network(plan) => Ok(stepwise(&**plan, data, permit, fit)?.post_process(Model::Network)),
            Self::Output(plan) => at_once(plan, data, permit, fit.seed),
            Self::Objective(plan) => at_once(plan, data, permit, fit.seed),
            Self::Statistics(plan) => at_once(plan, data, permit, fit.seed),
        }
    }

    fn encoding(&self) -> &sordino_data::Encoding {
        each!(self, plan => plan.encoding())
    }

    fn width(&self) -> usize {
        self.encoding().width()
    }
}

/// Fits from the first step, or from the checkpoint of an earlier run.
fn stepwise<P: StepwisePlan>(
    plan: &P,
    data: &Encoded,
    permit: Permit,
    fit: Fit<'_>,
) -> Result<Release<P::Model>, P::Error> {
    let mut seeded = fit.seed.map(danger::seeded);
    let options = FitOptions {
        progress: Some(fit.watch),
        cancel: Some(fit.stop),
        checkpoints: fit.checkpoints,
        witness: fit.witness,
        threads: fit.threads,
        bits: seeded.as_mut().map(|bits| bits as &mut dyn Bits),
    };
    match fit.from {
        None => plan.fit_under(data, permit, options),
        Some((checkpoint, paid)) => plan.resume(data, Stopped { checkpoint, paid }, permit, options),
    }
}

/// Fits a learner without steps: no progress, no checkpoints.
fn at_once(
    plan: &impl LearningPlan<Model = LinearModel, Error = LearnError>,
    data: &Encoded,
    permit: Permit,
    seed: Option<u64>,
) -> Result<Release<Model>, RunError> {
    let mut bits: Box<dyn Bits> = match seed {
        Some(seed) => Box::new(danger::seeded(seed)),
        None => Box::new(entropy()?),
    };
    Ok(plan.fit_with(data, permit, &mut *bits)?.post_process(Model::Linear))
}
