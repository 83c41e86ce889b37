//! Do stated probabilities come true?
//!
//! # Definition
//! Of two classes the probability of the second, of more the probability of the class that is
//! predicted, falls into one of ten bins of equal width. The expected calibration error is
//! `Σ (n_b/n) |stated_b - observed_b|`, over bins b with n_b of n records, of the mean stated
//! probability and the share in which it was true (Guo, Pleiss, Sun, Weinberger, *On Calibration
//! of Modern Neural Networks*, 2017).
//!
//! # Pitfalls
//! Few records in a bin differ from what was stated by chance alone, and the error counts that: it
//! falls with more records. The interval of each bin tells.

use sordino_report::{Bin, Calibration};

use super::classes::Classified;
use super::interval::wilson;

/// Bins between 0 and 1. Declared here, before anything is measured.
pub const BINS: usize = 10;

/// The table. None if the model states no probabilities.
pub fn calibration(outcomes: &Classified) -> Option<Calibration> {
    let probabilities = outcomes.probabilities.as_ref()?;
    let is_binary = outcomes.classes.len() == 2;
    // Stated, and whether it was true.
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
    // A float becomes a whole number by cutting; what is no number falls into the first bin.
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
    fn of_many_classes_the_predicted_one_counts() {
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
