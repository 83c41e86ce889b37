//! Tails of noise, for statements of the form "± w with 95 % confidence".
//!
//! # Definition
//! With β = 1 - confidence, an error w means: the noise exceeds w with probability at most β. A
//! confidence of 1 or more, or NaN, has no finite error (∞); below 0 it counts as 0.

use std::f64::consts::{PI, SQRT_2};

/// Terms of a tail that are added up one by one, before an integral bounds the others.
const TERMS: i64 = 32;
/// Beyond this many sigma the tail of a discrete Gaussian is below `exp(-2048)`, less than a double
/// can hold.
const FAR: f64 = 64.0;

/// β of a confidence; 0 if it is not a number below 1.
pub(crate) fn miss(confidence: f64) -> f64 {
    if confidence < 1.0 { 1.0 - confidence.max(0.0) } else { 0.0 }
}

/// β for each of `coordinates` independent ones, of which none may miss: `1 - (1 - β)^(1/d)`.
pub(crate) fn miss_of_each(confidence: f64, coordinates: usize) -> f64 {
    -((-miss(confidence)).ln_1p() / coordinates as f64).exp_m1()
}

/// The z with `P[|N| > z] = β` for a standard normal N, to the last digits of `erfc`.
pub(crate) fn normal_two_sided(miss: f64) -> f64 {
    if miss <= 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if libm::erfc(middle / SQRT_2) > miss {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The least integer w with `P[|X| > w] = 2 r^(w+1) / (1 + r) <= β`, X discrete Laplace of this
/// scale, `r = exp(-1/scale)`.
pub(crate) fn discrete_laplace(scale: f64, miss: f64) -> f64 {
    if miss <= 0.0 {
        return f64::INFINITY;
    }
    let r = (-1.0 / scale).exp();
    let steps = -(0.5 * miss * (1.0 + r)).ln() * scale;
    // The last digit of the logarithm may be on the wrong side of a whole number: the safe side is
    // up.
    ((steps * (1.0 + 1e-12)).ceil() - 1.0).max(0.0)
}

/// The w with `P[G > w] = exp(-w) sum of w^i/i! over i < shape = β`, G Gamma distributed of whole
/// shape and scale 1.
pub(crate) fn gamma(shape: usize, miss: f64) -> f64 {
    if miss <= 0.0 {
        return f64::INFINITY;
    }
    // A sum of exponentials: twice the mean and the tail of one are more than enough.
    let (mut low, mut high) = (0.0, 2.0 * shape as f64 - 4.0 * miss.ln() + 10.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if gamma_tail(shape, middle) > miss { low = middle } else { high = middle }
    }
    high
}

/// Terms from the last one down, relative to it: nothing overflows, and the exponential is taken
/// once.
fn gamma_tail(shape: usize, w: f64) -> f64 {
    let last = shape as f64 - 1.0;
    let (mut term, mut sum) = (1.0, 0.0);
    for i in (0..shape).rev() {
        sum += term;
        term *= i as f64 / w;
        if term < 1e-18 * sum {
            break;
        }
    }
    if w <= 0.0 { 1.0 } else { sum * (last * w.ln() - w - libm::lgamma(last + 1.0)).exp() }
}

/// The least j >= 1, or a little more, with `P[X >= j] = r^j / (1 + r) <= miss`, X discrete Laplace
/// of this scale. It has more than 64 bits: noisy integers are clamped to those, and must not meet
/// a threshold that was clamped as they are.
pub(crate) fn discrete_laplace_beyond(scale: f64, miss: f64) -> i128 {
    let r = (-1.0 / scale).exp();
    let steps = -(miss * (1.0 + r)).ln() * scale;
    // The last digits of the logarithm may be on the wrong side of a whole number: the safe side is
    // up.
    (steps * (1.0 + 1e-12)).ceil().max(1.0) as i128
}

/// The least j >= 1, or one more where sigma is large, with `P[X >= j] <= miss`, X discrete
/// Gaussian of this sigma (at most 2^40). What is below the least normal double, or has rounded to
/// 0, is met by [`FAR`].
pub(crate) fn discrete_gaussian_beyond(sigma: f64, miss: f64) -> i64 {
    let (mut low, mut high) = (0, (FAR * sigma) as i64 + FAR as i64);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if discrete_gaussian_tail(sigma, middle) <= miss { high = middle } else { low = middle }
    }
    high
}

/// `P[X >= from]`, from >= 1, or a little more: terms one by one, and the others by an integral.
///
/// The density is convex from sigma on, where each term is at most the integral over the unit
/// interval around it; nearer to 0 it falls, and each term is at most the integral over the unit
/// interval before it. The normaliser is at least `sigma sqrt(2 pi)`, by Poisson summation, and at
/// least any part of its sum.
fn discrete_gaussian_tail(sigma: f64, from: i64) -> f64 {
    let weight = |z: i64| (-0.5 * (z as f64 / sigma).powi(2)).exp();
    let sum = |from: i64| (from..from + TERMS).map(weight).sum::<f64>();
    let continuous = sigma * (2.0 * PI).sqrt();
    let rest = (from + TERMS) as f64;
    let start = if rest - 0.5 >= sigma { rest - 0.5 } else { rest - 1.0 };
    let others = 0.5 * libm::erfc(start / sigma / SQRT_2) * continuous;
    // The last digits of exponentials and of `erfc` are lost: 1e-9 is more than all of them, and
    // the least normal double is more than what underflows. The safe side is up.
    (sum(from) + others) / continuous.max(1.0 + 2.0 * sum(1)) * (1.0 + 1e-9) + f64::MIN_POSITIVE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal() {
        // Tables of the normal distribution.
        for (miss, z) in
            [(0.05, 1.959_963_984_540_054), (0.01, 2.575_829_303_548_901), (0.317_310_507_862_914, 1.0)]
        {
            assert!((normal_two_sided(miss) - z).abs() < 1e-12);
        }
        assert_eq!(normal_two_sided(0.0), f64::INFINITY);
    }

    #[test]
    fn what_is_no_confidence_has_no_error() {
        assert_eq!((miss(1.0), miss(f64::NAN), miss(2.0), miss(-1.0)), (0.0, 0.0, 0.0, 1.0));
        assert!((miss_of_each(0.95, 1) - 0.05).abs() < 1e-15);
        assert!((1.0 - (1.0 - miss_of_each(0.95, 10)).powi(10) - 0.05).abs() < 1e-14);
        assert_eq!(miss_of_each(1.0, 3), 0.0);
    }

    /// By adding up probabilities from the middle outward.
    #[test]
    fn the_error_of_discrete_laplace_is_the_least() {
        for scale in [0.1, 0.7, 1.0, 2.5, 10.0, 123.0] {
            let r: f64 = (-1.0f64 / scale).exp();
            for miss in [0.5, 0.05, 1e-3] {
                let (mut inside, mut w) = ((1.0 - r) / (1.0 + r), 0);
                while 1.0 - inside > miss {
                    w += 1;
                    inside += 2.0 * (1.0 - r) / (1.0 + r) * r.powi(w);
                }
                assert_eq!(discrete_laplace(scale, miss), f64::from(w), "scale {scale}, miss {miss}");
            }
        }
    }

    /// Tables of chi-square with 2d degrees, halved; and the tail by adding up all terms from the
    /// first.
    #[test]
    fn quantiles_of_gamma() {
        for (shape, miss, w) in
            [(1, 0.05, 2.995_732_273_553_991), (5, 0.05, 9.153_519_026_636), (10, 0.05, 15.705_216_422_11)]
        {
            assert!((gamma(shape, miss) - w).abs() < 1e-8, "{shape}: {}", gamma(shape, miss));
        }
        let terms = |w: f64| (1..50).scan(1.0, move |t, i| Some(std::mem::replace(t, *t * w / f64::from(i))));
        let direct = (-40.0f64).exp() * terms(40.0).sum::<f64>();
        assert!((gamma_tail(49, 40.0) - direct).abs() < 1e-12);
        assert!((gamma(1000, 0.5) - 999.67).abs() < 0.01);
        assert_eq!(gamma(3, 0.0), f64::INFINITY);
    }

    #[test]
    fn beyond_is_the_least_integer_of_small_tail() {
        for scale in [0.3, 1.0, 7.5, 200.0] {
            let r: f64 = (-1.0f64 / scale).exp();
            for miss in [0.3, 1e-3, 1e-9] {
                let found = discrete_laplace_beyond(scale, miss);
                let tail = |j: i128| r.powf(j as f64) / (1.0 + r);
                assert!(tail(found) <= miss && (found == 1 || tail(found - 1) > miss), "{scale} {miss}");
            }
        }
        // Beyond 64 bits it does not become the largest integer of 64 bits, to which noisy counts
        // are clamped.
        assert!(discrete_laplace_beyond(2e16, 1e-300) > i64::MAX.into());
    }
    /// By adding up all probabilities, from the outermost inward.
    #[test]
    fn beyond_is_the_least_integer_of_a_small_gaussian_tail() {
        for sigma in [0.05, 0.3, 1.0, 2.5, 17.0, 300.0] {
            let reach = (39.0 * sigma) as i64 + 3;
            let weight = |z: i64| (-((z * z) as f64) / (2.0 * sigma * sigma)).exp();
            let half: f64 = (1..=reach).rev().map(weight).sum();
            for miss in [0.4, 0.2, 0.05, 1e-6, 1e-12, 1e-100] {
                let (mut tail, mut j) = (0.0, reach + 1);
                while j > 1 && tail + weight(j - 1) / (1.0 + 2.0 * half) <= miss {
                    j -= 1;
                    tail += weight(j) / (1.0 + 2.0 * half);
                }
                // One more where the density is not convex and the terms are many.
                let slack = i64::from(miss > 0.158 && sigma > TERMS as f64);
                let found = discrete_gaussian_beyond(sigma, miss);
                assert!((j..=j + slack).contains(&found), "sigma {sigma}, miss {miss}: {found}, not {j}");
            }
        }
        // P[N >= 6] and P[N >= 1], tables; sums and integrals agree where sigma is large.
        let sigma = (1i64 << 40) as f64;
        for (miss, z) in [(9.865_876_450_376_98e-10, 6.0), (0.158_655_253_931_457, 1.0)] {
            let found = discrete_gaussian_beyond(sigma, miss) as f64 / sigma;
            assert!((found / z - 1.0).abs() < 1e-8, "{found}");
        }
        assert!(discrete_gaussian_beyond(2.0, 0.0) >= 128, "beyond any double");
    }
}
