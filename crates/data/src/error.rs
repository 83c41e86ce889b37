//! Why data cannot be read.

use std::io;
use std::path::PathBuf;

use sordino_spelling::quoted;

use crate::misfit::Misfits;
use crate::schema::{DictionaryError, SchemaError};

/// What is wrong with a file, or with a schema for it.
///
/// No message shows a value of a record. Errors that name a row ([`DataError::Cell`],
/// [`DataError::Fields`], [`DataError::LongRecord`], [`DataError::Misfits`]) come through the
/// strict door only. Their mere existence depends on a record, so they are for the data's owner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file cannot be opened or read.
    #[error("cannot read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The path is a directory.
    #[error("cannot read `{}`: it is a directory; name one file that holds the data", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The path is a pipe, a device or a socket.
    #[error(
        "cannot read `{}`: it is not a regular file, which can be read more than once; save it as a file",
        path.display()
    )]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is empty.
    #[error("`{}` is empty; expected a header line and records", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file has a header and nothing else.
    #[error("`{}` has no records; there is nothing to compute from", path.display())]
    NoRecords {
        /// The file.
        path: PathBuf,
    },
    /// Neither the name nor the first bytes of the file show its format.
    #[error(
        "`{}` has an unknown format; expected {}", path.display(), crate::source::KNOWN_FORMATS
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The content of the file contradicts its format.
    #[error("`{}` is not a sound {format} file: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The file is sound but has something that this program does not read.
    #[error("`{}` has {what}, which is not read; {instead}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it has.
        what: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// The header is not UTF-8.
    #[error(
        "the header of `{}` is not UTF-8; save the file as UTF-8, or convert it: iconv -f WINDOWS-1252 -t \
        UTF-8 OLD.csv > NEW.csv",
        path.display()
    )]
    HeaderNotText {
        /// The file.
        path: PathBuf,
    },
    /// The file has one column, and a blank line where its name is expected.
    #[error(
        "`{}` has one column, and a blank line where its name is expected; write the name first, or name the \
         column by csv.names",
        path.display()
    )]
    BlankHeader {
        /// The file.
        path: PathBuf,
    },
    /// The first line cannot be a header. It may be a record, so the message shows none of it.
    #[error(
        "the first line of `{}` is no header: field {field} is {what}. If it is a record, `sordino schema \
        DATA --no-header` names the columns in a template, under csv.names; if it is a header all the same, \
        say so: csv.header = true in the schema, --header where there is none",
        path.display()
    )]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// The number of the field, from 1.
        field: usize,
        /// What the field is instead of a name.
        what: &'static str,
    },
    /// The file has one column whose name contains another usual delimiter.
    #[error(
        "`{}` has one column{called}: is the delimiter `{found}`? Write csv.delimiter = {} into a schema and \
        name it with --schema FILE (`sordino query` also takes --delimiter); if it is one column, say so \
        there: csv.header = true",
        path.display(), toml_text(*found)
    )]
    OneColumn {
        /// The file.
        path: PathBuf,
        /// ` called ...` if the line may be shown, else empty.
        called: String,
        /// The delimiter in its name.
        found: char,
    },
    /// Two characters may be the delimiter.
    #[error(
        "the first line of `{}` has as many fields with the delimiter `{}` as with `{}`; say which it is \
        with --delimiter",
        path.display(), first.escape_debug(), second.escape_debug()
    )]
    TwoDelimiters {
        /// The file.
        path: PathBuf,
        /// One.
        first: char,
        /// The other.
        second: char,
    },
    /// The file states a delimiter (`sep=;`), and the options state another.
    #[error(
        "`{}` says in its first line that the delimiter is `{}`; write csv.delimiter = {} into a schema and \
        name it with --schema FILE (`sordino query` also takes --delimiter)",
        path.display(), stated.escape_debug(), toml_text(*stated)
    )]
    StatedDelimiter {
        /// The file.
        path: PathBuf,
        /// The delimiter that the file states.
        stated: char,
    },
    /// The first line has no declared column. It may be a record, so the message shows none of it.
    #[error(
        "the first line of `{}` has none of the columns that the schema declares; if it is a record, name \
        the columns under csv.names; else compare names and csv.delimiter with the file",
        path.display()
    )]
    NoDeclaredColumn {
        /// The file.
        path: PathBuf,
    },
    /// The data dictionary cannot be used.
    #[error("`{}`{}: {source}", path.display(), row.map_or_else(String::new, |row| format!(", row {row}")))]
    Dictionary {
        /// The dictionary.
        path: PathBuf,
        /// The row, from 1, without the header.
        row: Option<usize>,
        /// What is wrong.
        source: DictionaryError,
    },
    /// Two columns have one name.
    #[error("`{}` has two columns named {}; rename one, or name all columns by \
        csv.names", path.display(), quoted(column))]
    TwiceInHeader {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
    },
    /// The file lacks a column that the schema declares.
    #[error("the schema declares column `{column}`, which `{}` does not have{hint}", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// The nearest name in the file.
        hint: String,
    },
    /// The file has a column that the schema does not declare.
    #[error(
        "`{}` has column `{column}`, which the schema does not declare; declare it, or set kind \
        = \"ignore\"{hint}",
        path.display()
    )]
    UndeclaredColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// The nearest name in the schema.
        hint: String,
    },
    /// The caller asks for a column that is not there.
    #[error("there is no column `{column}` to use{hint}")]
    NoSuchColumn {
        /// The name.
        column: String,
        /// The nearest name.
        hint: String,
    },
    /// The column has the wrong kind.
    #[error("column `{column}` must be {expected}, and the schema says {got}")]
    WrongKind {
        /// The name.
        column: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        got: &'static str,
    },
    /// A value does not fit the schema. Strict door only.
    #[error("`{}`, row {row}, column `{column}`: expected {expected}; {advice} (rows are counted without the \
        header)", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// The record, from 1, without the header.
        row: u64,
        /// The column.
        column: String,
        /// What was expected.
        expected: String,
        /// What to do.
        advice: &'static str,
    },
    /// A record has too few or too many fields. Strict door only.
    #[error("`{}`, row {row}: expected {expected} fields, got {got} (rows are counted without the \
        header)", path.display())]
    Fields {
        /// The file.
        path: PathBuf,
        /// The record, from 1.
        row: u64,
        /// Columns of the header.
        expected: usize,
        /// Fields of the record.
        got: usize,
    },
    /// A record is longer than the limit. Strict door only.
    #[error(
        "`{}`, row {row}: the record is longer than {limit} bytes; is a closing quote \
        missing?", path.display()
    )]
    LongRecord {
        /// The file.
        path: PathBuf,
        /// The record, from 1.
        row: u64,
        /// The longest record that is read, in bytes.
        limit: usize,
    },
    /// Several values or records do not fit the schema. Strict door only.
    #[error("`{}` does not fit the schema in {} places:{misfits}\n  (rows are counted without the \
        header)", path.display(), misfits.count())]
    Misfits {
        /// The file.
        path: PathBuf,
        /// Counts by column and kind, with the first row of each.
        misfits: Misfits,
    },
    /// Two passes over a file found different bytes in it.
    #[error(
        "`{}` was changed while it was read, or since its content was taken; nothing was released from it, \
        and what was charged stays spent. Let nothing write to it, and start again",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The survey belongs to another [`Source`](crate::Source), or to another unit.
    #[error(
        "the survey of `{}` was made of another source, or for another unit; make one with this loader",
        path.display()
    )]
    OtherSurvey {
        /// The file.
        path: PathBuf,
    },
    /// There is not enough memory for the encoded records.
    #[error(
        "no memory for {bytes} more bytes of encoded records; use fewer columns or categories, or a cache"
    )]
    OutOfMemory {
        /// The bytes of the failed allocation.
        bytes: u64,
    },
    /// A program passed columns of different lengths.
    #[error("columns must have equally many values; `{column}` has {got}, others {expected}")]
    Lengths {
        /// The column.
        column: String,
        /// The length of the first column.
        expected: usize,
        /// The length of this column.
        got: usize,
    },
    /// The table has more records than slot numbers.
    #[error("a table has at most 2^32 - 1 records; train on a part of it")]
    TooManyRecords,
    /// No column is left as a feature.
    #[error("no column is left to learn from: all others are ignored; give them a kind in the schema")]
    NoFeatures,
    /// The encoding has another version or invalid numbers.
    #[error("not a sound encoding: {reason}")]
    Encoding {
        /// What is wrong.
        reason: String,
    },
    /// The schema is invalid.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl DataError {
    pub(crate) fn io(path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// The character as a TOML string.
fn toml_text(character: char) -> String {
    match character {
        '\t' => "\"\\t\"".to_owned(),
        other => format!("\"{other}\""),
    }
}
