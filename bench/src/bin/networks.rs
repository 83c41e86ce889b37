//! Examples a second of training steps of five networks: clipped and noisy, and the same engine without either. Work of the same
//! names and shapes as in `peers/networks.py`: the batch is in memory, a step is forward, backward, clip, noise, update.
//!
//! `private` is a whole step of the training loop with exact noise, `clipped` its clipped sum, `noise` its noise, `plain` the unclipped sum;
//! `peak` is the matrix product at its best, on one thread.

use std::error::Error;
use std::num::NonZero;
use std::time::Instant;

use serde_json::json;
use sordino_bench::{Options, emit, seconds};
use sordino_data::{Batch, BatchPlan, ContributionLimit, Sampling, UnitRule};
use sordino_nn::danger::unclipped_sum;
use sordino_nn::{Layer, Loss, Network, NetworkObjective, Rows, Shape, product_speed};
use sordino_noise::entropy;
use sordino_optim::{Clipping, Objective, Plan, PlanOptions, Training, TrainingOptions};
use sordino_privacy::{Count, Delta, Neighbours, NoiseMultiplier, Unit, danger};

const CLIP_NORM: f64 = 1.0;
const NOISE: f64 = 1.1;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments();
    let only: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let speed = product_speed(96, 512, 512);
    emit("networks", "peak_gflops", speed / 1e9, json!({ "threads": 1 }));
    for workload in workloads() {
        if only.is_empty() || only.iter().any(|name| workload.name == name) {
            for batch in workload.batches {
                measure(options, &workload, *batch, speed)?;
            }
        }
    }
    Ok(())
}

struct Workload {
    name: &'static str,
    input: Shape,
    layers: Vec<Layer>,
    /// Operations of a forward and backward pass of an example.
    megaflops: f64,
    batches: &'static [usize],
}

fn workloads() -> Vec<Workload> {
    let (conv, max, avg, relu) = (Layer::conv2d, Layer::max_pool, Layer::avg_pool, Layer::relu);
    vec![
        Workload {
            name: "mnist-cnn",
            input: Shape::Image { channels: 1, height: 28, width: 28 },
            layers: vec![
                conv(16, 8, 2, 3),
                relu(),
                max(2, 1),
                conv(32, 4, 2, 0),
                relu(),
                max(2, 1),
                Layer::Flatten,
                Layer::linear(32),
                relu(),
                Layer::linear(10),
            ],
            megaflops: 2.13,
            batches: &[256, 2048],
        },
        Workload {
            name: "mlp",
            input: Shape::Features(784),
            layers: vec![Layer::linear(1024), relu(), Layer::linear(1024), relu(), Layer::linear(10)],
            megaflops: 9.58,
            batches: &[256, 2048],
        },
        Workload {
            name: "linear",
            input: Shape::Features(4096),
            layers: vec![Layer::linear(10)],
            megaflops: 0.164,
            batches: &[2048],
        },
        Workload {
            name: "cifar-cnn",
            input: Shape::Image { channels: 3, height: 32, width: 32 },
            layers: vec![
                conv(32, 3, 1, 1),
                relu(),
                avg(2, 2),
                conv(64, 3, 1, 1),
                relu(),
                avg(2, 2),
                conv(128, 3, 1, 1),
                relu(),
                avg(2, 2),
                Layer::Flatten,
                Layer::linear(128),
                relu(),
                Layer::linear(10),
            ],
            megaflops: 61.7,
            batches: &[256],
        },
    ]
}

fn measure(options: Options, workload: &Workload, batch: usize, peak: f64) -> Result<(), Box<dyn Error>> {
    let network = Network::new(workload.input, &workload.layers, Loss::CrossEntropy)?;
    let rows = examples(workload.input.size(), batch);
    let objective = NetworkObjective::new(&network, &rows, batch as f64)?;
    let (parameters, plan) = (network.initial(1), plan(batch)?);
    let clip = plan.clip(CLIP_NORM, objective.dimension(), objective.float_sums())?;
    let whole = whole_batch(batch)?;
    let threads = std::thread::available_parallelism()?;
    let config = |mode: &str| {
        json!({
            "model": workload.name, "batch": batch, "mode": mode, "threads": threads,
            "params": network.parameters(), "inflation": clip.grid().inflation(), "micro_batch": objective.micro_batch(),
        })
    };
    let per_second = |mode: &str, seconds: f64| {
        emit("networks", "examples_per_second", batch as f64 / seconds, config(mode));
        let part = batch as f64 * workload.megaflops * 1e6 / seconds / (peak * threads.get() as f64);
        emit("networks", "part_of_peak", part, config(mode));
    };
    per_second(
        "plain",
        seconds(options.fill(), || drop(unclipped_sum(&objective, &parameters, &whole, threads))),
    );
    let clipped = || objective.clipped_sum(&parameters, &whole, &clip, threads);
    clipped()?; // an error would be one at every call
    per_second("clipped", seconds(options.fill(), || drop(clipped())));
    let (mut noise, mut bits) = (Vec::new(), entropy()?);
    for _ in 0..5 {
        let sum = clipped()?.gradient;
        let begun = Instant::now();
        drop(sum.add_gaussian(&mut bits)?);
        noise.push(begun.elapsed().as_secs_f64());
    }
    noise.sort_by(f64::total_cmp);
    emit("networks", "noise_ms", noise[2] * 1e3, config("noise"));
    per_second("private", whole_steps(&plan, &objective, parameters.clone(), threads)?);
    Ok(())
}

/// Median seconds of steps of the training loop.
fn whole_steps(
    plan: &Plan,
    objective: &NetworkObjective<'_, Rows>,
    start: Vec<f64>,
    threads: NonZero<usize>,
) -> Result<f64, Box<dyn Error>> {
    let options = TrainingOptions { learning_rate: 0.05, start: Some(start), ..TrainingOptions::default() };
    let permit = danger::unmetered(plan.claim(), Unit::Record, Delta::new(1e-5)?)?;
    let (mut taken, mut begun) = (Vec::new(), Instant::now());
    Training::new(plan, objective, options)?.threads(threads).run(permit, &mut |_| {
        taken.push(begun.elapsed().as_secs_f64());
        begun = Instant::now();
    })?;
    taken.sort_by(f64::total_cmp);
    Ok(taken[taken.len() / 2])
}

fn plan(batch: usize) -> Result<Plan, Box<dyn Error>> {
    let options = PlanOptions {
        sampling: Sampling::FullBatch,
        slots: Count::new(batch as u64)?,
        rounds: Count::new(9)?,
        neighbours: Neighbours::ZeroOut,
        clipping: Clipping::Flat { norm: CLIP_NORM },
        scales: None,
        divisor: None,
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    Ok(Plan::with_noise(options, NoiseMultiplier::new(NOISE)?)?)
}

fn whole_batch(batch: usize) -> Result<Batch, Box<dyn Error>> {
    let plan =
        BatchPlan::new(Sampling::FullBatch, Count::new(batch as u64)?, Count::ONE, Neighbours::ZeroOut)?;
    plan.batches().next(&mut entropy()?).ok_or_else(|| "a plan of one batch has one".into())
}

/// Numbers between -2 and 2, and classes.
fn examples(size: usize, batch: usize) -> Rows {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 22) as f32 - 2.0
    };
    let inputs = (0..batch * size).map(|_| next()).collect();
    let targets = (0..batch).map(|slot| (slot % 10) as f32).collect();
    Rows::new(inputs, size, targets, 1)
}
