//! Drawing many values at once: the same draws as one by one, arranged so that the processor need
//! not guess.
//!
//! Each chunk is first computed as if all slots were sure, while the positions of the others are
//! noted. The tests of those are then decided by floating point as far as its margin allows. Both
//! passes are free of branches that depend on the bits. What was rejected starts again from the
//! choice of a slot; what is not decided yet, and the tails, go the same way as a single draw, with
//! the word and the height that they already have.

use super::draw::{place, slot};
use super::{Rounding, Stack, Test, clamped};
use crate::bits::Bits;

/// Draws whose words are fetched together: 4 KB of words beside the table in the first-level cache.
const CHUNK: usize = 512;

/// Positions within a chunk, appended to without a branch.
struct Positions {
    entries: [u16; CHUNK],
    count: usize,
}

impl Positions {
    fn new() -> Self {
        Self { entries: [0; CHUNK], count: 0 }
    }

    /// Appends `position` if `condition`. At most CHUNK appends: one for each draw of a chunk.
    #[inline]
    fn push_if(&mut self, condition: bool, position: usize) {
        // The remainder tells the compiler that the index is in bounds; `count < CHUNK` before each
        // append.
        self.entries[self.count % CHUNK] = position as u16;
        self.count += usize::from(condition);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.entries[..self.count].iter().map(|&position| usize::from(position))
    }
}

/// What is noted about one chunk; made once for all of them.
struct Notes {
    /// Indices of draws whose slot is not sure.
    unsure: Positions,
    /// Indices of draws that were rejected.
    rejected: Positions,
    /// Positions in `unsure` of draws that are not decided yet.
    open: Positions,
}

impl Stack {
    /// Independent draws in every element of `out`, each clamped to 64 bits. With an answer of at
    /// most A in size, `clamp(answer + clamped noise, ±(2^63 - 1 - A))` is
    /// `clamp(answer + noise, the same)`: noise beyond 64 bits takes the sum beyond these ends,
    /// before as after its own clamp. So clamped, the sum is post-processing of the exact one.
    pub(crate) fn fill<R: Bits + ?Sized>(&self, rounding: Rounding, bits: &mut R, out: &mut [i64]) {
        let (mut words, mut heights) = ([0; CHUNK], [0; CHUNK]);
        let mut notes =
            Notes { unsure: Positions::new(), rejected: Positions::new(), open: Positions::new() };
        for chunk in out.chunks_mut(CHUNK) {
            let words = &mut words[..chunk.len()];
            bits.fill(words);
            self.place_all(rounding, words, chunk, &mut notes.unsure);
            let heights = &mut heights[..notes.unsure.count];
            bits.fill(heights);
            self.test_all(rounding, words, heights, chunk, &mut notes);
            for index in notes.rejected.iter() {
                chunk[index] = clamped(self.sample(rounding, bits));
            }
            for position in notes.open.iter() {
                let index = usize::from(notes.unsure.entries[position]);
                let place = self.unsure_place(words[index], heights[position], bits);
                let place = place.unwrap_or_else(|| self.draw(bits));
                chunk[index] = clamped(rounding.apply_wide(place));
            }
        }
    }

    /// Writes the draws of all words as if their slots were sure, and notes which are not.
    fn place_all(&self, rounding: Rounding, words: &[u64], out: &mut [i64], unsure: &mut Positions) {
        unsure.count = 0;
        for (index, (value, &word)) in out.iter_mut().zip(words).enumerate() {
            let slot = slot(word);
            *value = rounding.apply(place(self.blocks[slot].into(), word));
            unsure.push_if(slot >= self.sure, index);
        }
    }

    /// Writes the draws whose tests are passed, and notes which failed and which are not decided.
    fn test_all(
        &self,
        rounding: Rounding,
        words: &[u64],
        heights: &[u64],
        out: &mut [i64],
        notes: &mut Notes,
    ) {
        let Notes { unsure, rejected, open } = notes;
        (rejected.count, open.count) = (0, 0);
        let (scale, kept_bits) = (f64::from(self.scale), self.support.kept_bits());
        for (position, (index, &leading)) in unsure.iter().zip(heights).enumerate() {
            let word = words[index];
            let number = slot(word) - self.sure;
            let is_test = number < self.tests.len();
            // There may be no tests at all: a curve that is all but gone at 1 leaves only block 0
            // and the tails.
            let test = self.tests.get(number).copied().unwrap_or(Test::REJECT);
            let place = place(test.block.into(), word);
            let (lower, upper) = self.curve.bounds((place & kept_bits).unsigned_abs().into());
            // The first 53 bits of the height are exact as a double; the sums are rounded by a
            // relative 2^-53, for which the margin of the curve's bounds has room.
            let fraction = (leading >> 11) as i64;
            let height = f64::from(test.height);
            let passed = is_test & (height + (fraction + 1) as f64 * UNIT < scale * lower);
            let failed = is_test & (height + fraction as f64 * UNIT > scale * upper);
            out[index] = if passed { rounding.apply(place) } else { out[index] };
            rejected.push_if(failed, index);
            open.push_if(!(passed | failed), position);
        }
    }
}

/// One unit in the last of 53 bits.
const UNIT: f64 = 1.0 / (1u64 << 53) as f64;
