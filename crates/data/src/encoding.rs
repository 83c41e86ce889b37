//! From bounded columns to vectors: what a model is trained on, and what it
//! must be shown again at prediction.
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
//! Then, if a row norm is set, a row beyond it is scaled down to it. All of it is made from the
//! schema: no mean, no deviation, no category is read off the data.
//!
//! # Guarantee
//! Every row has an L2 norm of at most [`Encoding::row_norm`] and every coordinate an absolute
//! value of at most [`Encoding::coordinate_bounds`], as real numbers and not only up to
//! rounding: the norm of the stored `f32`s is computed with its error bound, and the row is
//! shrunk until it holds. The intercept counts.
//!
//! # Pitfalls
//! Standardising by the data's mean and deviation is a query on the data, and pays. A model without
//! its encoding is of no use: the two are stored together.

mod json;
mod row;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::encoded::{Block, ROWS_PER_BLOCK};
use crate::error::DataError;
use crate::schema::{Bounds, Column, Schema, UnitRule};

/// The one version of the format.
pub const ENCODING_FORMAT_VERSION: u32 = 1;
/// The most coordinates of a row.
const MOST_COORDINATES: usize = 1 << 24;

/// Where numbers go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// From their bounds to [-1, 1].
    #[default]
    Symmetric,
    /// From their bounds to [0, 1].
    Unit,
    /// Nowhere: clamped to their bounds and left as they are.
    None,
}

/// What an encoding is made of, beside the schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EncodingOptions {
    /// The column to be predicted.
    pub target: Option<String>,
    /// Where numbers go.
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
    /// All columns of `names` (the header of the file) that the schema gives a kind,
    /// but for the target and the unit.
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

    /// The same rows for records whose target is not known. Nobody is protected at
    /// prediction, so units and their limits play no part either: the columns of both may
    /// be there or not, and are not read.
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
        if self.width > MOST_COORDINATES {
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

    /// The classes, where the target is a category.
    pub fn classes(&self) -> Option<&[String]> {
        match self.target.as_ref()?.1 {
            Column::Category(ref column) => Some(column.values()),
            Column::Number(_) | Column::Ignore => None,
        }
    }

    /// The bounds of the target, where it is a number.
    pub fn target_bounds(&self) -> Option<Bounds> {
        bounds_of(&self.target.as_ref()?.1)
    }

    /// Where numbers go.
    pub fn scaling(&self) -> Scaling {
        self.scaling
    }

    /// Whether the last coordinate is 1.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// How many coordinates a row has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many bytes `n` encoded records take in memory: known before any of them is read, so that
    /// whoever has not enough is told before anything is charged.
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

    /// The largest L2 norm of a row: the one that is set, or what the columns allow, rounded up.
    pub fn row_norm(&self) -> f64 {
        let squares = self.features.iter().map(|(_, column)| match column {
            Column::Category(_) => 1.0,
            Column::Number(column) => self.reach(column.bounds()).powi(2),
            Column::Ignore => 0.0,
        });
        let sum: f64 = squares.sum::<f64>() + f64::from(u8::from(self.intercept));
        // Fewer than 2^25 terms, each rounded: within 2^-27 of the sum.
        let allowed = sum.sqrt() * (1.0 + 2f64.powi(-26));
        self.row_norm.map_or(allowed, |set| set.min(allowed))
    }

    /// The number that an encoded target stands for.
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

    /// The largest absolute value of an encoded number with these
    /// bounds. Rounding to `f32` is monotone.
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
