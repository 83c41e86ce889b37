//! Exact privacy profiles of single releases and of a few compositions, for comparison in tests.
//!
//! Each function is `delta(epsilon)` of one ordered pair, from a closed form or a finite sum, and
//! shares no more than special functions with the accountants.

pub(crate) use super::optimal::{optimal_delta, optimal_epsilon};
use crate::numerics::gaussian_profile;

/// `count` Gaussian releases of distance `mu`.
pub(crate) fn gaussian(epsilon: f64, mu: f64, count: u64) -> f64 {
    gaussian_profile::delta(epsilon, mu * (count as f64).sqrt())
}

/// Laplace noise with pure bound `bound`: `1 - e^((eps - bound)/2)` between -bound and bound.
pub(crate) fn laplace(epsilon: f64, bound: f64) -> f64 {
    if epsilon < -bound { -epsilon.exp_m1() } else { (-(0.5 * (epsilon - bound)).exp_m1()).max(0.0) }
}

/// `count` k-ary randomized responses: the sum over how many answers had the loss `+l`, `-l` and 0.
pub(crate) fn randomized_responses(epsilon: f64, categories: u64, truth: f64, count: u64) -> f64 {
    let lie = (1.0 - truth) / (categories - 1) as f64;
    let (loss, others) = ((truth / lie).ln(), lie * (categories - 2) as f64);
    let mut delta = 0.0;
    for truths in 0..=count {
        for lies in 0..=count - truths {
            let rest = count - truths - lies;
            let total = loss * (truths as f64 - lies as f64);
            if total > epsilon {
                let ln_ways =
                    ln_factorial(count) - ln_factorial(truths) - ln_factorial(lies) - ln_factorial(rest);
                let ln_p = ln_ways + ln_power(truth, truths) + ln_power(lie, lies) + ln_power(others, rest);
                delta += ln_p.exp() * -(epsilon - total).exp_m1();
            }
        }
    }
    delta
}

/// Integer noise of weights `exp(ln_weight(k))`, moved by `shift`, summed over `-reach..=reach`.
fn integers(epsilon: f64, shift: i64, reach: i64, ln_weight: impl Fn(f64) -> f64) -> f64 {
    let norm: f64 = (-reach..=reach).map(|k| ln_weight(k as f64).exp()).sum();
    let term = |k: i64| {
        let (moved, fixed) = (ln_weight((k - shift) as f64), ln_weight(k as f64));
        if moved - fixed > epsilon { moved.exp() * -(epsilon - (moved - fixed)).exp_m1() / norm } else { 0.0 }
    };
    (-reach..=reach + shift).map(term).sum()
}

/// Discrete Gaussian noise moved by `shift`.
pub(crate) fn discrete_gaussian(epsilon: f64, sigma: f64, shift: i64) -> f64 {
    integers(epsilon, shift, (40.0 * sigma) as i64 + 40, |k| -0.5 * (k / sigma).powi(2))
}

/// Discrete Laplace noise moved by `shift`.
pub(crate) fn discrete_laplace(epsilon: f64, scale: f64, shift: i64) -> f64 {
    integers(epsilon, shift, (800.0 * scale) as i64 + 40, |k| -k.abs() / scale)
}

/// A Poisson sample, the mixture against nobody's contribution: for eps >= ln(1-q) it is
/// `q base(ln(1 + (e^eps - 1)/q))`, where `base` is the profile of one contribution against none.
pub(crate) fn sampled_remove(epsilon: f64, rate: f64, base: impl Fn(f64) -> f64) -> f64 {
    if epsilon <= (-rate).ln_1p() {
        -epsilon.exp_m1()
    } else {
        rate * base((epsilon.exp_m1() / rate).ln_1p())
    }
}

/// The other direction: with `c = 1 - e^eps (1-q)`, `c base(ln(q e^eps / c))`; 0 if c is not
/// positive. `base` is the profile of nobody's contribution against one.
pub(crate) fn sampled_add(epsilon: f64, rate: f64, base: impl Fn(f64) -> f64) -> f64 {
    let rest = 1.0 - epsilon.exp() * (1.0 - rate);
    if rest <= 0.0 { 0.0 } else { rest * base((rate / rest).ln() + epsilon) }
}

fn ln_factorial(n: u64) -> f64 {
    libm::lgamma(n as f64 + 1.0)
}

/// `n ln p`, with 0 ln 0 = 0.
fn ln_power(p: f64, n: u64) -> f64 {
    if n == 0 { 0.0 } else { n as f64 * p.ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn sampled_gaussian_profiles() {
        for (rate, sigma, epsilon, remove, add) in [
            (0.01, 1.0, 0.005, 2.6351508458992e-3, 9.63144335305e-4),
            (0.01, 1.0, 0.01, 1.9002737053016e-3, 6.4414170e-12),
            (0.01, 1.0, 0.02, 1.0875659913553e-3, 0.0),
            (0.01, 1.0, 0.5, 2.2145190131531e-7, 0.0),
            (0.1, 0.7, 0.05, 0.042588709443619, 0.019704136036357),
            (0.1, 0.7, 0.5, 0.011734566757346, 0.0),
        ] {
            let base = |epsilon| gaussian(epsilon, 1.0 / sigma, 1);
            close(sampled_remove(epsilon, rate, base), remove, 1e-11);
            let found = sampled_add(epsilon, rate, base);
            assert!((found - add).abs() <= 1e-7 * add, "{found} against {add}");
        }
    }

    /// Discrete against continuous: the former is larger.
    #[test]
    fn discrete_gaussian_profiles() {
        for (variance, epsilon, discrete, continuous) in [
            (100.0f64, 0.5, 6.93437034752e-9, 6.85658245584e-9),
            (4.0, 1.0, 0.00724877684595, 0.00682959498311),
            (1.0, 1.0, 0.141351339406, 0.126936737507),
        ] {
            close(discrete_gaussian(epsilon, variance.sqrt(), 1), discrete, 1e-11);
            close(gaussian(epsilon, 1.0 / variance.sqrt(), 1), continuous, 1e-11);
        }
    }

    #[test]
    fn randomized_responses_are_optimal_composition() {
        let truth = 1.0 / (1.0 + (-1.0f64).exp());
        close(randomized_responses(3.0, 2, truth, 5), 0.180554628603, 1e-11);
        close(randomized_responses(1.0, 2, truth, 5), 0.537101719761, 1e-11);
        let truth = 1.0 / (1.0 + (-0.1f64).exp());
        close(randomized_responses(2.05, 2, truth, 100), optimal_delta(0.1, 0.0, 100, 2.05), 1e-11);
        // One of three answers is no evidence: losses ±ln(0.6 / 0.2) and 0.
        close(randomized_responses(0.0, 3, 0.6, 1), 0.4, 1e-13);
    }

    /// One step with two losses ±m/t at a shift of 1: delta = (1 - e^(eps - 1/t)) P[Z >= 0].
    #[test]
    fn discrete_laplace_profile() {
        for (scale, epsilon) in [(1.0f64, 0.3f64), (4.0, 0.1)] {
            let r = (-1.0 / scale).exp();
            close(discrete_laplace(epsilon, scale, 1), -(epsilon - 1.0 / scale).exp_m1() / (1.0 + r), 1e-12);
        }
        assert_eq!(discrete_laplace(1.0, 2.0, 2), 0.0);
    }

    /// A pair whose profile is a straight line, by integration of the densities.
    #[test]
    fn laplace_profiles() {
        let (bound, rate, step) = (1.5, 0.2, 1e-4);
        let density = |x: f64, at: f64| 0.5 * (-(x - at).abs()).exp();
        let mixture = |x: f64| (1.0 - rate) * density(x, 0.0) + rate * density(x, bound);
        let hockey = |p: &dyn Fn(f64) -> f64, q: &dyn Fn(f64) -> f64, epsilon: f64| -> f64 {
            let term = |i: i32| {
                let x = (f64::from(i) + 0.5) * step;
                (p(x) - epsilon.exp() * q(x)).max(0.0) * step
            };
            (-300_000..400_000).map(term).sum()
        };
        for epsilon in [0.05, 0.1] {
            let base = |epsilon| laplace(epsilon, bound);
            let null = |x: f64| density(x, 0.0);
            close(laplace(epsilon, bound), hockey(&|x| density(x, bound), &null, epsilon), 1e-6);
            close(sampled_remove(epsilon, rate, base), hockey(&mixture, &null, epsilon), 1e-6);
            close(sampled_add(epsilon, rate, base), hockey(&null, &mixture, epsilon), 1e-6);
        }
    }
}
