//! The binomial distribution, from its tails to counts of 10^9.
//!
//! # Definition
//! ```text
//! pmf(k; n, p) = C(n, k) p^k (1-p)^(n-k)
//! tail(k; n, p) = Pr[Bin(n, p) >= k] = I_p(k, n - k + 1)                                            (1)
//! ```
//! # Method
//! The mass in Loader's form ("Fast and accurate computation of binomial probabilities", 2000):
//! Stirling's formula is divided out, so that no two large logarithms cancel. The tail beyond the
//! mean is the mass at k times the continued fraction of the incomplete beta function (Abramowitz
//! and Stegun 26.5.8, by Lentz's method), all of whose partial values there bracket the limit;
//! below the mean it is one minus the other tail.
//!
//! # Accuracy
//! Relative error below 1e-11 in the smaller tail (compared with exact sums; above n = 10^6 the
//! fraction may need some thousands of terms).

use std::f64::consts::TAU;

/// ln of the mass at k.
pub(crate) fn ln_mass(k: u64, n: u64, p: f64) -> f64 {
    let (x, m, q) = (k as f64, n as f64, 1.0 - p);
    if k > n {
        return f64::NEG_INFINITY;
    }
    // p = 0 and p = 1 come out as ln 0 or ln 1.
    if k == 0 {
        return if n == 0 { 0.0 } else { m * libm::log1p(-p) };
    }
    if k == n {
        return m * p.ln();
    }
    let rest = m - x;
    let stirling = stirling_error(m) - stirling_error(x) - stirling_error(rest);
    stirling - deviance(x, m * p) - deviance(rest, m * q) - 0.5 * (TAU * x * rest / m).ln()
}

/// ln of (1).
pub(crate) fn ln_tail(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 || p >= 1.0 {
        return if k <= n { 0.0 } else { f64::NEG_INFINITY };
    }
    if k > n || p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if (k as f64) > n as f64 * p {
        upper_tail(k, n, p).min(0.0)
    } else {
        // Pr[X >= k] = 1 - Pr[n - X >= n - k + 1].
        libm::log1p(-upper_tail(n - k + 1, n, 1.0 - p).exp().min(1.0))
    }
}

/// (1) beyond the mean: pmf(k) (1 - p) fraction, with a = k, b = n - k + 1 in 26.5.8.
fn upper_tail(k: u64, n: u64, p: f64) -> f64 {
    let (a, b) = (k as f64, (n - k) as f64 + 1.0);
    // I_p(a, b) = p^a q^b / (a B(a, b)) / fraction, and p^a q^(b-1) / (a B(a, b)) is the mass at k.
    ln_mass(k, n, p) + libm::log1p(-p) + beta_fraction(a, b, p).ln()
}

/// The continued fraction of I_x(a, b) for x < (a + 1)/(a + b + 2).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    // Terms needed grow with the square root of the larger parameter; 10^9 needs about 10^5.
    const MOST_TERMS: u32 = 2_000_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..MOST_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// ln n! - ln(sqrt(2 pi n) (n/e)^n).
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return libm::lgamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * TAU.ln();
    }
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n
}

/// x ln(x/m) + m - x, without cancellation where x is close to m.
fn deviance(x: f64, m: f64) -> f64 {
    let d = x - m;
    if d.abs() < 0.1 * (x + m) {
        // With v = d / (x + m): d v + 2 x (v^3/3 + v^5/5 + ...).
        let v = d / (x + m);
        let (mut sum, mut term) = (d * v, 2.0 * x * v);
        for j in 1..1000 {
            term *= v * v;
            let next = sum + term / f64::from(2 * j + 1);
            if next == sum {
                break;
            }
            sum = next;
        }
        return sum;
    }
    x * (x / m).ln() + m - x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pascal's triangle by the recursion of masses, from the left end.
    fn masses(n: u64, p: f64) -> Vec<f64> {
        let mut row = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; row.len() + 1];
            for (k, mass) in row.iter().enumerate() {
                next[k] += mass * (1.0 - p);
                next[k + 1] += mass * p;
            }
            row = next;
        }
        row
    }

    #[test]
    fn masses_and_tails_agree_with_exact_sums() {
        for (n, p) in [(1, 0.3), (2, 0.5), (30, 0.01), (100, 0.5), (300, 0.93), (500, 0.2)] {
            let row = masses(n, p);
            for k in 0..=n {
                let mass = row[k as usize];
                let tail: f64 = row[k as usize..].iter().rev().sum();
                if tail < 1e-280 {
                    continue; // the sum itself has lost its digits
                }
                let found = ln_mass(k, n, p).exp();
                assert!(
                    mass < 1e-280 || (found - mass).abs() <= 1e-11 * mass,
                    "mass {k} of {n}, {p}: {found}, {mass}"
                );
                let found = ln_tail(k, n, p).exp();
                assert!((found - tail).abs() <= 1e-11 * tail, "tail {k} of {n}, {p}: {found}, {tail}");
            }
        }
    }

    /// Against the normal distribution with its continuity correction, which is good to 1/sqrt(n p)
    /// there.
    #[test]
    fn large_counts_stay_within_the_central_limit() {
        let (n, p) = (200_000_000_u64, 0.01);
        let deviation = (n as f64 * p * (1.0 - p)).sqrt();
        for z in [-3.0_f64, -1.0, 0.5, 2.0, 4.0] {
            let k = (n as f64 * p + z * deviation).ceil() as u64;
            let at = (k as f64 - 0.5 - n as f64 * p) / deviation;
            let normal = 0.5 * libm::erfc(at / 2f64.sqrt());
            let found = ln_tail(k, n, p).exp();
            assert!((found - normal).abs() < 0.02 * normal.min(1.0 - normal), "{z}: {found}, {normal}");
        }
    }

    #[test]
    fn edges() {
        assert_eq!(ln_tail(0, 10, 0.3), 0.0);
        assert_eq!(ln_tail(11, 10, 0.3), f64::NEG_INFINITY);
        assert_eq!(ln_tail(3, 10, 0.0), f64::NEG_INFINITY);
        assert_eq!(ln_tail(3, 10, 1.0), 0.0);
        assert_eq!(ln_mass(11, 10, 0.5), f64::NEG_INFINITY);
        assert!((ln_tail(10, 10, 0.5) - 10.0 * 0.5f64.ln()).abs() < 1e-13);
    }
}
