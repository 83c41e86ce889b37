//! Exact confidence bounds for a probability, from how often something happened.
//!
//! # Definition
//! After k of n independent trials succeeded, at error α for each bound,
//! ```text
//! lower = the largest p with Pr[Bin(n, p) >= k] <= α      (0 if k = 0)
//! upper = the least p with Pr[Bin(n, p) <= k] <= α        (1 if k = n)                              (1)
//! ```
//! (Clopper, Pearson, "The use of confidence or fiducial limits illustrated in the case of the
//! binomial", 1934). Each bound is wrong with probability at most α, whatever p is; no
//! approximation by a normal takes part.
//!
//! # Rounding
//! p is found by bisection to the last bit, and the outer end is returned.
//!
//! # Pitfalls
//! - n must be chosen before the trials, and what counts as a success too.
//! - Fractional successes (a tie counted as a third) are no binomial trials. Decide ties by a coin.

use crate::binomial::ln_tail;

/// The lower bound of (1).
///
/// ```
/// let lower = sordino_audit::clopper_pearson::lower(37, 500, 0.025);
/// assert!((lower - 0.052635109).abs() < 1e-9);
/// ```
///
/// # Panics
/// If more trials succeeded than there were, or if `error` is no probability.
pub fn lower(successes: u64, trials: u64, error: f64) -> f64 {
    checked(successes, trials, error);
    // The tail rises with p.
    let wanted = error.ln();
    bisect(|p| ln_tail(successes, trials, p) <= wanted).0
}

/// The upper bound of (1).
///
/// # Panics
/// As [`lower`].
pub fn upper(successes: u64, trials: u64, error: f64) -> f64 {
    checked(successes, trials, error);
    // Failures are at least n - k; the bound is sought on q = 1 - p, whose small values keep their
    // digits only on the side of p, so the search is on p.
    let wanted = error.ln();
    bisect(|p| ln_tail(trials - successes, trials, 1.0 - p) > wanted).1
}

/// The neighbours between which `below` changes from true to false on [0, 1].
fn bisect(below: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 1.0);
    if below(high) {
        return (high, high);
    }
    if !below(low) {
        return (low, low);
    }
    // Halving differences down to 2^-60, then to the last bit of small numbers by the same rule.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, high)
}

fn checked(successes: u64, trials: u64, error: f64) {
    assert!(successes <= trials, "{successes} successes in {trials} trials");
    assert!(error > 0.0 && error < 1.0, "the error must be above 0 and below 1, got {error}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance * expected.abs(), "{found}, expected {expected}");
    }

    #[test]
    fn reference_values() {
        close(upper(0, 1000, 0.025), 0.003682083897, 1e-9);
        close(upper(0, 1000, 0.025), 1.0 - 0.025_f64.powf(1e-3), 1e-12);
        close(lower(37, 500, 0.025), 0.052635109, 1e-8);
        close(upper(37, 500, 0.025), 0.100558875, 1e-8);
    }

    #[test]
    fn edges() {
        assert_eq!(lower(0, 1000, 0.025), 0.0);
        assert_eq!(upper(1000, 1000, 0.025), 1.0);
        assert_eq!((lower(0, 0, 0.1), upper(0, 0, 0.1)), (0.0, 1.0));
        close(lower(1000, 1000, 0.025), 0.025_f64.powf(1e-3), 1e-12);
    }

    /// Definition (1) by summing masses, for every k.
    #[test]
    fn bounds_are_wrong_with_the_stated_probability() {
        let (n, error) = (40, 0.05);
        for step in 1..200 {
            let p = f64::from(step) / 200.0;
            let mass = |k: u64| crate::binomial::ln_mass(k, n, p).exp();
            let low: f64 = (0..=n).filter(|&k| lower(k, n, error) > p).map(mass).sum();
            let high: f64 = (0..=n).filter(|&k| upper(k, n, error) < p).map(mass).sum();
            assert!(low <= error + 1e-12 && high <= error + 1e-12, "p = {p}: {low}, {high}");
        }
    }
}
