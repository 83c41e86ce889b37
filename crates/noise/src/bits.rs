//! The one abstraction over randomness: a stream of independent fair bits.
//!
//! Samplers are generic over [`Bits`] and ask for nothing else, so that every exactness proof has
//! the same premise: *each bit handed out is 0 or 1 with probability one half, independent of all
//! others*.
//!
//! The trait is sealed. Only [`Entropy`](crate::Entropy) (the operating system's entropy through a
//! cipher) and [`Seeded`](crate::danger::Seeded) (repeatable, void of privacy) implement it outside
//! of this crate's tests, so a function that takes `impl Bits` can be asked which of the two it
//! got: [`Bits::is_seeded`].

/// A stream of independent fair bits, read as 64-bit words.
pub trait Bits: sealed::Sealed {
    /// The next 64 bits.
    fn next_u64(&mut self) -> u64;

    /// Fills `words` with the next `64 * words.len()` bits: the same words that as many calls of
    /// [`next_u64`](Bits::next_u64) would have given, faster.
    fn fill(&mut self, words: &mut [u64]) {
        for word in words {
            *word = self.next_u64();
        }
    }

    /// Whether the bits repeat a seed that somebody chose. What such bits protect is not private.
    fn is_seeded(&self) -> bool;
}

impl<R: Bits + ?Sized> Bits for &mut R {
    fn next_u64(&mut self) -> u64 {
        (**self).next_u64()
    }

    fn fill(&mut self, words: &mut [u64]) {
        (**self).fill(words);
    }

    fn is_seeded(&self) -> bool {
        (**self).is_seeded()
    }
}

pub(crate) mod sealed {
    /// Keeps [`Bits`](super::Bits) closed: a third implementation could be anything, a counter
    /// included.
    pub trait Sealed {}

    impl<R: Sealed + ?Sized> Sealed for &mut R {}
}
