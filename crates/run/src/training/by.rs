//! Groups of public records, by the values of one column.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sordino_data::{BoundedColumn, CategoryColumn, Column, Door, Loader, Schema, Source};
use sordino_noise::danger;
use sordino_spelling::hint;

use crate::error::RunError;

/// The number of ranges into which a column of numbers is cut.
const RANGES: usize = 4;

/// `COLUMN`, or `COLUMN=VALUE,VALUE` for a column whose values the schema does not declare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct By {
    column: String,
    values: Option<Vec<String>>,
}

/// The group of each slot.
#[derive(Debug)]
pub(crate) struct Grouping {
    pub(crate) column: String,
    pub(crate) values: Vec<String>,
    /// The index of each slot's value; `None` for a slot without one.
    pub(crate) value_of: Vec<Option<usize>>,
}

impl By {
    /// Reads the column. Each category is a group; numbers fall into ranges of equal width between
    /// their declared bounds.
    pub(crate) fn read(&self, source: &Source, schema: &Schema) -> Result<Grouping, RunError> {
        let names = source.names();
        if !names.contains(&self.column) {
            let hint = hint(&self.column, names.iter().map(String::as_str));
            return Err(RunError::NoGroupColumn { column: self.column.clone(), hint });
        }
        let schema = match (&self.values, schema.column(&self.column)) {
            (Some(values), _) => schema
                .clone()
                .with_column(&self.column, Column::Category(CategoryColumn::new(values.iter().cloned())?)),
            (None, Some(Column::Ignore) | None) => {
                return Err(RunError::UndeclaredGroups { column: self.column.clone() });
            }
            (None, Some(_)) => schema.clone(),
        };
        // A value that is not listed leaves its record without a group.
        let loader = Loader::new(source, &schema, Door::Permissive);
        let table = loader.read_columns(&[&self.column], &mut danger::seeded(0))?;
        let (values, numbers): (Vec<String>, Vec<usize>) = match table.column(&self.column)? {
            BoundedColumn::Categories { values, codes } => {
                (values.clone(), codes.iter().map(|code| *code as usize).collect())
            }
            BoundedColumn::Numbers { bounds, values } => {
                let (lower, width) = (bounds.lower(), (bounds.upper() - bounds.lower()) / RANGES as f64);
                let range = |number: usize| {
                    let from = lower + width * number as f64;
                    format!("{from} to {}", lower + width * (number + 1) as f64)
                };
                // Within bounds, so between 0 and the number of ranges.
                let place = |value: &f64| (((value - lower) / width) as usize).min(RANGES - 1);
                ((0..RANGES).map(range).collect(), values.iter().map(place).collect())
            }
        };
        let present = |(slot, number): (usize, usize)| table.is_present(slot).then_some(number);
        let value_of = numbers.into_iter().enumerate().map(present).collect();
        Ok(Grouping { column: self.column.clone(), values, value_of })
    }
}

impl FromStr for By {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (column, values) = match text.split_once('=') {
            Some((column, values)) => (column, Some(values.split(',').map(str::to_owned).collect())),
            None => (text, None),
        };
        if column.is_empty() {
            return Err(format!("name a column, or COLUMN=VALUE,VALUE; got `{text}`"));
        }
        Ok(Self { column: column.to_owned(), values })
    }
}

impl TryFrom<String> for By {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<By> for String {
    fn from(by: By) -> Self {
        by.to_string()
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.values {
            Some(values) => write!(f, "{}={}", self.column, values.join(",")),
            None => f.write_str(&self.column),
        }
    }
}
