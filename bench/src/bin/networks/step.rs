//! Measures a step in each of its modes.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sordino_bench::process::{peak_bytes, processor_seconds};
use sordino_bench::{Options, emit_for};
use sordino_nn::danger::{cap_count, unclipped_sum};
use sordino_nn::{DenseExamples, NetworkObjective, product_speed};
use sordino_noise::entropy;
use sordino_optim::{Objective, Training, TrainingOptions};
use sordino_privacy::{Delta, Unit, danger};
use sordino_threads::share;

use crate::work::{CLIP_NORM, RATE, THREADS, Work};

/// `private`: a step of the training loop. `plain`: the same without clipping, rounding and noise.
/// `noise`: the noise of a step alone. `peak`: the matrix product at its fastest, on all threads at
/// once.
pub(crate) const MODES: [&str; 4] = ["private", "plain", "noise", "peak"];

/// How many parameters one thread updates at a time in a plain step.
const PART: usize = 1 << 16;

/// Measures one mode in this process.
pub(crate) fn measure(options: Options, mode: &str, work: &Work) -> Result<(), Box<dyn Error>> {
    match mode {
        "private" => private(options, work),
        "plain" => plain(options, work),
        "noise" => noise(options, work),
        "peak" => peak(options, work),
        _ => Err(format!("expected one of {MODES:?}, got `{mode}`").into()),
    }
}

/// Measures steps of the training loop, with exact noise.
fn private(options: Options, work: &Work) -> Result<(), Box<dyn Error>> {
    let (network, examples) = (work.network()?, work.examples());
    let objective = work.objective(&network, &examples)?;
    let timed = timed(options, |steps, moment| train(work, &objective, network.initial(1), steps, moment))?;
    let peak = peak_bytes();
    let plan = work.plan(1)?;
    let clip = plan.clip(CLIP_NORM, objective.dimension(), objective.float_sums())?;
    let capped = cap_count(&objective, &network.initial(1), &work.whole_batch()?, &clip, THREADS)?;
    let config = json!({
        "inflation": clip.grid().inflation(), "micro_batch": objective.micro_batch(), "capped": capped,
    });
    report("sordino", work, &timed, objective.dimension(), peak, config);
    Ok(())
}

/// Does so many steps of the training loop, and calls `moment` after each.
pub(crate) fn train(
    work: &Work,
    objective: &NetworkObjective<'_, DenseExamples>,
    start: Vec<f64>,
    steps: u64,
    moment: &mut dyn FnMut(),
) -> Result<(), Box<dyn Error>> {
    let plan = work.plan(steps)?;
    let permit = danger::unmetered(plan.claim(), Unit::Record, Delta::new(1e-5)?)?;
    let options = TrainingOptions { learning_rate: RATE, start: Some(start), ..TrainingOptions::default() };
    Training::new(&plan, objective, options)?.threads(THREADS).run(permit, &mut |_| moment())?;
    Ok(())
}

/// Measures steps of the same engine without clipping, rounding and noise, with the same update.
fn plain(options: Options, work: &Work) -> Result<(), Box<dyn Error>> {
    let (network, examples) = (work.network()?, work.examples());
    let objective = work.objective(&network, &examples)?;
    let (whole, mut parameters, mut sum) = (work.whole_batch()?, network.initial(1), Vec::new());
    let timed = timed(options, |steps, moment| {
        for _ in 0..steps {
            sum = unclipped_sum(&objective, &parameters, &whole, THREADS, std::mem::take(&mut sum));
            let rate = RATE / work.batch as f64;
            let parts = parameters.chunks_mut(PART).zip(sum.chunks(PART)).collect();
            share(&mut vec![(); THREADS.get()], parts, |(), (parameters, sum): (&mut [f64], &[f64])| {
                parameters.iter_mut().zip(sum).for_each(|(w, g)| *w -= rate * g);
            });
            moment();
        }
        Ok(())
    })?;
    report("sordino plain", work, &timed, objective.dimension(), peak_bytes(), json!({}));
    Ok(())
}

/// Measures the noise of one step.
fn noise(options: Options, work: &Work) -> Result<(), Box<dyn Error>> {
    let (network, examples) = (work.network()?, work.examples());
    let objective = work.objective(&network, &examples)?;
    let (whole, plan) = (work.whole_batch()?, work.plan(1)?);
    let clip = plan.clip(CLIP_NORM, objective.dimension(), objective.float_sums())?;
    let (mut blocks, mut bits) = (Vec::new(), entropy()?);
    for _ in 0..options.blocks() {
        options.wait();
        let (mut taken, begun) = (Vec::new(), Instant::now());
        while taken.len() < 3 || begun.elapsed() < options.fill() {
            let sum = objective.clipped_sum(&network.initial(1), &whole, &clip, THREADS)?.gradient;
            let start = Instant::now();
            let noisy = sum.add_gaussian_on(THREADS, &mut bits)?;
            taken.push(start.elapsed().as_secs_f64());
            objective.take_back(noisy);
        }
        blocks.push(median(taken));
    }
    let (seconds, parameters) = (median(blocks), objective.dimension());
    // The time of a step's noise is weights × ns per draw / threads.
    let nanoseconds = seconds * 1e9 * THREADS.get() as f64 / parameters as f64;
    let config = json!({ "parameters": parameters, "nanoseconds_a_draw": nanoseconds, "threads": THREADS });
    emit_for("sordino noise", &work.name, "s", seconds, config);
    Ok(())
}

/// Measures the operations per second of the matrix product, on all threads at once.
fn peak(options: Options, work: &Work) -> Result<(), Box<dyn Error>> {
    let speed = || -> f64 {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS.get()).map(|_| scope.spawn(|| product_speed(96, 256, 256))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).sum()
        })
    };
    let mut blocks = Vec::new();
    for _ in 0..options.blocks() {
        options.wait();
        blocks.push(speed());
    }
    let config = json!({ "operations": work.operations, "batch": work.batch, "threads": THREADS });
    emit_for("sordino peak", &work.name, "GFLOP/s", median(blocks) / 1e9, config);
    Ok(())
}

/// The time of a step.
pub(crate) struct Timed {
    /// The median of the seconds of a step.
    pub(crate) seconds: f64,
    /// The mean processor time of a step, over all threads.
    pub(crate) processor: Option<f64>,
    /// The number of steps that were measured.
    pub(crate) steps: usize,
}

/// Measures steps in blocks, after some that are not counted. `run` does so many steps and calls
/// back after each.
pub(crate) fn timed(
    options: Options,
    mut run: impl FnMut(u64, &mut dyn FnMut()) -> Result<(), Box<dyn Error>>,
) -> Result<Timed, Box<dyn Error>> {
    let block = options.fill().max(Duration::from_millis(50));
    let first = Instant::now();
    run(3, &mut || {})?;
    let guess = first.elapsed().as_secs_f64() / 3.0;
    let length = (block.as_secs_f64() / guess).ceil().clamp(1.0, 5000.0) as usize;
    let (warm, steps) = (length.max(3), options.blocks() * length);
    // After a wait the caches are cold, so the first steps of each turn are not counted.
    let lead = length.div_ceil(8);
    let (mut blocks, mut processor, mut done) = (Vec::new(), Some(0.0), 0);
    let mut start = (Instant::now(), None);
    run((warm + options.blocks() * (lead + length)) as u64, &mut || {
        done += 1;
        let Some(turned) = usize::checked_sub(done, warm) else { return };
        let (turn, step) = (turned / (lead + length), turned % (lead + length));
        if step == 0 && turn > 0 {
            blocks.push(start.0.elapsed().as_secs_f64() / length as f64);
            let taken = processor_seconds().zip(start.1).map(|(after, before)| after - before);
            processor = processor.zip(taken).map(|(sum, taken)| sum + taken);
        }
        if step == 0 && turn < options.blocks() {
            options.wait();
        }
        if step == lead {
            start = (Instant::now(), processor_seconds());
        }
    })?;
    let processor = processor.map(|sum| sum / steps as f64);
    Ok(Timed { seconds: median(blocks), processor, steps })
}

fn report(system: &str, work: &Work, timed: &Timed, parameters: usize, peak: Option<f64>, mut config: Value) {
    let common = json!({
        "batch": work.batch, "parameters": parameters, "operations": work.operations, "threads": THREADS,
        "steps": timed.steps, "processor_s": timed.processor, "peak_bytes": peak,
    });
    if let (Value::Object(config), Value::Object(common)) = (&mut config, common) {
        config.extend(common);
    }
    emit_for(system, &work.name, "s", timed.seconds, config);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
