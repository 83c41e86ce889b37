//! What a table may hold, as its owner declares it: bounds, categories, rules for missing values,
//! and the unit to protect.
//!
//! # Why it is declared
//! A minimum, a maximum or a list of the categories that occur is a statistic of the data: one
//! record can set it. Sensitivity is proved from bounds, so bounds that are read off the data
//! void the proof (Casacuberta, Shoemate, Vadhan, Wagaman, *Widespread Underestimation of
//! Sensitivity in Differentially Private Libraries*, 2022). A schema is public; nothing in it may
//! be taken from the records without paying.
//!
//! # Format
//! TOML, `format_version` 1; unknown keys are refused.
//! ```toml
//! unit = "record"                      # or: { column = "patient_id", max_records = 5 }
//! [columns.age]
//! kind = "number"                      # "integer": whole numbers only
//! bounds = [0, 120]
//! missing = 40                         # or "drop"
//! [columns.smoker]
//! kind = "category"
//! values = ["no", "yes", "unknown"]
//! missing = "unknown"                  # one of the values, or "drop"
//! other = "unknown"                    # the value for all that are not listed, or "drop"
//! [columns."pixel_*"]                  # every column whose name starts with `pixel_`
//! kind = "number"
//! bounds = [0, 255]
//! [columns.notes]
//! kind = "ignore"
//! ```
//! # What happens to a value
//! | value | with a rule | without one, strict door | without one, permissive door |
//! |---|---|---|---|
//! | outside of the bounds, infinite | clamped | clamped | clamped |
//! | missing, NaN, not a number | `missing` | error: row and column | the record is dropped |
//! | a category that is not listed | `other` | error: row and column | the record is dropped |
//!
//! A dropped record leaves its slot empty: it contributes nothing and moves no other record. Each
//! of these rules looks at one record alone.

mod columns;
mod csv;
mod dictionary;
mod digest;
mod error;
mod read;
mod template;
mod unit;
mod write;

use std::fmt;

use sordino_spelling::hint;

pub use columns::{Bounds, CategoryColumn, Column, NumberColumn, Rule};
pub use csv::CsvOptions;
pub use dictionary::{Dictionary, DictionaryError};
pub use error::SchemaError;
pub use template::{HeaderColumn, TypeHint, template};
pub use unit::UnitRule;

use crate::source::Door;

/// The version of the format that is written, and the newest that is read.
pub const SCHEMA_FORMAT_VERSION: u32 = 1;
/// The longest schema that is read, in bytes.
pub const SCHEMA_MAX_BYTES: usize = 16 << 20;

/// A checked schema.
///
/// ```
/// use sordino_data::{Column, Schema};
/// let schema = Schema::from_toml("columns.age = { kind = 'number', bounds = [0, 120] }")?;
/// assert!(matches!(schema.column("age"), Some(Column::Number(_))));
/// assert_eq!(schema.column("wage"), None);
/// # Ok::<(), sordino_data::SchemaError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    unit: UnitRule,
    csv: CsvOptions,
    /// Names, and patterns that end in `*`.
    columns: Vec<(String, Column)>,
}

impl Schema {
    /// A schema built by a program. Refuses an empty list, and a name that is declared twice.
    pub fn new(unit: UnitRule, columns: Vec<(String, Column)>) -> Result<Self, SchemaError> {
        Self::checked(unit, CsvOptions::default(), columns)
    }

    fn checked(unit: UnitRule, csv: CsvOptions, columns: Vec<(String, Column)>) -> Result<Self, SchemaError> {
        if columns.is_empty() {
            return Err(SchemaError::NoColumns);
        }
        let mut names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SchemaError::Twice { name: twice[0].to_owned() });
        }
        Ok(Self { unit, csv, columns })
    }

    /// Reads and checks the TOML form.
    pub fn from_toml(text: &str) -> Result<Self, SchemaError> {
        read::schema(text)
    }

    /// The TOML form, which [`from_toml`](Self::from_toml) reads back as the same schema.
    pub fn to_toml(&self) -> String {
        write::schema(self)
    }

    /// A SHA-256 of the declarations. It does not depend on the order of the columns, or on
    /// comments.
    pub fn digest(&self) -> [u8; 32] {
        digest::of(self)
    }

    /// The unit: whose records are protected together.
    pub fn unit(&self) -> &UnitRule {
        &self.unit
    }

    /// How CSV files of this table are written.
    pub fn csv(&self) -> &CsvOptions {
        &self.csv
    }

    /// The names and patterns, each with its declaration.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(name, column)| (name.as_str(), column))
    }

    /// The declaration for a column of this name: by the name itself, or by the longest pattern
    /// that matches it.
    pub fn column(&self, name: &str) -> Option<&Column> {
        if let Some((_, column)) = self.columns.iter().find(|(declared, _)| declared == name) {
            return Some(column);
        }
        let fitting = self.columns.iter().filter(|(pattern, _)| fits(pattern, name));
        fitting.max_by_key(|(pattern, _)| pattern.len()).map(|(_, column)| column)
    }

    /// The same schema with another declaration for one column.
    pub fn with_column(mut self, name: &str, column: Column) -> Self {
        match self.columns.iter_mut().find(|(declared, _)| declared == name) {
            Some(place) => place.1 = column,
            None => self.columns.push((name.to_owned(), column)),
        }
        self
    }

    /// The same schema with other CSV options.
    pub fn with_csv(self, csv: CsvOptions) -> Self {
        Self { csv, ..self }
    }

    /// The same schema with another rule for units.
    pub fn with_unit(self, unit: UnitRule) -> Self {
        Self { unit, ..self }
    }

    /// Whether a record read through this door can be dropped because of its values in these
    /// columns. If so, the number of remaining records is private under every relation:
    /// [`Table::slots`](crate::Table::slots) is public where n is,
    /// [`Table::records`](crate::Table::records) is not.
    pub fn may_drop(&self, columns: &[&str], door: Door) -> bool {
        let drops = |name: &&str| match self.column(name) {
            Some(Column::Number(column)) => column.missing_rule() == Rule::Drop,
            Some(Column::Category(column)) => {
                column.missing_rule() == Rule::Drop || column.other_rule() == Rule::Drop
            }
            Some(Column::Ignore) | None => false,
        };
        // No rule covers a line that cannot be parsed: the permissive door drops it.
        door == Door::Permissive || columns.iter().any(drops)
    }

    /// `; did you mean ...` for a name that is not declared.
    pub(crate) fn nearest(&self, name: &str) -> String {
        hint(name, self.columns.iter().map(|(name, _)| name.as_str()))
    }

    /// Whether the schema declares one of these names. A schema that declares `*` alone knows every
    /// name.
    pub(crate) fn knows_any(&self, names: &[String]) -> bool {
        let mut declared =
            self.columns.iter().map(|(name, _)| name.as_str()).filter(|name| *name != "*").peekable();
        let unit = self.unit.column().into_iter();
        declared.peek().is_none()
            || declared.chain(unit).any(|known| names.iter().any(|name| name == known || fits(known, name)))
    }

    /// Declared names and patterns that match none of `present`.
    pub(crate) fn absent_from<'a>(&'a self, present: &'a [String]) -> impl Iterator<Item = &'a str> {
        let is_there = |declared: &str| present.iter().any(|name| name == declared || fits(declared, name));
        self.columns.iter().map(|(name, _)| name.as_str()).filter(move |declared| !is_there(declared))
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_toml())
    }
}

/// Whether `name` starts with the pattern's text before its final `*`.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').is_some_and(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests;
