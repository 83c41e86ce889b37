//! A small convolutional network with tanh on MNIST: Papernot, Thakurta, Song, Chien, Erlingsson,
//! *Tempered Sigmoid Activations for Deep Learning with Differential Privacy*, 2021.
//!
//! # Protocol
//! 60 000 images to train on, 10 000 to test, as published; pixels in [0, 1]; δ = 1e-5. [`choose`]
//! tries the settings of [`grid`] with a sixth of the *training* images held out. [`run`] trains
//! with the [`chosen`] setting on all of them and uses the test images once, after the last step of
//! each seed. ε does not include the choice of settings.

use std::error::Error;
use std::num::NonZero;
use std::path::Path;
use std::time::Instant;

use sordino_data::Encoded;
use sordino_nn::{Layer, Network, NetworkLoss, Shape, View};
use sordino_optim::{Averaging, Clipping, Schedule, TrainingOptions, TrainingPlan, UpdateRule};
use sordino_privacy::{Delta, Epsilon};

use crate::images;
use crate::networks::{DELTA, accuracy, poisson, train};
use crate::study::{Summary, by_threads, percent};

const RUNS: u64 = 5;
const THREADS: NonZero<usize> = NonZero::new(2).unwrap();
const EPSILONS: [f64; 2] = [2.93, 1.0];

/// One setting. Updates have momentum 0.9.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// The expected number of records in a batch.
    batch: u64,
    epochs: f64,
    learning_rate: f64,
    clip_norm: f64,
    /// The factor of the initial weights. Uniform in ±1/sqrt(inputs), they are small for tanh, and
    /// growing takes steps.
    gain: f64,
    schedule: Schedule,
    /// The fraction of the iterates, counted from the last, whose mean is the result.
    tail: f64,
    /// How many of [`VIEWS`] an example's gradient averages over.
    views: usize,
}

/// An image as it is, and shifted by one pixel.
const VIEWS: [View; 5] = [
    View::Same,
    View::Shifted { lines: 0, columns: 1 },
    View::Shifted { lines: 1, columns: 0 },
    View::Shifted { lines: 0, columns: -1 },
    View::Shifted { lines: -1, columns: 0 },
];

/// The setting that was best for an ε on held-out training images.
fn chosen(epsilon: f64) -> Setting {
    let (batch, epochs, learning_rate, schedule) = if epsilon > 2.0 {
        (1024, 40.0, 2.0, Schedule::Cosine)
    } else {
        (2048, 10.0, 8.0, Schedule::Constant)
    };
    let views = if epsilon > 2.0 { VIEWS.len() } else { 1 };
    Setting { batch, epochs, learning_rate, clip_norm: 0.1, gain: 2.0, schedule, tail: 0.25, views }
}

/// The learning rates of the grid, relative to the chosen one.
const FACTORS: [f64; 2] = [0.5, 1.0];
const CLIP_NORMS: [f64; 3] = [0.1, 0.3, 1.0];

/// The settings to try, around the chosen one. The rate is inversely proportional to the clip norm,
/// so steps are equally long where all gradients are clipped.
fn grid(epsilon: f64) -> Vec<Setting> {
    let chosen = chosen(epsilon);
    let length = chosen.learning_rate * chosen.clip_norm;
    let setting = |clip_norm: f64, factor: f64| Setting {
        clip_norm,
        learning_rate: factor * length / clip_norm,
        ..chosen
    };
    CLIP_NORMS.into_iter().flat_map(|norm| FACTORS.map(|factor| setting(norm, factor))).collect()
}

/// Trains with the chosen settings and prints the accuracy on the test images.
pub(crate) fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let fit = images::all(folder, images::TRAIN, images::pixels())?;
    let test = images::all(folder, images::TEST, images::pixels())?;
    println!("{} images to train on, {} to test\n", fit.slots(), test.slots());
    println!(
        "| ε | δ | noise multiplier | steps | accuracy, mean ± sd | least | seconds a seed on two threads |"
    );
    println!("|---|---|---|---|---|---|---|");
    for epsilon in EPSILONS {
        let plan = plan(&fit, epsilon, chosen(epsilon))?;
        // One after the other, so that runs do not slow each other down.
        let mut runs = Vec::new();
        for seed in 1..=RUNS {
            let begun = Instant::now();
            let (right, spent) = one(&fit, &test, &plan, chosen(epsilon), seed, THREADS)?;
            let seconds = begun.elapsed().as_secs_f64();
            // A run takes minutes, so each reports that it is done.
            eprintln!("ε = {epsilon}, seed {seed} of {RUNS}: {} % in {seconds:.0} s", percent(right));
            runs.push((right, spent, seconds));
        }
        let accuracies: Vec<f64> = runs.iter().map(|(right, ..)| *right).collect();
        let seconds: Vec<f64> = runs.iter().map(|(.., seconds)| *seconds).collect();
        let spent = runs.iter().map(|(_, spent, _)| *spent).fold(0.0, f64::max);
        let Summary { mean, deviation, least } = Summary::of(&accuracies);
        let (noise, steps) = (plan.noise_multiplier().get(), plan.batches().steps());
        let most = seconds.iter().copied().fold(0.0, f64::max);
        println!(
            "| {spent:.4} | {DELTA:.0e} | {noise:.3} | {steps} | {} ± {} % | {} % | {:.0}, at most {most:.0} \
            |",
            percent(mean),
            percent(deviation),
            percent(least),
            Summary::of(&seconds).mean
        );
    }
    Ok(())
}

/// Tries the grid on training images alone.
pub(crate) fn choose(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (fit, validate) = images::held_out(folder, images::pixels())?;
    println!(
        "{} images to fit on, {} to validate on, all of the training part\n",
        fit.slots(),
        validate.slots()
    );
    head();
    for epsilon in EPSILONS {
        let settings = grid(epsilon);
        let right = by_threads(&settings, |setting| shown(&fit, &validate, epsilon, *setting))?;
        let best = settings.iter().zip(&right).max_by(|(_, one), (_, other)| one.total_cmp(other));
        println!("best for ε = {epsilon}: {best:?}");
    }
    Ok(())
}

/// Tries the given settings on held-out training images. Each setting is nine words: ε, batch,
/// epochs, learning rate, clip norm, gain, schedule, tail, views.
pub(crate) fn attempt(folder: &Path, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let (settings, rest) = words.as_chunks::<9>();
    if settings.is_empty() || !rest.is_empty() {
        return Err(
            "expected ε, batch, epochs, learning rate, clip norm, gain, schedule, tail and views after --try"
                .into(),
        );
    }
    let (fit, validate) = images::held_out(folder, images::pixels())?;
    head();
    by_threads(settings, |[epsilon, batch, epochs, learning_rate, clip_norm, gain, schedule, tail, views]| {
        let setting = Setting {
            batch: batch.parse()?,
            epochs: epochs.parse()?,
            learning_rate: learning_rate.parse()?,
            clip_norm: clip_norm.parse()?,
            gain: gain.parse()?,
            schedule: serde_json::from_value((*schedule).into())?,
            tail: tail.parse()?,
            views: views.parse::<usize>()?.clamp(1, VIEWS.len()),
        };
        shown(&fit, &validate, epsilon.parse()?, setting)
    })
    .map(drop)
}

fn head() {
    println!(
        "| ε | batch | epochs | learning rate | clip norm | gain | schedule | tail | views | accuracy \
        |\n|---|---|---|---|---|---|---|---|---|---|"
    );
}

/// Trains once, prints a line of the table, and returns the accuracy.
fn shown(fit: &Encoded, validate: &Encoded, epsilon: f64, setting: Setting) -> Result<f64, Box<dyn Error>> {
    let (right, _) = one(fit, validate, &plan(fit, epsilon, setting)?, setting, 1, NonZero::<usize>::MIN)?;
    let Setting { batch, epochs, learning_rate, clip_norm, gain, schedule, tail, views } = setting;
    println!(
        "| {epsilon} | {batch} | {epochs} | {learning_rate} | {clip_norm} | {gain} | {schedule:?} | {tail} | \
        {views} | {} |",
        percent(right)
    );
    Ok(right)
}

fn plan(fit: &Encoded, epsilon: f64, setting: Setting) -> Result<TrainingPlan, Box<dyn Error>> {
    let clipping = Clipping::Flat { norm: setting.clip_norm };
    let options = poisson(fit, setting.batch, setting.epochs, clipping)?;
    Ok(TrainingPlan::calibrated(options, Epsilon::new(epsilon)?, Delta::new(DELTA)?)?)
}

/// The accuracy of one run, and its ε.
fn one(
    fit: &Encoded,
    validate: &Encoded,
    plan: &TrainingPlan,
    setting: Setting,
    seed: u64,
    threads: NonZero<usize>,
) -> Result<(f64, f64), Box<dyn Error>> {
    let network = network(setting.views)?;
    let options = TrainingOptions {
        rule: UpdateRule::Momentum { momentum: 0.9 },
        learning_rate: setting.learning_rate,
        schedule: setting.schedule,
        averaging: Averaging::Tail { fraction: setting.tail },
        start: Some(network.initial(seed).iter().map(|w| setting.gain * w).collect()),
        ..TrainingOptions::default()
    };
    let (parameters, spent) = train(&network, fit, plan, options, seed, threads)?;
    Ok((accuracy(&network, &parameters, validate)?, spent))
}

/// The network, with 26 010 weights.
fn network(views: usize) -> Result<Network, Box<dyn Error>> {
    let (conv, tanh, max) = (Layer::conv2d, Layer::tanh, Layer::max_pool);
    let layers = [
        conv(16, 8, 2, 3),
        tanh(),
        max(2, 1),
        conv(32, 4, 2, 0),
        tanh(),
        max(2, 1),
        Layer::Flatten,
        Layer::linear(32),
        tanh(),
        Layer::linear(10),
    ];
    let image = Shape::Image { channels: 1, height: 28, width: 28 };
    Ok(Network::with_views(image, &layers, NetworkLoss::CrossEntropy, &VIEWS[..views])?)
}
