//! Records that have no place in the schema.
//!
//! That there is one, and which, says something about records, so it is noted for the owner alone: through
//! the permissive door nothing is noted. Reading goes on behind it; who may hear of it is decided by whoever
//! reads.

use std::path::Path;

use crate::error::DataError;
use crate::source::Door;

/// One record that has no place, and why.
#[derive(Clone)]
pub(crate) struct Misfit {
    /// From 1.
    row: u64,
    reason: Reason,
}

#[derive(Clone)]
pub(crate) enum Reason {
    Cell { column: String, expected: &'static str, advice: &'static str },
    Fields { expected: usize, got: usize },
    LongRecord { limit: usize },
}

impl Reason {
    /// Text in a file whose format knows numbers.
    #[cfg(any(feature = "parquet", feature = "arrow"))]
    pub(crate) fn text_for_a_number(column: &str) -> Self {
        let advice = "the file has text there; correct it, or declare the column as a category";
        Self::Cell { column: column.to_owned(), expected: "a number", advice }
    }
}

impl Misfit {
    pub(crate) fn error(&self, path: &Path) -> DataError {
        let (path, row) = (path.to_owned(), self.row);
        match self.reason.clone() {
            Reason::Cell { column, expected, advice } => {
                DataError::Cell { path, row, column, expected: expected.to_owned(), advice }
            }
            Reason::Fields { expected, got } => DataError::Fields { path, row, expected, got },
            Reason::LongRecord { limit } => DataError::LongRecord { path, row, limit },
        }
    }
}

/// The first record of a pass that has no place.
pub(crate) struct Misfits {
    door: Door,
    first: Option<Misfit>,
}

impl Misfits {
    pub(crate) fn new(door: Door) -> Self {
        Self { door, first: None }
    }

    /// The door by which records are read.
    pub(crate) fn door(&self) -> Door {
        self.door
    }

    /// The record in this row, from 1, has no place.
    pub(crate) fn note(&mut self, row: u64, reason: impl FnOnce() -> Reason) {
        let is_first = self.first.as_ref().is_none_or(|first| row < first.row);
        if self.door == Door::Strict && is_first {
            self.first = Some(Misfit { row, reason: reason() });
        }
    }

    pub(crate) fn first(self) -> Option<Misfit> {
        self.first
    }

    /// Fails if there is one.
    pub(crate) fn check(&self, path: &Path) -> Result<(), DataError> {
        self.first.as_ref().map_or(Ok(()), |misfit| Err(misfit.error(path)))
    }
}
