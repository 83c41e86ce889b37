//! Synthetic tables for rehearsals. They have the columns of the real table and depend on nothing
//! else of it.
//!
//! # Definition
//! A record is a normal vector z of four coordinates around the mean of its class. Means are so far
//! apart that the best model is right about nine times in ten. Each column is
//! `c + f (0.3 a·z + 0.1 e)`, with a random unit vector a and normal e, where -1 and 1 stand for
//! its declared bounds. Bounds are declared with room, so columns of numbers have factors f from 1
//! to a tenth, and centres c within half of the range. A number to predict is such a column with
//! c = 0 and f = 1; four fifths of its variance can be explained.

use sordino_data::{Column, Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table, UnitRule};
use sordino_noise::{Bits, danger};

use super::subject::Subject;
use crate::error::RunError;

/// The number of records on which models are scored.
const TEST_RECORDS: usize = 2000;
/// The number of directions in which records differ.
const DIRECTIONS: usize = 4;
/// The scale of a column's shared part, where its declared range is [-1, 1].
const SHARED_SCALE: f64 = 0.3;
/// The scale of a column's own part, where its declared range is [-1, 1].
const OWN_SCALE: f64 = 0.1;

/// A synthetic table.
pub(crate) struct SyntheticTable {
    schema: Schema,
    pub(crate) encoding: Encoding,
    /// The number of records for training.
    pub(crate) n: usize,
}

impl SyntheticTable {
    /// A synthetic table of `n` records with the columns of the real one.
    pub(crate) fn like(subject: &Subject, n: usize) -> Result<Self, RunError> {
        let mut schema = subject.schema.clone();
        // Every synthetic record is a unit of its own; the noise already accounts for the limit of
        // records per unit.
        if let Some(unit) = subject.schema.unit().column() {
            schema = schema.with_column(unit, Column::Ignore);
        }
        let schema = schema.with_unit(UnitRule::Record);
        let options = EncodingOptions {
            target: subject.encoding.target().map(str::to_owned),
            scaling: subject.encoding.scaling(),
            intercept: subject.encoding.has_intercept(),
            row_norm: Some(subject.encoding.row_norm()),
        };
        let encoding = Encoding::new(&schema, &subject.names, options)?;
        Ok(Self { schema, encoding, n })
    }

    /// The records for training.
    pub(crate) fn train(&self) -> Result<Encoded, RunError> {
        self.records(1)
    }

    /// The records for scoring.
    pub(crate) fn test(&self) -> Result<Encoded, RunError> {
        self.records(2)
    }

    fn records(&self, part: u64) -> Result<Encoded, RunError> {
        // Both parts share means and directions, and have a seed each for their records.
        let mut world = Normals(danger::seeded(0));
        let mut records = Normals(danger::seeded(part));
        let rows = if part == 1 { self.n } else { TEST_RECORDS };
        let features: Vec<&str> = self.encoding.features().collect();
        let classes = self.encoding.classes().map_or(1, <[String]>::len);
        // Means with coordinates of this standard deviation are `distance` apart, in root mean
        // square.
        let apart = distance(classes) / (2.0 * DIRECTIONS as f64).sqrt();
        let means: Vec<Vector> = (0..classes).map(|_| world.vector().map(|x| apart * x)).collect();
        let views: Vec<Vector> = features.iter().map(|_| world.direction()).collect();
        let slope = world.direction();
        let places: Vec<(f64, f64)> = features.iter().map(|name| self.place(name, &mut world)).collect();
        let of: Vec<usize> = (0..rows).map(|row| row % classes).collect();
        let mut values = vec![Vec::with_capacity(rows); features.len()];
        let mut targets = Vec::with_capacity(rows);
        for class in &of {
            let (mean, spread) = (means[*class], records.vector());
            let z: Vector = std::array::from_fn(|i| if classes > 1 { mean[i] } else { 0.0 } + spread[i]);
            for ((column, view), (centre, factor)) in values.iter_mut().zip(&views).zip(&places) {
                column.push(centre + factor * (SHARED_SCALE * dot(view, &z) + OWN_SCALE * records.next()));
            }
            targets.push(SHARED_SCALE * dot(&slope, &z) + 0.5 * SHARED_SCALE * records.next());
        }
        let mut raw = RawTable::new();
        for (name, values) in features.iter().zip(values) {
            raw = self.with(raw, name, values)?;
        }
        if let Some(target) = self.encoding.target() {
            raw = match self.encoding.classes() {
                Some(classes) => {
                    let words = of.iter().map(|class| Some(classes[*class].as_str()));
                    raw.texts(target, words.collect::<Vec<_>>())?
                }
                None => self.with(raw, target, targets)?,
            };
        }
        let table = Table::new(raw, &self.schema, Door::Permissive, &mut danger::seeded(0))?;
        Ok(Encoded::new(&self.encoding, &table)?)
    }

    /// Centre and factor of a column.
    fn place<B: Bits>(&self, name: &str, world: &mut Normals<B>) -> (f64, f64) {
        let (one, other) = (world.direction(), world.direction());
        match self.schema.column(name) {
            // Coordinates of directions lie between -1 and 1.
            Some(Column::Number(_)) => (0.5 * one[0], 0.1f64.powf(other[0].abs())),
            Some(Column::Category(_) | Column::Ignore) | None => (0.0, 1.0),
        }
    }

    /// Adds a column from values in [-1, 1], which stand for its declared range.
    fn with(&self, raw: RawTable, name: &str, values: Vec<f64>) -> Result<RawTable, RunError> {
        let part = |value: f64| (0.5 * (value + 1.0)).clamp(0.0, 1.0);
        Ok(match self.schema.column(name) {
            Some(Column::Number(number)) => {
                let (lower, upper) = (number.bounds().lower(), number.bounds().upper());
                let scaled = values.into_iter().map(|value| lower + part(value) * (upper - lower));
                let whole = |value: f64| if number.is_whole() { value.round() } else { value };
                raw.numbers(name, scaled.map(whole).collect())?
            }
            Some(Column::Category(category)) => {
                let words = category.values();
                let word = |value: f64| {
                    words[((part(value) * words.len() as f64) as usize).min(words.len() - 1)].as_str()
                };
                raw.texts(name, values.into_iter().map(|value| Some(word(value))).collect::<Vec<_>>())?
            }
            Some(Column::Ignore) | None => raw,
        })
    }
}

type Vector = [f64; DIRECTIONS];

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The distance between classes, in standard deviations, that leaves one error in ten: a record is
/// taken for each of the K - 1 other classes with probability at most Φ(-distance/2). Quantiles are
/// from Abramowitz, Stegun, *Handbook of Mathematical Functions*, 26.2.22.
fn distance(classes: usize) -> f64 {
    let error = 0.1 / classes.saturating_sub(1).max(1) as f64;
    let t = (-2.0 * error.ln()).sqrt();
    2.0 * (t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t))
}

/// Normal numbers for synthetic records. They protect nobody, so floating point suffices (Box,
/// Muller, *A Note on the Generation of Random Normal Deviates*, 1958).
struct Normals<B>(B);

impl<B: Bits> Normals<B> {
    fn vector(&mut self) -> Vector {
        std::array::from_fn(|_| self.next())
    }

    fn direction(&mut self) -> Vector {
        let vector = self.vector();
        let length = dot(&vector, &vector).sqrt();
        vector.map(|x| x / length)
    }

    fn next(&mut self) -> f64 {
        let mut uniform = || ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_as_far_apart_as_nine_in_ten_asks_for() {
        // Φ(-1.2816) = 0.1 and Φ(-2.2865) = 0.1/9.
        assert!((distance(2) - 2.0 * 1.2816).abs() < 0.01 && (distance(10) - 2.0 * 2.2865).abs() < 0.01);
    }

    #[test]
    fn invented_numbers_are_normal() {
        let mut normals = Normals(danger::seeded(1));
        let drawn: Vec<f64> = (0..20_000).map(|_| normals.next()).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let square = drawn.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        // Six standard errors; the seed is fixed.
        assert!(mean.abs() < 6.0 / 141.0 && (square - 1.0).abs() < 6.0 * 0.01, "{mean} {square}");
    }
}
