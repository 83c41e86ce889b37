//! What a run is likely to take and to lose, without a look at the data: a rehearsal on invented records.
//!
//! # Definition
//! The invented table has the columns and, up to a limit, the number of records of the real one. A record is a normal vector z of four
//! coordinates around the mean of its class; classes are as far apart as lets the best model name nine of ten records right. Each column shows z
//! from a random direction, in units of its declared range, from -1 to 1: `0.3 a·z + 0.1 e` with a random unit vector a and normal e. A number to
//! be predicted is such a column of which four fifths of the variance can be explained. The learner is run on them with its noise
//! and with next to none, and both are scored on 2000 further records: the difference is the estimate.
//!
//! With fewer records than the real table has, the noise in a mean would be too large by their ratio; ε is raised by it.
//!
//! # Pitfalls
//! It is a guess about tables in general: four directions are what real tables of some dozen columns are like, and classes may be easier or
//! harder to tell apart. The guide has its error on three data sets.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sordino::noise::{Bits, danger};
use sordino::prelude::*;
use sordino_data::{Column, Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table, UnitRule};
use sordino_learn::LinearModel;

use super::blueprint::Blueprint;
use super::evaluation::score;
use super::learner::Session;
use super::method::Task;
use crate::error::Error;

/// Further records that models are scored on.
const TEST: usize = 2000;
/// Numbers that a rehearsal touches in all, of records and steps.
const MOST_WORK: f64 = 1e8;
/// Directions in which records differ.
const DIRECTIONS: usize = 4;
/// What a column shows of them, and what is its own, in units of its range.
const SHOWN: f64 = 0.3;
const OWN: f64 = 0.1;
/// Enough that noise plays no part.
const NO_NOISE: f64 = 1e4;
/// Rehearsals with noise; the estimate is their mean.
const REPEATS: u64 = 3;

pub(crate) struct Estimate {
    /// Of the data in memory, in bytes.
    pub(crate) memory: u64,
    /// Of all steps, on this machine.
    pub(crate) time: Duration,
    /// The score with noise and with next to none.
    pub(crate) with_noise: f64,
    pub(crate) without_noise: f64,
}

impl Estimate {
    pub(crate) fn of(blueprint: &Blueprint) -> Result<Self, Error> {
        let stage = Stage::new(blueprint)?;
        let (train, test) = (stage.records(1)?, stage.records(2)?);
        let without = stage.rehearse(&train, NO_NOISE, 0)?.0;
        let mut with_noise = 0.0;
        let mut fastest = Duration::MAX;
        for seed in 1..=REPEATS {
            let (model, time) = stage.rehearse(&train, stage.epsilon(), seed)?;
            with_noise += score(&model, &test) / REPEATS as f64;
            fastest = fastest.min(time);
        }
        let n = blueprint.n.get();
        let row = 4 * blueprint.encoding.width() as u64 + 4 + 1 + 8;
        Ok(Self {
            memory: n * row,
            time: fastest.mul_f64(n as f64 / stage.n as f64),
            with_noise,
            without_noise: score(&without, &test),
        })
    }
}

/// The invented table.
struct Stage<'a> {
    blueprint: &'a Blueprint,
    schema: Schema,
    encoding: Encoding,
    n: usize,
}

impl<'a> Stage<'a> {
    fn new(blueprint: &'a Blueprint) -> Result<Self, Error> {
        let mut schema = blueprint.schema.clone();
        // Units have no part in it; their limit is in the noise.
        if let Some(unit) = blueprint.schema.unit().column() {
            schema = schema.with_column(unit, Column::Ignore);
        }
        let schema = schema.with_unit(UnitRule::Record);
        let options = EncodingOptions {
            target: blueprint.encoding.target().map(str::to_owned),
            scaling: blueprint.encoding.scaling(),
            intercept: blueprint.encoding.has_intercept(),
            row_norm: blueprint.settings.row_norm,
        };
        let encoding = Encoding::new(&schema, &blueprint.source.names(), options)?;
        let steps = blueprint.learner.steps().unwrap_or(100) as f64;
        let most = MOST_WORK / (encoding.width() * blueprint.loss.outputs()) as f64 / steps;
        let n = (blueprint.n.get() as f64).min(most.max(500.0)) as usize;
        Ok(Self { blueprint, schema, encoding, n })
    }

    /// ε for as many records as there are here.
    fn epsilon(&self) -> f64 {
        self.blueprint.epsilon.get() * self.blueprint.n.get() as f64 / self.n as f64
    }

    fn rehearse(&self, data: &Encoded, epsilon: f64, seed: u64) -> Result<(LinearModel, Duration), Error> {
        let Blueprint { loss, delta, settings, .. } = self.blueprint;
        let neighbours = self.blueprint.learner.claim().neighbours;
        let task = Task {
            loss: *loss,
            encoding: &self.encoding,
            n: Count::new(data.slots() as u64)?,
            epsilon: Epsilon::new(epsilon)?,
            delta: *delta,
            neighbours,
            settings,
        };
        let learner = settings.method.unwrap_or_default().plan(&task)?;
        let permit = sordino::privacy::danger::unmetered(learner.claim(), Unit::Record, *delta)?;
        let session = Session {
            threads: settings.threads,
            seed: Some(seed),
            checkpoints: None,
            from: None,
            stop: &AtomicBool::new(false),
            watch: &mut |_| {},
        };
        let start = Instant::now();
        let model = learner.fit(data, permit, session)?.into_parts().0;
        Ok((model, start.elapsed()))
    }

    /// Records of the invented table, or further ones.
    fn records(&self, part: u64) -> Result<Encoded, Error> {
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
    fn with(&self, raw: RawTable, name: &str, values: Vec<f64>) -> Result<RawTable, Error> {
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
