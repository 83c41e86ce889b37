//! One fit: planned, charged to a budget, exact noise, tested.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use sordino_bench::process::{peak_bytes, processor_seconds};
use sordino_bench::{emit, emit_for};
use sordino_data::{CsvOptions, Door, Encoded, Loader, Source};
use sordino_learn::{GradientDescent, LearningPlan, LinearModel, Loss};
use sordino_noise::entropy;
use sordino_privacy::{Budget, Charge, Count, Delta, Epsilon, SamplingRate, Terms};

use crate::problem::{Problem, encoding};

pub(crate) const EPSILON: f64 = 1.0;
pub(crate) const DELTA: f64 = 1e-6;
/// Part of the records in a batch, where batches are sampled.
const RATE: f64 = 0.05;
/// Fits of which the median is taken.
const REPEATS: usize = 5;

/// The learners that stand beside the peers.
pub(crate) const LEARNERS: [&str; 2] = ["sordino", FULL_BATCH];
/// The default learner.
const FULL_BATCH: &str = "sordino full batch";

pub(crate) fn learner(name: &str) -> Result<GradientDescent, Box<dyn Error>> {
    match name {
        "sordino" => Ok(GradientDescent::poisson(Loss::Logistic, SamplingRate::new(RATE)?)),
        FULL_BATCH => Ok(GradientDescent::full_batch(Loss::Logistic)),
        _ => Err("no such learner".into()),
    }
}

/// A fit and what it took: calibration, charge and training are all part of it.
pub(crate) struct Fit {
    pub(crate) model: LinearModel,
    pub(crate) epsilon: f64,
    pub(crate) seconds: f64,
    pub(crate) planning: f64,
    pub(crate) steps: u64,
}

pub(crate) fn fit(learner: &GradientDescent, data: &Encoded) -> Result<Fit, Box<dyn Error>> {
    let begun = Instant::now();
    let (epsilon, delta) = (Epsilon::new(EPSILON)?, Delta::new(DELTA)?);
    let plan = learner.plan(data.encoding(), Count::new(data.slots() as u64)?, epsilon, delta)?;
    let claim = plan.claim();
    let terms = Terms::new(epsilon, claim.neighbours).with_delta(delta).planned();
    let permit = Budget::new(terms).charge_claim(claim)?;
    let planning = begun.elapsed().as_secs_f64();
    let (model, guarantee) = plan.fit(data, permit)?.into_parts();
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Fit {
        model,
        epsilon: guarantee.epsilon.upper,
        seconds,
        planning,
        steps: plan.plan().batches().steps(),
    })
}

/// The table that peers fit too: median time of some fits, the last one's accuracy, and memory.
pub(crate) fn compared(folder: &Path, name: &str, problem: Problem) -> Result<(), Box<dyn Error>> {
    let learner = learner(name)?;
    let [train, test] = problem.files(folder);
    let loaded = Instant::now();
    let data = load(&train, problem.d)?;
    let loading = loaded.elapsed().as_secs_f64();
    let before = processor_seconds();
    let mut fits = Vec::new();
    for _ in 0..REPEATS {
        fits.push(fit(&learner, &data)?);
    }
    let processor = processor_seconds().zip(before).map(|(after, before)| (after - before) / REPEATS as f64);
    fits.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    // Of an odd number.
    let middle = fits.swap_remove(REPEATS / 2);
    let bytes = data_bytes(&data);
    let peak = peak_bytes();
    let test = load(&test, problem.d)?;
    // What a sample reads is not known from the sizes: cache lines of rows that were not drawn come along.
    let moved = bytes * middle.steps as f64 / (middle.seconds - middle.planning) / 1e9;
    let config = json!({
        "epsilon": middle.epsilon, "delta": DELTA, "steps": middle.steps, "planning_s": middle.planning,
        "accuracy": middle.model.accuracy(&test), "loss": middle.model.mean_loss(&test),
        "processor_s": processor, "loading_s": loading, "data_bytes": bytes, "peak_bytes": peak,
        "gigabytes_a_second": (name == FULL_BATCH).then_some(moved),
    });
    emit_for(name, &format!("logistic, {} x {}", problem.n, problem.d), "s", middle.seconds, config);
    Ok(())
}

/// Full batches, every record at every step: one point of a curve.
pub(crate) fn scaling(folder: &Path, axis: &str, n: u64, d: usize) -> Result<(), Box<dyn Error>> {
    let problem = Problem { n, test: 0, d };
    problem.write(folder)?;
    let data = load(&problem.files(folder)[0], d)?;
    let before = processor_seconds();
    let fit = fit(&learner(FULL_BATCH)?, &data)?;
    let processor = processor_seconds().zip(before).map(|(after, before)| after - before);
    let bytes = data_bytes(&data);
    let config = json!({
        "n": n, "d": d, "processor_s": processor, "steps": fit.steps, "planning_s": fit.planning, "data_bytes": bytes,
        "peak_bytes": peak_bytes(),
        "gigabytes_a_second": bytes * fit.steps as f64 / (fit.seconds - fit.planning) / 1e9,
    });
    emit(&format!("time by {axis}, {n} x {d}"), "s", fit.seconds, config);
    Ok(())
}

/// Rows and targets as they are trained on.
pub(crate) fn data_bytes(data: &Encoded) -> f64 {
    (data.slots() * (data.width() + 1) * size_of::<f32>()) as f64
}

fn load(file: &Path, d: usize) -> Result<Encoded, Box<dyn Error>> {
    let encoding = encoding(d)?;
    let source = Source::open(file, &CsvOptions::default())?;
    Ok(Loader::new(&source, encoding.schema(), Door::Strict).encoded(&encoding, &mut entropy()?)?)
}
