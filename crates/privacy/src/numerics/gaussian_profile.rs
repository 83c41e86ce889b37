//! The exact privacy profile of the Gaussian mechanism, and its two inverses.
//!
//! # Definition
//! N(0, 1) against N(mu, 1) has
//! ```text
//! delta(eps) = Phi(-a) - e^eps Phi(-b),   a = eps/mu - mu/2,  b = eps/mu + mu/2          (1)
//! ```
//! (Balle and Wang, *Improving the Gaussian Mechanism for Differential Privacy*, 2018, theorem 5.)
//! # How it is computed
//! `phi(a) = e^eps phi(b)`, so that with the Mills ratio R
//! ```text
//! delta(eps) = phi(a) (R(a) - R(b)) = phi(a) ∫_a^b (1 - t R(t)) dt                       (2)
//! ```
//! No `e^eps` is formed, and the integrand is positive: nothing overflows, nothing cancels. For
//! negative eps, `delta(eps) = 1 - e^eps + e^eps delta(-eps)`, again without a difference.
//! # Accuracy
//! `a` is formed with a compensated square, so that its error is relative; then (2)
//! has relative error below [`SLACK`] while delta > 1e-300, for every mu.
//! [`enclosure`] and the inverses move outward by it.
//! # Pitfalls
//! - The textbook difference (1) has no digit left at mu = 0.1, eps = 1, where delta is 1.2e-25.
//! - The discrete Gaussian's profile is *larger* than this one.

use crate::bound::Bound;
use crate::numerics::normal::{cdf, ln_density, mills, mills_slope};
use crate::numerics::{gauss_legendre, search};

/// Bound on the relative error of [`delta`] where it exceeds 1e-300. (The exponent `a²/2 < 700`
/// carries at most seven half-units of rounding: 6e-13.)
pub(crate) const SLACK: f64 = 1e-12;

/// Equation (1) at any real `epsilon`, rounded to nearest as far as [`SLACK`] says.
///
/// | | |
/// |---|---|
/// | mu = 0 | max(0, 1 - e^eps): the distributions are equal |
/// | mu = ∞ | 1 |
/// | eps = ∞, mu finite | 0 |
pub(crate) fn delta(epsilon: f64, mu: f64) -> f64 {
    if epsilon < 0.0 {
        return -epsilon.exp_m1() + epsilon.exp() * delta(-epsilon, mu);
    }
    ln_delta(epsilon, mu).exp().min(1.0)
}

/// `ln delta(epsilon)` for `epsilon >= 0`; finite far below the
/// smallest double delta. -∞ for delta = 0.
pub(crate) fn ln_delta(epsilon: f64, mu: f64) -> f64 {
    if mu == 0.0 || (epsilon == f64::INFINITY && mu.is_finite()) {
        return f64::NEG_INFINITY;
    }
    if mu > LARGEST_MU {
        return 0.0; // rounds up
    }
    let (a, b) = ends(epsilon, mu);
    if mu <= 1.0 {
        // Not from a to b: where a is far above mu, their difference has lost the digits of mu.
        ln_density(a) + gauss_legendre::integral(0.0, mu, |t| mills_slope(a + t)).ln()
    } else if a >= 0.0 {
        ln_density(a) + (mills(a) - mills(b)).ln()
    } else {
        (cdf(-a) - ln_density(a).exp() * mills(b)).ln()
    }
}

/// Certified ends of [`delta`].
pub(crate) fn enclosure(epsilon: f64, mu: f64) -> Bound {
    Bound::enclosing(delta_below(epsilon, mu), delta_above(epsilon, mu))
}

/// Certified ends of the least eps >= 0 with `delta(eps) <= delta`.
///
/// | delta | |
/// |---|---|
/// | 0 | ∞ (0 if mu is 0) |
/// | at least the total variation distance | 0 |
pub(crate) fn epsilon(delta: f64, mu: f64) -> Bound {
    if mu == 0.0 {
        return Bound::exactly(0.0);
    }
    if delta <= 0.0 || mu > LARGEST_MU {
        return Bound::UNBOUNDED;
    }
    Bound::enclosing(epsilon_below(delta, mu), epsilon_above(delta, mu))
}

/// The largest mu, rounded down, that is certified to be (epsilon, delta)-DP; 0 if delta is 0.
pub(crate) fn mu(epsilon: f64, delta: f64) -> f64 {
    if delta <= 0.0 {
        return 0.0;
    }
    if delta >= 1.0 {
        return f64::INFINITY;
    }
    let mut high = 1.0;
    while delta_above(epsilon, high) <= delta {
        high *= 2.0;
    }
    search::bisect(0.0, high, |mu| delta_above(epsilon, mu) > delta).0
}

/// Beyond it mu² and the certified ends are of no use to anyone.
const LARGEST_MU: f64 = 1e100;

/// `a` and `b` of (1), each to a few units in its last place even
/// where eps/mu and mu/2 nearly agree.
fn ends(epsilon: f64, mu: f64) -> (f64, f64) {
    let square = mu * mu;
    let rest = mu.mul_add(mu, -square); // square + rest = mu² exactly
    (((2.0 * epsilon - square) - rest) / (2.0 * mu), ((2.0 * epsilon + square) + rest) / (2.0 * mu))
}

fn delta_above(epsilon: f64, mu: f64) -> f64 {
    // The smallest normal double stands in for what underflows.
    if mu == 0.0 { delta(epsilon, mu) } else { (delta(epsilon, mu) * (1.0 + SLACK) + 1e-300).min(1.0) }
}

fn delta_below(epsilon: f64, mu: f64) -> f64 {
    (delta(epsilon, mu) * (1.0 - SLACK) - 1e-300).max(0.0)
}

fn epsilon_above(delta: f64, mu: f64) -> f64 {
    if delta_above(0.0, mu) <= delta {
        return 0.0;
    }
    let enough = enough(delta, mu);
    if delta_above(enough, mu) > delta {
        return f64::INFINITY; // only for delta near 1e-300
    }
    search::bisect(0.0, enough, |epsilon| delta_above(epsilon, mu) <= delta).1
}

fn epsilon_below(delta: f64, mu: f64) -> f64 {
    if delta_below(0.0, mu) <= delta {
        return 0.0;
    }
    search::bisect(0.0, enough(delta, mu), |epsilon| delta_below(epsilon, mu) <= delta).0
}

/// An eps with `delta(eps) <= delta`: delta(eps) <= Phi(-a) <= exp(-a²/2) for a >= 0.
fn enough(delta: f64, mu: f64) -> f64 {
    let tail = (-2.0 * delta.min(0.5).ln()).sqrt() * (1.0 + 1e-9);
    mu * (0.5 * mu + tail)
}

#[cfg(test)]
#[expect(
    clippy::excessive_precision,
    reason = "digits as computed, so that they can be compared with a table"
)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    /// Equation (1) in sixty digits.
    #[test]
    fn profile() {
        for (mu, epsilon, exact) in [
            (1.0, 0.0, 0.382924922548026207),
            (1.0, 1.0, 0.126936737506643946),
            (1.0, 4.0, 0.0000471224120079311987),
            (0.5, 1.0, 0.00682959498311457538),
            (2.0, 1.0, 0.509861660054670153),
            (0.1, 1.0, 1.23083598364271123e-25),
            (5.0, 2.0, 0.968348980290514842),
            (1.0, 10.0, 9.81270582684695595e-23),
            (10.0, 100.0, 1.87971700205191574e-7),
            (0.0001, 0.0, 0.0000398942280235206747),
            (0.0001, 0.0005, 5.34750223603888672e-12),
            (0.0001, 0.0036, 1.16214390941781922e-289),
            (0.3, 11.0, 2.4539246756282535e-294),
            (1.0, 37.0, 1.47646953444252811e-293),
            (1.001, 37.1, 1.50522806523408128e-294),
            (3.0, 30.0, 2.43098043175945511e-18),
            (20.0, 200.0, 0.480102384351672968),
            (20.0, 350.0, 2.306850115649884e-14),
            (1000.0, 500100.0, 0.459775250263611921),
            (1000.0, 530000.0, 4.76364162172783199e-198),
            (300000.0, 45001000000.0, 0.000429055192323970713),
        ] {
            close(delta(epsilon, mu), exact, 0.5 * SLACK);
            assert!(enclosure(epsilon, mu).contains(exact));
        }
    }

    #[test]
    fn logarithm_of_the_profile_far_below_the_smallest_double() {
        for (mu, epsilon, exact) in [
            (0.1, 5.0, -1258.54801696424328),
            (1.0, 60.0, -1779.2333908700934),
            (0.01, 0.6, -1813.41364286132908),
            (2.0, 150.0, -2746.86112300891309),
        ] {
            close(ln_delta(epsilon, mu), exact, 1e-14);
        }
    }

    /// Roots of (1) in sixty digits at delta = 1e-5, and elsewhere.
    #[test]
    fn inverse() {
        for (mu, target, exact) in [
            (0.1, 1e-5, 0.340669364684326429),
            (0.5, 1e-5, 1.99309140441511962),
            (1.0, 1e-5, 4.37717809568122461),
            (2.0, 1e-5, 9.99725614643430036),
            (5.0, 1e-5, 33.1037323359224652),
            (0.0001, 1e-5, 0.0000902370943256350403),
            (0.0001, 1e-18, 0.000738470748783409543),
            (1.0, 1e-18, 8.99718173366374169),
            (30.0, 1e-9, 629.0228018527765),
            (0.3, 0.1, 0.045813185795663763),
        ] {
            let found = epsilon(target, mu);
            assert!(found.contains(exact), "{found:?} misses {exact}");
            assert!(found.relative_gap() < 1e-10, "{found:?}");
        }
    }

    /// Balle and Wang's calibration: 1 / mu is the least noise.
    #[test]
    fn calibration() {
        for (epsilon, target, sigma) in [
            (0.1, 1e-5, 30.74956613198),
            (0.5, 1e-6, 8.057618480725),
            (1.0, 1e-5, 3.730631634816),
            (1.0, 1e-6, 4.224678889327),
            (2.0, 1e-5, 1.993812445644),
            (5.0, 1e-5, 0.8918682649515),
            (8.0, 1e-5, 0.600229072199),
            (10.0, 1e-5, 0.499888619709),
            (20.0, 1e-5, 0.2900414180328),
            (50.0, 1e-5, 0.1497606075608),
            (100.0, 1e-10, 0.1087604260201),
            (0.001, 1e-3, 276.1288755692),
            (0.001, 0.3, 1.296032989419),
        ] {
            let found = mu(epsilon, target);
            close(1.0 / found, sigma, 1e-12);
            assert!(enclosure(epsilon, found).upper <= target);
            assert!(enclosure(epsilon, found * (1.0 + 1e-11)).upper > target);
        }
    }

    #[test]
    fn edges() {
        assert_eq!(delta(0.0, 0.0), 0.0);
        assert_eq!(delta(1.0, f64::INFINITY), 1.0);
        assert_eq!(delta(f64::INFINITY, 1.0), 0.0);
        assert_eq!(epsilon(0.0, 1.0), Bound::UNBOUNDED);
        assert_eq!(epsilon(0.0, 0.0), Bound::exactly(0.0));
        assert_eq!(epsilon(0.9, 1.0), Bound::exactly(0.0));
        assert_eq!(mu(1.0, 0.0), 0.0);
        // delta(-eps) = 1 - e^-eps + e^-eps delta(eps)
        close(delta(-2.0, 1.0), 0.8674964229436, 1e-12);
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(10_000))]

        #[test]
        fn profile_falls_in_epsilon_and_rises_in_mu(
            ln_mu in -10.0f64..8.0, at in 0.0f64..30.0, step in 1e-6f64..1.0
        ) {
            let mu = ln_mu.exp();
            let place = at * mu.max(mu * mu) ;
            let here = delta(place, mu);
            prop_assert!((0.0..=1.0).contains(&here));
            prop_assert!(delta(place * (1.0 + step), mu) <= here * (1.0 + SLACK));
            prop_assert!(delta(place, mu * (1.0 + step)) >= here * (1.0 - SLACK));
        }

        /// Every profile is convex as a function of e^eps.
        #[test]
        fn profile_is_convex(
            ln_mu in -3.0f64..1.5,
            left in 1.0f64..50.0,
            right in 1.0f64..50.0,
            share in 0.0f64..1.0,
        ) {
            let at = |ratio: f64| delta(ratio.ln(), ln_mu.exp());
            let chord = share * at(left) + (1.0 - share) * at(right);
            prop_assert!(at(share * left + (1.0 - share) * right) <= chord * (1.0 + 1e-12) + 1e-300);
        }
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(1_000))]

        #[test]
        fn there_and_back(ln_mu in -9.0f64..5.0, ln_delta in -41.0f64..-2.5) {
            let (mu, target) = (ln_mu.exp(), ln_delta.exp());
            let found = epsilon(target, mu);
            prop_assert!(found.lower <= found.upper);
            prop_assert!(enclosure(found.upper, mu).upper <= target);
            if found.upper > 0.0 {
                prop_assert!((delta(found.upper, mu) / target - 1.0).abs() < 1e-9);
                prop_assert!(delta(found.lower * (1.0 - 1e-12), mu) >= target);
            }
        }
    }
}
