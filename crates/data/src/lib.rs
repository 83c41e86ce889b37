//! How data comes in: declared bounds, readers, contribution limits, encodings, batches.
//!
//! ```text
//! file ──Source──► raw records ──Loader (a Schema, a Door)──► Table (bounded)
//!                                                                 │ Encoding
//!     Batches of the slots, and their Event ◄──BatchPlan── Encoded (rows)
//! ```
//! # Guarantee
//! - Sensitivity is proved from declarations: every value of a [`Table`] and every row of
//!   [`Encoded`] lies within the bounds of its [`Schema`] and its [`Encoding`], whatever the file
//!   holds. No code can look at raw values.
//! - Each record is bounded or dropped by a rule that looks at that record alone (and, for units,
//!   at the records of its unit and fresh randomness). A dropped record leaves an empty slot; the
//!   others keep their slots.
//! - A [`Source`] is opened once. The second pass reads the bytes that the first pass, a
//!   [`Survey`], digested; if they differ, it returns an error and no data.
//! - Through [`Door::Permissive`] no error depends on a record's value. [`Door::Strict`], for the
//!   data's owner, names row and column, and never the value.
//! - [`BatchPlan`] derives batches and their event from the same numbers.
//! - [`Discovery`] pays for what the owner cannot declare: it finds bounds, means, scales and
//!   categories with noise, against a permit.
//!
//! # Features
//! `parquet` and `arrow` (both on by default) read those formats. `arrow` also provides the cache
//! for data that is larger than memory.
#![deny(unsafe_code)]

mod batches;
mod binding;
#[cfg(feature = "arrow")]
mod cache;
mod discover;
mod encoded;
mod encoding;
mod error;
mod limits;
mod loader;
#[cfg(feature = "arrow")]
mod map;
mod misfit;
mod raw;
mod reading;
mod schema;
mod source;
mod split;
mod survey;
mod table;

pub use batches::{Batch, BatchError, BatchGroup, BatchPlan, Batches, Sampling};
pub use discover::{DiscoverError, Discovered, Discovery, DiscoveryPlan, Found, Unknown};
pub use encoded::{BlockView, Encoded, ROWS_PER_BLOCK};
pub use encoding::{ENCODING_FORMAT_VERSION, Encoding, EncodingOptions, Scaling};
pub use error::DataError;
pub use limits::ContributionLimit;
pub use loader::Loader;
pub use misfit::Misfits;
pub use raw::RawTable;
pub use reading::{READING_MAX_BYTES, Reading, ReadingError};
pub use schema::{
    Bounds, CategoryColumn, Column, CsvOptions, Dictionary, DictionaryError, HeaderColumn, NumberColumn,
    Rule, SCHEMA_FORMAT_VERSION, SCHEMA_MAX_BYTES, Schema, SchemaError, TypeHint, UnitRule, template,
};
#[cfg(feature = "arrow")]
pub use source::ArrowTable;
pub use source::{
    Columns, CsvAsked, CsvFound, Door, Element, FirstLine, FixedTexts, Lane, MAX_COLUMNS, MAX_RECORD_BYTES,
    Matrix, Source, SparseRows, Truth, Values,
};
pub use split::Split;
pub use survey::{Survey, Wanted};
pub use table::{BoundedColumn, Table};
