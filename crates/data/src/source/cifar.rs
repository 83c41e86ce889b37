//! The binary files of CIFAR-10 and CIFAR-100 (Krizhevsky 2009): one or two label bytes, then 3072
//! bytes of an image.

use super::dense::{DenseLayout, Element, numbered};
use super::kept::KeptFile;
use super::packed;
use crate::error::DataError;

const FORMAT: &str = "CIFAR binary";
const PIXELS: usize = 3 * 32 * 32;

pub(super) fn layout(file: &KeptFile) -> Result<DenseLayout, DataError> {
    let length = packed::content_length(file)?;
    let labels: &[&str] = match length {
        length if length > 0 && length.is_multiple_of(PIXELS as u64 + 1) => &["label"],
        length if length > 0 && length.is_multiple_of(PIXELS as u64 + 2) => &["coarse_label", "label"],
        _ => {
            let reason =
                format!("its {length} bytes are not a whole number of records of 3073 or 3074 bytes");
            return Err(DataError::Damaged { path: file.path().to_owned(), format: FORMAT, reason });
        }
    };
    let names: Vec<String> =
        labels.iter().map(|label| (*label).to_owned()).chain(numbered("pixel_", PIXELS)).collect();
    let (rows, element) = (length / names.len() as u64, Element::BYTE);
    Ok(DenseLayout { format: FORMAT, head: Vec::new(), rows, is_whole: true, element, names, labels: None })
}
