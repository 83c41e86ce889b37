//! Stories that need the whole grid: the identity behind the guarantee, neighbouring data, attacks
//! on floating point.

mod identity;
mod leave_one_out;
mod pitfall_11;

/// A small deterministic stream for test inputs (SplitMix64: Steele, Lea, Flood, *Fast Splittable
/// Pseudorandom Number Generators*, 2014). Inputs only, never noise.
struct Inputs(u64);

impl Inputs {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    /// Uniform on a grid in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.word() >> 11) + 1) as f64 * 2f64.powi(-53)
    }

    fn sign(&mut self) -> f64 {
        if self.word() & 1 == 0 { 1.0 } else { -1.0 }
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}
