//! The identity of a table: a digest of its values that does not depend on where they are stored.
//!
//! # Definition
//! ```text
//! identity = H("sordino table, version 1\n" | schema | rows | columns | name kind H(values) ...)       (1)
//! ```
//! H is SHA-256. `schema` is the digest of the declarations, without the options of CSV files,
//! which say how a file is written and not what it holds. The columns are those that the schema
//! declares and does not ignore, and the unit's, in the order of their names. Counts are 8 bytes,
//! little endian; each text follows its length. `kind` is one byte: 0 for numbers, 1 for
//! categories, 2 for units.
//!
//! | value | in H(values) |
//! |---|---|
//! | number | its 8 bytes, little endian; -0 counts as 0, and there is one NaN, the missing value |
//! | category | the declared value that it spells, or else its own text; after its length |
//! | unit | its text, after its length |
//! | missing category or unit | the length 2^64 - 1 |
//!
//! # Guarantee
//! A table has one identity in memory and in every file format, if its values are the same: the
//! number 0.1 of 32 bits is not the text `0.1`.
//!
//! # Pitfalls
//! The identity of a small table can be guessed by trying tables. It is for ledgers, which are the
//! owner's, and not for reports.

use sha2::{Digest, Sha256};

use super::Pick;
use crate::binding::{Binding, Field};
use crate::raw::{Kind, RawChunk, RawColumn, Texts};
use crate::schema::{CategoryColumn, Column, CsvOptions, Schema};

const NAME: &[u8] = b"sordino table, version 1\n";
/// The bits of the one NaN.
const MISSING_NUMBER: u64 = 0x7ff8_0000_0000_0000;
/// The length that stands for a missing text.
const MISSING_TEXT: u64 = u64::MAX;

/// Computes the identity of a table, chunk by chunk.
pub(crate) struct Identifier {
    schema: [u8; 32],
    columns: Vec<Hashed>,
    rows: u64,
    buffer: Vec<u8>,
}

struct Hashed {
    name: String,
    index: usize,
    kind: HashedKind,
    hash: Sha256,
}

enum HashedKind {
    Number,
    Category(CategoryColumn),
    Unit,
}

impl Identifier {
    pub(crate) fn new(schema: &Schema, binding: &Binding) -> Self {
        let field = |field: &Field| {
            let kind = match &field.column {
                Column::Category(column) => HashedKind::Category(column.clone()),
                Column::Number(_) | Column::Ignore => HashedKind::Number,
            };
            Hashed { name: field.name.clone(), index: field.index, kind, hash: Sha256::new() }
        };
        let unit =
            |Pick { index, name, .. }| Hashed { name, index, kind: HashedKind::Unit, hash: Sha256::new() };
        let columns = binding.fields().iter().map(field).chain(binding.unit_pick().map(unit)).collect();
        let schema = schema.clone().with_csv(CsvOptions::default()).digest();
        Self { schema, columns, rows: 0, buffer: Vec::new() }
    }

    /// The columns to read.
    pub(crate) fn picks(&self) -> Vec<Pick> {
        let kind = |column: &Hashed| match column.kind {
            HashedKind::Number => Kind::Number,
            HashedKind::Category(_) | HashedKind::Unit => Kind::Text,
        };
        let pick =
            |column: &Hashed| Pick { index: column.index, name: column.name.clone(), kind: kind(column) };
        self.columns.iter().map(pick).collect()
    }

    /// Adds a chunk whose last columns are [`picks`](Self::picks), and takes them off.
    pub(crate) fn take(&mut self, chunk: &mut RawChunk) {
        self.rows += chunk.rows() as u64;
        let others = chunk.columns.len().saturating_sub(self.columns.len());
        for (column, raw) in self.columns.iter_mut().zip(chunk.columns.drain(others..)) {
            self.buffer.clear();
            match (&column.kind, &raw) {
                (HashedKind::Number, RawColumn::Numbers(values)) => numbers(values, &mut self.buffer),
                (HashedKind::Category(rules), raw) => {
                    texts(&raw.spelled(), |text| rules.spelling(text), &mut self.buffer);
                }
                (HashedKind::Number | HashedKind::Unit, raw) => {
                    texts(&raw.spelled(), |_| None, &mut self.buffer);
                }
            }
            column.hash.update(&self.buffer);
        }
    }

    pub(crate) fn finish(mut self) -> [u8; 32] {
        self.columns.sort_by(|a, b| a.name.cmp(&b.name));
        let mut hash = Sha256::new();
        hash.update(NAME);
        hash.update(self.schema);
        hash.update(self.rows.to_le_bytes());
        hash.update((self.columns.len() as u64).to_le_bytes());
        for column in self.columns {
            hash.update((column.name.len() as u64).to_le_bytes());
            hash.update(&column.name);
            let kind = match column.kind {
                HashedKind::Number => 0,
                HashedKind::Category(_) => 1,
                HashedKind::Unit => 2,
            };
            hash.update([kind]);
            hash.update(column.hash.finalize());
        }
        hash.finalize().into()
    }
}

fn numbers(values: &[f64], out: &mut Vec<u8>) {
    out.reserve(8 * values.len());
    for value in values {
        // Adding 0 turns -0 into 0, and changes nothing else.
        let bits = if value.is_nan() { MISSING_NUMBER } else { (value + 0.0).to_bits() };
        out.extend_from_slice(&bits.to_le_bytes());
    }
}

/// Each text, in the spelling that `declared` has for it.
fn texts<'v>(raw: &Texts, declared: impl Fn(&str) -> Option<&'v str>, out: &mut Vec<u8>) {
    for text in raw.iter() {
        let Some(text) = text else {
            out.extend_from_slice(&MISSING_TEXT.to_le_bytes());
            continue;
        };
        let spelled = std::str::from_utf8(text).ok().and_then(&declared).map(str::as_bytes).unwrap_or(text);
        out.extend_from_slice(&(spelled.len() as u64).to_le_bytes());
        out.extend_from_slice(spelled);
    }
}
