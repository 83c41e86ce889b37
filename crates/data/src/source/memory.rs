//! Tables in memory that somebody else owns: arrays, frames and batches, read chunk by chunk.
//!
//! # Guarantee
//! A table in memory takes the road of a file: a survey, then a pass that reads, through a door and
//! by a schema. [`Columns`] only *adds* values to a [`Values`]; nothing here shows one. The raw
//! values that are in memory beside the owner's are those of one chunk.
//!
//! # Identity
//! A file has its bytes, and a table in memory has none of its own. So it has an
//! [identity](super::identity), the digest of its values, which takes a pass over all of them.
//! Passes compute it if [`Source::identified`](super::Source::identified) asked for it, and the
//! second pass then fails if somebody has written to the table since the first. Otherwise its
//! content is a random number that no ledger knows.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sordino_noise::{Bits, entropy};

use super::{Pick, ReadRows};
use crate::error::DataError;
use crate::misfit::{Notes, TEXT_FOR_A_NUMBER};
use crate::raw::{RawChunk, RawColumn};
use crate::schema::HeaderColumn;

pub(super) const FORMAT: &str = "memory";

/// Columns in memory, all of one length. The implementer keeps their memory alive.
///
/// Whether [`read`](Self::read) panics must not depend on a value.
pub trait Columns: Send + Sync {
    /// Names and types, in order.
    fn header(&self) -> Vec<HeaderColumn>;

    /// The number of rows.
    fn rows(&self) -> usize;

    /// Adds the values of one column in these rows to `out`, one for each row, in order.
    fn read(&self, column: usize, rows: Range<usize>, out: &mut Values<'_>);

    /// The same for several columns, for tables that are stored row by row.
    fn read_all(&self, columns: &[usize], rows: Range<usize>, out: &mut [Values<'_>]) {
        for (column, out) in columns.iter().zip(out) {
            self.read(*column, rows.clone(), out);
        }
    }
}

/// Takes the values of one column, as numbers or as texts: the schema decides.
pub struct Values<'a> {
    column: &'a mut RawColumn,
    taken: usize,
    /// Texts that were to be numbers and spell none, by place.
    refused: Vec<usize>,
}

impl<'a> Values<'a> {
    fn new(column: &'a mut RawColumn) -> Self {
        Self { column, taken: 0, refused: Vec::new() }
    }

    /// Adds a missing value.
    pub fn missing(&mut self) {
        self.column.push_missing();
        self.taken += 1;
    }

    /// Adds a number; NaN is a missing value. As text it has its shortest spelling.
    pub fn number(&mut self, value: f64) {
        self.column.push_number(value);
        self.taken += 1;
    }

    /// Adds a whole number. As text it stays exact, however large.
    pub fn integer(&mut self, value: i128) {
        self.column.push_integer(value);
        self.taken += 1;
    }

    /// Adds a boolean: `false` and `true`, or 0 and 1.
    pub fn boolean(&mut self, value: bool) {
        self.column.push_boolean(value);
        self.taken += 1;
    }

    /// Adds a text. In a column of numbers it must spell one.
    pub fn text(&mut self, text: &str) {
        if !self.column.push_text(text.as_bytes()) {
            self.refused.push(self.taken);
        }
        self.taken += 1;
    }

    /// Adds many numbers.
    pub fn numbers(&mut self, values: impl ExactSizeIterator<Item = f64>) {
        self.taken += values.len();
        match self.column {
            RawColumn::Numbers(numbers) => numbers.extend(values),
            RawColumn::Texts(_) => values.for_each(|value| self.column.push_number(value)),
        }
    }

    /// Whether values are read as numbers, so that [`numbers`](Self::numbers) loses nothing.
    pub fn takes_numbers(&self) -> bool {
        matches!(self.column, RawColumn::Numbers(_))
    }

    /// Adds the values of an Arrow array.
    #[cfg(feature = "arrow")]
    pub(super) fn array(&mut self, array: &dyn arrow_array::Array) {
        let refused = super::arrow::push_all(array, self.column);
        self.refused.extend(refused.into_iter().map(|row| self.taken + row));
        self.taken += array.len();
    }
}

impl std::fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}

/// A table in memory. Clones are the same table.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Inner>);

struct Inner {
    /// Its name, in the place of a file's path.
    name: PathBuf,
    parts: Vec<Arc<dyn Columns>>,
    /// The part of each column, and its index there.
    places: Vec<(usize, usize)>,
    rows: usize,
    /// The content while nobody has asked for the identity.
    token: [u8; 32],
}

impl Memory {
    /// Puts parts side by side, and returns the joint header.
    pub(super) fn new(
        name: &str,
        parts: Vec<Arc<dyn Columns>>,
    ) -> Result<(Self, Vec<HeaderColumn>), DataError> {
        let rows = parts.first().map_or(0, |part| part.rows());
        let (mut header, mut places) = (Vec::new(), Vec::new());
        for (number, part) in parts.iter().enumerate() {
            let columns = part.header();
            if part.rows() != rows {
                let column = columns.first().map(|column| column.name.clone()).unwrap_or_default();
                return Err(DataError::Lengths { column, expected: rows, got: part.rows() });
            }
            places.extend((0..columns.len()).map(|index| (number, index)));
            header.extend(columns);
        }
        let mut token = [0; 32];
        let mut bits =
            entropy().map_err(|source| DataError::io(Path::new(name), std::io::Error::other(source)))?;
        token.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&bits.next_u64().to_le_bytes()));
        let inner = Inner { name: name.into(), parts, places, rows, token };
        Ok((Self(Arc::new(inner)), header))
    }

    pub(super) fn name(&self) -> &Path {
        &self.0.name
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn token(&self) -> [u8; 32] {
        self.0.token
    }

    pub(super) fn rows(&self, picks: Vec<Pick>) -> Box<dyn ReadRows> {
        Box::new(MemoryRows { table: self.clone(), picks, next: 0 })
    }
}

struct MemoryRows {
    table: Memory,
    picks: Vec<Pick>,
    next: usize,
}

impl ReadRows for MemoryRows {
    fn read(&mut self, chunk: &mut RawChunk, rows: usize, misfits: &mut Notes) -> Result<(), DataError> {
        let Inner { parts, places, rows: all, .. } = &*self.table.0;
        let take = rows.min(all - self.next);
        if take == 0 {
            return Ok(());
        }
        let range = self.next..self.next + take;
        let mut columns: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
        let mut values: Vec<Vec<Values<'_>>> = parts.iter().map(|_| Vec::new()).collect();
        for (pick, column) in self.picks.iter().zip(&mut chunk.columns) {
            let (part, index) = places[pick.index];
            columns[part].push(index);
            values[part].push(Values::new(column));
        }
        for ((part, columns), values) in parts.iter().zip(&columns).zip(&mut values) {
            part.read_all(columns, range.clone(), values);
        }
        // The picks of a part are in the order in which its values were made.
        let mut values: Vec<_> = values.into_iter().map(Vec::into_iter).collect();
        for pick in &self.picks {
            let Some(Values { taken, refused, .. }) = values[places[pick.index].0].next() else { continue };
            if taken != take {
                return Err(DataError::Lengths { column: pick.name.clone(), expected: take, got: taken });
            }
            for row in refused {
                let row = chunk.first_row + row as u64 + 1;
                misfits.note_unread(row, &pick.name, || TEXT_FOR_A_NUMBER);
            }
        }
        chunk.present.resize(take, true);
        self.next += take;
        Ok(())
    }

    /// Its own digest: the loader replaces it by the identity, if that is asked for.
    fn finish(self: Box<Self>) -> Result<[u8; 32], DataError> {
        Ok(self.table.token())
    }
}
