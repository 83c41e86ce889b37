//! The likelihood ratio of every output by counting, for mechanisms with few outputs.
//!
//! The score of an output that came n₁ times on one input and n₂ times on the other is
//! `ln((n₁ + ½)/(n₂ + ½))`. With enough counts an event above a threshold of the true ratio is the
//! best of its size (Neyman, Pearson, "On the problem of the most efficient tests of statistical
//! hypotheses", 1933).

use std::collections::HashMap;

/// The most outputs that are counted one by one.
const MOST_OUTPUTS: usize = 4096;
/// The least trial samples for each output seen among them.
const LEAST_FOR_EACH: usize = 8;

/// A score for each of a few outputs.
#[derive(Debug)]
pub(crate) struct OutputHistogram {
    /// By key, sorted.
    scores: Vec<(u64, f32)>,
}

impl OutputHistogram {
    /// Are these first outputs few enough to be counted one by one?
    pub(crate) fn suits(keys: &mut Vec<u64>) -> bool {
        let samples = keys.len();
        keys.sort_unstable();
        keys.dedup();
        keys.len() <= MOST_OUTPUTS && keys.len() * LEAST_FOR_EACH <= samples
    }

    /// Learns from how often each output came on either input.
    pub(crate) fn learn(one: &[u64], two: &[u64]) -> Self {
        let mut counts: HashMap<u64, [u32; 2]> = HashMap::new();
        for (side, keys) in [one, two].into_iter().enumerate() {
            for key in keys {
                counts.entry(*key).or_default()[side] += 1;
            }
        }
        let score = |[one, two]: [u32; 2]| ((f64::from(one) + 0.5) / (f64::from(two) + 0.5)).ln() as f32;
        let mut scores: Vec<_> = counts.into_iter().map(|(key, counts)| (key, score(counts))).collect();
        scores.sort_unstable_by_key(|(key, _)| *key);
        Self { scores }
    }

    /// 0, no evidence, for an output that was never seen.
    pub(crate) fn score(&self, row: &[f64]) -> f32 {
        let key = key(row);
        self.scores.binary_search_by_key(&key, |(key, _)| *key).map_or(0.0, |at| self.scores[at].1)
    }
}

/// Hashes a row. Rows with one hash are taken for the same output, so a plain multiplicative hash
/// will do.
pub(crate) fn key(row: &[f64]) -> u64 {
    row.iter().fold(row.len() as u64, |key, value| {
        let mixed = (key ^ value.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_log_ratios_of_counts() {
        let (a, b) = (key(&[1.0]), key(&[2.0]));
        let histogram = OutputHistogram::learn(&[a, a, a, b], &[a, b, b, b]);
        assert!((f64::from(histogram.score(&[1.0])) - (3.5_f64 / 1.5).ln()).abs() < 1e-6);
        assert!((histogram.score(&[1.0]) + histogram.score(&[2.0])).abs() < 1e-6);
        assert_eq!(histogram.score(&[3.0]), 0.0);
    }

    #[test]
    fn many_outputs_are_not_counted() {
        assert!(OutputHistogram::suits(&mut vec![1; 100]));
        assert!(!OutputHistogram::suits(&mut (0..100).collect()));
    }
}
