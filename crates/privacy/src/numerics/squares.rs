//! The root of a sum of many squares, with certified ends.
//!
//! A plain sum of n terms may be off by n units of its last place; a compensated one (Neumaier,
//! *Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen*, 1974) by one or two,
//! whatever n is. Each square times its count is rounded three times before.

use crate::bound::Bound;

/// A sum of `count * x²`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SquareSum {
    sum: f64,
    /// What rounding took from the sum so far.
    rest: f64,
}

impl SquareSum {
    pub(crate) fn add(&mut self, x: f64, count: u64) {
        let term = count as f64 * x * x;
        let total = self.sum + term;
        let (high, low) = if self.sum >= term { (self.sum, term) } else { (term, self.sum) };
        self.rest += (high - total) + low;
        self.sum = total;
    }

    /// The root, where nothing overflows; wrong by at most 3.5 units of 2^-53 if what was added is
    /// wrong by at most one.
    pub(crate) fn nearest_root(self) -> f64 {
        (self.sum + self.rest).sqrt()
    }

    /// Certified ends of the root; ∞ where the sum overflows.
    pub(crate) fn root(self) -> Bound {
        if self.sum == 0.0 {
            return Bound::exactly(0.0);
        }
        if !self.sum.is_finite() {
            return Bound { lower: f64::MAX.sqrt(), upper: f64::INFINITY };
        }
        let root = self.nearest_root();
        Bound::enclosing(root * (1.0 - ROOM), root * (1.0 + ROOM))
    }
}

/// Three roundings of each square, two of the sum, one of the root: four units at most, and twice
/// that.
const ROOM: f64 = 8.0 * f64::EPSILON;

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 and a million times 1e-16. A plain sum loses all of the small ones.
    #[test]
    fn many_small_squares_are_not_lost() {
        let mut sum = SquareSum::default();
        sum.add(1.0, 1);
        let n = 1_000_000u64;
        (1..=n).for_each(|_| sum.add(1e-8, 1));
        let exact = (1.0 + 1e-16 * n as f64).sqrt();
        let found = sum.root();
        assert!(found.lower <= exact && exact <= found.upper && found.relative_gap() < 1e-14, "{found:?}");
        assert_eq!((1..=n).fold(1.0, |sum, _| sum + 1e-16), 1.0, "added plainly, they vanish");
        assert_eq!(SquareSum::default().root(), Bound::exactly(0.0));
    }

    #[test]
    fn overflow_is_no_bound() {
        let mut sum = SquareSum::default();
        sum.add(1e200, 1);
        assert_eq!(sum.root().upper, f64::INFINITY);
    }
}
