//! What a wider network costs under differential privacy.
//!
//! # What theory says
//! Noise of deviation σ in each of d coordinates has length σ sqrt(d), and what is learned from
//! clipped gradients does not grow with it: for convex losses the excess error at best is of the
//! order sqrt(d)/(n ε) (Bassily, Smith, Thakurta, *Private Empirical Risk Minimization*, 2014).
//! Networks are not convex; this measures.
//!
//! # Protocol
//! MNIST's pixels, one hidden layer of tanh, δ = 1e-5, Poisson samples; batches, steps and clip
//! norm are the same at all widths. Each width has its own learning rate, the best of [`RATES`] in
//! one run with a sixth of the *training* images held out. Then, with that rate, three seeds on
//! all training images in three ways: private; clipped without noise; with neither (and
//! [`PLAIN_RATE`]). Test images are looked at after the last step. The differences are the error
//! of clipping and the error of noise.

use std::error::Error;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use sordino_data::Encoded;
use sordino_nn::{Layer, Network, NetworkLoss, Shape};
use sordino_optim::{Averaging, Clipping, TrainingOptions, TrainingPlan, UpdateRule};
use sordino_plot::{Axis, Curve, Line, Plot, panels};
use sordino_privacy::{Delta, Epsilon, NoiseMultiplier};

use crate::images;
use crate::networks::{DELTA, accuracy, poisson, train};
use crate::study::{Summary, by_threads, percent};

const WIDTHS: [usize; 5] = [4, 16, 64, 256, 1024];
const EPSILONS: [f64; 2] = [1.0, 0.25];
const SEEDS: u64 = 3;
const BATCH: u64 = 1024;
const EPOCHS: f64 = 3.0;
const CLIP_NORM: f64 = 0.5;
const RATES: [f64; 3] = [0.5, 2.0, 8.0];
/// Of networks that are neither clipped nor noisy.
const PLAIN_RATE: f64 = 0.1;
/// So little that it does not show: one noisy sum is within a ten-thousandth of the clip norm.
const NO_NOISE: f64 = 1e-6;
/// So long that no gradient of this network is.
const NO_CLIPPING: f64 = 1e4;

/// Accuracies of one width.
struct Row {
    parameters: usize,
    /// For each of [`EPSILONS`].
    private: Vec<Summary>,
    clipped: Summary,
    plain: Summary,
}

/// The table, and the plots beside the page.
pub(crate) fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (fit, look) = images::held_out(folder, images::pixels())?;
    let train = images::all(folder, images::TRAIN, images::pixels())?;
    let test = images::all(folder, images::TEST, images::pixels())?;
    let ways = EPSILONS.map(|epsilon| format!("ε = {epsilon} (rate)")).join(" | ");
    println!("| hidden | weights | {ways} | clipped, no noise | neither |\n|---|---|---|---|---|---|");
    let mut rows = Vec::new();
    for width in WIDTHS {
        rows.push(row(width, [&fit, &look], [&train, &test])?);
    }
    plot(&rows)
}

/// Measures one width and prints its line.
fn row(width: usize, choice: [&Encoded; 2], last: [&Encoded; 2]) -> Result<Row, Box<dyn Error>> {
    let network = network(width)?;
    let measure = |plan: &TrainingPlan, rate: f64| -> Result<Summary, Box<dyn Error>> {
        let seeds: Vec<u64> = (1..=SEEDS).collect();
        Ok(Summary::of(&by_threads(&seeds, |seed| one(&network, last, plan, rate, *seed))?))
    };
    let (mut private, mut rates) = (Vec::new(), Vec::new());
    for epsilon in EPSILONS {
        let rate = best_rate(&network, choice, epsilon)?;
        private.push(measure(&private_plan(last[0], epsilon)?, rate)?);
        rates.push(rate);
    }
    let clipped = measure(&plain_plan(last[0], CLIP_NORM)?, rates[0])?;
    let plain = measure(&plain_plan(last[0], NO_CLIPPING)?, PLAIN_RATE)?;
    let shown = |summary: &Summary| format!("{} ± {}", percent(summary.mean), percent(summary.deviation));
    let each: Vec<String> =
        private.iter().zip(&rates).map(|(summary, rate)| format!("{} ({rate})", shown(summary))).collect();
    let parameters = network.parameters();
    println!("| {width} | {parameters} | {} | {} | {} |", each.join(" | "), shown(&clipped), shown(&plain));
    Ok(Row { parameters, private, clipped, plain })
}

/// The best of [`RATES`] on held-out training images.
fn best_rate(network: &Network, choice: [&Encoded; 2], epsilon: f64) -> Result<f64, Box<dyn Error>> {
    let plan = private_plan(choice[0], epsilon)?;
    let right = by_threads(&RATES, |rate| one(network, choice, &plan, *rate, 1))?;
    let best = RATES.into_iter().zip(right).max_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(best.map_or(RATES[0], |(rate, _)| rate))
}

/// Accuracy on the second part of a network trained on the first.
fn one(
    network: &Network,
    [fit, look]: [&Encoded; 2],
    plan: &TrainingPlan,
    rate: f64,
    seed: u64,
) -> Result<f64, Box<dyn Error>> {
    let options = TrainingOptions {
        rule: UpdateRule::Momentum { momentum: 0.9 },
        learning_rate: rate,
        averaging: Averaging::Tail { fraction: 0.25 },
        start: Some(network.initial(seed)),
        ..TrainingOptions::default()
    };
    let (parameters, _) = train(network, fit, plan, options, seed, NonZero::<usize>::MIN)?;
    accuracy(network, &parameters, look)
}

fn private_plan(data: &Encoded, epsilon: f64) -> Result<TrainingPlan, Box<dyn Error>> {
    let options = poisson(data, BATCH, EPOCHS, Clipping::Flat { norm: CLIP_NORM })?;
    Ok(TrainingPlan::calibrated(options, Epsilon::new(epsilon)?, Delta::new(DELTA)?)?)
}

fn plain_plan(data: &Encoded, norm: f64) -> Result<TrainingPlan, Box<dyn Error>> {
    let options = poisson(data, BATCH, EPOCHS, Clipping::Flat { norm })?;
    Ok(TrainingPlan::with_noise(options, NoiseMultiplier::new(NO_NOISE)?)?)
}

fn network(width: usize) -> Result<Network, Box<dyn Error>> {
    let layers = [Layer::linear(width), Layer::tanh(), Layer::linear(10)];
    Ok(Network::new(Shape::Features(784), &layers, NetworkLoss::CrossEntropy)?)
}

/// Errors against the number of weights: of each way, and what noise adds to
/// clipping beside a line of slope ½.
fn plot(rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let added: Vec<Vec<f64>> = (0..EPSILONS.len()).map(|which| noise_error(rows, which)).collect();
    let laws = added.iter().enumerate().map(|(which, values)| {
        let label = if which == 0 { "square root of the weights" } else { "" };
        curve(rows, label.to_owned(), Line::Reference, &sqrt_law(rows, values))
    });
    let noise = added
        .iter()
        .enumerate()
        .map(|(which, values)| curve(rows, format!("ε = {}", EPSILONS[which]), Line::Series(which), values));
    let plots = [
        panel("Error on test images", rows, errors(rows)),
        panel("Error that noise adds", rows, noise.chain(laws).collect()),
    ];
    let description = "Noise adds an error that grows as the square root of the number of weights.";
    let svg = panels("What more weights cost", description, &plots, 2);
    std::fs::create_dir_all(docs())?;
    Ok(std::fs::write(docs().join("accuracy.svg"), svg)?)
}

fn panel(title: &str, rows: &[Row], curves: Vec<Curve>) -> Plot {
    let values = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
    Plot {
        title: title.to_owned(),
        description: String::new(),
        x: Axis::decades_around("weights", rows.iter().map(|row| row.parameters as f64)),
        y: Axis::decades_around("error", values),
        shape: sordino_plot::Shape::Wide,
        curves,
        notes: Vec::new(),
    }
}

fn curve(rows: &[Row], label: String, line: Line, values: &[f64]) -> Curve {
    let points = rows.iter().zip(values).map(|(row, value)| (row.parameters as f64, *value)).collect();
    Curve { label, line, points }
}

fn errors(rows: &[Row]) -> Vec<Curve> {
    let of = |label: String, number: usize, accuracy: &dyn Fn(&Row) -> f64| {
        let values: Vec<f64> = rows.iter().map(|row| 1.0 - accuracy(row)).collect();
        curve(rows, label, Line::Series(number), &values)
    };
    let private = EPSILONS.iter().enumerate();
    let private =
        private.map(|(which, epsilon)| of(format!("ε = {epsilon}"), which, &|row| row.private[which].mean));
    let mut curves: Vec<Curve> = private.collect();
    let next = curves.len();
    curves.push(of("clipped, no noise".to_owned(), next, &|row| row.clipped.mean));
    curves.push(of("neither".to_owned(), next + 1, &|row| row.plain.mean));
    curves
}

/// Private error minus that of clipping alone. On a logarithmic axis
/// nothing is a hundredth of a percent.
fn noise_error(rows: &[Row], which: usize) -> Vec<f64> {
    rows.iter().map(|row| (row.clipped.mean - row.private[which].mean).max(1e-4)).collect()
}

/// `a sqrt(d)` through the geometric mean of some values.
fn sqrt_law(rows: &[Row], values: &[f64]) -> Vec<f64> {
    let roots: Vec<f64> = rows.iter().map(|row| (row.parameters as f64).sqrt()).collect();
    let logarithms = values.iter().zip(&roots).map(|(value, root)| (value / root).ln());
    let factor = (logarithms.sum::<f64>() / rows.len() as f64).exp();
    roots.into_iter().map(|root| factor * root).collect()
}

/// Beside the page that shows them.
fn docs() -> PathBuf {
    sordino_bench::docs().join("studies/width")
}
