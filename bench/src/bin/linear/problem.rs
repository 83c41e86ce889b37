//! A synthetic table: rows of d numbers, of L2 norm at most 1, and labels from a logistic model
//! with weights of norm 12.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use sordino_data::{Encoding, EncodingOptions, Scaling, Schema};

/// The norm of the weights of the model that labels are drawn from.
const WEIGHT_NORM: f64 = 12.0;

/// The size of a table.
#[derive(Clone, Copy)]
pub(crate) struct Problem {
    /// Rows to train on.
    pub(crate) n: u64,
    /// Rows to test with.
    pub(crate) test: u64,
    /// Numbers in a row.
    pub(crate) d: usize,
}

impl Problem {
    /// The files of rows to train on and to test with: NPY, `f32`, the label last.
    pub(crate) fn files(self, folder: &Path) -> [PathBuf; 2] {
        ["train", "test"].map(|part| folder.join(format!("{part}-{}-{}.npy", self.n, self.d)))
    }

    /// Writes both files, unless they exist.
    pub(crate) fn write(self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let mut rows = Rows::new(self.d);
        let mut row = vec![0.0; self.d + 1];
        let files = self.files(folder);
        if files.iter().all(|file| file.exists()) {
            return Ok(());
        }
        for (file, count) in files.iter().zip([self.n, self.test]) {
            // Renamed when it is complete.
            let beside = file.with_extension("part");
            let mut output = BufWriter::new(File::create(&beside)?);
            output.write_all(&npy_header(count, self.d + 1))?;
            for _ in 0..count {
                rows.next(&mut row);
                row.iter().try_for_each(|x| output.write_all(&x.to_le_bytes()))?;
            }
            output.flush()?;
            std::fs::rename(beside, file)?;
        }
        Ok(())
    }
}

/// Rows and labels, one after the other, the same in every run.
pub(crate) struct Rows {
    weights: Vec<f64>,
    random: Random,
}

impl Rows {
    pub(crate) fn new(d: usize) -> Self {
        let mut random = Random(0x5EED);
        let mut weights: Vec<f64> = (0..d).map(|_| random.bell()).collect();
        let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        weights.iter_mut().for_each(|w| *w *= WEIGHT_NORM / norm);
        Self { weights, random }
    }

    /// Overwrites `row` with d numbers and a label.
    pub(crate) fn next(&mut self, row: &mut [f32]) {
        let (numbers, label) = row.split_at_mut(self.weights.len());
        numbers.iter_mut().for_each(|x| *x = self.random.bell() as f32);
        let norm = numbers.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt().max(1.0);
        // A little below 1, so that rounding does not exceed it.
        numbers.iter_mut().for_each(|x| *x = (f64::from(*x) / norm * (1.0 - 1e-6)) as f32);
        let score: f64 = numbers.iter().zip(&self.weights).map(|(x, w)| f64::from(*x) * w).sum();
        label[0] = f32::from(u8::from(self.random.uniform() < 1.0 / (1.0 + (-score).exp())));
    }
}

/// The encoding of such a table: numbers as they are, and an intercept, with which rows have a norm
/// of at most sqrt(2). The target is the last column.
pub(crate) fn encoding(d: usize) -> Result<Encoding, Box<dyn Error>> {
    let mut schema = String::new();
    for j in 0..d {
        schema += &format!("columns.x{j} = {{ kind = 'number', bounds = [-1, 1], missing = 'drop' }}\n");
    }
    schema += &format!("columns.x{d} = {{ kind = 'category', values = ['0', '1'], missing = 'drop' }}\n");
    let names: Vec<String> = (0..=d).map(|j| format!("x{j}")).collect();
    let options = EncodingOptions {
        target: Some(format!("x{d}")),
        scaling: Scaling::None,
        intercept: true,
        row_norm: Some(std::f64::consts::SQRT_2),
    };
    Ok(Encoding::new(&Schema::from_toml(&schema)?, &names, options)?)
}

fn npy_header(rows: u64, columns: usize) -> Vec<u8> {
    let mut text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // The numbers must start at a multiple of 64 bytes.
    let padding = 63 - (10 + text.len()) % 64;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // Fits: the header has at most 118 bytes.
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header
}

/// SplitMix64 (Steele, Lea, Flood 2014), good enough for examples.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.word() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A cheap approximation of a normal number: the centred sum of four uniform ones, of variance
    /// 1.
    fn bell(&mut self) -> f64 {
        let word = self.word();
        let sum: u64 = (0..4).map(|part| word >> (16 * part) & 0xFFFF).sum();
        (sum as f64 / 65536.0 - 2.0) * 3f64.sqrt()
    }
}
