//! AES-256 in counter mode with vector instructions on 256 bits.
//!
//! The crate `aes` uses vector AES only where the processor also has registers of 512 bits. Many
//! have vector AES without them (AMD Zen 3, Intel desktop processors since Alder Lake); there this
//! kernel takes a 64-bit word from 2.0 to 1.4 nanoseconds (Zen 3, copies and stores to memory
//! included), a tenth of a whole draw of Gaussian noise. It computes the same function: a test
//! compares the two.
//!
//! Key schedule and rounds as in FIPS 197; the use of the instructions as in Gueron, "Intel
//! Advanced Encryption Standard (AES) New Instructions Set", 2010.

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::{BUFFER_BYTES, KEY_BYTES};

/// Registers in flight at a time: enough to hide the latency of a round, and half of the sixteen
/// there are.
const LANES: usize = 8;
const REGISTER_BYTES: usize = 32;
const ROUND_KEYS: usize = 15;

/// Whether this processor (and its operating system) can run [`stretch`].
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("aes") && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("vaes")
}

/// Overwrites `output` with the encryptions of 0, 1, 2, ... as little-endian blocks. Only where
/// [`is_available`].
pub(super) fn stretch(key: &[u8; KEY_BYTES], output: &mut [u8; BUFFER_BYTES]) {
    assert!(is_available(), "vector AES was chosen on a processor that does not have it");
    // SAFETY: the features that `counter_mode` is compiled for were found in this processor one
    // line above.
    #[allow(
        unsafe_code,
        reason = "instructions that the processor was found to have; see the measurement above"
    )]
    unsafe {
        counter_mode(key, output);
    }
}

#[target_feature(enable = "aes,avx2,vaes")]
fn counter_mode(key: &[u8; KEY_BYTES], output: &mut [u8; BUFFER_BYTES]) {
    let mut keys = expand(key);
    let mut wide = keys.map(|key| _mm256_broadcastsi128_si256(key));
    // Two counters to a register; the upper halves of the 128-bit counters stay 0.
    let mut counters: [__m256i; LANES] = std::array::from_fn(|lane| {
        let first = 2 * lane as i64;
        _mm256_set_epi64x(0, first + 1, 0, first)
    });
    let step = _mm256_set_epi64x(0, 2 * LANES as i64, 0, 2 * LANES as i64);
    let (chunks, rest) = output.as_chunks_mut::<{ LANES * REGISTER_BYTES }>();
    debug_assert!(rest.is_empty(), "the buffer is a whole number of chunks");
    for chunk in chunks {
        let mut blocks = counters.map(|counter| _mm256_xor_si256(counter, wide[0]));
        for key in &wide[1..ROUND_KEYS - 1] {
            for block in &mut blocks {
                *block = _mm256_aesenc_epi128(*block, *key);
            }
        }
        let (registers, _) = chunk.as_chunks_mut::<REGISTER_BYTES>();
        for ((block, counter), bytes) in blocks.iter().zip(&mut counters).zip(registers) {
            let last = _mm256_aesenclast_epi128(*block, wide[ROUND_KEYS - 1]);
            // SAFETY: `bytes` is 32 writable bytes, and this store needs no alignment.
            #[allow(unsafe_code, reason = "a store to an array of exactly the register's size")]
            unsafe {
                _mm256_storeu_si256(bytes.as_mut_ptr().cast(), last);
            }
            *counter = _mm256_add_epi64(*counter, step);
        }
    }
    // As far as memory goes: a compiler may have left copies in registers.
    keys.zeroize();
    wide.zeroize();
}

/// The key schedule of AES-256.
#[target_feature(enable = "aes,avx2")]
fn expand(key: &[u8; KEY_BYTES]) -> [__m128i; ROUND_KEYS] {
    let word = |index: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&key[8 * index..8 * index + 8]);
        i64::from_le_bytes(bytes)
    };
    let mut keys = [_mm_setzero_si128(); ROUND_KEYS];
    (keys[0], keys[1]) = (_mm_set_epi64x(word(1), word(0)), _mm_set_epi64x(word(3), word(2)));
    // The round constant must be known at compile time.
    even::<0x01>(&mut keys, 2);
    odd(&mut keys, 3);
    even::<0x02>(&mut keys, 4);
    odd(&mut keys, 5);
    even::<0x04>(&mut keys, 6);
    odd(&mut keys, 7);
    even::<0x08>(&mut keys, 8);
    odd(&mut keys, 9);
    even::<0x10>(&mut keys, 10);
    odd(&mut keys, 11);
    even::<0x20>(&mut keys, 12);
    odd(&mut keys, 13);
    even::<0x40>(&mut keys, 14);
    keys
}

#[target_feature(enable = "aes,avx2")]
fn even<const ROUND: i32>(keys: &mut [__m128i; ROUND_KEYS], index: usize) {
    let rotated = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<ROUND>(keys[index - 1]));
    keys[index] = _mm_xor_si128(running_sum(keys[index - 2]), rotated);
}

#[target_feature(enable = "aes,avx2")]
fn odd(keys: &mut [__m128i; ROUND_KEYS], index: usize) {
    let substituted = _mm_shuffle_epi32::<0xaa>(_mm_aeskeygenassist_si128::<0>(keys[index - 1]));
    keys[index] = _mm_xor_si128(running_sum(keys[index - 2]), substituted);
}

/// Each 32-bit word added (without carry) to all words after it.
#[target_feature(enable = "aes,avx2")]
fn running_sum(key: __m128i) -> __m128i {
    let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    _mm_xor_si128(key, _mm_slli_si128::<8>(key))
}

#[cfg(test)]
mod tests {
    use super::super::Cipher;
    use super::*;

    #[test]
    fn the_kernel_is_aes() {
        if !is_available() {
            return; // nothing to compare on this processor
        }
        for seed in 0..=255u8 {
            let key =
                std::array::from_fn(|i| seed.wrapping_mul(91).wrapping_add(i as u8).rotate_left(3) ^ seed);
            let (mut ours, mut theirs) = ([1; BUFFER_BYTES], [2; BUFFER_BYTES]);
            stretch(&key, &mut ours);
            Cipher::aes_by_crate(&key, &mut theirs);
            assert!(ours == theirs, "key {key:?}");
        }
    }
}
