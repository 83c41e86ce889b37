//! Encoded records in a file, written once and then mapped: for data that is larger than memory.
//!
//! # Format
//! An Arrow IPC file, so that other programs can look at it: one batch for each block, with the
//! columns `row` (a list of fixed size of `f32`; null for an empty slot) and, if there is one,
//! `target` (`f32`). Its metadata hold the encoding and the limit of records of a unit. It is
//! written under another name and renamed: it is whole, or it is not there.
//!
//! # Guarantee
//! What is mapped was encoded by [`Loader::cached`]. [`Encoded::open_cache`] checks a file that was
//! left by an earlier run: a row that lies outside of what its encoding allows is an empty slot, so
//! that a damaged file cannot exceed a sensitivity.
//!
//! # Pitfalls
//! - The cache holds the records themselves, unprotected: it belongs where the data is.
//! - Do not write to it while it is in use.
//! - Which records of a unit are kept was chosen when it was written.
//!
//! # Memory
//! A pass over all blocks gives the pages of each back when it is read
//! ([`BlockView::done`](crate::BlockView::done)), so that the process holds a few blocks at a time
//! however long the file is. The system keeps what it has room for in its own cache.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, Float32Array, RecordBatch};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema, SchemaRef};
use sordino_noise::Bits;

use crate::encoded::{Block, Encoded, Floats, ROWS_PER_BLOCK};
use crate::encoding::Encoding;
use crate::error::DataError;
use crate::limits::ContributionLimit;
use crate::loader::Loader;
use crate::source::arrow::{ArrowFile, FORMAT, damaged};
use crate::source::columnar::fenced;
use crate::survey::Wanted;

const ENCODING: &str = "sordino_encoding";

impl Loader<'_> {
    /// Encodes the file into a cache at `path`, block by block, and maps it.
    pub fn cached<R: Bits + ?Sized>(
        &self,
        encoding: &Encoding,
        path: &Path,
        bits: &mut R,
    ) -> Result<Encoded, DataError> {
        let beside = path.with_extension(format!("part-{}", std::process::id()));
        let written = self.write_cache(encoding, &beside, bits);
        let placed = written.and_then(|written| {
            std::fs::rename(&beside, path).map_err(|e| DataError::io(path, e))?;
            Ok(written)
        });
        if placed.is_err() {
            // The error that matters is the one above.
            let _ = std::fs::remove_file(&beside);
        }
        // What was written is mapped, whatever stands at its path by now.
        let (file, content) = placed?;
        open(path, &file, encoding, Some(content))
    }

    /// Returns the file that was written, and the content of what it was written from.
    fn write_cache<R: Bits + ?Sized>(
        &self,
        encoding: &Encoding,
        path: &Path,
        bits: &mut R,
    ) -> Result<(File, [u8; 32]), DataError> {
        let failed = |error: ArrowError| damaged(path, error);
        let start =
            |output, has_target| FileWriter::try_new(output, &layout(encoding, has_target)).map_err(failed);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|source| DataError::io(path, source))?;
        let mut output = Some(BufWriter::with_capacity(1 << 20, file));
        let mut writer: Option<FileWriter<BufWriter<File>>> = None;
        let survey = self.choice(Wanted::Encoding(encoding), bits)?;
        let filled = self.fill(encoding, None, survey.as_ref(), &mut |_, block| {
            if let Some(output) = output.take() {
                writer = Some(start(output, !block.targets.is_empty())?);
            }
            let Some(writer) = &mut writer else { return Ok(()) };
            let batch = batch(encoding, writer.schema().clone(), block).map_err(failed)?;
            writer.write(&batch).map_err(failed)
        })?;
        // No record at all: a cache without blocks.
        let empty = output.map(|output| start(output, false)).transpose()?;
        let mut writer = writer.or(empty).ok_or_else(|| damaged(path, "it was not written"))?;
        writer.finish().map_err(failed)?;
        let output = writer.into_inner().map_err(failed)?;
        let file = output.into_inner().map_err(|error| DataError::io(path, error.into_error()))?;
        file.sync_all().map_err(|source| DataError::io(path, source))?;
        Ok((file, filled.content))
    }
}

impl Encoded {
    /// Maps a cache that an earlier run wrote by the same encoding, and checks every row.
    pub fn open_cache(path: &Path, encoding: &Encoding) -> Result<Self, DataError> {
        let file = File::open(path).map_err(|source| DataError::io(path, source))?;
        fenced(path, FORMAT, || open(path, &file, encoding, None))
    }
}

fn layout(encoding: &Encoding, has_target: bool) -> SchemaRef {
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    // Widths are at most 2^24.
    let mut fields = vec![Field::new("row", DataType::FixedSizeList(item, encoding.width() as i32), true)];
    if has_target {
        fields.push(Field::new("target", DataType::Float32, false));
    }
    let metadata = HashMap::from([(ENCODING.to_owned(), encoding.to_json())]);
    Arc::new(ArrowSchema::new(fields).with_metadata(metadata))
}

fn batch(encoding: &Encoding, schema: SchemaRef, block: Block) -> Result<RecordBatch, ArrowError> {
    let (Floats::Owned(rows), Floats::Owned(targets)) = (block.rows, block.targets) else {
        return Err(ArrowError::InvalidArgumentError("a block that is mapped is written already".to_owned()));
    };
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let rows: ArrayRef = Arc::new(Float32Array::from(rows));
    let present = NullBuffer::from(block.present);
    let rows = FixedSizeListArray::try_new(item, encoding.width() as i32, rows, Some(present))?;
    let mut columns: Vec<ArrayRef> = vec![Arc::new(rows)];
    if schema.fields().len() > 1 {
        columns.push(Arc::new(Float32Array::from(targets)));
    }
    RecordBatch::try_new(schema, columns)
}

/// Maps a cache. One that was written just now, from a file of this content, is
/// believed; the rows of others are checked.
fn open(
    path: &Path,
    file: &File,
    encoding: &Encoding,
    content: Option<[u8; 32]>,
) -> Result<Encoded, DataError> {
    let file = ArrowFile::of(path, file)?;
    let has_target = file.schema.fields().len() > 1;
    if file.schema.metadata().get(ENCODING) != Some(&encoding.to_json())
        || file.schema.fields() != layout(encoding, has_target).fields()
    {
        return Err(damaged(
            path,
            "it is not a cache of this encoding; remove it and let it be written anew",
        ));
    }
    let mut blocks = Vec::with_capacity(file.len());
    for index in 0..file.len() {
        let mut block = mapped(path, &file, &file.batch(index)?)?;
        let is_last = index + 1 == file.len();
        if block.present.len() > ROWS_PER_BLOCK || (!is_last && block.present.len() < ROWS_PER_BLOCK) {
            return Err(damaged(path, "a block of it has another length"));
        }
        if content.is_none() {
            check(encoding, &mut block);
            block.rows.drop_pages();
        }
        blocks.push(block);
    }
    let limit = ContributionLimit::of(encoding.schema().unit());
    Ok(Encoded::from_blocks(encoding, limit, has_target, blocks, content))
}

fn mapped(path: &Path, file: &ArrowFile, batch: &RecordBatch) -> Result<Block, DataError> {
    let rows = batch.column(0).as_fixed_size_list();
    let numbers =
        |array: &dyn Array| -> ScalarBuffer<f32> { array.as_primitive::<Float32Type>().values().clone() };
    let present: Vec<bool> = (0..rows.len()).map(|row| rows.is_valid(row)).collect();
    let values = numbers(rows.values().as_ref());
    if values.len() != rows.len() * rows.value_length() as usize {
        return Err(damaged(path, "a block of it is cut"));
    }
    let targets = match batch.columns().get(1) {
        Some(targets) => Floats::Mapped(numbers(targets.as_ref()), file.map.clone()),
        None => Floats::Owned(Vec::new()),
    };
    Ok(Block { rows: Floats::Mapped(values, file.map.clone()), targets, present })
}

/// Empties the slots whose rows no encoding could have made.
fn check(encoding: &Encoding, block: &mut Block) {
    let bounds = encoding.coordinate_bounds();
    let (norm, target) = (encoding.row_norm(), encoding.largest_target());
    for (row, is_present) in block.rows.chunks_exact(encoding.width()).zip(&mut block.present) {
        let within = row.iter().zip(&bounds).all(|(x, bound)| f64::from(x.abs()) <= *bound);
        let square: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum();
        *is_present &= within && square <= norm * norm;
    }
    for (value, is_present) in block.targets.iter().zip(&mut block.present) {
        let is_class = encoding.classes().is_none() || (value.fract() == 0.0 && *value >= 0.0);
        *is_present &= is_class && f64::from(value.abs()) <= target;
    }
}
