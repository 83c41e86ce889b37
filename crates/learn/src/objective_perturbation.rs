//! Objective perturbation: the minimum of a noisy objective.
//!
//! # Definition
//! Chaudhuri, Monteleoni, Sarwate, *Differentially Private Empirical Risk Minimization*, 2011;
//! Kifer, Smith, Thakurta, *Private Convex Empirical Risk Minimization and High-dimensional
//! Regression*, 2012. With random b,
//! ```text
//! J(w) = Σ_i l_i(w) + (Λ/2)‖w‖² + <b, w>,     w* = argmin J                                    (1)
//! ```
//! b Gaussian, or of density `~ exp(-‖b‖/s)` for pure privacy. Λ is nλ, or more where the theorem
//! needs it: the ratio of determinants may take at most a quarter of ε.
//!
//! # Guarantee
//! The module `theorem` proves the guarantee of w*: one part of ε pays for the ratio of
//! determinants, the other for b. But no solver finds w* exactly, and b is drawn on a grid. So only
//! the version for approximate minima is implemented (Iyengar, Near, Song, Thakkar, Thakurta, Wang,
//! *Towards Practical Differentially Private Convex Optimization*, 2019). The solver certifies
//! `‖∇J(w~)‖ <= τ`, float errors included. The b that is drawn is the rounding of a continuous one,
//! off by at most half a step h in each coordinate. Hence, with d parameters,
//! ```text
//! ‖w~ - w*‖ <= r = (τ + sqrt(d) h/2) / Λ                                                       (2)
//! ```
//! For one data set w~ - w* is a function of w* (which determines b), so releasing w~ + Z is a
//! function of w* and of a second release, of sensitivity 2r: the *difference* of two such errors.
//! It gets a hundredth of ε and of δ, which is more than enough: τ is a millionth of G.
//!
//! Class weights are at most 1. So G, β and determinants are at most those of the loss itself. A
//! record's weight is fixed as its row is, so the subspace in which it moves b is the same.
//!
//! The event is `approximate` (ε, δ), or `pure`. Relations: `zero_out`,
//! and `replace` with its own formulas.
//!
//! # Pitfalls
//! - Gaussian noise for K scores of softmax grows with about sqrt(K): see the module `theorem`.
//! - Λ below its least value voids the theorem: it is raised, and
//!   [`ObjectivePlan::l2`] says to what.
//! - Smoothness grows with the square of the row norm, and a Huber hinge of width h has 1/(2h), not
//!   1: constants come from the loss.
//! - A point without a certificate is not released; the model is then noise around zero. By the
//!   solver's convergence theorem this happens for no data set. A second attempt with a looser
//!   tolerance would be a decision that depends on the data.
//! - The number of solver steps depends on the data, so the time of a fit is not protected.

mod theorem;

use sordino_data::{ContributionLimit, Encoded, Encoding};
use sordino_noise::{Bits, RoundedGaussian, RoundedSpherical};
use sordino_optim::{ClassWeights, Fitted, LearningPlan, check_public_size};
use sordino_privacy::{
    Claim, Count, Delta, Epsilon, Event, Inflation, Neighbours, NoiseMultiplier, Permit, SamplingRate,
    calibrate,
};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::perturbation::{clip_norms, lipschitz, positive_penalty, tolerance};
use crate::plan::{Learned, Terms};
use crate::solver::Problem;
use crate::usual::reach;
use crate::vector_noise::{Shape, VectorNoise};
use crate::weighting::Weighting;

/// The depth of the grid of b: its scale is 2^40 steps.
const DEPTH: u32 = RoundedSpherical::MOST_DEPTH;
/// The largest share of ε for determinants.
const MAX_DETERMINANT_SHARE: f64 = 0.25;
/// The share of ε and of δ for the distance to the exact minimum.
const OUTPUT_SHARE: f64 = 0.01;
/// The most classes of softmax with Gaussian noise.
const MAX_CLASSES: usize = 1000;
/// What the noise may cost in the objective, where the default penalty can limit it.
const MAX_NOISE_COST: f64 = 1e-3 / 1.5;
/// The least `‖w‖ X` that the default penalty may assume to limit that cost.
const MIN_REACH: f64 = 3.0;

/// The least Λ that the theorem needs at this ε, for any noise.
pub(crate) fn least_penalty(loss: Loss, row_norm: f64, epsilon: f64) -> f64 {
    theorem::least_ridge(loss, row_norm, MAX_DETERMINANT_SHARE * epsilon * (1.0 - OUTPUT_SHARE))
}

/// λ where noise and bias balance for weights of the length that the rules expect. `noise` is the
/// root of the mean square of ‖b‖, divided by G. In d directions without curvature the noise would
/// cost `noise² G²/(2λ n²)`. Where the theorem's own Λ is negligible, λ is large enough to keep
/// this below [`MAX_NOISE_COST`], as long as that allows weights of at least [`MIN_REACH`].
fn default_penalty(loss: Loss, encoding: &Encoding, n: Count, noise: f64, least: f64) -> f64 {
    let (row_norm, count) = (encoding.row_norm(), n.get() as f64);
    let slope = match loss {
        // The length of a regression's solution does not depend on the width.
        Loss::Huber { .. } => 1.0,
        Loss::Logistic | Loss::SmoothHinge { .. } | Loss::Softmax { .. } | Loss::Squared => {
            loss.slope().unwrap_or(1.0)
        }
    };
    let signal = count / noise;
    let for_reach = |reach: f64| slope * row_norm * row_norm / (reach * signal);
    let balanced = for_reach(reach(loss, signal));
    if 10.0 * least > balanced * count {
        return balanced;
    }
    let gradient = loss.lipschitz(row_norm).unwrap_or(row_norm);
    let quiet = (noise * gradient / count).powi(2) / (2.0 * MAX_NOISE_COST);
    balanced.max(quiet.min(for_reach(MIN_REACH)))
}

/// Builds plans for objective perturbation.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectivePerturbation {
    loss: Loss,
    l2: Option<f64>,
    neighbours: Neighbours,
    is_pure: bool,
    class_weights: Option<ClassWeights>,
}

impl ObjectivePerturbation {
    /// Under `zero_out`, with Gaussian noise where δ is above 0.
    pub fn new(loss: Loss) -> Self {
        Self { loss, l2: None, neighbours: Neighbours::ZeroOut, is_pure: false, class_weights: None }
    }

    /// Sets λ of the penalty `(λ/2)‖w‖²`, above 0. By default, noise and bias balance for weights
    /// as long as the rules of [`Facts`](crate::Facts) expect; where the noise is small, λ is at
    /// least so large that the noise costs less than 10^-3 in the objective.
    pub fn l2(self, l2: f64) -> Self {
        Self { l2: Some(l2), ..self }
    }

    /// Sets another neighbouring relation.
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        Self { neighbours, ..self }
    }

    /// Uses K-norm noise even if δ is above 0.
    pub fn pure(self) -> Self {
        Self { is_pure: true, ..self }
    }

    /// Multiplies the loss of a record by the weight of its class.
    pub fn class_weights(self, weights: ClassWeights) -> Self {
        Self { class_weights: Some(weights), ..self }
    }

    /// The plan for n records with this encoding, with the noise calibrated to (ε, δ); δ = 0 means
    /// K-norm noise.
    pub fn plan(
        &self,
        encoding: &Encoding,
        n: Count,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<ObjectivePlan, LearnError> {
        let shape = if self.is_pure || delta == Delta::ZERO { Shape::Spherical } else { Shape::Gaussian };
        self.check(encoding, shape)?;
        let limit = ContributionLimit::of(encoding.schema().unit());
        let share = Share::of_a_record(epsilon, delta, limit.max_records(), shape)?;
        let lipschitz = lipschitz("objective perturbation", self.loss, encoding)?;
        let row_norm = encoding.row_norm();
        let dimension = self.loss.outputs() * encoding.width();
        // The largest share for determinants gives the least Λ. With a larger Λ they take less.
        let rest = share.epsilon * (1.0 - OUTPUT_SHARE);
        let least = theorem::least_ridge(self.loss, row_norm, MAX_DETERMINANT_SHARE * rest);
        let rough = self.multiplier(shape, rest * (1.0 - MAX_DETERMINANT_SHARE), share.delta)?;
        let l2 = self.l2.unwrap_or_else(|| {
            default_penalty(self.loss, encoding, n, rough.get() * spread(shape, dimension), least)
        });
        let ridge = (positive_penalty(l2)? * n.get() as f64).max(least);
        let for_noise = (rest - theorem::determinant(self.loss, row_norm, ridge)) * (1.0 - 1e-12);
        let scale = self.multiplier(shape, for_noise, share.delta)?.get() * lipschitz * (1.0 + 1e-12);
        let tilt = scale * likely_length(shape, dimension);
        let tolerance = tolerance(self.loss, lipschitz, encoding, n, ridge, tilt);
        // Twice r of equation (2).
        let step = scale / (1u64 << DEPTH) as f64;
        let off = (tolerance + 0.5 * (dimension as f64).sqrt() * step) / ridge * (1.0 + 1e-12);
        let output = VectorNoise::new(shape, 2.0 * off, share.output(shape)?, dimension)?;
        let claim = Claim::new(self.neighbours, limit.event(share.event(shape)?));
        Ok(ObjectivePlan {
            terms: Terms { encoding: encoding.clone(), n, claim },
            loss: self.loss,
            class_weights: self.class_weights.clone(),
            ridge,
            tolerance,
            shape,
            scale,
            output,
        })
    }

    fn check(&self, encoding: &Encoding, shape: Shape) -> Result<(), LearnError> {
        self.loss.check(encoding)?;
        self.class_weights.iter().try_for_each(|weights| weights.check(encoding))?;
        check_public_size(self.neighbours)?;
        if let (Shape::Gaussian, Loss::Softmax { classes }) = (shape, self.loss)
            && classes > MAX_CLASSES
        {
            return Err(LearnError::Loss {
                learner: "objective perturbation with Gaussian noise",
                loss: self.loss.name(),
                instead: "there are more than 1000 classes: use gradient descent",
            });
        }
        Ok(())
    }

    /// The scale of b divided by G.
    fn multiplier(&self, shape: Shape, epsilon: f64, delta: f64) -> Result<NoiseMultiplier, LearnError> {
        match shape {
            Shape::Gaussian => {
                theorem::gaussian(self.loss, self.neighbours, epsilon, delta * (1.0 - OUTPUT_SHARE))
            }
            Shape::Spherical => Ok(NoiseMultiplier::new((clip_norms(self.neighbours) / epsilon).next_up())?),
        }
    }
}

/// The (ε, δ) that the release may cost one record.
#[derive(Clone, Copy)]
struct Share {
    epsilon: f64,
    delta: f64,
}

impl Share {
    /// (ε/k, δ/Σ_{i<k} e^{iε/k}): k records of one unit then cost (ε, δ) (Vadhan, *The Complexity
    /// of Differential Privacy*, 2017, Lemma 2.2).
    fn of_a_record(epsilon: Epsilon, delta: Delta, records: Count, shape: Shape) -> Result<Self, LearnError> {
        if epsilon == Epsilon::ZERO {
            let expected = "above 0: no finite noise gives epsilon 0";
            return Err(LearnError::Parameter { name: "epsilon", expected, got: 0.0 });
        }
        let (k, delta) = match (records.get(), shape) {
            (1, Shape::Spherical) => return Ok(Self { epsilon: epsilon.get(), delta: 0.0 }),
            (k, Shape::Spherical) => (k, 0.0),
            (k, Shape::Gaussian) => (k, delta.get()),
        };
        // A little less than ε/k, because accountants round outward.
        let each = epsilon.get() / k as f64 * (1.0 - 1e-12);
        // The geometric sum in closed form, as k can be large. If it is infinite, no δ is left,
        // which calibration refuses.
        let sum = if k == 1 { 1.0 } else { (each * k as f64).exp_m1() / each.exp_m1() };
        Ok(Self { epsilon: each, delta: delta / sum * (1.0 - 1e-9) })
    }

    fn event(self, shape: Shape) -> Result<Event, LearnError> {
        let epsilon = Epsilon::new(self.epsilon)?;
        Ok(match shape {
            Shape::Gaussian => Event::Approximate { epsilon, delta: Delta::new(self.delta)? },
            Shape::Spherical => Event::Pure { epsilon },
        })
    }

    /// The multiplier of the output's noise. Its sensitivity, 2r, is the same under every relation.
    fn output(self, shape: Shape) -> Result<NoiseMultiplier, LearnError> {
        let epsilon = self.epsilon * OUTPUT_SHARE * (1.0 - 1e-9);
        match shape {
            Shape::Spherical => Ok(NoiseMultiplier::new((1.0 / epsilon).next_up())?),
            Shape::Gaussian => {
                let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(self.delta * OUTPUT_SHARE)?);
                let (all, once) = (SamplingRate::new(1.0)?, Count::ONE);
                Ok(calibrate::noise_multiplier(epsilon, delta, Neighbours::ZeroOut, all, once)?.value)
            }
        }
    }
}

/// The root of the mean square of the noise's length, divided by its scale.
fn spread(shape: Shape, dimension: usize) -> f64 {
    let d = dimension as f64;
    match shape {
        Shape::Gaussian => d.sqrt(),
        Shape::Spherical => (d * (d + 1.0)).sqrt(),
    }
}

/// A length, in units of the noise's scale, that the noise exceeds with a probability of at most
/// e^-32: by concentration of the norm of a Gaussian vector, and by Chernoff's bound for a Gamma
/// variable of shape d.
fn likely_length(shape: Shape, dimension: usize) -> f64 {
    let d = dimension as f64;
    match shape {
        Shape::Gaussian => d.sqrt() + 8.0,
        Shape::Spherical => d + (64.0 * d).sqrt() + 32.0,
    }
}

/// Objective perturbation with all its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectivePlan {
    terms: Terms,
    loss: Loss,
    class_weights: Option<ClassWeights>,
    /// Λ of (1).
    ridge: f64,
    /// τ, the certified bound on the gradient.
    tolerance: f64,
    shape: Shape,
    /// The scale of b: σ, or s.
    scale: f64,
    output: VectorNoise,
}

impl ObjectivePlan {
    /// What is minimised.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// The class weights, if any were declared.
    pub fn class_weights(&self) -> Option<&ClassWeights> {
        self.class_weights.as_ref()
    }

    /// How records become rows.
    pub fn encoding(&self) -> &Encoding {
        &self.terms.encoding
    }

    /// λ, raised to what the theorem needs.
    pub fn l2(&self) -> f64 {
        self.ridge / self.terms.n.get() as f64
    }

    /// The scale of b: a standard deviation, or s of `exp(-‖b‖/s)`.
    pub fn noise_scale(&self) -> f64 {
        self.scale
    }

    /// Draws b, rounded to its grid.
    fn tilt(&self, bits: &mut dyn Bits) -> Result<Vec<f64>, LearnError> {
        let mut steps = vec![0i64; self.loss.outputs() * self.terms.encoding.width()];
        match self.shape {
            Shape::Gaussian => RoundedGaussian::new(DEPTH)?.fill(bits, &mut steps),
            Shape::Spherical => RoundedSpherical::new(DEPTH)?.fill(bits, &mut steps)?,
        }
        let step = self.scale / (1u64 << DEPTH) as f64;
        Ok(steps.into_iter().map(|steps| steps as f64 * step).collect())
    }
}

impl LearningPlan for ObjectivePlan {
    type Model = LinearModel;
    type Error = LearnError;

    fn claim(&self) -> Claim {
        self.terms.claim.clone()
    }

    fn fit_with(&self, data: &Encoded, permit: Permit, bits: &mut dyn Bits) -> Fitted<Self> {
        self.terms.fit(data, permit, bits, |bits| {
            let tilt = self.tilt(bits)?;
            let zero = vec![0.0; tilt.len()];
            let weighting = Weighting::of(self.class_weights.as_ref());
            let problem = Problem { loss: self.loss, data, ridge: self.ridge, tilt, weighting };
            let mut weights = problem.minimise(self.tolerance).unwrap_or(zero);
            self.output.add(&mut weights, bits)?;
            // Float arithmetic costs the output's share of the budget.
            let arithmetic = Inflation::new(OUTPUT_SHARE / (1.0 - OUTPUT_SHARE))?;
            Ok(Learned { loss: self.loss, weights, arithmetic })
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;
    use sordino_privacy::accounting;

    use super::*;
    use crate::testing::{classes, permit};

    fn data(n: usize) -> Encoded {
        let rows: Vec<Vec<f64>> = (0..n).map(|i| vec![(i as f64).sin(), (i as f64 * 0.37).cos()]).collect();
        let labels: Vec<usize> = rows.iter().map(|x| usize::from(x[0] > 0.1)).collect();
        classes(&rows, &labels, 2)
    }

    fn plan(
        learner: ObjectivePerturbation,
        n: u64,
        epsilon: f64,
        delta: f64,
    ) -> Result<ObjectivePlan, LearnError> {
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        learner.plan(data(n as usize).encoding(), Count::new(n).unwrap(), epsilon, delta)
    }

    /// Computes all parts of ε anew from the formulas.
    #[test]
    fn the_parts_of_epsilon_add_up_to_at_most_the_whole() {
        for neighbours in [Neighbours::ZeroOut, Neighbours::Replace] {
            for (epsilon, l2) in [(1.0, 1e-9), (1.0, 0.1), (0.05, 0.01), (20.0, 1e-3)] {
                let learner = ObjectivePerturbation::new(Loss::Logistic).l2(l2).neighbours(neighbours);
                let plan = plan(learner, 100, epsilon, 0.0).unwrap();
                let determinant = (0.25 * plan.terms.encoding.row_norm().powi(2) / plan.ridge).ln_1p();
                let norms = if neighbours == Neighbours::Replace { 2.0 } else { 1.0 };
                let noise = norms * plan.terms.encoding.row_norm() / plan.scale;
                let step = plan.scale / 2f64.powi(40);
                let off = (plan.tolerance + 0.5 * 3f64.sqrt() * step) / plan.ridge;
                let output = 2.0 * off / plan.output.scale();
                let total = determinant + noise + output;
                assert!(total <= epsilon && total > 0.98 * epsilon, "{total} of {epsilon}");
                assert!(determinant <= 0.2501 * epsilon, "Λ is raised where it must be");
                assert_eq!(plan.claim().event, Event::Pure { epsilon: Epsilon::new(epsilon).unwrap() });
            }
        }
    }

    #[test]
    fn a_plan_costs_what_was_asked_for() {
        let learner = ObjectivePerturbation::new(Loss::Logistic);
        let plan = plan(learner, 100, 1.0, 1e-6).unwrap();
        let account =
            accounting::epsilon(&plan.claim(), Delta::new(1e-6).unwrap(), accounting::Accountant::Auto);
        let bound = account.unwrap().bound;
        assert!(bound.upper <= 1.0 && bound.upper > 0.999, "{bound:?}");
        // δ of the parts: 99 hundredths for b, one for the output.
        let b = theorem::gaussian(Loss::Logistic, Neighbours::ZeroOut, 0.99 * 0.75, 0.99e-6).unwrap();
        assert!(plan.scale <= b.get() * plan.terms.encoding.row_norm() * 1.01);
    }

    fn variance(draws: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
        let n = draws.len() as f64;
        let mean = draws.clone().sum::<f64>() / n;
        draws.map(|x| (x - mean).powi(2)).sum::<f64>() / n
    }

    /// Each noise alone: 2000 draws, within six deviations of a variance (sqrt(5/n) for a Laplace
    /// variable); false alarm below 1e-8.
    #[test]
    fn the_objective_and_the_output_have_the_noise_of_the_plan() {
        let (data, draws) = (data(30), 2000usize);
        for (delta, of_one, spread) in [(1e-6, 1.0, 2f64.sqrt()), (0.0, 4.0, 5f64.sqrt())] {
            let learner = ObjectivePerturbation::new(Loss::Logistic).l2(1.0);
            let mut plan = plan(learner, 30, 1.0, delta).unwrap();
            // In three dimensions a coordinate of spherical noise has variance E r²/3 = 12/3 = 4.
            let close = |got: f64, scale: f64| {
                let ratio = got / (of_one * scale * scale);
                assert!((ratio - 1.0).abs() < 6.0 * spread / (draws as f64).sqrt(), "{ratio}");
            };
            let tilts: Vec<f64> =
                (0..draws).map(|seed| plan.tilt(&mut seeded(seed as u64)).unwrap()[1]).collect();
            close(variance(tilts.iter().copied()), plan.scale);
            plan.scale = 1e-300; // b is zero, so all noise is the output's
            let weights: Vec<f64> = (0..draws)
                .map(|seed| {
                    let release = plan.fit_with(&data, permit(&plan), &mut seeded(seed as u64)).unwrap();
                    release.value().weights().next().unwrap()[1]
                })
                .collect();
            close(variance(weights.iter().copied()), plan.output.scale());
        }
    }

    /// Sets a tolerance that no point can meet.
    #[test]
    fn a_point_without_certificate_is_not_released() {
        let data = data(60);
        let mut plan = plan(ObjectivePerturbation::new(Loss::Logistic).l2(0.01), 60, 1e5, 0.0).unwrap();
        let size = |plan: &ObjectivePlan| {
            let release = plan.fit_with(&data, permit(plan), &mut seeded(1)).unwrap();
            release.value().weights().flatten().map(|w| w.abs()).sum::<f64>()
        };
        assert!(size(&plan) > 1.0);
        plan.tolerance = 1e-15;
        assert!(size(&plan) < 1e-3);
    }

    #[test]
    fn settings_without_a_theorem_are_refused() {
        let many = classes(&[vec![0.1], vec![0.2]], &[0, 2], 1001);
        let learner = ObjectivePerturbation::new(Loss::Softmax { classes: 1001 });
        let plan_many = |learner: &ObjectivePerturbation, delta: f64| {
            let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(delta).unwrap());
            learner.plan(many.encoding(), Count::new(2).unwrap(), epsilon, delta)
        };
        let error = plan_many(&learner, 1e-6).unwrap_err().to_string();
        assert!(error.contains("more than 1000 classes"), "{error}");
        assert!(plan_many(&learner, 0.0).is_ok() && plan_many(&learner.clone().pure(), 1e-6).is_ok());
        assert!(plan(ObjectivePerturbation::new(Loss::Squared), 10, 1.0, 1e-6).is_err());
        assert!(plan(ObjectivePerturbation::new(Loss::Logistic).l2(0.0), 10, 1.0, 1e-6).is_err());
        assert!(plan(ObjectivePerturbation::new(Loss::Logistic), 10, 0.0, 1e-6).is_err());
        let private_n = ObjectivePerturbation::new(Loss::Logistic).neighbours(Neighbours::AddRemove);
        assert!(plan(private_n, 10, 1.0, 1e-6).is_err());
    }

    #[test]
    fn units_of_several_records_divide_the_budget() {
        let share = Share::of_a_record(
            Epsilon::new(1.0).unwrap(),
            Delta::new(1e-6).unwrap(),
            Count::new(4).unwrap(),
            Shape::Gaussian,
        );
        let share = share.unwrap();
        let sum: f64 = (0..4).map(|i| (f64::from(i) / 4.0).exp()).sum();
        assert!((share.epsilon - 0.25).abs() < 1e-9 && (share.delta * sum / 1e-6 - 1.0).abs() < 1e-6);
        let event = Event::Group {
            size: Count::new(4).unwrap(),
            event: Box::new(share.event(Shape::Gaussian).unwrap()),
        };
        let claim = Claim::new(Neighbours::ZeroOut, event);
        let bound = accounting::epsilon(&claim, Delta::new(1e-6).unwrap(), accounting::Accountant::Auto);
        let upper = bound.unwrap().bound.upper;
        assert!(upper <= 1.0 && upper > 0.99, "{upper}");
    }
}
