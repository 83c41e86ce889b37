//! Noisy gradient descent: full batches, Poisson samples, samples of fixed size.
//!
//! # Definition
//! [`Training`] defines a step. The relation is `zero_out` with n public, or `replace`, which
//! samples of fixed size need. All iterates are accounted for; the result is one of them or an
//! average. Each record's gradient of the loss is clipped; the penalty `(λ/2)‖w‖²` is added after
//! clipping.
//!
//! # Guarantee
//! T Gaussian releases of multiplier z on the samples drawn (Bassily, Smith, Thakurta, *Private
//! Empirical Risk Minimization*, 2014; Abadi et al., *Deep Learning with Differential Privacy*,
//! 2016). z is the least that the tightest accountant allows for (ε, δ).
//!
//! # Progress and checkpoints
//! A plan is a [`StepwisePlan`]: its fit reports progress, can be stopped, writes checkpoints and
//! resumes from them.
//!
//! # Defaults
//! Nesterov's method, and the mean of the last half of the iterates. Steps, learning rate,
//! momentum, penalty and clip norm follow from public numbers by the rules of
//! [`Facts`](crate::Facts).

use sordino_data::{ContributionLimit, Encoded, Encoding, Sampling};
use sordino_optim::{
    Averaging, CheckedFit, ClassWeights, Clipping, Noise, PlanOptions, TrainedPlan, Training,
    TrainingOptions, TrainingPlan, UpdateRule, check_public_size,
};
use sordino_privacy::{Count, Delta, Epsilon, Neighbours, Release, SamplingRate};

use crate::error::LearnError;
use crate::linear_objective::LinearObjective;
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::usual::{Rule, one_release, signal};

/// Builds plans for noisy gradient descent.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientDescent {
    loss: Loss,
    sampling: Sampling,
    steps: Option<Count>,
    neighbours: Neighbours,
    clipping: Option<Clipping>,
    scales: Option<Vec<f64>>,
    training: Option<TrainingOptions>,
    learning_rate: Option<f64>,
    momentum: Option<f64>,
    l2: Option<f64>,
    class_weights: Option<ClassWeights>,
    filtered_over: Option<Count>,
}

impl GradientDescent {
    /// Uses all records at each step.
    pub fn full_batch(loss: Loss) -> Self {
        Self::on(loss, Sampling::FullBatch, Neighbours::ZeroOut)
    }

    /// Uses samples that each record joins with probability `rate`.
    pub fn poisson(loss: Loss, rate: SamplingRate) -> Self {
        Self::on(loss, Sampling::Poisson { rate }, Neighbours::ZeroOut)
    }

    /// Uses batches that are drawn like this, under `zero_out`.
    pub fn sampled(loss: Loss, sampling: Sampling) -> Self {
        Self::on(loss, sampling, Neighbours::ZeroOut)
    }

    /// Uses samples of `size` distinct records, under `replace`.
    pub fn fixed_size(loss: Loss, size: Count) -> Self {
        Self::on(loss, Sampling::WithoutReplacement { size }, Neighbours::Replace)
    }

    fn on(loss: Loss, sampling: Sampling, neighbours: Neighbours) -> Self {
        Self {
            loss,
            sampling,
            steps: None,
            neighbours,
            clipping: None,
            scales: None,
            training: None,
            learning_rate: None,
            momentum: None,
            l2: None,
            class_weights: None,
            filtered_over: None,
        }
    }

    /// Sets T, the number of steps.
    pub fn steps(self, steps: Count) -> Self {
        Self { steps: Some(steps), ..self }
    }

    /// Sets another neighbouring relation.
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        Self { neighbours, ..self }
    }

    /// Sets how gradients are clipped, instead of by the default rule.
    pub fn clipping(self, clipping: Clipping) -> Self {
        Self { clipping: Some(clipping), ..self }
    }

    /// Divides the coordinates of gradients by these public numbers before clipping. The noise of a
    /// coordinate is then proportional to its number.
    pub fn scales(self, scales: Vec<f64>) -> Self {
        Self { scales: Some(scales), ..self }
    }

    /// Sets update rule, learning rate, schedule, averaging and penalty. The default rules then
    /// determine only the number of steps and the clip norm.
    pub fn training(self, training: TrainingOptions) -> Self {
        Self { l2: Some(training.l2), training: Some(training), ..self }
    }

    /// Sets the learning rate.
    pub fn learning_rate(mut self, rate: f64) -> Self {
        self.training.iter_mut().for_each(|training| training.learning_rate = rate);
        Self { learning_rate: Some(rate), ..self }
    }

    /// Sets the momentum of Nesterov's method. [`Self::training`] has its own.
    pub fn momentum(self, momentum: f64) -> Self {
        Self { momentum: Some(momentum), ..self }
    }

    /// Sets λ of the penalty `(λ/2)‖w‖²`.
    pub fn l2(mut self, l2: f64) -> Self {
        self.training.iter_mut().for_each(|training| training.l2 = l2);
        Self { l2: Some(l2), ..self }
    }

    /// Multiplies each record's clipped gradient by the weight of its class.
    pub fn class_weights(self, weights: ClassWeights) -> Self {
        Self { class_weights: Some(weights), ..self }
    }

    /// Does this many steps instead of T, at the cost of T: each record takes part until the
    /// squares of its clipped gradients add up to those of T steps at the clip norm (an individual
    /// filter, see [`TrainingPlan::filtered_over`]). Only for full batches, without checkpoints.
    pub fn filtered_over(self, steps: Count) -> Self {
        Self { filtered_over: Some(steps), ..self }
    }

    /// The plan for n records with this encoding, with the noise calibrated to (ε, δ).
    pub fn plan(
        &self,
        encoding: &Encoding,
        n: Count,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<GradientPlan, LearnError> {
        self.plan_with(encoding, n, Noise::Budget { epsilon, delta })
    }

    /// The plan with the given noise.
    pub fn plan_with(&self, encoding: &Encoding, n: Count, noise: Noise) -> Result<GradientPlan, LearnError> {
        self.loss.check(encoding)?;
        self.class_weights.iter().try_for_each(|weights| weights.check(encoding))?;
        check_public_size(self.neighbours)?;
        let limit = ContributionLimit::of(encoding.schema().unit());
        let rule = self.rule(encoding, n, noise, &limit)?;
        let options = PlanOptions {
            sampling: self.sampling,
            slots: n,
            rounds: rule.steps,
            neighbours: self.neighbours,
            clipping: self.clipping.clone().unwrap_or(Clipping::Flat { norm: rule.clip_norm }),
            scales: self.scales.clone(),
            divisor: None,
            limit,
        };
        let mut plan = match noise {
            Noise::Budget { epsilon, delta } => TrainingPlan::calibrated(options, epsilon, delta)?,
            Noise::Multiplier(multiplier) => TrainingPlan::with_noise(options, multiplier)?,
        };
        if let Some(steps) = self.filtered_over {
            plan = plan.filtered_over(steps)?;
        }
        let training = self.training.clone().unwrap_or_else(|| self.default_training(rule));
        training.check(self.loss.outputs() * encoding.width())?;
        let (encoding, class_weights) = (encoding.clone(), self.class_weights.clone());
        Ok(GradientPlan { loss: self.loss, encoding, plan, training, class_weights })
    }

    /// The defaults for this data, with the steps and the penalty that were set.
    fn rule(
        &self,
        encoding: &Encoding,
        n: Count,
        noise: Noise,
        limit: &ContributionLimit,
    ) -> Result<Rule, LearnError> {
        let one = match noise {
            Noise::Budget { epsilon, delta } => one_release(epsilon, delta, self.neighbours, limit)?,
            // T steps on a fraction q of the records cost about as much as one release of
            // multiplier z/(q sqrt(T)).
            Noise::Multiplier(noise) => {
                let steps = self.steps.map_or(1000.0, |steps| steps.get() as f64);
                noise.get() / (self.batch_fraction(n) * steps.sqrt())
            }
        };
        let signal = signal(n, one, self.loss.outputs() * encoding.width());
        Ok(Rule::with_penalty(self.loss, encoding.row_norm(), signal, self.steps, self.l2))
    }

    /// The expected fraction of all records in the batch of a step.
    fn batch_fraction(&self, n: Count) -> f64 {
        match self.sampling {
            Sampling::Poisson { rate } => rate.get(),
            Sampling::WithoutReplacement { size } | Sampling::WithReplacement { size } => {
                size.get() as f64 / n.get() as f64
            }
            Sampling::FullBatch | Sampling::ShuffledEpochs { .. } | Sampling::BallsInBins { .. } => 1.0,
        }
    }

    fn default_training(&self, rule: Rule) -> TrainingOptions {
        TrainingOptions {
            rule: UpdateRule::Nesterov { momentum: self.momentum.unwrap_or(rule.momentum) },
            learning_rate: self.learning_rate.unwrap_or(rule.learning_rate),
            averaging: Averaging::Tail { fraction: 0.5 },
            l2: rule.l2,
            ..TrainingOptions::default()
        }
    }
}

/// Noisy gradient descent with all its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientPlan {
    loss: Loss,
    encoding: Encoding,
    plan: TrainingPlan,
    training: TrainingOptions,
    class_weights: Option<ClassWeights>,
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

    /// The batches, the clipping and the noise.
    pub fn plan(&self) -> &TrainingPlan {
        &self.plan
    }

    /// The update rule, learning rate, schedule, averaging and penalty.
    pub fn training(&self) -> &TrainingOptions {
        &self.training
    }

    /// The class weights, if any were declared.
    pub fn class_weights(&self) -> Option<&ClassWeights> {
        self.class_weights.as_ref()
    }

    /// Describes the objective by its public parts. A checkpoint resumes only if its text is equal.
    fn about(&self) -> String {
        let mut about = format!("{:?} {}", self.loss, self.encoding.to_json());
        if let Some(weights) = &self.class_weights {
            about.push_str(&format!(" class weights {:?}", weights.as_slice()));
        }
        about
    }
}

impl TrainedPlan for GradientPlan {
    type Model = LinearModel;
    type Error = LearnError;

    fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    fn training_plan(&self) -> &TrainingPlan {
        &self.plan
    }

    fn train(&self, data: &Encoded, fit: CheckedFit<'_>) -> Result<Release<LinearModel>, LearnError> {
        let mut objective = LinearObjective::new(self.loss, data);
        if let Some(weights) = &self.class_weights {
            objective = objective.class_weights(weights);
        }
        let training = Training::new(&self.plan, &objective, self.training.clone())?.about(self.about());
        Ok(fit
            .run(training)?
            .post_process(|weights| LinearModel::new(self.loss, self.encoding.clone(), weights)))
    }
}
