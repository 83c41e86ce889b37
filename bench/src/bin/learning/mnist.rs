//! A softmax on the pixels of MNIST.
//!
//! # Protocol
//! 60 000 images to train on, 10 000 to test, as published; δ = 1e-5. Pixels are scaled to [0, 1]
//! by their declared bounds and rows to a norm of at most 1; gradients have a norm of at most
//! sqrt(2). [`choose`] tries the grid below with a sixth of the *training* images held out. [`run`]
//! trains with [`SETTING`], which it chose, on all of them and uses the test images once. ε does
//! not include the choice of the setting.

use std::error::Error;
use std::path::Path;

use sordino_data::{Encoded, EncodingOptions};
use sordino_learn::{GradientDescent, GradientPlan, Loss};
use sordino_optim::{Averaging, Clipping, TrainingOptions, UpdateRule};
use sordino_privacy::{Count, Delta, Epsilon};

use crate::images;
use crate::study::{Summary, head, line, models, percent};

const RUNS: u64 = 5;
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-5;

/// Steps, learning rate and clip norm. Updates are Nesterov's with momentum 0.9 on full batches,
/// and the result is the mean of the last half of the iterates.
type Setting = (u64, f64, f64);
/// The setting that [`choose`] found best.
const SETTING: Setting = (80, 45.0, 1.0);
const STEPS: [u64; 2] = [40, 80];
const LEARNING_RATES: [f64; 2] = [15.0, 45.0];
const CLIP_NORMS: [f64; 2] = [0.5, 1.0];

/// Trains with [`SETTING`] and prints the accuracy on the test images.
pub(crate) fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let train = images::all(folder, images::TRAIN, options())?;
    let test = images::all(folder, images::TEST, options())?;
    println!("{} images to train on, {} to test\n", train.slots(), test.slots());
    head();
    let (plan, delta) = plan(&train, SETTING)?;
    let (models, spent) = models(&plan, &train, delta, 1..=RUNS)?;
    let accuracies: Vec<f64> = models.iter().map(|model| model.accuracy(&test)).collect();
    line("MNIST pixels, softmax", spent, delta, SETTING.0, &Summary::of(&accuracies));
    Ok(())
}

/// Tries the grid on training images alone.
pub(crate) fn choose(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (fit, validate) = images::held_out(folder, options())?;
    println!(
        "{} images to fit on, {} to validate on, all of the training part\n",
        fit.slots(),
        validate.slots()
    );
    println!("| steps | learning rate | clip norm | accuracy |\n|---|---|---|---|");
    let mut best = (0.0, SETTING);
    for steps in STEPS {
        for learning_rate in LEARNING_RATES {
            for clip_norm in CLIP_NORMS {
                let setting = (steps, learning_rate, clip_norm);
                let (plan, delta) = plan(&fit, setting)?;
                let accuracy = models(&plan, &fit, delta, [1])?.0[0].accuracy(&validate);
                println!("| {steps} | {learning_rate} | {clip_norm} | {} |", percent(accuracy));
                if accuracy > best.0 {
                    best = (accuracy, setting);
                }
            }
        }
    }
    println!("\nchosen: {:?}, {}", best.1, percent(best.0));
    Ok(())
}

fn plan(train: &Encoded, setting: Setting) -> Result<(GradientPlan, Delta), Box<dyn Error>> {
    let (steps, learning_rate, norm) = setting;
    let training = TrainingOptions {
        rule: UpdateRule::Nesterov { momentum: 0.9 },
        learning_rate,
        averaging: Averaging::Tail { fraction: 0.5 },
        ..TrainingOptions::default()
    };
    let learner = GradientDescent::full_batch(Loss::Softmax { classes: 10 })
        .steps(Count::new(steps)?)
        .clipping(Clipping::Flat { norm })
        .training(training);
    let (n, delta) = (Count::new(train.slots() as u64)?, Delta::new(DELTA)?);
    Ok((learner.plan(train.encoding(), n, Epsilon::new(EPSILON)?, delta)?, delta))
}

fn options() -> EncodingOptions {
    EncodingOptions { intercept: true, row_norm: Some(1.0), ..images::pixels() }
}
