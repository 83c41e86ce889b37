//! Why data cannot be read.

use std::io;
use std::path::PathBuf;

use sordino_spelling::quoted;

use crate::misfit::Misfits;
use crate::schema::{DictionaryError, SchemaError};

/// What is wrong with a file, or with a schema for it.
///
/// No message shows a value of a record. Those that name a row ([`DataError::Cell`],
/// [`DataError::Fields`], [`DataError::LongRecord`], [`DataError::Misfits`]) come
/// through the strict door only: that there is such an error says something about a
/// record, so they are for the data's owner.
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
    /// A folder.
    #[error("cannot read `{}`: it is a directory; name one file that holds the data", path.display())]
    Directory {
        /// The folder.
        path: PathBuf,
    },
    /// A pipe, a device, a socket.
    #[error(
        "cannot read `{}`: it is no regular file, and has to be read more than once; save it as a file",
        path.display()
    )]
    NotAFile {
        /// What came.
        path: PathBuf,
    },
    /// Nothing in it.
    #[error("`{}` is empty; expected a header line and records", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A header and nothing else.
    #[error("`{}` has no records; there is nothing to compute from", path.display())]
    NoRecords {
        /// The file.
        path: PathBuf,
    },
    /// Neither its name nor its first bytes tell.
    #[error(
        "`{}` is in no format that is known; expected {}", path.display(), crate::source::KNOWN_FORMATS
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Its first bytes are not those of its format.
    #[error("`{}` is not a sound {format} file: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A sound file with something that is not read.
    #[error("`{}` has {what}, which is not read; {instead}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What.
        what: String,
        /// What to do.
        instead: &'static str,
    },
    /// The header is not text.
    #[error(
        "the header of `{}` is not UTF-8; save the file as UTF-8, or convert it: iconv -f WINDOWS-1252 -t \
        UTF-8 OLD.csv > NEW.csv",
        path.display()
    )]
    HeaderNotText {
        /// The file.
        path: PathBuf,
    },
    /// One column, and a blank line where its name is expected.
    #[error(
        "`{}` has one column, and a blank line where its name is expected; write the name first, or name the \
         column by csv.names",
        path.display()
    )]
    BlankHeader {
        /// The file.
        path: PathBuf,
    },
    /// A first line that cannot be a header. It may be a record, so nothing of it is shown.
    #[error(
        "the first line of `{}` is no header: field {field} is {what}. If it is a record, `sordino schema \
        DATA --no-header` names the columns in a template, under csv.names; if it is a header all the same, \
        say so: csv.header = true in the schema, --header where there is none",
        path.display()
    )]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// The place of the field, from 1.
        field: usize,
        /// What it is instead of a name.
        what: &'static str,
    },
    /// One column, with delimiters of other files in its name.
    #[error(
        "`{}` has one column{called}: is the delimiter `{found}`? Write csv.delimiter = {} into a schema and \
        name it with --schema FILE (`sordino query` also takes --delimiter); if it is one column, say so \
        there: csv.header = true",
        path.display(), toml_text(*found)
    )]
    OneColumn {
        /// The file.
        path: PathBuf,
        /// ` called ...`, if the line may be shown.
        called: String,
        /// What stands in it.
        found: char,
    },
    /// Two characters that may be the delimiter.
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
    /// The file says itself what stands between fields, and the options say otherwise.
    #[error(
        "`{}` says in its first line that the delimiter is `{}`; write csv.delimiter = {} into a schema and \
        name it with --schema FILE (`sordino query` also takes --delimiter)",
        path.display(), stated.escape_debug(), toml_text(*stated)
    )]
    StatedDelimiter {
        /// The file.
        path: PathBuf,
        /// What it says.
        stated: char,
    },
    /// Nothing in the first line is a declared column. It may be a
    /// record, so nothing of it is shown.
    #[error(
        "the first line of `{}` has none of the columns that the schema declares; if it is a record, name \
        the columns under csv.names; else compare names and csv.delimiter with the file",
        path.display()
    )]
    NoDeclaredColumn {
        /// The file.
        path: PathBuf,
    },
    /// A data dictionary that cannot be used.
    #[error("`{}`{}: {source}", path.display(), row.map_or_else(String::new, |row| format!(", row {row}")))]
    Dictionary {
        /// The dictionary.
        path: PathBuf,
        /// Its row, from 1; the header is not counted.
        row: Option<usize>,
        /// What is wrong.
        source: DictionaryError,
    },
    /// Two columns of one name.
    #[error("`{}` has two columns named {}; rename one, or name all columns by \
        csv.names", path.display(), quoted(column))]
    TwiceInHeader {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
    },
    /// A column that the schema has and the file has not.
    #[error("the schema declares column `{column}`, which `{}` does not have{hint}", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// The nearest name in the file.
        hint: String,
    },
    /// A column that the file has and the schema has not.
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
    /// A column that is asked for and not declared.
    #[error("there is no column `{column}` to use{hint}")]
    NoSuchColumn {
        /// The name.
        column: String,
        /// The nearest name.
        hint: String,
    },
    /// A column of a kind that does not serve.
    #[error("column `{column}` must be {expected}, and the schema says {got}")]
    WrongKind {
        /// The name.
        column: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        got: &'static str,
    },
    /// A value that is not what the schema says. Strict door only.
    #[error("`{}`, row {row}, column `{column}`: expected {expected}; {advice} (rows are counted without the \
        header)", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// The record, from 1; a header is not counted.
        row: u64,
        /// The column.
        column: String,
        /// What was expected.
        expected: String,
        /// What to do.
        advice: &'static str,
    },
    /// A record with too few or too many fields. Strict door only.
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
    /// A record beyond all measure. Strict door only.
    #[error(
        "`{}`, row {row}: the record is longer than {limit} bytes; is a closing quote \
        missing?", path.display()
    )]
    LongRecord {
        /// The file.
        path: PathBuf,
        /// The record, from 1.
        row: u64,
        /// The longest that is read.
        limit: usize,
    },
    /// Values or records that are not what the schema says. Strict door only.
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
    /// A survey of another opening of the file, or by another unit.
    #[error(
        "the survey of `{}` was made of another source, or for another unit; make one with this loader",
        path.display()
    )]
    OtherSurvey {
        /// The file.
        path: PathBuf,
    },
    /// Less memory than encoded records take.
    #[error(
        "no memory for {bytes} more bytes of encoded records; use fewer columns or categories, or a cache"
    )]
    OutOfMemory {
        /// What was asked for.
        bytes: u64,
    },
    /// Columns of different lengths, handed over by a program.
    #[error("columns must have equally many values; `{column}` has {got}, others {expected}")]
    Lengths {
        /// The column.
        column: String,
        /// What the first one has.
        expected: usize,
        /// What it has.
        got: usize,
    },
    /// More records than are numbered.
    #[error("a table has at most 2^32 - 1 records; train on a part of it")]
    TooManyRecords,
    /// Nothing to learn from.
    #[error("no column is left to learn from: all others are ignored; give them a kind in the schema")]
    NoFeatures,
    /// An encoding of another version or with impossible numbers.
    #[error("not a sound encoding: {reason}")]
    Encoding {
        /// What is wrong.
        reason: String,
    },
    /// The schema itself.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

impl DataError {
    pub(crate) fn io(path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}

/// A character as a TOML text.
fn toml_text(character: char) -> String {
    match character {
        '\t' => "\"\\t\"".to_owned(),
        other => format!("\"{other}\""),
    }
}
