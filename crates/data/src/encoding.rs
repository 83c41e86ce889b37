//! From bounded columns to vectors: the form of the records on which a model is trained, and which
//! it needs again at prediction.
//!
//! # Definition
//! | column | coordinates |
//! |---|---|
//! | number in [l, u], [`Scaling::Symmetric`] | `2 (v - l)/(u - l) - 1` |
//! | number in [l, u], [`Scaling::Unit`] | `(v - l)/(u - l)` |
//! | number in [l, u], [`Scaling::None`] | `v` |
//! | category of K values | K coordinates, 1 at the value and 0 elsewhere |
//! | intercept | one coordinate that is 1, last |
//!
//! Then, if a row norm is set, longer rows are scaled down to it. All of this comes from the
//! schema: no mean, no deviation, no category is read off the data.
//!
//! # Guarantee
//! Every row has an L2 norm of at most [`Encoding::row_norm`] and every coordinate an absolute
//! value of at most [`Encoding::coordinate_bounds`]. Both bounds hold exactly, not only up to
//! rounding: the norm of the stored `f32`s is computed with its error bound, and the row is shrunk
//! until the bound holds. The intercept counts.
//!
//! # Pitfalls
//! Standardising by the data's mean and deviation is a query on the data, and must be paid for. A
//! model without its encoding is useless, so the two are stored together.

mod json;
mod row;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::encoded::{Block, ROWS_PER_BLOCK};
use crate::error::DataError;
use crate::schema::{Bounds, Column, Schema, UnitRule};

/// The version of the format that is written and read.
pub const ENCODING_FORMAT_VERSION: u32 = 1;
/// The most coordinates of a row.
const MAX_COORDINATES: usize = 1 << 24;

/// How numbers are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// From their bounds to [-1, 1].
    #[default]
    Symmetric,
    /// From their bounds to [0, 1].
    Unit,
    /// Not at all: numbers stay as they are, within their bounds.
    None,
}

/// The choices of an encoding beside the schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodingOptions {
    /// The column to be predicted.
    pub target: Option<String>,
    /// How numbers are scaled.
    pub scaling: Scaling,
    /// Whether a coordinate that is 1 is appended.
    pub intercept: bool,
    /// The L2 norm to which longer rows are scaled down.
    pub row_norm: Option<f64>,
}

/// A checked encoding.
///
/// ```
/// use sordino_data::{Encoding, EncodingOptions, Schema};
/// let schema = Schema::from_toml(
///     "columns.age = { kind = 'number', bounds = [0, 100] }\n\
///      columns.smoker = { kind = 'category', values = ['no', 'yes'] }",
/// )?;
/// let options = EncodingOptions { target: Some("smoker".into()), intercept: true, ..Default::default() };
/// let encoding = Encoding::new(&schema, &["age".into(), "smoker".into()], options)?;
/// assert_eq!(encoding.coordinates(), ["age", "(intercept)"]);
/// assert_eq!(encoding.classes().map(<[String]>::len), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Encoding {
    schema: Schema,
    features: Vec<(String, Column)>,
    target: Option<(String, Column)>,
    scaling: Scaling,
    intercept: bool,
    row_norm: Option<f64>,
    width: usize,
}

impl Encoding {
    /// The features are all columns of `names` (the header of the file) that the schema declares
    /// and does not ignore, except the target and the unit.
    pub fn new(schema: &Schema, names: &[String], options: EncodingOptions) -> Result<Self, DataError> {
        let target = match &options.target {
            None => None,
            Some(name) => Some((name.clone(), target(schema, names, name)?)),
        };
        let is_feature =
            |name: &String| options.target.as_ref() != Some(name) && schema.unit().column() != Some(name);
        let column = |name: &String| match schema.column(name) {
            None | Some(Column::Ignore) => None,
            Some(column) => Some((name.clone(), column.clone())),
        };
        let features: Vec<_> = names.iter().filter(|name| is_feature(name)).filter_map(column).collect();
        let EncodingOptions { scaling, intercept, row_norm, .. } = options;
        Self { schema: schema.clone(), features, target, scaling, intercept, row_norm, width: 0 }.checked()
    }

    /// The same encoding for records whose target is unknown. Prediction protects nobody, so units
    /// and their limits do not matter either. The columns of target and unit may be absent, and are
    /// not read.
    pub fn for_prediction(&self) -> Self {
        let mut schema = self.schema.clone();
        for name in self.target().into_iter().chain(self.schema.unit().column()) {
            schema = schema.with_column(name, Column::Ignore);
        }
        Self { schema: schema.with_unit(UnitRule::Record), target: None, ..self.clone() }
    }

    fn checked(mut self) -> Result<Self, DataError> {
        if self.features.is_empty() {
            return Err(DataError::NoFeatures);
        }
        let refused = |reason: &str| Err(DataError::Encoding { reason: reason.to_owned() });
        if self.row_norm.is_some_and(|norm| !(norm > 1e-30 && norm < 1e30)) {
            return refused("row_norm must be a number above 1e-30 and below 1e30");
        }
        let widths = self.features.iter().map(|(_, column)| coordinates_of(column));
        self.width = widths.sum::<usize>() + usize::from(self.intercept);
        if self.width > MAX_COORDINATES {
            return refused("it has more than 2^24 coordinates; drop or merge categories");
        }
        let numbers = self.features.iter().chain(&self.target).filter_map(|(_, column)| bounds_of(column));
        let is_beyond = |bounds: Bounds| bounds.lower().abs().max(bounds.upper().abs()) > 1e30;
        if numbers.into_iter().any(is_beyond) {
            return refused("bounds beyond 1e30 cannot be encoded; declare nearer ones");
        }
        Ok(self)
    }

    /// The schema by which records are bounded before they are encoded.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The names of the columns that are features, in order.
    pub fn features(&self) -> impl Iterator<Item = &str> {
        self.features.iter().map(|(name, _)| name.as_str())
    }

    /// The name of the column to be predicted.
    pub fn target(&self) -> Option<&str> {
        self.target.as_ref().map(|(name, _)| name.as_str())
    }

    /// The classes, if the target is a category.
    pub fn classes(&self) -> Option<&[String]> {
        match self.target.as_ref()?.1 {
            Column::Category(ref column) => Some(column.values()),
            Column::Number(_) | Column::Ignore => None,
        }
    }

    /// The bounds of the target, if it is a number.
    pub fn target_bounds(&self) -> Option<Bounds> {
        bounds_of(&self.target.as_ref()?.1)
    }

    /// How numbers are scaled.
    pub fn scaling(&self) -> Scaling {
        self.scaling
    }

    /// Whether a coordinate that is 1 is appended.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// The number of coordinates of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The bytes that `n` encoded records take in memory. They are known before any record is read,
    /// so lack of memory is reported before anything is charged.
    pub fn bytes(&self, n: u64) -> u64 {
        let numbers = self.width as u64 + u64::from(self.target.is_some());
        let a_record =
            numbers.saturating_mul(size_of::<f32>() as u64).saturating_add(size_of::<bool>() as u64);
        let blocks = n.div_ceil(ROWS_PER_BLOCK as u64).saturating_mul(size_of::<Block>() as u64);
        n.saturating_mul(a_record).saturating_add(blocks)
    }

    /// The names of the coordinates: `age`, `smoker=yes`, `(intercept)`.
    pub fn coordinates(&self) -> Vec<String> {
        let names = self.features.iter().flat_map(|(name, column)| match column {
            Column::Category(column) => {
                column.values().iter().map(|value| format!("{name}={value}")).collect()
            }
            Column::Number(_) | Column::Ignore => vec![name.clone()],
        });
        names.chain(self.intercept.then(|| "(intercept)".to_owned())).collect()
    }

    /// The largest absolute value of each coordinate.
    pub fn coordinate_bounds(&self) -> Vec<f64> {
        let largest = self.row_norm.unwrap_or(f64::INFINITY);
        let bounds = self.features.iter().flat_map(|(_, column)| match column {
            Column::Category(column) => vec![1.0; column.values().len()],
            Column::Number(column) => vec![self.reach(column.bounds())],
            Column::Ignore => Vec::new(),
        });
        bounds.chain(self.intercept.then_some(1.0)).map(|bound: f64| bound.min(largest)).collect()
    }

    /// The largest L2 norm of a row: the one that is set, or the largest that the columns allow,
    /// rounded up.
    pub fn row_norm(&self) -> f64 {
        let squares = self.features.iter().map(|(_, column)| match column {
            Column::Category(_) => 1.0,
            Column::Number(column) => self.reach(column.bounds()).powi(2),
            Column::Ignore => 0.0,
        });
        let sum: f64 = squares.sum::<f64>() + f64::from(u8::from(self.intercept));
        // Fewer than 2^25 terms, each rounded: the relative error is below 2^-27.
        let allowed = sum.sqrt() * (1.0 + 2f64.powi(-26));
        self.row_norm.map_or(allowed, |set| set.min(allowed))
    }

    /// The value of an encoded target, scaled back to the target's bounds.
    pub fn decode_target(&self, encoded: f64) -> f64 {
        match self.target_bounds() {
            None => encoded,
            Some(bounds) => row::unscaled(encoded, bounds, self.scaling),
        }
    }

    /// The largest absolute value of an encoded target.
    pub fn largest_target(&self) -> f64 {
        match &self.target {
            Some((_, Column::Number(column))) => self.reach(column.bounds()),
            Some((_, Column::Category(column))) => column.values().len() as f64 - 1.0,
            Some((_, Column::Ignore)) | None => 0.0,
        }
    }

    /// The largest absolute value of an encoded number with these bounds. It holds after rounding
    /// too, because rounding to `f32` is monotone.
    fn reach(&self, bounds: Bounds) -> f64 {
        match self.scaling {
            Scaling::Symmetric | Scaling::Unit => 1.0,
            Scaling::None => f64::from((bounds.lower() as f32).abs().max((bounds.upper() as f32).abs())),
        }
    }
}

fn target(schema: &Schema, names: &[String], name: &str) -> Result<Column, DataError> {
    let known = || names.iter().map(String::as_str);
    match schema.column(name) {
        Some(Column::Ignore) => Err(DataError::WrongKind {
            column: name.to_owned(),
            expected: "a number or a category to be predicted",
            got: "that it is ignored",
        }),
        Some(column) if names.iter().any(|known| known == name) => Ok(column.clone()),
        Some(_) | None => Err(DataError::NoSuchColumn {
            column: name.to_owned(),
            hint: sordino_spelling::hint(name, known()),
        }),
    }
}

fn bounds_of(column: &Column) -> Option<Bounds> {
    match column {
        Column::Number(column) => Some(column.bounds()),
        Column::Category(_) | Column::Ignore => None,
    }
}

fn coordinates_of(column: &Column) -> usize {
    match column {
        Column::Number(_) => 1,
        Column::Category(column) => column.values().len(),
        Column::Ignore => 0,
    }
}
