//! The cryptographic stream of the current thread, seeded by the operating system.
//!
//! # Guarantee
//! [`entropy()`] hands out this thread's stream. Its 256-bit key comes from the operating system; the stream itself
//! is AES-256 in counter mode or ChaCha20 with fast key erasure. It is
//! - **never a fallback**: when the operating system has no entropy, the call fails;
//! - **reseeded**: after [`RESEED_BYTES`] of output the next call of [`entropy()`] takes a new key from the operating
//!   system;
//! - **fork-safe**: a child process finds another process id than the one its copy of the stream was made under,
//!   throws key and buffer away and seeds anew;
//! - **per thread**: no two threads share a key, and none waits for another.
//!
//! # Pitfalls
//! - Ask for the stream where the noise is drawn and let it go after: reseeding and the check for a fork happen
//!   when it is acquired. A process that forks while it holds an [`Entropy`] must acquire a new one in the child.
//! - Never store a generator in a checkpoint: a resumed run would add the same noise to other data, and the
//!   difference of the two releases has no noise at all. [`Entropy`] cannot be cloned or serialised.

use std::cell::Cell;
use std::fmt;

use crate::bits::{Bits, sealed};
use crate::stream::{Cipher, KEY_BYTES, Stream};

/// Output after which the next acquisition takes a new key from the operating system (one system call).
pub const RESEED_BYTES: u64 = 64 << 20;

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
/// Dropping the handle gives the stream back to the thread. A second handle taken while one is alive has a
/// stream of its own.
///
/// ```
/// use sordino_noise::{Bits, entropy};
/// let mut bits = entropy()?;
/// assert_ne!(bits.next_u64(), bits.next_u64());
/// # Ok::<(), sordino_noise::EntropyError>(())
/// ```
pub fn entropy() -> Result<Entropy, EntropyError> {
    acquire(std::process::id())
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
    produced_bytes: u64,
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
        // While the thread is being torn down its storage is gone; the stream is then simply erased.
        let _ = IDLE.try_with(|idle| idle.set(self.owned.take()));
    }
}

impl fmt::Debug for Entropy {
    /// Neither key nor buffer: both would let a reader of a log predict noise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

/// [`entropy()`] for a given process id, so that a test can pretend to be a child.
fn acquire(process: u32) -> Result<Entropy, EntropyError> {
    let idle = IDLE.try_with(Cell::take).ok().flatten();
    let reusable = idle.filter(|owned| owned.process == process && owned.produced_bytes < RESEED_BYTES);
    let owned = match reusable {
        Some(owned) => owned,
        None => Box::new(Owned { stream: seeded_by_the_system()?, process, produced_bytes: 0 }),
    };
    Ok(Entropy { owned: Some(owned) })
}

fn seeded_by_the_system() -> Result<Stream, EntropyError> {
    let mut key = zeroize::Zeroizing::new([0; KEY_BYTES]);
    #[expect(clippy::disallowed_methods, reason = "this is the one door through which entropy comes in")]
    getrandom::fill(key.as_mut_slice())?;
    Ok(Stream::new(Cipher::fastest_here(), *key))
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
        let first = words(&mut entropy().unwrap());
        let mut again = entropy().unwrap();
        assert_eq!(process_of(&mut again), (std::process::id(), 32), "one stream, used before");
        assert_ne!(words(&mut again), first, "no word is handed out twice");
    }

    /// A child process starts with a byte-for-byte copy of the parent's memory. Without the check both would draw
    /// the same noise, and the difference of their releases would show the data.
    #[test]
    fn a_forked_child_throws_the_parents_stream_away() {
        drop(acquire(1000).unwrap());
        let mut child = acquire(1001).unwrap();
        assert_eq!(process_of(&mut child), (1001, 0), "a new stream, nothing drawn yet");
        drop(child);
        let mut same = acquire(1001).unwrap();
        same.next_u64();
        drop(same);
        assert_eq!(process_of(&mut acquire(1001).unwrap()), (1001, 8), "kept while the process is the same");
    }

    #[test]
    fn a_stream_is_reseeded_after_the_stated_output() {
        let mut bits = entropy().unwrap();
        bits.owned().produced_bytes = RESEED_BYTES - 8;
        drop(bits);
        let mut bits = entropy().unwrap();
        assert_eq!(process_of(&mut bits).1, RESEED_BYTES - 8, "not before");
        bits.next_u64();
        drop(bits);
        assert_eq!(process_of(&mut entropy().unwrap()).1, 0, "but then");
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
