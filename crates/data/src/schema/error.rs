//! What is wrong with a schema.

use sordino_privacy::ParamError;

/// Why a schema is refused. None of it depends on data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Not TOML.
    #[error("the schema is not TOML: {message}")]
    Syntax {
        /// Line, column and reason, from the parser.
        message: String,
    },
    /// Longer than any schema.
    #[error("a schema has at most {limit} bytes, got {bytes}")]
    TooLong {
        /// What came.
        bytes: usize,
        /// What is read.
        limit: usize,
    },
    /// From the future.
    #[error("the schema has format_version {got}; this version of the program reads {known}: update it")]
    Version {
        /// What came.
        got: i64,
        /// The newest that is read.
        known: u32,
    },
    /// A key that means nothing here.
    #[error("{place}: `{key}` is not known here (known: {known}){hint}")]
    UnknownKey {
        /// Where: a column, or the schema itself.
        place: String,
        /// The key.
        key: String,
        /// What is known.
        known: String,
        /// The nearest.
        hint: String,
    },
    /// A value of another type.
    #[error("{place}: {key} must be {expected}, got {got}")]
    Type {
        /// Where.
        place: String,
        /// The key.
        key: String,
        /// What was expected.
        expected: String,
        /// What came.
        got: String,
    },
    /// A key that must be there.
    #[error("{place}: {key} is missing; {advice}")]
    MissingKey {
        /// Where.
        place: String,
        /// The key.
        key: &'static str,
        /// What to write.
        advice: &'static str,
    },
    /// Something wrong with one column.
    #[error("column {column}: {source}")]
    Column {
        /// Its name, quoted.
        column: String,
        /// What.
        source: Box<SchemaError>,
    },
    /// No column is declared.
    #[error("the schema declares no columns; `sordino schema DATA` writes a template with all of them")]
    NoColumns,
    /// One name, two declarations.
    #[error("column `{name}` is declared twice; keep one of the two")]
    Twice {
        /// The name.
        name: String,
    },
    /// Bounds that bound nothing.
    #[error(
        "bounds must be two finite numbers, the lower one first and below the upper one, got [{lower}, \
        {upper}]"
    )]
    Bounds {
        /// The first.
        lower: f64,
        /// The second.
        upper: f64,
    },
    /// A replacement outside of the bounds.
    #[error("missing must lie within bounds = [{lower}, {upper}] or be \"drop\", got {value}")]
    MissingOutside {
        /// The replacement.
        value: f64,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// A replacement that is not listed.
    #[error(
        "{key} must be \"drop\" or one of values, got {value}; add it to values to make it a category of its \
        own{hint}"
    )]
    NotAValue {
        /// `missing` or `other`.
        key: &'static str,
        /// What came, quoted.
        value: String,
        /// The nearest.
        hint: String,
    },
    /// A category without values.
    #[error("values must list at least one value")]
    NoValues,
    /// A category with too many values.
    #[error("a category has at most {limit} values, got {values}")]
    TooManyValues {
        /// What came.
        values: usize,
        /// What is read.
        limit: usize,
    },
    /// A value that is listed twice.
    #[error("values lists {value} twice")]
    ValueTwice {
        /// The value, quoted.
        value: String,
    },
    /// Options of CSV files that make a file ambiguous.
    #[error(
        "csv.{first} and csv.{second} are both `{both}`, so a file could be read in two ways; change one of \
        them"
    )]
    CsvClash {
        /// A key.
        first: &'static str,
        /// Another.
        second: &'static str,
        /// What both are.
        both: char,
    },
    /// A header line and names for a file without one.
    #[error(
        "csv.header says that the first line is a header, and csv.names that there is none; leave one of \
        them out"
    )]
    HeaderAndNames,
    /// A number out of range.
    #[error(transparent)]
    Param(#[from] ParamError),
}

impl SchemaError {
    /// The same, said of a column.
    pub(crate) fn of_column(self, column: &str) -> Self {
        Self::Column { column: sordino_spelling::quoted(column), source: Box::new(self) }
    }
}
