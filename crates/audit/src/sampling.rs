//! Running a mechanism many times, on all cores, repeatably.
//!
//! Samples are drawn in chunks of fixed size, each from a stream of its own. No two samples share
//! noise, and with a seed the samples do not depend on how many threads there are.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

use sordino_noise::{Bits, danger, entropy};
use sordino_threads::gather;

use crate::error::AuditError;

/// Samples in a chunk.
const CHUNK: u64 = 1 << 13;

/// The progress of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditProgress {
    /// The current stage.
    pub stage: &'static str,
    /// Samples drawn so far in this stage.
    pub done: u64,
    /// Samples to be drawn in this stage.
    pub total: u64,
}

/// How samples are drawn: source of bits, number of threads, and a callback for progress.
pub(crate) struct Draws<'a> {
    pub(crate) seed: Option<u64>,
    pub(crate) threads: NonZero<usize>,
    pub(crate) progress: &'a (dyn Fn(AuditProgress) + Sync),
}

/// The samples of one pass. Every pass of an audit has its own streams, for each input.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    pub(crate) stage: &'static str,
    pub(crate) number: u64,
    pub(crate) input: usize,
}

impl Draws<'_> {
    /// Runs `work` on each chunk, with its bits and its number of samples. Results come in the
    /// order of chunks.
    pub(crate) fn chunks<T: Send>(
        &self,
        pass: Pass,
        samples: u64,
        work: impl Fn(&mut dyn Bits, u64) -> T + Sync,
    ) -> Result<Vec<T>, AuditError> {
        let done = AtomicU64::new(0);
        let run = |chunk: u64| {
            let count = CHUNK.min(samples - chunk * CHUNK);
            let result = match self.seed {
                Some(seed) => work(&mut danger::seeded(stream(seed, pass, chunk)), count),
                None => work(&mut entropy()?, count),
            };
            let done = done.fetch_add(count, Ordering::Relaxed) + count;
            (self.progress)(AuditProgress { stage: pass.stage, done, total: samples });
            Ok(result)
        };
        gather(self.threads, (0..samples.div_ceil(CHUNK)).collect(), run).into_iter().collect()
    }
}

/// A different number for every pass, input and chunk of one seed.
fn stream(seed: u64, pass: Pass, chunk: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (pass.number << 48 | (pass.input as u64) << 47 | chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASS: Pass = Pass { stage: "test", number: 3, input: 1 };

    fn drawn(threads: usize, seed: Option<u64>) -> Vec<u64> {
        let threads = NonZero::new(threads).unwrap();
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
