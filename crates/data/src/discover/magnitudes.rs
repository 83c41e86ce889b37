//! Between which powers of two numbers lie.
//!
//! # Definition
//! A finite or infinite number x is in one of 257 cells: that of zero for `|x| < 2^-64`, else one
//! by its sign and by `e = floor(log2 |x|)`, cut to -64..=63:
//! ```text
//! cell (+, e)   2^e <= x < 2^(e+1)                                                            (1)
//! ```
//! NaN is in none. With noisy counts of all cells, the lower bound is the lower end of the least
//! cell, and the upper bound the upper end of the greatest, whose count is above what the noise of
//! no cell exceeds with probability 99 %.
//!
//! # Sensitivity
//! A record is in one cell: it moves one count by 1, and one that becomes another moves two.

use std::sync::LazyLock;

use sordino_mechanisms::statistics::Cells;

use crate::schema::Bounds;

/// No empty cell passes, with this probability.
pub(super) const CONFIDENCE: f64 = 0.99;
/// Exponents -64..=63 on either side.
const LEAST: i32 = -64;
const SIDE: usize = 128;

static NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..=2 * SIDE).map(|cell| format!("cell {cell:03}")).collect());

/// The keys of all cells, in ascending order of their numbers.
pub(super) fn names() -> &'static [String] {
    &NAMES
}

/// The key of the cell of a number; one that no cell has for NaN.
pub(super) fn name_of(x: f64) -> &'static str {
    cell(x).map_or("", |cell| &NAMES[cell])
}

/// Cells below `SIDE` are negative, those above positive.
fn cell(x: f64) -> Option<usize> {
    if x.is_nan() {
        return None;
    }
    // Exponents are read off the bits: no logarithm that could round. Zero and
    // subnormal numbers have the least of all.
    let biased = (x.abs().to_bits() >> 52) as i32;
    let exponent = biased - 1023;
    if exponent < LEAST {
        return Some(SIDE);
    }
    // 0..SIDE
    let place = (exponent - LEAST).min(SIDE as i32 - 1) as usize;
    Some(if x > 0.0 { SIDE + 1 + place } else { SIDE - 1 - place })
}

/// The lower and the upper end of a cell.
fn ends(cell: usize) -> (f64, f64) {
    let power = |place: usize| 2f64.powi(LEAST + place as i32);
    match cell {
        SIDE => (0.0, 0.0),
        _ if cell > SIDE => (power(cell - SIDE - 1), power(cell - SIDE)),
        _ => (-power(SIDE - cell), -power(SIDE - 1 - cell)),
    }
}

/// The bounds of the outermost cells whose noisy counts, of all cells in order, are above `noise`;
/// nothing where there is none. Zeros alone have bounds 0 and 1.
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
            if cell == SIDE {
                prop_assert!(x.abs() < 2f64.powi(-64));
            } else if x.abs() < 2f64.powi(64) {
                let (a, b) = if x > 0.0 { (lower, upper) } else { (-upper, -lower) };
                prop_assert!(a <= x.abs() && x.abs() < b, "{x} in {lower}..{upper}");
            } else {
                prop_assert!(cell == 0 || cell == 2 * SIDE);
            }
        }
    }

    #[test]
    fn cells_ascend_without_gaps() {
        for cell in 0..SIDE - 1 {
            assert_eq!(ends(cell).1, ends(cell + 1).0);
        }
        for cell in SIDE + 1..2 * SIDE {
            assert_eq!(ends(cell).1, ends(cell + 1).0);
        }
        assert_eq!((ends(0).0, ends(2 * SIDE).1), (-(2f64.powi(64)), 2f64.powi(64)));
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
