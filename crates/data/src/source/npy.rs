//! NPY, numpy's format for one array: a magic word, a header that is a Python dictionary, the
//! elements.

use super::MAX_COLUMNS;
use super::dense::{DenseLayout, Element, ElementKind, Elements, numbered};
use super::kept::KeptFile;
use crate::error::DataError;

const FORMAT: &str = "NPY";
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header in bytes. numpy writes 128; only names of fields make it longer.
const MAX_HEADER: usize = 1 << 16;

pub(super) fn layout(file: &KeptFile) -> Result<DenseLayout, DataError> {
    let path = file.path();
    let (head, header) = header(file)?;
    let damaged = |reason: &str| DataError::Damaged {
        path: path.to_owned(),
        format: FORMAT,
        reason: reason.to_owned(),
    };
    let refused = |what: &str, instead| DataError::Unsupported {
        path: path.to_owned(),
        what: what.to_owned(),
        instead,
    };
    let kind = value(&header, "descr").ok_or_else(|| damaged("its header names no type"))?;
    let element = element(kind.trim_matches(['\'', '"'])).ok_or_else(|| {
        refused("elements that are no plain numbers", "convert it: np.save(file, array.astype(np.float64))")
    })?;
    let shape =
        value(&header, "shape").and_then(sizes).ok_or_else(|| damaged("its header names no shape"))?;
    let is_fortran = value(&header, "fortran_order") == Some("True");
    let (rows, width) = match shape[..] {
        [rows] => (rows, 1),
        [rows, width] if !is_fortran || width == 1 || rows <= 1 => (rows, width),
        [_, _] => {
            let instead = "save it by rows: np.save(file, np.ascontiguousarray(array))";
            return Err(refused("its elements column by column", instead));
        }
        _ => {
            return Err(refused(
                "an array of other than one or two dimensions",
                "reshape it to rows and columns",
            ));
        }
    };
    let width = usize::try_from(width).ok().filter(|width| (1..=MAX_COLUMNS).contains(width));
    let width =
        width.ok_or_else(|| refused("records without or with too many elements", "is it transposed?"))?;
    let (names, is_whole) = (numbered("x", width), false);
    Ok(DenseLayout { format: FORMAT, head, rows, is_whole, element, names, labels: None })
}

/// All bytes before the elements, and the header's text.
fn header(file: &KeptFile) -> Result<(Vec<u8>, String), DataError> {
    let mut input = Elements::open(file, FORMAT)?;
    let mut head = vec![0; MAGIC.len() + 2];
    input.fill(&mut head)?;
    let version = [head[MAGIC.len()], head[MAGIC.len() + 1]];
    let mut length = [0; 4];
    let length_bytes = if version[0] == 1 { 2 } else { 4 };
    input.fill(&mut length[..length_bytes])?;
    head.extend(&length[..length_bytes]);
    let length = u32::from_le_bytes(length) as usize;
    if !(1..=3).contains(&version[0]) || length > MAX_HEADER {
        let reason = format!("version {} with a header of {length} bytes", version[0]);
        return Err(DataError::Damaged { path: file.path().to_owned(), format: FORMAT, reason });
    }
    let mut text = vec![0; length];
    input.fill(&mut text)?;
    head.extend(&text);
    Ok((head, String::from_utf8_lossy(&text).into_owned()))
}

/// The text after `'key':` in a flat Python dictionary, up to the comma that ends it.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    let rest = rest.trim_start();
    let end = if rest.starts_with('(') { rest.find(')').map(|at| at + 1) } else { rest.find([',', '}']) };
    Some(rest[..end?].trim())
}

/// The sizes of a shape such as `(3, 4)` or `(3,)`.
fn sizes(shape: &str) -> Option<Vec<u64>> {
    let inner = shape.strip_prefix('(')?.strip_suffix(')')?;
    inner.split(',').map(str::trim).filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect()
}

/// The element of a type such as `<f8`, `|u1`, `>i4` or `|b1`.
fn element(descr: &str) -> Option<Element> {
    let mut letters = descr.chars();
    let is_big_endian = match letters.next()? {
        '<' | '|' | '=' => false,
        '>' => true,
        _ => return None,
    };
    let (kind, bytes) = match letters.as_str() {
        "f4" => (ElementKind::Float, 4),
        "f8" => (ElementKind::Float, 8),
        "b1" => (ElementKind::Boolean, 1),
        "i1" => (ElementKind::Signed, 1),
        "i2" => (ElementKind::Signed, 2),
        "i4" => (ElementKind::Signed, 4),
        "i8" => (ElementKind::Signed, 8),
        "u1" => (ElementKind::Unsigned, 1),
        "u2" => (ElementKind::Unsigned, 2),
        "u4" => (ElementKind::Unsigned, 4),
        "u8" => (ElementKind::Unsigned, 8),
        _ => return None,
    };
    Some(Element { kind, bytes, is_big_endian })
}
