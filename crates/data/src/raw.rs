//! Raw data: not bounded yet, so nothing may compute with it.
//!
//! # Guarantee
//! A [`RawTable`] can be built and turned into a [`Table`](crate::Table) of bounded values, and
//! nothing else. No method shows a raw value, so nobody takes a statistic of raw data by mistake,
//! and bounding consumes the raw table.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::error::DataError;
use crate::schema::{HeaderColumn, TypeHint};
use crate::source::{Columns, Values};

/// Columns of raw values.
pub struct RawTable {
    pub(crate) names: Vec<String>,
    pub(crate) chunk: RawChunk,
}

impl RawTable {
    /// An empty table without columns.
    pub fn new() -> Self {
        Self { names: Vec::new(), chunk: RawChunk::default() }
    }

    /// Adds a column of numbers; NaN is a missing value.
    pub fn numbers(self, name: &str, values: Vec<f64>) -> Result<Self, DataError> {
        let length = values.len();
        self.column(name, RawColumn::Numbers(values), length)
    }

    /// Adds a column of texts; `None` is a missing value.
    pub fn texts<'a>(
        self,
        name: &str,
        values: impl IntoIterator<Item = Option<&'a str>>,
    ) -> Result<Self, DataError> {
        let mut texts = Texts::default();
        values.into_iter().for_each(|value| texts.push(value.map(str::as_bytes)));
        let length = texts.len();
        self.column(name, RawColumn::Texts(texts), length)
    }

    fn column(mut self, name: &str, column: RawColumn, length: usize) -> Result<Self, DataError> {
        if self.chunk.columns.is_empty() {
            self.chunk.present = vec![true; length];
        } else if self.chunk.rows() != length {
            let (column, expected) = (name.to_owned(), self.chunk.rows());
            return Err(DataError::Lengths { column, expected, got: length });
        }
        self.names.push(name.to_owned());
        self.chunk.columns.push(column);
        Ok(self)
    }
}

/// A table that a program made can be read like a file: see
/// [`Source::memory`](crate::Source::memory).
impl Columns for RawTable {
    fn header(&self) -> Vec<HeaderColumn> {
        let column = |(name, column): (&String, &RawColumn)| {
            let hint = match column {
                RawColumn::Numbers(_) => TypeHint::Number,
                RawColumn::Texts(_) => TypeHint::Text,
            };
            HeaderColumn { name: name.clone(), hint }
        };
        self.names.iter().zip(&self.chunk.columns).map(column).collect()
    }

    fn rows(&self) -> usize {
        self.chunk.rows()
    }

    fn read(&self, column: usize, rows: Range<usize>, out: &mut Values<'_>) {
        match &self.chunk.columns[column] {
            RawColumn::Numbers(values) => out.numbers(values[rows].iter().copied()),
            // Texts that are not UTF-8 come from files alone.
            RawColumn::Texts(texts) => texts.slice(rows).for_each(|text| {
                match text.map(|text| std::str::from_utf8(text).unwrap_or_default()) {
                    Some(text) => out.text(text),
                    None => out.missing(),
                }
            }),
        }
    }
}

impl Default for RawTable {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RawTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawTable").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Consecutive records of a table, column by column.
#[derive(Default)]
pub(crate) struct RawChunk {
    /// The number of the first record, from 0.
    pub(crate) first_row: u64,
    /// Whether each record could be read.
    pub(crate) present: Vec<bool>,
    pub(crate) columns: Vec<RawColumn>,
}

impl RawChunk {
    pub(crate) fn rows(&self) -> usize {
        self.present.len()
    }

    /// An empty chunk with columns of these types.
    pub(crate) fn of(kinds: &[Kind]) -> Self {
        let columns = kinds.iter().map(|kind| match kind {
            Kind::Number => RawColumn::Numbers(Vec::new()),
            Kind::Text => RawColumn::Texts(Texts::default()),
        });
        Self { first_row: 0, present: Vec::new(), columns: columns.collect() }
    }

    /// Adds a record that could not be read: all its values are missing.
    pub(crate) fn push_absent(&mut self) {
        self.present.push(false);
        self.columns.iter_mut().for_each(RawColumn::push_missing);
    }
}

/// The type as which a reader reads a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
}

pub(crate) enum RawColumn {
    /// NaN is a missing value.
    Numbers(Vec<f64>),
    Texts(Texts),
}

impl RawColumn {
    pub(crate) fn push_missing(&mut self) {
        match self {
            Self::Numbers(values) => values.push(f64::NAN),
            Self::Texts(texts) => texts.push(None),
        }
    }

    /// Adds a whole number. As text it stays exact, however large, because it may name a unit.
    pub(crate) fn push_integer(&mut self, value: i128) {
        match self {
            Self::Numbers(values) => values.push(value as f64),
            Self::Texts(texts) => texts.push(Some(value.to_string().as_bytes())),
        }
    }

    /// Adds a boolean; as a number, 0 or 1.
    pub(crate) fn push_boolean(&mut self, value: bool) {
        match self {
            Self::Numbers(values) => values.push(f64::from(u8::from(value))),
            Self::Texts(texts) => texts.push(Some(if value { b"true" } else { b"false" })),
        }
    }

    /// The values as texts; a number in its shortest spelling.
    pub(crate) fn spelled(&self) -> Cow<'_, Texts> {
        match self {
            Self::Texts(texts) => Cow::Borrowed(texts),
            Self::Numbers(values) => {
                let mut texts = Texts::default();
                for value in values {
                    texts.push((!value.is_nan()).then(|| value.to_string()).as_deref().map(str::as_bytes));
                }
                Cow::Owned(texts)
            }
        }
    }

    /// Adds a text; to a column of numbers, the number that it spells. If it spells none, adds a
    /// missing value and returns false.
    pub(crate) fn push_text(&mut self, text: &[u8]) -> bool {
        match self {
            Self::Texts(texts) => texts.push(Some(text)),
            Self::Numbers(values) => {
                let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
                values.push(number.unwrap_or(f64::NAN));
                return number.is_some();
            }
        }
        true
    }

    /// Adds a number; to a column of texts, its shortest spelling (whole numbers without a point).
    pub(crate) fn push_number(&mut self, value: f64) {
        match self {
            Self::Numbers(values) => values.push(value),
            Self::Texts(texts) if value.is_nan() => texts.push(None),
            Self::Texts(texts) => texts.push(Some(value.to_string().as_bytes())),
        }
    }
}

/// Texts, one after the other in memory. They are bytes: a file may hold any.
#[derive(Clone, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    /// Where each text ends, and false if the value is missing.
    ends: Vec<(usize, bool)>,
}

impl Texts {
    pub(crate) fn push(&mut self, text: Option<&[u8]>) {
        self.bytes.extend_from_slice(text.unwrap_or_default());
        self.ends.push((self.bytes.len(), text.is_some()));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The texts in these places.
    pub(crate) fn slice(&self, rows: Range<usize>) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = rows.start.checked_sub(1).map_or(0, |before| self.ends[before].0);
        self.ends[rows].iter().map(move |&(end, is_there)| {
            let text = &self.bytes[start..end];
            start = end;
            is_there.then_some(text)
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        self.slice(0..self.len())
    }
}
