//! What this crate's tests share: words chosen by hand, and one chi-square test.

use std::collections::VecDeque;

use crate::bits::{Bits, sealed};

/// Hands out chosen words and panics when they run out: a test says exactly which bits are used.
pub(crate) struct Replay {
    words: VecDeque<u64>,
    zeros_follow: bool,
}

impl Replay {
    pub(crate) fn new(words: impl IntoIterator<Item = u64>) -> Self {
        Self { words: words.into_iter().collect(), zeros_follow: false }
    }

    /// Words as given, and zeros for ever after.
    pub(crate) fn then_zeros(words: impl IntoIterator<Item = u64>) -> Self {
        Self { zeros_follow: true, ..Self::new(words) }
    }

    pub(crate) fn assert_used_up(&self) {
        assert!(self.words.is_empty(), "{} words were not asked for", self.words.len());
    }
}

impl sealed::Sealed for Replay {}

impl Bits for Replay {
    fn next_u64(&mut self) -> u64 {
        let word = self.words.pop_front();
        word.or(self.zeros_follow.then_some(0)).expect("more words are asked for than the test foresaw")
    }

    fn is_seeded(&self) -> bool {
        true
    }
}

/// Pearson's chi-square test of counts against probabilities that sum to 1.
///
/// Cells with an expectation below 20 are pooled into one. Fails beyond six standard deviations of the
/// Wilson-Hilferty normal approximation (false alarm 1e-9; the approximation is good to a factor of ten there).
pub(crate) fn chi_square(counts: &[u64], probabilities: &[f64]) -> Result<(), String> {
    assert_eq!(counts.len(), probabilities.len());
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "probabilities sum to {sum}");
    let draws = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells) = (0.0, 0.0);
    let (mut pooled_count, mut pooled_mass) = (0.0, 0.0);
    for (&count, &probability) in counts.iter().zip(probabilities) {
        let (count, expected) = (count as f64, probability * draws);
        if expected < 20.0 {
            pooled_count += count;
            pooled_mass += expected;
        } else {
            statistic += (count - expected).powi(2) / expected;
            cells += 1.0;
        }
    }
    if pooled_mass >= 1.0 {
        statistic += (pooled_count - pooled_mass).powi(2) / pooled_mass;
        cells += 1.0;
    } else if pooled_count > 20.0 {
        return Err(format!("{pooled_count} draws where {pooled_mass} were expected"));
    }
    judge(statistic, cells - 1.0)
}

fn judge(statistic: f64, freedom: f64) -> Result<(), String> {
    let spread = 2.0 / (9.0 * freedom);
    let deviations = ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    if deviations < 6.0 {
        Ok(())
    } else {
        Err(format!("chi-square {statistic:.1} on {freedom} degrees: {deviations:.1} standard deviations"))
    }
}

/// P[K = k] of the rounded Gaussian for |k| < cells; both ends take the tails beyond them.
pub(crate) fn rounded_gaussian_masses(depth: u32, cells: i64) -> Vec<f64> {
    let scale = f64::from(1u32 << depth) * std::f64::consts::SQRT_2;
    // Upper tails from erfc keep their digits far out; both sides are symmetric.
    let above = |k: i64| 0.5 * libm::erfc((k as f64 - 0.5) / scale);
    let one_side = |k: i64| if k == cells { above(k) } else { above(k) - above(k + 1) };
    (-cells..=cells).map(|k| one_side(k.abs())).collect()
}

/// Chi-square test of two histograms of equally many draws: the same distribution or not.
pub(crate) fn same_distribution(one: &[u64], two: &[u64]) -> Result<(), String> {
    assert_eq!(one.iter().sum::<u64>(), two.iter().sum::<u64>());
    let (mut statistic, mut cells) = (0.0, 0.0f64);
    for (&a, &b) in one.iter().zip(two).filter(|(a, b)| **a + **b >= 20) {
        let (a, b) = (a as f64, b as f64);
        statistic += (a - b).powi(2) / (a + b);
        cells += 1.0;
    }
    judge(statistic, (cells - 1.0).max(1.0))
}
