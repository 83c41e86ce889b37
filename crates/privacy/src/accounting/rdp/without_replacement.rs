//! Sampling without replacement, under replacement of one record.
//!
//! # Definition
//! The base mechanism runs on m of n records, g = m/n; its Rényi curve
//! r is for replacing one of the m.
//! # Guarantee
//! For whole orders a (Wang, Balle, Kasiviswanathan, *Subsampled Rényi Differential
//! Privacy and Analytical Moments Accountant*, 2019, theorem 9 and proposition 10),
//! with `c = min(2, (e^r(inf) - 1)^j)`,
//! ```text
//! exp((a-1) r'(a)) <= 1 + sum_(j=2)^a C(a,j) g^j T_j                                              (1)
//! T_j = min( e^((j-1) r(j)) c, 4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))) )                            (2)
//! B(l) = sum_i (-1)^(l-i) C(l,i) e^((i-1) r(i)) = E[(dP/dQ - 1)^l]                                 (3)
//! ```
//! where the second member of (2) needs r to be the exact curve of one pair that is worst at
//! all orders: true for Gaussian noise. For others only j = 2 has it, as `4 (e^r(2) - 1)`.
//! Between whole orders the chord of `(a-1) r'(a)` is an upper bound. By quasi-convexity r
//! itself bounds r', and a pure bound `e` on the base gives the curve of any
//! `ln(1 + g (e^e - 1))`-DP mechanism (Balle, Barthe, Gaboardi, *Privacy Amplification by
//! Subsampling*, 2018, theorem 9). The least of these is returned.
//! # How it is computed
//! The alternating sum (3) has no correct digit beyond l = 20 or so. Its right-hand side for even l
//! is the integral of a positive function, so that is what is computed, to the last digits, up to
//! j = [`TIGHT`]; beyond, the first member of (2) alone is used.
//! # Pitfalls
//! A Poisson noise multiplier (sensitivity: one clip norm) means twice
//! the ratio here (two clip norms).

use std::f64::consts::LN_2;

use super::curve::Curve;
use super::moment;
use super::outcomes::{self, Outcome};
use super::sampled_any::{between_whole_orders, largest_whole_order};
use super::trapezoid;
use crate::accounting::step::Sided;
use crate::numerics::logspace::{LogSum, ln_exp_m1};
use crate::numerics::normal::ln_density;

/// Largest j for which (3) is evaluated.
const TIGHT: u32 = 256;

/// A sample of fixed size of a mechanism with the curve `base`.
#[derive(Clone, Debug)]
pub(super) struct WithoutReplacement {
    ln_rate: f64,
    base: Box<Curve>,
    /// The base's bound at order infinity.
    pure: f64,
    /// `ln T_j` for j = 2, 3, ..., TIGHT.
    ln_terms: Vec<f64>,
    /// The worst mechanism with the amplified pure bound, if there is one.
    amplified: Option<Vec<Outcome>>,
}

impl WithoutReplacement {
    /// `sample` of `population`; `pure` is +∞ for a base without a pure bound. `gaussian` is the
    /// distance of the worst pair if the base is Gaussian noise.
    pub(super) fn new(sample: u64, population: u64, base: Curve, pure: f64, gaussian: Option<f64>) -> Self {
        let rate = (sample as f64 / population as f64).min(1.0);
        let amplified =
            pure.is_finite().then(|| outcomes::pure(crate::numerics::logspace::ln_mixture(rate, pure)));
        let mut curve =
            Self { ln_rate: rate.ln(), base: Box::new(base), pure, ln_terms: Vec::new(), amplified };
        let tight = gaussian.map(differences);
        curve.ln_terms = (2..=TIGHT).map(|j| curve.ln_term(j, tight.as_deref())).collect();
        curve
    }

    /// A bound on `D_order`.
    pub(super) fn at(&self, order: f64) -> f64 {
        let chord = between_whole_orders(order, |whole| self.whole(whole)).min(self.base.at(order));
        match &self.amplified {
            Some(pair) => chord.min(outcomes::divergence(pair, 1.0, Sided::One, order)),
            None => chord,
        }
    }

    /// Equation (1).
    fn whole(&self, order: u32) -> f64 {
        if order > largest_whole_order(&self.base) {
            return f64::INFINITY;
        }
        let a = f64::from(order);
        let mut ln_choose = a.ln();
        let mut sum = LogSum::new();
        for j in 2..=order {
            let k = f64::from(j);
            ln_choose += ((a - k + 1.0) / k).ln();
            let ln_term = self.ln_terms.get(j as usize - 2).copied().unwrap_or_else(|| self.plain(j));
            sum.add(ln_choose + k * self.ln_rate + ln_term);
        }
        moment::divergence(a - 1.0, sum.ln())
    }

    /// `ln T_j`.
    fn ln_term(&self, j: u32, tight: Option<&[f64]>) -> f64 {
        let second_order = || 2.0 * LN_2 + ln_exp_m1(self.base.at(2.0));
        let difference = match tight {
            Some(ln_b) => {
                let (below, above) = (j as usize / 2, (j as usize).div_ceil(2));
                2.0 * LN_2 + 0.5 * (ln_b[below - 1] + ln_b[above - 1])
            }
            None if j == 2 => second_order(),
            None => f64::INFINITY,
        };
        self.plain(j).min(difference)
    }

    /// The first member of (2).
    fn plain(&self, j: u32) -> f64 {
        let j = f64::from(j);
        let bounded = if self.pure.is_finite() { j * ln_exp_m1(self.pure) } else { f64::INFINITY };
        (j - 1.0) * self.base.at(j) + bounded.min(LN_2)
    }
}

/// `ln B(l)` for l = 2, 4, ..., TIGHT and noise moved by `mu`. One that cannot be computed is +∞.
fn differences(mu: f64) -> Vec<f64> {
    (1..=TIGHT / 2).map(|half| ln_difference(mu, f64::from(2 * half)).unwrap_or(f64::INFINITY)).collect()
}

/// `ln E[(e^y - 1)^l]`, y = mu x - mu²/2, x standard normal, l even. On either side of the zero the
/// integrand has one peak, near `±sqrt(l)` for small mu and at `l mu` and 0 for large.
fn ln_difference(mu: f64, l: f64) -> Option<f64> {
    if mu == 0.0 {
        return Some(f64::NEG_INFINITY);
    }
    let integrand = |x: f64| {
        let y = mu * (x - 0.5 * mu);
        ln_density(x) + l * if y > 0.0 { ln_exp_m1(y) } else { (-y.exp_m1()).ln() }
    };
    let starts = [0.5 * mu - l.sqrt(), 0.5 * mu + l.sqrt().max(l * mu)];
    Some(trapezoid::ln_sum(integrand, &starts, STEP)? + STEP.ln())
}

/// The integrand is entire and its peaks have at most twice the curvature of a normal density.
const STEP: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    fn gaussian(sample: u64, population: u64, sigma: f64) -> WithoutReplacement {
        let slope = 0.5 / (sigma * sigma);
        WithoutReplacement::new(
            sample,
            population,
            Curve::Straight { slope },
            f64::INFINITY,
            Some(1.0 / sigma),
        )
    }

    /// Values of the formula with forward differences in exact arithmetic.
    #[test]
    fn published_orders() {
        for (sample, sigma, order, exact) in [
            (1, 1.0, 2.0, 5.435086381094e-4),
            (1, 1.0, 8.0, 2.684165012689e-3),
            (1, 2.0, 32.0, 2.079301633129e-3),
            (10, 4.0, 16.0, 0.02239127103676),
            (1, 1.0, 2.5, 7.37751336006e-4),
        ] {
            let found = gaussian(sample, 100, sigma).at(order);
            assert!((found / exact - 1.0).abs() < 1e-9, "{found} against {exact}");
        }
        let first = 1e-4 * 2.0 * 1f64.exp();
        assert!((gaussian(1, 100, 1.0).at(2.0) / first.ln_1p() - 1.0).abs() < 1e-12);
    }

    /// The alternating sum (3) where doubles still manage it.
    #[test]
    fn differences_agree_with_the_alternating_sum() {
        for mu in [0.8f64, 1.0, 2.0] {
            for l in [2u32, 4, 8] {
                let mut choose = 1.0;
                let mut sum = 0.0;
                for i in 0..=l {
                    let (i, l) = (f64::from(i), f64::from(l));
                    sum += if (l - i) % 2.0 == 0.0 { 1.0 } else { -1.0 }
                        * choose
                        * (0.5 * mu * mu * i * (i - 1.0)).exp();
                    choose *= (l - i) / (i + 1.0);
                }
                let found = ln_difference(mu, f64::from(l)).unwrap().exp();
                assert!((found / sum - 1.0).abs() < 1e-7, "mu {mu}, l {l}: {found} against {sum}");
            }
        }
        // Small mu: moments of a normal variable, l = 6: 15 mu^6.
        let small = ln_difference(1e-3, 6.0).unwrap().exp();
        assert!((small / 15e-18 - 1.0).abs() < 1e-4, "{small}");
    }

    /// For a pure base theorem 9 has factors below 2; the whole is also eps'-DP.
    #[test]
    fn pure_base() {
        let curve = |sample| {
            let base = Curve::Outcomes { outcomes: outcomes::pure(0.5), rate: 1.0, sided: Sided::One };
            WithoutReplacement::new(sample, 100, base, 0.5, None)
        };
        let amplified = (0.05 * 0.5f64.exp_m1()).ln_1p();
        for order in [1.5, 2.0, 7.0, 100.0, 1e5] {
            let found = curve(5).at(order);
            assert!(
                found > 0.0 && found <= amplified && found <= 0.5 * order * amplified * amplified * 1.001
            );
        }
        // Sampling everything is no sampling.
        let whole = outcomes::divergence(&outcomes::pure(0.5), 1.0, Sided::One, 3.0);
        assert!((curve(100).at(3.0) / whole - 1.0).abs() < 1e-12);
    }

    #[test]
    fn never_above_the_base_and_rising_with_the_sample() {
        for order in [1.2, 2.0, 3.7, 64.0, 300.0, 1e4, 1e6] {
            let (few, many) = (gaussian(1, 1_000, 3.0).at(order), gaussian(100, 1_000, 3.0).at(order));
            assert!(
                0.0 < few && few <= many && many <= order / 18.0 * (1.0 + 1e-12),
                "order {order}: {few}, {many}"
            );
        }
    }
}
