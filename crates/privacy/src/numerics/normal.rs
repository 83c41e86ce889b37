//! The standard normal distribution, far into its tails.
//!
//! # Definition
//! With the density `phi`, the distribution function `Phi` and
//! `J_n(t) = ∫_0^∞ s^n / n! exp(-ts - s²/2) ds`,
//! ```text
//! Mills ratio     R(t) = Phi(-t) / phi(t) = J_0(t)                        (1)
//! its derivative  -R'(t) = J_1(t) = 1 - t R(t)                            (2)
//! J_n / J_(n-1) = 1 / (t + (n + 1) J_(n+1) / J_n),  n >= 1                 (3)
//! ```
//! (3) is integration by parts. For t >= 2 it is evaluated from the inside out, where all terms are
//! positive and nothing cancels; below, `erfc` gives (1) and (2) loses at most three bits.
//! # Accuracy
//! Relative error below 1e-14 for R and J_1, for `ln_cdf` at every z (there 1e-14 of
//! the larger of 1 and the value), and for `cdf` down to z = -37, below which doubles
//! end; [`threshold`] is rounded down.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// ln sqrt(2 pi).
pub(crate) const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

/// `Phi(z)`.
pub(crate) fn cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// `ln phi(z)`.
pub(crate) fn ln_density(z: f64) -> f64 {
    -0.5 * z * z - LN_SQRT_TAU
}

/// The Mills ratio (1). Overflows to +∞ below t = -38.
pub(crate) fn mills(t: f64) -> f64 {
    if t < FRACTION_FROM {
        (0.5 * PI).sqrt() * libm::erfc(t * FRAC_1_SQRT_2) * (0.5 * t * t).exp()
    } else {
        1.0 / (t + ratio(t))
    }
}

/// The largest z, rounded down, with `P[N > z] >= tail`: a threshold that a test of that size may
/// use. -∞ for a tail of 1 or more, +∞ for 0.
pub(crate) fn threshold(tail: f64) -> f64 {
    if tail >= 1.0 {
        return f64::NEG_INFINITY;
    }
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    // cdf has a relative error of 1e-14; asking for a little more than
    // `tail` leaves z on the low side.
    let wanted = tail * (1.0 + 2e-14);
    crate::numerics::search::bisect(-40.0, 40.0, |z| cdf(-z) < wanted).0
}

/// Minus the derivative of the Mills ratio, (2).
pub(crate) fn mills_slope(t: f64) -> f64 {
    if t < FRACTION_FROM {
        1.0 - t * mills(t)
    } else {
        let ratio = ratio(t);
        ratio / (t + ratio)
    }
}

/// Where the continued fraction takes over from `erfc`.
const FRACTION_FROM: f64 = 2.0;

/// `J_1(t) / J_0(t)` by (3) for t >= 2. The number of levels was chosen
/// by comparison with twice as many.
fn ratio(t: f64) -> f64 {
    let levels = 12 + (320.0 / (t * t)) as u32;
    let mut fraction = t;
    for n in (2..=levels).rev() {
        fraction = t + f64::from(n) / fraction;
    }
    1.0 / fraction
}

#[cfg(test)]
#[expect(
    clippy::excessive_precision,
    reason = "digits as computed, so that they can be compared with a table"
)]
mod tests {
    use super::*;
    use crate::numerics::gauss_legendre;

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    /// Fifty-digit values of `erfc`, rounded.
    #[test]
    fn mills_ratio_and_its_slope() {
        for (t, ratio, slope) in [
            (-3.0, 225.334896220349121, 677.004688661047362),
            (-0.5, 1.96401749535799375, 1.98200874767899688),
            (0.0, 1.25331413731550025, 1.0),
            (0.5, 0.876364456453692347, 0.561817771773153827),
            (1.5, 0.515815638217963355, 0.226276542673054967),
            (1.99, 0.422947203864417424, 0.158335064309809325),
            (2.0, 0.421369229288054473, 0.157261541423891054),
            (2.1, 0.406160982625574018, 0.147061936486294562),
            (3.0, 0.304590298710103296, 0.0862291038696901128),
            (5.0, 0.192808104715315765, 0.0359594764234211756),
            (8.5, 0.11608206338598229, 0.0133024612191505321),
            (20.0, 0.0498759259818367837, 0.00248148036326432684),
            (38.0, 0.0262976029742529644, 0.000691086978387353652),
            (100.0, 0.00999900029985010491, 0.0000999700149895094396),
            (1000.0, 0.000999999000002999985, 9.99997000014999895e-7),
        ] {
            close(mills(t), ratio, 2e-15);
            close(mills_slope(t), slope, 1e-14);
        }
    }

    /// J_1 from its definition, by quadrature.
    #[test]
    fn slope_is_the_first_moment_of_the_tilted_half_normal() {
        for t in [0.0, 0.7, 1.9, 2.5, 6.0] {
            let panels = (0..24).map(|i| f64::from(i) * 0.5);
            let density = |s: f64| s * (-t * s - 0.5 * s * s).exp();
            let exact: f64 = panels.map(|low| gauss_legendre::integral(low, low + 0.5, density)).sum();
            close(mills_slope(t), exact, 1e-14);
        }
    }
}
