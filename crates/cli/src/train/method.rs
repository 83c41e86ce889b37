//! The table of learners: a new one is a variant, its flags, and one line of [`Method::plan`].

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use sordino::prelude::*;
use sordino_data::Encoding;
use sordino_learn::{
    CoordinateClipping, CoordinateDescent, GradientDescent, Loss, ObjectivePerturbation, OutputPerturbation,
    SufficientStatistics,
};
use sordino_optim::Clipping;

use super::args::Settings;
use super::coordinates::ByCoordinates;
use super::learner::{AtOnce, ByGradients, Learner, Linear};
use super::loss::loss;
use super::network;
use crate::error::Error;

/// Steps of gradient descent on all records, unless they are set.
const FULL_BATCH_STEPS: f64 = 100.0;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// Noisy gradient descent on all records
    #[default]
    GradientDescent,
    /// Noisy gradient descent on random batches (DP-SGD)
    Sgd,
    /// One noisy coordinate a step; for unevenly scaled columns, two classes or a number
    CoordinateDescent,
    /// The minimum, with noise added to it; for classes, or a number with --loss huber
    OutputPerturbation,
    /// The minimum of an objective with noise in it; for two classes
    ObjectivePerturbation,
    /// From noisy sums of products (AdaSSP); for a number
    SufficientStatistics,
}

/// What a learner is made for.
pub(crate) struct Task<'a> {
    pub(crate) encoding: &'a Encoding,
    pub(crate) n: Count,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) neighbours: Neighbours,
    pub(crate) settings: &'a Settings,
    /// Of a step, where it does not follow from ε: rehearsals have that of the real run. Learners that are done at once have none.
    pub(crate) noise: Option<NoiseMultiplier>,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GradientDescent => "gradient-descent",
            Self::Sgd => "sgd",
            Self::CoordinateDescent => "coordinate-descent",
            Self::OutputPerturbation => "output-perturbation",
            Self::ObjectivePerturbation => "objective-perturbation",
            Self::SufficientStatistics => "sufficient-statistics",
        }
    }

    /// The one that is asked for, or the usual one.
    pub(crate) fn of(settings: &Settings) -> Self {
        let usual = if settings.model.is_some() { Self::Sgd } else { Self::default() };
        settings.method.unwrap_or(usual)
    }

    /// Flags that it understands, of those that not all do.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::GradientDescent => {
                &["--steps", "--epochs", "--clip-norm", "--learning-rate", "--checkpoint-every"]
            }
            Self::Sgd => &[
                "--steps",
                "--epochs",
                "--clip-norm",
                "--learning-rate",
                "--checkpoint-every",
                "--sampling-rate",
                "--batch-size",
            ],
            Self::CoordinateDescent => &["--steps", "--clip-norm", "--checkpoint-every"],
            Self::OutputPerturbation | Self::ObjectivePerturbation | Self::SufficientStatistics => &[],
        }
    }

    /// The learner with all its numbers. Looks at public things alone.
    pub(crate) fn plan(self, task: &Task<'_>) -> Result<Box<dyn Learner>, Error> {
        self.check_flags(task.settings)?;
        check_network_flags(task.settings)?;
        let &Task { encoding, n, epsilon, delta, neighbours, settings, noise: _ } = task;
        if delta == Delta::ZERO && self.needs_delta() {
            return Err(Error::PureTraining { method: self.name() });
        }
        let loss = loss(settings.loss, encoding)?;
        let linear = Linear::new(loss, encoding);
        match self {
            Self::GradientDescent => {
                let steps = task.steps(1.0, FULL_BATCH_STEPS)?;
                ByGradients::plan(GradientDescent::full_batch(loss).steps(steps), linear, task)
            }
            Self::Sgd => ByGradients::plan(task.sgd(loss)?, linear, task),
            Self::CoordinateDescent => ByCoordinates::plan(&task.coordinate_descent(loss), linear, task),
            Self::OutputPerturbation => {
                let learner = OutputPerturbation::new(loss).neighbours(neighbours);
                let learner = settings.l2.map_or(learner.clone(), |l2| learner.l2(l2));
                let plan = learner.plan(encoding, n, epsilon, delta)?;
                let l2 = plan.l2();
                AtOnce::plan(plan, linear, l2)
            }
            Self::ObjectivePerturbation => {
                let learner = ObjectivePerturbation::new(loss).neighbours(neighbours);
                let learner = settings.l2.map_or(learner.clone(), |l2| learner.l2(l2));
                let plan = learner.plan(encoding, n, epsilon, delta)?;
                let l2 = plan.l2();
                AtOnce::plan(plan, linear, l2)
            }
            Self::SufficientStatistics => {
                if loss != Loss::Squared {
                    return Err(Error::MethodNeedsSquared { loss: loss.name() });
                }
                let (learner, l2) = (SufficientStatistics::adaptive(), settings.l2.unwrap_or(0.0));
                let plan = learner.neighbours(neighbours).l2(l2).plan(encoding, n, epsilon, delta)?;
                AtOnce::plan(plan, linear, l2)
            }
        }
    }

    /// Whether its noise is Gaussian whatever is asked for, so that δ must be above 0.
    fn needs_delta(self) -> bool {
        match self {
            Self::GradientDescent | Self::Sgd | Self::CoordinateDescent | Self::SufficientStatistics => true,
            Self::OutputPerturbation | Self::ObjectivePerturbation => false,
        }
    }

    /// That a network can be learned this way, by what is set.
    pub(crate) fn check_network(self, settings: &Settings) -> Result<(), Error> {
        match self {
            Self::GradientDescent | Self::Sgd => {}
            Self::CoordinateDescent
            | Self::OutputPerturbation
            | Self::ObjectivePerturbation
            | Self::SufficientStatistics => return Err(Error::MethodForLinear { method: self.name() }),
        }
        for (is_given, flag) in
            [(settings.loss.is_some(), "--loss"), (settings.row_norm.is_some(), "--row-norm")]
        {
            if is_given {
                return Err(Error::FlagOfLinear { flag });
            }
        }
        self.check_flags(settings)
    }

    fn check_flags(self, settings: &Settings) -> Result<(), Error> {
        let given = [
            (settings.steps.is_some(), "--steps"),
            (settings.clip_norm.is_some(), "--clip-norm"),
            (settings.learning_rate.is_some(), "--learning-rate"),
            (settings.sampling_rate.is_some(), "--sampling-rate"),
            (settings.batch_size.is_some(), "--batch-size"),
            (settings.epochs.is_some(), "--epochs"),
            (settings.checkpoint_every.is_some(), "--checkpoint-every"),
        ];
        let stray = given.into_iter().find(|(is_given, flag)| *is_given && !self.flags().contains(flag));
        let Some((_, flag)) = stray else { return Ok(()) };
        let all = Self::value_variants().iter().filter(|method| method.flags().contains(&flag));
        let known = all.map(|method| method.name()).collect::<Vec<_>>().join(", ");
        Err(Error::FlagOfOtherMethod { flag, method: self.name(), known })
    }
}

impl Task<'_> {
    /// The learner that the settings name, with all its numbers.
    pub(crate) fn learner(&self) -> Result<Box<dyn Learner>, Error> {
        match &self.settings.model {
            Some(model) => network::plan(model, self),
            None => Method::of(self.settings).plan(self),
        }
    }

    /// The part of all records that a batch has, as it is set, or the usual one.
    pub(crate) fn rate(&self, usual: f64) -> Result<SamplingRate, Error> {
        match (self.settings.sampling_rate, self.settings.batch_size) {
            (Some(_), Some(_)) => Err(Error::TwoFlags { first: "--sampling-rate", second: "--batch-size" }),
            (Some(rate), None) => Ok(rate),
            (None, Some(batch)) if batch > self.n => {
                Err(Error::LargeBatch { batch: batch.get(), n: self.n.get() })
            }
            (None, Some(batch)) => Ok(SamplingRate::new(batch.get() as f64 / self.n.get() as f64)?),
            (None, None) => Ok(SamplingRate::new(usual)?),
        }
    }

    /// Steps, as they are set or so many that there are so many passes over the data.
    pub(crate) fn steps(&self, rate: f64, passes: f64) -> Result<Count, Error> {
        match (self.settings.steps, self.settings.epochs) {
            (Some(_), Some(_)) => Err(Error::TwoFlags { first: "--steps", second: "--epochs" }),
            (Some(steps), None) => Ok(steps),
            (None, epochs) => {
                let passes = epochs.map_or(passes, |epochs| epochs.get() as f64);
                Ok(Count::new((passes / rate).ceil() as u64)?)
            }
        }
    }

    /// Batches of 256 on average, and ten passes.
    fn sgd(&self, loss: Loss) -> Result<GradientDescent, Error> {
        let rate = self.rate((256.0 / self.n.get() as f64).min(1.0))?;
        let steps = self.steps(rate.get(), 10.0)?;
        Ok(GradientDescent::poisson(loss, rate).steps(steps))
    }

    fn coordinate_descent(&self, loss: Loss) -> CoordinateDescent {
        let Settings { steps, clip_norm, l2, .. } = self.settings;
        let learner = CoordinateDescent::new(loss).neighbours(self.neighbours).l2(l2.unwrap_or(0.0));
        let learner = steps.map_or(learner.clone(), |steps| learner.steps(steps.get()));
        match clip_norm {
            Some(norm) => learner.clipping(CoordinateClipping::BySmoothness { norm: norm.get() }),
            None => learner,
        }
    }

    /// What the flags say about gradient descent of any kind.
    pub(crate) fn tuned(&self, learner: GradientDescent) -> GradientDescent {
        let Settings { clip_norm, l2, .. } = self.settings;
        let learner = learner.neighbours(self.neighbours).l2(l2.unwrap_or(0.0));
        match clip_norm {
            Some(norm) => learner.clipping(Clipping::Flat { norm: norm.get() }),
            None => learner,
        }
    }
}

/// Flags that only networks understand.
fn check_network_flags(settings: &Settings) -> Result<(), Error> {
    let given = [
        (settings.hidden.is_some(), "--hidden"),
        (settings.image.is_some(), "--image"),
        (settings.momentum.is_some(), "--momentum"),
        (settings.clipping.is_some(), "--clipping"),
        (settings.clip_quantile.is_some(), "--clip-quantile"),
        (settings.averaging.is_some(), "--averaging"),
        (settings.averaging_tail.is_some(), "--averaging-tail"),
        (settings.averaging_decay.is_some(), "--averaging-decay"),
        (settings.memory.is_some(), "--memory"),
    ];
    match given.into_iter().find(|(is_given, _)| *is_given) {
        Some((_, flag)) => Err(Error::FlagOfNetwork { flag }),
        None => Ok(()),
    }
}
