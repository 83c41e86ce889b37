//! What all studies share: several runs of one plan, and their mean.
//!
//! Runs draw their noise from seeds 1, 2, ..., so that a table can be made again; the guarantee of such runs is void, and the
//! ε of the table is what the same plan costs with real entropy.

use std::error::Error;

use sordino_data::Encoded;
use sordino_learn::{LearningPlan, LinearModel};
use sordino_noise::danger::seeded;
use sordino_privacy::{Delta, Unit, danger};

/// Mean, deviation and least of some figures.
pub(crate) struct Summary {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
    pub(crate) least: f64,
}

impl Summary {
    pub(crate) fn of(figures: &[f64]) -> Self {
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        let variance = figures.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        Self {
            mean,
            deviation: variance.sqrt(),
            least: figures.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }
}

/// `runs` models of one plan, and ε at `delta` as certified.
pub(crate) fn models<P: LearningPlan<Model = LinearModel>>(
    plan: &P,
    data: &Encoded,
    delta: Delta,
    runs: u64,
) -> Result<(Vec<LinearModel>, f64), Box<dyn Error>> {
    let mut models = Vec::new();
    let mut epsilon = 0.0;
    for seed in 1..=runs {
        let permit = danger::unmetered(plan.claim(), Unit::Record, delta)?;
        let (model, guarantee) = plan.fit_with(data, permit, &mut seeded(seed))?.into_parts();
        epsilon = guarantee.epsilon.upper;
        models.push(model);
    }
    Ok((models, epsilon))
}

/// The head of a table of accuracies.
pub(crate) fn head() {
    println!("| data | ε | δ | steps | accuracy, mean ± sd | least |\n|---|---|---|---|---|---|");
}

/// A line of it.
pub(crate) fn line(name: &str, epsilon: f64, delta: Delta, steps: u64, summary: &Summary) {
    let Summary { mean, deviation, least } = summary;
    let percent = |x: f64| 100.0 * x;
    println!(
        "| {name} | {epsilon:.4} | {:.2e} | {steps} | {:.2} ± {:.2} % | {:.2} % |",
        delta.get(),
        percent(*mean),
        percent(*deviation),
        percent(*least)
    );
}
