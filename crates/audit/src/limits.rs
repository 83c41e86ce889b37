//! What the best attacker can reach against an (ε, δ)-private mechanism.
//!
//! ```text
//! TPR <= min( e^ε FPR + δ,  1 - e^-ε (1 - δ - FPR) ),      TPR - FPR <= (e^ε - 1 + 2δ)/(e^ε + 1)      (1)
//! ```
//! (Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", 2015). Attacks are
//! judged by their true-positive rate at a small false-positive rate, not by accuracy: an accuracy
//! near one half at ε = 8 shows a weak attack, not that ε = 8 is safe.

use sordino_privacy::{Delta, Epsilon};

/// The largest true-positive rate at `false_positive_rate`, the first of (1).
pub fn true_positive_rate(epsilon: Epsilon, delta: Delta, false_positive_rate: f64) -> f64 {
    let (e, d) = (epsilon.get().exp(), delta.get());
    let few = e * false_positive_rate + d;
    let many = 1.0 - (1.0 - d - false_positive_rate) / e;
    few.min(many).clamp(0.0, 1.0)
}

/// The largest difference of the rates, the second of (1).
pub fn advantage(epsilon: Epsilon, delta: Delta) -> f64 {
    let half = (0.5 * epsilon.get()).tanh(); // (e^ε - 1)/(e^ε + 1), also where e^ε overflows
    (half + 2.0 * delta.get() / (epsilon.get().exp() + 1.0)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_values() {
        for (epsilon, delta, most, at_thousandth, at_tenth) in [
            (0.1, 0.0, 0.049958, 0.001105, 0.110517),
            (1.0, 0.0, 0.462117, 0.002718, 0.271828),
            (2.0, 0.0, 0.761594, 0.007389, 0.738906),
            (8.0, 1e-5, 0.999329, 0.999665, 0.999698),
        ] {
            let (e, d) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
            assert!((advantage(e, d) - most).abs() < 1e-6);
            assert!((true_positive_rate(e, d, 0.001) - at_thousandth).abs() < 1e-6);
            assert!((true_positive_rate(e, d, 0.1) - at_tenth).abs() < 1e-6);
        }
    }
}
