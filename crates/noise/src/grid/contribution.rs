//! One record's contribution: integers whose norm has been checked as integers.
//!
//! # Definition
//! `n_j = trunc(x_j / g)`, toward zero, coordinate by coordinate. What comes in need not be
//! clipped:
//!
//! | record | contribution |
//! |---|---|
//! | `‖n‖ <= N` | `n` |
//! | longer, however long | the record scaled down to the clip norm, quantised and checked again |
//! | a coordinate is infinite or not a number | zero |
//! | still too long after the last attempt | zero |
//!
//! # Guarantee
//! Every contribution satisfies `‖n‖ <= N` exactly, whatever bits come in, and is a function of its
//! own record and the public grid. How `x / g` rounds does not matter for that: the norm is checked
//! after it. Nothing here fails because of a value; only a wrong length, which is public, is an
//! error.

use std::fmt;

use super::{Grid, SumError};

/// The shares of the clip norm that a record which is too long is scaled to, in turn. The first
/// nearly always does: truncation shortens, and only rounding in the estimate of the norm can
/// lengthen. The last has room for the rounding of any sum of squares that fits in memory.
const ATTEMPTS: [f64; 4] = [1.0, 1.0 - 1e-14, 1.0 - 1e-9, 1.0 - 1e-4];

/// A record on the grid, its norm checked. `Debug` shows the grid alone.
#[derive(Clone, PartialEq)]
pub struct GridContribution {
    grid: Grid,
    units: Vec<i64>,
}

impl GridContribution {
    pub(super) fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The record in steps. Private data: this is one record, nearly as it came.
    pub fn units(&self) -> &[i64] {
        &self.units
    }
}

impl fmt::Debug for GridContribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GridContribution").field("grid", &self.grid).finish_non_exhaustive()
    }
}

impl Grid {
    /// The record on the grid. Takes every type that converts to `f64` without loss.
    pub fn quantise<T: Copy + Into<f64>>(&self, record: &[T]) -> Result<GridContribution, SumError> {
        self.check_dimension(record.len())?;
        let mut units = vec![0; record.len()];
        self.quantise_into(record, &mut units);
        Ok(GridContribution { grid: *self, units })
    }

    /// Writes the contribution of `record` to `units`, which has the same length.
    pub(super) fn quantise_into<T: Copy + Into<f64>>(&self, record: &[T], units: &mut [i64]) {
        let finite = truncate(record, units, |value| value * self.steps_per_unit);
        let fits = finite && (self.norm().within(units, self.clip_units) || self.scale_down(record, units));
        if !fits {
            units.fill(0);
        }
    }

    /// Scales a finite record to the clip norm; whether an attempt passed.
    fn scale_down<T: Copy + Into<f64>>(&self, record: &[T], units: &mut [i64]) -> bool {
        let values = || record.iter().map(|&value| -> f64 { value.into() });
        let largest = values().map(f64::abs).fold(0.0, f64::max);
        // Divided by the largest coordinate, neither do the squares of huge records overflow nor
        // those of tiny ones vanish.
        let inverse = largest.recip();
        let norm = self.norm().estimate(values().map(|value| value * inverse));
        ATTEMPTS.iter().any(|share| {
            let length = share * self.clip_units as f64 / norm;
            truncate(record, units, |value| value * inverse * length);
            self.norm().within(units, self.clip_units)
        })
    }

    pub(super) fn check_dimension(&self, got: usize) -> Result<(), SumError> {
        let expected = self.dimension();
        if got == expected { Ok(()) } else { Err(SumError::Dimension { expected, got }) }
    }
}

/// Writes `trunc(steps(x))` for each coordinate; whether all of them are finite.
fn truncate<T: Copy + Into<f64>>(record: &[T], units: &mut [i64], steps: impl Fn(f64) -> f64) -> bool {
    let mut finite = true;
    for (unit, &value) in units.iter_mut().zip(record) {
        let value: f64 = value.into();
        finite &= value.is_finite();
        // The cast truncates toward zero and saturates: a product that overflowed is beyond every
        // clip norm.
        *unit = steps(value) as i64;
    }
    finite
}

#[cfg(test)]
mod tests {
    use dashu::integer::IBig;
    use proptest::prelude::*;

    use super::super::{GridPlan, Norm};
    use super::*;

    const NORMS: [Norm; 3] = [Norm::L1, Norm::L2, Norm::Max];

    fn grid(clip_norm: f64, depth: u32, norm: Norm, dimension: usize) -> Grid {
        GridPlan::new(clip_norm, 1.0, dimension, 100)
            .norm(norm)
            .truncation_limit(1e6)
            .at_depth(depth)
            .unwrap()
    }

    /// The norm comparison in arbitrary precision, on the integers alone.
    fn bounded(grid: &Grid, units: &[i64]) -> bool {
        let bound = IBig::from(grid.clip_units());
        let sizes = units.iter().map(|unit| IBig::from(unit.unsigned_abs()));
        match grid.norm() {
            Norm::L1 => sizes.sum::<IBig>() <= bound,
            Norm::L2 => sizes.map(|size| &size * &size).sum::<IBig>() <= &bound * &bound,
            Norm::Max => sizes.max().is_none_or(|size| size <= bound),
        }
    }

    #[test]
    fn a_float_norm_that_rounds_down_to_the_clip_does_not_pass() {
        // ‖(2^30, 1)‖² = 2^60 + 1, which a double rounds to 2^60: in floats the record is exactly
        // as long as the clip.
        let clip = 2f64.powi(30);
        let record = [clip, 1.0];
        assert_eq!((record[0] * record[0] + record[1] * record[1]).sqrt(), clip);
        let grid = grid(clip, 30, Norm::L2, 2);
        assert_eq!(grid.step(), 1.0);
        let contribution = grid.quantise(&record).unwrap();
        assert_ne!(contribution.units(), [1 << 30, 1]);
        assert!(bounded(&grid, contribution.units()));
        // It is shortened, not thrown away.
        assert!(contribution.units()[0] >= (1 << 30) - 1);

        // The same in single precision, at an everyday depth, with many small coordinates.
        let mut record = vec![1f32; 1001];
        record[0] = 2f32.powi(21);
        let float_norm = record.iter().fold(0f32, |sum, x| sum + x * x).sqrt();
        assert_eq!(float_norm, 2f32.powi(21));
        let grid = super::super::GridPlan::new(2f64.powi(21), 1.0, 1001, 1).at_depth(21).unwrap();
        let contribution = grid.quantise(&record).unwrap();
        assert!(bounded(&grid, contribution.units()) && contribution.units()[0] > (1 << 21) - 3);
    }

    #[test]
    fn records_on_the_grid_keep_their_place() {
        // Multipliers that make for odd numbers of steps: the step and its reciprocal are then both
        // rounded.
        for (clip_norm, z, depth) in
            [(1.0, 1.0, 20), (0.1, 1.1, 30), (120.0, 0.7, 24), (1e-7, 0.3, 31), (3e9, 1.7, 10)]
        {
            let grid = GridPlan::new(clip_norm, z, 1, 1).truncation_limit(1.0).at_depth(depth).unwrap();
            let units = grid.clip_units();
            for n in
                (0..200).chain((1..200).map(|part| units / part)).chain((0..200).map(|below| units - below))
            {
                for n in [n, -n] {
                    assert_eq!(grid.quantise(&[n as f64 * grid.step()]).unwrap().units(), [n]);
                }
            }
            assert_eq!(grid.quantise(&[clip_norm]).unwrap().units(), [units]);
        }
    }

    #[test]
    fn truncation_is_toward_zero() {
        let grid = grid(8.0, 3, Norm::L2, 3);
        assert_eq!(grid.step(), 1.0);
        assert_eq!(grid.quantise(&[1.99, -1.99, 0.99]).unwrap().units(), [1, -1, 0]);
        assert_eq!(grid.quantise(&[1.99f32, -0.5, -3.01]).unwrap().units(), [1, 0, -3]);
        assert_eq!(grid.quantise(&[1u8, 2, 3]).unwrap().units(), [1, 2, 3]);
    }

    #[test]
    fn one_bad_coordinate_empties_the_record() {
        for norm in NORMS {
            let grid = grid(1.0, 20, norm, 3);
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN] {
                for place in 0..3 {
                    let mut record = [0.1, f64::MAX, 0.1];
                    record[place] = bad;
                    assert_eq!(grid.quantise(&record).unwrap().units(), [0, 0, 0]);
                }
            }
        }
    }

    #[test]
    fn huge_and_tiny_records_keep_their_direction() {
        for norm in NORMS {
            for (clip_norm, huge) in [(1.0, f64::MAX), (1e-200, 1e308), (1e200, f64::MAX), (1e-280, 1e-279)] {
                let grid = grid(clip_norm, 30, norm, 3);
                let contribution = grid.quantise(&[huge, -huge / 2.0, 0.0]).unwrap();
                let [first, second, third] = contribution.units() else { unreachable!("three coordinates") };
                assert!(bounded(&grid, contribution.units()));
                assert!(*first > grid.clip_units() / 2, "{first} of {}", grid.clip_units());
                assert!((first + 2 * second).abs() <= 3 && *third == 0);
            }
            let small = [f64::from_bits(1), f64::MIN_POSITIVE, -0.0];
            assert_eq!(grid(1.0, 30, norm, 3).quantise(&small).unwrap().units(), [0, 0, 0]);
        }
    }

    #[test]
    fn clipping_keeps_the_whole_norm() {
        let dimension = 10_000;
        let record: Vec<f64> = (0..dimension).map(|j| ((j * 7919) % 1000) as f64 - 500.0).collect();
        for norm in NORMS {
            let grid = GridPlan::new(1.0, 1.0, dimension, 1).norm(norm).least_depth().unwrap();
            let contribution = grid.quantise(&record).unwrap();
            assert!(bounded(&grid, contribution.units()));
            let kept = norm.estimate(contribution.units().iter().map(|unit| *unit as f64))
                / grid.clip_units() as f64;
            assert!(kept > 1.0 - 1e-3, "{norm:?} kept {kept}");
        }
    }

    #[test]
    fn a_wrong_length_is_an_error_that_says_so() {
        let error = grid(1.0, 20, Norm::L2, 3).quantise(&[1.0]).unwrap_err();
        assert_eq!(error, SumError::Dimension { expected: 3, got: 1 });
        assert!(error.to_string().contains("3 coordinates, got a vector of 1"));
    }

    #[test]
    fn debug_output_shows_no_record() {
        let contribution = grid(1.0, 20, Norm::L2, 1).quantise(&[0.123]).unwrap();
        let unit = contribution.units()[0].to_string();
        assert!(!format!("{contribution:?}").contains(&unit));
    }

    /// Doubles of every kind: all bit patterns, and values around the clip norm where comparisons
    /// are tight.
    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            -2.0..2.0f64,
            Just(1.0),
            Just(1f64.next_up()),
            Just(-(1f64.next_down())),
            Just(0.0),
            Just(0.5),
        ]
    }

    proptest! {
        #[test]
        fn no_record_whatever_its_bits_is_longer_than_the_clip(
            record in prop::collection::vec(coordinate(), 1..24),
            depth in 0u32..=53,
            clip_norm in prop_oneof![Just(1.0), 1e-200..1e-199f64, 1e-3..1e3f64, 1e199..1e200f64],
        ) {
            for norm in NORMS {
                let plan = GridPlan::new(clip_norm, 1.0, record.len(), 1).norm(norm);
                let grid = plan.truncation_limit(100.0).at_depth(depth).unwrap();
                let double = grid.quantise(&record).unwrap();
                prop_assert!(bounded(&grid, double.units()));
                let single: Vec<f32> = record.iter().map(|&value| value as f32).collect();
                prop_assert!(bounded(&grid, grid.quantise(&single).unwrap().units()));
                // Empty only for a reason: a bad coordinate, or nothing of a step's size. A record
                // that is scaled down keeps its largest coordinate, at least N / d (L1) or N /
                // sqrt(d).
                let empty = double.units().iter().all(|&unit| unit == 0);
                let finite = record.iter().all(|value| value.is_finite());
                let largest = record.iter().fold(0f64, |largest, value| largest.max(value.abs()));
                if finite && largest >= clip_norm && grid.clip_units() > 2 * record.len() as i64 {
                    prop_assert!(!empty);
                }
            }
        }
    }
}
