//! What all studies share: several runs of one plan, their mean, and work on two threads.
//!
//! Runs draw their noise from seeds, so that a table can be reproduced. The guarantee of such runs
//! is void, and the ε of the table is what the same plan costs with real entropy.

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sordino_data::Encoded;
use sordino_learn::{LearnError, LearningPlan, LinearModel};
use sordino_noise::danger::seeded;
use sordino_privacy::{Delta, Unit, danger};

/// The mean, the standard deviation and the least of some figures.
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

/// Fits one plan with each seed. Returns the models and the certified ε at `delta`.
pub(crate) fn models<P: LearningPlan<Model = LinearModel, Error = LearnError> + ?Sized>(
    plan: &P,
    data: &Encoded,
    delta: Delta,
    seeds: impl IntoIterator<Item = u64>,
) -> Result<(Vec<LinearModel>, f64), Box<dyn Error>> {
    let mut models = Vec::new();
    let mut epsilon = 0.0;
    for seed in seeds {
        let permit = danger::unmetered(plan.claim(), Unit::Record, delta)?;
        let (model, guarantee) = plan.fit_with(data, permit, &mut seeded(seed))?.into_parts();
        epsilon = guarantee.epsilon.upper;
        models.push(model);
    }
    Ok((models, epsilon))
}

/// Does `work` on every item, on two threads. Returns the results in the order of the items.
pub(crate) fn by_threads<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Box<dyn Error>> + Sync,
) -> Result<Vec<R>, Box<dyn Error>> {
    const THREADS: usize = 2;
    let next = AtomicUsize::new(0);
    // Errors cross threads as text, since `Box<dyn Error>` is not `Send`.
    let done: Mutex<Vec<(usize, Result<R, String>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((i, item)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    items.get(i).map(|item| (i, item))
                } {
                    let result = work(item).map_err(|error| error.to_string());
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result.map_err(Into::into)).collect()
}

/// Prints the head of a table of accuracies.
pub(crate) fn head() {
    println!("| data | ε | δ | steps | accuracy, mean ± sd | least |\n|---|---|---|---|---|---|");
}

/// Prints a line of a table of accuracies.
pub(crate) fn line(name: &str, epsilon: f64, delta: Delta, steps: u64, summary: &Summary) {
    let Summary { mean, deviation, least } = summary;
    let (mean, deviation, least) = (percent(*mean), percent(*deviation), percent(*least));
    println!(
        "| {name} | {epsilon:.4} | {:.2e} | {steps} | {mean} ± {deviation} % | {least} % |",
        delta.get()
    );
}

/// A fraction in percent, with two decimals.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.2}", 100.0 * part)
}
