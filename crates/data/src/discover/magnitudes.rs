//! Finds the powers of two between which numbers lie.
//!
//! # Definition
//! A finite or infinite number x is in one of 257 cells: the cell of zero if `|x| < 2^-64`, else
//! the cell of its sign and of `e = floor(log2 |x|)`, clamped to -64..=63:
//! ```text
//! cell (+, e)   2^e <= x < 2^(e+1)                                                            (1)
//! ```
//! NaN is in no cell. All cells get noisy counts. A cell passes if its count is above a threshold
//! that, with probability 99 %, the noise of no cell exceeds. The lower bound is the lower end of
//! the least cell that passes, and the upper bound the upper end of the greatest.
//!
//! # Sensitivity
//! A record is in one cell: adding it moves one count by 1, and replacing it moves two.

use std::sync::LazyLock;

use sordino_mechanisms::statistics::Cells;

use crate::schema::Bounds;

/// The probability that no empty cell passes.
pub(super) const CONFIDENCE: f64 = 0.99;
/// The smallest exponent of a cell.
const MIN_EXPONENT: i32 = -64;
/// The number of cells of each sign: exponents -64..=63.
const CELLS_PER_SIGN: usize = 128;
/// The cell of zero, between the cells of negative and positive numbers.
const ZERO_CELL: usize = CELLS_PER_SIGN;

static NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..=2 * CELLS_PER_SIGN).map(|cell| format!("cell {cell:03}")).collect());

/// The keys of all cells, in ascending order of their numbers.
pub(super) fn names() -> &'static [String] {
    &NAMES
}

/// The key of a number's cell; for NaN the empty text, which is no cell's key.
pub(super) fn name_of(x: f64) -> &'static str {
    cell(x).map_or("", |cell| &NAMES[cell])
}

/// The cell of a number. Cells below [`ZERO_CELL`] are negative, those above positive.
fn cell(x: f64) -> Option<usize> {
    if x.is_nan() {
        return None;
    }
    // The exponent comes from the bits, because a logarithm could round. Zero and subnormal numbers
    // have the smallest one.
    let biased = (x.abs().to_bits() >> 52) as i32;
    let exponent = biased - 1023;
    if exponent < MIN_EXPONENT {
        return Some(ZERO_CELL);
    }
    // Within 0..CELLS_PER_SIGN.
    let place = (exponent - MIN_EXPONENT).min(CELLS_PER_SIGN as i32 - 1) as usize;
    Some(if x > 0.0 { CELLS_PER_SIGN + 1 + place } else { CELLS_PER_SIGN - 1 - place })
}

/// The lower and the upper end of a cell.
fn ends(cell: usize) -> (f64, f64) {
    let power = |place: usize| 2f64.powi(MIN_EXPONENT + place as i32);
    match cell {
        ZERO_CELL => (0.0, 0.0),
        _ if cell > ZERO_CELL => (power(cell - CELLS_PER_SIGN - 1), power(cell - CELLS_PER_SIGN)),
        _ => (-power(CELLS_PER_SIGN - cell), -power(CELLS_PER_SIGN - 1 - cell)),
    }
}

/// The bounds of the outermost cells whose noisy counts are above `noise`; `None` if no cell
/// passes. `cells` has all cells in order. If only the cell of zero passes, the bounds are 0 and 1.
pub(super) fn bounds(cells: &Cells, noise: f64) -> Option<Bounds> {
    let passes = |(place, (_, count)): (usize, &(String, i64))| (*count as f64 > noise).then_some(place);
    let mut passing = cells.counts.iter().enumerate().filter_map(passes);
    let first = passing.next()?;
    let last = passing.next_back().unwrap_or(first);
    let (lower, upper) = (ends(first).0, ends(last).1);
    Bounds::new(lower, if upper > lower { upper } else { lower + 1.0 }).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        /// Equation (1), typed again; every number but NaN is in exactly one cell.
        #[test]
        fn a_number_lies_in_its_cell(bits in any::<u64>()) {
            let x = f64::from_bits(bits);
            let Some(cell) = cell(x) else { prop_assert!(x.is_nan()); return Ok(()) };
            let (lower, upper) = ends(cell);
            if cell == ZERO_CELL {
                prop_assert!(x.abs() < 2f64.powi(-64));
            } else if x.abs() < 2f64.powi(64) {
                let (a, b) = if x > 0.0 { (lower, upper) } else { (-upper, -lower) };
                prop_assert!(a <= x.abs() && x.abs() < b, "{x} in {lower}..{upper}");
            } else {
                prop_assert!(cell == 0 || cell == 2 * CELLS_PER_SIGN);
            }
        }
    }

    #[test]
    fn cells_ascend_without_gaps() {
        for cell in 0..CELLS_PER_SIGN - 1 {
            assert_eq!(ends(cell).1, ends(cell + 1).0);
        }
        for cell in CELLS_PER_SIGN + 1..2 * CELLS_PER_SIGN {
            assert_eq!(ends(cell).1, ends(cell + 1).0);
        }
        assert_eq!((ends(0).0, ends(2 * CELLS_PER_SIGN).1), (-(2f64.powi(64)), 2f64.powi(64)));
        assert!(names().is_sorted() && names().len() == 257);
    }

    fn found(numbers: &[(f64, i64)]) -> Option<(f64, f64)> {
        let mut counts: Vec<(String, i64)> = names().iter().map(|name| (name.clone(), 0)).collect();
        for (x, count) in numbers {
            counts[cell(*x).unwrap()].1 += count;
        }
        let bounds = bounds(&Cells { counts, error: 0.0 }, 20.0)?;
        Some((bounds.lower(), bounds.upper()))
    }

    #[test]
    fn bounds_are_those_of_the_outermost_cells_that_pass() {
        assert_eq!(found(&[(1.5, 100), (70.0, 50), (1e9, 20)]), Some((1.0, 128.0)));
        assert_eq!(found(&[(-3.0, 21), (0.0, 500)]), Some((-4.0, 0.0)));
        assert_eq!(found(&[(0.0, 500), (10.0, 30)]), Some((0.0, 16.0)));
        assert_eq!(found(&[(0.0, 500)]), Some((0.0, 1.0)));
        assert_eq!(found(&[(f64::INFINITY, 500)]), Some((2f64.powi(63), 2f64.powi(64))));
        assert_eq!(found(&[(3.0, 20)]), None);
    }
}
