//! The problems on which coordinate and gradient descent are compared.
//!
//! # Synthetic
//! Linear regression on 10 000 records of 20 columns: independent Gaussian features, column j
//! scaled by s_j, targets from weights proportional to 1/s_j, plus noise. `balanced`: all s_j = 1.
//! `log-normal σ`: s_j = e^{σ N_j}, with the same N_j for every σ, so that problems differ in their
//! scales alone. `first big`: s_1 = 30, all others 1. Declared bounds are four deviations.
//!
//! # Files
//! All columns as they are in the file, without an intercept, with declared bounds in round
//! numbers: California housing (the price in units of half a million, squared loss) and electricity
//! (up or down, logistic loss).

use std::error::Error;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sordino_data::{
    Bounds, CategoryColumn, Column, Door, Encoded, Encoding, EncodingOptions, NumberColumn, RawTable,
    Scaling, Schema, Table, UnitRule,
};
use sordino_learn::Loss;
use sordino_noise::RoundedGaussian;
use sordino_noise::danger::seeded;

const RECORDS: usize = 10_000;
const COLUMNS: usize = 20;
/// σ of the log-normal problems; 0 is the balanced one.
const SPREADS: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 2.0];

/// A loss and its data.
pub(crate) struct Problem {
    pub(crate) name: String,
    pub(crate) loss: Loss,
    pub(crate) data: Encoded,
    /// Whether it is one of the five levels of imbalance.
    pub(crate) is_level: bool,
}

/// All problems. A missing file is left out with a message.
pub(crate) fn all(folder: &Path) -> Result<Vec<Problem>, Box<dyn Error>> {
    let mut problems = Vec::new();
    for spread in SPREADS {
        let name = if spread == 0.0 { "balanced".to_owned() } else { format!("log-normal {spread}") };
        problems.push(Problem { is_level: true, ..synthetic(&name, |_, normal| (spread * normal).exp())? });
    }
    problems.push(synthetic("first big", |j, _| if j == 0 { 30.0 } else { 1.0 })?);
    for file in [california, electricity] {
        match file(folder) {
            Ok(problem) => problems.push(problem),
            Err(error) => println!("left out: {error}; see `cargo xtask data --list`\n"),
        }
    }
    Ok(problems)
}

fn synthetic(name: &str, scale: impl Fn(usize, f64) -> f64) -> Result<Problem, Box<dyn Error>> {
    let of_scales = normal(11, COLUMNS)?;
    let scales: Vec<f64> = (0..COLUMNS).map(|j| scale(j, of_scales[j])).collect();
    let (values, weights, errors) =
        (normal(12, RECORDS * COLUMNS)?, normal(13, COLUMNS)?, normal(14, RECORDS)?);
    let column =
        |j: usize| -> Vec<f64> { (0..RECORDS).map(|i| scales[j] * values[i * COLUMNS + j]).collect() };
    let effect = |i: usize| -> f64 { (0..COLUMNS).map(|j| weights[j] * values[i * COLUMNS + j]).sum() };
    let root = (COLUMNS as f64).sqrt();
    let target = (0..RECORDS).map(|i| (effect(i) + 0.5 * errors[i]) / root).collect();
    let mut columns: Vec<_> = (0..COLUMNS).map(|j| (format!("x{j}"), 4.0 * scales[j], column(j))).collect();
    columns.push(("y".to_owned(), 4.0, target));
    let data = encoded(columns, None)?;
    Ok(Problem { name: name.to_owned(), loss: Loss::Squared, data, is_level: false })
}

/// Independent standard normal numbers.
fn normal(seed: u64, count: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    const DEPTH: u32 = 40;
    let mut out = vec![0; count];
    RoundedGaussian::new(DEPTH)?.fill(&mut seeded(seed), &mut out);
    Ok(out.iter().map(|unit| *unit as f64 / (1u64 << DEPTH) as f64).collect())
}

fn california(folder: &Path) -> Result<Problem, Box<dyn Error>> {
    let text = unpacked(&folder.join("california-housing/cal_housing.data.gz"))?;
    let rows = rows(&text, 9);
    // Degrees, degrees, years, rooms, bedrooms, people, households, income in ten thousands.
    let bounds = [125.0, 43.0, 60.0, 40_000.0, 7_000.0, 40_000.0, 7_000.0, 15.0];
    let mut columns: Vec<_> = bounds
        .iter()
        .enumerate()
        .map(|(j, bound)| (format!("x{j}"), *bound, column(&rows, j, 1.0)))
        .collect();
    columns.push(("y".to_owned(), 1.1, column(&rows, 8, 500_000.0)));
    let data = encoded(columns, None)?;
    Ok(Problem { name: "California housing".to_owned(), loss: Loss::Squared, data, is_level: false })
}

fn electricity(folder: &Path) -> Result<Problem, Box<dyn Error>> {
    let text = unpacked(&folder.join("electricity/elecNormNew.arff.gz"))?;
    let rows = rows(&text, 9);
    // All columns are in [0, 1], except the day of the week.
    let columns = (0..8).map(|j| (format!("x{j}"), if j == 1 { 7.0 } else { 1.0 }, column(&rows, j, 1.0)));
    let labels = rows.iter().map(|row| row[8].trim()).collect();
    let data = encoded(columns.collect(), Some(labels))?;
    Ok(Problem { name: "electricity".to_owned(), loss: Loss::Logistic, data, is_level: false })
}

/// Encodes columns with symmetric bounds, unscaled. The target is the labels, or else the last
/// column.
fn encoded(
    columns: Vec<(String, f64, Vec<f64>)>,
    labels: Option<Vec<&str>>,
) -> Result<Encoded, Box<dyn Error>> {
    let mut declared = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut raw = RawTable::new();
    for (name, bound, values) in columns {
        declared.push((name.clone(), Column::Number(NumberColumn::new(Bounds::new(-bound, bound)?))));
        raw = raw.numbers(&name, values)?;
        names.push(name);
    }
    if let Some(labels) = labels {
        declared.push(("class".to_owned(), Column::Category(CategoryColumn::new(["DOWN", "UP"])?)));
        raw = raw.texts("class", labels.into_iter().map(Some))?;
        names.push("class".to_owned());
    }
    let schema = Schema::new(UnitRule::Record, declared)?;
    let options = EncodingOptions {
        target: names.last().cloned(),
        scaling: Scaling::None,
        intercept: false,
        row_norm: None,
    };
    let encoding = Encoding::new(&schema, &names, options)?;
    let table = Table::new(raw, &schema, Door::Permissive, &mut seeded(1))?;
    Ok(Encoded::new(&encoding, &table)?)
}

/// The text of a gzip file.
pub(crate) fn unpacked(path: &Path) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    MultiGzDecoder::new(file).read_to_string(&mut text)?;
    Ok(text)
}

/// The rows that have `width` comma-separated cells and begin with a number.
fn rows(text: &str, width: usize) -> Vec<Vec<&str>> {
    let rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    rows.filter(|row| row.len() == width && row[0].parse::<f64>().is_ok()).collect()
}

fn column(rows: &[Vec<&str>], j: usize, unit: f64) -> Vec<f64> {
    rows.iter().map(|row| row[j].parse().unwrap_or(f64::NAN) / unit).collect()
}
