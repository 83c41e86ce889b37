//! A stream that grows out of another, so that several threads can draw the noise of one vector.
//!
//! # Definition
//! A branch is the cipher's stream under a key that is the next 256 bits of its parent.
//!
//! # Guarantee
//! Keys are parts of a stream that is indistinguishable from fair bits, and are used for nothing
//! else. Telling the branches from independent fair bits would break the cipher as a pseudo-random
//! function. A branch of seeded bits is seeded, and the same on every processor.

use zeroize::Zeroizing;

use crate::bits::{Bits, sealed};
use crate::stream::{Cipher, KEY_BYTES, Stream};

pub(crate) struct Branch {
    stream: Stream,
    is_seeded: bool,
}

impl Branch {
    pub(crate) fn of<R: Bits + ?Sized>(parent: &mut R) -> Self {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        for bytes in key.chunks_exact_mut(8) {
            bytes.copy_from_slice(&parent.next_u64().to_le_bytes());
        }
        let is_seeded = parent.is_seeded();
        let cipher = if is_seeded { Cipher::Aes256Counter } else { Cipher::fastest_here() };
        Self { stream: Stream::new(cipher, &key), is_seeded }
    }
}

impl sealed::Sealed for Branch {}

impl Bits for Branch {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.stream.next_u64()
    }

    fn fill(&mut self, words: &mut [u64]) {
        self.stream.fill(words);
    }

    fn is_seeded(&self) -> bool {
        self.is_seeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{danger, entropy};

    fn words<R: Bits>(mut bits: R) -> [u64; 4] {
        [(); 4].map(|()| bits.next_u64())
    }

    #[test]
    fn branches_differ_from_each_other_and_from_their_parent() {
        let mut parent = danger::seeded(1);
        let (first, second) = (words(Branch::of(&mut parent)), words(Branch::of(&mut parent)));
        let all = [first, second, words(&mut parent), words(danger::seeded(1))];
        for (place, one) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| one.iter().all(|word| !other.contains(word))));
        }
    }

    #[test]
    fn a_seed_is_inherited_and_repeats() {
        assert_eq!(words(Branch::of(&mut danger::seeded(1))), words(Branch::of(&mut danger::seeded(1))));
        assert!(Branch::of(&mut danger::seeded(1)).is_seeded());
        assert!(!Branch::of(&mut entropy().unwrap()).is_seeded());
    }
}
