//! What a wider network costs under differential privacy.
//!
//! # Theory
//! Noise of deviation σ in each of d coordinates has length σ sqrt(d), while the length of clipped
//! gradients does not grow with d. For convex losses the least possible excess error is of the
//! order sqrt(d)/(n ε) (Bassily, Smith, Thakurta, *Private Empirical Risk Minimization*, 2014).
//! Networks are not convex, so this study measures.
//!
//! # Protocol
//! MNIST's pixels, one hidden layer of tanh, δ = 1e-5, Poisson samples; batches, steps and clip
//! norm are the same at all widths. Each width has its own learning rate, the best of [`RATES`] in
//! one run with a sixth of the *training* images held out. Then, with that rate, three seeds train
//! on all training images in three ways: private; clipped without noise; with neither (and
//! [`PLAIN_RATE`]). Test images are used after the last step only. The differences are the error of
//! clipping and the error of noise.

use std::error::Error;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use sordino_data::Encoded;
use sordino_nn::{Layer, Loss, Network, Shape};
use sordino_optim::{Averaging, Clipping, Plan, TrainingOptions, UpdateRule};
use sordino_privacy::{Delta, Epsilon, NoiseMultiplier};

use crate::images;
use crate::networks::{DELTA, accuracy, poisson, train};
use crate::study::{Summary, by_threads, percent};
use crate::svg::{Axis, Svg};

const WIDTHS: [usize; 5] = [4, 16, 64, 256, 1024];
const EPSILONS: [f64; 2] = [1.0, 0.25];
const SEEDS: u64 = 3;
const BATCH: u64 = 1024;
const EPOCHS: f64 = 3.0;
const CLIP_NORM: f64 = 0.5;
const RATES: [f64; 3] = [0.5, 2.0, 8.0];
/// The learning rate of networks that are neither clipped nor noisy.
const PLAIN_RATE: f64 = 0.1;
/// A negligible noise multiplier: a noisy sum is off by less than 10^-4 of the clip norm.
const NO_NOISE: f64 = 1e-6;
/// A clip norm that no gradient of these networks reaches.
const NO_CLIPPING: f64 = 1e4;

/// The accuracies of one width.
struct Row {
    parameters: usize,
    /// One for each of [`EPSILONS`].
    private: Vec<Summary>,
    clipped: Summary,
    plain: Summary,
}

/// Prints the table, and draws the plots beside the page.
pub(crate) fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (fit, validate) = images::held_out(folder, images::pixels())?;
    let train = images::all(folder, images::TRAIN, images::pixels())?;
    let test = images::all(folder, images::TEST, images::pixels())?;
    let ways = EPSILONS.map(|epsilon| format!("ε = {epsilon} (rate)")).join(" | ");
    println!("| hidden | weights | {ways} | clipped, no noise | neither |\n|---|---|---|---|---|---|");
    let mut rows = Vec::new();
    for width in WIDTHS {
        rows.push(row(width, [&fit, &validate], [&train, &test])?);
    }
    plot(&rows)
}

/// Measures one width and prints its line.
fn row(width: usize, choice: [&Encoded; 2], last: [&Encoded; 2]) -> Result<Row, Box<dyn Error>> {
    let network = network(width)?;
    let measure = |plan: &Plan, rate: f64| -> Result<Summary, Box<dyn Error>> {
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

/// Trains a network on the first part. Returns its accuracy on the second.
fn one(
    network: &Network,
    [fit, validate]: [&Encoded; 2],
    plan: &Plan,
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
    accuracy(network, &parameters, validate)
}

fn private_plan(data: &Encoded, epsilon: f64) -> Result<Plan, Box<dyn Error>> {
    let options = poisson(data, BATCH, EPOCHS, Clipping::Flat { norm: CLIP_NORM })?;
    Ok(Plan::calibrated(options, Epsilon::new(epsilon)?, Delta::new(DELTA)?)?)
}

fn plain_plan(data: &Encoded, norm: f64) -> Result<Plan, Box<dyn Error>> {
    let options = poisson(data, BATCH, EPOCHS, Clipping::Flat { norm })?;
    Ok(Plan::with_noise(options, NoiseMultiplier::new(NO_NOISE)?)?)
}

fn network(width: usize) -> Result<Network, Box<dyn Error>> {
    let layers = [Layer::linear(width), Layer::tanh(), Layer::linear(10)];
    Ok(Network::new(Shape::Features(784), &layers, Loss::CrossEntropy)?)
}

/// Plots errors against the number of weights: on the left all errors, on the right the error that
/// noise adds, beside lines of slope ½.
fn plot(rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let size = (760.0, 300.0);
    let mut svg = Svg::new(size);
    let weights = || rows.iter().map(|row| row.parameters as f64);
    let curves = curves(rows);
    let x = Axis::over(weights(), (56.0, 350.0));
    let y = Axis::over(curves.iter().flat_map(|curve| curve.values.iter().copied()), (size.1 - 60.0, 22.0));
    draw(&mut svg, &x, &y, rows, &curves, "error on test images");
    let added: Vec<Curve> = (0..EPSILONS.len()).map(|which| noise_error(rows, which)).collect();
    let slopes: Vec<Curve> = added.iter().map(|curve| sqrt_law(rows, curve)).collect();
    let all: Vec<Curve> = added.into_iter().chain(slopes).collect();
    let x = Axis::over(weights(), (436.0, 740.0));
    let y = Axis::over(all.iter().flat_map(|curve| curve.values.iter().copied()), (size.1 - 60.0, 22.0));
    draw(&mut svg, &x, &y, rows, &all, "error that noise adds; dashed: square root of the weights");
    svg.write(&docs(), "accuracy.svg")
}

struct Curve {
    name: String,
    colour: &'static str,
    is_dashed: bool,
    values: Vec<f64>,
}

const COLOURS: [&str; 2] = ["#1b6ca8", "#c8553d"];

fn curves(rows: &[Row]) -> Vec<Curve> {
    let of = |name: String, colour, summary: &dyn Fn(&Row) -> f64| Curve {
        name,
        colour,
        is_dashed: false,
        values: rows.iter().map(|row| 1.0 - summary(row)).collect(),
    };
    let private = EPSILONS.iter().enumerate().map(|(which, epsilon)| {
        of(format!("ε = {epsilon}"), COLOURS[which], &|row| row.private[which].mean)
    });
    let mut curves: Vec<Curve> = private.collect();
    curves.push(of("clipped, no noise".to_owned(), "#e0a458", &|row| row.clipped.mean));
    curves.push(of("neither".to_owned(), "#777", &|row| row.plain.mean));
    curves
}

/// The private error minus that of clipping alone, at least 10^-4 for the logarithmic axis.
fn noise_error(rows: &[Row], which: usize) -> Curve {
    let added = |row: &Row| (row.clipped.mean - row.private[which].mean).max(1e-4);
    Curve {
        name: format!("ε = {}", EPSILONS[which]),
        colour: COLOURS[which],
        is_dashed: false,
        values: rows.iter().map(added).collect(),
    }
}

/// The curve `a sqrt(d)` through the geometric mean of another.
fn sqrt_law(rows: &[Row], curve: &Curve) -> Curve {
    let logarithms = curve.values.iter().zip(rows).map(|(y, row)| (y / (row.parameters as f64).sqrt()).ln());
    let factor = (logarithms.sum::<f64>() / rows.len() as f64).exp();
    let values = rows.iter().map(|row| factor * (row.parameters as f64).sqrt()).collect();
    Curve { name: String::new(), colour: curve.colour, is_dashed: true, values }
}

fn draw(svg: &mut Svg, x: &Axis, y: &Axis, rows: &[Row], curves: &[Curve], title: &str) {
    svg.axes(x, y);
    svg.text((x.ends.0, 12.0), "start", title);
    svg.text(((x.ends.0 + x.ends.1) / 2.0, y.ends.0 + 26.0), "middle", "weights");
    let mut at = x.ends.0 - 20.0;
    for curve in curves {
        let place = |(row, value): (&Row, &f64)| (x.place(row.parameters as f64), y.place(*value));
        let points: Vec<(f64, f64)> = rows.iter().zip(&curve.values).map(place).collect();
        svg.line(&points, curve.colour, curve.is_dashed);
        if !curve.is_dashed {
            points.into_iter().for_each(|point| svg.point(point, curve.colour));
            svg.line(&[(at, y.ends.0 + 42.0), (at + 14.0, y.ends.0 + 42.0)], curve.colour, false);
            svg.text((at + 18.0, y.ends.0 + 45.5), "start", &curve.name);
            at += 36.0 + 5.5 * curve.name.chars().count() as f64;
        }
    }
}

/// The folder of the plots, beside the page that shows them.
fn docs() -> PathBuf {
    sordino_bench::docs().join("studies/width")
}
