//! How long steps of a network take on this machine.
//!
//! # The model
//! T steps on batches of B records take `T (B a + b)`: a is the time of one record's clipped gradient, b that of the noise, the update and all
//! else that a step does for each weight. Both are measured on invented records, with full batches of two sizes.

use std::time::Duration;

use sordino::prelude::*;

use crate::error::Error;
use crate::train::args::Settings;
use crate::train::cost::seconds_a_step;
use crate::train::estimate::Rehearsal;
use crate::train::learner::Learner;
use crate::train::method::Method;
use crate::train::subject::Subject;

/// Nanoseconds that a step on the larger batch may take, and records of it.
const STEP: f64 = 1e8;
const MOST: f64 = 1024.0;
/// How many times smaller the other batch is.
const SMALLER: usize = 8;
/// Steps of a measurement.
const STEPS: u64 = 3;

/// Seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// Of one record in a batch.
    pub(crate) record: f64,
    /// Of a step, beside its records.
    pub(crate) step: f64,
}

impl Pace {
    /// Of the network that is asked for, on as many threads as the settings say.
    pub(crate) fn measured(subject: &Subject, asked: &Settings) -> Result<Self, Error> {
        let settings = Settings {
            model: asked.model.clone(),
            hidden: asked.hidden.clone(),
            image: asked.image,
            memory: asked.memory,
            threads: asked.threads,
            method: Some(Method::GradientDescent),
            steps: Count::new(STEPS).ok(),
            ..Settings::default()
        };
        let learner = subject.task(&settings).learner()?;
        let large = (STEP / learner.work()).clamp(2.0 * SMALLER as f64, MOST) as usize;
        let small = large / SMALLER;
        let step = |n| seconds_a_step(&Rehearsal::of_size(subject, &*learner, &settings, n)?, STEPS);
        Ok(Self::between((large as f64, step(large)?), (small as f64, step(small)?)))
    }

    /// From two batches, each with its number of records and the time of a step.
    fn between(large: (f64, f64), small: (f64, f64)) -> Self {
        let record = ((large.1 - small.1) / (large.0 - small.0)).max(0.0);
        Self { record, step: (small.1 - small.0 * record).max(0.0) }
    }

    /// Of a whole run of a learner that goes step by step.
    pub(crate) fn of_learner(self, learner: &dyn Learner, n: Count) -> Duration {
        let (steps, passes) = (learner.steps().unwrap_or(1) as f64, learner.passes().unwrap_or(1.0));
        self.of(steps, passes * n.get() as f64 / steps)
    }

    /// Of so many steps on batches of so many records.
    pub(crate) fn of(self, steps: f64, batch: f64) -> Duration {
        Duration::from_secs_f64((steps * (batch * self.record + self.step)).min(1e15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_batches_give_back_both_times() {
        let (a, b) = (2e-4, 3e-3);
        let step = |batch: f64| (batch, batch * a + b);
        let pace = Pace::between(step(512.0), step(64.0));
        assert!((pace.record / a - 1.0).abs() < 1e-9 && (pace.step / b - 1.0).abs() < 1e-9, "{pace:?}");
        assert!((pace.of(1000.0, 256.0).as_secs_f64() / 54.2 - 1.0).abs() < 1e-9);
        // A clock that says nonsense gives no negative times.
        let pace = Pace::between((512.0, 1.0), (64.0, 2.0));
        assert!(pace.record >= 0.0 && pace.step >= 0.0);
    }
}
