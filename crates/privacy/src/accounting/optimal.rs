//! The best possible composition of equal (ε, δ) releases.
//!
//! # Guarantee
//! `count` adaptively composed releases that are (e, d)-DP each are together exactly as private as
//! so many binary randomized responses whose answer is lost with probability d (Kairouz, Oh,
//! Viswanath, *The Composition Theorem for Differential Privacy*, 2015, theorem 3.3):
//! ```text
//! delta(eps) = 1 - (1 - d)^k (1 - sum_l B(l) (1 - e^(eps - (k - 2l) e))+)                  (1)
//! ```
//! with `B(l)` the binomial probability of l lies, each of probability `1 / (1 + e^e)`. Unequal
//! releases are a matter for privacy-loss distributions: their optimum is #P-hard (Murtagh, Vadhan,
//! *The Complexity of Computing the Optimal Composition of Differential Privacy*, 2016).
//! # How it is computed
//! `B` in saddle-point form, so that nothing overflows where `(1 + e^e)^k` would. Terms are summed
//! from the largest loss that can matter towards the rare ones, and stop where all that is left is
//! below 1e-16 of the sum; what is left out on either side is added to delta.

use crate::numerics::logspace::ln_binomial;
use crate::numerics::search;

/// Equation (1), rounded up.
pub(crate) fn optimal_delta(step_epsilon: f64, step_delta: f64, count: u64, epsilon: f64) -> f64 {
    let n = count as f64;
    let up = ROUND_UP + rounding(n, step_epsilon);
    let sure = (lossless(step_epsilon, n, epsilon) * up).min(1.0);
    let kept = n * (-step_delta).ln_1p() * ROUND_UP + (-sure).ln_1p();
    (-kept.exp_m1()).min(1.0)
}

/// The least epsilon with [`optimal_delta`] at most `delta`; +∞ if there is none.
pub(crate) fn optimal_epsilon(step_epsilon: f64, step_delta: f64, count: u64, delta: f64) -> f64 {
    let top = count as f64 * step_epsilon;
    let fits = |epsilon: f64| optimal_delta(step_epsilon, step_delta, count, epsilon) <= delta;
    match (fits(0.0), fits(top)) {
        (true, _) => 0.0,
        (false, false) => f64::INFINITY,
        (false, true) => search::bisect(0.0, top, fits).1,
    }
}

/// Probabilities of the two answers of a randomized response.
pub(crate) fn lie_and_truth(epsilon: f64) -> (f64, f64) {
    (1.0 / (1.0 + epsilon.exp()), 1.0 / (1.0 + (-epsilon).exp()))
}

/// The sum in (1).
fn lossless(step_epsilon: f64, n: f64, epsilon: f64) -> f64 {
    let (lie, truth) = lie_and_truth(step_epsilon);
    let loss = |l: f64| (n - 2.0 * l) * step_epsilon;
    let mean = n * lie;
    // Lies that are so many that they hardly happen: Bernstein's inequality bounds their mass.
    let far = 12.0 * (mean * truth).sqrt() + 100.0;
    let most = 0.5 * (n - epsilon / step_epsilon);
    let (first, skipped) = if most > mean + far {
        ((mean + far).floor(), (-0.5 * far * far / (mean * truth + far / 3.0)).exp())
    } else {
        (most.floor().min(n), 0.0)
    };
    // Neighbouring terms of a wide sum are taken together, each for the largest of them: an upper
    // bound that is off by a few thousandths at most, in a time that does not grow with n.
    let width = ((mean * truth).sqrt() / MOST_TERMS_A_DEVIATION).floor().max(1.0);
    let (mut sum, mut last) = (skipped, first);
    while last >= 0.0 {
        let l = (last - width + 1.0).max(0.0);
        // Gains fall with l; weights rise to the mode, which is within 1
        // of the mean, and fall from there.
        let gain = -(epsilon - loss(l)).exp_m1();
        let heaviest = if width == 1.0 { l } else { mean.round().clamp(l, last) };
        let weight = ln_binomial(heaviest, n, lie, truth).exp();
        if gain > 0.0 {
            sum += (last - l + 1.0) * weight * gain;
        }
        // Below the mean weights only fall.
        if last < mean && weight * (last + 1.0) <= 1e-16 * sum {
            return sum + weight * (last + 1.0);
        }
        last = l - 1.0;
    }
    sum
}

/// The most terms of a sum that are taken one by one for each standard
/// deviation of the number of lies.
const MOST_TERMS_A_DEVIATION: f64 = 8192.0;

/// What rounding the mean of so many lies may add to a term forty standard
/// deviations out, where it matters at all.
fn rounding(n: f64, step_epsilon: f64) -> f64 {
    let variance = n / (2.0 + 2.0 * step_epsilon.cosh());
    if n < 1e9 { 0.0 } else { 64.0 * f64::EPSILON * n / variance.sqrt() }
}

/// Error of the sum: fourteen digits a term.
const ROUND_UP: f64 = 1.0 + 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    /// Near 2^50 releases: at once, above the Gaussian limit (central limit theorem for privacy
    /// losses) by little. A sum of all its terms would take hours.
    #[test]
    fn huge_counts_take_no_longer() {
        let count = 1u64 << 50;
        let step = 1e-8;
        let found = optimal_epsilon(step, 0.0, count, 1e-6);
        // mu^2 = n step^2, as the losses are ±step with means n step^2 / 2.
        let mu = step * (count as f64).sqrt();
        let delta = |e: f64| {
            let normal = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
            normal(-e / mu + 0.5 * mu) - e.exp() * normal(-e / mu - 0.5 * mu)
        };
        let limit = search::bisect(0.0, 50.0, |e| delta(e) <= 1e-6).1;
        assert!(found >= limit * (1.0 - 1e-6) && found <= limit * 1.001, "{found} against {limit}");
    }

    /// Terms taken together bound those taken one by one from above, closely.
    #[test]
    fn blocks_are_upper_bounds() {
        // Deviations of 2^13 and 2^14: one by one, and two at a time.
        for (count, most) in [(1u64 << 28, 1.0), (1 << 30, 1.003)] {
            let (step, epsilon) = (1e-3, 40.0 * (count as f64 / (1u64 << 28) as f64).sqrt());
            let plain: f64 = {
                let (n, lie) = (count as f64, 1.0 / (1.0 + f64::exp(step)));
                let most = (0.5 * (n - epsilon / step)).floor() as i64;
                let term = |l: i64| {
                    let gain = -(epsilon - (n - 2.0 * l as f64) * step).exp_m1();
                    ln_binomial(l as f64, n, lie, 1.0 - lie).exp() * gain.max(0.0)
                };
                (most - 400_000..=most).map(term).sum()
            };
            let found = lossless(step, count as f64, epsilon);
            assert!(plain > 0.0 && found >= plain * (1.0 - 1e-9), "{count}: {found} below {plain}");
            assert!(found <= plain * most * (1.0 + 1e-9), "{count}: {found} far above {plain}");
        }
    }

    /// Kairouz, Oh and Viswanath's own points, where eps is (k - 2i) e.
    #[test]
    fn optimal_composition() {
        for (step, own, count, epsilon, exact) in [
            (0.1, 0.0, 100, 3.0, 0.00136139869483),
            (1.0, 0.0, 5, 3.0, 0.180554628603),
            (1.0, 0.0, 5, 1.0, 0.537101719761),
            (0.1, 1e-8, 100, 3.0, 0.00136239733294),
            (0.5, 1e-6, 10, 2.0, 0.145474991738),
        ] {
            close(optimal_delta(step, own, count, epsilon), exact, 1e-11);
        }
        // No overflow at k e = 100 000.
        assert!((0.0..=1.0).contains(&optimal_delta(1.0, 0.0, 100_000, 50_000.0)));
        assert_eq!(optimal_epsilon(0.1, 1e-3, 100, 1e-5), f64::INFINITY);
        assert_eq!(optimal_epsilon(1e-6, 0.0, 1, 0.5), 0.0);
    }

    /// The printed form of the theorem,
    /// `sum_(l<i) C(k,l) (e^((k-l)e) - e^((k-2i+l)e)) / (1+e^e)^k`.
    #[test]
    fn the_theorem_as_printed() {
        let (e, k) = (0.3f64, 12u32);
        for i in 0..=6u32 {
            let choose = |l: u32| (1..=l).fold(1.0, |c, j| c * f64::from(k - l + j) / f64::from(j));
            let term =
                |l: u32| choose(l) * ((f64::from(k - l) * e).exp() - (f64::from(k - 2 * i + l) * e).exp());
            let exact = (0..i).map(term).sum::<f64>() / (1.0 + e.exp()).powi(k as i32);
            let found = optimal_delta(e, 0.0, u64::from(k), f64::from(k - 2 * i) * e);
            assert!((found - exact).abs() < 1e-12, "{i}: {found} against {exact}");
        }
    }

    /// A billion releases take no longer than their standard deviation,
    /// and agree with the Gaussian limit.
    #[test]
    fn many_releases() {
        let count = 1_000_000_000;
        let found = optimal_delta(1e-4, 0.0, count, 5.0);
        let drift = 1e9 * 1e-4 * (0.5e-4f64).tanh(); // mean of the loss; its variance is about twice that
        let limit = crate::numerics::gaussian_profile::delta(5.0, (2.0 * drift).sqrt());
        close(found, limit, 1e-3);
    }
}
