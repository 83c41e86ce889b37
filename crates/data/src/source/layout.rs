//! The formats of files: how each is recognised, and which reader reads it.

use std::path::Path;

#[cfg(feature = "arrow")]
use super::arrow;
use super::csv::CsvLayout;
use super::dense::DenseLayout;
use super::kept::KeptFile;
#[cfg(feature = "parquet")]
use super::parquet;
use super::{Pick, ReadRows, cifar, columnar, idx, npy};
use crate::error::DataError;
use crate::schema::{CsvOptions, HeaderColumn};

/// How a file is stored, with its columns.
pub(super) enum Layout {
    Csv(CsvLayout),
    Dense(DenseLayout),
    #[cfg(feature = "parquet")]
    Parquet(parquet::ParquetLayout),
    #[cfg(feature = "arrow")]
    Arrow(arrow::ArrowLayout),
}

impl Layout {
    /// Recognises the format by the first bytes, `magic`, and by the name.
    pub(super) fn recognise(file: &KeptFile, magic: &[u8], csv: &CsvOptions) -> Result<Self, DataError> {
        let path = file.path();
        let name = file_name(path);
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        if magic.starts_with(npy::MAGIC) {
            npy::layout(file).map(Self::Dense)
        } else if idx::is_magic(magic) {
            idx::layout(file).map(Self::Dense)
        } else if magic.starts_with(b"PAR1") {
            columnar::parquet(file)
        } else if magic.starts_with(b"ARROW1") {
            columnar::arrow(file)
        } else if ends(&[".bin"]) {
            cifar::layout(file).map(Self::Dense)
        } else if let Some((what, instead)) = foreign(magic) {
            Err(DataError::Unsupported { path: path.to_owned(), what: what.to_owned(), instead })
        } else if let Some((format, expected)) = promised(&name) {
            let reason = format!("it does not start with {expected}");
            Err(DataError::Damaged { path: path.to_owned(), format, reason })
        } else if is_text(&name, magic) {
            let mut options = csv.clone();
            let is_tsv = ends(&[".tsv"]) && options.delimiter == b',';
            if is_tsv {
                options.delimiter = b'\t';
            }
            CsvLayout::new(file, if is_tsv { "TSV" } else { "CSV" }, options).map(Self::Csv)
        } else {
            Err(DataError::UnknownFormat { path: path.to_owned() })
        }
    }

    pub(super) fn format(&self) -> &'static str {
        match self {
            Self::Csv(layout) => layout.format,
            Self::Dense(dense) => dense.format,
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => parquet::FORMAT,
            #[cfg(feature = "arrow")]
            Self::Arrow(_) => arrow::FORMAT,
        }
    }

    pub(super) fn labels(&self) -> Option<&KeptFile> {
        match self {
            Self::Dense(layout) => layout.labels.as_ref().map(|labels| &labels.file),
            Self::Csv(_) => None,
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => None,
            #[cfg(feature = "arrow")]
            Self::Arrow(_) => None,
        }
    }

    pub(super) fn is_columnar(&self) -> bool {
        match self {
            Self::Csv(_) | Self::Dense(_) => false,
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => true,
            #[cfg(feature = "arrow")]
            Self::Arrow(_) => true,
        }
    }

    pub(super) fn rows(&self, file: &KeptFile, picks: Vec<Pick>) -> Result<Box<dyn ReadRows>, DataError> {
        match self {
            Self::Csv(layout) => layout.rows(file, picks),
            Self::Dense(layout) => layout.rows(file, picks),
            #[cfg(feature = "parquet")]
            Self::Parquet(layout) => {
                columnar::fenced_rows(file.path(), parquet::FORMAT, || layout.rows(file, picks))
            }
            #[cfg(feature = "arrow")]
            Self::Arrow(layout) => {
                columnar::fenced_rows(file.path(), arrow::FORMAT, || layout.rows(file, picks))
            }
        }
    }

    pub(super) fn header(&self) -> Vec<HeaderColumn> {
        match self {
            Self::Csv(layout) => layout.header(),
            Self::Dense(layout) => layout.header(),
            #[cfg(feature = "parquet")]
            Self::Parquet(layout) => layout.header(),
            #[cfg(feature = "arrow")]
            Self::Arrow(layout) => layout.header(),
        }
    }
}

/// The format that a file's name promises, and the bytes with which such a file starts.
pub(super) fn promised(name: &str) -> Option<(&'static str, &'static str)> {
    let formats =
        [(".npy", "NPY", "\\x93NUMPY"), (".parquet", "Parquet", "PAR1"), (".arrow", "Arrow IPC", "ARROW1")];
    formats.iter().find(|(end, ..)| name.ends_with(end)).map(|(_, format, expected)| (*format, *expected))
}

/// Whether a file that has no other known format is read as CSV.
pub(super) fn is_text(name: &str, magic: &[u8]) -> bool {
    [".csv", ".tsv", ".txt", ".data", ".test"].iter().any(|end| name.ends_with(end)) || !magic.contains(&0)
}

/// What the file has, if it is a spreadsheet's format that is not read, and what to do instead.
pub(super) fn foreign(magic: &[u8]) -> Option<(&'static str, &'static str)> {
    let is_wide = |bytes: &[u8]| {
        let zeros = |at: usize| bytes.iter().skip(at).step_by(2).filter(|byte| **byte == 0).count();
        let half = bytes.len() / 2;
        // Latin letters in UTF-16: exactly every other byte is zero.
        bytes.len() >= 8
            && [(0, 1), (1, 0)].iter().any(|&(zero, text)| zeros(zero) >= half && zeros(text) == 0)
    };
    // After a byte order mark one zero is enough, from a delimiter or a line end.
    let is_marked = magic.starts_with(&[0xff, 0xfe]) || magic.starts_with(&[0xfe, 0xff]);
    if (is_marked && magic.contains(&0)) || is_wide(magic) {
        let instead = "save it as CSV in UTF-8, or convert it: iconv -f UTF-16 -t UTF-8 OLD.csv > NEW.csv";
        return Some(("text in UTF-16", instead));
    }
    let instead = "save the sheet as CSV in UTF-8 from the program that wrote it";
    let is_workbook = magic.starts_with(b"PK\x03\x04") || magic.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]);
    is_workbook.then_some(("the pages of a workbook or an archive", instead))
}

/// The file's name in lower case, without `.gz`, `.zst` or `.zstd`.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}
