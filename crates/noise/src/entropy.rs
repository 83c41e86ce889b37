//! The cryptographic stream of the current thread, seeded by the operating system.
//!
//! # Guarantee
//! [`entropy()`] hands out this thread's stream. Its 256-bit key comes from the operating system;
//! the stream itself is AES-256 in counter mode or ChaCha20 with fast key erasure. It is
//! - **never a fallback**: when the operating system has no entropy, the call fails;
//! - **reseeded**: [`RESEED_BYTES`] of output or [`RESEED_AFTER`] after its key was made, whichever
//!   comes first, the next call of [`entropy()`] takes a new key from the operating system;
//! - **aware of forks**: a child process finds another process id than the one its copy of the
//!   stream was made under, throws key and buffer away and seeds anew;
//! - **per thread**: no two threads share a key, and none waits for another.
//!
//! # What a process id does not tell
//! Two copies of one memory with the same process id draw the same bits until one of them takes a
//! new key, which both do at their first call of [`entropy()`] after at most [`RESEED_AFTER`]. Such
//! copies are
//! - a child in a new namespace of process ids, if parent and child have the same number in their
//!   own ones;
//! - a grandchild that got the number of a grandparent which has ended;
//! - snapshots of a process or of a virtual machine that are resumed more than once. (A virtual
//!   machine's clock may have stood still meanwhile, and a copy of the operating system's own
//!   generator must be reseeded by the system: nothing here can.)
//!
//! After such a copy, let [`RESEED_AFTER`] pass before the next release, or start a new process.
//!
//! # Pitfalls
//! - Ask for the stream where the noise is drawn and let it go after: reseeding and the check for a
//!   fork happen when it is acquired. A process that forks while it holds an [`Entropy`] must
//!   acquire a new one in the child.
//! - Never store a generator in a checkpoint: a resumed run would add the same noise to other data,
//!   and the difference of the two releases has no noise at all. [`Entropy`] cannot be cloned or
//!   serialised.

use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

use crate::bits::{Bits, sealed};
use crate::stream::{Cipher, KEY_BYTES, Stream};

/// Output after which the next acquisition takes a new key from the operating system (one system
/// call).
pub const RESEED_BYTES: u64 = 64 << 20;

/// Age of a key after which the next acquisition takes a new one. (Reading the clock takes some 20
/// nanoseconds, a new key less than a microsecond.)
pub const RESEED_AFTER: Duration = Duration::from_secs(1);

/// The operating system gave no entropy. There is no substitute: nothing may be released.
#[derive(Debug, thiserror::Error)]
#[error(
    "the operating system gave no random bytes ({source}); nothing was drawn and nothing may be released: \
     check that this process may call getrandom or read /dev/urandom"
)]
pub struct EntropyError {
    #[from]
    source: getrandom::Error,
}

/// This thread's cryptographic stream of bits.
///
/// Dropping the handle gives the stream back to the thread. A second handle taken while one is
/// alive has a stream of its own.
///
/// ```
/// use sordino_noise::{Bits, entropy};
/// let mut bits = entropy()?;
/// assert_ne!(bits.next_u64(), bits.next_u64());
/// # Ok::<(), sordino_noise::EntropyError>(())
/// ```
pub fn entropy() -> Result<Entropy, EntropyError> {
    acquire(std::process::id(), Instant::now())
}

/// A handle on a cryptographic stream; made by [`entropy()`] alone.
pub struct Entropy {
    /// `None` only while being dropped.
    owned: Option<Box<Owned>>,
}

/// A stream and what decides whether it may be used again.
struct Owned {
    stream: Stream,
    process: u32,
    keyed_at: Instant,
    produced_bytes: u64,
}

impl Owned {
    fn may_be_used(&self, process: u32, now: Instant) -> bool {
        self.process == process
            && self.produced_bytes < RESEED_BYTES
            && now.saturating_duration_since(self.keyed_at) < RESEED_AFTER
    }
}

thread_local! {
    /// Empty before the first use and while a handle is out.
    static IDLE: Cell<Option<Box<Owned>>> = const { Cell::new(None) };
}

impl Entropy {
    fn owned(&mut self) -> &mut Owned {
        // Proof: `owned` is `Some` from construction on, and only `drop` takes it.
        self.owned.as_mut().expect("a handle owns its stream until it is dropped")
    }
}

impl sealed::Sealed for Entropy {}

impl Bits for Entropy {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        let owned = self.owned();
        owned.produced_bytes += 8;
        owned.stream.next_u64()
    }

    fn fill(&mut self, words: &mut [u64]) {
        let owned = self.owned();
        owned.produced_bytes += 8 * words.len() as u64;
        owned.stream.fill(words);
    }

    fn is_seeded(&self) -> bool {
        false
    }
}

impl Drop for Entropy {
    fn drop(&mut self) {
        // While the thread is being torn down its storage is gone; the stream is then simply
        // erased.
        let _ = IDLE.try_with(|idle| idle.set(self.owned.take()));
    }
}

impl fmt::Debug for Entropy {
    /// Neither key nor buffer: both would let a reader of a log predict noise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

/// [`entropy()`] for a given process id and time, so that a test can pretend to be a child, or
/// later.
fn acquire(process: u32, now: Instant) -> Result<Entropy, EntropyError> {
    let idle = IDLE.try_with(Cell::take).ok().flatten();
    let owned = match idle.filter(|owned| owned.may_be_used(process, now)) {
        Some(owned) => owned,
        None => {
            Box::new(Owned { stream: seeded_by_the_system()?, process, keyed_at: now, produced_bytes: 0 })
        }
    };
    Ok(Entropy { owned: Some(owned) })
}

fn seeded_by_the_system() -> Result<Stream, EntropyError> {
    let mut key = zeroize::Zeroizing::new([0; KEY_BYTES]);
    #[expect(clippy::disallowed_methods, reason = "this is the one door through which entropy comes in")]
    getrandom::fill(key.as_mut_slice())?;
    Ok(Stream::new(Cipher::fastest_here(), &key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bits: &mut Entropy) -> [u64; 4] {
        std::array::from_fn(|_| bits.next_u64())
    }

    fn process_of(bits: &mut Entropy) -> (u32, u64) {
        (bits.owned().process, bits.owned().produced_bytes)
    }

    #[test]
    fn a_thread_keeps_its_stream() {
        let now = Instant::now();
        let first = words(&mut acquire(1000, now).unwrap());
        let mut again = acquire(1000, now).unwrap();
        assert_eq!(process_of(&mut again), (1000, 32), "one stream, used before");
        assert_ne!(words(&mut again), first, "no word is handed out twice");
    }

    /// A child process starts with a byte-for-byte copy of the parent's memory. Without the check
    /// both would draw the same noise, and the difference of their releases would show the data.
    #[test]
    fn a_forked_child_throws_the_parents_stream_away() {
        let now = Instant::now();
        drop(acquire(1000, now).unwrap());
        let mut child = acquire(1001, now).unwrap();
        assert_eq!(process_of(&mut child), (1001, 0), "a new stream, nothing drawn yet");
        drop(child);
        let mut same = acquire(1001, now).unwrap();
        same.next_u64();
        drop(same);
        let mut kept = acquire(1001, now).unwrap();
        assert_eq!(process_of(&mut kept), (1001, 8), "kept while the process is the same");
    }

    /// Two copies of one memory that no process id tells apart draw the same words, but not for
    /// long.
    #[test]
    fn a_key_is_not_used_for_longer_than_stated() {
        let start = Instant::now();
        let mut bits = acquire(1000, start).unwrap();
        bits.next_u64();
        drop(bits);
        let before = start + RESEED_AFTER - Duration::from_nanos(1);
        assert_eq!(process_of(&mut acquire(1000, before).unwrap()), (1000, 8), "not before");
        let mut bits = acquire(1000, start + RESEED_AFTER).unwrap();
        assert_eq!(process_of(&mut bits), (1000, 0), "but then");
        drop(bits);
        let mut bits = acquire(1000, before + RESEED_AFTER).unwrap();
        assert_eq!(bits.owned().keyed_at, start + RESEED_AFTER, "the time counts from the new key");
    }

    #[test]
    fn a_stream_is_reseeded_after_the_stated_output() {
        let now = Instant::now();
        let mut bits = acquire(1000, now).unwrap();
        bits.owned().produced_bytes = RESEED_BYTES - 8;
        drop(bits);
        let mut bits = acquire(1000, now).unwrap();
        assert_eq!(process_of(&mut bits).1, RESEED_BYTES - 8, "not before");
        bits.next_u64();
        drop(bits);
        assert_eq!(process_of(&mut acquire(1000, now).unwrap()).1, 0, "but then");
    }

    #[test]
    fn two_handles_and_two_threads_differ() {
        let (mut one, mut two) = (entropy().unwrap(), entropy().unwrap());
        let elsewhere = std::thread::spawn(|| words(&mut entropy().unwrap())).join().unwrap();
        let (one, two) = (words(&mut one), words(&mut two));
        assert!(one != two && one != elsewhere && two != elsewhere);
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", entropy().unwrap()), "Entropy");
    }
}
