//! How long a run takes, from public numbers and the speed of this machine.
//!
//! # The model
//! T steps on batches of q n records, for d weights, take
//! ```text
//! T (q n d a + d b)                                                                              (1)
//! ```
//! a is the time of one number of one record, b that of one noisy number. Both are measured within some milliseconds on invented records:
//! full batches of two sizes give two equations. Records of random batches lie apart in memory, which is counted as half as much again.

use std::time::{Duration, Instant};

use sordino::prelude::*;

use super::args::Settings;
use super::estimate::Rehearsal;
use super::learner::Learner;
use super::method::Method;
use super::subject::Subject;
use crate::error::Error;

/// Numbers in the larger of the two batches, and how many times smaller the other is.
const NUMBERS: usize = 1 << 18;
const SMALLER: usize = 16;
/// Steps of a measurement, and measurements of which the fastest counts.
const STEPS: u64 = 8;
const REPEATS: u64 = 3;
/// What scattered records cost beside those in a row.
const SCATTERED: f64 = 1.5;

/// Seconds for one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speed {
    /// a of (1).
    pub(crate) of_data: f64,
    /// b of (1).
    pub(crate) of_noise: f64,
}

impl Speed {
    /// On as many threads as the settings say.
    pub(crate) fn measured(subject: &Subject, asked: &Settings) -> Result<Self, Error> {
        let settings = Settings {
            method: Some(Method::GradientDescent),
            loss: asked.loss,
            steps: Count::new(STEPS).ok(),
            threads: asked.threads,
            ..Settings::default()
        };
        let learner = Method::GradientDescent.plan(&subject.task(&settings))?;
        let weights = learner.weights();
        let large = (NUMBERS / weights).clamp(SMALLER, 1 << 16);
        let small = large / SMALLER;
        let step = |n| seconds_a_step(&Rehearsal::of_size(subject, &*learner, &settings, n)?, STEPS);
        let (long, short) = (step(large)?, step(small)?);
        Ok(Self::between((large as f64, long), (small as f64, short), weights as f64))
    }

    /// From two batches, each with its number of records and the time of a step.
    fn between(large: (f64, f64), small: (f64, f64), weights: f64) -> Self {
        let of_data = ((large.1 - small.1) / (large.0 - small.0) / weights).max(0.0);
        let of_noise = (small.1 / weights - small.0 * of_data).max(0.0);
        Self { of_data, of_noise }
    }

    /// (1), for a learner that goes step by step.
    pub(crate) fn of(self, learner: &dyn Learner, n: Count) -> Option<Duration> {
        let (steps, passes) = (learner.steps()? as f64, learner.passes()?);
        let scattered = if passes < steps { SCATTERED } else { 1.0 };
        let numbers = passes * n.get() as f64 * scattered;
        let seconds =
            learner.work() * numbers * self.of_data + learner.weights() as f64 * steps * self.of_noise;
        Some(Duration::from_secs_f64(seconds.min(1e15)))
    }
}

/// Of a rehearsal that has so many: the fastest of some.
pub(crate) fn seconds_a_step(rehearsal: &Rehearsal<'_>, steps: u64) -> Result<f64, Error> {
    let data = rehearsal.table.train()?;
    let learner = rehearsal.with_noise()?;
    let mut fastest = f64::INFINITY;
    for seed in 0..REPEATS {
        let start = Instant::now();
        rehearsal.run(&*learner, &data, seed)?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    Ok(fastest / steps as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_batches_give_back_both_speeds() {
        let (a, b, d) = (3e-10, 2e-8, 31.0);
        let step = |n: f64| (n, n * d * a + d * b);
        let speed = Speed::between(step(1600.0), step(100.0), d);
        assert!(
            (speed.of_data / a - 1.0).abs() < 1e-9 && (speed.of_noise / b - 1.0).abs() < 1e-9,
            "{speed:?}"
        );
        // A clock that says nonsense gives no negative times.
        let speed = Speed::between((1600.0, 1.0), (100.0, 2.0), d);
        assert!(speed.of_data >= 0.0 && speed.of_noise >= 0.0);
    }
}
