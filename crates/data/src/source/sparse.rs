//! Sparse rows in memory: only numbers that are not 0 are stored.

use std::ops::Range;

use super::memory::{Columns, Values};
use crate::error::DataError;
use crate::schema::{HeaderColumn, TypeHint};

/// Numbers in a row in memory, of a type that only their owner knows.
pub trait Lane<T>: Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at `index`, which is below [`len`](Self::len).
    fn at(&self, index: usize) -> T;
}

impl<T: Copy + Send + Sync> Lane<T> for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn at(&self, index: usize) -> T {
        self[index]
    }
}

/// A matrix of numbers in compressed sparse rows: row r has the numbers `values[i]` in the columns
/// `columns[i]` for i from `starts[r]` to `starts[r + 1]`, and 0 elsewhere. Entries that name the
/// same place are added.
///
/// Reading makes one chunk of rows dense at a time, and the encoded rows are dense.
pub struct SparseRows {
    names: Vec<String>,
    starts: Box<dyn Lane<usize>>,
    columns: Box<dyn Lane<usize>>,
    values: Box<dyn Lane<f64>>,
}

impl SparseRows {
    /// Refuses lists that do not fit together.
    pub fn new(
        names: Vec<String>,
        starts: Box<dyn Lane<usize>>,
        columns: Box<dyn Lane<usize>>,
        values: Box<dyn Lane<f64>>,
    ) -> Result<Self, DataError> {
        let rows = starts.len().saturating_sub(1);
        let ascends = !starts.is_empty() && (0..rows).all(|row| starts.at(row) <= starts.at(row + 1));
        let last = if ascends { starts.at(rows) } else { usize::MAX };
        let entries = columns.len().min(values.len());
        if last > entries || (0..last).any(|index| columns.at(index) >= names.len()) {
            let reason = "its lists of starts, columns and values do not fit together".to_owned();
            return Err(DataError::Damaged { path: "the table".into(), format: "sparse", reason });
        }
        Ok(Self { names, starts, columns, values })
    }
}

impl Columns for SparseRows {
    fn header(&self) -> Vec<HeaderColumn> {
        let column = |name: &String| HeaderColumn { name: name.clone(), hint: TypeHint::Number };
        self.names.iter().map(column).collect()
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn read(&self, column: usize, rows: Range<usize>, out: &mut Values<'_>) {
        self.read_all(&[column], rows, std::slice::from_mut(out));
    }

    fn read_all(&self, columns: &[usize], rows: Range<usize>, out: &mut [Values<'_>]) {
        let mut places = vec![usize::MAX; self.names.len()];
        columns.iter().enumerate().for_each(|(place, column)| places[*column] = place);
        // Column after column, as the values are passed on.
        let mut dense = vec![0.0; columns.len() * rows.len()];
        for (at, row) in rows.clone().enumerate() {
            // The owner's memory may have changed since it was checked.
            let end = self.starts.at(row + 1).min(self.columns.len()).min(self.values.len());
            for index in self.starts.at(row)..end {
                if let Some(&place) = places.get(self.columns.at(index))
                    && place != usize::MAX
                {
                    dense[place * rows.len() + at] += self.values.at(index);
                }
            }
        }
        if rows.is_empty() {
            return;
        }
        for (values, out) in dense.chunks_exact(rows.len()).zip(out) {
            out.numbers(values.iter().copied());
        }
    }
}

impl std::fmt::Debug for SparseRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SparseRows").field("columns", &self.names.len()).finish_non_exhaustive()
    }
}
