//! Measures how long steps take on this machine.
//!
//! # The model
//! T steps on batches of B records take `T (B a + b)`: a is the time of one record's clipped
//! gradient, b that of the noise, the update and all else that a step does for each weight. Both
//! are measured on synthetic records, with full batches of two sizes. Records of random batches
//! are scattered in memory. A linear model does little more than read a record, so for sampled
//! batches its a is multiplied by 1.5.

use std::time::{Duration, Instant};

use sordino_privacy::Count;

use super::learner::Learner;
use super::rehearsal::Rehearsal;
use super::subject::Subject;
use crate::error::RunError;
use crate::settings::{LearnerSettings, Method, Settings};

/// The batch size of the first measurement.
const FIRST_BATCH: usize = 16;
/// The longest step on the larger batch, in seconds.
const MAX_STEP_SECONDS: f64 = 0.1;
/// The largest batch of a measurement.
const MAX_BATCH: f64 = 65_536.0;
/// The most numbers in the larger batch of a linear model.
const MAX_NUMBERS: f64 = 262_144.0;
/// The ratio of the two batch sizes.
const BATCH_RATIO: usize = 8;
/// Steps per measurement.
const STEPS: u64 = 4;
/// Measurements, of which the fastest counts.
const REPEATS: u64 = 3;
/// The time of a scattered record relative to one in sequence.
const SCATTER_FACTOR: f64 = 1.5;

/// The speed of gradient steps, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Time per record of a batch.
    pub record: f64,
    /// Time per step, beside its records.
    pub step: f64,
    is_linear: bool,
}

impl Pace {
    /// Measures gradient descent on the requested model, on as many threads as the settings say.
    pub(super) fn measured(subject: &Subject, asked: &Settings) -> Result<Self, RunError> {
        let LearnerSettings { model, hidden, image, memory, .. } = asked.learner.clone();
        let is_linear = model.is_none();
        let wishes = LearnerSettings {
            model,
            hidden,
            image,
            memory,
            loss: asked.learner.loss.filter(|_| is_linear),
            method: Some(Method::GradientDescent),
            steps: Count::new(STEPS).ok(),
            ..LearnerSettings::default()
        };
        let learner = subject.task().learner(&wishes)?;
        let step = |n: usize, repeats| -> Result<(f64, f64), RunError> {
            let rehearsal = Rehearsal::new(subject, &learner, &wishes, asked, n)?;
            Ok((n as f64, seconds_per_step(&rehearsal, repeats)?))
        };
        let first = step(FIRST_BATCH, 1)?;
        let fitting = FIRST_BATCH as f64 * MAX_STEP_SECONDS / first.1.max(1e-9);
        let most =
            if is_linear { (MAX_NUMBERS / learner.weights() as f64).min(MAX_BATCH) } else { MAX_BATCH };
        let large = fitting.min(most).clamp(2.0 * BATCH_RATIO as f64, MAX_BATCH) as usize;
        let (long, short) = (step(large, REPEATS)?, step(large / BATCH_RATIO, REPEATS)?);
        Ok(Self::between(long, short, is_linear))
    }

    /// Solves for both times, from the sizes of two batches and the seconds of a step on each.
    fn between(large: (f64, f64), small: (f64, f64), is_linear: bool) -> Self {
        let record = ((large.1 - small.1) / (large.0 - small.0)).max(0.0);
        Self { record, step: (small.1 - small.0 * record).max(0.0), is_linear }
    }

    /// The time of a whole run, for learners with batches.
    pub(super) fn of_learner(self, learner: &Learner) -> Option<Duration> {
        let (steps, batch) = (learner.steps()? as f64, learner.batch()?);
        Some(self.of(steps, batch, learner.method() == Method::Sgd))
    }

    /// The time of `steps` steps on batches of `batch` records.
    pub(super) fn of(self, steps: f64, batch: f64, is_sampled: bool) -> Duration {
        let record = if is_sampled && self.is_linear { SCATTER_FACTOR * self.record } else { self.record };
        Duration::from_secs_f64((steps * (batch * record + self.step)).min(1e15))
    }
}

/// Seconds per step, best of `repeats`.
fn seconds_per_step(rehearsal: &Rehearsal<'_>, repeats: u64) -> Result<f64, RunError> {
    let data = rehearsal.table.train()?;
    let learner = rehearsal.with_noise()?;
    let mut fastest = f64::INFINITY;
    for seed in 0..repeats {
        let start = Instant::now();
        rehearsal.run(&learner, &data, seed, Duration::MAX)?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    Ok(fastest / STEPS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_batches_give_back_both_times() {
        let (a, b) = (2e-4, 3e-3);
        let step = |batch: f64| (batch, batch * a + b);
        let pace = Pace::between(step(512.0), step(64.0), false);
        assert!((pace.record / a - 1.0).abs() < 1e-9 && (pace.step / b - 1.0).abs() < 1e-9, "{pace:?}");
        assert!((pace.of(1000.0, 256.0, true).as_secs_f64() / 54.2 - 1.0).abs() < 1e-9);
        // Times are not negative even if the smaller batch took longer.
        let pace = Pace::between((512.0, 1.0), (64.0, 2.0), true);
        assert!(pace.record >= 0.0 && pace.step >= 0.0);
    }
}
