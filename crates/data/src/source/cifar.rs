//! The binary files of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): one or two label bytes, then 3072 bytes of a picture.

use std::path::Path;

use super::dense::{DenseLayout, Element, numbered};
use crate::error::DataError;

const FORMAT: &str = "CIFAR binary";
const PIXELS: usize = 3 * 32 * 32;

pub(super) fn layout(path: &Path) -> Result<DenseLayout, DataError> {
    // Compressed files tell their length only by being read.
    let length = std::io::copy(&mut super::open(path)?, &mut std::io::sink());
    let length = length.map_err(|source| DataError::io(path, source))?;
    let labels: &[&str] = match length {
        length if length > 0 && length.is_multiple_of(PIXELS as u64 + 1) => &["label"],
        length if length > 0 && length.is_multiple_of(PIXELS as u64 + 2) => &["coarse_label", "label"],
        _ => {
            let reason =
                format!("its {length} bytes are not a whole number of records of 3073 or 3074 bytes");
            return Err(DataError::Damaged { path: path.to_owned(), format: FORMAT, reason });
        }
    };
    let names: Vec<String> =
        labels.iter().map(|label| (*label).to_owned()).chain(numbered("pixel_", PIXELS)).collect();
    let rows = length / names.len() as u64;
    Ok(DenseLayout { format: FORMAT, skip: 0, rows, element: Element::BYTE, names, labels: None })
}
