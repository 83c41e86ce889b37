//! What a run is likely to take and to lose, without a look at the data: a rehearsal on [`Invented`] records.
//!
//! # Definition
//! The invented table has the columns and, up to a limit, the number of records of the real one. The learner is run on them with its noise
//! and with next to none, and both are scored on 2000 further records: the difference is the estimate. With fewer records than the
//! real table has, the noise in a mean would be too large by their ratio; the noise of a step is lessened by it, or ε raised. Time is that of the rehearsal, in proportion to the
//! number of records.
//!
//! A network whose rehearsal would take more than some seconds is not rehearsed: its time is that of a few [steps](super::network::Pace), and no score is estimated.
//!
//! # Pitfalls
//! It is a guess about tables in general: four directions are what real tables of some dozen columns are like, and classes may be easier or
//! harder to tell apart. The guide has its error on three data sets.

use std::num::NonZero;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::Serialize;
use sordino::prelude::*;
use sordino::privacy::danger;
use sordino_data::Encoded;

use super::args::Settings;
use super::blueprint::Blueprint;
use super::invented::Invented;
use super::learner::{Learner, Session};
use super::method::Task;
use super::network::Pace;
use super::subject::Subject;
use crate::error::Error;
use crate::model::Model;

/// Numbers that a rehearsal touches in all, of records and steps.
const MOST_WORK: f64 = 1e8;
/// The fewest records of a rehearsal, unless the real table has fewer.
const LEAST: f64 = 500.0;
/// Passes over the records of learners that are done at once.
const PASSES: f64 = 100.0;
/// Nanoseconds that a rehearsal of a network may take, by the time of one record; beyond that there is none.
const LONGEST: f64 = 3e9;
/// So little noise, as a part of what there is, that it plays no part; for learners that are done at once, so large an ε.
const NO_NOISE: f64 = 0.01;
const NO_LIMIT: f64 = 1e4;
/// Rehearsals with noise; the estimate is their mean.
const REPEATS: u64 = 3;

pub(crate) struct Estimate {
    pub(crate) memory: Memory,
    /// Of all steps, on this machine.
    pub(crate) time: Duration,
    /// None for networks whose rehearsal would take too long.
    pub(crate) scores: Option<Scores>,
}

/// With the noise of the run, and with next to none.
pub(crate) struct Scores {
    pub(crate) with_noise: f64,
    pub(crate) without_noise: f64,
}

impl Estimate {
    pub(crate) fn of(blueprint: &Blueprint) -> Result<Self, Error> {
        let Blueprint { subject, learner, settings, asked, .. } = blueprint;
        let memory = Memory::of(subject, &**learner, settings);
        if settings.model.is_some() && LEAST * learner.passes().unwrap_or(1.0) * learner.work() > LONGEST {
            let time = Pace::measured(subject, settings)?.of_learner(&**learner, subject.n);
            return Ok(Self { memory, time, scores: None });
        }
        // A penalty or a rate that was chosen to suit the noise is chosen again where there is none.
        let &Settings { l2, learning_rate, .. } = asked;
        let settings = Settings { l2, learning_rate, ..settings.clone() };
        let rehearsal = Rehearsal::new(subject, &**learner, &settings, MOST_WORK)?;
        let (train, test) = (rehearsal.table.train()?, rehearsal.table.test()?);
        let without = rehearsal.run(&*rehearsal.without_noise()?, &train, 0)?.0;
        let learner = rehearsal.with_noise()?;
        let mut with_noise = 0.0;
        let mut fastest = Duration::MAX;
        for seed in 1..=REPEATS {
            let (model, time) = rehearsal.run(&*learner, &train, seed)?;
            with_noise += model.score(&test)? / REPEATS as f64;
            fastest = fastest.min(time);
        }
        Ok(Self {
            memory,
            time: fastest.mul_f64(subject.n.get() as f64 / rehearsal.table.n as f64),
            scores: Some(Scores { with_noise, without_noise: without.score(&test)? }),
        })
    }
}

/// What a run holds in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Memory {
    /// Of the data.
    bytes: u64,
    /// Of a network's batches, in micro-batches of so many records.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    micro_batch: Option<usize>,
}

impl Memory {
    pub(crate) fn of(subject: &Subject, learner: &dyn Learner, settings: &Settings) -> Self {
        let threads = settings.threads.or_else(|| std::thread::available_parallelism().ok());
        let batches = learner.batches(threads.unwrap_or(NonZero::<usize>::MIN));
        Self {
            bytes: data_bytes(subject),
            batch_bytes: batches.map(|batches| batches.bytes),
            micro_batch: batches.map(|batches| batches.records),
        }
    }

    pub(crate) fn text(&self) -> String {
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        let data = format!("about {} MB for the data", megabytes(self.bytes));
        match (self.batch_bytes, self.micro_batch) {
            (Some(bytes), Some(records)) => {
                let records =
                    if records == 1 { "one record".to_owned() } else { format!("{records} records") };
                format!("{data}, {} MB for micro-batches of {records}", megabytes(bytes as u64))
            }
            (None, _) | (_, None) => data,
        }
    }
}

/// What encoded records take in memory: numbers of four bytes, a target, whether they are there, and what reading adds.
pub(crate) fn data_bytes(subject: &Subject) -> u64 {
    subject.n.get() * (4 * subject.encoding.width() as u64 + 4 + 1 + 8)
}

/// A learner on an invented table.
pub(crate) struct Rehearsal<'a> {
    subject: &'a Subject,
    settings: &'a Settings,
    /// Of a step of the real run, if it has steps.
    noise: Option<f64>,
    pub(crate) table: Invented,
}

impl<'a> Rehearsal<'a> {
    /// With as many records as `work` allows.
    pub(crate) fn new(
        subject: &'a Subject,
        learner: &dyn Learner,
        settings: &'a Settings,
        work: f64,
    ) -> Result<Self, Error> {
        let passes = learner.passes().unwrap_or(PASSES);
        let most = work / learner.work() / passes;
        let n = (subject.n.get() as f64).min(most.max(LEAST)) as usize;
        Self::of_size(subject, learner, settings, n)
    }

    /// With `n` records.
    pub(crate) fn of_size(
        subject: &'a Subject,
        learner: &dyn Learner,
        settings: &'a Settings,
        n: usize,
    ) -> Result<Self, Error> {
        Ok(Self { subject, settings, noise: learner.noise_multiplier(), table: Invented::like(subject, n)? })
    }

    /// The learner here, whose noise does as much as that of the real run.
    pub(crate) fn with_noise(&self) -> Result<Box<dyn Learner>, Error> {
        let part = self.table.n as f64 / self.subject.n.get() as f64;
        self.learner(self.noise.map(|noise| noise * part), self.subject.epsilon.get() / part)
    }

    fn without_noise(&self) -> Result<Box<dyn Learner>, Error> {
        let part = self.table.n as f64 / self.subject.n.get() as f64;
        self.learner(self.noise.map(|noise| noise * part * NO_NOISE), NO_LIMIT)
    }

    fn learner(&self, noise: Option<f64>, epsilon: f64) -> Result<Box<dyn Learner>, Error> {
        let &Subject { delta, neighbours, .. } = self.subject;
        let task = Task {
            encoding: &self.table.encoding,
            n: Count::new(self.table.n as u64)?,
            epsilon: Epsilon::new(epsilon)?,
            delta,
            neighbours,
            settings: self.settings,
            noise: noise.map(NoiseMultiplier::new).transpose()?,
        };
        task.learner()
    }

    /// A model, and how long it took.
    pub(crate) fn run(
        &self,
        learner: &dyn Learner,
        data: &Encoded,
        seed: u64,
    ) -> Result<(Model, Duration), Error> {
        let permit = danger::unmetered(learner.claim(), Unit::Record, self.subject.delta)?;
        let session = Session {
            threads: self.settings.threads,
            seed: Some(seed),
            checkpoints: None,
            from: None,
            stop: &AtomicBool::new(false),
            watch: &mut |_| {},
        };
        let start = Instant::now();
        let model = learner.fit(data, permit, session)?.into_parts().0;
        Ok((model, start.elapsed()))
    }
}
