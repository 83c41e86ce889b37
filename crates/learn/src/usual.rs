//! The default learner and settings, by rules that use public numbers alone.
//!
//! # The rules
//! Let σ be the noise multiplier of *one* release of (ε, δ), d the number of weights and n the
//! number of records. The noise in a mean of gradients of length G has length `σ G sqrt(d)/n`,
//! however it is spread over steps. The *signal*
//! ```text
//! s = n / (σ sqrt(d))                                                                          (1)
//! ```
//! is the largest possible mean gradient in units of this noise. Everything else follows from s,
//! the loss and the row norm X:
//!
//! | what | rule |
//! |---|---|
//! | expected length of the weights | `‖w‖ X = r = 12 sqrt(s)`, between 80 and 1200 |
//! | the same, for a number | `r = 10 sqrt(s)`, between 40 and 1000 |
//! | penalty, where noise and bias balance | `λ = a G X / (r s)`, or `X²/(r s)` for a number |
//! | clip norm, in Lipschitz constants | `a = (s/100)^(1/4)/4`, between 1/4 and 1 |
//! | width of the Huber loss, for targets in [-1, 1] | `(s/100)^(1/3)/10`, between 1/10 and 2 |
//! | steps T | `sqrt(10 β/λ)`, between 1000 and 3000 |
//! | momentum and rate | T steps go as far as gradient flow of time 1/λ, at a rate of at most 1/β |
//!
//! The method is Nesterov's. With the Huber loss nothing is clipped.
//!
//! Gradient flow of time 1/λ and a penalty λ leave the same error on a quadratic. More steps at a
//! lower rate have the same noise in the last iterate, and less in an average. A smaller clip norm
//! shortens the gradients of outlying records, and shrinks all noise in proportion: with little
//! signal this is worth it. The penalty then competes with clipped gradients, hence its factor a.
//! The numbers were chosen on the training parts of ten tables; the study of defaults shows how the
//! rules do on the test parts.
//!
//! # Pitfalls
//! Rules that serve columns of uneven scale let weights grow long, and clipping shortens most the
//! gradients of records that the model gets most wrong. So with little signal the probabilities are
//! overconfident, above all where a class is rare. Objective perturbation, whose weights are
//! shorter, gives better probabilities.
//!
//! # Which learner
//! Gradient descent on all records; if that would take more than about 10^10 products, on Poisson
//! samples that take as many. Objective perturbation where it is as good. Its theorem needs a
//! penalty of at least about `4β/(ε n)`, so it is chosen
//! - where that is at most a tenth of the rule's penalty (ε of some dozens and more), and
//! - where there are so many records that it is at most 10^-5 β and gradient descent would have to
//!   sample.
//!
//! Its event has a δ of its own, which not every budget can pay: [`Facts::pays_delta`].
//!
//! The default loss for a number is Huber's, not the squared loss: with the squared loss, the
//! largest residuals would determine the noise. For pure privacy, objective perturbation is chosen.

use sordino_data::{ContributionLimit, Encoding};
use sordino_privacy::{Claim, Count, Delta, Epsilon, Event, Neighbours, SamplingRate, calibrate};

use crate::error::LearnError;
use crate::gradient::GradientDescent;
use crate::loss::Loss;
use crate::objective_perturbation::{ObjectivePerturbation, least_penalty};

/// The most products of a weight and a coordinate for gradient descent on all records.
const MAX_PRODUCTS: f64 = 1e10;
/// The smallest mean size of a Poisson sample.
const MIN_BATCH: f64 = 256.0;
/// The least and the most steps.
const STEP_RANGE: (f64, f64) = (1000.0, 3000.0);
/// A penalty below this part of β has no effect within so many steps.
const NEGLIGIBLE_PENALTY: f64 = 1e-5;

/// A learner with the default settings.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a run makes one value and takes it apart at once")]
pub enum DefaultChoice {
    /// Gradient descent, on all records or on samples.
    Gradient(GradientDescent),
    /// Objective perturbation.
    Objective(ObjectivePerturbation),
}

/// What is public about a task.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// How records become rows.
    pub encoding: &'a Encoding,
    /// The number of records.
    pub n: Count,
    /// ε of the training.
    pub epsilon: Epsilon,
    /// δ of the training.
    pub delta: Delta,
    /// The neighbouring relation.
    pub neighbours: Neighbours,
    /// Whether the budget can pay for an event with a δ of its own. A budget that is spent
    /// adaptively and sets no δ aside cannot, or only once and with its whole δ.
    pub pays_delta: bool,
}

impl Facts<'_> {
    /// The signal s for a model of so many weights; for pure privacy, as if the noise were Gaussian
    /// with δ = 10^-6.
    pub fn signal(&self, weights: usize) -> Result<f64, LearnError> {
        Ok(signal(self.n, self.noise_of_one_release()?, weights))
    }

    /// The loss for the target: logistic for two classes, softmax for more, Huber's for a number.
    pub fn loss(&self) -> Result<Loss, LearnError> {
        Ok(match self.encoding.classes().map(<[String]>::len) {
            Some(2) => Loss::Logistic,
            Some(classes) => Loss::Softmax { classes },
            None => Loss::Huber { width: width(self.signal(self.encoding.width())?) },
        })
    }

    /// The default learner for this loss.
    pub fn learner(&self, loss: Loss) -> Result<DefaultChoice, LearnError> {
        loss.check(self.encoding)?;
        let objective = ObjectivePerturbation::new(loss).neighbours(self.neighbours);
        if self.delta == Delta::ZERO {
            return Ok(DefaultChoice::Objective(objective));
        }
        let full = GradientDescent::full_batch(loss).neighbours(self.neighbours);
        let weights = loss.outputs() * self.encoding.width();
        let (n, row_norm) = (self.n.get() as f64, self.encoding.row_norm());
        let rule = Rule::of(loss, row_norm, self.signal(weights)?, None);
        let work = rule.steps.get() as f64 * n * weights as f64;
        let is_one_record = ContributionLimit::of(self.encoding.schema().unit()).max_records() == Count::ONE;
        if loss.slope().is_some() && is_one_record && self.pays_delta {
            let least = least_penalty(loss, row_norm, self.epsilon.get()) / n;
            let is_free = 10.0 * least <= rule.l2;
            let is_quick = work > MAX_PRODUCTS && least <= NEGLIGIBLE_PENALTY * loss.smoothness(row_norm);
            if is_free || is_quick {
                return Ok(DefaultChoice::Objective(objective));
            }
        }
        let rate = (MAX_PRODUCTS / work).max(MIN_BATCH / n);
        Ok(DefaultChoice::Gradient(if work > MAX_PRODUCTS && rate < 0.5 {
            let rate = SamplingRate::new(rate)?;
            GradientDescent::poisson(loss, rate).neighbours(self.neighbours).steps(rule.steps)
        } else {
            full
        }))
    }

    /// σ of (1), also for pure privacy.
    fn noise_of_one_release(&self) -> Result<f64, LearnError> {
        let delta = if self.delta == Delta::ZERO { Delta::new(1e-6)? } else { self.delta };
        let limit = ContributionLimit::of(self.encoding.schema().unit());
        one_release(self.epsilon, delta, self.neighbours, &limit)
    }
}

/// σ of (1): the noise multiplier of one release.
pub(crate) fn one_release(
    epsilon: Epsilon,
    delta: Delta,
    neighbours: Neighbours,
    limit: &ContributionLimit,
) -> Result<f64, LearnError> {
    let noise = if limit.max_records() == Count::ONE {
        calibrate::noise_multiplier(epsilon, delta, neighbours, SamplingRate::new(1.0)?, Count::ONE)?
    } else {
        calibrate::noise_of(epsilon, delta, |noise| {
            Claim::new(neighbours, limit.event(Event::gaussian(noise)))
        })?
    };
    Ok(noise.value.get())
}

/// s of (1).
pub(crate) fn signal(n: Count, noise: f64, dimension: usize) -> f64 {
    n.get() as f64 / (noise * (dimension as f64).sqrt())
}

/// r, the expected `‖w‖ X`.
pub(crate) fn reach(loss: Loss, signal: f64) -> f64 {
    if loss.is_classification() {
        (12.0 * signal.sqrt()).clamp(80.0, 1200.0)
    } else {
        (10.0 * signal.sqrt()).clamp(40.0, 1000.0)
    }
}

/// The default width of the Huber loss.
pub(crate) fn width(signal: f64) -> f64 {
    (0.1 * (signal / 100.0).cbrt()).clamp(0.1, 2.0)
}

/// The default settings of gradient descent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) clip_norm: f64,
    pub(crate) l2: f64,
    pub(crate) steps: Count,
    pub(crate) momentum: f64,
    pub(crate) learning_rate: f64,
}

impl Rule {
    /// The settings by the rules of the module, for a given number of steps if there is one.
    pub(crate) fn of(loss: Loss, row_norm: f64, signal: f64, steps: Option<Count>) -> Self {
        Self::with_penalty(loss, row_norm, signal, steps, None)
    }

    /// The settings for a given penalty as well.
    pub(crate) fn with_penalty(
        loss: Loss,
        row_norm: f64,
        signal: f64,
        steps: Option<Count>,
        l2: Option<f64>,
    ) -> Self {
        let part = (0.25 * (signal / 100.0).powf(0.25)).clamp(0.25, 1.0);
        // The clip norm is `slope X`; the penalty is proportional to `slope * part`.
        let (slope, part) = match loss {
            Loss::Huber { width } => (width, 1.0 / width),
            Loss::Squared => (width(signal), 1.0 / width(signal)),
            Loss::Logistic | Loss::SmoothHinge { .. } | Loss::Softmax { .. } => {
                (part * loss.slope().unwrap_or(1.0), 1.0)
            }
        };
        let clip_norm = (slope * row_norm).max(f64::MIN_POSITIVE);
        // For a regression the product is 1: the length of its solution does not depend on the
        // width.
        let balanced = slope * part * row_norm * row_norm / (reach(loss, signal) * signal);
        let (smoothness, time) = (loss.smoothness(row_norm), balanced.recip());
        let flow = smoothness * time;
        let usual = (10.0 * flow).sqrt().clamp(STEP_RANGE.0, STEP_RANGE.1).ceil() as u64;
        let steps = steps.unwrap_or_else(|| Count::new(usual).unwrap_or(Count::ONE));
        let count = steps.get() as f64;
        // η T/(1 - m) = 1/λ, with η at most 1/β and 1/(1 - m) at most a tenth of the steps.
        let longest = (1.0 - 10.0 / count).max(0.9);
        let momentum = (1.0 - count / flow).clamp(0.9, longest);
        let l2 = l2.unwrap_or(balanced);
        let learning_rate = ((1.0 - momentum) * time / count).min((smoothness + l2).recip());
        Self { clip_norm, l2, steps, momentum, learning_rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{classes, numbers};

    fn facts(encoding: &Encoding, n: u64, epsilon: f64, delta: f64) -> Facts<'_> {
        Facts {
            encoding,
            n: Count::new(n).unwrap(),
            epsilon: Epsilon::new(epsilon).unwrap(),
            delta: Delta::new(delta).unwrap(),
            neighbours: Neighbours::ZeroOut,
            pays_delta: true,
        }
    }

    fn is_objective(facts: Facts<'_>) -> bool {
        matches!(facts.learner(facts.loss().unwrap()).unwrap(), DefaultChoice::Objective(_))
    }

    /// A small ε with few records gives gradient descent. A large ε, or very many records, gives
    /// objective perturbation.
    #[test]
    fn the_learner_follows_from_the_number_of_records_and_epsilon() {
        let two = classes(&[vec![0.1], vec![0.2]], &[0, 1], 2);
        let five = classes(&[vec![0.1], vec![0.2]], &[0, 4], 5);
        let number = numbers(&[vec![0.1], vec![0.2]], &[0.3, 0.4]);
        for encoding in [two.encoding(), five.encoding(), number.encoding()] {
            assert!(!is_objective(facts(encoding, 500, 1.0, 1e-6)));
            assert!(!is_objective(facts(encoding, 20_000, 3.0, 1e-6)));
            assert!(is_objective(facts(encoding, 500, 1e4, 1e-6)));
            assert!(is_objective(facts(encoding, 100_000_000, 1.0, 1e-9)));
            assert!(is_objective(facts(encoding, 500, 1.0, 0.0)), "pure");
            let adaptive = Facts { pays_delta: false, ..facts(encoding, 500, 1e4, 1e-6) };
            assert!(!is_objective(adaptive), "an event with its own δ would take a whole budget");
        }
    }

    /// Where steps on all records would take too long, steps use samples.
    #[test]
    fn too_many_products_lead_to_poisson_samples() {
        let wide: Vec<Vec<f64>> = vec![vec![0.1; 2000]; 2];
        let wide = classes(&wide, &[0, 9], 10);
        let learner =
            facts(wide.encoding(), 50_000, 1.0, 1e-6).learner(Loss::Softmax { classes: 10 }).unwrap();
        let DefaultChoice::Gradient(learner) = learner else { panic!("{learner:?}") };
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let plan = learner.plan(wide.encoding(), Count::new(50_000).unwrap(), epsilon, delta).unwrap();
        let sordino_data::Sampling::Poisson { rate } = plan.plan().batches().sampling() else { panic!() };
        let work = rate.get() * 50_000.0 * 20_010.0 * plan.plan().batches().steps() as f64;
        assert!(work <= 1.01 * MAX_PRODUCTS && rate.get() * 50_000.0 >= 255.0, "{work}");
    }

    /// Every formula of the module's table, typed again.
    #[test]
    fn the_rules_are_those_of_the_table() {
        let (x, s) = (3.0f64, 400.0f64);
        let rule = Rule::of(Loss::Logistic, x, s, None);
        let a = (s / 100.0).powf(0.25) / 4.0;
        let l2 = a * x * x / (12.0 * s.sqrt() * s);
        assert!((rule.clip_norm - a * x).abs() < 1e-12 && (rule.l2 / l2 - 1.0).abs() < 1e-12);
        let flow = 0.25 * x * x / l2;
        assert_eq!(rule.steps.get(), (10.0 * flow).sqrt().max(1000.0).ceil() as u64);
        // T steps of Nesterov's method go as far as gradient flow of time η T/(1 - m).
        let far = rule.learning_rate * rule.steps.get() as f64 / (1.0 - rule.momentum);
        assert!((far * l2 - 1.0).abs() < 1e-3 && rule.learning_rate <= 4.0 / (x * x), "{rule:?}");
        let huber = Rule::of(Loss::Huber { width: 0.2 }, x, s, None);
        assert!((huber.clip_norm - 0.2 * x).abs() < 1e-12);
        assert!((huber.l2 / (x * x / (10.0 * s.sqrt() * s)) - 1.0).abs() < 1e-12);
        assert!((width(800.0) - 0.2).abs() < 1e-12 && width(1.0) == 0.1 && width(1e9) == 2.0);
        assert!((signal(Count::new(1000).unwrap(), 5.0, 16) - 50.0).abs() < 1e-12);
    }

    /// At extreme signals the settings are finite and within their limits.
    #[test]
    fn the_rules_hold_for_tiny_and_huge_signals() {
        for signal in [1e-300, 1e-9, 1.0, 1e9, 1e300] {
            for loss in [Loss::Logistic, Loss::Squared, Loss::Softmax { classes: 3 }] {
                let rule = Rule::of(loss, 2.0, signal, None);
                let numbers = [rule.clip_norm, rule.l2, rule.learning_rate];
                assert!(numbers.iter().all(|x| x.is_finite() && *x >= 0.0), "{signal} {rule:?}");
                assert!((0.9..1.0).contains(&rule.momentum) && (1000..=3000).contains(&rule.steps.get()));
            }
        }
    }
}
