//! Compares stated probabilities with observed frequencies.
//!
//! # Definition
//! A probability falls into one of ten bins of equal width: with two classes that of the second
//! class, with more that of the predicted class. The expected calibration error is
//! `Σ (n_b/n) |stated_b - observed_b|`, over bins b with n_b of n records, where `stated_b` is the
//! mean stated probability and `observed_b` the share of records for which the class was true (Guo,
//! Pleiss, Sun, Weinberger, *On Calibration of Modern Neural Networks*, 2017).
//!
//! # Pitfalls
//! With few records in a bin, the observed share differs from the stated probability by chance
//! alone. The error includes that, and falls with more records. The interval of each bin shows it.

use sordino_report::{Bin, Calibration};

use super::classes::Classified;
use super::interval::wilson;

/// The number of bins between 0 and 1, fixed before anything is measured.
pub const BINS: usize = 10;

/// The calibration; `None` if the model states no probabilities.
pub fn calibration(outcomes: &Classified) -> Option<Calibration> {
    let probabilities = outcomes.probabilities.as_ref()?;
    let is_binary = outcomes.classes.len() == 2;
    // Pairs of the stated probability and whether the class was true.
    let pair = |(record, row): (usize, &Vec<f64>)| {
        let (class, is) = if is_binary { (1, 1) } else { (outcomes.said[record], outcomes.said[record]) };
        (row[class], outcomes.is[record] == is)
    };
    let pairs: Vec<(f64, bool)> = probabilities.iter().enumerate().map(pair).collect();
    let mut sums = [(0.0, 0_u64, 0_u64); BINS];
    for (stated, is_true) in &pairs {
        let (sum, hits, count) = &mut sums[bin(*stated)];
        *sum += stated;
        *hits += u64::from(*is_true);
        *count += 1;
    }
    let total = pairs.len().max(1) as f64;
    let gap = |(sum, hits, _): &(f64, u64, u64)| (sum - *hits as f64).abs() / total;
    let of = if is_binary {
        format!("the probability of {}", outcomes.classes[1])
    } else {
        "the probability of the predicted class".to_owned()
    };
    let bins = sums.iter().enumerate().map(|(index, (sum, hits, count))| {
        let share = |value: f64| (*count > 0).then(|| value / *count as f64);
        Bin {
            from: index as f64 / BINS as f64,
            to: (index + 1) as f64 / BINS as f64,
            records: *count,
            stated: share(*sum),
            observed: share(*hits as f64),
            interval: wilson(*hits, *count),
        }
    });
    Some(Calibration { of, error: sums.iter().map(gap).sum(), bins: bins.collect() })
}

fn bin(probability: f64) -> usize {
    // The cast truncates; NaN falls into the first bin.
    ((probability * BINS as f64) as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(stated: &[f64], is: &[usize]) -> Classified {
        Classified {
            classes: vec!["no".into(), "yes".into()],
            is: is.to_vec(),
            said: stated.iter().map(|p| usize::from(*p > 0.5)).collect(),
            probabilities: Some(stated.iter().map(|p| vec![1.0 - p, *p]).collect()),
            evidence: None,
        }
    }

    /// Three bins, by hand: (0.05, 0.15 stays apart), 0.25 and 0.25, 1.0.
    #[test]
    fn the_error_is_the_weighted_mean_of_differences() {
        let table = calibration(&outcome(&[0.05, 0.25, 0.27, 1.0], &[0, 1, 0, 1])).unwrap();
        let filled: Vec<(f64, u64)> =
            table.bins.iter().filter(|bin| bin.records > 0).map(|bin| (bin.from, bin.records)).collect();
        assert_eq!(filled, [(0.0, 1), (0.2, 2), (0.9, 1)]);
        let by_hand = (0.05 + 2.0 * (0.26_f64 - 0.5).abs() + 0.0) / 4.0;
        assert!((table.error - by_hand).abs() < 1e-12, "{table:?}");
        assert_eq!((table.bins[2].stated, table.bins[2].observed), (Some(0.26), Some(0.5)));
        assert_eq!((table.bins.len(), table.of.as_str()), (10, "the probability of yes"));
    }

    #[test]
    fn with_many_classes_the_predicted_class_counts() {
        let outcome = Classified {
            classes: vec!["a".into(), "b".into(), "c".into()],
            is: vec![2, 0],
            said: vec![2, 1],
            probabilities: Some(vec![vec![0.1, 0.25, 0.65], vec![0.1, 0.85, 0.05]]),
            evidence: None,
        };
        let table = calibration(&outcome).unwrap();
        assert!((table.error - (0.35 + 0.85) / 2.0).abs() < 1e-12, "{table:?}");
    }
}
