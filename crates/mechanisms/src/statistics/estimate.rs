//! What statistics release: a value, and how far it may be off at 95 % confidence.
//!
//! Accuracies speak of the noise, and are themselves public: they are functions of parameters and
//! of released values. What clamping and limits on contributions take away is not in them.

/// A number, and how far the truth may be from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The released value.
    pub value: f64,
    /// With 95 % confidence the true statistic of the clamped rows is at most this far away.
    pub error: f64,
}

/// A value near a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The released value.
    pub value: f64,
    /// With 95 % confidence its rank is at most this many rows from the rank that was asked for.
    pub rank_error: f64,
}

/// Counts of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// Keys with their noisy counts, which may be negative. Unclamped: sums of cells stay unbiased.
    pub counts: Vec<(String, i64)>,
    /// With 95 % confidence no count of declared keys is farther off. For open keys it bounds the
    /// noise of one key before the threshold: a count that is shown although the truth lies below
    /// the threshold is too large by more.
    pub error: f64,
}

/// A most frequent key.
#[derive(Clone, Debug, PartialEq)]
pub struct Winner {
    /// The released key.
    pub key: String,
    /// With 95 % confidence its count is less than this below that of the most frequent key, or it
    /// is that key.
    pub gap: f64,
}

/// A true value that lies between two ends, with some confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    pub(super) fn around(value: f64, error: f64) -> Self {
        Self { low: value - error, high: value + error }
    }

    /// Both ends moved into `low..=high`.
    pub(super) fn within(self, low: f64, high: f64) -> Self {
        Self { low: self.low.clamp(low, high), high: self.high.clamp(low, high) }
    }

    /// Quotients by any divisor of `by`, which is positive.
    pub(super) fn over(self, by: Self) -> Self {
        let low = if self.low < 0.0 { self.low / by.low } else { self.low / by.high };
        let high = if self.high < 0.0 { self.high / by.high } else { self.high / by.low };
        Self { low, high }
    }

    pub(super) fn shifted(self, by: f64) -> Self {
        Self { low: self.low + by, high: self.high + by }
    }

    /// Widened on both sides.
    pub(super) fn widened(self, by: f64) -> Self {
        Self { low: self.low - by, high: self.high + by }
    }

    pub(super) fn squared(self) -> Self {
        let (a, b) = (self.low * self.low, self.high * self.high);
        let low = if self.low <= 0.0 && self.high >= 0.0 { 0.0 } else { a.min(b) };
        Self { low, high: a.max(b) }
    }

    /// The estimate `value` of what lies in this interval.
    pub(super) fn estimate(self, value: f64) -> Estimate {
        Estimate { value, error: (self.high - value).max(value - self.low).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the extremes over a fine mesh of both intervals.
    #[test]
    fn intervals_hold_all_results() {
        let mesh = |i: Interval| (0..=50).map(move |k| i.low + (i.high - i.low) * f64::from(k) / 50.0);
        for (low, high) in [(-3.0, 5.0), (1.0, 4.0), (-4.0, -1.0)] {
            let (x, n) = (Interval { low, high }, Interval { low: 2.0, high: 7.0 });
            let all: Vec<f64> = mesh(x).flat_map(|a| mesh(n).map(move |b| a / b)).collect();
            let (least, most) =
                (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(f64::MIN, f64::max));
            assert!((x.over(n).low - least).abs() < 1e-12 && (x.over(n).high - most).abs() < 1e-12);
            let squares: Vec<f64> = mesh(x).map(|a| a * a).collect();
            assert!(squares.iter().all(|s| (x.squared().low..=x.squared().high).contains(s)));
        }
        assert_eq!(Interval { low: 1.0, high: 4.0 }.estimate(2.0), Estimate { value: 2.0, error: 2.0 });
    }
}
