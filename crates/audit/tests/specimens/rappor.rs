//! RAPPOR (Erlingsson, Pihur, Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal
//! response", 2014): a value becomes a Bloom filter of 20 bits by four hashes, and each bit a
//! randomized response.

use sordino_audit::{Observe, Row};
use sordino_noise::Bits;

const BITS: usize = 20;
const HASHES: u32 = 4;

/// The chances that a bit is reported as set if it is not, and if it is; of 2^32.
pub(crate) struct Rappor {
    chances: [u64; 2],
}

/// Bits that are responses each by itself: neither their order nor their differences matter.
pub(crate) struct Report([bool; BITS]);

impl Observe for Report {
    const WIDTH: usize = BITS;

    fn observe(&self, row: &mut Row) {
        self.0.iter().for_each(|bit| row.flag(*bit));
    }
}

impl Rappor {
    /// Permanent response with f = 0.95: steps 1 and 2.
    pub(crate) fn one_time() -> Self {
        Self::with_chances(0.5 * 0.95, 1.0 - 0.5 * 0.95)
    }

    /// Permanent with f = 0.75, then instantaneous with p = 0.45 and q = 0.55: steps 1 to 3, of
    /// which only the last is seen.
    pub(crate) fn full() -> Self {
        let (f, p, q) = (0.75, 0.45, 0.55);
        Self::with_chances(0.5 * f * (p + q) + (1.0 - f) * p, 0.5 * f * (p + q) + (1.0 - f) * q)
    }

    fn with_chances(unset: f64, set: f64) -> Self {
        Self { chances: [unset, set].map(|chance| (chance * (1_u64 << 32) as f64).round() as u64) }
    }

    pub(crate) fn release(&self, value: &str, bits: &mut dyn Bits) -> Report {
        let filter = filter(value);
        let (mut report, mut words) = ([false; BITS], [0; BITS / 2]);
        bits.fill(&mut words);
        for ((pair, states), word) in report.chunks_mut(2).zip(filter.chunks(2)).zip(words) {
            for ((bit, state), draw) in pair.iter_mut().zip(states).zip([word >> 32, word & 0xffff_ffff]) {
                *bit = draw < self.chances[usize::from(*state)];
            }
        }
        Report(report)
    }
}

fn filter(value: &str) -> [bool; BITS] {
    let mut filter = [false; BITS];
    for seed in 0..HASHES {
        // Signed, as the reference's hash is.
        filter[(murmur3(value.as_bytes(), seed) as i32).rem_euclid(BITS as i32) as usize] = true;
    }
    filter
}

/// MurmurHash3, 32 bits, of at most three bytes.
fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    assert!(bytes.len() < 4);
    let tail = bytes.iter().rev().fold(0_u32, |tail, byte| tail << 8 | u32::from(*byte));
    let mut hash = seed ^ tail.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}
