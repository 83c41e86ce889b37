//! Pearson's chi-square tests of counts.
//!
//! # Definition
//! ```text
//! X² = Σ (observed - expected)² / expected                                            (1)
//! ```
//! over the cells, with as many degrees of freedom f as there are cells, less one. By Wilson and
//! Hilferty (The distribution of chi-square, 1931) the cube root of X²/f is nearly normal, with
//! mean 1 - 2/(9f) and variance 2/(9f).
//!
//! # Guarantee
//! A test fails beyond six standard deviations of that normal: one false alarm in 1e9 tests. The
//! approximation is good to a factor of ten there, so the rate is below 1e-8.
//!
//! # Pitfalls
//! - Seeds are fixed by the caller. A test that fails fails each time.
//! - A test that nothing fails proves nothing. Each caller has a twin with a known fault.

/// Pearson's chi-square test of counts against probabilities that sum to 1.
///
/// Cells with an expectation below 20 are pooled into one.
pub fn chi_square(counts: &[u64], probabilities: &[f64]) -> Result<(), String> {
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

/// Chi-square test of two histograms of equally many draws: the same distribution or not.
///
/// Cells with fewer than 20 draws in both together are left out.
pub fn same_distribution(one: &[u64], two: &[u64]) -> Result<(), String> {
    assert_eq!(one.iter().sum::<u64>(), two.iter().sum::<u64>());
    let (mut statistic, mut cells) = (0.0, 0.0f64);
    for (&a, &b) in one.iter().zip(two).filter(|(a, b)| **a + **b >= 20) {
        let (a, b) = (a as f64, b as f64);
        statistic += (a - b).powi(2) / (a + b);
        cells += 1.0;
    }
    judge(statistic, (cells - 1.0).max(1.0))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The statistic of (1) where it is as large as it may be, typed again: with v = 1/9,
    /// `X² = 2 (1 - v + 6 √v)³` is 48.2 for f = 2.
    #[test]
    fn six_standard_deviations_are_the_limit() {
        assert!(judge(48.1, 2.0).is_ok() && judge(48.3, 2.0).is_err());
    }

    #[test]
    fn a_fair_count_passes_and_a_biased_one_fails() {
        let thirds = [1.0 / 3.0; 3];
        assert!(chi_square(&[1000, 1030, 970], &thirds).is_ok());
        assert!(chi_square(&[1000, 1200, 800], &thirds).is_err());
        assert!(same_distribution(&[500, 500], &[480, 520]).is_ok());
        assert!(same_distribution(&[500, 500], &[300, 700]).is_err());
    }

    #[test]
    fn draws_where_none_were_expected_fail() {
        assert!(chi_square(&[500, 500, 21], &[0.5, 0.5, 0.0]).is_err());
    }
}
