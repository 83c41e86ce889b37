//! IDX, the format of MNIST (LeCun, Cortes, Burges): a type, the sizes of the dimensions (up to
//! four are read), then the elements.

use std::path::Path;

use super::MAX_COLUMNS;
use super::dense::{DenseLayout, Element, ElementKind, Elements, Labels, numbered};
use super::kept::KeptFile;
use crate::error::DataError;

const FORMAT: &str = "IDX";

/// Two zeros, a type, a number of dimensions from 1 to 4.
pub(super) fn is_magic(magic: &[u8]) -> bool {
    matches!(magic, [0, 0, kind, 1..=4, ..] if element(*kind).is_some())
}

pub(super) fn layout(file: &KeptFile) -> Result<DenseLayout, DataError> {
    let path = file.path();
    let Header { element, sizes, head } = Header::read(file)?;
    let width = sizes[1..].iter().try_fold(1usize, |product, size| product.checked_mul(*size as usize));
    let Some(width) = width.filter(|width| (1..=MAX_COLUMNS).contains(width)) else {
        return Err(damaged(path, format!("a record of it would have {:?} elements", &sizes[1..])));
    };
    let names = if sizes.len() == 1 { vec!["label".to_owned()] } else { numbered("pixel_", width) };
    let labels = if sizes.len() == 1 { None } else { labels_of(path, sizes[0])? };
    let (rows, is_whole) = (sizes[0].into(), false);
    Ok(DenseLayout { format: FORMAT, head, rows, is_whole, element, names, labels })
}

struct Header {
    element: Element,
    sizes: Vec<u32>,
    /// The bytes of the header.
    head: Vec<u8>,
}

impl Header {
    fn read(file: &KeptFile) -> Result<Self, DataError> {
        let mut input = Elements::open(file, FORMAT)?;
        let mut head = vec![0; 4];
        input.fill(&mut head)?;
        let &[0, 0, kind, dimensions @ 1..=4] = &head[..] else {
            let reason = "it does not start with two zeros, a type and 1 to 4 dimensions".to_owned();
            return Err(damaged(file.path(), reason));
        };
        let Some(element) = element(kind) else {
            return Err(damaged(file.path(), format!("it has no known type of elements ({kind:#04x})")));
        };
        let mut sizes = vec![0; dimensions as usize];
        for size in &mut sizes {
            let mut bytes = [0; 4];
            input.fill(&mut bytes)?;
            *size = u32::from_be_bytes(bytes);
            head.extend(bytes);
        }
        Ok(Self { element, sizes, head })
    }
}

fn element(kind: u8) -> Option<Element> {
    let (kind, bytes) = match kind {
        0x08 => (ElementKind::Unsigned, 1),
        0x09 => (ElementKind::Signed, 1),
        0x0b => (ElementKind::Signed, 2),
        0x0c => (ElementKind::Signed, 4),
        0x0d => (ElementKind::Float, 4),
        0x0e => (ElementKind::Float, 8),
        _ => return None,
    };
    Some(Element { kind, bytes, is_big_endian: true })
}

/// The file of labels beside a file of images: `t10k-labels-idx1-ubyte.gz`, packed or not, for
/// `t10k-images-idx3-ubyte.gz`.
fn labels_of(path: &Path, rows: u32) -> Result<Option<Labels>, DataError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let labels = stem.replace("images", "labels").replace("idx3", "idx1");
    if labels == stem {
        return Ok(None);
    }
    let candidates = ["", ".gz", ".zst"].map(|end| path.with_file_name(format!("{labels}{end}")));
    let Some(found) = candidates.into_iter().find(|file| file.is_file()) else { return Ok(None) };
    let file = KeptFile::open(&found)?;
    match Header::read(&file)? {
        Header { element, sizes, head } if element.bytes == 1 && sizes == [rows] => {
            Ok(Some(Labels { file, name: "label", head }))
        }
        _ => Err(damaged(&found, format!("expected one byte for each of the {rows} images beside it"))),
    }
}

fn damaged(path: &Path, reason: String) -> DataError {
    DataError::Damaged { path: path.to_owned(), format: FORMAT, reason }
}
