//! Arrow IPC files (also called Feather, version 2), memory-mapped: columns are read in place.
// Arrow has many types that are not read, and a new one is not read either.
#![expect(clippy::wildcard_enum_match_arm, reason = "types that are not named here are refused")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::{DataType, SchemaRef};

use super::kept::KeptFile;
use super::{Pick, ReadRows};
use crate::error::DataError;
use crate::map::MappedFile;
use crate::misfit::{Notes, TEXT_FOR_A_NUMBER};
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{HeaderColumn, TypeHint};

pub(crate) const FORMAT: &str = "Arrow IPC";
/// The bytes of the trailer at the end: the length of the footer, and `ARROW1`.
const TRAILER: usize = 10;

/// The columns of a file.
pub(crate) struct ArrowLayout {
    schema: SchemaRef,
}

impl ArrowLayout {
    pub(super) fn new(file: &KeptFile) -> Result<Self, DataError> {
        Ok(Self { schema: ArrowFile::of(file.path(), file.file())?.schema })
    }

    pub(super) fn header(&self) -> Vec<HeaderColumn> {
        header(&self.schema)
    }

    pub(super) fn rows(&self, kept: &KeptFile, picks: Vec<Pick>) -> Result<Box<dyn ReadRows>, DataError> {
        let file = ArrowFile::of(kept.path(), kept.file())?;
        if file.schema != self.schema {
            return Err(kept.changed());
        }
        Ok(Box::new(ArrowRows { kept: kept.clone(), file, picks, next: 0, batch: None, row: 0 }))
    }
}

/// Names and types of the columns.
pub(super) fn header(schema: &arrow_schema::Schema) -> Vec<HeaderColumn> {
    let column = |field: &Arc<arrow_schema::Field>| HeaderColumn {
        name: field.name().clone(),
        hint: match values(field.data_type()) {
            DataType::Boolean => TypeHint::Boolean,
            DataType::UInt8 => TypeHint::Byte,
            kind if kind.is_integer() || matches!(kind, DataType::Float32 | DataType::Float64) => {
                TypeHint::Number
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => TypeHint::Text,
            _ => TypeHint::Nested,
        },
    };
    schema.fields().iter().map(column).collect()
}

/// The type of the values of a dictionary, or the type itself.
fn values(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        _ => kind,
    }
}

/// A mapped file and the places of its batches.
pub(crate) struct ArrowFile {
    path: PathBuf,
    pub(crate) map: MappedFile,
    bytes: Buffer,
    pub(crate) schema: SchemaRef,
    decoder: FileDecoder,
    batches: Vec<Block>,
}

impl ArrowFile {
    /// Maps an open file; the path is for messages.
    pub(crate) fn of(path: &Path, file: &File) -> Result<Self, DataError> {
        let map = MappedFile::of(file).map_err(|source| DataError::io(path, source))?;
        let bytes = Buffer::from(map.bytes());
        let end = bytes.len().checked_sub(TRAILER).ok_or_else(|| damaged(path, "it is too short"))?;
        // The slice has TRAILER bytes.
        let trailer =
            <[u8; TRAILER]>::try_from(&bytes[end..]).map_err(|_| damaged(path, "it is too short"))?;
        let length = read_footer_length(trailer).map_err(|error| damaged(path, error))?;
        let start =
            end.checked_sub(length).ok_or_else(|| damaged(path, "its footer is longer than the file"))?;
        let footer = root_as_footer(&bytes[start..end]).map_err(|error| damaged(path, error))?;
        let schema = footer.schema().ok_or_else(|| damaged(path, "it has no schema"))?;
        let schema: SchemaRef = Arc::new(try_fb_to_schema(schema).map_err(|error| damaged(path, error))?);
        let mut decoder = FileDecoder::new(schema.clone(), footer.version());
        for block in footer.dictionaries().iter().flatten() {
            let content = content(path, &bytes, block)?;
            decoder.read_dictionary(block, &content).map_err(|error| damaged(path, error))?;
        }
        let batches = footer.recordBatches().iter().flatten().copied().collect();
        Ok(Self { path: path.to_owned(), map, bytes, schema, decoder, batches })
    }

    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Batch number `index`; its columns point into the map.
    pub(crate) fn batch(&self, index: usize) -> Result<RecordBatch, DataError> {
        let block = &self.batches[index];
        let content = content(&self.path, &self.bytes, block)?;
        let batch = self.decoder.read_record_batch(block, &content);
        batch
            .map_err(|error| damaged(&self.path, error))?
            .ok_or_else(|| damaged(&self.path, "a batch is empty"))
    }
}

/// The bytes of a block, if they are all within the file.
fn content(path: &Path, bytes: &Buffer, block: &Block) -> Result<Buffer, DataError> {
    let place = || {
        let start = usize::try_from(block.offset()).ok()?;
        let metadata = usize::try_from(block.metaDataLength()).ok()?;
        let length = usize::try_from(block.bodyLength()).ok()?.checked_add(metadata)?;
        // A message starts with eight bytes of its own.
        (metadata >= 8 && start.checked_add(length)? <= bytes.len()).then_some((start, length))
    };
    let (start, length) = place().ok_or_else(|| damaged(path, "a batch lies outside of the file"))?;
    let content = bytes.slice_with_length(start, length);
    check_buffers(path, &content, block)?;
    Ok(content)
}

/// The largest column of a batch in bytes, uncompressed: a damaged file may state any length.
const MAX_COLUMN_BYTES: i64 = 1 << 32;

/// Checks that every buffer of a batch lies within its body, and that none claims to unpack to more
/// than [`MAX_COLUMN_BYTES`]: the decoder trusts both.
fn check_buffers(path: &Path, content: &Buffer, block: &Block) -> Result<(), DataError> {
    // The function `content` has checked this length.
    let metadata = block.metaDataLength() as usize;
    let start = if content[..4] == [0xff; 4] { 8 } else { 4 };
    let message = root_as_message(&content[start..metadata]).map_err(|error| damaged(path, error))?;
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch) = message.header_as_record_batch().or(dictionary) else { return Ok(()) };
    let body = &content[metadata..];
    for buffer in batch.buffers().iter().flatten() {
        let place = || {
            let start = usize::try_from(buffer.offset()).ok()?;
            body.get(start..start.checked_add(usize::try_from(buffer.length()).ok()?)?)
        };
        let bytes = place().ok_or_else(|| damaged(path, "a column lies outside of its batch"))?;
        let unpacked = bytes.first_chunk().map_or(0, |length| i64::from_le_bytes(*length));
        if batch.compression().is_some() && unpacked > MAX_COLUMN_BYTES {
            return Err(damaged(path, "a column would unpack to more than 4 GiB"));
        }
    }
    Ok(())
}

struct ArrowRows {
    kept: KeptFile,
    file: ArrowFile,
    picks: Vec<Pick>,
    /// The batch to be opened next.
    next: usize,
    batch: Option<RecordBatch>,
    /// The next row of the open batch.
    row: usize,
}

impl ReadRows for ArrowRows {
    fn read(&mut self, chunk: &mut RawChunk, rows: usize, misfits: &mut Notes) -> Result<(), DataError> {
        let mut wanted = rows;
        while wanted > 0 {
            let Some(batch) = self.batch.take() else {
                if self.next == self.file.len() {
                    break;
                }
                (self.batch, self.row) = (Some(self.file.batch(self.next)?), 0);
                self.next += 1;
                continue;
            };
            let take = wanted.min(batch.num_rows() - self.row);
            for (pick, column) in self.picks.iter().zip(&mut chunk.columns) {
                let part = batch.column(pick.index).slice(self.row, take);
                for row in push_all(part.as_ref(), column) {
                    let row = chunk.first_row + (chunk.present.len() + row) as u64 + 1;
                    misfits.note_unread(row, &pick.name, || TEXT_FOR_A_NUMBER);
                }
            }
            chunk.present.resize(chunk.present.len() + take, true);
            self.row += take;
            wanted -= take;
            if self.row < batch.num_rows() {
                self.batch = Some(batch);
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<[u8; 32], DataError> {
        self.kept.digest()
    }
}

/// Adds all values to the column. Returns the rows whose text is no number in a column of numbers.
pub(super) fn push_all(array: &dyn Array, column: &mut RawColumn) -> Vec<usize> {
    match array.data_type() {
        DataType::Boolean => {
            for value in array.as_boolean() {
                match value {
                    Some(value) => column.push_boolean(value),
                    None => column.push_missing(),
                }
            }
            Vec::new()
        }
        DataType::Int8 => integers::<Int8Type>(array, column),
        DataType::Int16 => integers::<Int16Type>(array, column),
        DataType::Int32 => integers::<Int32Type>(array, column),
        DataType::Int64 => integers::<Int64Type>(array, column),
        DataType::UInt8 => integers::<UInt8Type>(array, column),
        DataType::UInt16 => integers::<UInt16Type>(array, column),
        DataType::UInt32 => integers::<UInt32Type>(array, column),
        DataType::UInt64 => integers::<UInt64Type>(array, column),
        DataType::Float32 => floats::<Float32Type>(array, column),
        DataType::Float64 => floats::<Float64Type>(array, column),
        DataType::Utf8 => texts(array.as_string::<i32>().iter(), column),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter(), column),
        DataType::Utf8View => texts(array.as_string_view().iter(), column),
        DataType::Dictionary(..) => dictionary(array, column),
        // `rows` refuses columns of other types.
        _ => {
            (0..array.len()).for_each(|_| column.push_missing());
            Vec::new()
        }
    }
}

fn integers<T: ArrowPrimitiveType<Native: Into<i128>>>(
    array: &dyn Array,
    column: &mut RawColumn,
) -> Vec<usize> {
    for value in array.as_primitive::<T>() {
        match value {
            Some(value) => column.push_integer(value.into()),
            None => column.push_missing(),
        }
    }
    Vec::new()
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array, column: &mut RawColumn) -> Vec<usize> {
    let floats = array.as_primitive::<T>();
    // Without missing values, the whole array at once.
    if let (RawColumn::Numbers(numbers), 0) = (&mut *column, floats.null_count()) {
        numbers.extend(floats.values().iter().map(|value| -> f64 { (*value).into() }));
        return Vec::new();
    }
    for value in floats {
        match value {
            Some(value) => column.push_number(value.into()),
            None => column.push_missing(),
        }
    }
    Vec::new()
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>, column: &mut RawColumn) -> Vec<usize> {
    let mut refused = Vec::new();
    for (row, text) in texts.enumerate() {
        match text {
            None => column.push_missing(),
            Some(text) => {
                if !column.push_text(text.as_bytes()) {
                    refused.push(row);
                }
            }
        }
    }
    refused
}

fn dictionary(array: &dyn Array, column: &mut RawColumn) -> Vec<usize> {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        (0..array.len()).for_each(|_| column.push_missing());
        return Vec::new();
    }
    let mut refused = Vec::new();
    let keys = dictionary.normalized_keys();
    for (row, key) in keys.into_iter().enumerate() {
        if dictionary.is_null(row) || key >= dictionary.values().len() {
            column.push_missing();
        } else if !push_all(dictionary.values().slice(key, 1).as_ref(), column).is_empty() {
            refused.push(row);
        }
    }
    refused
}

pub(crate) fn damaged(path: &Path, reason: impl ToString) -> DataError {
    DataError::Damaged { path: path.to_owned(), format: FORMAT, reason: reason.to_string() }
}
