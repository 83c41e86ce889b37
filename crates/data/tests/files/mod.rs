//! Files for tests, and functions that read them.
// Each test binary uses a part of this module only.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sordino_data::{DataError, Door, Loader, Schema, Source, Table};
use sordino_noise::danger::seeded;

/// Writes a file with this content. Names must differ between the tests of one binary.
pub(crate) fn file(name: &str, content: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn schema(text: &str) -> Schema {
    Schema::from_toml(text).unwrap()
}

/// Reads and bounds all columns of the schema that are not ignored.
pub(crate) fn read(path: &Path, schema: &Schema, door: Door) -> Result<Table, DataError> {
    let source = Source::open(path, schema.csv())?;
    let used =
        |name: &&str| matches!(schema.column(name), Some(column) if *column != sordino_data::Column::Ignore);
    let names: Vec<&str> = source.header().iter().map(|column| column.name.as_str()).filter(used).collect();
    Loader::new(&source, schema, door).read_columns(&names, &mut seeded(1))
}

pub(crate) fn numbers(table: &Table, name: &str) -> Vec<f64> {
    table.numbers(name).unwrap().1.collect()
}

pub(crate) fn codes(table: &Table, name: &str) -> Vec<u32> {
    table.codes(name).unwrap().1.collect()
}

/// Checks that the result is an error whose message has each of these parts.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, DataError>, parts: &[&str]) {
    let message = result.expect_err("a refusal").to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

/// An IDX file of bytes.
pub(crate) fn idx(sizes: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|size| file.extend(size.to_be_bytes()));
    file.extend(bytes);
    file
}

/// An NPY file, version 1.
pub(crate) fn npy(descr: &str, fortran: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend(bytes);
    file
}
