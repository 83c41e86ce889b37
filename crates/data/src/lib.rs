//! How data comes in.
#![deny(unsafe_code)]

mod batches;
mod schema;
mod words;

pub use batches::{Batch, BatchError, BatchPlan, Batches, Group, Sampling};
pub use schema::{
    Bounds, CategoryColumn, Column, CsvOptions, HeaderColumn, NumberColumn, Rule, SCHEMA_FORMAT_VERSION,
    SCHEMA_MAX_BYTES, Schema, SchemaError, TypeHint, UnitRule, template,
};
