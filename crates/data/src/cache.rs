//! A file of encoded records, written once and then mapped: for data that is larger than memory.
//!
//! # Format
//! An Arrow IPC file, so that other programs can read it: one batch for each block, with the
//! columns `row` (a list of fixed size of `f32`; null for an empty slot) and, if there is one,
//! `target` (`f32`). Its metadata hold the encoding, which includes the limit on the records of a
//! unit. The file is written under another name and then renamed, so it is whole or absent.
//!
//! # Guarantee
//! [`Loader::cached`] maps only what it has encoded. [`Encoded::open_cache`] checks a file that an
//! earlier run left: a row beyond the bounds of its encoding becomes an empty slot, so a damaged
//! file cannot exceed a sensitivity.
//!
//! # Pitfalls
//! - The cache holds the records themselves, unprotected. Keep it where the data is.
//! - Do not write to it while it is in use.
//! - The records that each unit keeps were chosen when the cache was written.
//!
//! # Memory
//! A pass over all blocks releases the pages of each block once it is read
//! ([`BlockView::done`](crate::BlockView::done)), so the process holds a few blocks at a time,
//! however long the file is. The system keeps what fits into its own cache.

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
            // The caller needs the first error; one of the clean-up does not matter.
            let _ = std::fs::remove_file(&beside);
        }
        // Maps the open file, not the path: another file may be there by now.
        let (file, content) = placed?;
        open(path, &file, encoding, Some(content))
    }

    /// Writes the cache. Returns its open file, and the digest of the data that it was made from.
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
        let survey = self.survey_units(Wanted::Encoding(encoding), bits)?;
        let filled = self.fill(encoding, None, survey.as_ref(), &mut |_, block| {
            if let Some(output) = output.take() {
                writer = Some(start(output, !block.targets.is_empty())?);
            }
            let Some(writer) = &mut writer else { return Ok(()) };
            let batch = batch(encoding, writer.schema().clone(), block).map_err(failed)?;
            writer.write(&batch).map_err(failed)
        })?;
        // Data without records gives a cache without blocks.
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

/// Maps a cache. With `content`, the digest of the data, this process has just written the cache
/// and its rows are trusted; otherwise every row is checked.
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

/// Empties the slots whose rows the encoding cannot have made.
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
