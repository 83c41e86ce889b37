//! Tables that are made up, to rehearse on: they have the columns of a real one and nothing else of it.
//!
//! # Definition
//! A record is a normal vector z of four coordinates around the mean of its class; classes are as far apart as lets the best model name
//! nine of ten records right. Each column shows z from a random direction, in units of its declared range, from -1 to 1:
//! `0.3 a·z + 0.1 e` with a random unit vector a and normal e. A number to be predicted is such a column of which four fifths of the
//! variance can be explained.

use sordino_data::{Column, Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table, UnitRule};
use sordino_noise::{Bits, danger};

use super::subject::Subject;
use crate::error::RunError;

/// Further records that models are scored on.
const TEST: usize = 2000;
/// Directions in which records differ.
const DIRECTIONS: usize = 4;
/// What a column shows of them, and what is its own, in units of its range.
const SHOWN: f64 = 0.3;
const OWN: f64 = 0.1;

/// A made-up table.
pub(crate) struct Invented {
    schema: Schema,
    pub(crate) encoding: Encoding,
    /// Records in it.
    pub(crate) n: usize,
}

impl Invented {
    /// With the columns of a real one and `n` records.
    pub(crate) fn like(subject: &Subject, n: usize) -> Result<Self, RunError> {
        let mut schema = subject.schema.clone();
        // Units have no part in it; their limit is in the noise.
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

    /// Its records.
    pub(crate) fn train(&self) -> Result<Encoded, RunError> {
        self.records(1)
    }

    /// Further ones.
    pub(crate) fn test(&self) -> Result<Encoded, RunError> {
        self.records(2)
    }

    fn records(&self, part: u64) -> Result<Encoded, RunError> {
        // The world is one seed, the records of each part another.
        let mut world = Normals(danger::seeded(0));
        let mut records = Normals(danger::seeded(part));
        let rows = if part == 1 { self.n } else { TEST };
        let features: Vec<&str> = self.encoding.features().collect();
        let classes = self.encoding.classes().map_or(1, <[String]>::len);
        // Two means whose coordinates have this deviation are as far apart as `distance` says, on average.
        let apart = distance(classes) / (2.0 * DIRECTIONS as f64).sqrt();
        let means: Vec<Vector> = (0..classes).map(|_| world.vector().map(|x| apart * x)).collect();
        let views: Vec<Vector> = features.iter().map(|_| world.direction()).collect();
        let slope = world.direction();
        let of: Vec<usize> = (0..rows).map(|row| row % classes).collect();
        let mut values = vec![Vec::with_capacity(rows); features.len()];
        let mut targets = Vec::with_capacity(rows);
        for class in &of {
            let (mean, spread) = (means[*class], records.vector());
            let z: Vector = std::array::from_fn(|i| if classes > 1 { mean[i] } else { 0.0 } + spread[i]);
            for (column, view) in values.iter_mut().zip(&views) {
                column.push(SHOWN * dot(view, &z) + OWN * records.next());
            }
            targets.push(SHOWN * dot(&slope, &z) + 0.5 * SHOWN * records.next());
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

    /// Adds a column, from values in units of its declared range.
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

/// How far apart classes must be, in deviations, for one error in ten: each of the K - 1 others is mistaken for it with
/// probability at most Φ(-distance/2). Quantiles by Abramowitz, Stegun, *Handbook of Mathematical Functions*, 26.2.22.
fn distance(classes: usize) -> f64 {
    let error = 0.1 / classes.saturating_sub(1).max(1) as f64;
    let t = (-2.0 * error.ln()).sqrt();
    2.0 * (t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t))
}

/// Normal numbers for invented records: they protect nobody, so floating point will do (Box, Muller, 1958).
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
