//! A table that may be larger than memory: it is read once from Parquet into a cache, and full
//! batches come from the cache.
//!
//! Three processes run one after the other: the first writes the Parquet file, the second reads it
//! into a cache, and the third learns. The last two state their peak memory.

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parquet::basic::{Repetition, Type as Physical};
use parquet::data_type::FloatType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::json;
use sordino_bench::emit;
use sordino_bench::process::peak_bytes;
use sordino_data::{CsvOptions, Door, Encoded, Loader, Source};
use sordino_noise::entropy;

use crate::fit::{self, FULL_BATCH, data_bytes};
use crate::problem::{Rows, encoding};

/// Rows in a row group, as is common.
const GROUP: u64 = 100_000;

fn parquet_file(folder: &Path, n: u64, d: usize) -> PathBuf {
    folder.join(format!("table-{n}-{d}.parquet"))
}

fn cache_file(folder: &Path, n: u64, d: usize) -> PathBuf {
    folder.join(format!("cache-{n}-{d}.arrow"))
}

/// Writes the Parquet file: columns `x0`, `x1`, ... of `float`, the label last. Not measured.
pub(crate) fn write_parquet(folder: &Path, n: u64, d: usize) -> Result<(), Box<dyn Error>> {
    let path = parquet_file(folder, n, d);
    if path.exists() {
        return Ok(());
    }
    let column = |j| {
        let name = format!("x{j}");
        let column = Type::primitive_type_builder(&name, Physical::FLOAT);
        column.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let columns = (0..=d).map(column).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("table").with_fields(columns).build()?);
    let beside = path.with_extension("part");
    let properties = Arc::new(WriterProperties::builder().set_dictionary_enabled(false).build());
    let mut writer = SerializedFileWriter::new(File::create(&beside)?, schema, properties)?;
    let (mut rows, mut row) = (Rows::new(d), vec![0.0; d + 1]);
    for first in (0..n).step_by(GROUP as usize) {
        let mut columns = vec![Vec::with_capacity(GROUP as usize); d + 1];
        for _ in first..(first + GROUP).min(n) {
            rows.next(&mut row);
            columns.iter_mut().zip(&row).for_each(|(column, x)| column.push(*x));
        }
        let mut group = writer.next_row_group()?;
        for values in &columns {
            let Some(mut column) = group.next_column()? else { break };
            column.typed::<FloatType>().write_batch(values, None, None)?;
            column.close()?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(std::fs::rename(beside, path)?)
}

/// Measures reading from Parquet into the cache.
pub(crate) fn write_cache(folder: &Path, n: u64, d: usize) -> Result<(), Box<dyn Error>> {
    let (file, cache) = (parquet_file(folder, n, d), cache_file(folder, n, d));
    let encoding = encoding(d)?;
    let begun = Instant::now();
    let source = Source::open(&file, &CsvOptions::default())?;
    let loader = Loader::new(&source, encoding.schema(), Door::Strict);
    let data = loader.cached(&encoding, &cache, &mut entropy()?)?;
    let taken = begun.elapsed().as_secs_f64();
    let config = json!({ "peak_bytes": peak_bytes(), "data_bytes": data_bytes(&data) });
    emit(&format!("parquet to cache, {n} x {d}"), "s", taken, config);
    Ok(())
}

/// Measures full batches from the cache. Opening it checks it, as for every cache of an earlier
/// run.
pub(crate) fn fit(folder: &Path, n: u64, d: usize) -> Result<(), Box<dyn Error>> {
    let data = Encoded::open_cache(&cache_file(folder, n, d), &encoding(d)?)?;
    let fit = fit::fit(FULL_BATCH, &data)?;
    let config = json!({
        "epsilon": fit.epsilon, "delta": fit.delta, "steps": fit.steps, "data_bytes": data_bytes(&data),
        "peak_bytes": peak_bytes(), "gigabytes_a_second": fit.gigabytes_a_second(&data),
    });
    emit(&format!("full batches from cache, {n} x {d}"), "s", fit.seconds, config);
    Ok(())
}
