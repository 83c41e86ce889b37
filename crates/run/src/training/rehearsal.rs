//! Runs a learner on a [`SyntheticTable`], to measure time and score without looking at the data.
//!
//! A synthetic table with fewer records than the real one would have too much noise in the mean. So
//! the noise of a step is scaled down by the ratio of the two numbers of records; for learners
//! without steps ε is scaled up. A rehearsal that takes too long is stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sordino_data::Encoded;
use sordino_optim::OptimError;
use sordino_privacy::{Count, Epsilon, NoiseMultiplier, Unit, danger};

use super::learner::{Fit, Learner};
use super::subject::{Subject, Task};
use super::synthetic::SyntheticTable;
use crate::error::RunError;
use crate::model::Model;
use crate::settings::{LearnerSettings, Settings};

/// A negligible fraction of the run's noise, for learners with steps.
const NEGLIGIBLE_NOISE: f64 = 0.01;
/// An ε with negligible noise, for learners without steps.
const LARGE_EPSILON: f64 = 1e4;

pub(super) struct Rehearsal<'a> {
    subject: &'a Subject,
    wishes: &'a LearnerSettings,
    threads: Option<std::num::NonZero<usize>>,
    /// The noise multiplier of the real run, if it has steps.
    noise: Option<f64>,
    pub(super) table: SyntheticTable,
}

impl<'a> Rehearsal<'a> {
    /// A rehearsal on `n` records of a learner that was planned by `wishes`.
    pub(super) fn new(
        subject: &'a Subject,
        learner: &Learner,
        wishes: &'a LearnerSettings,
        settings: &Settings,
        n: usize,
    ) -> Result<Self, RunError> {
        let table = SyntheticTable::like(subject, n)?;
        Ok(Self { subject, wishes, threads: settings.threads, noise: learner.noise_multiplier(), table })
    }

    /// The learner with noise that weighs as much as in the real run.
    pub(super) fn with_noise(&self) -> Result<Learner, RunError> {
        let part = self.part();
        self.learner(self.noise.map(|noise| noise * part), self.subject.epsilon.get() / part)
    }

    /// The learner with almost no noise.
    pub(super) fn without_noise(&self) -> Result<Learner, RunError> {
        self.learner(self.noise.map(|noise| noise * self.part() * NEGLIGIBLE_NOISE), LARGE_EPSILON)
    }

    /// Scales a time of the rehearsal to the number of records of the real table.
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

    /// A model and its time; `None` if it took longer than `limit`.
    /// Learners without steps are not stopped.
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
