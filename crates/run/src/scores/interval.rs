//! Intervals that contain the true score for 95 of 100 test sets.
//!
//! # Definition
//! With z the 97.5 % quantile of the normal distribution:
//! - a share p of n (Wilson, *Probable inference, the law of succession, and statistical
//!   inference*, 1927): `(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)`, which stays within 0
//!   and 1 and does not shrink to a point at p = 0 or 1;
//! - a mean of n values with sample deviation s: `mean ± z s/√n`;
//! - a mean of K independent shares p with their own intervals (l, u) (Zou, Donner,
//!   *Construction of confidence limits about effect measures: a general approach*, 2008):
//!   `mean - √Σ(p-l)²/K` to `mean + √Σ(u-p)²/K`.

use sordino_report::Interval;

/// The 97.5 % quantile of the normal distribution.
pub const Z: f64 = 1.959_963_984_540_054;

/// The interval of a share, `hits` of `records`; `None` without records.
///
/// ```
/// let interval = sordino_run::scores::wilson(104, 113).unwrap();
/// assert!(interval.lower > 0.855 && interval.upper < 0.958);
/// ```
pub fn wilson(hits: u64, records: u64) -> Option<Interval> {
    if records == 0 {
        return None;
    }
    let (n, p) = (records as f64, hits as f64 / records as f64);
    let square = Z * Z / n;
    let middle = p + 0.5 * square;
    let half = Z * (p * (1.0 - p) / n + 0.25 * square / n).sqrt();
    let end = |value: f64| (value / (1.0 + square)).clamp(0.0, 1.0);
    let (lower, upper) = (end(middle - half).min(p), end(middle + half).max(p));
    Some(Interval { lower, upper, method: "Wilson".to_owned() })
}

/// The interval of a mean of independent values; `None` for fewer than two.
pub fn mean(values: &[f64]) -> Option<Interval> {
    let (mean, error) = (super::average(values.iter().copied()), standard_error(values)?);
    Some(normal(mean, error, "normal"))
}

/// The interval of a mean of independent shares, from the interval of each.
pub fn combined(shares: &[(f64, Interval)]) -> Option<Interval> {
    if shares.is_empty() {
        return None;
    }
    let count = shares.len() as f64;
    let mean = super::average(shares.iter().map(|(share, _)| *share));
    let length =
        |parts: &dyn Fn(&(f64, Interval)) -> f64| shares.iter().map(|s| parts(s).powi(2)).sum::<f64>().sqrt();
    let below = length(&|(share, interval)| share - interval.lower) / count;
    let above = length(&|(share, interval)| interval.upper - share) / count;
    let method = "Zou and Donner, from Wilson's".to_owned();
    Some(Interval { lower: (mean - below).max(0.0), upper: (mean + above).min(1.0), method })
}

/// `value ± z error`.
pub(super) fn normal(value: f64, error: f64, method: &str) -> Interval {
    Interval { lower: value - Z * error, upper: value + Z * error, method: method.to_owned() }
}

/// The standard error of the mean; `None` for fewer than two values.
pub(super) fn standard_error(values: &[f64]) -> Option<f64> {
    (values.len() >= 2).then(|| (variance(values) / values.len() as f64).sqrt())
}

/// The sample variance, with n - 1; for at least two values.
pub(super) fn variance(values: &[f64]) -> f64 {
    let mean = super::average(values.iter().copied());
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(interval: &Interval, (lower, upper): (f64, f64)) {
        assert!((interval.lower - lower).abs() < 1e-9, "{interval:?} instead of {lower}");
        assert!((interval.upper - upper).abs() < 1e-9, "{interval:?} instead of {upper}");
    }

    /// By `statsmodels.stats.proportion.proportion_confint(method="wilson")`, version 0.15.
    #[test]
    fn shares_have_wilsons_interval() {
        for (hits, records, ends) in WILSON {
            close(&wilson(hits, records).unwrap(), ends);
        }
        assert_eq!(wilson(0, 0), None);
    }

    /// The equation that Wilson solves: at both ends p lies z standard deviations of the end away.
    #[test]
    fn both_ends_solve_the_equation() {
        for (hits, records) in [(1, 5), (104, 113), (3, 1000), (999, 1000)] {
            let interval = wilson(hits, records).unwrap();
            let (p, n) = (hits as f64 / records as f64, records as f64);
            for end in [interval.lower, interval.upper] {
                assert!(((p - end).powi(2) - Z * Z * end * (1.0 - end) / n).abs() < 1e-12, "{end}");
            }
        }
    }

    #[test]
    fn means_have_the_normal_interval() {
        // mean 2.5, sample deviation √(5/3), standard error √(5/12).
        let half = 1.959_963_984_540_054 * (5.0_f64 / 12.0).sqrt();
        close(&mean(&[1.0, 2.0, 3.0, 4.0]).unwrap(), (2.5 - half, 2.5 + half));
        assert_eq!(mean(&[1.0]), None);
    }

    /// Two shares of 8/10 and 30/40, by Wilson's ends and the formula of the module typed again.
    #[test]
    fn shares_of_classes_are_combined() {
        let shares = [(0.8, wilson(8, 10).unwrap()), (0.75, wilson(30, 40).unwrap())];
        let (l, u) = ([WILSON[2].2.0, WILSON[3].2.0], [WILSON[2].2.1, WILSON[3].2.1]);
        let below = ((0.8 - l[0]).powi(2) + (0.75 - l[1]).powi(2)).sqrt() / 2.0;
        let above = ((u[0] - 0.8).powi(2) + (u[1] - 0.75).powi(2)).sqrt() / 2.0;
        close(&combined(&shares).unwrap(), (0.775 - below, 0.775 + above));
    }

    const WILSON: [(u64, u64, (f64, f64)); 6] = [
        (104, 113, (0.8555337391077957, 0.9575338223456074)),
        (0, 20, (0.0, 0.1611251580528194)),
        (8, 10, (0.49016247153664183, 0.9433178485456247)),
        (30, 40, (0.5980603857923197, 0.858128813609037)),
        (20, 20, (0.8388748419471804, 0.9999999999999999)),
        (1, 1000, (0.00017654637062607765, 0.005642558597957937)),
    ];
}
