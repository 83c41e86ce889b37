//! Estimates time, memory and loss of accuracy of a run without looking at the data,
//! by rehearsals on synthetic records.
//!
//! # Definition
//! The synthetic table has the columns and, up to a limit, the number of records of the real one.
//! The learner runs on it with its noise and with almost none, and both models are scored on
//! further synthetic records; the difference estimates the loss. The time of learners with
//! batches follows from the [pace](super::pace) of this machine. The time of other learners is
//! that of the rehearsal, scaled by the number of records. If the rehearsal would take more than
//! some seconds, no score is estimated.
//!
//! # Pitfalls
//! It is a guess about tables in general: real tables of some dozen columns vary in
//! about four directions, but classes may be easier or harder to tell apart. The guide
//! states its error on three data sets.

use std::num::NonZero;
use std::time::Duration;

use serde::Serialize;
use sordino_nn::BatchMemory;
use sordino_threads::available;

use super::learner::Learner;
use super::pace::Pace;
use super::plan::RunPlan;
use super::rehearsal::Rehearsal;
use super::subject::Subject;
use crate::error::RunError;
use crate::settings::{LearnerSettings, Settings};

/// The numbers that a rehearsal touches, over all records and passes.
const REHEARSAL_WORK: f64 = 1e8;
/// The fewest records of a rehearsal, unless the real table has fewer.
const MIN_RECORDS: f64 = 500.0;
/// The assumed passes of learners without steps.
const ASSUMED_PASSES: f64 = 100.0;
/// The work of a step per weight, for its noise, in numbers touched.
const WORK_PER_WEIGHT: f64 = 50.0;
/// The fixed work of a step, in numbers touched.
const WORK_PER_STEP: f64 = 20_000.0;
/// The most numbers that the rehearsal of a linear learner touches; beyond it there is none.
const MAX_WORK: f64 = 2e9;
/// The longest rehearsal of a network, whose pace is known; beyond it there is none.
const MAX_TIME: Duration = Duration::from_secs(3);
/// The time after which a rehearsal is stopped.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Rehearsals with noise; the estimate is their mean.
const REPEATS: u64 = 3;

/// Estimated memory, time and scores of a run.
#[derive(Debug)]
pub struct Forecast {
    /// Memory of data and batches.
    pub memory: MemoryNeed,
    /// Time of the fit on this machine, without reading the file.
    pub time: Duration,
    /// Scores on synthetic records; `None` if a rehearsal would take too long.
    pub scores: Option<Scores>,
}

/// Mean scores on synthetic records.
#[derive(Clone, Copy, Debug)]
pub struct Scores {
    /// With the noise of the run.
    pub with_noise: f64,
    /// With almost no noise.
    pub without_noise: f64,
}

impl Forecast {
    pub(super) fn of(plan: &RunPlan) -> Result<Self, RunError> {
        let RunPlan { subject, learner, settings, asked, .. } = plan;
        let memory = MemoryNeed::of(subject, learner, settings)?;
        let pace = learner.batch().map(|_| Pace::measured(subject, settings)).transpose()?;
        let paced = pace.and_then(|pace| pace.of_learner(learner));
        // Default penalty and learning rate suit the noise, so a rehearsal
        // without noise chooses them anew.
        let LearnerSettings { l2, learning_rate, .. } = asked.learner;
        let wishes = LearnerSettings { l2, learning_rate, ..settings.learner.clone() };
        let n = records(subject, learner, REHEARSAL_WORK);
        let rehearsal = Rehearsal::new(subject, learner, &wishes, settings, n)?;
        let is_short = is_short(subject, learner, pace, n);
        let (scores, rehearsed) = if is_short { rehearsed(&rehearsal)? } else { (None, None) };
        let time = paced.or(rehearsed.map(|time| rehearsal.grown(time))).unwrap_or(TIME_LIMIT);
        Ok(Self { memory, time, scores })
    }
}

/// The number of records for a rehearsal that touches about `work` numbers.
pub(super) fn records(subject: &Subject, learner: &Learner, work: f64) -> usize {
    let most = work / learner.weights() as f64 / learner.passes().unwrap_or(ASSUMED_PASSES);
    (subject.n.get() as f64).min(most.max(MIN_RECORDS)) as usize
}

/// Whether a rehearsal on `n` records takes some seconds at most.
pub(super) fn is_short(subject: &Subject, learner: &Learner, pace: Option<Pace>, n: usize) -> bool {
    let part = n as f64 / subject.n.get() as f64;
    if let (Some(_), Some(pace)) = (learner.network(), pace) {
        let (steps, batch) = (learner.steps().unwrap_or(1) as f64, learner.batch().unwrap_or(1.0) * part);
        return pace.of(steps, batch, true) < MAX_TIME;
    }
    let (steps, weights) = (learner.inner_steps() as f64, learner.weights() as f64);
    // A step of coordinate descent reads one number of each record.
    let (records, noisy) = if let Learner::Coordinate(_) = learner {
        (steps * n as f64, 1.0)
    } else {
        (learner.passes().unwrap_or(ASSUMED_PASSES) * n as f64 * weights, weights)
    };
    records + steps * (WORK_PER_WEIGHT * noisy + WORK_PER_STEP) < MAX_WORK
}

/// Scores and the fastest time; `None` if a rehearsal took too long.
fn rehearsed(rehearsal: &Rehearsal<'_>) -> Result<(Option<Scores>, Option<Duration>), RunError> {
    let (train, test) = (rehearsal.table.train()?, rehearsal.table.test()?);
    let Some((without, _)) = rehearsal.run(&rehearsal.without_noise()?, &train, 0, TIME_LIMIT)? else {
        return Ok((None, None));
    };
    let (learner, mut with_noise, mut fastest) = (rehearsal.with_noise()?, 0.0, Duration::MAX);
    for seed in 1..=REPEATS {
        let Some((model, time)) = rehearsal.run(&learner, &train, seed, TIME_LIMIT)? else {
            return Ok((None, None));
        };
        with_noise += model.score(&test)? / REPEATS as f64;
        fastest = fastest.min(time);
    }
    let scores = Scores { with_noise, without_noise: without.score(&test)? };
    Ok((Some(scores), Some(fastest)))
}

/// Memory of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryNeed {
    /// Bytes of the encoded records.
    bytes: u64,
    /// Bytes of a network's batches, and records per micro-batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    micro_batch: Option<usize>,
}

impl MemoryNeed {
    pub(super) fn of(subject: &Subject, learner: &Learner, settings: &Settings) -> Result<Self, RunError> {
        let threads: NonZero<usize> = settings.threads.unwrap_or_else(available);
        let batches = learner.batch_memory(threads)?;
        let bytes = subject.data_bytes();
        Ok(match batches {
            Some(BatchMemory { micro_batch, bytes: batch_bytes }) => {
                Self { bytes, batch_bytes: Some(batch_bytes), micro_batch: Some(micro_batch) }
            }
            None => Self { bytes, batch_bytes: None, micro_batch: None },
        })
    }

    /// The estimate in words.
    pub fn text(&self) -> String {
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
