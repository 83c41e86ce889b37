//! Linear regression from noisy sums: AdaSSP and private ridge regression.
//!
//! # Definition
//! Rows have `‖x‖ <= X` (the intercept included), targets `|y| <= Y`. `A = XᵀX` and `c = Xᵀy` are
//! released with Gaussian noise, once, and
//! ```text
//! w = (A~ + (nλ + a) I)⁻¹ c~                                                                   (1)
//! ```
//! *Ridge*: a = 0, λ public. *Adaptive* (AdaSSP: Wang, *Revisiting Differentially Private Linear
//! Regression*, 2018): the least eigenvalue of A is released too, and a is large enough that the
//! matrix is positive with confidence, given the noise. With μ the noisy eigenvalue less its own
//! deviation times `sqrt(2 ln(2/ρ))`, at least 0, and σ the deviation of A~,
//! ```text
//! a = max(0, σ (sqrt(2d) + sqrt(2 ln(2/ρ))) - μ)                                               (2)
//! ```
//! The norm of the noise exceeds its bound in (2) with probability at most ρ = 0.05.
//!
//! # Guarantee
//! A record's `x xᵀ` has Frobenius norm at most X², its `x y` norm at most XY, and the least
//! eigenvalue moves by at most X² (Weyl). The first two are one vector, at most sqrt(2) long in
//! these units; noise that is isotropic in the Frobenius norm has deviation σ on the diagonal and
//! σ/sqrt(2) off it. The two releases are composed and calibrated jointly. (1) and (2) are
//! post-processing of them. Under `replace` the accountant doubles both sensitivities, although A
//! moves by at most sqrt(2) X² and its eigenvalue by X²: safe, and a little loose.
//!
//! # Arithmetic
//! Sums are integers on a grid, with an allowance for float sums of blocks. The least eigenvalue is
//! computed by Cholesky factorisations, whose error is bounded; twice that error is added to its
//! sensitivity.
//!
//! # Pitfalls
//! - The published noise of AdaSSP, `sqrt(ln(6/δ))/(ε/3)` for each of three pieces, does not cover
//!   one piece at (ε/3, δ/3) by itself; the whole is safe. Joint calibration needs 38 % less noise.
//! - A~ has d(d+1)/2 noisy numbers: for many columns use gradient descent.
//! - Confidence intervals computed from w as for least squares ignore the noise.

mod moments;

use sordino_data::{ContributionLimit, Encoded, Encoding};
use sordino_noise::Bits;
use sordino_noise::grid::{Grid, GridPlan};
use sordino_optim::{Fitted, LearningPlan, Noise, check_public_size};
use sordino_privacy::{
    Claim, Count, Delta, Epsilon, Event, Inflation, Neighbours, NoiseMultiplier, Permit, calibrate,
};

use self::moments::{Bounds, MAX_RECORD_NORM, Moments};
use crate::error::LearnError;
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::plan::{Learned, Terms};
use crate::solver::Cholesky;
use crate::vector_noise::{Shape, VectorNoise};

/// ρ, the probability that the norm of the noise exceeds its bound in (2).
const MISS_PROBABILITY: f64 = 0.05;
/// The eigenvalue's share of the sum of `1/z²`. With a third, the three pieces (A, c and the
/// eigenvalue) have equal noise multipliers.
const EIGENVALUE_SHARE: f64 = 1.0 / 3.0;
/// The greatest depth of the grid: noise of 2^30 steps.
const MAX_DEPTH: u32 = 30;

/// Builds plans for regression from noisy sums.
#[derive(Clone, Debug, PartialEq)]
pub struct SufficientStatistics {
    is_adaptive: bool,
    l2: f64,
    neighbours: Neighbours,
}

impl SufficientStatistics {
    /// AdaSSP: as little regularisation as the noise allows.
    pub fn adaptive() -> Self {
        Self { is_adaptive: true, l2: 0.0, neighbours: Neighbours::ZeroOut }
    }

    /// Private ridge regression: the penalty `(λ/2)‖w‖²` alone. If the noisy matrix is still not
    /// positive, its diagonal is raised.
    pub fn ridge(l2: f64) -> Self {
        Self { is_adaptive: false, l2, neighbours: Neighbours::ZeroOut }
    }

    /// Sets λ. An adaptive learner adds a of (2).
    pub fn l2(self, l2: f64) -> Self {
        Self { l2, ..self }
    }

    /// Sets another neighbouring relation.
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        Self { neighbours, ..self }
    }

    /// The plan for n records with this encoding, with the noise calibrated to (ε, δ).
    pub fn plan(
        &self,
        encoding: &Encoding,
        n: Count,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<StatisticsPlan, LearnError> {
        self.plan_with(encoding, n, Noise::Budget { epsilon, delta })
    }

    /// The plan with the given noise. A multiplier is that of all releases together.
    pub fn plan_with(
        &self,
        encoding: &Encoding,
        n: Count,
        noise: Noise,
    ) -> Result<StatisticsPlan, LearnError> {
        Loss::Squared.check(encoding)?;
        check_public_size(self.neighbours)?;
        if !(self.l2 >= 0.0 && self.l2.is_finite()) {
            let expected = "a finite number of at least 0";
            return Err(LearnError::Parameter { name: "l2 penalty", expected, got: self.l2 });
        }
        let limit = ContributionLimit::of(encoding.schema().unit());
        let parts = match noise {
            Noise::Multiplier(noise) => self.parts(noise)?,
            Noise::Budget { epsilon, delta } => {
                let claim = |noise| {
                    // A multiplier whose parts are out of range is never chosen.
                    let event = self.parts(noise).map_or(Event::NonPrivate, |parts| parts.event());
                    Claim::new(self.neighbours, limit.event(event))
                };
                self.parts(calibrate::noise_of(epsilon, delta, claim)?.value)?
            }
        };
        let bounds = Bounds {
            width: encoding.width(),
            row_norm: encoding.row_norm(),
            target: encoding.largest_target().max(f64::MIN_POSITIVE),
        };
        let claim = Claim::new(self.neighbours, limit.event(parts.event()));
        let (learner, encoding) = (self.clone(), encoding.clone());
        let grid = grid(bounds, parts.sums, self.neighbours, n)?;
        let eigenvalue = parts.eigenvalue.map(|noise| {
            let sensitivity = 1.0 + 2.0 * bounds.eigenvalue_error(n.get());
            VectorNoise::new(Shape::Gaussian, sensitivity, noise, 1)
        });
        let terms = Terms { encoding, n, claim };
        Ok(StatisticsPlan { terms, learner, bounds, grid, eigenvalue: eigenvalue.transpose()? })
    }

    /// The multipliers of the releases. The squares of their inverses add up to that of the whole.
    fn parts(&self, whole: NoiseMultiplier) -> Result<Parts, LearnError> {
        if !self.is_adaptive {
            return Ok(Parts { sums: whole, eigenvalue: None });
        }
        let of = |share: f64| NoiseMultiplier::new(whole.get() / share.sqrt() * (1.0 + 1e-12));
        Ok(Parts { sums: of(1.0 - EIGENVALUE_SHARE)?, eigenvalue: Some(of(EIGENVALUE_SHARE)?) })
    }
}

/// Noise multipliers of the releases.
#[derive(Clone, Copy, Debug)]
struct Parts {
    sums: NoiseMultiplier,
    eigenvalue: Option<NoiseMultiplier>,
}

impl Parts {
    fn event(self) -> Event {
        let sums = Event::gaussian(self.sums);
        match self.eigenvalue {
            None => sums,
            Some(noise) => Event::composed([sums, Event::gaussian(noise)]),
        }
    }
}

fn grid(
    bounds: Bounds,
    noise: NoiseMultiplier,
    neighbours: Neighbours,
    n: Count,
) -> Result<Grid, LearnError> {
    let plan = GridPlan::new(MAX_RECORD_NORM, noise.get(), bounds.dimension(), n.get());
    let plan = plan.allowance(bounds.allowance(neighbours));
    let least = plan.least_depth()?;
    let deeper = (least.depth()..=MAX_DEPTH).rev().find_map(|depth| plan.at_depth(depth).ok());
    Ok(deeper.unwrap_or(least))
}

/// Regression from noisy sums with all its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsPlan {
    terms: Terms,
    learner: SufficientStatistics,
    bounds: Bounds,
    grid: Grid,
    eigenvalue: Option<VectorNoise>,
}

impl StatisticsPlan {
    /// λ as it was set. An adaptive learner adds a of (2).
    pub fn l2(&self) -> f64 {
        self.learner.l2
    }

    /// How records become rows.
    pub fn encoding(&self) -> &Encoding {
        &self.terms.encoding
    }

    /// nλ + a of (1), with a from (2) if the learner is adaptive.
    fn ridge(&self, moments: &Moments, bits: &mut dyn Bits) -> Result<f64, LearnError> {
        let penalty = self.learner.l2 * self.terms.n.get() as f64;
        let Some(noise) = self.eigenvalue else { return Ok(penalty) };
        let mut least = [moments.least_eigenvalue(self.bounds.width, self.terms.n.get())];
        noise.add(&mut least, bits)?;
        let deviations = (2.0 * (2.0 / MISS_PROBABILITY).ln()).sqrt();
        let surely = (least[0] - noise.scale() * deviations).max(0.0);
        let reach = self.grid.noise_scale() * ((2.0 * self.bounds.width as f64).sqrt() + deviations);
        Ok(penalty + (reach - surely).max(0.0) * self.bounds.row_norm.powi(2))
    }

    /// w of (1), from noisy numbers alone. The diagonal is raised until the matrix is positive.
    fn solve(&self, noisy: &[f64], mut ridge: f64) -> Vec<f64> {
        let (square, mut weights) = self.bounds.unscale(noisy);
        let width = self.bounds.width;
        let deviation = self.grid.noise_scale() * self.bounds.row_norm.powi(2);
        loop {
            let mut matrix = square.clone();
            (0..width).for_each(|j| matrix[j * width + j] += ridge);
            if let Some(factor) = Cholesky::of(matrix, width) {
                factor.solve(&mut weights);
                return weights;
            }
            // A finite matrix is positive once the diagonal is large enough.
            ridge = (2.0 * ridge).max(deviation);
            if !ridge.is_finite() {
                return vec![0.0; width];
            }
        }
    }

    fn inflation(&self) -> Result<f64, LearnError> {
        let of_eigenvalue = match self.eigenvalue {
            None => 0.0,
            Some(noise) => noise.inflation()?.get() + 2.0 * self.bounds.eigenvalue_error(self.terms.n.get()),
        };
        Ok(self.grid.inflation().max(of_eigenvalue))
    }
}

impl LearningPlan for StatisticsPlan {
    type Model = LinearModel;
    type Error = LearnError;

    fn claim(&self) -> Claim {
        self.terms.claim.clone()
    }

    fn fit_with(&self, data: &Encoded, permit: Permit, bits: &mut dyn Bits) -> Fitted<Self> {
        self.terms.fit(data, permit, bits, |bits| {
            let moments = self.bounds.sum(data, self.grid)?;
            let ridge = self.ridge(&moments, bits)?;
            let noisy = moments.sum.add_gaussian(bits)?.to_f64();
            let arithmetic = Inflation::new(self.inflation()?)?;
            Ok(Learned { loss: Loss::Squared, weights: self.solve(&noisy, ridge), arithmetic })
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;

    use super::*;
    use crate::danger::non_private_optimum;
    use crate::testing::{numbers, permit};

    fn data(n: usize) -> Encoded {
        let rows: Vec<Vec<f64>> = (0..n).map(|i| vec![(i as f64).sin(), (i as f64 * 0.37).cos()]).collect();
        let targets: Vec<f64> = rows.iter().map(|x| 0.4 * x[0] - 0.3 * x[1] + 0.1).collect();
        numbers(&rows, &targets)
    }

    fn budget(epsilon: f64, delta: f64) -> Noise {
        Noise::Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap() }
    }

    /// The common multiplier of the three pieces is sqrt(3) times that of one Gaussian release. The
    /// numbers were computed independently.
    #[test]
    fn noise_is_calibrated_jointly() {
        let data = data(50);
        for (epsilon, delta, common) in [(1.0, 1e-6, 7.317358481978), (3.0, 1e-5, 2.408578519633)] {
            let learner = SufficientStatistics::adaptive();
            let plan =
                learner.plan_with(data.encoding(), Count::new(50).unwrap(), budget(epsilon, delta)).unwrap();
            let eigenvalue = plan.eigenvalue.unwrap().scale();
            assert!((eigenvalue / common - 1.0).abs() < 3e-3, "{eigenvalue}");
            // The noise of the sums, for both pieces together, in units of one piece's norm.
            assert!((plan.grid.noise_scale() / common - 1.0).abs() < 3e-3, "{}", plan.grid.noise_scale());
        }
    }

    /// The released matrix has deviation σ on the diagonal and σ/sqrt(2) off it. 4000 draws, within
    /// six deviations; false alarm 1e-8.
    #[test]
    fn noise_is_isotropic_in_the_frobenius_norm() {
        let empty = numbers(&[vec![f64::NAN, 0.0]], &[0.0]);
        let learner = SufficientStatistics::ridge(1.0);
        let noise = Noise::Multiplier(NoiseMultiplier::new(2.0).unwrap());
        let plan = learner.plan_with(empty.encoding(), Count::ONE, noise).unwrap();
        let sigma = plan.grid.noise_scale() * plan.bounds.row_norm.powi(2);
        let (mut bits, draws) = (seeded(5), 4000);
        let (mut on, mut off) = (0.0, 0.0);
        for _ in 0..draws {
            let sum = plan.bounds.sum(&empty, plan.grid).unwrap().sum;
            let (square, _) = plan.bounds.unscale(&sum.add_gaussian(&mut bits).unwrap().to_f64());
            on += square[0] * square[0];
            off += square[3] * square[3];
        }
        let spread = 6.0 * (2.0 / f64::from(draws)).sqrt();
        assert!((on / f64::from(draws) / sigma.powi(2) - 1.0).abs() < spread);
        assert!((off / f64::from(draws) / sigma.powi(2) - 0.5).abs() < 0.5 * spread);
        assert!((sigma / (2.0 * 2f64.sqrt()) - 1.0).abs() < 1e-6);
    }

    /// The least eigenvalue of this data is well above its own noise and well below that of the
    /// matrix, so the variance of the ridge is that of the eigenvalue's noise. 2000 draws, within
    /// six deviations; false alarm 1e-8.
    #[test]
    fn the_eigenvalue_is_released_with_its_noise() {
        let data = data(60);
        let learner = SufficientStatistics::adaptive();
        let mut plan =
            learner.plan_with(data.encoding(), Count::new(60).unwrap(), budget(1.0, 1e-6)).unwrap();
        let noise = VectorNoise::new(Shape::Gaussian, 1.0, NoiseMultiplier::new(0.1).unwrap(), 1).unwrap();
        plan.eigenvalue = Some(noise);
        let moments = plan.bounds.sum(&data, plan.grid).unwrap();
        let draws = 2000usize;
        let ridges: Vec<f64> =
            (0..draws).map(|seed| plan.ridge(&moments, &mut seeded(seed as u64)).unwrap()).collect();
        assert!(ridges.iter().all(|ridge| *ridge > 0.0));
        let mean = ridges.iter().sum::<f64>() / draws as f64;
        let variance = ridges.iter().map(|ridge| (ridge - mean).powi(2)).sum::<f64>() / draws as f64;
        let ratio = variance / (noise.scale() * plan.bounds.row_norm.powi(2)).powi(2);
        assert!((ratio - 1.0).abs() < 6.0 * (2.0 / draws as f64).sqrt(), "{ratio}");
    }

    #[test]
    fn with_little_noise_the_result_is_ridge_regression() {
        let data = data(400);
        let n = Count::new(400).unwrap();
        let noise = Noise::Multiplier(NoiseMultiplier::new(1e-6).unwrap());
        let optimum = non_private_optimum(Loss::Squared, &data, 0.03).unwrap();
        let expected: Vec<f64> = optimum.weights().flatten().copied().collect();
        for learner in [SufficientStatistics::adaptive().l2(0.03), SufficientStatistics::ridge(0.03)] {
            let plan = learner.plan_with(data.encoding(), n, noise).unwrap();
            let release = plan.fit_with(&data, permit(&plan), &mut seeded(1)).unwrap();
            for (got, expected) in release.value().weights().flatten().zip(&expected) {
                assert!((got - expected).abs() < 1e-4, "{got} {expected}");
            }
        }
    }

    /// With much noise and few records the matrix may not be positive. Weights are finite all the
    /// same, and those of AdaSSP are small.
    #[test]
    fn noise_that_drowns_the_data_gives_small_weights() {
        let data = data(3);
        let n = Count::new(3).unwrap();
        for seed in 0..20 {
            for (learner, most) in
                [(SufficientStatistics::adaptive(), 20.0), (SufficientStatistics::ridge(0.0), f64::MAX)]
            {
                let plan = learner.plan_with(data.encoding(), n, budget(0.1, 1e-6)).unwrap();
                let release = plan.fit_with(&data, permit(&plan), &mut seeded(seed)).unwrap();
                assert!(release.value().weights().flatten().all(|w| w.abs() < most));
            }
        }
    }

    #[test]
    fn unsuitable_settings_and_targets_are_refused() {
        let data = data(10);
        let n = Count::new(10).unwrap();
        let plan = |learner: SufficientStatistics| learner.plan_with(data.encoding(), n, budget(1.0, 1e-6));
        assert!(plan(SufficientStatistics::ridge(-1.0)).is_err());
        assert!(plan(SufficientStatistics::ridge(f64::NAN)).is_err());
        assert!(plan(SufficientStatistics::adaptive().neighbours(Neighbours::AddRemove)).is_err());
        let labels = crate::testing::classes(&[vec![0.1]], &[1], 2);
        let refused =
            SufficientStatistics::adaptive().plan_with(labels.encoding(), Count::ONE, budget(1.0, 1e-6));
        assert!(matches!(refused, Err(LearnError::Target { .. })));
    }
}
