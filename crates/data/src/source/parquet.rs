//! Parquet: flat columns, one group of rows after the other.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;

use super::{Door, Pick, ReadRows};
use crate::error::DataError;
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{HeaderColumn, TypeHint};

pub(super) const FORMAT: &str = "Parquet";

/// The columns of a file.
pub(crate) struct ParquetLayout {
    fields: Vec<Leaf>,
}

#[derive(Clone)]
struct Leaf {
    name: String,
    /// Its place among the leaves of the schema; nothing for a column that is nested.
    leaf: Option<usize>,
    kind: Kind,
}

/// What a value means beyond its bytes.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Boolean,
    Integer,
    Unsigned,
    /// Whole numbers of 10^-scale.
    Decimal(i32),
    Float,
    Text,
    Other,
}

impl ParquetLayout {
    pub(super) fn new(path: &Path) -> Result<Self, DataError> {
        let file = open(path)?;
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
        Ok(Self { fields })
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

    pub(super) fn rows(
        &self,
        path: &Path,
        picks: Vec<Pick>,
        door: Door,
    ) -> Result<Box<dyn ReadRows>, DataError> {
        let leaves: Vec<Leaf> = picks.iter().map(|pick| self.fields[pick.index].clone()).collect();
        if let Some(nested) = leaves.iter().find(|leaf| leaf.kind == Kind::Other) {
            return Err(DataError::Unsupported {
                path: path.to_owned(),
                what: format!(
                    "column `{}`, a list, a structure or a type that is no number and no text",
                    nested.name
                ),
                instead: "flatten or convert it, or set kind = \"ignore\" in the schema",
            });
        }
        let file = open(path)?;
        Ok(Box::new(ParquetRows {
            path: path.to_owned(),
            file,
            leaves,
            door,
            group: 0,
            readers: Vec::new(),
            left: 0,
        }))
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
    path: PathBuf,
    file: SerializedFileReader<File>,
    leaves: Vec<Leaf>,
    door: Door,
    /// The group of rows to be opened next.
    group: usize,
    readers: Vec<ColumnReader>,
    /// Rows of the open group that were not read.
    left: usize,
}

impl ReadRows for ParquetRows {
    fn read(&mut self, chunk: &mut RawChunk, rows: usize) -> Result<(), DataError> {
        let mut wanted = rows;
        while wanted > 0 && self.open_group()? {
            let take = wanted.min(self.left);
            for ((leaf, reader), column) in self.leaves.iter().zip(&mut self.readers).zip(&mut chunk.columns)
            {
                let place = Place {
                    path: &self.path,
                    leaf,
                    door: self.door,
                    first: chunk.first_row + chunk.present.len() as u64,
                };
                place.read(reader, take, column)?;
            }
            chunk.present.resize(chunk.present.len() + take, true);
            self.left -= take;
            wanted -= take;
        }
        Ok(())
    }
}

impl ParquetRows {
    /// Makes sure that there is a row to read; not at the end.
    fn open_group(&mut self) -> Result<bool, DataError> {
        while self.left == 0 {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let failed = |error| damaged(&self.path, &error);
            let group = self.file.get_row_group(self.group).map_err(failed)?;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            // Only flat columns are here: each has its leaf.
            let readers =
                self.leaves.iter().filter_map(|leaf| leaf.leaf).map(|leaf| group.get_column_reader(leaf));
            self.readers = readers.collect::<Result<_, _>>().map_err(failed)?;
            self.group += 1;
        }
        Ok(true)
    }
}

/// One column of one stretch of rows.
struct Place<'a> {
    path: &'a Path,
    leaf: &'a Leaf,
    door: Door,
    first: u64,
}

impl Place<'_> {
    fn read(&self, reader: &mut ColumnReader, rows: usize, column: &mut RawColumn) -> Result<(), DataError> {
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

    /// `push` adds a value and says whether it has a place in the column.
    fn typed<T: DataType>(
        &self,
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
            // A column that must have values has no levels.
            let is_there = |at: usize| count == records || levels.get(at).is_some_and(|level| *level > 0);
            let mut values = values.iter();
            for at in 0..records {
                match values.as_slice().first().filter(|_| is_there(at)) {
                    Some(value) => {
                        values.next();
                        if !push(value, column) && self.door == Door::Strict {
                            return Err(self.not_a_number(row + at));
                        }
                    }
                    None => column.push_missing(),
                }
            }
            row += records;
        }
        Ok(())
    }

    fn not_a_number(&self, row: usize) -> DataError {
        DataError::Cell {
            path: self.path.to_owned(),
            row: self.first + row as u64 + 1,
            column: self.leaf.name.clone(),
            expected: "a number".to_owned(),
            advice: "the file has text there; correct it, or declare the column as a category",
        }
    }

    fn wrong(&self, reason: String) -> DataError {
        DataError::Damaged { path: self.path.to_owned(), format: FORMAT, reason }
    }
}

fn open(path: &Path) -> Result<SerializedFileReader<File>, DataError> {
    let file = File::open(path).map_err(|source| DataError::io(path, source))?;
    SerializedFileReader::new(file).map_err(|error| damaged(path, &error))
}

fn damaged(path: &Path, error: &ParquetError) -> DataError {
    // Messages of the format's library speak of pages and bytes, not of values.
    DataError::Damaged { path: path.to_owned(), format: FORMAT, reason: error.to_string() }
}
