//! From how often a test was right to a lower bound on ε.
//!
//! # Definition
//! A test fixed beforehand looks at n₁ outputs on one input and at n₀ outputs on its neighbour, and
//! calls some of them *positive*. For every (ε, δ)-private mechanism
//! ```text
//! TPR <= e^ε FPR + δ,      TNR <= e^ε FNR + δ                                                       (1)
//! ```
//! (Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", 2015). With both
//! rates in their Clopper-Pearson intervals, at error α/2 each, (1) turned around holds with
//! probability 1 - α:
//! ```text
//! ε >= max{ 0, ln((TPR_lo - δ) / FPR_up), ln((TNR_lo - δ) / FNR_up) }                                (2)
//! ```
//! where TNR_lo = 1 - FPR_up and FNR_up = 1 - TPR_lo, so that two bounds serve both terms
//! (Jagielski, Ullman, Oprea, "Auditing differentially private machine learning", 2020).
//!
//! # Pure privacy needs one interval
//! Let a fair coin choose the input of every trial. Of the K outputs that are called positive each
//! then comes from the first input with probability θ, independently of the others, and at δ = 0
//! (1) says
//! ```text
//! θ = TPR / (TPR + FPR) <= e^ε / (1 + e^ε),     ε >= ln(θ_lo / (1 - θ_lo))                           (3)
//! ```
//! Given K the number of true positives is binomial, so that θ_lo is one Clopper-Pearson bound with
//! all of the error, where (2) pays for two whose mistakes it adds up: for rare events (3) is as
//! sharp with a third of the trials.
//!
//! # Pitfalls
//! - The test and its threshold are chosen *before* these outputs are seen: on other outputs. A
//!   threshold picked because it looks best on the outputs that are counted "proves" an ε of 3 to 6
//!   for coin tosses.
//! - n trials a side never certify more than about ln(n/3.7) at 95 %: [`ErrorRates::ceiling`]. Plan
//!   n first.
//! - [`ErrorRates::epsilon_if_gaussian`] is a lower bound only if the mechanism is known to be
//!   Gaussian.

use std::f64::consts::SQRT_2;
use std::fmt;

use sordino_privacy::{Accountant, Claim, Delta, Event, Neighbours, NoiseMultiplier, accounting};

use crate::clopper_pearson::{lower, upper};
use crate::error::AuditError;

/// What a test fixed beforehand said about outputs on two neighbouring inputs.
///
/// ```
/// use sordino_audit::ErrorRates;
/// use sordino_privacy::Delta;
/// let rates = ErrorRates::new(900, 1000, 10, 1000)?; // 900 of 1000 found, 10 of 1000 accused wrongly
/// let epsilon = rates.epsilon(Delta::new(1e-5)?, 0.95)?;
/// assert!((epsilon - 3.871959).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRates {
    true_positives: u64,
    positives: u64,
    false_positives: u64,
    negatives: u64,
}

impl ErrorRates {
    /// `true_positives` of `positives` outputs on one input, and `false_positives` of `negatives`
    /// on the other, were called positive.
    pub fn new(
        true_positives: u64,
        positives: u64,
        false_positives: u64,
        negatives: u64,
    ) -> Result<Self, AuditError> {
        let rates = Self { true_positives, positives, false_positives, negatives };
        if true_positives > positives || false_positives > negatives || positives == 0 || negatives == 0 {
            return Err(AuditError::Counts { rates });
        }
        Ok(rates)
    }

    /// A test that was always right in `trials` trials on either side.
    pub fn perfect(trials: u64) -> Result<Self, AuditError> {
        Self::new(trials, trials, 0, trials)
    }

    /// The lower bound (2) on ε at δ, with probability at least `confidence`.
    pub fn epsilon(&self, delta: Delta, confidence: f64) -> Result<f64, AuditError> {
        let (found, accused) = self.bounds(confidence)?;
        let term = |numerator: f64, denominator: f64| {
            let ratio = (numerator - delta.get()) / denominator;
            if ratio > 1.0 { ratio.ln() } else { 0.0 }
        };
        Ok(term(found, accused).max(term(1.0 - accused, 1.0 - found)))
    }

    /// The lower bound (3) on ε at δ = 0, with probability at least `confidence`, **if** a fair
    /// coin chose the input of each trial.
    pub fn pure_epsilon_by_coins(&self, confidence: f64) -> Result<f64, AuditError> {
        let called = self.true_positives + self.false_positives;
        let share = lower(self.true_positives, called, error_of(confidence)?);
        Ok((share / (1.0 - share)).ln().max(0.0))
    }

    /// A lower bound on the δ that goes with `epsilon`, with probability at least `confidence`: (1)
    /// turned around the other way.
    pub fn delta(&self, epsilon: f64, confidence: f64) -> Result<f64, AuditError> {
        let (found, accused) = self.bounds(confidence)?;
        let e = epsilon.exp();
        Ok((found - e * accused).max((1.0 - accused) - e * (1.0 - found)).max(0.0))
    }

    /// The most that this number of trials can certify by (2).
    pub fn ceiling(&self, delta: Delta, confidence: f64) -> Result<f64, AuditError> {
        self.best().epsilon(delta, confidence)
    }

    /// The same test, had it always been right.
    pub(crate) fn best(&self) -> Self {
        Self { true_positives: self.positives, false_positives: 0, ..*self }
    }

    /// A lower bound on μ, **if** the mechanism is μ-Gaussian private for some μ and nothing worse
    /// (Gaussian noise, full-batch gradient descent): `μ >= Φ^-1(1 - FPR_up) - Φ^-1(FNR_up)` (Nasr,
    /// Hayes, Steinke, Balle, Tramer, Jagielski, Carlini, Terzis, "Tight auditing of differentially
    /// private machine learning", 2023).
    pub fn mu_if_gaussian(&self, confidence: f64) -> Result<f64, AuditError> {
        let (found, accused) = self.bounds(confidence)?;
        Ok((normal_quantile(1.0 - accused) - normal_quantile(1.0 - found)).max(0.0))
    }

    /// A lower bound on ε at δ under the hypothesis of [`mu_if_gaussian`](Self::mu_if_gaussian).
    /// Under it, a thousand perfect trials "give" an ε of 36; for a mechanism that is not known to
    /// be Gaussian that says nothing.
    pub fn epsilon_if_gaussian(&self, delta: Delta, confidence: f64) -> Result<f64, AuditError> {
        let mu = self.mu_if_gaussian(confidence)?;
        if mu == 0.0 {
            return Ok(0.0);
        }
        let noise = NoiseMultiplier::new(1.0 / mu)?;
        let claim = Claim::new(Neighbours::AddRemove, Event::gaussian(noise));
        Ok(accounting::epsilon(&claim, delta, Accountant::Auto)?.bound.lower)
    }

    /// TPR_lo and FPR_up.
    fn bounds(&self, confidence: f64) -> Result<(f64, f64), AuditError> {
        let error = 0.5 * error_of(confidence)?;
        Ok((
            lower(self.true_positives, self.positives, error),
            upper(self.false_positives, self.negatives, error),
        ))
    }
}

impl fmt::Display for ErrorRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { true_positives, positives, false_positives, negatives } = self;
        write!(
            f,
            "an event came {true_positives} times in {positives} outputs on one input and {false_positives} \
             times in {negatives} on the other"
        )
    }
}

/// 1 - confidence, checked.
pub(crate) fn error_of(confidence: f64) -> Result<f64, AuditError> {
    if confidence > 0.0 && confidence < 1.0 {
        Ok(1.0 - confidence)
    } else {
        Err(AuditError::Confidence { got: confidence })
    }
}

/// Φ^-1, by bisection of the distribution function: a thousand times slower than a rational
/// approximation, and used once an audit.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0_f64, 40.0);
    while high - low > 1e-14 * f64::max(1.0, low.abs()) {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if 0.5 * libm::erfc(-middle / SQRT_2) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use sordino_noise::Bits;

    use super::*;

    fn delta() -> Delta {
        Delta::new(1e-5).unwrap()
    }

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found}, expected {expected}");
    }

    #[test]
    fn reference_values_of_the_plain_route() {
        for (n, ceiling) in [(100, 3.281336), (500, 4.905584), (1000, 5.600577), (10_000, 7.904823)] {
            let rates = ErrorRates::perfect(n).unwrap();
            close(rates.epsilon(delta(), 0.95).unwrap(), ceiling, 1e-6);
            let nothing = ErrorRates::new(0, n, 0, n).unwrap();
            close(nothing.ceiling(delta(), 0.95).unwrap(), ceiling, 1e-6);
        }
        for (found, accused, epsilon) in [(900, 10, 3.871959), (300, 5, 3.151197)] {
            let rates = ErrorRates::new(found, 1000, accused, 1000).unwrap();
            close(rates.epsilon(delta(), 0.95).unwrap(), epsilon, 1e-6);
        }
        let rates = ErrorRates::new(5000, 10_000, 1587, 10_000).unwrap();
        close(rates.epsilon(delta(), 0.95).unwrap(), 1.082641, 1e-6);
    }

    #[test]
    fn reference_values_under_the_gaussian_hypothesis() {
        for (found, accused, n, mu, epsilon) in [
            (900, 10, 1000, 3.263452, 18.6066),
            (300, 5, 1000, 1.661538, 7.973945),
            (5000, 1587, 10_000, 0.945360, 4.101999),
        ] {
            let rates = ErrorRates::new(found, n, accused, n).unwrap();
            close(rates.mu_if_gaussian(0.95).unwrap(), mu, 1e-6);
            close(rates.epsilon_if_gaussian(delta(), 0.95).unwrap(), epsilon, 1e-4);
        }
        let perfect = ErrorRates::perfect(1000).unwrap();
        close(perfect.epsilon_if_gaussian(delta(), 0.95).unwrap(), 36.5, 0.05);
    }

    /// Expected counts of the best fixed threshold against N(0, 1) and N(1, 1).
    #[test]
    fn power_is_what_planning_tables_say() {
        let above = |t: f64| 0.5 * libm::erfc(t / SQRT_2);
        for (n, threshold, plain, gaussian) in
            [(1e3, 2.35, 1.431, 3.552), (1e4, 3.0, 2.190, 4.116), (1e5, 3.55, 2.810, 4.295)]
        {
            let counts = |t: f64| {
                let count = |rate: f64| (rate * n).round() as u64;
                ErrorRates::new(count(above(t - 1.0)), n as u64, count(above(t)), n as u64).unwrap()
            };
            close(counts(threshold).epsilon(delta(), 0.95).unwrap(), plain, 0.06);
            let best = (-20..40)
                .map(|i| counts(0.05 * f64::from(i)).epsilon_if_gaussian(delta(), 0.95).unwrap())
                .fold(0.0, f64::max);
            close(best, gaussian, 0.06);
        }
    }

    /// 900 right of 910: θ is at least 0.98109 (Beta^-1(0.05; 900, 11)), and the odds are its own
    /// against the rest.
    #[test]
    fn coins_need_one_interval() {
        let rates = ErrorRates::new(900, 1000, 10, 1000).unwrap();
        let share = lower(900, 910, 0.05);
        close(rates.pure_epsilon_by_coins(0.95).unwrap(), (share / (1.0 - share)).ln(), 1e-12);
        let two_intervals = rates.epsilon(Delta::new(0.0).unwrap(), 0.95).unwrap();
        assert!(rates.pure_epsilon_by_coins(0.95).unwrap() > two_intervals);
        // All right: θ^n = α.
        let perfect = ErrorRates::perfect(1000).unwrap().pure_epsilon_by_coins(0.95).unwrap();
        let share = 0.05_f64.powf(1e-3);
        close(perfect, (share / (1.0 - share)).ln(), 1e-9);
        assert_eq!(ErrorRates::new(0, 10, 0, 10).unwrap().pure_epsilon_by_coins(0.95).unwrap(), 0.0);
    }

    /// Coins, and a mechanism that is exactly as bad as (1) allows: refuted no more often than
    /// stated, and seldom left far below (with 6 standard deviations: false alarm below 1e-8).
    #[test]
    fn bounds_by_coins_are_wrong_no_more_often_than_stated() {
        let mut bits = sordino_noise::danger::seeded(31);
        let (runs, truth) = (4000, 1.0_f64);
        let rates = [0.3, 0.3 / truth.exp()].map(|rate| (rate * u64::MAX as f64) as u64);
        let mut wrong = 0;
        for _ in 0..runs {
            let (mut called, mut trials) = ([0, 0], [0, 0]);
            for _ in 0..300 {
                let input = usize::from(bits.next_u64() & 1 == 1);
                trials[input] += 1;
                called[input] += u64::from(bits.next_u64() < rates[input]);
            }
            let found = ErrorRates::new(called[0], trials[0], called[1], trials[1]).unwrap();
            wrong += u32::from(found.pure_epsilon_by_coins(0.9).unwrap() > truth);
        }
        let most = f64::from(runs) * 0.1 + 6.0 * (f64::from(runs) * 0.09).sqrt();
        assert!(f64::from(wrong) <= most && wrong > runs / 20, "{wrong} of {runs}");
    }

    #[test]
    fn null_counts_give_zero() {
        for n in [1, 10, 1000] {
            for k in [0, n / 2, n] {
                let rates = ErrorRates::new(k, n, k, n).unwrap();
                assert_eq!(rates.epsilon(Delta::new(0.0).unwrap(), 0.95).unwrap(), 0.0);
                assert_eq!(rates.mu_if_gaussian(0.95).unwrap(), 0.0);
                assert_eq!(rates.delta(0.0, 0.95).unwrap(), 0.0);
            }
        }
    }

    /// (1) at the certified ε leaves nothing for δ, and less ε leaves more.
    #[test]
    fn delta_turns_epsilon_around() {
        let rates = ErrorRates::new(900, 1000, 10, 1000).unwrap();
        let at_zero = Delta::new(0.0).unwrap();
        let epsilon = rates.epsilon(at_zero, 0.95).unwrap();
        close(rates.delta(epsilon, 0.95).unwrap(), 0.0, 1e-12);
        let delta = rates.delta(1.0, 0.95).unwrap();
        close(rates.epsilon(Delta::new(delta).unwrap(), 0.95).unwrap(), 1.0, 1e-9);
    }

    #[test]
    fn impossible_counts_and_confidences_are_refused() {
        assert!(ErrorRates::new(2, 1, 0, 1).is_err());
        assert!(ErrorRates::new(0, 0, 0, 1).is_err());
        let error = ErrorRates::perfect(10).unwrap().epsilon(delta(), 1.0).unwrap_err();
        assert_eq!(error.to_string(), "confidence must be above 0 and below 1, got 1; 0.95 is usual");
    }
}
