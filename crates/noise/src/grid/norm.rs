//! Norms of integer vectors, compared exactly.
//!
//! ```text
//! L1:  Σ |n_j| <= N        L2:  Σ n_j² <= N²        Max:  |n_j| <= N for every j              (1)
//! ```
//!
//! # Guarantee
//! [`Norm::within`] decides (1) without rounding and without overflow, for every input. A float
//! norm cannot: for `n = (2^30, 1)` and `N = 2^30` the double nearest to the norm is `N` itself.

use dashu::rational::RBig;

/// The norm in which contributions are bounded. It must be the one of the noise: `L2` for the
/// Gaussian, `L1` for the Laplace. (In one dimension all three are the same.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Norm {
    /// Sum of absolute values.
    L1,
    /// Euclidean length.
    L2,
    /// Largest absolute value.
    Max,
}

impl Norm {
    /// Whether the norm of `units` is at most `bound`. Exact; the work does not depend on the
    /// values.
    pub fn within(self, units: &[i64], bound: i64) -> bool {
        let Ok(bound) = u64::try_from(bound) else {
            return false; // no norm is negative
        };
        // A coordinate beyond the bound fails here, before it is squared.
        if !each_within(units, bound) {
            return false;
        }
        match self {
            // At most 2^63 coordinates fit in memory and each is below 2^63: no overflow.
            Self::L1 => sum_of(units, |unit| u128::from(unit.unsigned_abs())) <= u128::from(bound),
            Self::L2 => sum_of_squares(units, bound) <= square(bound),
            Self::Max => true,
        }
    }

    /// A rational at or just above the norm of the all-ones vector: what rounding by less than one
    /// step a coordinate can change.
    pub(super) fn of_ones(self, dimension: usize) -> RBig {
        match self {
            Self::L1 => RBig::from(dimension),
            Self::L2 => sqrt_above(dimension),
            Self::Max => RBig::ONE,
        }
    }

    /// The norm in floating point, for scaling down; what comes of it is checked with
    /// [`Norm::within`].
    pub(super) fn estimate(self, values: impl Iterator<Item = f64>) -> f64 {
        match self {
            Self::L1 => values.map(f64::abs).sum(),
            Self::L2 => values.map(|value| value * value).sum::<f64>().sqrt(),
            Self::Max => values.map(f64::abs).fold(0.0, f64::max),
        }
    }
}

/// Whether `|n| <= bound` for every coordinate, for a bound below 2^63.
///
/// `bound - |n|` modulo 2^64 has its top bit set just if `|n| > bound`: the true difference lies
/// between -2^63 and 2^63 - 1. (A comparison for each coordinate gives the same answer at a third
/// of the speed.)
fn each_within(units: &[i64], bound: u64) -> bool {
    units.iter().fold(0, |seen, unit| seen | bound.wrapping_sub(unit.unsigned_abs())) >> 63 == 0
}

fn sum_of(units: &[i64], term: impl Fn(&i64) -> u128) -> u128 {
    units.iter().map(term).sum()
}

/// `Σ n²` for `|n| <= bound`, saturating at `u128::MAX`, which is above every square of a bound.
fn sum_of_squares(units: &[i64], bound: u64) -> u128 {
    // Squares are added in 64 bits while they surely fit: it is several times faster.
    let safe = u128::from(u64::MAX) / square(bound).max(1);
    if safe < 8 {
        return units.iter().map(|unit| square(unit.unsigned_abs())).fold(0, u128::saturating_add);
    }
    let run = usize::try_from(safe).unwrap_or(usize::MAX);
    let short = |part: &[i64]| part.iter().map(|unit| unit.unsigned_abs() * unit.unsigned_abs()).sum::<u64>();
    units.chunks(run).map(|part| u128::from(short(part))).sum()
}

fn square(value: u64) -> u128 {
    u128::from(value) * u128::from(value)
}

/// `sqrt(dimension)` to 32 binary places, rounded up.
fn sqrt_above(dimension: usize) -> RBig {
    let shifted = (dimension as u128) << 64; // usize has at most 64 bits
    let root = shifted.isqrt();
    let above = if root * root == shifted { root } else { root + 1 };
    RBig::from(above) / RBig::from(1u64 << 32)
}

#[cfg(test)]
mod tests {
    use dashu::integer::{IBig, UBig};
    use proptest::prelude::*;

    use super::*;

    /// Equation (1) in arbitrary precision.
    fn reference(norm: Norm, units: &[i64], bound: i64) -> bool {
        if bound < 0 {
            return false; // no norm is negative, not even an empty vector's
        }
        let bound = IBig::from(bound);
        let size = |unit: &i64| if *unit < 0 { -IBig::from(*unit) } else { IBig::from(*unit) };
        match norm {
            Norm::L1 => units.iter().map(size).sum::<IBig>() <= bound,
            Norm::L2 => units.iter().map(|unit| size(unit) * size(unit)).sum::<IBig>() <= &bound * &bound,
            Norm::Max => units.iter().map(size).all(|unit| unit <= bound),
        }
    }

    #[test]
    fn extreme_coordinates_neither_overflow_nor_pass() {
        for norm in [Norm::L1, Norm::L2, Norm::Max] {
            assert!(!norm.within(&[i64::MIN; 9], i64::MAX));
            assert!(!norm.within(&[0, i64::MIN], i64::MAX));
            assert!(norm.within(&[0, i64::MAX], i64::MAX));
            assert!(norm.within(&[0, 0], 0) && !norm.within(&[0, 1], 0));
            assert!(!norm.within(&[0], -1));
        }
        assert!(!Norm::L1.within(&[i64::MAX; 9], i64::MAX));
        assert!(!Norm::L2.within(&[i64::MAX; 9], i64::MAX));
    }

    #[test]
    fn the_last_unit_decides() {
        // 5² + 12² + 84² = 85²
        for scale in [1i64, 1 << 20, 1 << 29, 1 << 40, 1 << 56] {
            let units = [5 * scale, -12 * scale, 84 * scale];
            assert!(Norm::L2.within(&units, 85 * scale));
            assert!(!Norm::L2.within(&units, 85 * scale - 1));
            assert!(!Norm::L2.within(&[units[0] + 1, units[1], units[2]], 85 * scale));
            assert!(Norm::L1.within(&units, 101 * scale) && !Norm::L1.within(&units, 101 * scale - 1));
        }
    }

    #[test]
    fn the_norm_of_ones_is_never_below_the_truth() {
        for dimension in [1usize, 2, 3, 4, 10, 2_000_000, 1 << 40, usize::MAX] {
            let above = Norm::L2.of_ones(dimension);
            let truth = RBig::from(UBig::from(dimension));
            assert!(&above * &above >= truth);
            let below = &above - RBig::from(1) / RBig::from(1u64 << 32);
            assert!(&below * &below < truth);
            assert_eq!(Norm::L1.of_ones(dimension), truth);
            assert_eq!(Norm::Max.of_ones(dimension), RBig::ONE);
        }
        assert_eq!(Norm::L2.of_ones(4), RBig::from(2));
    }

    proptest! {
        #[test]
        fn agrees_with_arbitrary_precision(
            units in prop::collection::vec(any::<i64>(), 0..40),
            shift in 0u32..63,
            offset in -2i64..=2,
        ) {
            let units: Vec<i64> = units.iter().map(|unit| unit >> shift).collect();
            for norm in [Norm::L1, Norm::L2, Norm::Max] {
                // Bounds right at the norm's whole part, where a sloppy comparison would err.
                let estimate = norm.estimate(units.iter().map(|unit| *unit as f64));
                let bound = (estimate as i64).saturating_add(offset);
                prop_assert_eq!(norm.within(&units, bound), reference(norm, &units, bound));
            }
        }
    }
}
