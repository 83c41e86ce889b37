//! The tables on which defaults are compared, with bounds in round numbers.
//!
//! # Files
//! Adult, electricity, California housing, breast cancer, digits. A missing file is left out with a
//! message.
//!
//! # Synthetic
//! Gaussian columns whose deviations are 10^-2.5 to 10^-0.5 of half their declared range, and whose
//! means lie in the middle half of it. The target has two classes or four, or is a number.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use sordino_data::{Column, Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table};
use sordino_noise::RoundedGaussian;
use sordino_noise::danger::seeded;

use crate::problems::unpacked;

/// One record in so many is for the test part.
const PARTS: u64 = 5;

/// A table, split into a training part and a test part.
pub(crate) struct Split {
    pub(crate) name: &'static str,
    pub(crate) train: Encoded,
    pub(crate) test: Encoded,
}

type Rows = Vec<Vec<String>>;
type Loaded = Result<(Schema, Vec<String>, Rows), Box<dyn Error>>;

/// All tables, or those whose names are given.
pub(crate) fn all(folder: &Path, names: &[&str]) -> Result<Vec<Split>, Box<dyn Error>> {
    type Load = fn(&Path) -> Loaded;
    let known: [(&'static str, Load); 8] = [
        ("adult", adult),
        ("electricity", electricity),
        ("california", california),
        ("breast-cancer", cancer),
        ("digits", digits),
        ("uneven-two", |_| uneven(20_000, 20, 2, 31)),
        ("uneven-four", |_| uneven(10_000, 12, 4, 32)),
        ("uneven-number", |_| uneven(5_000, 10, 0, 33)),
    ];
    if let Some(name) = names.iter().find(|name| !known.iter().any(|(known, _)| known == *name)) {
        return Err(format!("no table `{name}`").into());
    }
    let mut splits = Vec::new();
    for (name, load) in known.into_iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        match load(folder) {
            Ok((schema, columns, rows)) => splits.push(split(name, &schema, &columns, rows)?),
            Err(error) => println!("left out: {name}: {error}; see `cargo xtask data --list`\n"),
        }
    }
    Ok(splits)
}

/// Splits and encodes a table whose last column is the target. A hash of a row's number decides its
/// part.
fn split(
    name: &'static str,
    schema: &Schema,
    columns: &[String],
    rows: Rows,
) -> Result<Split, Box<dyn Error>> {
    let is_test = |i: usize| mixed(i as u64).is_multiple_of(PARTS);
    let (test, train): (Vec<_>, Vec<_>) = rows.into_iter().enumerate().partition(|(i, _)| is_test(*i));
    let part = |rows: Vec<(usize, Vec<String>)>| {
        encoded(schema, columns, rows.into_iter().map(|(_, row)| row).collect())
    };
    Ok(Split { name, train: part(train)?, test: part(test)? })
}

/// SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, 2014).
fn mixed(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn encoded(schema: &Schema, columns: &[String], rows: Rows) -> Result<Encoded, Box<dyn Error>> {
    let mut raw = RawTable::new();
    for (j, name) in columns.iter().enumerate() {
        raw = match schema.column(name) {
            Some(Column::Number(_)) => {
                raw.numbers(name, rows.iter().map(|row| row[j].parse().unwrap_or(f64::NAN)).collect())?
            }
            Some(Column::Category(_)) => {
                raw.texts(name, rows.iter().map(|row| Some(row[j].as_str()).filter(|cell| *cell != "?")))?
            }
            Some(Column::Ignore) | None => raw,
        };
    }
    let options =
        EncodingOptions { target: columns.last().cloned(), intercept: true, ..EncodingOptions::default() };
    let encoding = Encoding::new(schema, columns, options)?;
    let table = Table::new(raw, schema, Door::Permissive, &mut seeded(1))?;
    Ok(Encoded::new(&encoding, &table)?)
}

/// The trimmed cells of all lines that have `width` cells.
fn cells(text: &str, width: usize) -> Rows {
    let rows =
        text.lines().map(|line| line.split(',').map(|cell| cell.trim().trim_end_matches('.').to_owned()));
    rows.map(Iterator::collect::<Vec<_>>).filter(|row| row.len() == width).collect()
}

/// A schema of numeric columns, each with its bounds, and a target column with its declaration.
fn numbers(
    columns: &[(&str, f64, f64)],
    target: (&str, &str),
) -> Result<(Schema, Vec<String>), Box<dyn Error>> {
    let mut text = String::new();
    for (name, lower, upper) in columns {
        writeln!(text, "columns.{name} = {{ kind = 'number', bounds = [{lower}, {upper}] }}")?;
    }
    writeln!(text, "columns.{} = {}", target.0, target.1)?;
    let names = columns.iter().map(|(name, ..)| *name).chain([target.0]).map(str::to_owned).collect();
    Ok((Schema::from_toml(&text)?, names))
}

fn adult(folder: &Path) -> Loaded {
    let schema = Schema::from_toml(include_str!("../../../../../examples/adult.toml"))?;
    let names: Vec<String> = schema.csv().names.clone().ok_or("the schema of Adult names its columns")?;
    let mut rows = cells(&unpacked(&folder.join("adult/adult.data.gz"))?, names.len());
    rows.extend(cells(&unpacked(&folder.join("adult/adult.test.gz"))?, names.len()));
    Ok((schema, names, rows))
}

fn electricity(folder: &Path) -> Loaded {
    let text = unpacked(&folder.join("electricity/elecNormNew.arff.gz"))?;
    let rows = cells(&text, 9).into_iter().filter(|row| row[0].parse::<f64>().is_ok()).collect();
    let names = ["date", "day", "period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"];
    let columns: Vec<_> =
        names.iter().map(|name| (*name, 0.0, if *name == "day" { 7.0 } else { 1.0 })).collect();
    let (schema, names) = numbers(&columns, ("class", "{ kind = 'category', values = ['DOWN', 'UP'] }"))?;
    Ok((schema, names, rows))
}

fn california(folder: &Path) -> Loaded {
    let rows = cells(&unpacked(&folder.join("california-housing/cal_housing.data.gz"))?, 9);
    let columns = [
        ("longitude", -125.0, -114.0),
        ("latitude", 32.0, 42.0),
        ("age", 0.0, 60.0),
        ("rooms", 0.0, 40_000.0),
        ("bedrooms", 0.0, 7_000.0),
        ("population", 0.0, 40_000.0),
        ("households", 0.0, 7_000.0),
        ("income", 0.0, 15.0),
    ];
    let (schema, names) = numbers(&columns, ("value", "{ kind = 'number', bounds = [0, 500001] }"))?;
    Ok((schema, names, rows))
}

fn cancer(_: &Path) -> Loaded {
    let schema = Schema::from_toml(include_str!("../../../../../examples/breast-cancer.toml"))?;
    let packed: &[u8] = include_bytes!("../../../../../examples/data/breast-cancer.csv.gz");
    shipped(schema, packed, "diagnosis")
}

fn digits(_: &Path) -> Loaded {
    let schema = Schema::from_toml(include_str!("../../../../../examples/digits.toml"))?;
    let packed: &[u8] = include_bytes!("../../../../../examples/data/digits.csv.gz");
    shipped(schema, packed, "digit")
}

/// A file of the examples, which has a header. The target becomes the last column.
fn shipped(schema: Schema, packed: &[u8], target: &str) -> Loaded {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(packed), &mut text)?;
    let header: Vec<String> = text.lines().next().ok_or("no header")?.split(',').map(str::to_owned).collect();
    let place = header.iter().position(|name| name == target).ok_or("no target")?;
    let last = |row: Vec<String>| {
        let mut row = row;
        let cell = row.remove(place);
        row.push(cell);
        row
    };
    let rows = cells(&text, header.len()).into_iter().skip(1).map(last).collect();
    Ok((schema, last(header), rows))
}

/// A synthetic table with columns of uneven scale. With 0 classes the target is a number.
fn uneven(records: usize, columns: usize, classes: usize, seed: u64) -> Loaded {
    let mut next = Normal::new(seed);
    let scales: Vec<f64> = (0..columns).map(|_| 10f64.powf(-1.5 + next.uniform())).collect();
    let means: Vec<f64> = (0..columns).map(|_| 0.5 * next.uniform()).collect();
    let outputs = classes.max(1);
    let weights: Vec<f64> = (0..columns * outputs).map(|_| next.normal()).collect();
    let rows = (0..records).map(|_| {
        let z: Vec<f64> = (0..columns).map(|_| next.normal()).collect();
        let effect = |k: usize| (0..columns).map(|j| weights[j * outputs + k] * z[j]).sum::<f64>();
        let effects: Vec<f64> = (0..outputs).map(|k| effect(k) + 1.5 * next.normal()).collect();
        let target = if classes == 0 {
            format!("{}", (50.0 + 5.0 * effects[0]).clamp(0.0, 100.0))
        } else {
            let largest = (0..classes).max_by(|a, b| effects[*a].total_cmp(&effects[*b])).unwrap_or(0);
            format!("k{largest}")
        };
        let cell = |j: usize| format!("{}", (means[j] + scales[j] * z[j]).clamp(-1.0, 1.0));
        (0..columns).map(cell).chain([target]).collect()
    });
    let rows = rows.collect();
    let names: Vec<String> = (0..columns).map(|j| format!("x{j}")).collect();
    let declared: Vec<_> = names.iter().map(|name| (name.as_str(), -1.0, 1.0)).collect();
    let values = (0..classes).map(|k| format!("'k{k}'")).collect::<Vec<_>>().join(", ");
    let target = if classes == 0 {
        "{ kind = 'number', bounds = [0, 100] }".to_owned()
    } else {
        format!("{{ kind = 'category', values = [{values}] }}")
    };
    let (schema, names) = numbers(&declared, ("y", &target))?;
    Ok((schema, names, rows))
}

/// Standard normal numbers from a seed.
struct Normal {
    drawn: std::vec::IntoIter<i64>,
    seed: u64,
}

impl Normal {
    const DEPTH: u32 = 40;

    fn new(seed: u64) -> Self {
        Self { drawn: Vec::new().into_iter(), seed: seed << 32 }
    }

    fn normal(&mut self) -> f64 {
        loop {
            if let Some(steps) = self.drawn.next() {
                return steps as f64 / (1u64 << Self::DEPTH) as f64;
            }
            self.seed += 1;
            let mut steps = vec![0i64; 1 << 12];
            // Cannot fail: the depth is within its range.
            if let Ok(gaussian) = RoundedGaussian::new(Self::DEPTH) {
                gaussian.fill(&mut seeded(self.seed), &mut steps);
            }
            self.drawn = steps.into_iter();
        }
    }

    /// Uniform between -1 and 1: the angle of two normal numbers.
    fn uniform(&mut self) -> f64 {
        self.normal().atan2(self.normal()) / std::f64::consts::PI
    }
}
