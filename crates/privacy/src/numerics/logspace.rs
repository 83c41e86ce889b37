//! Arithmetic with logarithms of positive numbers, for sums whose terms overflow.
//!
//! ln 0 is -∞ everywhere. NaN is passed on, never dropped.

/// A running sum of positive terms given by their logarithms. The largest term seen sets the scale,
/// so that nothing overflows and only terms below 1e-308 of it vanish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSum {
    scale: f64,
    sum: f64,
}

impl LogSum {
    /// The empty sum.
    pub(crate) fn new() -> Self {
        Self { scale: f64::NEG_INFINITY, sum: 0.0 }
    }

    /// Adds `exp(ln_term)`.
    pub(crate) fn add(&mut self, ln_term: f64) {
        if ln_term == f64::NEG_INFINITY {
            return;
        }
        if ln_term > self.scale {
            self.sum *= (self.scale - ln_term).exp();
            self.scale = ln_term;
        }
        // Equal infinities: the difference would be NaN where the term is plainly as large as the
        // scale.
        self.sum += if ln_term == self.scale { 1.0 } else { (ln_term - self.scale).exp() };
    }

    /// The logarithm of the sum.
    pub(crate) fn ln(self) -> f64 {
        self.scale + self.sum.ln()
    }
}

/// `ln(e^x + e^y)`.
pub(crate) fn ln_add(x: f64, y: f64) -> f64 {
    let (high, low) = if x >= y { (x, y) } else { (y, x) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// `ln(e^x - 1)` for x > 0; -∞ at 0.
pub(crate) fn ln_exp_m1(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp_m1().ln() }
}

/// `ln(1 - q + q e^y)`: the privacy loss `y` after sampling at rate `q`. It neither overflows for
/// large `y` nor loses the digits of a small result.
pub(crate) fn ln_mixture(rate: f64, y: f64) -> f64 {
    if rate == 1.0 {
        y
    } else if rate == 0.0 {
        0.0
    } else if y > 40.0 {
        y + rate.ln() + ((1.0 - rate) / rate * (-y).exp()).ln_1p()
    } else {
        let change = rate * y.exp_m1();
        // Next to rate 1 the change is next to -1 and has lost the digits of what is left: a sum of
        // two positive numbers has them, since 1 - rate is exact there.
        if change > -0.5 { change.ln_1p() } else { ((1.0 - rate) + rate * y.exp()).ln() }
    }
}

/// The logarithm of the binomial probability of `k` successes out of `n`, `success + failure = 1`.
///
/// Saddle-point form (Loader, *Fast and Accurate Computation of Binomial Probabilities*, 2000): no
/// difference of large logarithms of factorials, hence about fourteen digits of the probability for
/// every `n`. Both probabilities are arguments because one of them may be too close to 1 to tell.
pub(crate) fn ln_binomial(k: f64, n: f64, success: f64, failure: f64) -> f64 {
    if k == 0.0 {
        return if n == 0.0 { 0.0 } else { n * ln_complement(failure, success) };
    }
    if k == n {
        return n * ln_complement(success, failure);
    }
    let stirling = stirling_error(n) - stirling_error(k) - stirling_error(n - k);
    let spread = deviance(k, n * success) + deviance(n - k, n * failure);
    stirling - spread + 0.5 * (n / (std::f64::consts::TAU * k * (n - k))).ln()
}

/// ln p, from whichever of p and 1 - p is known better.
fn ln_complement(p: f64, complement: f64) -> f64 {
    if complement < 0.5 { (-complement).ln_1p() } else { p.ln() }
}

/// `ln n! - ln(sqrt(2 pi n) (n / e)^n)` for whole `n >= 1`.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let factorial: f64 = (2..=n as u32).map(f64::from).product();
        return factorial.ln() - (n + 0.5) * n.ln() + n - 0.5 * std::f64::consts::TAU.ln();
    }
    let square = n * n;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square)
        / n
}

/// `x ln(x / m) + m - x`, which cancels when the two are close.
fn deviance(x: f64, m: f64) -> f64 {
    let relative = (x - m) / (x + m);
    if relative.abs() >= 0.1 {
        return x * (x / m).ln() + m - x;
    }
    // ln(x / m) = 2 artanh(relative)
    let square = relative * relative;
    let mut power = 2.0 * x * relative;
    let mut total = (x - m) * relative;
    for odd in (3..40).step_by(2) {
        power *= square;
        total += power / f64::from(odd);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_overflow() {
        let mut sum = LogSum::new();
        assert_eq!(sum.ln(), f64::NEG_INFINITY);
        for ln_term in [-2000.0, 1000.0, 1000.0 + 2f64.ln(), f64::NEG_INFINITY, -5.0] {
            sum.add(ln_term);
        }
        assert!((sum.ln() - (1000.0 + 3f64.ln())).abs() < 1e-12);
        sum.add(f64::INFINITY);
        sum.add(3.0);
        assert_eq!(sum.ln(), f64::INFINITY);
        sum.add(f64::NAN);
        assert!(sum.ln().is_nan());
    }

    #[test]
    fn differences_and_mixtures() {
        assert!((ln_add(3f64.ln(), 4f64.ln()) - 7f64.ln()).abs() < 1e-15);
        assert_eq!(ln_add(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert!((ln_exp_m1(1e-20) - 1e-20f64.ln()).abs() < 1e-13);
        assert_eq!(ln_exp_m1(1e6), 1e6);
        assert!((ln_mixture(1e-9, 1e-9) / 1e-18 - 1.0).abs() < 1e-8);
        assert!((ln_mixture(0.25, 2000.0) - (2000.0 + 0.25f64.ln())).abs() < 1e-12);
        assert_eq!((ln_mixture(0.0, 1e6), ln_mixture(1.0, -3.0)), (0.0, -3.0));
        // ln(1e-12 + (1 - 1e-12) e^-50) with the double next to 1 - 1e-12, whose distance from 1 is
        // exact.
        let rate = 1.0 - 1e-12;
        let exact = (1.0 - rate + rate * (-50.0f64).exp()).ln();
        assert!((ln_mixture(rate, -50.0) / exact - 1.0).abs() < 1e-15);
        assert!((ln_mixture(0.9, -0.8) - (0.1 + 0.9 * (-0.8f64).exp()).ln()).abs() < 1e-15);
        let seam = ln_mixture(1e-3, 40.0 - 1e-9) - ln_mixture(1e-3, 40.0 + 1e-9);
        assert!((seam + 2e-9).abs() < 1e-13);
    }

    /// The products of small cases in whole numbers, and the sum over a large case.
    #[test]
    fn binomial_probabilities() {
        let choose = |n: u64, k: u64| (1..=k).fold(1.0, |c, i| c * (n - k + i) as f64 / i as f64);
        for n in [1u64, 2, 7, 20, 40] {
            for k in 0..=n {
                let exact = choose(n, k) * 0.3f64.powi(k as i32) * 0.7f64.powi((n - k) as i32);
                let found = ln_binomial(k as f64, n as f64, 0.3, 0.7).exp();
                assert!((found / exact - 1.0).abs() < 2e-14, "{k} of {n}: {found} against {exact}");
            }
        }
        let total: f64 = (0..=100_000).map(|k| ln_binomial(f64::from(k), 1e5, 1e-3, 1.0 - 1e-3).exp()).sum();
        assert!((total - 1.0).abs() < 1e-12, "{total}");
    }
}
