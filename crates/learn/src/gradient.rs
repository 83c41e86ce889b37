//! Noisy gradient descent: full batches, Poisson samples, samples of fixed size.
//!
//! # Definition
//! See [`Training`] for a step. Relation: `zero_out` with n public, or `replace`, which samples of fixed size need. All iterates are
//! accounted for; the result is one of them or an average. What is clipped is a record's gradient of the loss; the penalty
//! `(λ/2)‖w‖²` is outside.
//!
//! # Guarantee
//! T Gaussian releases of multiplier z on the samples drawn (Bassily, Smith, Thakurta, *Private Empirical Risk Minimization*,
//! 2014; Abadi et al., *Deep Learning with Differential Privacy*, 2016), z the least for (ε, δ) by the tightest accountant.
//!
//! # On the way
//! A plan is a [`StepwisePlan`]: its fit tells how far it is, can be stopped, kept, and resumed.
//!
//! # Defaults
//! Full batches: without sampling there is nothing that noise is spent on but the gradient itself, and for linear models
//! a pass is cheap. 100 steps of Nesterov's method, the mean of the last half of the iterates. The clip norm is the
//! Lipschitz constant, if the loss has one: then nothing is clipped and there is no bias.

use sordino_data::{ContributionLimit, Encoded, Encoding, Sampling};
use sordino_noise::Bits;
use sordino_optim::{
    Averaging, Checkpoint, Clipping, FitOptions, LearningPlan, Noise, OptimError, Plan, PlanOptions,
    Progress, StepwisePlan, Training, TrainingOptions, UpdateRule, check_data, check_permit,
    check_public_size,
};
use sordino_privacy::{Claim, Count, Delta, Epsilon, Neighbours, Paid, Permit, Release, SamplingRate};

use crate::error::LearnError;
use crate::linear_objective::LinearObjective;
use crate::loss::Loss;
use crate::model::LinearModel;

/// Builds plans for noisy gradient descent.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientDescent {
    loss: Loss,
    sampling: Sampling,
    steps: Count,
    neighbours: Neighbours,
    clipping: Option<Clipping>,
    scales: Option<Vec<f64>>,
    training: Option<TrainingOptions>,
    l2: f64,
}

impl GradientDescent {
    /// On all records at each step.
    pub fn full_batch(loss: Loss) -> Self {
        Self::on(loss, Sampling::FullBatch, Neighbours::ZeroOut)
    }

    /// On samples that each record joins with probability `rate`.
    pub fn poisson(loss: Loss, rate: SamplingRate) -> Self {
        Self::on(loss, Sampling::Poisson { rate }, Neighbours::ZeroOut)
    }

    /// On samples of `size` distinct records, under `replace`.
    pub fn fixed_size(loss: Loss, size: Count) -> Self {
        Self::on(loss, Sampling::WithoutReplacement { size }, Neighbours::Replace)
    }

    fn on(loss: Loss, sampling: Sampling, neighbours: Neighbours) -> Self {
        let steps = Count::new(100).expect("100 is a count"); // within its range
        Self { loss, sampling, steps, neighbours, clipping: None, scales: None, training: None, l2: 0.0 }
    }

    /// T.
    pub fn steps(self, steps: Count) -> Self {
        Self { steps, ..self }
    }

    /// Under another relation.
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        Self { neighbours, ..self }
    }

    /// Clips otherwise than to the Lipschitz constant.
    pub fn clipping(self, clipping: Clipping) -> Self {
        Self { clipping: Some(clipping), ..self }
    }

    /// Divides coordinates of gradients by public numbers before they are clipped; noise is then in proportion to them.
    pub fn scales(self, scales: Vec<f64>) -> Self {
        Self { scales: Some(scales), ..self }
    }

    /// Another update rule, rate, schedule or average.
    pub fn training(self, training: TrainingOptions) -> Self {
        Self { l2: training.l2, training: Some(training), ..self }
    }

    /// λ of the penalty `(λ/2)‖w‖²`.
    pub fn l2(mut self, l2: f64) -> Self {
        self.training.iter_mut().for_each(|training| training.l2 = l2);
        Self { l2, ..self }
    }

    /// The plan for data of n records with this encoding, with noise for (ε, δ).
    pub fn plan(
        &self,
        encoding: &Encoding,
        n: Count,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<GradientPlan, LearnError> {
        self.plan_with(encoding, n, Noise::Budget { epsilon, delta })
    }

    /// The plan with noise as said.
    pub fn plan_with(&self, encoding: &Encoding, n: Count, noise: Noise) -> Result<GradientPlan, LearnError> {
        self.loss.check(encoding)?;
        check_public_size(self.neighbours)?;
        let options = PlanOptions {
            sampling: self.sampling,
            slots: n,
            rounds: self.steps,
            neighbours: self.neighbours,
            clipping: self.clipping.clone().unwrap_or_else(|| self.default_clipping(encoding)),
            scales: self.scales.clone(),
            divisor: None,
            limit: ContributionLimit::of(encoding.schema().unit()),
        };
        let plan = match noise {
            Noise::Budget { epsilon, delta } => Plan::calibrated(options, epsilon, delta)?,
            Noise::Multiplier(multiplier) => Plan::with_noise(options, multiplier)?,
        };
        let training = self.training.clone().unwrap_or_else(|| self.default_training(encoding));
        training.check(self.loss.outputs() * encoding.width())?;
        Ok(GradientPlan { loss: self.loss, encoding: encoding.clone(), plan, training })
    }

    /// The Lipschitz constant; for the squared loss, that at zero.
    fn default_clipping(&self, encoding: &Encoding) -> Clipping {
        let row_norm = encoding.row_norm();
        let norm = self.loss.lipschitz(row_norm).unwrap_or_else(|| row_norm * encoding.largest_target());
        Clipping::Flat { norm: norm.max(f64::MIN_POSITIVE) }
    }

    /// Nesterov's method with steps of 1/β.
    fn default_training(&self, encoding: &Encoding) -> TrainingOptions {
        let smoothness = self.loss.smoothness(encoding.row_norm()) + self.l2;
        TrainingOptions {
            rule: UpdateRule::Nesterov { momentum: 0.9 },
            learning_rate: smoothness.recip(),
            averaging: Averaging::Tail { fraction: 0.5 },
            l2: self.l2,
            ..TrainingOptions::default()
        }
    }
}

/// Noisy gradient descent with all its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientPlan {
    loss: Loss,
    encoding: Encoding,
    plan: Plan,
    training: TrainingOptions,
}

impl GradientPlan {
    /// What is minimised.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// How records become rows.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Batches, clipping, noise.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Update rule and what belongs to it.
    pub fn training(&self) -> &TrainingOptions {
        &self.training
    }

    /// The permit first, then shapes, then records.
    fn run(
        &self,
        data: &Encoded,
        permit: Permit,
        claim: &Claim,
        options: FitOptions<'_>,
        run: impl FnOnce(
            Training<'_, LinearObjective<'_>>,
            Permit,
            Option<&mut dyn Bits>,
            &mut dyn FnMut(Progress<'_>),
        ) -> Result<Release<Vec<f64>>, OptimError>,
    ) -> Result<Release<LinearModel>, LearnError> {
        let permit = check_permit(permit, claim, &self.encoding, options.is_seeded())?;
        check_data(&self.encoding, self.plan.batches().slots().get(), data)?;
        let FitOptions { progress, cancel, checkpoints, witness, threads, bits } = options;
        let objective = LinearObjective::new(self.loss, data);
        let about = format!("{:?} {}", self.loss, self.encoding.to_json());
        let mut training = Training::new(&self.plan, &objective, self.training.clone())?.about(about);
        if let Some(threads) = threads {
            training = training.threads(threads);
        }
        if let Some(flag) = cancel {
            training = training.cancelled_by(flag);
        }
        if let Some(checkpoints) = checkpoints {
            training = training.with_checkpoints(checkpoints)?;
        }
        if let Some(witness) = witness {
            training = training.witnessed_by(witness);
        }
        let mut silent = |_: Progress<'_>| {};
        let release = run(training, permit, bits, progress.unwrap_or(&mut silent))?;
        Ok(release.post_process(|weights| LinearModel::new(self.loss, self.encoding.clone(), weights)))
    }
}

impl StepwisePlan for GradientPlan {
    fn steps(&self) -> u64 {
        self.plan.batches().steps()
    }

    fn fit_under(
        &self,
        data: &Encoded,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<LinearModel>, LearnError> {
        self.run(data, permit, &self.claim(), options, |training, permit, bits, progress| match bits {
            Some(bits) => training.run_with(permit, bits, progress),
            None => training.run(permit, progress),
        })
    }

    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, LearnError> {
        Ok(self.plan.replay_claim(checkpoint)?)
    }

    fn resume(
        &self,
        data: &Encoded,
        checkpoint: Checkpoint,
        paid: Paid,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<LinearModel>, LearnError> {
        let claim = self.replay_claim(&checkpoint)?;
        self.run(data, permit, &claim, options, |training, permit, bits, progress| match bits {
            Some(bits) => training.resume_with(checkpoint, paid, permit, bits, progress),
            None => training.resume(checkpoint, paid, permit, progress),
        })
    }
}

impl LearningPlan for GradientPlan {
    type Model = LinearModel;
    type Error = LearnError;

    fn claim(&self) -> Claim {
        self.plan.claim()
    }

    fn fit(&self, data: &Encoded, permit: Permit) -> Result<Release<LinearModel>, LearnError> {
        self.fit_under(data, permit, FitOptions::default())
    }

    fn fit_with(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
    ) -> Result<Release<LinearModel>, LearnError> {
        self.fit_under(data, permit, FitOptions { bits: Some(bits), ..FitOptions::default() })
    }
}
