//! Tails of noise, for statements of the form "± w with 95 % confidence".
//!
//! # Definition
//! With β = 1 - confidence, an error w means: the noise exceeds w with probability at most β. A confidence of
//! 1 or more, or NaN, has no finite error (∞); below 0 it counts as 0.

use std::f64::consts::SQRT_2;

/// β of a confidence; 0 for what is no confidence.
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

/// The least integer w with `P[|X| > w] = 2 r^(w+1) / (1 + r) <= β`, X discrete Laplace of this scale, `r =
/// exp(-1/scale)`.
pub(crate) fn discrete_laplace(scale: f64, miss: f64) -> f64 {
    if miss <= 0.0 {
        return f64::INFINITY;
    }
    let r = (-1.0 / scale).exp();
    let steps = -(0.5 * miss * (1.0 + r)).ln() * scale;
    // The last digit of the logarithm may be on the wrong side of a whole number: the safe side is up.
    ((steps * (1.0 + 1e-12)).ceil() - 1.0).max(0.0)
}

/// The w with `P[G > w] = exp(-w) sum of w^i/i! over i < shape = β`, G Gamma distributed of whole shape and scale 1.
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

/// Terms from the last one down, relative to it: nothing overflows, and the exponential is taken once.
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

/// The least j >= 1, or a little more, with `P[X >= j] = r^j / (1 + r) <= miss`, X discrete Laplace of this scale.
pub(crate) fn discrete_laplace_beyond(scale: f64, miss: f64) -> i64 {
    let r = (-1.0 / scale).exp();
    let steps = -(miss * (1.0 + r)).ln() * scale;
    // The last digits of the logarithm may be on the wrong side of a whole number: the safe side is up.
    (steps * (1.0 + 1e-12)).ceil().max(1.0) as i64
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

    /// Tables of chi-square with 2d degrees, halved; and the tail by adding up all terms from the first.
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
                let tail = |j: i64| r.powf(j as f64) / (1.0 + r);
                assert!(tail(found) <= miss && (found == 1 || tail(found - 1) > miss), "{scale} {miss}");
            }
        }
    }
}
