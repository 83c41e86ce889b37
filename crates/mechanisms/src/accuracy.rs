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
}
