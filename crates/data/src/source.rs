//! Files of records: their formats, their columns, and readers that read them chunk by chunk.
//!
//! | format | recognised by | columns |
//! |---|---|---|
//! | CSV | `.csv`, `.tsv`, `.txt`, `.data`, `.test`, or any other text | the header, or `csv.names` |
//! | NPY | its first bytes | `x0`, `x1`, ... of an array of one or two dimensions |
//! | IDX (MNIST) | its first bytes | `pixel_0`, ...; `label` from the file of labels beside it |
//! | CIFAR binary | `.bin` and records of 3073 (or 3074) bytes | `label` (`coarse_label`), `pixel_0`, ... |
//! | Parquet | its first bytes | flat columns; nested ones can only be ignored |
//! | Arrow IPC file | its first bytes | the same, memory-mapped |
//!
//! gzip and zstd are recognised by their first bytes and unpacked, for all formats that are read in
//! order (not for Parquet and Arrow, which have compression of their own).
//!
//! # Guarantee
//! A file is opened once, and every pass reads the open file: a path that leads elsewhere later is
//! not followed. Each pass digests the bytes that it reads. (Parquet and Arrow are not read in
//! order; a pass digests the whole file at its end.) Each pass compares the format's header with
//! the one that was found when the file was opened.
//!
//! # Limits
//! A record of CSV has at most [`MAX_RECORD_BYTES`] bytes, and a header at most [`MAX_COLUMNS`]
//! columns; memory does not depend on the length of the file.

#[cfg(feature = "arrow")]
pub(crate) mod arrow;
mod cifar;
pub(crate) mod columnar;
mod csv;
mod dense;
mod first_line;
mod idx;
pub(crate) mod kept;
mod names;
mod npy;
mod packed;
#[cfg(feature = "parquet")]
mod parquet;

use std::fmt;
use std::path::Path;

pub(crate) use self::csv::small_table;
pub use self::first_line::{CsvAsked, CsvFound, FirstLine};

use self::csv::CsvLayout;
use self::dense::DenseLayout;
use self::kept::KeptFile;
use crate::error::DataError;
use crate::misfit::Notes;
use crate::raw::{Kind, RawChunk};
use crate::schema::{CsvOptions, HeaderColumn, Schema, TypeHint};

/// The longest record of a CSV file, in bytes.
pub const MAX_RECORD_BYTES: usize = 4 << 20;
/// The most columns of a file.
pub const MAX_COLUMNS: usize = 1 << 18;
/// The formats that are read, for messages.
pub(crate) const KNOWN_FORMATS: &str =
    "CSV (also .gz and .zst), Parquet, Arrow IPC, NPY, IDX (MNIST) or CIFAR binary";

/// Whether a value that does not fit the schema is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// For the owner: a value that does not fit the schema is an error that names its row and
    /// column.
    Strict,
    /// For everybody else: a rule that looks at each record alone fits it to the schema or drops
    /// it; no error depends on a record's value.
    Permissive,
}

/// A file of records, opened once, whose format and header are known.
///
/// ```no_run
/// use sordino_data::{Schema, Source};
/// let schema = Schema::from_toml(&std::fs::read_to_string("patients.toml")?)?;
/// let source = Source::open("patients.csv.gz".as_ref(), schema.csv())?;
/// for column in source.header() {
///     println!("{}", column.name);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Source {
    file: KeptFile,
    header: Vec<HeaderColumn>,
    layout: Layout,
}

enum Layout {
    Csv(CsvLayout),
    Dense(DenseLayout),
    #[cfg(feature = "parquet")]
    Parquet(parquet::ParquetLayout),
    #[cfg(feature = "arrow")]
    Arrow(arrow::ArrowLayout),
}

/// Reads records one chunk after the other.
pub(crate) trait ReadRows {
    /// Adds up to `rows` more records to the chunk; adds none at the end of the file. Notes the
    /// records that do not fit, and continues.
    fn read(&mut self, chunk: &mut RawChunk, rows: usize, misfits: &mut Notes) -> Result<(), DataError>;

    /// The digest of the whole file, including all bytes after the last record.
    fn finish(self: Box<Self>) -> Result<[u8; 32], DataError>;
}

/// One column to read: its index and name in the file, and the type to read.
pub(crate) struct Pick {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

impl Source {
    /// Opens the file, recognises its format and reads its header. Reads no record.
    pub fn open(path: &Path, csv: &CsvOptions) -> Result<Self, DataError> {
        let file = KeptFile::open(path)?;
        let magic = packed::magic(&file)?;
        if magic.is_empty() {
            return Err(DataError::Empty { path: path.to_owned() });
        }
        let layout = Layout::recognise(&file, &magic, csv)?;
        let header = layout.header();
        check_names(path, &header)?;
        Ok(Self { file, header, layout })
    }

    /// The columns, in the order of the file.
    pub fn header(&self) -> &[HeaderColumn] {
        &self.header
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The digest that identifies the data: the SHA-256 of the file or, if labels are in a second
    /// file, of both. Reads everything once; a [`Survey`](crate::Survey) computes it on the way.
    pub fn content(&self) -> Result<[u8; 32], DataError> {
        let labels = self.labels().map(KeptFile::digest).transpose()?;
        Ok(kept::with_labels(self.file.digest()?, labels))
    }

    /// The SHA-256 of the file, and of the file of labels if there is one.
    pub fn digests(&self) -> Result<Vec<[u8; 32]>, DataError> {
        let labels = self.labels().map(KeptFile::digest).transpose()?;
        Ok([self.file.digest()?].into_iter().chain(labels).collect())
    }

    /// The SHA-256 of the unpacked content of each file that is packed by gzip or zstd.
    pub fn unpacked_digests(&self) -> Result<Vec<[u8; 32]>, DataError> {
        let labels = self.labels().map(packed::unpacked_digest).transpose()?.flatten();
        Ok(packed::unpacked_digest(&self.file)?.into_iter().chain(labels).collect())
    }

    /// The bytes read so far, from the file and from the labels beside it. An Arrow file is mapped,
    /// so only the bytes that were read for its digest count.
    pub fn bytes_read(&self) -> u64 {
        self.file.bytes_read() + self.labels().map_or(0, KeptFile::bytes_read)
    }

    fn labels(&self) -> Option<&KeptFile> {
        match &self.layout {
            Layout::Dense(layout) => layout.labels.as_ref().map(|labels| &labels.file),
            Layout::Csv(_) => None,
            #[cfg(feature = "parquet")]
            Layout::Parquet(_) => None,
            #[cfg(feature = "arrow")]
            Layout::Arrow(_) => None,
        }
    }

    pub(crate) fn file(&self) -> &KeptFile {
        &self.file
    }

    /// The format's name. A CSV file whose name ends in `.tsv` is TSV: its delimiter is a tab,
    /// unless the options say otherwise.
    pub fn format(&self) -> &'static str {
        match &self.layout {
            Layout::Csv(layout) => layout.format,
            Layout::Dense(dense) => dense.format,
            #[cfg(feature = "parquet")]
            Layout::Parquet(_) => parquet::FORMAT,
            #[cfg(feature = "arrow")]
            Layout::Arrow(_) => arrow::FORMAT,
        }
    }

    /// The names of the columns, in the order of the file.
    pub fn names(&self) -> Vec<String> {
        self.header.iter().map(|column| column.name.clone()).collect()
    }

    /// A reader of these columns, from the first record.
    pub(crate) fn rows(&self, picks: Vec<Pick>) -> Result<Box<dyn ReadRows>, DataError> {
        self.check_picks(&picks)?;
        match &self.layout {
            Layout::Csv(layout) => layout.rows(&self.file, picks),
            Layout::Dense(layout) => layout.rows(&self.file, picks),
            #[cfg(feature = "parquet")]
            Layout::Parquet(layout) => {
                columnar::fenced_rows(self.path(), parquet::FORMAT, || layout.rows(&self.file, picks))
            }
            #[cfg(feature = "arrow")]
            Layout::Arrow(layout) => {
                columnar::fenced_rows(self.path(), arrow::FORMAT, || layout.rows(&self.file, picks))
            }
        }
    }

    /// Refuses columns of a type that is not read, as the format states it.
    pub(crate) fn check_picks(&self, picks: &[Pick]) -> Result<(), DataError> {
        let is_nested = |pick: &&Pick| self.header[pick.index].hint == TypeHint::Nested;
        let Some(nested) = picks.iter().find(is_nested) else { return Ok(()) };
        let what =
            format!("column `{}`, a list, a structure or a type that is no number and no text", nested.name);
        let instead = "flatten or convert it, or set kind = \"ignore\" in the schema";
        Err(DataError::Unsupported { path: self.path().to_owned(), what, instead })
    }

    /// Refuses a first line that has no column of the schema. It may be a record, and messages
    /// about columns would show it, so call this before any such message.
    pub fn check_header(&self, schema: &Schema) -> Result<(), DataError> {
        if self.has_header_line() && !schema.knows_any(&self.names()) {
            return Err(DataError::NoDeclaredColumn { path: self.path().to_owned() });
        }
        Ok(())
    }

    /// Whether the names of the columns come from a first line that may be a record: no option says
    /// that it is a header.
    fn has_header_line(&self) -> bool {
        match &self.layout {
            Layout::Csv(layout) => layout.has_header_line(),
            Layout::Dense(_) => false,
            #[cfg(feature = "parquet")]
            Layout::Parquet(_) => false,
            #[cfg(feature = "arrow")]
            Layout::Arrow(_) => false,
        }
    }

    /// Whether columns are stored one by one, so that only reading a column shows that it is
    /// damaged.
    pub(crate) fn is_columnar(&self) -> bool {
        match &self.layout {
            Layout::Csv(_) | Layout::Dense(_) => false,
            #[cfg(feature = "parquet")]
            Layout::Parquet(_) => true,
            #[cfg(feature = "arrow")]
            Layout::Arrow(_) => true,
        }
    }
}

impl Layout {
    fn recognise(file: &KeptFile, magic: &[u8], csv: &CsvOptions) -> Result<Self, DataError> {
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

    fn header(&self) -> Vec<HeaderColumn> {
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

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("path", &self.path())
            .field("format", &self.format())
            .finish_non_exhaustive()
    }
}

/// The format that a file's name promises, and the bytes with which such a file starts.
fn promised(name: &str) -> Option<(&'static str, &'static str)> {
    let formats =
        [(".npy", "NPY", "\\x93NUMPY"), (".parquet", "Parquet", "PAR1"), (".arrow", "Arrow IPC", "ARROW1")];
    formats.iter().find(|(end, ..)| name.ends_with(end)).map(|(_, format, expected)| (*format, *expected))
}

/// Whether a file that has no other known format is read as CSV.
fn is_text(name: &str, magic: &[u8]) -> bool {
    [".csv", ".tsv", ".txt", ".data", ".test"].iter().any(|end| name.ends_with(end)) || !magic.contains(&0)
}

/// What the file has, if it is a spreadsheet's format that is not read, and what to do instead.
fn foreign(magic: &[u8]) -> Option<(&'static str, &'static str)> {
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
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

fn check_names(path: &Path, header: &[HeaderColumn]) -> Result<(), DataError> {
    if header.len() > MAX_COLUMNS {
        let what = format!("more than {MAX_COLUMNS} columns");
        return Err(DataError::Unsupported {
            path: path.to_owned(),
            what,
            instead: "keep those that are needed",
        });
    }
    let mut names: Vec<&str> = header.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(DataError::TwiceInHeader {
            path: path.to_owned(),
            column: pair[0].chars().take(60).collect(),
        }),
    }
}
