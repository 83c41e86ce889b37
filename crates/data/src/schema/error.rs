//! What is wrong with a schema.

use sordino_privacy::ParamError;

/// Why a schema is refused. No error depends on data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The schema is not TOML.
    #[error("the schema is not TOML: {message}")]
    Syntax {
        /// Line, column and reason, from the parser.
        message: String,
    },
    /// The schema is too long.
    #[error("a schema has at most {limit} bytes, got {bytes}")]
    TooLong {
        /// The length of the schema.
        bytes: usize,
        /// The longest schema that is read.
        limit: usize,
    },
    /// The schema has a newer version than this program reads.
    #[error("the schema has format_version {got}; this version of the program reads {known}: update it")]
    Version {
        /// The schema's version.
        got: i64,
        /// The newest version that is read.
        known: u32,
    },
    /// A key is unknown at its place.
    #[error("{place}: `{key}` is not known here (known: {known}){hint}")]
    UnknownKey {
        /// Where: a column, or the schema itself.
        place: String,
        /// The key.
        key: String,
        /// The known keys.
        known: String,
        /// The nearest known key.
        hint: String,
    },
    /// A value has the wrong type.
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
    /// A key is missing.
    #[error("{place}: {key} is missing; {advice}")]
    MissingKey {
        /// Where.
        place: String,
        /// The key.
        key: &'static str,
        /// What to write.
        advice: &'static str,
    },
    /// The declaration of one column is wrong.
    #[error("column {column}: {source}")]
    Column {
        /// Its name, quoted.
        column: String,
        /// What is wrong.
        source: Box<SchemaError>,
    },
    /// The schema declares no column.
    #[error("the schema declares no columns; `sordino schema DATA` writes a template with all of them")]
    NoColumns,
    /// One name has two declarations.
    #[error("column `{name}` is declared twice; keep one of the two")]
    Twice {
        /// The name.
        name: String,
    },
    /// The bounds are not two finite ascending numbers.
    #[error(
        "bounds must be two finite numbers, the lower one first and below the upper one, got [{lower}, \
        {upper}]"
    )]
    Bounds {
        /// The first number.
        lower: f64,
        /// The second number.
        upper: f64,
    },
    /// A replacement lies outside of the bounds.
    #[error("missing must lie within bounds = [{lower}, {upper}] or be \"drop\", got {value}")]
    MissingOutside {
        /// The replacement.
        value: f64,
        /// The lower bound.
        lower: f64,
        /// The upper bound.
        upper: f64,
    },
    /// A replacement is not one of the listed values.
    #[error(
        "{key} must be \"drop\" or one of values, got {value}; add it to values to make it a category of its \
        own{hint}"
    )]
    NotAValue {
        /// `missing`, `other` or `aliases`.
        key: &'static str,
        /// The replacement, quoted.
        value: String,
        /// The nearest listed value.
        hint: String,
    },
    /// A category has no values.
    #[error("values must list at least one value")]
    NoValues,
    /// A category has too many values.
    #[error("a category has at most {limit} values, got {values}")]
    TooManyValues {
        /// The number of values.
        values: usize,
        /// The most values of a category.
        limit: usize,
    },
    /// A value is listed twice.
    #[error("values lists {value} twice")]
    ValueTwice {
        /// The value, quoted.
        value: String,
    },
    /// Two CSV options have the same character, so a file is ambiguous.
    #[error(
        "csv.{first} and csv.{second} are both `{both}`, so a file could be read in two ways; change one of \
        them"
    )]
    CsvClash {
        /// The first key.
        first: &'static str,
        /// The second key.
        second: &'static str,
        /// The character that both have.
        both: char,
    },
    /// The CSV options say both that there is a header line and that there is none.
    #[error(
        "csv.header says that the first line is a header, and csv.names that there is none; leave one of \
        them out"
    )]
    HeaderAndNames,
    /// A number is out of range.
    #[error(transparent)]
    Param(#[from] ParamError),
}

impl SchemaError {
    /// The same error, with the column's name.
    pub(crate) fn of_column(self, column: &str) -> Self {
        Self::Column { column: sordino_spelling::quoted(column), source: Box::new(self) }
    }
}
