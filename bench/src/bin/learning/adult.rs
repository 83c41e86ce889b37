//! Logistic regression on the census income data, Adult: is the income `>50K`?
//!
//! # Protocol
//! The split is that of [`census`](crate::census), and δ = 1/n². [`choose`] tries every setting of
//! the grid below on the *training part alone*, by cross-validation in four folds, and prints them.
//! [`run`] trains with [`SETTINGS`], which it chose, on the whole training part and uses the test
//! part once. Settings are the same for every seed. ε does not include the choice of settings, as
//! in the papers that this is compared with.

use std::error::Error;
use std::path::Path;

use sordino_data::Encoded;
use sordino_learn::{GradientDescent, GradientPlan, Loss};
use sordino_optim::{Averaging, Clipping, TrainingOptions, UpdateRule};
use sordino_privacy::{Count, Delta, Epsilon};

use crate::census::{Features, Row, parts};
use crate::optimum::minimiser;
use crate::study::{Summary, by_threads, head, line, models, percent};

const RUNS: u64 = 20;
const FOLDS: usize = 4;
/// How many settings of a grid are tried again, with more folds and seeds.
const FINALISTS: usize = 6;

/// One setting. Updates are Nesterov's with momentum 0.9 on full batches, and the result is the
/// mean of the last half of the iterates.
#[derive(Clone, Copy, Debug)]
struct Setting {
    features: Features,
    steps: u64,
    learning_rate: f64,
    clip_norm: f64,
}

/// The settings that [`choose`] found best, for each ε.
const SETTINGS: [(f64, Setting); 2] = [
    (1.0, Setting { features: Features::Buckets, steps: 150, learning_rate: 256.0, clip_norm: 0.1 }),
    (0.1, Setting { features: Features::Numbers, steps: 100, learning_rate: 8.0, clip_norm: 0.25 }),
];

/// ε, and the steps, learning rates and clip norms of its grid.
type Grid = (f64, [u64; 3], [f64; 2], [f64; 3]);
const GRIDS: [Grid; 2] = [
    (1.0, [50, 150, 400], [64.0, 256.0], [0.1, 0.25, 0.5]),
    (0.1, [15, 40, 100], [8.0, 32.0], [0.05, 0.1, 0.25]),
];

/// Trains with [`SETTINGS`] and prints the accuracy on the test part.
pub(crate) fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (train, test) = parts(folder)?;
    println!("{} records to train on, {} to test\n", train.len(), test.len());
    head();
    for (epsilon, setting) in SETTINGS {
        let (train, test) = (encoded(setting, &train)?, encoded(setting, &test)?);
        let (plan, delta) = setting.plan(&train, epsilon)?;
        let (models, spent) = models(&plan, &train, delta, 1..=RUNS)?;
        let accuracies: Vec<f64> = models.iter().map(|model| model.accuracy(&test)).collect();
        line("Adult", spent, delta, setting.steps, &Summary::of(&accuracies));
    }
    Ok(())
}

/// Cross-validates the grids within the training part.
pub(crate) fn choose(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (train, _) = parts(folder)?;
    println!(
        "{} records in {FOLDS} folds\n\n| features | coordinates | accuracy without privacy |",
        train.len()
    );
    println!("|---|---|---|");
    let mut folds = Vec::new();
    for features in Features::ALL {
        let all = (0..FOLDS).map(|fold| Fold::new(features, &train, fold));
        let all = all.collect::<Result<Vec<Fold>, _>>()?;
        let ceiling = by_threads(&all, |fold| fold.without_privacy())?;
        let width = all[0].fit.width();
        println!("| {} | {width} | {} |", features.name(), percent(Summary::of(&ceiling).mean));
        folds.push((features, all));
    }
    for grid in GRIDS {
        println!(
            "\n| ε | features | steps | learning rate | clip norm | folds × seeds | accuracy, mean ± sd |"
        );
        println!("|---|---|---|---|---|---|---|");
        choose_from(grid, &folds)?;
    }
    Ok(())
}

fn choose_from(
    (epsilon, steps, rates, norms): Grid,
    folds: &[(Features, Vec<Fold>)],
) -> Result<(), Box<dyn Error>> {
    let mut settings = Vec::new();
    for (features, folds) in folds {
        for steps in steps {
            for learning_rate in rates {
                for clip_norm in norms {
                    let setting = Setting { features: *features, steps, learning_rate, clip_norm };
                    settings.push((setting, folds));
                }
            }
        }
    }
    // All settings on half of the folds with one seed, then the best on all folds with three seeds.
    let score = |folds: usize, seeds: u64| {
        move |(setting, all): &(Setting, &Vec<Fold>)| {
            let mut figures = Vec::new();
            for fold in &all[..folds] {
                figures.extend(fold.accuracies(*setting, epsilon, seeds)?);
            }
            let summary = Summary::of(&figures);
            let Setting { features, steps, learning_rate, clip_norm } = setting;
            println!(
                "| {epsilon} | {} | {steps} | {learning_rate} | {clip_norm} | {folds} × {seeds} | {} ± {} |",
                features.name(),
                percent(summary.mean),
                percent(summary.deviation)
            );
            Ok(summary.mean)
        }
    };
    let first = by_threads(&settings, score(FOLDS / 2, 1))?;
    let mut ranked: Vec<_> = first.into_iter().zip(settings).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let finalists: Vec<_> = ranked.into_iter().take(FINALISTS).map(|(_, setting)| setting).collect();
    let second = by_threads(&finalists, score(FOLDS, 3))?;
    let best = second.iter().zip(&finalists).max_by(|a, b| a.0.total_cmp(b.0));
    if let Some((mean, (setting, _))) = best {
        println!("\nchosen at ε = {epsilon}: {setting:?}, {}", percent(*mean));
    }
    Ok(())
}

/// Records to fit on and records to validate on, all from the training part.
struct Fold {
    fit: Encoded,
    validate: Encoded,
}

impl Fold {
    fn new(features: Features, train: &[Row], fold: usize) -> Result<Self, Box<dyn Error>> {
        let part = |is_in: bool| -> Vec<&Row> {
            let rows = train.iter().enumerate().filter(|(i, _)| (i % FOLDS == fold) == is_in);
            rows.map(|(_, row)| row).collect()
        };
        Ok(Self { fit: features.encoded(&part(false))?, validate: features.encoded(&part(true))? })
    }

    fn accuracies(&self, setting: Setting, epsilon: f64, seeds: u64) -> Result<Vec<f64>, Box<dyn Error>> {
        let (plan, delta) = setting.plan(&self.fit, epsilon)?;
        let (models, _) = models(&plan, &self.fit, delta, 1..=seeds)?;
        Ok(models.iter().map(|model| model.accuracy(&self.validate)).collect())
    }

    /// The accuracy of the minimiser of the loss, with a slight penalty.
    fn without_privacy(&self) -> Result<f64, Box<dyn Error>> {
        let weights = minimiser(Loss::Logistic, &self.fit, 1e-6)?;
        let right = |slot: usize| {
            let row = self.validate.row(slot)?;
            let score: f64 = row.iter().zip(&weights).map(|(x, w)| f64::from(*x) * w).sum();
            Some(f64::from(u8::from((score > 0.0) == (self.validate.target(slot) > 0.5))))
        };
        let all: Vec<f64> = (0..self.validate.slots()).filter_map(right).collect();
        Ok(Summary::of(&all).mean)
    }
}

impl Setting {
    fn plan(self, train: &Encoded, epsilon: f64) -> Result<(GradientPlan, Delta), Box<dyn Error>> {
        let n = Count::new(train.slots() as u64)?;
        let delta = Delta::new((n.get() as f64).powi(-2))?;
        let training = TrainingOptions {
            rule: UpdateRule::Nesterov { momentum: 0.9 },
            learning_rate: self.learning_rate,
            averaging: Averaging::Tail { fraction: 0.5 },
            ..TrainingOptions::default()
        };
        let learner = GradientDescent::full_batch(Loss::Logistic)
            .steps(Count::new(self.steps)?)
            .training(training)
            .clipping(Clipping::Flat { norm: self.clip_norm });
        Ok((learner.plan(train.encoding(), n, Epsilon::new(epsilon)?, delta)?, delta))
    }
}

fn encoded(setting: Setting, rows: &[Row]) -> Result<Encoded, Box<dyn Error>> {
    setting.features.encoded(&rows.iter().collect::<Vec<_>>())
}
