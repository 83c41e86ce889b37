//! Repeatable bits, for tests and teaching. **What they protect is not private**: whoever knows the seed can
//! subtract the noise.
//!
//! A seeded generator is another type than the cryptographic one, so that no release path can take it by
//! accident, and a search for `danger` finds every use. There is no default seed.
//!
//! Seeded values are the same on every platform and processor; a change of them is listed in the changelog.

use std::fmt;

use crate::bits::{Bits, sealed};
use crate::stream::{Cipher, KEY_BYTES, Stream};

/// The stream that belongs to `seed`, always the same.
///
/// ```
/// use sordino_noise::{Bits, danger};
/// assert_eq!(danger::seeded(7).next_u64(), danger::seeded(7).next_u64());
/// assert!(danger::seeded(7).is_seeded());
/// ```
pub fn seeded(seed: u64) -> Seeded {
    let mut key = *b"sordino: a seed, not a secret...";
    key[KEY_BYTES - 8..].copy_from_slice(&seed.to_le_bytes());
    // AES everywhere, in software if need be: the values must not depend on the processor.
    Seeded { stream: Stream::new(Cipher::Aes256Counter, key) }
}

/// Repeatable bits; made by [`seeded`] alone.
pub struct Seeded {
    stream: Stream,
}

impl sealed::Sealed for Seeded {}

impl Bits for Seeded {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.stream.next_u64()
    }

    fn fill(&mut self, words: &mut [u64]) {
        self.stream.fill(words);
    }

    fn is_seeded(&self) -> bool {
        true
    }
}

impl fmt::Debug for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seeded")
    }
}
