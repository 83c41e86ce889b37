//! What an audit found.

use std::fmt;

use crate::error_rates::ErrorRates;

/// Whether the claim survived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No evidence against the claim. This does not prove it.
    NoViolationFound,
    /// The claim is false, at the stated confidence, twice on fresh samples.
    Violation,
}

/// What an audit found: a lower bound on ε at the claimed δ, right with the stated confidence.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Audit {
    /// Whether the claim survived.
    pub verdict: Verdict,
    /// The claimed ε.
    pub claimed_epsilon: f64,
    /// The claimed δ.
    pub claimed_delta: f64,
    /// ε is at least this.
    pub epsilon: f64,
    /// δ at the claimed ε is at least this.
    pub delta: f64,
    /// The largest ε that this audit could have certified.
    pub ceiling: f64,
    /// The confidence of the bounds.
    pub confidence: f64,
    /// How often the distinguishing event came, on each input.
    pub rates: ErrorRates,
    /// The input, first or second (0 or 1), that makes the event likelier.
    pub favoured: usize,
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.confidence;
        let bound = Down(self.epsilon);
        match self.verdict {
            Verdict::NoViolationFound => write!(
                f,
                "no violation found; ε ≥ {bound} at {percent} %, ceiling of this test {:.2}",
                self.ceiling
            ),
            Verdict::Violation => write!(
                f,
                "violation: ε ≥ {bound} at {percent} %, but {} was claimed; {}",
                self.claimed_epsilon, self.rates
            ),
        }
    }
}

/// Four decimals, rounded down: it is a lower bound.
struct Down(f64);

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", (self.0 * 1e4).floor() / 1e4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_verdicts_read_as_sentences() {
        let mut audit = Audit {
            verdict: Verdict::NoViolationFound,
            claimed_epsilon: 1.0,
            claimed_delta: 0.0,
            epsilon: 0.93459,
            delta: 0.0,
            ceiling: 7.9048,
            confidence: 0.95,
            rates: ErrorRates::new(2500, 10_000, 960, 10_000).unwrap(),
            favoured: 0,
        };
        assert_eq!(audit.to_string(), "no violation found; ε ≥ 0.9345 at 95 %, ceiling of this test 7.90");
        audit.verdict = Verdict::Violation;
        assert_eq!(
            audit.to_string(),
            "violation: ε ≥ 0.9345 at 95 %, but 1 was claimed; an event came 2500 times in 10000 outputs on \
             one input and 960 times in 10000 on the other"
        );
    }
}
