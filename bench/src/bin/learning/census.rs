//! The records of Adult, and their features.
//!
//! # Split
//! Both files are joined, rows with a missing field are dropped, the rest is shuffled, and 80 % are
//! for training (the preparation of Iyengar, Near, Song, Thakkar, Thakurta, Wang, *Towards
//! Practical Differentially Private Convex Optimization*, 2019). The shuffle sorts rows by a hash
//! of their number and a seed, so that a program in any language can make the same split.
//!
//! # Features
//! No feature depends on the data: categories are those of `examples/adult.toml`, and the edges of
//! buckets are round numbers over a column's declared range. Every row is scaled to norm 1.

use std::error::Error;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sordino_data::{
    Bounds, CategoryColumn, Column, Door, Encoded, Encoding, EncodingOptions, NumberColumn, RawTable,
    Scaling, Schema, Table,
};
use sordino_noise::danger::seeded;

/// The seed of the split. Earlier settings were tried on the test part of another split.
const SPLIT_SEED: u64 = 5;
/// The numeric columns: name, whether on a logarithmic scale, centre and unit, which are round
/// numbers.
const NUMBERS: [(&str, bool, f64, f64); 5] = [
    ("age", false, 40.0, 15.0),
    ("education-num", false, 10.0, 2.5),
    ("capital-gain", true, 0.0, 3.0),
    ("capital-loss", true, 0.0, 3.0),
    ("hours-per-week", false, 40.0, 12.0),
];
/// Numbers are clamped to this many units around their centre.
const MAX_UNITS: f64 = 4.0;
/// A column made of two others: its name, and theirs.
const PAIR: (&str, &str, &str) = ("marital-status with education", "marital-status", "education");

/// A record, with one cell for each column of the file.
pub(crate) type Row = Vec<String>;

/// Which features a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Features {
    /// Categories, and numbers in units of their own.
    Numbers,
    /// Categories, and numbers in buckets. Years of education are left out: they repeat the
    /// category `education`.
    Buckets,
    /// As `Buckets`, and one category for each pair of marital status and education.
    Pairs,
}

impl Features {
    pub(crate) const ALL: [Self; 3] = [Self::Numbers, Self::Buckets, Self::Pairs];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Buckets => "buckets",
            Self::Pairs => "buckets and pairs",
        }
    }

    /// The encoded rows, of norm 1.
    pub(crate) fn encoded(self, rows: &[&Row]) -> Result<Encoded, Box<dyn Error>> {
        let schema = self.schema()?;
        let mut names = header()?;
        if self == Self::Pairs {
            names.push(PAIR.0.to_owned());
        }
        let mut raw = RawTable::new();
        for name in &names {
            raw = self.column(raw, name, rows)?;
        }
        let options = EncodingOptions {
            target: Some("income".to_owned()),
            scaling: Scaling::None,
            intercept: true,
            row_norm: Some(1.0),
        };
        let encoding = Encoding::new(&schema, &names, options)?;
        let table = Table::new(raw, &schema, Door::Permissive, &mut seeded(1))?;
        Ok(Encoded::new(&encoding, &table)?)
    }

    fn schema(self) -> Result<Schema, Box<dyn Error>> {
        let mut schema = example()?;
        for (name, ..) in NUMBERS {
            let column = match (self, edges(name)) {
                (Self::Numbers, _) => Column::Number(NumberColumn::new(Bounds::new(-MAX_UNITS, MAX_UNITS)?)),
                (_, None) => Column::Ignore,
                (_, Some(edges)) => {
                    Column::Category(CategoryColumn::new((0..=edges.len()).map(|b| b.to_string()))?)
                }
            };
            schema = schema.with_column(name, column);
        }
        if self == Self::Pairs {
            let (name, first, second) = PAIR;
            let (first, second) = (values(&schema, first), values(&schema, second));
            let pairs = first.iter().flat_map(|a| second.iter().map(move |b| pair(a, b)));
            schema =
                schema.with_column(name, Column::Category(CategoryColumn::new(pairs.collect::<Vec<_>>())?));
        }
        Ok(schema)
    }

    fn column(self, raw: RawTable, name: &str, rows: &[&Row]) -> Result<RawTable, Box<dyn Error>> {
        let header = header()?;
        let place = |name: &str| header.iter().position(|column| column == name).ok_or("no such column");
        let number = |cell: &str| cell.parse::<f64>().unwrap_or(f64::NAN);
        if name == PAIR.0 {
            let (a, b) = (place(PAIR.1)?, place(PAIR.2)?);
            let cells: Vec<String> = rows.iter().map(|row| pair(&row[a], &row[b])).collect();
            return Ok(raw.texts(name, cells.iter().map(|cell| Some(cell.as_str())))?);
        }
        let j = place(name)?;
        let of_number = NUMBERS.iter().find(|(number, ..)| *number == name);
        Ok(match (self, of_number, edges(name)) {
            (Self::Numbers, Some((_, is_logarithmic, centre, unit)), _) => {
                let scaled = |x: f64| (if *is_logarithmic { x.ln_1p() } else { x } - centre) / unit;
                raw.numbers(name, rows.iter().map(|row| scaled(number(&row[j]))).collect())?
            }
            (Self::Buckets | Self::Pairs, Some(_), Some(edges)) => {
                let bucket = |x: f64| edges.iter().filter(|edge| x >= **edge).count().to_string();
                let cells: Vec<String> = rows.iter().map(|row| bucket(number(&row[j]))).collect();
                raw.texts(name, cells.iter().map(|cell| Some(cell.as_str())))?
            }
            _ => raw.texts(name, rows.iter().map(|row| Some(row[j].as_str())))?,
        })
    }
}

/// The lower edges of all buckets but the first: age by five years; hours by part time, full time
/// and overtime; gains by thousands and losses by hundreds of dollars, with a bucket for none.
fn edges(name: &str) -> Option<Vec<f64>> {
    let steps = |first: u32, last: u32, step: usize| (first..=last).step_by(step).map(f64::from);
    let money = |rest: Vec<f64>| [vec![1.0], rest].concat();
    match name {
        "age" => Some(steps(20, 70, 5).collect()),
        "hours-per-week" => Some(vec![20.0, 35.0, 40.0, 41.0, 50.0, 60.0]),
        "capital-gain" => {
            Some(money(steps(1_000, 10_000, 1_000).chain(steps(15_000, 20_000, 5_000)).collect()))
        }
        "capital-loss" => Some(money(steps(100, 3_000, 100).collect())),
        _ => None,
    }
}

/// The training part and the test part.
pub(crate) fn parts(folder: &Path) -> Result<(Vec<Row>, Vec<Row>), Box<dyn Error>> {
    let width = header()?.len();
    let mut rows: Vec<Row> = Vec::new();
    for file in ["adult.data.gz", "adult.test.gz"] {
        let mut text = String::new();
        MultiGzDecoder::new(std::fs::File::open(folder.join("adult").join(file))?)
            .read_to_string(&mut text)?;
        let records =
            text.lines().map(|line| line.trim_end_matches('.').split(", ").map(str::to_owned).collect());
        rows.extend(records.filter(|row: &Row| row.len() == width && !row.iter().any(|cell| cell == "?")));
    }
    let mut keyed: Vec<(u64, Row)> =
        rows.into_iter().zip(SPLIT_SEED << 32..).map(|(row, number)| (mixed(number), row)).collect();
    keyed.sort_by_key(|(key, _)| *key);
    let mut train: Vec<Row> = keyed.into_iter().map(|(_, row)| row).collect();
    let test = train.split_off(train.len() * 4 / 5);
    Ok((train, test))
}

/// SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, 2014).
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn pair(first: &str, second: &str) -> String {
    format!("{first} with {second}")
}

fn example() -> Result<Schema, Box<dyn Error>> {
    Ok(Schema::from_toml(include_str!("../../../../examples/adult.toml"))?)
}

fn header() -> Result<Vec<String>, Box<dyn Error>> {
    Ok(example()?.csv().names.clone().unwrap_or_default())
}

fn values(schema: &Schema, name: &str) -> Vec<String> {
    match schema.column(name) {
        Some(Column::Category(column)) => column.values().to_vec(),
        _ => Vec::new(),
    }
}
