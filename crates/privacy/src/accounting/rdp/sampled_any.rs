//! Poisson samples of a mechanism of which only a Rényi curve is known.
//!
//! # Definition
//! M(with) and M(without) have Rényi divergences at most r(a) in both directions; the released
//! mixture is `(1-q) M(without) + q M(with)`.
//! # Guarantee
//! With R the likelihood ratio of the two, so that `E[R] = 1` without
//! the record, and whole orders a:
//! ```text
//! remove  E[(1-q+qR)^a]     = sum_k C(a,k) (1-q)^(a-k) q^k E[R^k],   E[R^k] <= e^((k-1) r(k))     (1)
//! add     E[(1-q+qR)^(1-a)] <= 1 + a (a-1)/2 q² (1-q)^(-a-1) (e^r(2) - 1)                          (2)
//! ```
//! (1) is the binomial theorem (compare Zhu and Wang, *Poisson Subsampled Rényi
//! Differential Privacy*, 2019, theorem 6); (2) is Taylor's theorem at R = 1, the second
//! derivative being largest at R = 0. The loss of (2) never exceeds -ln(1-q) either.
//! Between whole orders `(a-1) D_a` is convex, so that its chord is an upper bound. By
//! quasi-convexity r(a) itself is one too.

use super::curve::Curve;
use super::moment;
use crate::numerics::logspace::{LogSum, ln_binomial, ln_exp_m1};

/// A Poisson sample at `rate` of a mechanism with the curve `base`.
#[derive(Clone, Debug)]
pub(super) struct SampledAny {
    pub(super) rate: f64,
    pub(super) base: Box<Curve>,
}

impl SampledAny {
    /// A bound on `D_order` in both directions.
    pub(super) fn at(&self, order: f64) -> f64 {
        between_whole_orders(order, |whole| self.whole(whole)).min(self.base.at(order))
    }

    fn whole(&self, order: u32) -> f64 {
        if order > largest_whole_order(&self.base) {
            return f64::INFINITY;
        }
        self.remove(order).max(self.add(order))
    }

    /// Equation (1), less the terms of a constant likelihood ratio, which add up to 1.
    fn remove(&self, order: u32) -> f64 {
        let (a, q) = (f64::from(order), self.rate);
        let mut sum = LogSum::new();
        for k in (2..=order).map(f64::from) {
            sum.add(ln_binomial(k, a, q, 1.0 - q) + ln_exp_m1((k - 1.0) * self.base.at(k)));
        }
        moment::divergence(a - 1.0, sum.ln())
    }

    /// Equation (2).
    fn add(&self, order: u32) -> f64 {
        let (a, q) = (f64::from(order), self.rate);
        let ln_keep = (-q).ln_1p();
        let curvature = (0.5 * a * (a - 1.0)).ln() + 2.0 * q.ln() - (a + 1.0) * ln_keep;
        moment::divergence(a - 1.0, curvature + ln_exp_m1(self.base.at(2.0))).min(-ln_keep)
    }
}

/// The chord of `(a-1) D_a` between the whole orders next to `order`; at order 1 that product is 0.
pub(super) fn between_whole_orders(order: f64, whole: impl Fn(u32) -> f64) -> f64 {
    if order > f64::from(u32::MAX - 1) {
        return f64::INFINITY;
    }
    let below = order.floor();
    let product = |a: f64| if a <= 1.0 { 0.0 } else { (a - 1.0) * whole(a as u32) };
    if below == order {
        return whole(order as u32);
    }
    let right = order - below;
    ((1.0 - right) * product(below) + right * product(below + 1.0)) / (order - 1.0)
}

/// Sums over whole orders stop here: a straight curve costs
/// nanoseconds a term, others microseconds.
pub(super) fn largest_whole_order(base: &Curve) -> u32 {
    if matches!(base, Curve::Straight { .. }) { 4_096 } else { 256 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::rdp::outcomes;
    use crate::accounting::rdp::sampled_gaussian::SampledGaussian;
    use crate::accounting::step::Sided;

    /// For Gaussian noise (1) is an equality.
    #[test]
    fn whole_orders_of_a_gaussian_are_exact() {
        for (rate, mu, order) in [(0.01, 1.0, 2.0), (0.01, 1.0, 8.0), (0.1, 0.5, 4.0)] {
            let any = SampledAny { rate, base: Box::new(Curve::Straight { slope: 0.5 * mu * mu }) };
            let exact = SampledGaussian { mu, rate, sided: Sided::One, lattice: None };
            assert!((any.remove(order as u32) / exact.at(order) - 1.0).abs() < 1e-11);
            assert!(any.at(order) >= exact.at(order) * (1.0 - 1e-11));
            let between = order + 0.5;
            assert!(any.at(between) >= exact.at(between));
        }
    }

    /// Equation (2) is above the exact divergence of a pair with two outcomes.
    #[test]
    fn the_bound_on_adding_is_one() {
        for (epsilon, rate, order) in [(0.5, 0.1, 2), (1.0, 0.3, 5), (2.0, 0.05, 20), (0.1, 0.9, 3)] {
            let pair = outcomes::pure(epsilon);
            let curve = Curve::Outcomes { outcomes: pair.clone(), rate: 1.0, sided: Sided::One };
            let any = SampledAny { rate, base: Box::new(curve) };
            let exact = outcomes::divergence(&pair, rate, Sided::One, f64::from(order));
            assert!(any.whole(order) >= exact * (1.0 - 1e-12));
            assert!(any.add(order) <= -(-rate).ln_1p());
        }
    }

    #[test]
    fn chords_between_whole_orders() {
        let straight = |order: u32| f64::from(order); // (a-1) r = a² - a
        assert_eq!(between_whole_orders(3.0, straight), 3.0);
        assert!((between_whole_orders(2.5, straight) - (0.5 * 2.0 + 0.5 * 6.0) / 1.5).abs() < 1e-15);
        assert_eq!(between_whole_orders(1.5, straight), 2.0);
        assert_eq!(between_whole_orders(1e300, straight), f64::INFINITY);
    }
}
