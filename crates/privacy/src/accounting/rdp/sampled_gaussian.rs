//! Poisson-sampled Gaussian noise, continuous or on the integers.
//!
//! # Definition
//! Q = N(0, 1), one contribution moves it by `mu`, sampling at rate q. With `y(x) = mu x - mu²/2`,
//! ```text
//! g(x) = ln(1 - q + q e^y(x))
//! one-sided   mixture against N(0):     loss g(x)           (the larger direction)
//! two-sided   mixture against mirror:   loss g(x) - g(-x)
//! ```
//! # Guarantee
//! One-sided, continuous: the direction above dominates at every order (Mironov, Talwar, Zhang,
//! *Rényi Differential Privacy of the Sampled Gaussian Mechanism*, 2019, theorem 5). On the
//! integers that is not known, so both directions are computed. The Rényi divergence of the pair
//! that dominates all neighbouring inputs bounds theirs.
//! # How it is computed
//! Positive sums (see `moment`) by the trapezoidal rule, at every real order alike: there is no
//! series to converge, and none of its terms alternate. The integrand `exp(-x²/2 + a g(x))` has its
//! branch points at a distance pi / mu from the line, and is there no larger than `exp(Im² / 2)`
//! times its size on the line; step [`smooth_step`] leaves an error below 1e-15. Where the mixture
//! is in the denominator, peaks are sharper, by up to `1 + (a-1) mu² / 4` in curvature.
//!
//! Discrete noise is the same sum on the lattice `1 / sigma`, exactly; if the lattice is finer than
//! the rule needs, only every m-th point is visited, which is the rule itself.
//! # Pitfalls
//! The divergence jumps near the order `ln(1/q) / mu²`, where the sampled record stops hiding:
//! there are two peaks, and both are visited.

use super::super::step::Sided;
use super::moment::{self, ln_psi};
use super::trapezoid;
use crate::numerics::logspace::{ln_exp_m1, ln_mixture};
use crate::numerics::normal::ln_density;

/// The pair of the module's definition.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledGaussian {
    pub(super) mu: f64,
    pub(super) rate: f64,
    pub(super) sided: Sided,
    /// Distance of neighbouring outcomes for discrete noise.
    pub(super) lattice: Option<f64>,
}

/// Which distribution the outcome comes from.
#[derive(Clone, Copy)]
enum View {
    Remove,
    Add,
    Replace,
}

impl SampledGaussian {
    /// `D_order`, the larger direction.
    pub(super) fn at(&self, order: f64) -> f64 {
        if self.rate == 1.0 || self.mu == 0.0 {
            return self.unsampled(order);
        }
        if self.rate == 0.0 {
            return 0.0;
        }
        match (self.sided, self.lattice) {
            (Sided::Two, _) => self.seen(View::Replace, order),
            (Sided::One, None) => self.seen(View::Remove, order),
            (Sided::One, Some(_)) => self.seen(View::Remove, order).max(self.seen(View::Add, order)),
        }
    }

    fn seen(&self, view: View, order: f64) -> f64 {
        self.quadrature(view, order).unwrap_or_else(|| self.fallback(order))
    }

    /// Without sampling: `a m²/2` for noise moved by m, on the integers an upper bound (Canonne,
    /// Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020, proposition 5).
    fn unsampled(&self, order: f64) -> f64 {
        let moved = match self.sided {
            Sided::One => self.mu,
            Sided::Two => 2.0 * self.mu,
        };
        0.5 * order * moved * moved
    }

    /// Joint convexity of `exp((a-1) D_a)`: `ln(1 - q + q exp((a-1) D_a(unsampled))) / (a-1)`.
    fn fallback(&self, order: f64) -> f64 {
        let excess = order - 1.0;
        moment::divergence(excess, self.rate.ln() + ln_exp_m1(excess * self.unsampled(order)))
    }

    fn quadrature(&self, view: View, order: f64) -> Option<f64> {
        let step = self.step(view, order);
        if step < FINEST_STEP {
            return None;
        }
        let integrand = |x: f64| {
            let (ln_p, loss) = self.outcome(view, x);
            ln_p + ln_psi(order - 1.0, loss)
        };
        let sum = trapezoid::ln_sum(integrand, &self.starts(view, order), step)?;
        let norm = trapezoid::ln_sum(ln_density, &[0.0], step)?;
        Some(moment::divergence(order - 1.0, sum - norm))
    }

    /// `(ln P, loss)` at x.
    fn outcome(&self, view: View, x: f64) -> (f64, f64) {
        let reference = ln_density(x);
        let mixed = |x: f64| ln_mixture(self.rate, self.mu * (x - 0.5 * self.mu));
        match view {
            View::Remove => {
                let loss = mixed(x);
                (reference + loss, loss)
            }
            View::Add => (reference, -mixed(x)),
            View::Replace => {
                let here = mixed(x);
                (reference + here, here - mixed(-x))
            }
        }
    }

    /// The step of the rule, a multiple of the lattice if there is one.
    fn step(&self, view: View, order: f64) -> f64 {
        let sharpness = match view {
            View::Remove => 1.0,
            View::Add | View::Replace => 1.0 + 0.25 * (order - 1.0) * self.mu * self.mu,
        };
        let wanted = smooth_step(self.mu) / sharpness.sqrt();
        match self.lattice {
            None => wanted,
            Some(spacing) => spacing * (wanted / spacing).floor().max(1.0),
        }
    }

    /// A point on the slope of every peak of the integrand: where the tilted density `P^a Q^(1-a)`
    /// peaks, which are fixed points of the maps below, and where P and Q themselves live. (Above
    /// order 2 a bump of P that stands out is on the way to the tilted peak.)
    fn starts(&self, view: View, order: f64) -> [f64; 4] {
        let (a, b, mu) = (order, order - 1.0, self.mu);
        let share = |x: f64| {
            let odds = self.rate / (1.0 - self.rate) * (mu * (x - 0.5 * mu)).exp();
            if odds == f64::INFINITY { 1.0 } else { odds / (1.0 + odds) }
        };
        let bump = if order <= 2.0 { mu } else { 0.0 };
        match view {
            View::Remove => {
                let map = |x: f64| mu * a * share(x);
                [0.0, bump, iterate(0.0, map), iterate(mu * a, map)]
            }
            View::Add => {
                let peak = crate::numerics::search::bisect(0.0, mu * b, |x| x >= mu * b * share(-x)).1;
                [0.0, mu, -peak, -peak]
            }
            View::Replace => {
                let map = |x: f64| mu * (a * share(x) + b * share(-x));
                [-mu, bump, iterate(0.0, map), iterate(mu * (a + b), map)]
            }
        }
    }
}

/// Peaks are twenty wide: finer steps would be tens of thousands of
/// points, for noise that hides nothing.
const FINEST_STEP: f64 = 1e-3;

/// See the module: `exp(-2 pi d / h + d²/2)` with d just below `min(pi / mu, pi)` is below e^-40.
fn smooth_step(mu: f64) -> f64 {
    (0.42 / mu).min(0.4)
}

/// A rising map started at or below (above) its least (greatest) fixed
/// point approaches it from that side.
fn iterate(mut x: f64, map: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let next = map(x);
        if (next - x).abs() < 0.1 {
            return next;
        }
        x = next;
    }
    x
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numerics::logspace::{LogSum, ln_add, ln_binomial};

    fn sampled(rate: f64, sigma: f64) -> SampledGaussian {
        SampledGaussian { mu: 1.0 / sigma, rate, sided: Sided::One, lattice: None }
    }

    /// Whole orders by the binomial theorem, terms of a constant likelihood ratio taken off.
    fn binomial(rate: f64, sigma: f64, order: u32) -> f64 {
        let a = f64::from(order);
        let mut sum = LogSum::new();
        for k in (2..=order).map(f64::from) {
            sum.add(ln_binomial(k, a, rate, 1.0 - rate) + ln_exp_m1(k * (k - 1.0) / (2.0 * sigma * sigma)));
        }
        moment::divergence(a - 1.0, sum.ln())
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    /// Quadrature in forty digits; both directions.
    #[test]
    fn published_orders() {
        for (rate, sigma, order, remove, add) in [
            (0.01, 1.0, 1.5, 1.27253743327e-4, 1.2147599e-4),
            (0.01, 1.0, 2.0, 1.71813422075e-4, 1.6022265e-4),
            (0.01, 1.0, 2.5, 2.17575332282e-4, 1.9817329e-4),
            (0.01, 1.0, 8.0, 8.93643907606e-4, 5.7238889e-4),
            (0.01, 1.0, 10.1, 0.0556364086687, 6.9843434e-4),
            (0.01, 1.0, 32.0, 11.246275937, 1.6923368e-3),
            (0.1, 2.0, 4.0, 6.00328296449e-3, 5.0205190e-3),
            (0.001, 0.5, 3.7, 1.57708497574e-3, 5.4990957e-5),
            (0.5, 1.0, 2.0, 0.357374019509, 0.18569442),
            (0.01, 4.0, 64.0, 2.15209161618e-4, 1.9810743e-4),
        ] {
            close(sampled(rate, sigma).seen(View::Remove, order), remove, 1e-10);
            close(sampled(rate, sigma).seen(View::Add, order), add, 1e-7);
        }
    }

    #[test]
    fn whole_orders_agree_with_the_binomial_theorem() {
        for rate in [1e-9, 1e-4, 0.01, 0.3, 0.999] {
            for sigma in [0.05, 0.3, 1.0, 4.0, 100.0, 1e4] {
                for order in [2, 3, 7, 30, 200, 1_000] {
                    close(sampled(rate, sigma).at(f64::from(order)), binomial(rate, sigma, order), 1e-12);
                }
            }
        }
    }

    /// Far above the phase change, where the right peak is a million widths away from the left one.
    #[test]
    fn enormous_orders() {
        for (rate, sigma) in [(1e-9, 0.05), (0.01, 1.0), (0.5, 30.0)] {
            let (order, found) = (1e6f64, sampled(rate, sigma).at(1e6));
            // The largest term of the binomial sum, and the number of terms.
            let term = (order * rate.ln() + order * (order - 1.0) / (2.0 * sigma * sigma)) / (order - 1.0);
            assert!(found >= term * (1.0 - 1e-12) && found <= 0.5 * order / (sigma * sigma), "{found}");
        }
        close(sampled(1e-4, 1e3).at(1e4), binomial(1e-4, 1e3, 10_000), 1e-11);
    }

    #[test]
    fn limits() {
        close(sampled(1.0, 2.0).at(3.0), 0.375, 1e-15);
        assert_eq!(sampled(0.3, f64::INFINITY).at(3.0), 0.0);
        assert_eq!(sampled(0.0, 2.0).at(3.0), 0.0);
        close(sampled(0.9, 1e-5).at(3.0), 1.5e10, 1e-9); // nothing left to hide
        let nearly = SampledGaussian { sided: Sided::Two, ..sampled(1.0 - 1e-13, 2.0) };
        close(nearly.at(3.0), 1.5, 1e-11); // distance 2 mu
        close(sampled(1.0 - 1e-13, 2.0).at(3.0), 0.375, 1e-11);
        // q²: sampling twice as rarely costs a quarter.
        close(sampled(1e-9, 1e4).at(2.0) / sampled(5e-10, 1e4).at(2.0), 4.0, 1e-9);
    }

    /// Replacing a record, from the definition by a plain Riemann sum.
    #[test]
    fn two_sided_pair_from_its_definition() {
        for (rate, sigma, order) in [(0.05, 4.0, 8.0), (0.3, 1.0, 3.5), (0.7, 0.6, 2.0), (0.01, 0.5, 1.7)] {
            let density =
                |x: f64, at: f64| (-0.5 * (x - at).powi(2)).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let mixture = |x: f64, at: f64| (1.0 - rate) * density(x, 0.0) + rate * density(x, at);
            let (mu, step) = (1.0 / sigma, 1e-3);
            let power = |i: i32| {
                let x = f64::from(i) * step;
                (mixture(x, mu) / mixture(x, -mu)).powf(order) * mixture(x, -mu) * step
            };
            let exact = (-30_000..=30_000).map(power).sum::<f64>().ln() / (order - 1.0);
            let pair = SampledGaussian { sided: Sided::Two, ..sampled(rate, sigma) };
            close(pair.at(order), exact, 1e-10);
        }
    }

    /// `ln sum P^a Q^(1-a) / (a-1)` over the integers, for laws given by
    /// the logarithms of their weights.
    fn on_integers(
        sigma: f64,
        reach: i32,
        order: f64,
        p: &dyn Fn(f64) -> f64,
        q: &dyn Fn(f64) -> f64,
    ) -> f64 {
        let (mut sum, mut norm) = (LogSum::new(), LogSum::new());
        for k in (-reach..=reach).map(f64::from) {
            sum.add(order * p(k) + (1.0 - order) * q(k));
            norm.add(-0.5 * (k / sigma).powi(2));
        }
        (sum.ln() - norm.ln()) / (order - 1.0)
    }

    #[test]
    fn a_fine_lattice_is_the_continuum() {
        let fine = SampledGaussian { lattice: Some(1e-3), ..sampled(0.01, 1.0) };
        close(fine.at(2.5), 2.17575332282e-4, 1e-10);
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(300))]

        /// Discrete noise from the definition by its sum, in both directions and under replacement.
        #[test]
        fn lattice_from_its_definition(
            ln_sigma in -1.2f64..3.0, shift in 1u32..4, ln_rate in -6.0f64..-0.05, order in 1.05f64..40.0
        ) {
            let (sigma, rate, shift) = (ln_sigma.exp(), ln_rate.exp(), f64::from(shift));
            let weight = |k: f64| -0.5 * (k / sigma).powi(2);
            let mixture = |k: f64, at: f64| ln_add((-rate).ln_1p() + weight(k), ln_rate + weight(k - at));
            let reach = (30.0 * sigma + 2.0 * shift * order) as i32;
            let sum = |p: &dyn Fn(f64) -> f64, q: &dyn Fn(f64) -> f64| on_integers(sigma, reach, order, p, q);
            let remove = sum(&|k| mixture(k, shift), &weight);
            let add = sum(&weight, &|k| mixture(k, shift));
            let replace = sum(&|k| mixture(k, shift), &|k| mixture(k, -shift));
            let lattice = Some(1.0 / sigma);
            let one = SampledGaussian { mu: shift / sigma, rate, sided: Sided::One, lattice };
            let two = SampledGaussian { sided: Sided::Two, ..one };
            // Doubles leave 1e-15 of 1, not of the divergence, in the sums above.
            let error = 1e-11 + 1e-13 * order / (order - 1.0);
            prop_assert!((one.at(order) - remove.max(add)).abs() <= error + 1e-12 * remove);
            prop_assert!((two.at(order) - replace).abs() <= error + 1e-12 * replace);
        }
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(1_000))]

        #[test]
        fn rises_with_order_rate_and_distance(
            ln_rate in -20.0f64..-0.01,
            ln_sigma in -3.0f64..9.2,
            ln_excess in -9.0f64..11.0,
            two in any::<bool>()
        ) {
            let sided = if two { Sided::Two } else { Sided::One };
            let base = SampledGaussian { sided, ..sampled(ln_rate.exp(), ln_sigma.exp()) };
            let order = 1.0 + ln_excess.exp();
            let here = base.at(order);
            prop_assert!(here >= 0.0 && here <= base.unsampled(order) * (1.0 + 1e-12));
            let above = 1.0 - 1e-11;
            prop_assert!(base.at(1.0 + 1.2 * ln_excess.exp()) >= here * above);
            let (further, oftener) = (base.mu * 1.05, (base.rate * 1.05).min(1.0));
            let further = SampledGaussian { mu: further, ..base }.at(order);
            let oftener = SampledGaussian { rate: oftener, ..base }.at(order);
            prop_assert!(further.min(oftener) >= here * above, "{here}: {further} and {oftener}");
        }
    }
}
