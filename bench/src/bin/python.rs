//! The fit that the Python package is compared with: the same rows and settings, from Rust.
//!
//! `bench/peers/python.py` does it from each kind of table that people have in Python.
//!
//! ```text
//! python --data FOLDER [--quick] --write        writes the rows for all contestants
//! python --data FOLDER [--quick] --turns N      fits, taking turns with the others
//! ```

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde_json::json;
use sordino_bench::process::{peak_bytes, processor_seconds, reset_peak};
use sordino_bench::{Options, emit};
use sordino_data::{Matrix, Schema, Source};
use sordino_run::training::{Request, Session, fit};
use sordino_run::{Given, Payer, Settings, file};

/// Rows and columns, of a whole run and of a quick one.
const SIZES: [(usize, usize); 2] = [(400_000, 50), (20_000, 10)];
/// Few steps, so that reading the table is a good part of the fit.
const SETTINGS: &str = r#"{"target": "target", "epsilon": 1.0, "loss": null, "steps": 20}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments();
    let words = options.words();
    let place = words.iter().position(|word| word == "--data").ok_or("expected --data FOLDER")?;
    let folder = PathBuf::from(words.get(place + 1).ok_or("expected a folder after --data")?);
    let (rows, columns) = SIZES[usize::from(options.quick)];
    if words.iter().any(|word| word == "--write") {
        return write(&folder, rows, columns);
    }
    let x: Arc<[f64]> = read(&folder.join("x.f64"))?.into();
    let y: Arc<[i64]> = read(&folder.join("y.f64"))?.iter().map(|&label| label as i64).collect();
    let job = Job { columns, settings: file::from_json(SETTINGS)?, schema: schema(columns)? };
    // Code and threads are there before memory is measured.
    job.fit(&x[..1000 * columns].into(), &y[..1000].into())?;
    let before = reset_peak();
    job.fit(&x, &y)?;
    let extra = peak_bytes().zip(before).map(|(peak, before)| peak - before);
    let (mut taken, begun) = (Vec::new(), processor_seconds());
    for _ in 0..options.blocks() {
        options.wait();
        let start = Instant::now();
        job.fit(&x, &y)?;
        taken.push(start.elapsed().as_secs_f64());
    }
    taken.sort_by(f64::total_cmp);
    let processor = processor_seconds().zip(begun).map(|(end, begun)| (end - begun) / taken.len() as f64);
    let config = json!({
        "rows": rows, "columns": columns, "extra_bytes": extra, "input_bytes": 8 * rows * (columns + 1),
        "processor_s": processor,
    });
    emit(&format!("logistic, {rows} x {columns}"), "s", taken[taken.len() / 2], config);
    Ok(())
}

/// Everything about a fit but its rows.
struct Job {
    columns: usize,
    settings: Settings,
    schema: Schema,
}

impl Job {
    fn fit(&self, x: &Arc<[f64]>, y: &Arc<[i64]>) -> Result<(), Box<dyn Error>> {
        let names = (0..self.columns).map(|place| format!("x{place}")).collect();
        let one = self.columns.try_into()?;
        let x = Matrix::<f64, _>::new(names, x.clone(), y.len(), [0, one, 1])?;
        let y = Matrix::<i64, _>::new(vec!["target".to_owned()], y.clone(), y.len(), [0, 1, 1])?;
        let table = Source::memory("X", vec![Arc::new(x), Arc::new(y)])?;
        let given = Given { table: Some(table), schema: Some(self.schema.clone()), payer: Payer::Settings };
        let session = Session { resume: false, stop: &AtomicBool::new(false), observer: &mut () };
        fit(Request { given, ..Request::new(&self.settings) }, session)?;
        Ok(())
    }
}

fn schema(columns: usize) -> Result<Schema, Box<dyn Error>> {
    let number = |place| format!("columns.x{place} = {{ kind = 'number', bounds = [-1, 1] }}\n");
    let mut text: String = (0..columns).map(number).collect();
    text.push_str("columns.target = { kind = 'category', values = ['0', '1'] }\n");
    Ok(Schema::from_toml(&text)?)
}

/// Rows between -1 and 1, and labels that depend on the first two columns.
fn write(folder: &Path, rows: usize, columns: usize) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let mut state = 1_u64;
    // Knuth's linear congruential generator: these rows need no better one.
    let x: Vec<f64> = (0..rows * columns)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 23) - 1.0
        })
        .collect();
    let y: Vec<f64> = x.chunks(columns).map(|row| f64::from(u8::from(row[0] > row[1]))).collect();
    for (name, values) in [("x.f64", &x), ("y.f64", &y)] {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        std::fs::File::create(folder.join(name))?.write_all(&bytes)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<f64>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let (values, _) = bytes.as_chunks::<8>();
    Ok(values.iter().map(|value| f64::from_ne_bytes(*value)).collect())
}
