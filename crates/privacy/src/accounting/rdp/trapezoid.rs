//! The trapezoidal rule on the whole line, for integrands given by their logarithm.
//!
//! # Guarantee
//! For a function analytic in a strip |Im x| < d and bounded there by M times its size on the
//! line, sums with step h are within about `2 M exp(-2 pi d / h)` of the integral, relatively
//! (Trefethen and Weideman, *The Exponentially Convergent Trapezoidal Rule*, 2014, theorem 5.1).
//! Gaussian tails make the sum finite.
//! # How it is computed
//! Only the neighbourhood of the peaks is visited. From every start the walk goes down until the
//! integrand has fallen [`DEPTH`] nats below the highest value seen and keeps falling, and up
//! likewise; but on the way up to a further start a rise is no reason to go on, since the walk down
//! from there will meet it. Starts must include a point on the slope of every peak; between two
//! peaks a smooth function only dips.

use crate::numerics::logspace::LogSum;

/// e^-46 = 1e-20 of the peak; a tail cut there is below 1e-14 of the sum
/// even if it is a million steps long.
const DEPTH: f64 = 46.0;

/// The integrand must stay down for this many steps: a zero of the integrand is no end.
const PATIENCE: u32 = 4;

/// More points than this, and there is no answer.
const LIMIT: usize = 40_000;

/// `ln sum_i exp(f(i * step))` over all integers i; `None` beyond the
/// limit or if `f` is not a number.
pub(super) fn ln_sum(f: impl Fn(f64) -> f64, starts: &[f64], step: f64) -> Option<f64> {
    let mut starts: Vec<i64> = starts.iter().map(|x| (x / step).round() as i64).collect();
    starts.sort_unstable();
    let peak = starts.iter().map(|&i| f(i as f64 * step)).fold(f64::NEG_INFINITY, f64::max);
    let mut walk = Walk { f: &f, step, peak, sum: LogSum::new(), left: LIMIT };
    let mut covered = i64::MIN;
    for (i, &start) in starts.iter().enumerate() {
        if start <= covered {
            continue;
        }
        walk.go(start - 1, -1, covered, true)?;
        covered = walk.go(start, 1, i64::MAX, i + 1 == starts.len())?;
    }
    Some(walk.sum.ln())
}

struct Walk<'a, F> {
    f: &'a F,
    step: f64,
    peak: f64,
    sum: LogSum,
    left: usize,
}

impl<F: Fn(f64) -> f64> Walk<'_, F> {
    /// Adds points from `at` in one direction, up to but without `wall`; the last point added. With
    /// `climb` it does not stop while the integrand rises.
    fn go(&mut self, mut at: i64, direction: i64, wall: i64, climb: bool) -> Option<i64> {
        let (mut previous, mut low) = (f64::INFINITY, 0);
        while at != wall {
            let value = (self.f)(at as f64 * self.step);
            self.left = self.left.checked_sub(1)?;
            if value.is_nan() {
                return None;
            }
            self.sum.add(value);
            self.peak = self.peak.max(value);
            low = if value < self.peak - DEPTH && (value <= previous || !climb) { low + 1 } else { 0 };
            if low >= PATIENCE {
                return Some(at);
            }
            previous = value;
            at += direction;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::normal::ln_density;

    #[test]
    fn one_peak_from_a_distant_start() {
        let found = ln_sum(|x| ln_density(x - 30.0), &[0.0], 0.5).unwrap() + 0.5f64.ln();
        assert!(found.abs() < 1e-14, "{found}");
    }

    #[test]
    fn two_peaks_far_apart_and_a_zero_between() {
        let f = |x: f64| crate::numerics::logspace::ln_add(ln_density(x), ln_density(x - 1e5) + 3f64.ln());
        let found = ln_sum(f, &[0.0, 1e5], 0.5).unwrap() + 0.5f64.ln();
        assert!((found - 4f64.ln()).abs() < 1e-13, "{found}");
        let second_moment =
            ln_sum(|x| ln_density(x) + 2.0 * x.abs().ln(), &[0.0], 0.25).unwrap() + 0.25f64.ln();
        assert!(second_moment.abs() < 1e-14, "{second_moment}");
    }

    #[test]
    fn what_cannot_be_summed_has_no_answer() {
        assert_eq!(ln_sum(|_| 0.0, &[0.0], 1.0), None);
        assert_eq!(ln_sum(|x| if x > 3.0 { f64::NAN } else { ln_density(x) }, &[0.0], 0.5), None);
    }
}
