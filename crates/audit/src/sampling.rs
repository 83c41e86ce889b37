//! Running a mechanism many times, on all cores, repeatably.
//!
//! Samples are drawn in chunks of fixed size, each from a stream of its own. No two samples share noise, and with
//! a seed the samples do not depend on how many threads there are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sordino_noise::{Bits, danger, entropy};

use crate::error::AuditError;

/// Samples in a chunk.
const CHUNK: u64 = 1 << 13;

/// How far an audit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: &'static str,
    /// Samples drawn so far in this stage.
    pub done: u64,
    /// Samples to be drawn in this stage.
    pub total: u64,
}

/// Where bits come from, how many threads draw, and who is told.
pub(crate) struct Draws<'a> {
    pub(crate) seed: Option<u64>,
    pub(crate) threads: usize,
    pub(crate) progress: &'a (dyn Fn(Progress) + Sync),
}

/// Which samples: every pass of an audit has streams of its own, for either input.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    pub(crate) stage: &'static str,
    pub(crate) number: u64,
    pub(crate) input: usize,
}

impl Draws<'_> {
    /// `work` on chunk after chunk, with its bits and its number of samples; results in the order of chunks.
    pub(crate) fn chunks<T: Send>(
        &self,
        pass: Pass,
        samples: u64,
        work: impl Fn(&mut dyn Bits, u64) -> T + Sync,
    ) -> Result<Vec<T>, AuditError> {
        let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let results = Mutex::new(Vec::new());
        let worker = || -> Result<(), AuditError> {
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                let first = chunk * CHUNK;
                if first >= samples {
                    return Ok(());
                }
                let count = CHUNK.min(samples - first);
                let result = match self.seed {
                    Some(seed) => work(&mut danger::seeded(stream(seed, pass, chunk)), count),
                    None => work(&mut entropy()?, count),
                };
                // A poisoned lock means that a mechanism panicked, and its panic is passed on below.
                results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((chunk, result));
                let done = done.fetch_add(count, Ordering::Relaxed) + count;
                (self.progress)(Progress { stage: pass.stage, done, total: samples });
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        results.sort_unstable_by_key(|(chunk, _)| *chunk);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }
}

/// For one seed, another number for every pass, input and chunk.
fn stream(seed: u64, pass: Pass, chunk: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (pass.number << 48 | (pass.input as u64) << 47 | chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: Pass = Pass { stage: "test", number: 3, input: 1 };

    fn drawn(threads: usize, seed: Option<u64>) -> Vec<u64> {
        let draws = Draws { seed, threads, progress: &|_| () };
        let work = |bits: &mut dyn Bits, count: u64| (0..count).map(|_| bits.next_u64()).collect::<Vec<_>>();
        draws.chunks(PASS, 3 * CHUNK + 5, work).unwrap().concat()
    }

    #[test]
    fn seeded_samples_do_not_depend_on_threads() {
        let one = drawn(1, Some(7));
        assert_eq!(one.len() as u64, 3 * CHUNK + 5);
        assert_eq!(one, drawn(2, Some(7)));
        assert_ne!(one, drawn(2, Some(8)));
    }

    /// Noise shared between samples would make trials dependent: all words differ.
    #[test]
    fn no_noise_is_shared() {
        let mut words = drawn(2, Some(7));
        words.extend(drawn(2, None));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
