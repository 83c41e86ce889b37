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
use super::learner::{AtOnce, ByGradients, Learner};
use crate::error::Error;

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
    /// The minimum, with noise added to it; for classes
    OutputPerturbation,
    /// The minimum of an objective with noise in it; for two classes
    ObjectivePerturbation,
    /// From noisy sums of products (AdaSSP); for a number
    SufficientStatistics,
}

/// What a learner is made for.
pub(crate) struct Task<'a> {
    pub(crate) loss: Loss,
    pub(crate) encoding: &'a Encoding,
    pub(crate) n: Count,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) neighbours: Neighbours,
    pub(crate) settings: &'a Settings,
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

    /// Flags that it understands, of those that not all do.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::GradientDescent => &["--steps", "--clip-norm", "--learning-rate", "--checkpoint-every"],
            Self::Sgd => {
                &["--steps", "--clip-norm", "--learning-rate", "--checkpoint-every", "--sampling-rate"]
            }
            Self::CoordinateDescent => &["--steps", "--clip-norm"],
            Self::OutputPerturbation | Self::ObjectivePerturbation | Self::SufficientStatistics => &[],
        }
    }

    /// The learner with all its numbers. Looks at public things alone.
    pub(crate) fn plan(self, task: &Task<'_>) -> Result<Box<dyn Learner>, Error> {
        self.check_flags(task.settings)?;
        let &Task { loss, encoding, n, epsilon, delta, neighbours, settings } = task;
        match self {
            Self::GradientDescent => ByGradients::plan(GradientDescent::full_batch(loss), task),
            Self::Sgd => ByGradients::plan(task.sgd()?, task),
            Self::CoordinateDescent => {
                AtOnce::plan(task.coordinate_descent().plan(encoding, n, epsilon, delta)?)
            }
            Self::OutputPerturbation => {
                let learner = OutputPerturbation::new(loss).neighbours(neighbours);
                let learner = settings.l2.map_or(learner.clone(), |l2| learner.l2(l2));
                AtOnce::plan(learner.plan(encoding, n, epsilon, delta)?)
            }
            Self::ObjectivePerturbation => {
                let learner = ObjectivePerturbation::new(loss).neighbours(neighbours);
                let learner = settings.l2.map_or(learner.clone(), |l2| learner.l2(l2));
                AtOnce::plan(learner.plan(encoding, n, epsilon, delta)?)
            }
            Self::SufficientStatistics => {
                if loss != Loss::Squared {
                    return Err(Error::MethodNeedsSquared { loss: loss.name() });
                }
                let learner = SufficientStatistics::adaptive().neighbours(neighbours);
                AtOnce::plan(learner.l2(settings.l2.unwrap_or(0.0)).plan(encoding, n, epsilon, delta)?)
            }
        }
    }

    /// Whether its noise is Gaussian whatever is asked for, so that δ must be above 0.
    pub(crate) fn needs_delta(self) -> bool {
        match self {
            Self::GradientDescent | Self::Sgd | Self::CoordinateDescent | Self::SufficientStatistics => true,
            Self::OutputPerturbation | Self::ObjectivePerturbation => false,
        }
    }

    fn check_flags(self, settings: &Settings) -> Result<(), Error> {
        let given = [
            (settings.steps.is_some(), "--steps"),
            (settings.clip_norm.is_some(), "--clip-norm"),
            (settings.learning_rate.is_some(), "--learning-rate"),
            (settings.sampling_rate.is_some(), "--sampling-rate"),
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
    /// Batches of 256 on average, and ten passes.
    fn sgd(&self) -> Result<GradientDescent, Error> {
        let usual = (256.0 / self.n.get() as f64).min(1.0);
        let rate = self.settings.sampling_rate.map_or_else(|| SamplingRate::new(usual), Ok)?;
        let steps = Count::new((10.0 / rate.get()).ceil() as u64)?;
        Ok(GradientDescent::poisson(self.loss, rate).steps(steps))
    }

    fn coordinate_descent(&self) -> CoordinateDescent {
        let Settings { steps, clip_norm, l2, .. } = self.settings;
        let learner = CoordinateDescent::new(self.loss).neighbours(self.neighbours).l2(l2.unwrap_or(0.0));
        let learner = steps.map_or(learner.clone(), |steps| learner.steps(steps.get()));
        match clip_norm {
            Some(norm) => learner.clipping(CoordinateClipping::BySmoothness { norm: norm.get() }),
            None => learner,
        }
    }

    /// What the flags say about gradient descent of any kind.
    pub(crate) fn tuned(&self, learner: GradientDescent) -> GradientDescent {
        let Settings { steps, clip_norm, l2, .. } = self.settings;
        let learner = learner.neighbours(self.neighbours).l2(l2.unwrap_or(0.0));
        let learner = steps.map_or(learner.clone(), |steps| learner.steps(steps));
        match clip_norm {
            Some(norm) => learner.clipping(Clipping::Flat { norm: norm.get() }),
            None => learner,
        }
    }
}
