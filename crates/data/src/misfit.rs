//! Records that do not fit the schema.
//!
//! Whether there is one, and which, depends on records, so only the owner may know. The permissive
//! door notes nothing. Through the strict door, reading continues after a misfit, and the caller
//! decides who learns of it.
//!
//! # Limits
//! Misfits are counted by column and kind, and at most [`MAX_KINDS`] of these are counted
//! separately; the rows of one chunk are kept until the next. Memory does not depend on the length
//! of the file.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use sordino_spelling::quoted;

use crate::error::DataError;
use crate::source::Door;

/// The most pairs of column and kind that are counted separately; the rest share one count. It
/// bounds memory.
const MAX_KINDS: usize = 1000;
/// The most lines of a message, one for each kind.
const MAX_LINES: usize = 20;

/// Advice for text where a number is declared, in a table whose columns have types.
pub(crate) const TEXT_FOR_A_NUMBER: &str =
    "the file has text there; correct it, or declare the column as a category";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    Cell { column: String, expected: &'static str, advice: &'static str },
    Fields { expected: usize, got: usize },
    LongRecord { limit: usize },
}

impl Reason {
    /// The kind under which it is counted: all wrong numbers of fields are one kind.
    fn kind(&self) -> Self {
        match self {
            Self::Fields { expected, .. } => Self::Fields { expected: *expected, got: 0 },
            Self::Cell { .. } | Self::LongRecord { .. } => self.clone(),
        }
    }
}

/// The records that do not fit a schema, counted by column and kind. It holds no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfits {
    kinds: Vec<Kind>,
    /// Misfits beyond the kinds that are counted separately.
    others: u64,
}

/// One kind of misfit in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kind {
    reason: Reason,
    /// The first row, from 1.
    row: u64,
    count: u64,
}

impl Misfits {
    /// How many misfits there are.
    pub fn count(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.count).sum::<u64>() + self.others
    }

    /// One line for each kind; with `has_advice`, each says what to change in the schema.
    pub fn lines(&self, has_advice: bool) -> String {
        let mut lines: Vec<String> =
            self.kinds.iter().take(MAX_LINES).map(|kind| kind.line(has_advice)).collect();
        let rest: u64 = self.kinds.iter().skip(MAX_LINES).map(|kind| kind.count).sum::<u64>() + self.others;
        if rest > 0 {
            lines.push(format!("\n  and {rest} in other columns"));
        }
        lines.concat()
    }

    pub(crate) fn error(&self, path: &Path) -> DataError {
        let path = path.to_owned();
        match &self.kinds[..] {
            // A single misfit gets a message of one line.
            [Kind { reason, row, count: 1 }] if self.others == 0 => match reason.clone() {
                Reason::Cell { column, expected, advice } => {
                    DataError::Cell { path, row: *row, column, expected: expected.to_owned(), advice }
                }
                Reason::Fields { expected, got } => DataError::Fields { path, row: *row, expected, got },
                Reason::LongRecord { limit } => DataError::LongRecord { path, row: *row, limit },
            },
            _ => DataError::Misfits { path, misfits: self.clone() },
        }
    }
}

impl Kind {
    fn line(&self, has_advice: bool) -> String {
        let Self { reason, row, count } = self;
        let times = if *count == 1 { String::new() } else { format!(" ({count} times)") };
        match reason {
            Reason::Cell { column, expected, advice } if has_advice => {
                format!("\n  row {row}, column {}: expected {expected}{times}; {advice}", quoted(column))
            }
            Reason::Cell { column, expected, .. } => {
                format!("\n  row {row}, column {}: expected {expected}{times}", quoted(column))
            }
            Reason::Fields { expected, got } => {
                format!("\n  row {row}: expected {expected} fields, got {got}{times}")
            }
            Reason::LongRecord { limit } => {
                format!(
                    "\n  row {row}: the record is longer than {limit} bytes{times}; is a closing quote \
                    missing?"
                )
            }
        }
    }
}

impl fmt::Display for Misfits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(true))
    }
}

/// Notes the misfits of one pass.
pub(crate) struct Notes {
    door: Door,
    places: HashMap<Reason, usize>,
    kinds: Vec<Kind>,
    others: u64,
    /// Rows of this chunk, ascending and by column, in which a reader found no number. The reader
    /// passes these values on as missing.
    unread: HashMap<String, Vec<u64>>,
}

impl Notes {
    pub(crate) fn new(door: Door) -> Self {
        Self { door, places: HashMap::new(), kinds: Vec::new(), others: 0, unread: HashMap::new() }
    }

    /// The door through which records are read.
    pub(crate) fn door(&self) -> Door {
        self.door
    }

    /// Notes that the record in this row, from 1, does not fit.
    pub(crate) fn note(&mut self, row: u64, reason: impl FnOnce() -> Reason) {
        if self.door == Door::Permissive {
            return;
        }
        let reason = reason();
        match self.places.get(&reason.kind()) {
            Some(place) => {
                let kind = &mut self.kinds[*place];
                kind.row = kind.row.min(row);
                kind.count += 1;
            }
            None if self.kinds.len() == MAX_KINDS => self.others += 1,
            None => {
                self.places.insert(reason.kind(), self.kinds.len());
                self.kinds.push(Kind { reason, row, count: 1 });
            }
        }
    }

    /// Notes that a reader found no number in this row and passes the value on as missing.
    pub(crate) fn note_unread(&mut self, row: u64, column: &str, advice: impl FnOnce() -> &'static str) {
        if self.door == Door::Permissive {
            return;
        }
        match self.unread.get_mut(column) {
            Some(rows) => rows.push(row),
            None => drop(self.unread.insert(column.to_owned(), vec![row])),
        }
        let advice = advice();
        self.note(row, || Reason::Cell { column: column.to_owned(), expected: "a number", advice });
    }

    /// The rows of this chunk in which a reader found no number in this column.
    pub(crate) fn take_unread(&mut self, column: &str) -> Vec<u64> {
        if self.unread.is_empty() {
            return Vec::new(); // spares looking up each of many columns
        }
        self.unread.remove(column).unwrap_or_default()
    }

    /// Forgets the rows of the last chunk; call it when a new chunk begins.
    pub(crate) fn clear_unread(&mut self) {
        self.unread.clear();
    }

    /// The misfits in order of rows; `None` if every record fits.
    pub(crate) fn misfits(mut self) -> Option<Misfits> {
        self.kinds.sort_by_key(|kind| kind.row);
        (!self.kinds.is_empty()).then_some(Misfits { kinds: self.kinds, others: self.others })
    }

    /// Fails if any misfit was noted.
    pub(crate) fn check(self, path: &Path) -> Result<(), DataError> {
        self.misfits().map_or(Ok(()), |misfits| Err(misfits.error(path)))
    }
}
