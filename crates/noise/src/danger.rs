//! What is good for tests and teaching and **not private**: repeatable bits, and sums without
//! noise.
//!
//! Anyone who knows the seed can subtract the noise. A seeded generator is another type than the
//! cryptographic one, and a search for `danger` finds where one is made; there is no default seed.
//! But every sampler and every release takes either type, so the type alone keeps no seeded noise
//! out of a release. What tells is [`Bits::is_seeded`], and for a released sum
//! [`NoisySum::is_seeded`](crate::grid::NoisySum::is_seeded): whoever states a guarantee for a
//! result must ask, and mark a result drawn with a seeded generator as one that has none.
//!
//! Seeded values are the same on every platform and processor; a change of them is listed in the
//! changelog.

use std::fmt;

use crate::bits::{Bits, sealed};
use crate::grid::GridSum;
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
    Seeded { stream: Stream::new(Cipher::Aes256Counter, &key) }
}

/// Repeatable bits; made by [`seeded`] alone.
pub struct Seeded {
    stream: Stream,
}

/// A sum without noise, in steps of its grid: to test how far a record moves it.
///
/// ```
/// use sordino_noise::{danger, grid::{GridPlan, GridSum}};
/// let mut sum = GridSum::new(GridPlan::new(1.0, 1.0, 1, 10).at_depth(20)?);
/// sum.add(&[0.5])?;
/// assert_eq!(danger::unprotected(&sum), [1 << 19]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unprotected(sum: &GridSum) -> &[i64] {
    sum.unprotected()
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
