//! A key turned into a long stream of bits: counter mode with fast key erasure.
//!
//! # Definition
//! Each refill runs the cipher in counter mode from zero under the current key for [`BUFFER_BYTES`]
//! bytes. The first 32 bytes become the next key, the rest is handed out, and what was handed out
//! is overwritten with zeros (Bernstein, "Fast-key-erasure random-number generators", 2017).
//!
//! # Guarantee
//! The stream cannot be told from fair bits without breaking the cipher as a pseudo-random
//! function, and its state tells nothing about the words already handed out, nor do round keys that
//! were put into memory. (Copies that a compiler leaves in registers or on the stack are beyond a
//! program's reach, and what callers keep of the words is theirs.) A key encrypts 256 blocks, far
//! from where counter mode with 128-bit blocks shows that blocks do not repeat (about 2^64).
//!
//! # Ciphers
//! AES-256 where the processor has instructions for it (constant time; with vector AES some 6 GB/s
//! into memory), else ChaCha20. The choice changes which bits come, never how they are distributed.

#[cfg(target_arch = "x86_64")]
mod vaes;

use aes::Aes256Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use zeroize::Zeroize;

/// Bytes of one refill, the next key included. Small beside a usual first-level cache, which
/// samplers need for their tables; large enough that the key schedule (about 40 ns) does not count.
pub(crate) const BUFFER_BYTES: usize = 4 * 1024;
pub(crate) const KEY_BYTES: usize = 32;
const WORD_BYTES: usize = 8;

/// The two ways to stretch a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes256Counter,
    ChaCha20,
}

impl Cipher {
    /// The faster of the two on this processor. AES in software would be slower than ChaCha20.
    pub(crate) fn fastest_here() -> Self {
        if has_aes_instructions() { Self::Aes256Counter } else { Self::ChaCha20 }
    }

    /// Overwrites `output` with the key stream of `key` from block 0 on.
    fn stretch(self, key: &[u8; KEY_BYTES], output: &mut [u8; BUFFER_BYTES]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Aes256Counter if vaes::is_available() => vaes::stretch(key, output),
            Self::Aes256Counter => Self::aes_by_crate(key, output),
            Self::ChaCha20 => {
                output.fill(0);
                // One key serves one buffer only, so that a constant nonce is never used twice.
                ChaCha20::new(key.into(), &[0; 12].into()).apply_keystream(output);
            }
        }
    }

    /// AES with whatever instructions the crate finds, in software if there are none.
    fn aes_by_crate(key: &[u8; KEY_BYTES], output: &mut [u8; BUFFER_BYTES]) {
        let (blocks, _) = Array::slice_as_chunks_mut(output.as_mut_slice());
        for (counter, block) in (0u128..).zip(blocks.iter_mut()) {
            *block = Array(counter.to_le_bytes());
        }
        Aes256Enc::new(key.into()).encrypt_blocks(blocks);
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn has_aes_instructions() -> bool {
    std::arch::is_x86_feature_detected!("aes")
}

#[cfg(target_arch = "aarch64")]
fn has_aes_instructions() -> bool {
    std::arch::is_aarch64_feature_detected!("aes")
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
fn has_aes_instructions() -> bool {
    false
}

/// A key and the part of its stream that was not handed out yet.
pub(crate) struct Stream {
    cipher: Cipher,
    key: [u8; KEY_BYTES],
    buffer: Box<[u8; BUFFER_BYTES]>,
    /// First byte of `buffer` not handed out; everything before it is zero.
    next: usize,
}

impl Stream {
    pub(crate) fn new(cipher: Cipher, key: &[u8; KEY_BYTES]) -> Self {
        Self { cipher, key: *key, buffer: Box::new([0; BUFFER_BYTES]), next: BUFFER_BYTES }
    }

    #[inline]
    pub(crate) fn next_u64(&mut self) -> u64 {
        if self.next == BUFFER_BYTES {
            self.refill();
        }
        let word = take(&mut self.buffer[self.next..self.next + WORD_BYTES]);
        self.next += WORD_BYTES;
        word
    }

    pub(crate) fn fill(&mut self, mut words: &mut [u64]) {
        while !words.is_empty() {
            if self.next == BUFFER_BYTES {
                self.refill();
            }
            let count = words.len().min((BUFFER_BYTES - self.next) / WORD_BYTES);
            let (now, later) = words.split_at_mut(count);
            let end = self.next + count * WORD_BYTES;
            for (word, bytes) in now.iter_mut().zip(self.buffer[self.next..end].chunks_exact_mut(WORD_BYTES))
            {
                *word = take(bytes);
            }
            self.next = end;
            words = later;
        }
    }

    #[cold]
    fn refill(&mut self) {
        self.cipher.stretch(&self.key, &mut self.buffer);
        let (next_key, _) = self.buffer.split_at_mut(KEY_BYTES);
        self.key.copy_from_slice(next_key);
        next_key.zeroize();
        self.next = KEY_BYTES;
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.key.zeroize();
        self.buffer.zeroize();
    }
}

/// Reads eight bytes and erases them. Little-endian on every platform, so that seeded values are
/// portable.
#[inline]
fn take(bytes: &mut [u8]) -> u64 {
    let mut word = [0; WORD_BYTES];
    word.copy_from_slice(bytes);
    bytes.fill(0);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CIPHERS: [Cipher; 2] = [Cipher::Aes256Counter, Cipher::ChaCha20];

    /// FIPS 197, appendix C.3: AES-256 of 00112233..ff under the key 00..1f. Shows that the
    /// dependency computes AES on whatever instructions this processor has.
    #[test]
    fn aes_matches_the_standard() {
        let key: [u8; 32] = std::array::from_fn(|i| i as u8);
        let mut block = Array::<u8, _>(std::array::from_fn(|i| (i as u8) * 0x11));
        Aes256Enc::new(&Array(key)).encrypt_block(&mut block);
        assert_eq!(u128::from_be_bytes(block.0), 0x8ea2b7ca516745bfeafc49904b496089);
    }

    /// RFC 8439, appendix A.1, vector 1: the first key stream bytes of the zero key, nonce and
    /// counter.
    #[test]
    fn chacha_matches_the_standard() {
        let mut output = [0; BUFFER_BYTES];
        Cipher::ChaCha20.stretch(&[0; 32], &mut output);
        assert_eq!(output[..8], [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
    }

    #[test]
    fn counter_blocks_are_encrypted_one_by_one() {
        let mut output = [0; BUFFER_BYTES];
        Cipher::Aes256Counter.stretch(&[7; 32], &mut output);
        for counter in [0u128, 1, 17, 255] {
            let mut block = Array(counter.to_le_bytes());
            Aes256Enc::new(&Array([7; 32])).encrypt_block(&mut block);
            assert_eq!(output[16 * counter as usize..][..16], block.0, "block {counter}");
        }
    }

    #[test]
    fn the_key_changes_at_every_refill_and_is_never_handed_out() {
        for cipher in CIPHERS {
            let mut first = [0; BUFFER_BYTES];
            cipher.stretch(&[3; 32], &mut first);
            let mut stream = Stream::new(cipher, &[3; 32]);
            assert_eq!(stream.next_u64().to_le_bytes(), first[32..40], "{cipher:?}");
            assert_eq!(stream.key, first[..32], "{cipher:?}");
            assert!(stream.buffer[..40].iter().all(|&byte| byte == 0), "{cipher:?}");
        }
    }

    #[test]
    fn words_and_slices_read_the_same_stream() {
        for cipher in CIPHERS {
            let (mut one, mut many) = (Stream::new(cipher, &[9; 32]), Stream::new(cipher, &[9; 32]));
            let mut words = vec![0; 7001];
            let (head, tail) = words.split_at_mut(2999);
            many.fill(head);
            many.fill(tail);
            assert!(words.iter().all(|&word| word == one.next_u64()), "{cipher:?}");
        }
    }

    #[test]
    fn no_word_repeats_across_refills() {
        for cipher in CIPHERS {
            let mut words = vec![0; 5 * BUFFER_BYTES / WORD_BYTES];
            Stream::new(cipher, &[1; 32]).fill(&mut words);
            words.sort_unstable();
            // 10^4 words of 64 bits collide by chance with probability 3e-12.
            assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "{cipher:?}");
        }
    }
}
