//! Coordinate descent against gradient descent at equal ε, on data whose columns differ in scale.
//!
//! # Protocol
//! Linear regression (squared loss, penalty λ = 1e-3) on 10 000 synthetic records of 20 columns: Gaussian features whose column j is
//! scaled by s_j, targets from 1/s_j-scaled weights plus noise. `balanced`: all s_j = 1; `log-normal σ`: s_j = e^{σ N}; `first big`: s_1
//! = 30, others 1. On files, all columns as they are: California housing (price), electricity (up or down, logistic).
//! ε = 1, δ = 1/n². Both learners choose their best from one grid of passes, clip norms and step sizes (relative
//! to their own smoothness), each judged by the mean excess loss of 5 seeds; smoothness is estimated and paid for by coordinate
//! descent. Bounds are declared: four deviations for synthetic columns, round numbers for the files.
//!
//! Choosing the best of a grid on the data is not accounted for: this compares methods, and releases nothing.

use std::error::Error;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sordino_data::{
    Bounds, CategoryColumn, Column, Door, Encoded, Encoding, EncodingOptions, NumberColumn, RawTable,
    Scaling, Schema, Table, UnitRule,
};
use sordino_learn::{
    CoordinateClipping, CoordinateDescent, GradientDescent, LearningPlan, LinearModel, Loss, Noise,
};
use sordino_noise::RoundedGaussian;
use sordino_noise::danger::seeded;
use sordino_optim::{Averaging, Clipping, TrainingOptions};
use sordino_privacy::{Count, Delta, Epsilon, NoiseMultiplier};

use crate::study::models;

const RUNS: u64 = 5;
const RECORDS: usize = 10_000;
const COLUMNS: usize = 20;
const L2: f64 = 1e-3;
const PASSES: [u64; 3] = [3, 8, 20];
const CLIPS: [f64; 4] = [0.1, 0.5, 2.0, 10.0];
const STEP_SIZES: [f64; 3] = [0.2, 1.0, 5.0];

struct Problem {
    name: String,
    loss: Loss,
    data: Encoded,
}

pub(crate) fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    println!("| data | n | excess, gradient | excess, coordinate | ratio |\n|---|---|---|---|---|");
    let mut problems = vec![synthetic("balanced", |_, _| 1.0)?];
    for sigma in [0.5, 1.0, 2.0, 3.0] {
        problems.push(synthetic(&format!("log-normal {sigma}"), |_, normal| (sigma * normal).exp())?);
    }
    problems.push(synthetic("first big", |j, _| if j == 0 { 30.0 } else { 1.0 })?);
    problems.extend(california(folder)?);
    problems.extend(electricity(folder)?);
    for problem in &problems {
        compare(problem)?;
    }
    Ok(())
}

fn compare(problem: &Problem) -> Result<(), Box<dyn Error>> {
    let Problem { name, loss, data } = problem;
    let n = Count::new(data.slots() as u64)?;
    let delta = Delta::new((n.get() as f64).powi(-2))?;
    let noise = Noise::Budget { epsilon: Epsilon::new(1.0)?, delta };
    let least = objective(&non_private(problem)?, data);
    let (mut gradient, mut coordinate) = (f64::INFINITY, f64::INFINITY);
    for passes in PASSES {
        for step_size in STEP_SIZES {
            for clip in CLIPS {
                let plan = by_coordinates(*loss, 2 * data.width() as u64, step_size.min(1.0), clip)
                    .rounds(passes)
                    .plan_with(data.encoding(), n, noise)?;
                coordinate = coordinate.min(excess(&plan, data, delta, least)?);
                let plan = by_gradients(*loss, data, 10 * passes, step_size, clip)?.plan_with(
                    data.encoding(),
                    n,
                    noise,
                )?;
                gradient = gradient.min(excess(&plan, data, delta, least)?);
            }
        }
    }
    println!("| {name} | {} | {gradient:.3e} | {coordinate:.3e} | {:.3} |", n.get(), coordinate / gradient);
    Ok(())
}

fn by_coordinates(loss: Loss, steps: u64, step_size: f64, norm: f64) -> CoordinateDescent {
    let clipping = CoordinateClipping::BySmoothness { norm };
    CoordinateDescent::new(loss).steps(steps).step_size(step_size).clipping(clipping).l2(L2)
}

/// Step sizes relative to the smoothness of the mean loss, its trace bound, which is more than a real run would know.
fn by_gradients(
    loss: Loss,
    data: &Encoded,
    steps: u64,
    step_size: f64,
    norm: f64,
) -> Result<GradientDescent, Box<dyn Error>> {
    let rows = (0..data.slots()).filter_map(|slot| data.row(slot));
    let squares: f64 = rows.flatten().map(|x| f64::from(*x).powi(2)).sum();
    let smoothness = loss.coordinate_smoothness(squares / data.slots() as f64) + L2;
    // The same multiples of what typical gradients are, for both learners.
    let training = TrainingOptions {
        learning_rate: step_size / smoothness,
        averaging: Averaging::Tail { fraction: 0.5 },
        l2: L2,
        ..TrainingOptions::default()
    };
    let clipping = Clipping::Flat { norm };
    Ok(GradientDescent::full_batch(loss).steps(Count::new(steps)?).clipping(clipping).training(training))
}

fn excess<P: LearningPlan<Model = LinearModel>>(
    plan: &P,
    data: &Encoded,
    delta: Delta,
    least: f64,
) -> Result<f64, Box<dyn Error>> {
    let (models, _) = models(plan, data, delta, RUNS)?;
    Ok(models.iter().map(|model| objective(model, data) - least).sum::<f64>() / models.len() as f64)
}

fn objective(model: &LinearModel, data: &Encoded) -> f64 {
    let square: f64 = model.weights().flatten().map(|w| w * w).sum();
    model.mean_loss(data) + 0.5 * L2 * square
}

/// Coordinate descent with next to no noise.
fn non_private(problem: &Problem) -> Result<LinearModel, Box<dyn Error>> {
    let Problem { loss, data, .. } = problem;
    let learner = by_coordinates(*loss, 60 * data.width() as u64, 1.0, 1e6).rounds(5);
    let noise = Noise::Multiplier(NoiseMultiplier::new(1e-6)?);
    let n = Count::new(data.slots() as u64)?;
    let plan = learner.plan_with(data.encoding(), n, noise)?;
    Ok(models(&plan, data, Delta::new(1e-6)?, 1)?.0.remove(0))
}

/// Independent standard normal numbers.
fn normal(seed: u64, count: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    const DEPTH: u32 = 40;
    let mut out = vec![0; count];
    RoundedGaussian::new(DEPTH)?.fill(&mut seeded(seed), &mut out);
    Ok(out.iter().map(|unit| *unit as f64 / (1u64 << DEPTH) as f64).collect())
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
    Ok(Problem { name: name.to_owned(), loss: Loss::Squared, data })
}

/// Columns with symmetric bounds as they are, the last one the target unless there are labels.
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

fn unpacked(path: &Path) -> Option<String> {
    let mut text = String::new();
    MultiGzDecoder::new(std::fs::File::open(path).ok()?).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Rows of comma-separated numbers; nothing if the file is not there.
fn rows(text: &str, width: usize) -> Vec<Vec<&str>> {
    let rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    rows.filter(|row| row.len() == width && row[0].parse::<f64>().is_ok()).collect()
}

fn column(rows: &[Vec<&str>], j: usize, unit: f64) -> Vec<f64> {
    rows.iter().map(|row| row[j].parse().unwrap_or(f64::NAN) / unit).collect()
}

fn california(folder: &Path) -> Result<Option<Problem>, Box<dyn Error>> {
    let Some(text) = unpacked(&folder.join("california-housing/cal_housing.data.gz")) else {
        println!("(no california-housing: see `cargo xtask data california-housing`)");
        return Ok(None);
    };
    let rows = rows(&text, 9);
    let bounds = [125.0, 43.0, 60.0, 40_000.0, 7_000.0, 40_000.0, 7_000.0, 15.0];
    let mut columns: Vec<_> = bounds
        .iter()
        .enumerate()
        .map(|(j, bound)| (format!("x{j}"), *bound, column(&rows, j, 1.0)))
        .collect();
    // The price, in units of 500 000.
    columns.push(("y".to_owned(), 1.1, column(&rows, 8, 500_000.0)));
    let data = encoded(columns, None)?;
    Ok(Some(Problem { name: "California housing, raw".to_owned(), loss: Loss::Squared, data }))
}

fn electricity(folder: &Path) -> Result<Option<Problem>, Box<dyn Error>> {
    let Some(text) = unpacked(&folder.join("electricity/elecNormNew.arff.gz")) else {
        println!("(no electricity: see `cargo xtask data electricity`)");
        return Ok(None);
    };
    let rows = rows(&text, 9);
    let columns = (0..8).map(|j| (format!("x{j}"), if j == 1 { 7.0 } else { 1.0 }, column(&rows, j, 1.0)));
    let labels = rows.iter().map(|row| row[8].trim()).collect();
    let data = encoded(columns.collect(), Some(labels))?;
    Ok(Some(Problem { name: "electricity, raw".to_owned(), loss: Loss::Logistic, data }))
}
