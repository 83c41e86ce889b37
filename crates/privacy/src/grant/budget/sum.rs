//! Sums that are accurate to the last digits, whatever the order of their terms.
//!
//! Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", 1974: the
//! rounding error of each addition is kept in a second double. The error of the sum of n positive
//! terms is two units in the last place and n² u² of it, where u is 2^-53: for 10^6 terms 10^-20.

/// A running sum of non-negative numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RunningSum {
    high: f64,
    low: f64,
}

impl RunningSum {
    pub(super) fn add(&mut self, term: f64) {
        let sum = self.high + term;
        if !sum.is_finite() {
            // ∞ - ∞ must not become an error term. What is no number has no bound.
            *self = Self { high: f64::INFINITY, low: 0.0 };
            return;
        }
        self.low += if self.high >= term { (self.high - sum) + term } else { (term - sum) + self.high };
        self.high = sum;
    }

    pub(super) fn value(self) -> f64 {
        self.high + self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(terms: impl Iterator<Item = f64>) -> f64 {
        let mut sum = RunningSum::default();
        terms.for_each(|term| sum.add(term));
        sum.value()
    }

    #[test]
    fn a_million_tenths_are_a_hundred_thousand_in_any_order() {
        let naive: f64 = (0..1_000_000).map(|_| 0.1).sum();
        assert_ne!(naive, 1e5);
        assert_eq!(sum((0..1_000_000).map(|_| 0.1)), 1e5);
        let terms: Vec<f64> = (1..1000).map(|i| 1.0 / f64::from(i * i)).chain([1e9, 1e-9]).collect();
        assert_eq!(sum(terms.iter().copied()), sum(terms.iter().rev().copied()));
    }

    #[test]
    fn without_a_bound_there_is_no_sum() {
        assert_eq!(sum([1.0, f64::INFINITY, 2.0].into_iter()), f64::INFINITY);
        assert_eq!(sum([f64::INFINITY, f64::INFINITY].into_iter()), f64::INFINITY);
        assert_eq!(sum([1.0, f64::NAN].into_iter()), f64::INFINITY);
        assert_eq!(sum([f64::MAX, f64::MAX].into_iter()), f64::INFINITY);
    }
}
