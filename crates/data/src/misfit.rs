//! Records that do not fit the schema.
//!
//! Whether there is one, and which, depends on records, so only the owner may know. Through the permissive
//! door nothing is noted. Through the strict door reading goes on after a misfit, and the caller decides who
//! learns of it.

use std::path::Path;

use crate::error::DataError;
use crate::source::Door;

/// A record that does not fit, and why.
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
    /// Text where a number is declared, in a file format that has types.
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

/// Notes the first record of a pass that does not fit.
pub(crate) struct Misfits {
    door: Door,
    first: Option<Misfit>,
}

impl Misfits {
    pub(crate) fn new(door: Door) -> Self {
        Self { door, first: None }
    }

    /// The door through which records are read.
    pub(crate) fn door(&self) -> Door {
        self.door
    }

    /// Notes that the record in this row, from 1, does not fit.
    pub(crate) fn note(&mut self, row: u64, reason: impl FnOnce() -> Reason) {
        let is_first = self.first.as_ref().is_none_or(|first| row < first.row);
        if self.door == Door::Strict && is_first {
            self.first = Some(Misfit { row, reason: reason() });
        }
    }

    pub(crate) fn first(self) -> Option<Misfit> {
        self.first
    }

    /// Fails if a record was noted.
    pub(crate) fn check(&self, path: &Path) -> Result<(), DataError> {
        self.first.as_ref().map_or(Ok(()), |misfit| Err(misfit.error(path)))
    }
}
