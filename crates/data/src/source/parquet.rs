//! Parquet files: flat columns, one row group after the other.

use std::io::{BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::schema::types::Type;

use super::kept::{KeptFile, KeptReader};
use super::{Pick, ReadRows};
use crate::error::DataError;
use crate::misfit::{Notes, TEXT_FOR_A_NUMBER};
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{HeaderColumn, TypeHint};

pub(super) const FORMAT: &str = "Parquet";

/// The columns of a file.
#[derive(PartialEq)]
pub(crate) struct ParquetLayout {
    fields: Vec<Leaf>,
}

#[derive(Clone, PartialEq)]
struct Leaf {
    name: String,
    /// Its index among the leaves of the schema; `None` for a nested column.
    leaf: Option<usize>,
    kind: Kind,
}

/// The meaning of a column's bytes.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Boolean,
    Integer,
    Unsigned,
    /// Whole multiples of 10^-scale.
    Decimal(i32),
    Float,
    Text,
    Other,
}

impl ParquetLayout {
    pub(super) fn new(file: &KeptFile) -> Result<Self, DataError> {
        Ok(Self::of(&open(file)?))
    }

    fn of(file: &SerializedFileReader<Chunks>) -> Self {
        let root = file.metadata().file_metadata().schema_descr().root_schema();
        let mut next = 0;
        let mut fields = Vec::new();
        for field in root.get_fields() {
            let leaves = leaves(field);
            let is_repeated = field.get_basic_info().has_repetition()
                && field.get_basic_info().repetition() == Repetition::REPEATED;
            let is_flat = field.is_primitive() && !is_repeated;
            let kind = if is_flat { kind(field) } else { Kind::Other };
            fields.push(Leaf { name: field.name().to_owned(), leaf: is_flat.then_some(next), kind });
            next += leaves;
        }
        Self { fields }
    }

    pub(super) fn header(&self) -> Vec<HeaderColumn> {
        let hint = |leaf: &Leaf| match leaf.kind {
            Kind::Boolean => TypeHint::Boolean,
            Kind::Integer | Kind::Unsigned | Kind::Decimal(_) | Kind::Float => TypeHint::Number,
            Kind::Text => TypeHint::Text,
            Kind::Other => TypeHint::Nested,
        };
        self.fields.iter().map(|leaf| HeaderColumn { name: leaf.name.clone(), hint: hint(leaf) }).collect()
    }

    pub(super) fn rows(&self, kept: &KeptFile, picks: Vec<Pick>) -> Result<Box<dyn ReadRows>, DataError> {
        let leaves = picks.iter().map(|pick| self.fields[pick.index].clone()).collect();
        let file = open(kept)?;
        if Self::of(&file) != *self {
            return Err(kept.changed());
        }
        Ok(Box::new(ParquetRows { kept: kept.clone(), file, leaves, group: 0, readers: Vec::new(), left: 0 }))
    }
}

fn leaves(field: &Type) -> usize {
    if field.is_primitive() { 1 } else { field.get_fields().iter().map(|field| leaves(field)).sum() }
}

fn kind(field: &Type) -> Kind {
    let converted = field.get_basic_info().converted_type();
    match (field.get_physical_type(), converted) {
        (Physical::INT32 | Physical::INT64, ConvertedType::DECIMAL) => Kind::Decimal(field.get_scale()),
        (
            Physical::INT32 | Physical::INT64,
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64,
        ) => Kind::Unsigned,
        (Physical::BOOLEAN, _) => Kind::Boolean,
        (Physical::INT32 | Physical::INT64, _) => Kind::Integer,
        (Physical::FLOAT | Physical::DOUBLE, _) => Kind::Float,
        (Physical::BYTE_ARRAY, ConvertedType::DECIMAL) => Kind::Other,
        (Physical::BYTE_ARRAY, _) => Kind::Text,
        (Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY, _) => Kind::Other,
    }
}

struct ParquetRows {
    kept: KeptFile,
    file: SerializedFileReader<Chunks>,
    leaves: Vec<Leaf>,
    /// The row group to open next.
    group: usize,
    readers: Vec<ColumnReader>,
    /// Rows of the open group that were not read.
    left: usize,
}

impl ReadRows for ParquetRows {
    fn read(&mut self, chunk: &mut RawChunk, rows: usize, misfits: &mut Notes) -> Result<(), DataError> {
        let mut wanted = rows;
        while wanted > 0 && self.open_group()? {
            let take = wanted.min(self.left);
            for ((leaf, reader), column) in self.leaves.iter().zip(&mut self.readers).zip(&mut chunk.columns)
            {
                let first = chunk.first_row + chunk.present.len() as u64;
                let mut place = Place { path: self.kept.path(), leaf, first, misfits };
                place.read(reader, take, column)?;
            }
            chunk.present.resize(chunk.present.len() + take, true);
            self.left -= take;
            wanted -= take;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<[u8; 32], DataError> {
        self.kept.digest()
    }
}

impl ParquetRows {
    /// Opens row groups until there is a row to read; false at the end of the file.
    fn open_group(&mut self) -> Result<bool, DataError> {
        while self.left == 0 {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let failed = |error| damaged(self.kept.path(), &error);
            let group = self.file.get_row_group(self.group).map_err(failed)?;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            // Only flat columns are read, and each has its leaf.
            let readers =
                self.leaves.iter().filter_map(|leaf| leaf.leaf).map(|leaf| group.get_column_reader(leaf));
            self.readers = readers.collect::<Result<_, _>>().map_err(failed)?;
            self.group += 1;
        }
        Ok(true)
    }
}

/// A run of rows in one column.
struct Place<'a> {
    path: &'a Path,
    leaf: &'a Leaf,
    first: u64,
    misfits: &'a mut Notes,
}

impl Place<'_> {
    fn read(
        &mut self,
        reader: &mut ColumnReader,
        rows: usize,
        column: &mut RawColumn,
    ) -> Result<(), DataError> {
        let kind = self.leaf.kind;
        let integer = |value: i64, unsigned: u64, column: &mut RawColumn| match kind {
            Kind::Decimal(scale) => column.push_number(value as f64 / 10f64.powi(scale)),
            Kind::Unsigned => column.push_integer(unsigned.into()),
            Kind::Boolean | Kind::Integer | Kind::Float | Kind::Text | Kind::Other => {
                column.push_integer(value.into())
            }
        };
        match reader {
            ColumnReader::BoolColumnReader(reader) => self.typed(reader, rows, column, |value, column| {
                column.push_boolean(*value);
                true
            }),
            ColumnReader::Int32ColumnReader(reader) => self.typed(reader, rows, column, |value, column| {
                integer((*value).into(), (*value as u32).into(), column);
                true
            }),
            ColumnReader::Int64ColumnReader(reader) => self.typed(reader, rows, column, |value, column| {
                integer(*value, *value as u64, column);
                true
            }),
            ColumnReader::FloatColumnReader(reader) => self.typed(reader, rows, column, |value, column| {
                column.push_number((*value).into());
                true
            }),
            ColumnReader::DoubleColumnReader(reader) => self.typed(reader, rows, column, |value, column| {
                column.push_number(*value);
                true
            }),
            ColumnReader::ByteArrayColumnReader(reader) => {
                self.typed(reader, rows, column, |value, column| column.push_text(value.data()))
            }
            // `rows` refuses columns of these types.
            ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
                Err(self.wrong("a type that is not read".to_owned()))
            }
        }
    }

    /// Reads `rows` values. `push` adds a value to the column and returns whether it fits.
    fn typed<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        column: &mut RawColumn,
        push: impl Fn(&T::T, &mut RawColumn) -> bool,
    ) -> Result<(), DataError> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut row = 0;
        while row < rows {
            levels.clear();
            values.clear();
            let read = reader.read_records(rows - row, Some(&mut levels), None, &mut values);
            let (records, count, _) = read.map_err(|error| damaged(self.path, &error))?;
            if records == 0 {
                return Err(self.wrong(format!("column `{}` ends before its last row", self.leaf.name)));
            }
            // A required column has no levels.
            let is_there = |at: usize| count == records || levels.get(at).is_some_and(|level| *level > 0);
            let mut values = values.iter();
            for at in 0..records {
                match values.as_slice().first().filter(|_| is_there(at)) {
                    Some(value) => {
                        values.next();
                        if !push(value, column) {
                            let row = self.first + (row + at) as u64 + 1;
                            self.misfits.note_unread(row, &self.leaf.name, || TEXT_FOR_A_NUMBER);
                        }
                    }
                    None => column.push_missing(),
                }
            }
            row += records;
        }
        Ok(())
    }

    fn wrong(&self, reason: String) -> DataError {
        DataError::Damaged { path: self.path.to_owned(), format: FORMAT, reason }
    }
}

/// A kept file, for the reader of the Parquet library.
struct Chunks(KeptFile);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.length().unwrap_or(0)
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<KeptReader>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.0.reader(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let cut = || ParquetError::EOF("the file ends within a page".to_owned());
        // A damaged file may ask for any length.
        if length as u64 > self.len().saturating_sub(start) {
            return Err(cut());
        }
        let mut bytes = Vec::with_capacity(length);
        let read = self.0.reader(start).take(length as u64).read_to_end(&mut bytes)?;
        if read == length { Ok(bytes.into()) } else { Err(cut()) }
    }
}

fn open(file: &KeptFile) -> Result<SerializedFileReader<Chunks>, DataError> {
    SerializedFileReader::new(Chunks(file.clone())).map_err(|error| damaged(file.path(), &error))
}

fn damaged(path: &Path, error: &ParquetError) -> DataError {
    // Messages of the Parquet library speak of pages and bytes, not of values.
    DataError::Damaged { path: path.to_owned(), format: FORMAT, reason: error.to_string() }
}
