//! Output perturbation: the minimum of the objective, with noise.
//!
//! # Definition
//! Chaudhuri, Monteleoni, Sarwate, *Differentially Private Empirical Risk Minimization*, 2011. With
//! `F(w) = (1/n) Σ_i l_i(w) + (λ/2)‖w‖²` and w~ a point at which `‖∇F‖ <= τ/n`, certified:
//! ```text
//! release w~ + Z,     Z Gaussian, or of density ~ exp(-‖z‖/s)                                  (1)
//! ```
//! # Guarantee
//! Losses are convex and G-Lipschitz: G is the slope times the row norm, the intercept included. F
//! is λ-strongly convex, and an absent record changes the gradient of nF by at most G. So the exact
//! minima of neighbours are at most `G/(nλ)` apart, twice that under `replace`. Each w~ is within
//! `τ/(nλ)` of its minimum. So w~ moves by at most D between neighbours (2D under
//! `replace`), and D takes the place of the clip norm:
//! ```text
//! D = (G + 2τ) / (nλ)                                                                          (2)
//! ```
//! and (1) is the Gaussian mechanism of multiplier z, or the K-norm mechanism with pure ε = D/s
//! (2D/s under `replace`). The divisor is the public n, empty slots included. The number of classes
//! is unlimited, because only the gradient's length is used. Class weights are at most 1, so G also
//! bounds a weighted gradient.
//!
//! # Why a certificate
//! A point "near" the minimum has no known sensitivity. Here an error analysis bounds the float
//! error of the gradient, and the tolerance τ is public: a millionth of G up to about 10^6
//! records, and more for more records, to leave room for the error bound. If no point is
//! certified, zero is released with the noise. (2) does not cover that case: zero and a
//! neighbour's minimum could be farther than D apart. It must happen for no data set, and the
//! solver's convergence theorem excludes it.
//!
//! # Pitfalls
//! - Without a penalty the sensitivity is unbounded: strict convexity is not enough. λ is public
//!   and chosen before data is seen.
//! - The squared loss has no Lipschitz constant: use `Huber`, or
//!   [`SufficientStatistics`](crate::SufficientStatistics).
//! - The sensitivity follows from the Lipschitz constant, not from the smoothness.
//! - The number of solver steps depends on the data, so the time of a fit is not protected.
//!
//! # Defaults
//! By default λ balances noise and bias. With β the loss's smoothness, X the row
//! norm and a solution of length 10/X, noise costs about `β E‖Z‖²/2` and the
//! penalty `λ‖w‖²/2`; λ makes them equal.

use sordino_data::{ContributionLimit, Encoded, Encoding};
use sordino_noise::Bits;
use sordino_optim::{ClassWeights, Fitted, LearningPlan, Noise, check_public_size};
use sordino_privacy::{
    Claim, Count, Delta, Epsilon, Event, Inflation, Neighbours, NoiseMultiplier, Permit, calibrate,
};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::perturbation::{clip_norms, lipschitz, positive_penalty, tolerance};
use crate::plan::{Learned, Terms};
use crate::solver::Problem;
use crate::vector_noise::{Shape, VectorNoise};
use crate::weighting::Weighting;

/// Builds plans for output perturbation.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPerturbation {
    loss: Loss,
    l2: Option<f64>,
    neighbours: Neighbours,
    is_pure: bool,
    class_weights: Option<ClassWeights>,
}

impl OutputPerturbation {
    /// Under `zero_out`, with Gaussian noise where δ is above 0.
    pub fn new(loss: Loss) -> Self {
        Self { loss, l2: None, neighbours: Neighbours::ZeroOut, is_pure: false, class_weights: None }
    }

    /// Sets λ of the penalty `(λ/2)‖w‖²`, above 0.
    pub fn l2(self, l2: f64) -> Self {
        Self { l2: Some(l2), ..self }
    }

    /// Sets another neighbouring relation.
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        Self { neighbours, ..self }
    }

    /// Uses K-norm noise even if δ is above 0, which is better in few dimensions.
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
    ) -> Result<OutputPlan, LearnError> {
        self.plan_with(encoding, n, Noise::Budget { epsilon, delta })
    }

    /// The plan with the given noise.
    pub fn plan_with(&self, encoding: &Encoding, n: Count, noise: Noise) -> Result<OutputPlan, LearnError> {
        self.loss.check(encoding)?;
        self.class_weights.iter().try_for_each(|weights| weights.check(encoding))?;
        check_public_size(self.neighbours)?;
        let lipschitz = lipschitz("output perturbation", self.loss, encoding)?;
        let limit = ContributionLimit::of(encoding.schema().unit());
        let (shape, noise, event) = self.noise(noise, &limit)?;
        let dimension = self.loss.outputs() * encoding.width();
        let l2 = self.l2.unwrap_or_else(|| self.balanced_penalty(encoding, n, shape, noise, lipschitz));
        let ridge = positive_penalty(l2)? * n.get() as f64;
        let tolerance = tolerance(self.loss, lipschitz, encoding, n, ridge, 0.0);
        // Equation (2). The last factor covers the roundings of its evaluation.
        let clip_norm = (lipschitz + 2.0 * tolerance) / ridge * (1.0 + 1e-12);
        let noise = VectorNoise::new(shape, clip_norm, noise, dimension)?;
        let for_floats = (1.0 + 2.0 * tolerance / lipschitz) * (1.0 + noise.inflation()?.get()) - 1.0;
        let claim = Claim::new(self.neighbours, limit.event(event));
        Ok(OutputPlan {
            terms: Terms { encoding: encoding.clone(), n, claim },
            loss: self.loss,
            class_weights: self.class_weights.clone(),
            ridge,
            tolerance,
            noise,
            arithmetic: Inflation::new(for_floats)?,
        })
    }

    /// The shape and multiplier of the noise, and the event for one record.
    fn noise(
        &self,
        noise: Noise,
        limit: &ContributionLimit,
    ) -> Result<(Shape, NoiseMultiplier, Event), LearnError> {
        let norms = clip_norms(self.neighbours);
        let pure = |epsilon: Epsilon| {
            // The quotient is rounded up, so the noise is never less than ε needs.
            let multiplier = NoiseMultiplier::new((norms / epsilon.get()).next_up())?;
            Ok((Shape::Spherical, multiplier, Event::Pure { epsilon }))
        };
        match noise {
            Noise::Budget { epsilon, delta } if self.is_pure || delta == Delta::ZERO => {
                // Each of a unit's k records costs ε/k.
                let share = epsilon.get() / limit.max_records().get() as f64;
                pure(Epsilon::new(if limit.max_records() == Count::ONE { share } else { share.next_down() })?)
            }
            Noise::Multiplier(multiplier) if self.is_pure => {
                pure(Epsilon::new((norms / multiplier.get()).next_up())?)
            }
            Noise::Budget { epsilon, delta } => {
                let claim = |noise| Claim::new(self.neighbours, limit.event(Event::gaussian(noise)));
                let multiplier = calibrate::noise_of(epsilon, delta, claim)?.value;
                Ok((Shape::Gaussian, multiplier, Event::gaussian(multiplier)))
            }
            Noise::Multiplier(multiplier) => Ok((Shape::Gaussian, multiplier, Event::gaussian(multiplier))),
        }
    }

    /// λ at which `β E‖Z‖² = λ‖w‖²` for `‖w‖ X = 10`.
    fn balanced_penalty(
        &self,
        encoding: &Encoding,
        n: Count,
        shape: Shape,
        noise: NoiseMultiplier,
        lipschitz: f64,
    ) -> f64 {
        let dimension = (self.loss.outputs() * encoding.width()) as f64;
        let squares = match shape {
            Shape::Gaussian => dimension,
            Shape::Spherical => dimension * (dimension + 1.0),
        };
        let row_norm = encoding.row_norm();
        let size = 10.0 / row_norm;
        let at_one = noise.get() * lipschitz / n.get() as f64; // the noise's scale at λ = 1
        (self.loss.smoothness(row_norm) * squares * (at_one / size).powi(2)).cbrt()
    }
}

/// Output perturbation with all its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPlan {
    terms: Terms,
    loss: Loss,
    class_weights: Option<ClassWeights>,
    /// nλ.
    ridge: f64,
    /// τ, the certified bound on the gradient of nF.
    tolerance: f64,
    noise: VectorNoise,
    arithmetic: Inflation,
}

impl OutputPlan {
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

    /// λ of the penalty `(λ/2)‖w‖²`.
    pub fn l2(&self) -> f64 {
        self.ridge / self.terms.n.get() as f64
    }

    /// The scale of the noise: the standard deviation of a weight, or s of (1).
    pub fn noise_scale(&self) -> f64 {
        self.noise.scale()
    }
}

impl LearningPlan for OutputPlan {
    type Model = LinearModel;
    type Error = LearnError;

    fn claim(&self) -> Claim {
        self.terms.claim.clone()
    }

    fn fit_with(&self, data: &Encoded, permit: Permit, bits: &mut dyn Bits) -> Fitted<Self> {
        self.terms.fit(data, permit, bits, |bits| {
            let zero = vec![0.0; self.loss.outputs() * self.terms.encoding.width()];
            let weighting = Weighting::of(self.class_weights.as_ref());
            let problem = Problem { loss: self.loss, data, ridge: self.ridge, tilt: zero.clone(), weighting };
            let mut weights = problem.minimise(self.tolerance).unwrap_or(zero);
            self.noise.add(&mut weights, bits)?;
            Ok(Learned { loss: self.loss, weights, arithmetic: self.arithmetic })
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;
    use sordino_privacy::accounting;

    use super::*;
    use crate::testing::{classes, numbers, permit};

    const LOSSES: [Loss; 4] = [
        Loss::Logistic,
        Loss::SmoothHinge { width: 0.1 },
        Loss::Huber { width: 0.5 },
        Loss::Softmax { classes: 2 },
    ];

    fn data(loss: Loss, rows: &[Vec<f64>]) -> Encoded {
        match loss {
            Loss::Squared | Loss::Huber { .. } => numbers(rows, &vec![1.0; rows.len()]),
            Loss::Logistic | Loss::SmoothHinge { .. } | Loss::Softmax { .. } => {
                classes(rows, &vec![1; rows.len()], 2)
            }
        }
    }

    fn learner(loss: Loss) -> OutputPerturbation {
        OutputPerturbation::new(loss).l2(2.0)
    }

    fn budget(epsilon: f64, delta: f64) -> Noise {
        Noise::Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap() }
    }

    fn minimum(plan: &OutputPlan, data: &Encoded) -> Vec<f64> {
        let tilt = vec![0.0; plan.loss.outputs() * plan.terms.encoding.width()];
        let weighting = Weighting::of(plan.class_weights.as_ref());
        let problem = Problem { loss: plan.loss, data, ridge: plan.ridge, tilt, weighting };
        problem.minimise(plan.tolerance).unwrap()
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// Under `zero_out`. Some pair of data sets nearly attains the bound, so a smaller one would be
    /// wrong.
    #[test]
    fn minima_of_neighbours_are_within_the_clip_norm() {
        let mut closest = 0f64;
        for loss in LOSSES {
            for rows in [vec![vec![1.0, 1.0]], vec![vec![-0.3, 0.2], vec![0.9, -1.0], vec![0.0, 0.0]]] {
                let with = data(loss, &rows);
                let n = Count::new(rows.len() as u64).unwrap();
                let plan = learner(loss).plan_with(with.encoding(), n, budget(1.0, 1e-6)).unwrap();
                let multiplier =
                    calibrate::noise_of(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap(), |noise| {
                        Claim::new(Neighbours::ZeroOut, Event::gaussian(noise))
                    });
                let clip_norm = plan.noise_scale() / multiplier.unwrap().value.get();
                let mut absent = rows.clone();
                absent[0] = vec![f64::NAN; 2];
                let without = data(loss, &absent);
                assert!(without.row(0).is_none());
                let moved = distance(&minimum(&plan, &with), &minimum(&plan, &without));
                assert!(moved <= clip_norm, "{loss:?}: {moved} against {clip_norm}");
                closest = closest.max(moved / clip_norm);
            }
        }
        assert!(closest > 0.99, "{closest}");
    }

    #[test]
    fn a_point_without_certificate_is_not_released() {
        let rows = vec![vec![1.0, 0.5]; 40];
        let data = data(Loss::Logistic, &rows);
        let n = Count::new(40).unwrap();
        let noise = Noise::Multiplier(NoiseMultiplier::new(1e-6).unwrap());
        let mut plan =
            OutputPerturbation::new(Loss::Logistic).l2(0.01).plan_with(data.encoding(), n, noise).unwrap();
        let size = |plan: &OutputPlan| {
            let release = plan.fit_with(&data, permit(plan), &mut seeded(1)).unwrap();
            release.value().weights().flatten().map(|w| w.abs()).sum::<f64>()
        };
        assert!(size(&plan) > 1.0);
        plan.tolerance = 1e-15; // below the error bound of the gradient
        assert!(size(&plan) < 1e-3, "noise around zero");
    }

    #[test]
    fn pure_and_gaussian_noise_cost_what_was_asked_for() {
        let data = data(Loss::Logistic, &[vec![1.0], vec![0.5]]);
        let n = Count::new(2).unwrap();
        for (neighbours, norms) in [(Neighbours::ZeroOut, 1.0), (Neighbours::Replace, 2.0)] {
            let learner = learner(Loss::Logistic).neighbours(neighbours);
            let pure = learner.plan_with(data.encoding(), n, budget(0.5, 0.0)).unwrap();
            assert_eq!(pure.claim().event, Event::Pure { epsilon: Epsilon::new(0.5).unwrap() });
            // s = norms D/ε with D = G/(nλ) and a little.
            let scale = norms / (2.0 * 2.0) / 0.5;
            assert!(pure.noise_scale() >= scale && pure.noise_scale() < 1.002 * scale);
            let gaussian = learner.plan_with(data.encoding(), n, budget(0.5, 1e-5)).unwrap();
            let account = accounting::epsilon(
                &gaussian.claim(),
                Delta::new(1e-5).unwrap(),
                accounting::Accountant::Auto,
            );
            let upper = account.unwrap().bound.upper;
            assert!(upper <= 0.5 && upper > 0.49, "{upper}");
        }
    }

    #[test]
    fn settings_without_a_sensitivity_are_refused() {
        let data = numbers(&[vec![1.0]], &[0.5]);
        let plan =
            |learner: OutputPerturbation| learner.plan_with(data.encoding(), Count::ONE, budget(1.0, 1e-6));
        let error = plan(learner(Loss::Squared)).unwrap_err().to_string();
        assert!(error.contains("no Lipschitz constant"), "{error}");
        assert!(plan(learner(Loss::Huber { width: 1.0 }).l2(0.0)).is_err());
        assert!(plan(learner(Loss::Huber { width: 1.0 }).neighbours(Neighbours::AddRemove)).is_err());
        assert!(plan(OutputPerturbation::new(Loss::Huber { width: 1.0 })).unwrap().l2() > 0.0);
    }
}
