//! Encodes one row: from values to coordinates, with a norm bound that holds exactly.

use std::ops::Range;

use super::{Encoding, Scaling};
use crate::error::DataError;
use crate::schema::{Bounds, Column};
use crate::table::{BoundedColumn, Table};

/// Values that are encoded at a time.
const TILE: usize = 64;

impl Encoding {
    /// The columns of `table` that are features, in order.
    pub(crate) fn columns<'t>(&self, table: &'t Table) -> Result<Vec<&'t BoundedColumn>, DataError> {
        let mut expected = 0;
        let column = |(name, declared): &'_ (String, Column)| {
            let (place, column) = table.column_near(expected, name)?;
            expected = place + 1;
            same(name, declared, column)
        };
        self.features.iter().map(column).collect()
    }

    /// The target column of `table`, if it has one.
    pub(crate) fn target_column<'t>(&self, table: &'t Table) -> Result<Option<&'t BoundedColumn>, DataError> {
        match &self.target {
            Some((name, declared)) if table.column(name).is_ok() => {
                same(name, declared, table.column(name)?).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Fills the rows of consecutive slots, which are zeros; rows of empty slots stay so. Goes
    /// column by column, as values are stored.
    pub(crate) fn fill_rows(
        &self,
        columns: &[&BoundedColumn],
        slots: Range<usize>,
        present: &[bool],
        out: &mut [f32],
    ) {
        let mut first = 0;
        for column in columns {
            match column {
                BoundedColumn::Numbers { bounds, values } => {
                    let values = &values[slots.clone()];
                    // One loop for each scaling, without a choice in it.
                    match self.scaling {
                        Scaling::Symmetric => fill(values, present, out, (self.width, first), |value| {
                            scaled(value, *bounds, Scaling::Symmetric)
                        }),
                        Scaling::Unit => fill(values, present, out, (self.width, first), |value| {
                            scaled(value, *bounds, Scaling::Unit)
                        }),
                        Scaling::None => fill(values, present, out, (self.width, first), |value| value),
                    }
                    first += 1;
                }
                BoundedColumn::Categories { values, codes } => {
                    let rows = present.iter().zip(out.chunks_exact_mut(self.width));
                    for (code, (_, row)) in
                        codes[slots.clone()].iter().zip(rows).filter(|(_, (is_present, _))| **is_present)
                    {
                        row[first + *code as usize] = 1.0;
                    }
                    first += values.len();
                }
            }
        }
        let rows = present.iter().zip(out.chunks_exact_mut(self.width));
        for (_, row) in rows.filter(|(is_present, _)| **is_present) {
            if self.intercept {
                row[first] = 1.0;
            }
            if let Some(norm) = self.row_norm {
                shrink(row, norm);
            }
        }
    }

    /// The encoded target of one slot: the index of a class, or a scaled number.
    pub(crate) fn target_of(&self, column: &BoundedColumn, slot: usize) -> f32 {
        match column {
            BoundedColumn::Numbers { bounds, values } => scaled(values[slot], *bounds, self.scaling) as f32,
            // Exact: a code is below 2^20.
            BoundedColumn::Categories { codes, .. } => codes[slot] as f32,
        }
    }
}

/// Writes one coordinate of each row whose slot holds a record. `place` is the width of a row and
/// the index of the coordinate.
fn fill(
    values: &[f64],
    present: &[bool],
    out: &mut [f32],
    place: (usize, usize),
    encode: impl Fn(f64) -> f64,
) {
    let (width, at) = place;
    let mut encoded = [0f32; TILE];
    let tiles = values.chunks(TILE).zip(present.chunks(TILE)).zip(out.chunks_mut(TILE * width));
    for ((values, present), rows) in tiles {
        // Apart from the stores, which are far from each other, so that it is done in vectors.
        encoded.iter_mut().zip(values).for_each(|(encoded, value)| *encoded = encode(*value) as f32);
        for ((encoded, is_present), row) in encoded.iter().zip(present).zip(rows.chunks_exact_mut(width)) {
            if *is_present {
                row[at] = *encoded;
            }
        }
    }
}

/// Returns the column if its bounds or values are those that the encoding declares. The norm of a
/// row depends on these bounds and its width on these values, so a table of another schema would
/// break both.
fn same<'t>(
    name: &str,
    declared: &Column,
    column: &'t BoundedColumn,
) -> Result<&'t BoundedColumn, DataError> {
    let is_same = match (declared, column) {
        (Column::Number(declared), BoundedColumn::Numbers { bounds, .. }) => declared.bounds() == *bounds,
        (Column::Category(declared), BoundedColumn::Categories { values, .. }) => declared.values() == values,
        (Column::Number(_) | Column::Category(_) | Column::Ignore, _) => false,
    };
    if is_same {
        return Ok(column);
    }
    let reason =
        format!("the table has bounded `{name}` by another schema; bound it by that of the encoding");
    Err(DataError::Encoding { reason })
}

fn scaled(value: f64, bounds: Bounds, scaling: Scaling) -> f64 {
    let part = || ((value - bounds.lower()) / (bounds.upper() - bounds.lower())).clamp(0.0, 1.0);
    match scaling {
        Scaling::Symmetric => 2.0 * part() - 1.0,
        Scaling::Unit => part(),
        Scaling::None => value,
    }
}

pub(super) fn unscaled(encoded: f64, bounds: Bounds, scaling: Scaling) -> f64 {
    let width = bounds.upper() - bounds.lower();
    match scaling {
        Scaling::Symmetric => bounds.lower() + (encoded + 1.0) / 2.0 * width,
        Scaling::Unit => bounds.lower() + encoded * width,
        Scaling::None => encoded,
    }
}

/// Scales the row down until its norm is certainly at most `norm`; a row within it stays as it is.
fn shrink(row: &mut [f32], norm: f64) {
    while !is_within(row, norm) {
        let factor = norm / squared_above(row).sqrt() * (1.0 - 2f64.powi(-22));
        row.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as f32);
    }
}

fn is_within(row: &[f32], norm: f64) -> bool {
    // Compares with the square of the bound, rounded down.
    squared_above(row) <= (norm * norm).next_down()
}

/// A number that is at least the exact sum of squares: a product of two `f32` is exact in `f64`,
/// and each of the d additions errs by at most 2^-53 of a sum that only grows.
fn squared_above(row: &[f32]) -> f64 {
    let sum: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    sum * (1.0 + (row.len() as f64 + 2.0) * 2f64.powi(-52))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The exact squared norm of `f32`s on a coarse grid, as an integer in multiples of 2^-60.
    fn exact_square(row: &[f32]) -> u128 {
        row.iter().map(|x| (f64::from(*x) * 2f64.powi(30)).abs() as u128).map(|n| n * n).sum()
    }

    proptest! {
        /// Adversarial rows: the bound holds in exact arithmetic, and a row within it is untouched.
        #[test]
        fn no_row_is_longer_than_the_bound(
            mut row in prop::collection::vec(-8.0f32..8.0, 1..50),
            norm in 0.01f64..20.0,
        ) {
            // Rounds to a grid on which `exact_square` is exact.
            row.iter_mut().for_each(|x| *x = (*x * 4096.0).round() / 4096.0);
            let before = row.clone();
            shrink(&mut row, norm);
            let bound = (norm * 2f64.powi(30)).powi(2);
            // `exact_square` truncates to multiples of 2^-30, which can only shorten a row; the
            // allowance covers the rounding of the bound.
            prop_assert!(exact_square(&row) as f64 <= bound * (1.0 + 1e-15));
            if (exact_square(&before) as f64) < bound * (1.0 - 1e-9) {
                prop_assert_eq!(before, row);
            }
        }
    }

    #[test]
    fn a_row_whose_norm_rounds_down_is_still_shrunk() {
        // 3 (1/3)^2 + ... : just above 1 in exact arithmetic.
        let mut row = vec![0.577_350_3f32; 3];
        assert!(exact_square(&row) > 1 << 60);
        shrink(&mut row, 1.0);
        assert!(exact_square(&row) <= 1 << 60);
    }

    #[test]
    fn shrinking_ends_for_zero_rows_and_tiny_bounds() {
        let mut row = vec![0.0f32; 4];
        shrink(&mut row, 1e-29);
        assert_eq!(row, [0.0; 4]);
        let mut row = vec![1e30f32; 4];
        shrink(&mut row, 1e-29);
        assert!(is_within(&row, 1e-29));
    }
}
