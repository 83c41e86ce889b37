//! Hidden states: what is gained when only the last iterate of noisy gradient descent is seen.
//!
//! # Definition
//! `w <- Proj(w - eta grad F(w) + noise)` with Gaussian noise, F lambda-strongly convex and
//! beta-smooth *for every data set*, from a start that does not depend on the data. One step alone
//! is a Gaussian release of some mu.
//! # Guarantee
//! With `c = max(|1 - eta lambda|, |1 - eta beta|)` the step is a contraction by c, and after t
//! steps the last iterate alone is GDP with
//! ```text
//! c < 1                    mu² (1 - c^t)/(1 + c^t) (1 + c)/(1 - c)                          (1)
//! c <= 1, diameter D       min over tau of (d²/tau + 2 d mu + tau mu²),  d = D / noise      (2)
//! ```
//! (Bok, Su, Altschuler, *Shifted Interpolation for Differential Privacy*, 2024), and never more
//! than t steps compose to, `t mu²`. (1) is met with equality by quadratic losses. Older results,
//! for comparison:
//! ```text
//! one pass, record at place t of n    rho = mu²/2 / (n + 1 - t),   c <= 1                   (3)
//! Langevin, K steps                   rho = 2 mu²/(eta lambda) (1 - e^(-lambda eta K/2)),  eta < 1/beta  (4)
//! ```
//! (3) Feldman, Mironov, Talwar, Thakurta, *Privacy Amplification by Iteration*, 2018. (4)
//! Chourasia, Ye, Shokri, *Differential Privacy Dynamics of Langevin Diffusion and Noisy Gradient
//! Descent*, 2021.
//!
//! All of (1) to (3) are one theorem (Bok, Su, Altschuler 2024, theorem 3.1). Let the two runs'
//! k-th maps be c-Lipschitz and differ by at most `s_k` deviations of the noise. The runs may be
//! brought together by moves `a_k` that are paid for in squares: the last iterates are `sqrt(sum
//! a_k²)`-GDP for every choice with
//! ```text
//! z_k = c z_(k-1) + s_k - a_k >= 0,   z_n = 0,   z_0 the distance at the start.              (5)
//! ```
//! All `s_k = mu`, `z_0 = 0` and the best `a_k` give (1); a start `d` apart, tau steps before the
//! end, `s_k = mu` and equal moves `d/tau + mu` give (2). One record at place t is `s_t = mu`
//! alone, so that the moves from t to n add up to mu, each times `c^-(k-t)`, and the best ones give
//! ```text
//! one pass, record at place t of n    mu² / sum_(j=0)^(n-t) c^(-2j),   c <= 1               (6)
//! ```
//! which for c = 1 is (3), now as Gaussian privacy.
//! # Pitfalls
//! - One checkpoint, one logged loss, and nothing here holds: account for the steps instead.
//! - A clipped gradient is not the gradient of a smooth convex loss, except for generalised linear
//!   models. lambda and beta must be proven from model and data bounds, never estimated. Neural
//!   networks do not qualify.
//! - In (3) the last record gains nothing.

use super::{Gdp, UP, Zcdp, checked};
use crate::params::{Count, Mu, ParamError, Radius, Rho, Scale, Smoothness, StepSize, StrongConvexity};

/// A descent whose iterates stay hidden.
///
/// ```
/// use sordino_privacy::{Count, Mu, Smoothness, StepSize, StrongConvexity, notion::{Gdp, HiddenDescent}};
/// let descent =
///     HiddenDescent::new(StepSize::new(0.1)?, StrongConvexity::new(0.1)?, Smoothness::new(1.0)?)?;
/// let step = Gdp::new(Mu::new(0.1)?);
/// let last = descent.last_iterate(step, Count::new(1000)?)?;
/// assert!((last.mu().get() - 1.410612698742).abs() < 1e-11); // by composition: 3.16
/// # Ok::<(), sordino_privacy::ParamError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenDescent {
    step_size: f64,
    strong_convexity: f64,
    smoothness: f64,
}

impl HiddenDescent {
    /// Fails where the strong convexity exceeds the smoothness, which no function has.
    pub fn new(
        step_size: StepSize,
        strong_convexity: StrongConvexity,
        smoothness: Smoothness,
    ) -> Result<Self, ParamError> {
        let (convexity, smooth) = (strong_convexity.get(), smoothness.get());
        checked("strong convexity", "at most the smoothness", convexity, convexity <= smooth)?;
        Ok(Self { step_size: step_size.get(), strong_convexity: convexity, smoothness: smooth })
    }

    /// c: two iterates come closer by this factor in one step; above 1 they may part.
    pub fn contraction(&self) -> f64 {
        let shrink = |curvature: f64| (1.0 - self.step_size * curvature).abs();
        shrink(self.strong_convexity).max(shrink(self.smoothness)) * (1.0 + f64::EPSILON)
    }

    /// Equation (1), or the composition of all steps if that is less.
    pub fn last_iterate(&self, step: Gdp, steps: Count) -> Result<Gdp, ParamError> {
        let (c, t) = (self.contraction(), steps.get() as f64);
        let composed = step.repeated(steps)?;
        if c >= 1.0 || steps == Count::ONE {
            return Ok(composed);
        }
        // (1 - c^t) / (1 + c^t) is the tanh of -t ln(c) / 2: no cancellation near c = 1.
        let half = if c > 0.0 { -0.5 * c.ln() } else { f64::INFINITY };
        let gain = (t * half).tanh() / half.tanh() * (1.0 + 1e-12);
        let mu = step.mu().get() * gain.sqrt() * UP;
        if mu < composed.mu().get() { Mu::new(mu).map(Gdp::new) } else { Ok(composed) }
    }

    /// Equation (2) on a set of this diameter, with this deviation of the noise in w of one step;
    /// or [`last_iterate`](Self::last_iterate) if that is less.
    pub fn last_iterate_within(
        &self,
        step: Gdp,
        steps: Count,
        diameter: Radius,
        noise: Scale,
    ) -> Result<Gdp, ParamError> {
        let elsewhere = self.last_iterate(step, steps)?;
        let (mu, d) = (step.mu().get(), diameter.get() / noise.get());
        if self.contraction() > 1.0 + 2.0 * f64::EPSILON || mu == 0.0 {
            return Ok(elsewhere);
        }
        let cost = |tau: f64| d * d / tau + 2.0 * d * mu + tau * mu * mu;
        let best = (d / mu).floor().clamp(1.0, steps.get() as f64);
        let least = cost(best).min(cost((best + 1.0).min(steps.get() as f64))).sqrt() * UP;
        if least < elsewhere.mu().get() { Mu::new(least).map(Gdp::new) } else { Ok(elsewhere) }
    }

    /// Equation (3): what one pass over `records` costs the one at `position`, counted from 1.
    /// Fails for a position beyond the records, and for steps longer than 2 / smoothness.
    pub fn at_position(&self, step: Gdp, position: Count, records: Count) -> Result<Zcdp, ParamError> {
        let (t, n) = (position.get() as f64, records.get() as f64);
        checked("position", "at most the number of records", t, position <= records)?;
        let reach = self.step_size * self.smoothness;
        checked("step size times smoothness", "at most 2", reach, reach <= 2.0)?;
        Rho::new(Zcdp::try_from(step)?.rho().get() / (n + 1.0 - t) * UP).map(Zcdp::new)
    }

    /// Equation (6): the same as Gaussian privacy, and less if the steps contract. Where they do
    /// not, the one step costs what it costs.
    pub fn one_pass(&self, step: Gdp, position: Count, records: Count) -> Result<Gdp, ParamError> {
        let (t, n) = (position.get() as f64, records.get() as f64);
        checked("position", "at most the number of records", t, position <= records)?;
        let c = self.contraction();
        if c > 1.0 + 2.0 * f64::EPSILON {
            return Ok(step);
        }
        // The sum is that of a geometric series; at c = 1 as many terms as there are steps.
        let (rate, terms) = (-2.0 * c.ln(), n - t + 1.0);
        let few = terms == 1.0 || rate * terms < 1e-12;
        let sum = if few { terms } else { (rate * terms).exp_m1() / rate.exp_m1() };
        // Where it overflows, next to nothing is left; where it is lost in rounding, `terms` is
        // less.
        let sum = if sum.is_nan() { f64::MAX } else { sum.clamp(terms, f64::MAX) };
        Mu::new((step.mu().get() / sum.sqrt() * (1.0 + 1e-12)).max(f64::MIN_POSITIVE)).map(Gdp::new)
    }

    /// What some descent of this kind costs at least: on a quadratic of the least or of the largest
    /// curvature, with the record in every step, or in the one at `position`.
    pub(crate) fn on_quadratic(&self, mu: f64, steps: Count, position: Option<Count>) -> f64 {
        let t = steps.get() as f64;
        // sum_(k<t) (1 - d)^k for d <= 1, without a difference of numbers next to 1.
        let sum = |d: f64| if d == 0.0 { t } else { -(t * (-d).ln_1p()).exp_m1() / d };
        let of = |curvature: f64| {
            let d = self.step_size * curvature;
            let c = 1.0 - d;
            let moved = match position {
                Some(position) => c.abs().powf(t - position.get() as f64),
                None if d <= 1.0 => sum(d),
                None if steps.get().is_multiple_of(2) => (1.0 - c.abs().powf(t)) / d,
                None => (1.0 + c.abs().powf(t)) / d,
            };
            moved.abs() / sum(d * (2.0 - d)).sqrt()
        };
        let best = [self.strong_convexity, self.smoothness].map(of).into_iter().filter(|x| x.is_finite());
        mu * best.fold(0.0, f64::max) * (1.0 - 1e-9)
    }

    /// Equation (4), or the composition of all steps if that is less. Needs a Gaussian start
    /// besides; fails for steps of 1 / smoothness or longer, and without strong convexity.
    pub fn langevin(&self, step: Gdp, steps: Count) -> Result<Zcdp, ParamError> {
        let reach = self.step_size * self.smoothness;
        checked("step size times smoothness", "below 1", reach, reach < 1.0)?;
        let rate = self.step_size * self.strong_convexity;
        checked("strong convexity", "above 0", self.strong_convexity, rate > 0.0)?;
        let (one, k) = (2.0 * Zcdp::try_from(step)?.rho().get(), steps.get() as f64);
        let dynamics = 2.0 * one / rate * -(-0.5 * rate * k).exp_m1();
        Rho::new(dynamics.min(0.5 * one * k) * UP).map(Zcdp::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descent(eta: f64, lambda: f64, beta: f64) -> HiddenDescent {
        HiddenDescent::new(
            StepSize::new(eta).unwrap(),
            StrongConvexity::new(lambda).unwrap(),
            Smoothness::new(beta).unwrap(),
        )
        .unwrap()
    }

    fn gdp(mu: f64) -> Gdp {
        Gdp::new(Mu::new(mu).unwrap())
    }

    fn count(n: u64) -> Count {
        Count::new(n).unwrap()
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    /// L = 1, n = 1000, sigma = 0.01: one step has mu = 0.1.
    #[test]
    fn strong_convexity_bounds_the_last_iterate() {
        let descent = descent(0.1, 0.1, 1.0);
        close(descent.contraction(), 0.99, 1e-14);
        for (steps, exact) in [
            (1, 0.1),
            (10, 0.316096111327),
            (100, 0.961013744646),
            (1_000, 1.410612698742),
            (100_000, 1.410673597967),
        ] {
            close(descent.last_iterate(gdp(0.1), count(steps)).unwrap().mu().get(), exact, 1e-11);
        }
    }

    /// d = 1000, mu = 0.1: 20 instead of 100 by composition after a million steps.
    #[test]
    fn a_bounded_set_bounds_the_last_iterate() {
        let descent = descent(0.1, 0.0, 1.0);
        let (diameter, noise) = (Radius::new(1.0).unwrap(), Scale::new(1e-3).unwrap());
        let at =
            |steps| descent.last_iterate_within(gdp(0.1), count(steps), diameter, noise).unwrap().mu().get();
        close(at(1_000_000), 20.0, 1e-12);
        close(descent.last_iterate(gdp(0.1), count(1_000_000)).unwrap().mu().get(), 100.0, 1e-12);
        close(at(100), 1.0, 1e-12);
    }

    /// a = 2, S = 2, lambda = 0.1, sigma = 0.5, n = 100, eta = 0.5: mu² = eta S² / (2 sigma² n²) =
    /// 4e-4.
    #[test]
    fn older_bounds_and_the_exact_quadratic() {
        let descent = descent(0.5, 0.1, 1.0);
        let step = gdp(2e-2);
        for (steps, dynamics, quadratic, composed) in [
            (1u64, 7.900828150934e-4, 4.0e-4, 4.0e-4),
            (10, 0.007078374941715, 0.003915405714503, 0.004),
            (100, 0.029373280044035, 0.015416366694676, 0.04),
            (10_000, 0.032, 0.0156, 4.0),
        ] {
            let langevin = 2.0 * descent.langevin(step, count(steps)).unwrap().rho().get();
            close(langevin, f64::min(dynamics, composed), 1e-11);
            let last = descent.last_iterate(step, count(steps)).unwrap().mu().get();
            close(last * last, quadratic, 1e-11);
        }
        // L = 1, sigma = 4, replace: mu = 2 L / sigma.
        for (position, exact) in [(1, 0.0025), (50, 0.00490196078431), (100, 0.25)] {
            let found = descent.at_position(gdp(0.5), count(position), count(100)).unwrap();
            close(2.0 * found.rho().get(), exact, 1e-11);
        }
    }

    /// The law of the last iterate on F(w) = lambda w²/2 against the same moved: Gaussians with
    /// known means and equal variances, so that mu is their distance over the deviation.
    #[test]
    fn a_quadratic_meets_the_bound() {
        let (eta, lambda, shift, steps) = (0.2, 0.5, 0.3, 17);
        let (mut distance, mut variance) = (0.0f64, 0.0f64);
        let c = 1.0 - eta * lambda;
        for _ in 0..steps {
            distance = c * distance + shift;
            variance = c * c * variance + 1.0;
        }
        let found = descent(eta, lambda, lambda).last_iterate(gdp(shift), count(steps)).unwrap();
        close(found.mu().get(), distance / variance.sqrt(), 1e-11);
    }

    /// The recursion of distance and variance on both quadratics, step by step.
    #[test]
    fn instances_are_quadratics() {
        for (eta, lambda, beta) in
            [(0.1, 0.0, 1.0), (0.2, 0.5, 1.0), (1.0, 0.5, 1.9), (1.5, 0.1, 2.0), (1.0, 1.0, 1.0)]
        {
            for steps in [1u64, 2, 7, 40] {
                for position in [None, Some(1), Some(steps)] {
                    let of = |curvature: f64| {
                        let (mut distance, mut variance, c) = (0.0f64, 0.0f64, 1.0 - eta * curvature);
                        for k in 1..=steps {
                            let own = if position.is_none_or(|place| place == k) { 0.3 } else { 0.0 };
                            (distance, variance) = (c * distance + own, c * c * variance + 1.0);
                        }
                        distance.abs() / variance.sqrt()
                    };
                    let found =
                        descent(eta, lambda, beta).on_quadratic(0.3, count(steps), position.map(count));
                    let exact = of(lambda).max(of(beta));
                    assert!(found <= exact && found >= exact * (1.0 - 1e-8), "{found} {exact}");
                }
            }
        }
        let long = descent(1e-10, 1.0, 1.0).on_quadratic(1.0, count(1 << 40), None);
        assert!(long < descent(1e-10, 1.0, 1.0).last_iterate(gdp(1.0), count(1 << 40)).unwrap().mu().get());
    }

    /// (6) for one record at place t: by hand for c = 1, and on the quadratic, whose last iterates
    /// are Gaussians with known means and equal variances. At the first place it is met.
    #[test]
    fn one_pass_by_position() {
        let flat = descent(0.5, 0.0, 1.0);
        for (position, exact) in [(1, 0.05), (51, 0.5 / 50f64.sqrt()), (100, 0.5)] {
            close(flat.one_pass(gdp(0.5), count(position), count(100)).unwrap().mu().get(), exact, 1e-11);
        }
        let (eta, lambda, shift, n) = (0.2, 0.5, 0.3, 17u64);
        let (c, curved) = (1.0f64 - eta * lambda, descent(eta, lambda, lambda));
        for t in 1..=n {
            let distance = shift * c.powi((n - t) as i32);
            let variance: f64 = (0..n).map(|k| c.powi(2 * k as i32)).sum();
            let found = curved.one_pass(gdp(shift), count(t), count(n)).unwrap().mu().get();
            assert!(found >= distance / variance.sqrt() * (1.0 - 1e-12), "{t}: {found}");
            // The best moves: each proportional to c^-(k-t), what they cost, and that they suffice.
            let moves: Vec<f64> = (0..=n - t).map(|j| c.powi(-(j as i32))).collect();
            let total: f64 = moves.iter().map(|a| a * a).sum();
            let moves = moves.iter().map(|a| a * shift / total);
            let z =
                moves.clone().enumerate().fold(0.0, |z, (j, a)| c * z + if j == 0 { shift } else { 0.0 } - a);
            assert!(z.abs() < 1e-13, "{t}: {z} is left");
            close(found, moves.map(|a| a * a).sum::<f64>().sqrt(), 1e-11);
            if t == 1 {
                close(found, distance / variance.sqrt(), 1e-11);
            }
        }
        // A step that forgets everything, steps that do not contract, and a million that do.
        let forgets = descent(1.0, 1.0, 1.0);
        close(forgets.one_pass(gdp(0.1), count(9), count(9)).unwrap().mu().get(), 0.1, 1e-11);
        assert!(forgets.one_pass(gdp(0.1), count(8), count(9)).unwrap().mu().get() < 1e-15);
        assert_eq!(descent(3.0, 0.1, 1.0).one_pass(gdp(0.1), count(1), count(10)).unwrap(), gdp(0.1));
        assert!(curved.one_pass(gdp(0.1), count(1), count(1_000_000)).unwrap().mu().get() < 1e-100);
        assert!(curved.one_pass(gdp(0.1), count(3), count(2)).is_err());
    }

    #[test]
    fn impossible_descents_are_refused() {
        let unknown = HiddenDescent::new(
            StepSize::new(0.1).unwrap(),
            StrongConvexity::new(2.0).unwrap(),
            Smoothness::new(1.0).unwrap(),
        );
        assert!(unknown.unwrap_err().to_string().contains("at most the smoothness"));
        // Steps too long to contract: composition.
        let long = descent(3.0, 0.1, 1.0);
        close(long.last_iterate(gdp(0.1), count(100)).unwrap().mu().get(), 1.0, 1e-12);
        assert!(long.langevin(gdp(0.1), count(10)).is_err());
        assert!(long.at_position(gdp(0.1), count(1), count(10)).is_err());
        assert!(descent(0.1, 0.0, 1.0).langevin(gdp(0.1), count(10)).is_err());
        assert!(descent(0.1, 0.0, 1.0).at_position(gdp(0.1), count(11), count(10)).is_err());
    }
}
