//! One fit: planned, charged to a budget, trained with exact noise, and tested.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
use sordino_bench::process::{peak_bytes, processor_seconds};
use sordino_bench::{emit, emit_for};
use sordino_data::{CsvOptions, Door, Encoded, Loader, Source};
use sordino_learn::{GradientDescent, LearnError, LearningPlan, LinearModel, Loss, ObjectivePerturbation};
use sordino_noise::entropy;
use sordino_privacy::{Budget, Charge, Count, Delta, Epsilon, SamplingRate, Terms};

use crate::problem::{Problem, encoding};

pub(crate) const EPSILON: f64 = 1.0;
pub(crate) const DELTA: f64 = 1e-6;
/// The sampling rate, where batches are sampled.
const RATE: f64 = 0.05;
/// Steps of gradient methods, the same for all sizes, so that times can be compared.
const STEPS: u64 = 100;
/// The number of fits over which the median is taken.
const REPEATS: usize = 5;

/// The learners that are compared with peers, all with their defaults.
pub(crate) const LEARNERS: [&str; 4] = ["sordino", "sordino pure", "sordino DP-SGD", FULL_BATCH];
/// The learner that uses every record at every step.
pub(crate) const FULL_BATCH: &str = "sordino full batch";

/// A plan of a learner.
struct Planned {
    plan: Box<dyn LearningPlan<Model = LinearModel, Error = LearnError>>,
    /// The number of noisy steps, if it has steps.
    steps: Option<u64>,
}

/// The plan of a named learner, and its δ: 0 for `pure`, as the peers have it, [`DELTA`] for all
/// others.
fn planned(name: &str, data: &Encoded) -> Result<(Planned, Delta), Box<dyn Error>> {
    let (encoding, n) = (data.encoding(), Count::new(data.slots() as u64)?);
    let (epsilon, delta) = (Epsilon::new(EPSILON)?, Delta::new(DELTA)?);
    let by_gradients = |learner: GradientDescent| -> Result<_, Box<dyn Error>> {
        let plan = learner.steps(Count::new(STEPS)?).plan(encoding, n, epsilon, delta)?;
        let steps = Some(plan.plan().batches().steps());
        Ok((Planned { plan: Box::new(plan), steps }, delta))
    };
    let at_once = |delta: Delta| -> Result<_, Box<dyn Error>> {
        let plan = ObjectivePerturbation::new(Loss::Logistic).plan(encoding, n, epsilon, delta)?;
        Ok((Planned { plan: Box::new(plan), steps: None }, delta))
    };
    match name {
        "sordino" => at_once(delta),
        "sordino pure" => at_once(Delta::ZERO),
        "sordino DP-SGD" => by_gradients(GradientDescent::poisson(Loss::Logistic, SamplingRate::new(RATE)?)),
        FULL_BATCH => by_gradients(GradientDescent::full_batch(Loss::Logistic)),
        _ => Err("no such learner".into()),
    }
}

/// A fit, and its time with calibration, charge and training included.
pub(crate) struct Fit {
    pub(crate) model: LinearModel,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) seconds: f64,
    pub(crate) planning: f64,
    pub(crate) steps: Option<u64>,
}

impl Fit {
    /// The data read from memory per second, where every step reads every record.
    pub(crate) fn gigabytes_a_second(&self, data: &Encoded) -> Option<f64> {
        let steps = self.steps? as f64;
        Some(data_bytes(data) * steps / (self.seconds - self.planning) / 1e9)
    }
}

pub(crate) fn fit(name: &str, data: &Encoded) -> Result<Fit, Box<dyn Error>> {
    let begun = Instant::now();
    let (Planned { plan, steps }, delta) = planned(name, data)?;
    let claim = plan.claim();
    let terms = Terms::new(Epsilon::new(EPSILON)?, claim.neighbours).with_delta(delta).planned();
    let permit = Budget::new(terms).charge_claim(claim)?;
    let planning = begun.elapsed().as_secs_f64();
    let (model, guarantee) = plan.fit(data, permit)?.into_parts();
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Fit { model, epsilon: guarantee.epsilon.upper, delta: delta.get(), seconds, planning, steps })
}

/// Measures a learner on the table that peers fit too: the fit of median time with its accuracy,
/// and peak memory.
pub(crate) fn compared(folder: &Path, name: &str, problem: Problem) -> Result<(), Box<dyn Error>> {
    let [train, test] = problem.files(folder);
    let loaded = Instant::now();
    let data = load(&train, problem.d)?;
    let loading = loaded.elapsed().as_secs_f64();
    let before = processor_seconds();
    let mut fits = Vec::new();
    for _ in 0..REPEATS {
        fits.push(fit(name, &data)?);
    }
    let processor = processor_seconds().zip(before).map(|(after, before)| (after - before) / REPEATS as f64);
    fits.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    // The median, as the number is odd.
    let middle = fits.swap_remove(REPEATS / 2);
    let peak = peak_bytes();
    let test = load(&test, problem.d)?;
    // For samples the data read is unknown: cache lines also bring parts of rows that were not
    // drawn.
    let moved = (name == FULL_BATCH).then(|| middle.gigabytes_a_second(&data));
    let config = json!({
        "epsilon": middle.epsilon, "delta": middle.delta, "steps": middle.steps,
                "planning_s": middle.planning,
        "accuracy": middle.model.accuracy(&test), "loss": middle.model.mean_loss(&test),
        "processor_s": processor, "loading_s": loading, "data_bytes": data_bytes(&data), "peak_bytes": peak,
        "gigabytes_a_second": moved,
    });
    emit_for(name, &format!("logistic, {} x {}", problem.n, problem.d), "s", middle.seconds, config);
    Ok(())
}

/// Measures one point of a curve, with full batches.
pub(crate) fn scaling(folder: &Path, axis: &str, n: u64, d: usize) -> Result<(), Box<dyn Error>> {
    let problem = Problem { n, test: 0, d };
    problem.write(folder)?;
    let data = load(&problem.files(folder)[0], d)?;
    let before = processor_seconds();
    let fit = fit(FULL_BATCH, &data)?;
    let processor = processor_seconds().zip(before).map(|(after, before)| after - before);
    let config = json!({
        "n": n, "d": d, "processor_s": processor, "steps": fit.steps, "planning_s": fit.planning,
        "data_bytes": data_bytes(&data), "peak_bytes": peak_bytes(),
        "gigabytes_a_second": fit.gigabytes_a_second(&data),
    });
    emit(&format!("time by {axis}, {n} x {d}"), "s", fit.seconds, config);
    Ok(())
}

/// The bytes of rows and targets in memory.
pub(crate) fn data_bytes(data: &Encoded) -> f64 {
    (data.slots() * (data.width() + 1) * size_of::<f32>()) as f64
}

fn load(file: &Path, d: usize) -> Result<Encoded, Box<dyn Error>> {
    let encoding = encoding(d)?;
    let source = Source::open(file, &CsvOptions::default())?;
    Ok(Loader::new(&source, encoding.schema(), Door::Strict).read(&encoding, &mut entropy()?)?)
}
