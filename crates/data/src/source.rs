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
//! | a table in memory | [`Source::memory`] | those of its parts, side by side |
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
#[cfg(feature = "arrow")]
mod arrow_table;
mod cifar;
pub(crate) mod columnar;
mod csv;
mod dense;
mod first_line;
pub(crate) mod identity;
mod idx;
pub(crate) mod kept;
mod layout;
mod matrix;
mod memory;
mod names;
mod npy;
mod packed;
#[cfg(feature = "parquet")]
mod parquet;
mod sparse;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "arrow")]
pub use self::arrow_table::ArrowTable;
pub(crate) use self::csv::small_table;
pub use self::first_line::{CsvAsked, CsvFound, FirstLine};
pub use self::matrix::{Element, FixedTexts, Matrix, Truth};
pub use self::memory::{Columns, Values};
pub use self::sparse::{Lane, SparseRows};

use self::kept::KeptFile;
use self::layout::Layout;
use self::memory::Memory;
use crate::error::DataError;
use crate::loader::Loader;
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

/// A file of records, opened once, or a table in memory, whose format and header are known.
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
    body: Body,
    header: Vec<HeaderColumn>,
    /// The schema under which a table in memory is identified in every pass.
    identified: Option<Box<Schema>>,
}

enum Body {
    File { file: KeptFile, layout: Layout },
    Memory(Memory),
}

/// What a survey was made of.
#[derive(Clone)]
pub(crate) enum Origin {
    File(KeptFile),
    Memory(Memory),
}

impl Origin {
    /// The file's path, or the table's name.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(file) => file.path(),
            Self::Memory(table) => table.name(),
        }
    }

    /// Whether both are the same opening of a file, or the same table.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(file), Self::File(other)) => file.is(other),
            (Self::Memory(table), Self::Memory(other)) => table.is(other),
            (Self::File(_) | Self::Memory(_), _) => false,
        }
    }
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
        Ok(Self { body: Body::File { file, layout }, header, identified: None })
    }

    /// A table in memory, whose parts stand side by side. `name` stands for it in messages.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sordino_data::{Door, Loader, RawTable, Schema, Source};
    /// let ages = RawTable::new().numbers("age", vec![31.0, 64.0])?;
    /// let source = Source::memory("patients", vec![Arc::new(ages)])?;
    /// let schema = Schema::from_toml("columns.age = { kind = 'number', bounds = [0, 120] }")?;
    /// let loader = Loader::new(&source, &schema, Door::Strict);
    /// let table = loader.read_columns(&["age"], &mut sordino_noise::entropy()?)?;
    /// assert_eq!(table.slots(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory(name: &str, parts: Vec<Arc<dyn Columns>>) -> Result<Self, DataError> {
        let (table, header) = Memory::new(name, parts)?;
        check_names(table.name(), &header)?;
        Ok(Self { body: Body::Memory(table), header, identified: None })
    }

    /// The same source; a table in memory is from now on identified under this schema, which takes
    /// a digest of all its values in every pass. A file is identified by its bytes anyway.
    pub fn identified(self, schema: &Schema) -> Self {
        let identified = self.is_memory().then(|| Box::new(schema.clone()));
        Self { identified, ..self }
    }

    /// The identity of the table: a digest of its values under this schema, the same for a table in
    /// memory and in a file of any format. Reads everything once.
    pub fn identity(&self, schema: &Schema) -> Result<[u8; 32], DataError> {
        Loader::new(self, schema, Door::Permissive).identity()
    }

    /// Whether it is a table in memory, and not a file.
    pub fn is_memory(&self) -> bool {
        matches!(self.body, Body::Memory(_))
    }

    /// The columns, in the order of the file.
    pub fn header(&self) -> &[HeaderColumn] {
        &self.header
    }

    /// The file, or the name of a table in memory.
    pub fn path(&self) -> &Path {
        match &self.body {
            Body::File { file, .. } => file.path(),
            Body::Memory(table) => table.name(),
        }
    }

    /// The digest that identifies the data: the SHA-256 of the file or, if labels are in a second
    /// file, of both. For a table in memory its identity, if it is
    /// [`identified`](Self::identified), and else a random number of its own. Reads everything
    /// once; a [`Survey`](crate::Survey) computes it on the way.
    pub fn content(&self) -> Result<[u8; 32], DataError> {
        match (&self.body, &self.identified) {
            (Body::File { file, layout }, _) => {
                let labels = layout.labels().map(KeptFile::digest).transpose()?;
                Ok(kept::with_labels(file.digest()?, labels))
            }
            (Body::Memory(_), Some(schema)) => self.identity(schema),
            (Body::Memory(table), None) => Ok(table.token()),
        }
    }

    /// The SHA-256 of the file, and of the file of labels if there is one.
    pub fn digests(&self) -> Result<Vec<[u8; 32]>, DataError> {
        self.files().map(KeptFile::digest).collect()
    }

    /// The SHA-256 of the unpacked content of each file that is packed by gzip or zstd.
    pub fn unpacked_digests(&self) -> Result<Vec<[u8; 32]>, DataError> {
        self.files().map(packed::unpacked_digest).filter_map(Result::transpose).collect()
    }

    /// The bytes read so far, from the file and from the labels beside it. An Arrow file is mapped,
    /// so only the bytes that were read for its digest count.
    pub fn bytes_read(&self) -> u64 {
        self.files().map(KeptFile::bytes_read).sum()
    }

    /// The file, and the file of labels if there is one; none for a table in memory.
    fn files(&self) -> impl Iterator<Item = &KeptFile> {
        let (file, labels) = match &self.body {
            Body::File { file, layout } => (Some(file), layout.labels()),
            Body::Memory(_) => (None, None),
        };
        file.into_iter().chain(labels)
    }

    pub(crate) fn origin(&self) -> Origin {
        match &self.body {
            Body::File { file, .. } => Origin::File(file.clone()),
            Body::Memory(table) => Origin::Memory(table.clone()),
        }
    }

    /// The schema under which every pass identifies the table.
    pub(crate) fn identified_by(&self) -> Option<&Schema> {
        self.identified.as_deref()
    }

    /// The error of a pass that found other values than the pass before.
    pub(crate) fn changed(&self) -> DataError {
        DataError::Changed { path: self.path().to_owned() }
    }

    /// The format's name. A CSV file whose name ends in `.tsv` is TSV: its delimiter is a tab,
    /// unless the options say otherwise.
    pub fn format(&self) -> &'static str {
        match &self.body {
            Body::File { layout, .. } => layout.format(),
            Body::Memory(_) => memory::FORMAT,
        }
    }

    /// The names of the columns, in the order of the file.
    pub fn names(&self) -> Vec<String> {
        self.header.iter().map(|column| column.name.clone()).collect()
    }

    /// A reader of these columns, from the first record.
    pub(crate) fn rows(&self, picks: Vec<Pick>) -> Result<Box<dyn ReadRows>, DataError> {
        self.check_picks(&picks)?;
        match &self.body {
            Body::File { file, layout } => layout.rows(file, picks),
            Body::Memory(table) => Ok(table.rows(picks)),
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
        matches!(&self.body, Body::File { layout: Layout::Csv(layout), .. } if layout.has_header_line())
    }

    /// Whether columns are stored one by one, so that only reading a column shows that it is
    /// damaged.
    pub(crate) fn is_columnar(&self) -> bool {
        matches!(&self.body, Body::File { layout, .. } if layout.is_columnar())
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
