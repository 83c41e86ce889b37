//! Poisson-sampled Gaussian noise, seen by a group.
//!
//! # Definition
//! Q = N(0, 1) against `P = sum_j B(j) N(j mu, 1)`, B the binomial law of how
//! many of k units were drawn at rate q.
//! # Guarantee
//! The pair dominates all inputs that differ in such a group (Ganesh, *Tight Group-Level DP
//! Guarantees for DP-SGD with Sampling via Mixture of Gaussians Mechanisms*, 2024). Which direction
//! is larger is not known, so both are computed.
//! # How it is computed
//! The sum of module `moment` by the trapezoidal rule. `P/Q` is a polynomial in `e^(mu x)` with
//! the coefficients of `(1 - q + q z)^k` times `e^(-j² mu²/2)`; such factors keep all roots real
//! and negative (Pólya and Schur 1914), so that the branch points are pi / mu away from the line,
//! as for one unit. Where the rule would need too many points, joint convexity bounds the
//! divergence: the number drawn is then told.

use super::moment::{self, ln_psi};
use super::trapezoid;
use crate::numerics::logspace::{LogSum, ln_binomial, ln_exp_m1};
use crate::numerics::normal::ln_density;

/// The pair of the module's definition.
#[derive(Clone, Debug)]
pub(super) struct PoissonGroup {
    mu: f64,
    /// `ln B(j)`, j = 0, ..., k.
    ln_chances: Vec<f64>,
}

impl PoissonGroup {
    pub(super) fn new(mu: f64, rate: f64, size: u64) -> Self {
        let chance = |j: u64| ln_binomial(j as f64, size as f64, rate, 1.0 - rate);
        Self { mu, ln_chances: (0..=size).map(chance).collect() }
    }

    /// `D_order`, the larger direction.
    pub(super) fn at(&self, order: f64) -> f64 {
        let told = self.told(order, self.mu);
        let seen = |add| self.quadrature(add, order).unwrap_or(told);
        seen(false).max(seen(true)).min(told)
    }

    /// The same for a group that becomes another, `sum_j B(j) N(-j mu, 1)` in the place of Q: the
    /// number drawn is told, and the shifts are twice as far apart.
    pub(super) fn replaced_at(&self, order: f64) -> f64 {
        self.told(order, 2.0 * self.mu)
    }

    /// If the number drawn were told: `ln(sum_j B(j) exp((a-1) a (j shift)²/2)) / (a-1)`.
    fn told(&self, order: f64, shift: f64) -> f64 {
        let mut sum = LogSum::new();
        for (j, ln_chance) in self.ln_chances.iter().enumerate().skip(1) {
            let moved = j as f64 * shift;
            sum.add(ln_chance + ln_exp_m1(0.5 * order * (order - 1.0) * moved * moved));
        }
        moment::divergence(order - 1.0, sum.ln())
    }

    fn quadrature(&self, add: bool, order: f64) -> Option<f64> {
        let farthest = (self.ln_chances.len() - 1) as f64 * self.mu;
        let step = (0.42 / self.mu).min(0.4) / (1.0 + 0.25 * (order - 1.0) * farthest * farthest).sqrt();
        if step < 1e-3 {
            return None;
        }
        let integrand = |x: f64| {
            let loss = self.ln_ratio(x);
            let (ln_p, loss) = if add { (ln_density(x), -loss) } else { (ln_density(x) + loss, loss) };
            ln_p + ln_psi(order - 1.0, loss)
        };
        let tilt = if add { 1.0 - order } else { order };
        let shifts = (0..self.ln_chances.len()).map(|j| j as f64 * self.mu);
        let starts: Vec<f64> = shifts.flat_map(|shift| [shift, tilt * shift]).collect();
        let sum = trapezoid::ln_sum(integrand, &starts, step)?;
        let norm = trapezoid::ln_sum(ln_density, &[0.0], step)?;
        Some(moment::divergence(order - 1.0, sum - norm))
    }

    /// `ln(P/Q)(x)`.
    fn ln_ratio(&self, x: f64) -> f64 {
        ln_mixture_of(&self.ln_chances, |j| {
            let moved = j * self.mu;
            moved * (x - 0.5 * moved)
        })
    }
}

/// `ln sum_j e^(ln_chance_j + y_j)` with `y_0 = 0`, to the last digits of a small result too.
pub(crate) fn ln_mixture_of(ln_chances: &[f64], y: impl Fn(f64) -> f64) -> f64 {
    let terms = ln_chances.iter().enumerate().skip(1).map(|(j, ln_chance)| (*ln_chance, y(j as f64)));
    if terms.clone().all(|(_, y)| y < 40.0) {
        // Chances add up to 1. What is left of 1 has no digits where
        // nobody drawn is as unlikely as 1e-16.
        let excess: f64 = terms.clone().map(|(ln_chance, y)| ln_chance.exp() * y.exp_m1()).sum();
        if excess > -0.5 {
            return excess.ln_1p();
        }
    }
    let mut sum = LogSum::new();
    sum.add(ln_chances[0]);
    terms.for_each(|(ln_chance, y)| sum.add(ln_chance + y));
    sum.ln()
}

#[cfg(test)]
mod tests {
    use super::super::sampled_gaussian::SampledGaussian;
    use super::*;
    use crate::accounting::step::Sided;

    #[test]
    fn one_unit_is_the_sampled_gaussian() {
        for (rate, mu, order) in [(0.01, 1.0, 8.0), (0.1, 0.5, 2.5), (0.001, 2.0, 3.7)] {
            let group = PoissonGroup::new(mu, rate, 1).at(order);
            let exact = SampledGaussian { mu, rate, sided: Sided::One, lattice: None }.at(order);
            assert!((group / exact - 1.0).abs() < 1e-9, "{group} against {exact}");
        }
    }

    /// Far to the left only nobody drawn is left of the mixture, however unlikely.
    #[test]
    fn a_group_that_is_nearly_sure_to_be_drawn() {
        for (rate, size) in [(0.5, 4u64), (0.9, 12), (0.9, 20), (0.9, 200), (0.25, 256)] {
            let group = PoissonGroup::new(5.0, rate, size);
            let (found, exact) = (group.ln_ratio(-40.0), size as f64 * (1.0 - rate).ln());
            assert!((found / exact - 1.0).abs() < 1e-13, "{rate} {size}: {found} against {exact}");
        }
    }

    /// Order 2 in closed form: `sum_ij B(i) B(j) e^(ij mu²)`.
    #[test]
    fn order_two() {
        for (rate, mu, size) in [(0.01, 1.0, 4u64), (0.2, 0.5, 3), (0.05, 0.1, 16)] {
            let group = PoissonGroup::new(mu, rate, size);
            let b: Vec<f64> = group.ln_chances.iter().map(|c| c.exp()).collect();
            let mut sum = 0.0;
            for (i, p) in b.iter().enumerate() {
                for (j, q) in b.iter().enumerate() {
                    sum += p * q * ((i * j) as f64 * mu * mu).exp();
                }
            }
            let found = group.at(2.0);
            assert!((found / sum.ln() - 1.0).abs() < 1e-9, "{found} against {}", sum.ln());
            assert!(group.at(3.0) >= found && found <= group.told(2.0, group.mu));
        }
    }
}
