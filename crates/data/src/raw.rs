//! Data as it came: not bounded, and so not to be computed with.
//!
//! # Guarantee
//! A [`RawTable`] can be made and can be turned into a [`Table`](crate::Table) of bounded values;
//! nothing else. There is no way to look at a value in between, so no statistic of raw data can be
//! taken by mistake, and none can be used after the bounded table is there: bounding consumes it.

use std::borrow::Cow;
use std::fmt;

use crate::error::DataError;

/// Columns of raw values.
pub struct RawTable {
    pub(crate) names: Vec<String>,
    pub(crate) chunk: RawChunk,
}

impl RawTable {
    /// An empty table without columns; add them.
    pub fn new() -> Self {
        Self { names: Vec::new(), chunk: RawChunk::default() }
    }

    /// With one more column of numbers; NaN is a missing value.
    pub fn numbers(self, name: &str, values: Vec<f64>) -> Result<Self, DataError> {
        let length = values.len();
        self.column(name, RawColumn::Numbers(values), length)
    }

    /// With one more column of texts.
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
    /// Records that could be read at all.
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

    /// One more record, of which nothing is known.
    pub(crate) fn push_absent(&mut self) {
        self.present.push(false);
        self.columns.iter_mut().for_each(RawColumn::push_missing);
    }
}

/// What a reader is to make of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
}

pub(crate) enum RawColumn {
    /// NaN: missing.
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

    /// A whole number; as text it is exact, however large: it may name a unit.
    pub(crate) fn push_integer(&mut self, value: i128) {
        match self {
            Self::Numbers(values) => values.push(value as f64),
            Self::Texts(texts) => texts.push(Some(value.to_string().as_bytes())),
        }
    }

    /// False or true; as numbers 0 and 1.
    #[cfg(any(feature = "parquet", feature = "arrow"))]
    pub(crate) fn push_boolean(&mut self, value: bool) {
        match self {
            Self::Numbers(values) => values.push(f64::from(u8::from(value))),
            Self::Texts(texts) => texts.push(Some(if value { b"true" } else { b"false" })),
        }
    }

    /// Its values as texts: numbers by their shortest spelling.
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

    /// Text; where a number is wanted, the number it spells. Says whether
    /// it does; what does not is missing.
    #[cfg(any(feature = "parquet", feature = "arrow"))]
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

    /// A number; where text is wanted, its shortest spelling (whole numbers without a point).
    pub(crate) fn push_number(&mut self, value: f64) {
        match self {
            Self::Numbers(values) => values.push(value),
            Self::Texts(texts) if value.is_nan() => texts.push(None),
            Self::Texts(texts) => texts.push(Some(value.to_string().as_bytes())),
        }
    }
}

/// Texts one after the other; bytes, since a file may hold anything.
#[derive(Clone, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    /// Where each ends, and whether it is there.
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

    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, is_there)| {
            let text = &self.bytes[start..end];
            start = end;
            is_there.then_some(text)
        })
    }
}
