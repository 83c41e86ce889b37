//! A lower bound on ε from a single training run.
//!
//! # Definition
//! m canaries are each put into the data or left out by a fair coin; the algorithm runs once; an
//! adversary guesses for r of them, fixed in advance, whether they were in, and v guesses are
//! right. For every (ε, δ)-private algorithm (add or remove a canary), with W ~ Bin(r, e^ε/(1 +
//! e^ε)),
//! ```text
//! Pr[V >= v] <= Pr[W >= v] + 2 m δ max_{1 <= i <= v} (Pr[W >= v - i] - Pr[W >= v]) / i                (1)
//! ```
//! (Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", 2023). The right side
//! is the p-value of "the algorithm is (ε, δ)-private"; it rises with ε, and the lower bound is the
//! largest ε with a p-value of at most 1 - confidence.
//!
//! # Pitfalls
//! - m counts all canaries, guessed or not. r is fixed before the scores are seen, or the error is
//!   split over the r that were tried.
//! - Coins are independent: canaries that come in pairs, one of each, need another theorem.
//! - The bound is typically a half to a quarter of the truth: a smoke alarm.

use sordino_privacy::Delta;

use crate::binomial::ln_tail;
use crate::error::AuditError;
use crate::error_rates::error_of;

/// What one run showed.
///
/// ```
/// use sordino_audit::OneRun;
/// use sordino_privacy::Delta;
/// let run = OneRun::new(1000, 100, 95)?; // 1000 canaries, 100 guesses, 95 right
/// assert!((run.epsilon(Delta::new(1e-5)?, 0.95)? - 2.165176).abs() < 1e-5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneRun {
    canaries: u64,
    guesses: u64,
    right: u64,
}

impl OneRun {
    /// `right` of `guesses` guesses were right, among `canaries` canaries.
    pub fn new(canaries: u64, guesses: u64, right: u64) -> Result<Self, AuditError> {
        if right > guesses || guesses > canaries || canaries == 0 {
            return Err(AuditError::Guesses { canaries, guesses, right });
        }
        Ok(Self { canaries, guesses, right })
    }

    /// The lower bound on ε at δ, with probability at least `confidence`; 0 if nothing can be said.
    pub fn epsilon(&self, delta: Delta, confidence: f64) -> Result<f64, AuditError> {
        let error = error_of(confidence)?;
        let refuted = |epsilon: f64| self.p_value(epsilon, delta) <= error;
        if !refuted(0.0) {
            return Ok(0.0);
        }
        // At ε = ln r + 40 all r guesses are right almost surely: no count refutes it.
        let (mut low, mut high) = (0.0, (self.guesses as f64).ln() + 40.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if refuted(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The largest probability of so many right guesses under (ε, δ)-privacy: (1).
    pub fn p_value(&self, epsilon: f64, delta: Delta) -> f64 {
        let p = 1.0 / (1.0 + (-epsilon).exp());
        let tail = |v: u64| ln_tail(v, self.guesses, p).exp();
        let beta = tail(self.right);
        if delta.get() == 0.0 {
            return beta;
        }
        let gain = |i: u64| (tail(self.right - i) - beta) / i as f64;
        let most = (1..=self.right).map(gain).fold(0.0, f64::max);
        (beta + 2.0 * self.canaries as f64 * delta.get() * most).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::{Probability, danger::seeded};

    use super::*;

    #[test]
    fn reference_values() {
        for (m, r, v, delta, epsilon) in [
            (1000, 1000, 600, 0.0, 0.297468),
            (1000, 1000, 600, 1e-5, 0.297227),
            (1000, 100, 95, 0.0, 2.172434),
            (1000, 100, 95, 1e-5, 2.165176),
            (100, 100, 95, 1e-5, 2.171714),
            (1000, 100, 100, 1e-5, 3.465376),
            (5000, 1500, 1429, 1e-5, 2.795364),
            (1000, 1000, 500, 1e-5, 0.0),
        ] {
            let found = OneRun::new(m, r, v).unwrap().epsilon(Delta::new(delta).unwrap(), 0.95).unwrap();
            assert!((found - epsilon).abs() < 2e-6, "{m} {r} {v} {delta}: {found}, expected {epsilon}");
        }
        let run = OneRun::new(1000, 100, 95).unwrap();
        for (delta, expected) in [(1e-5, 6.639145e-4), (0.0, 1.460470e-8)] {
            let found = run.p_value(1.0, Delta::new(delta).unwrap());
            assert!((found / expected - 1.0).abs() < 1e-6, "{found}");
        }
    }

    /// Ceilings with perfect guesses, δ = 0.
    #[test]
    fn perfect_guesses_reach_the_ceiling() {
        for (r, expected) in [(100, 3.49), (200, 4.19), (500, 5.11), (1000, 5.81)] {
            let run = OneRun::new(r, r, r).unwrap();
            let found = run.epsilon(Delta::new(0.0).unwrap(), 0.95).unwrap();
            assert!((found - expected).abs() < 0.006, "{r}: {found}");
        }
    }

    /// Randomized response with ε = 1 on 200 canaries refutes ε = 1 in at most 5 % of runs: 3000
    /// runs, and six standard deviations of a binomial count (false alarm 1e-9).
    #[test]
    fn an_honest_algorithm_is_seldom_refuted() {
        let mut bits = seeded(6);
        let truth = Probability::from_f64(1.0 / (1.0 + (-1.0_f64).exp())).unwrap();
        let delta = Delta::new(0.0).unwrap();
        let refuted = (0..3000)
            .filter(|_| {
                let right = (0..200).filter(|_| truth.flip(&mut bits)).count() as u64;
                OneRun::new(200, 200, right).unwrap().p_value(1.0, delta) <= 0.05
            })
            .count() as f64;
        assert!(refuted <= 150.0 + 6.0 * (3000.0_f64 * 0.05 * 0.95).sqrt(), "{refuted} of 3000");
        assert!(refuted > 40.0, "{refuted} of 3000: the test has lost its power");
    }

    #[test]
    fn impossible_counts_are_refused() {
        for (m, r, v) in [(10, 11, 5), (10, 5, 6), (0, 0, 0)] {
            assert!(OneRun::new(m, r, v).is_err());
        }
    }
}
