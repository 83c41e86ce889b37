//! Plans DP-SGD on networks, with defaults that follow from public numbers.
//!
//! # Defaults
//! | setting | default |
//! |---|---|
//! | batches | Poisson samples of 256 records on average, or of n/100 if that is more |
//! | steps | as many as twenty passes over the data take, and 500 at least |
//! | clipping | each record's whole gradient, to the norm of [`usual`](crate::usual) |
//! | updates | momentum 0.9; a learning rate that suits steps and noise, and falls along a cosine |
//! | result | the mean of the last tenth of the iterates |
//! | start | drawn from a fixed public seed |

use std::num::NonZero;
use std::sync::Arc;

use sordino_data::{ContributionLimit, Encoding, Sampling};
use sordino_optim::{
    Averaging, ClassWeights, Noise, OptimError, PlanOptions, Schedule, TrainingOptions, TrainingPlan,
    UpdateRule, check_public_size,
};
use sordino_privacy::{ClipNorm, Count, Delta, Epsilon, Neighbours, SamplingRate};

use crate::error::FitError;
use crate::network::Network;
use crate::plan::NetworkPlan;
use crate::style::{ClippingStyle, TAIL};
use crate::usual::TrainingFacts;

/// The seed of the first weights. Public, and the same for all.
const START: u64 = 1;
/// Default passes over the data.
pub const EPOCHS: f64 = 20.0;
/// The default batch: this many records, or this fraction of all if that is more.
const LEAST_BATCH: f64 = 256.0;
const PART: f64 = 0.01;
/// More steps of a shorter rate have the same noise at their end: small tables need them, and can
/// afford them.
const LEAST_STEPS: u64 = 500;
const MOMENTUM: f64 = 0.9;

/// Builds plans that train one network.
#[derive(Clone, Debug)]
pub struct NetworkLearner {
    network: Arc<Network>,
    neighbours: Neighbours,
    sampling: Option<Sampling>,
    steps: Option<Count>,
    clip_norm: Option<f64>,
    clipping: ClippingStyle,
    averaging: Option<Averaging>,
    momentum: f64,
    learning_rate: Option<f64>,
    l2: f64,
    memory: Option<usize>,
    threads: Option<NonZero<usize>>,
    class_weights: Option<ClassWeights>,
}

impl NetworkLearner {
    /// A learner with every setting at its default.
    pub fn new(network: Arc<Network>) -> Self {
        Self {
            network,
            neighbours: Neighbours::ZeroOut,
            sampling: None,
            steps: None,
            clip_norm: None,
            clipping: ClippingStyle::default(),
            averaging: None,
            momentum: MOMENTUM,
            learning_rate: None,
            l2: 0.0,
            memory: None,
            threads: None,
            class_weights: None,
        }
    }

    /// Sets the neighbouring relation.
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        Self { neighbours, ..self }
    }

    /// Sets how batches are drawn.
    pub fn sampling(self, sampling: Sampling) -> Self {
        Self { sampling: Some(sampling), ..self }
    }

    /// Sets the number of batches, or of epochs for samplings that go by epochs.
    pub fn steps(self, steps: Count) -> Self {
        Self { steps: Some(steps), ..self }
    }

    /// Sets the clip norm, the largest norm of one record's gradient. For adaptive clipping it is
    /// the initial value.
    pub fn clip_norm(self, norm: ClipNorm) -> Self {
        Self { clip_norm: Some(norm.get()), ..self }
    }

    /// Sets the clipping style.
    pub fn clipping(self, clipping: ClippingStyle) -> Self {
        Self { clipping, ..self }
    }

    /// Sets which iterates are averaged.
    pub fn averaging(self, averaging: Averaging) -> Self {
        Self { averaging: Some(averaging), ..self }
    }

    /// Sets the momentum, the fraction of the last step that goes into the next.
    pub fn momentum(self, momentum: f64) -> Self {
        Self { momentum, ..self }
    }

    /// Sets the initial learning rate.
    pub fn learning_rate(self, rate: f64) -> Self {
        Self { learning_rate: Some(rate), ..self }
    }

    /// Sets λ of the penalty `(λ/2)‖w‖²`.
    pub fn l2(self, l2: f64) -> Self {
        Self { l2, ..self }
    }

    /// Limits the memory of micro-batches over all threads, in bytes.
    pub fn memory(self, bytes: usize) -> Self {
        Self { memory: Some(bytes), ..self }
    }

    /// Sets the number of threads for which the memory limit is checked.
    pub fn threads(self, threads: Option<NonZero<usize>>) -> Self {
        Self { threads, ..self }
    }

    /// Sets the weights of classes, by which clipped gradients are multiplied.
    pub fn class_weights(self, weights: ClassWeights) -> Self {
        Self { class_weights: Some(weights), ..self }
    }

    /// The plan for n records of this encoding, with the least noise for (ε, δ).
    pub fn plan(
        &self,
        encoding: &Encoding,
        n: Count,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<NetworkPlan, FitError> {
        self.plan_with(encoding, n, Noise::Budget { epsilon, delta })
    }

    /// The plan with this noise.
    pub fn plan_with(&self, encoding: &Encoding, n: Count, noise: Noise) -> Result<NetworkPlan, FitError> {
        check_public_size(self.neighbours)?;
        let sampling = match self.sampling {
            Some(sampling) => sampling,
            None => Sampling::Poisson { rate: usual_rate_of_sampling(n)? },
        };
        let rounds = match self.steps {
            Some(steps) => steps,
            None => usual_steps(sampling, n)?,
        };
        let options = PlanOptions {
            sampling,
            slots: n,
            rounds,
            neighbours: self.neighbours,
            clipping: ClippingStyle::Flat.clipping(1.0, 1.0, 1.0),
            scales: None,
            divisor: None,
            limit: ContributionLimit::of(encoding.schema().unit()),
        };
        let flat = match noise {
            Noise::Budget { epsilon, delta } => TrainingPlan::calibrated(options.clone(), epsilon, delta)?,
            Noise::Multiplier(z) => TrainingPlan::with_noise(options.clone(), z)?,
        };
        // z depends neither on the style nor on the clip norm. Both depend on z, so z comes first.
        let z = flat.noise_multiplier();
        let run = TrainingFacts::of(&flat, &self.network, encoding.row_norm());
        let clip_norm = self.clip_norm.unwrap_or_else(|| run.clip_norm());
        let clipping = self.clipping.clipping(clip_norm, z.get(), flat.divisor());
        let plan = TrainingPlan::with_noise(PlanOptions { clipping, ..options }, z)?;
        let made = NetworkPlan {
            network: Arc::clone(&self.network),
            encoding: encoding.clone(),
            training: self.training(run, clip_norm),
            plan,
            clipping: self.clipping,
            memory: self.memory,
            class_weights: self.class_weights.clone(),
        };
        made.check(self.threads)?;
        Ok(made)
    }

    /// The options of updates and averages, which are post-processing.
    fn training(&self, run: TrainingFacts, clip_norm: f64) -> TrainingOptions {
        let start = self.network.initial(START);
        let usual = || run.learning_rate(clip_norm, self.momentum, length(&start));
        let learning_rate = self.learning_rate.unwrap_or_else(usual);
        TrainingOptions {
            rule: UpdateRule::Momentum { momentum: self.momentum },
            learning_rate,
            schedule: Schedule::Cosine,
            averaging: self.averaging.unwrap_or(Averaging::Tail { fraction: TAIL }),
            l2: self.l2,
            radius: None,
            start: Some(start),
        }
    }
}

/// The default sampling rate.
pub fn usual_rate_of_sampling(n: Count) -> Result<SamplingRate, OptimError> {
    Ok(SamplingRate::new((LEAST_BATCH / n.get() as f64).clamp(PART, 1.0))?)
}

/// The default number of batches, or of epochs for samplings that go by epochs.
pub fn usual_steps(sampling: Sampling, n: Count) -> Result<Count, OptimError> {
    let part = match sampling {
        Sampling::Poisson { rate } => rate.get(),
        Sampling::WithoutReplacement { size } | Sampling::WithReplacement { size } => {
            size.get() as f64 / n.get() as f64
        }
        Sampling::FullBatch | Sampling::ShuffledEpochs { .. } | Sampling::BallsInBins { .. } => 1.0,
    };
    Ok(Count::new(((EPOCHS / part).ceil() as u64).max(LEAST_STEPS))?)
}

fn length(weights: &[f64]) -> f64 {
    weights.iter().map(|w| w * w).sum::<f64>().sqrt()
}

/// ν, the length of the noise in the mean of a batch in clip norms: about `z √d / batch` for d
/// weights.
pub fn noise_length(noise_multiplier: f64, weights: usize, batch: f64) -> f64 {
    noise_multiplier * (weights as f64).sqrt() / batch
}
