//! A learner on [`Invented`] records: how long it takes and how well it does, without a look at the data.
//!
//! With fewer records than the real table has, the noise in a mean would be too large by their ratio; the noise of a step
//! is lessened by it, or ε raised. A rehearsal that takes too long is given up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sordino_data::Encoded;
use sordino_optim::OptimError;
use sordino_privacy::{Count, Epsilon, NoiseMultiplier, Unit, danger};

use super::invented::Invented;
use super::learner::{Fit, Learner};
use super::subject::{Subject, Task};
use crate::error::RunError;
use crate::model::Model;
use crate::settings::{LearnerSettings, Settings};

/// So little noise, as a part of what there is, that it plays no part; for learners that are done at once, so large an ε.
const NO_NOISE: f64 = 0.01;
const NO_LIMIT: f64 = 1e4;

pub(super) struct Rehearsal<'a> {
    subject: &'a Subject,
    wishes: &'a LearnerSettings,
    threads: Option<std::num::NonZero<usize>>,
    /// Of a step of the real run, if it has steps.
    noise: Option<f64>,
    pub(super) table: Invented,
}

impl<'a> Rehearsal<'a> {
    /// With `n` records, of a learner that was planned by `wishes`.
    pub(super) fn new(
        subject: &'a Subject,
        learner: &Learner,
        wishes: &'a LearnerSettings,
        settings: &Settings,
        n: usize,
    ) -> Result<Self, RunError> {
        let table = Invented::like(subject, n)?;
        Ok(Self { subject, wishes, threads: settings.threads, noise: learner.noise_multiplier(), table })
    }

    /// The learner here, whose noise does as much as that of the real run.
    pub(super) fn with_noise(&self) -> Result<Learner, RunError> {
        let part = self.part();
        self.learner(self.noise.map(|noise| noise * part), self.subject.epsilon.get() / part)
    }

    /// The learner here, with next to no noise.
    pub(super) fn without_noise(&self) -> Result<Learner, RunError> {
        self.learner(self.noise.map(|noise| noise * self.part() * NO_NOISE), NO_LIMIT)
    }

    /// A time of a run here as one of the real table, where it grows with the number of records.
    pub(super) fn grown(&self, time: Duration) -> Duration {
        time.mul_f64(self.part().recip())
    }

    fn part(&self) -> f64 {
        self.table.n as f64 / self.subject.n.get() as f64
    }

    fn learner(&self, noise: Option<f64>, epsilon: f64) -> Result<Learner, RunError> {
        let task = Task {
            encoding: &self.table.encoding,
            n: Count::new(self.table.n as u64)?,
            epsilon: Epsilon::new(epsilon)?,
            noise: noise.map(NoiseMultiplier::new).transpose()?,
            ..self.subject.task()
        };
        task.learner(self.wishes)
    }

    /// A model, and how long it took; none if it was not done within `limit`. What is done at once is not given up.
    pub(super) fn run(
        &self,
        learner: &Learner,
        data: &Encoded,
        seed: u64,
        limit: Duration,
    ) -> Result<Option<(Model, Duration)>, RunError> {
        let permit = danger::unmetered(learner.claim(), Unit::Record, self.subject.delta)?;
        let (start, stop) = (Instant::now(), AtomicBool::new(false));
        let fit = Fit {
            threads: self.threads,
            seed: Some(seed),
            checkpoints: None,
            witness: None,
            from: None,
            stop: &stop,
            watch: &mut |_| {
                if start.elapsed() > limit {
                    stop.store(true, Ordering::Relaxed);
                }
            },
        };
        match learner.fit(data, permit, fit) {
            Ok(release) => Ok(Some((release.into_parts().0, start.elapsed()))),
            Err(RunError::Optim(OptimError::Cancelled { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
