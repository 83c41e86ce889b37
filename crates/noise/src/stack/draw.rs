//! Drawing from a stack: one word when all goes well, exact comparisons when it does not.

use dashu::integer::UBig;

use super::height::{Height, LeadingDigits};
use super::{Rounding, SLOTS, Stack, Support, Tail, Test};
use crate::bits::Bits;
use crate::curve::POSITION_BITS;
use crate::exact::Enclosure;

const WITHIN_BLOCK: u64 = (1 << POSITION_BITS) - 1;

/// What a slot that is not sure proposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Test(Test),
    RightTail,
    LeftTail,
}

impl Stack {
    /// One draw.
    #[inline]
    pub(crate) fn sample<R: Bits + ?Sized>(&self, rounding: Rounding, bits: &mut R) -> i128 {
        rounding.apply_wide(self.draw(bits))
    }

    /// The place of one draw. Rejections start again from the choice of a slot.
    #[inline]
    pub(super) fn draw<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        loop {
            let word = bits.next_u64();
            if let Some(place) = self.sure_place(word) {
                return place.into();
            }
            let leading = bits.next_u64();
            if let Some(place) = self.unsure_place(word, leading, bits) {
                return place;
            }
        }
    }

    #[inline]
    pub(super) fn sure_place(&self, word: u64) -> Option<i64> {
        let slot = slot(word);
        (slot < self.sure).then(|| place(self.blocks[slot].into(), word))
    }

    /// The place that a word proposes in a slot that is not sure, if it is accepted. `leading` are
    /// the first bits of the height; more are drawn if they are needed.
    #[inline(never)]
    pub(super) fn unsure_place<R: Bits + ?Sized>(
        &self,
        word: u64,
        leading: u64,
        bits: &mut R,
    ) -> Option<i128> {
        let (place, height) = match self.unsure_slot(slot(word)) {
            Slot::Test(Test { block, height }) => {
                (place(block.into(), word).into(), Height::over_block(height.into()))
            }
            Slot::RightTail => {
                let (blocks, height) = self.right.propose(bits);
                (wide_place(blocks, word), height)
            }
            Slot::LeftTail => {
                let (blocks, height) = self.left.propose(bits);
                (wide_place(-1 - blocks, word), height)
            }
        };
        let under = match self.is_under_fast(place, height, leading) {
            Some(decided) => decided,
            None => self.is_under_exact(place, height, leading, bits),
        };
        under.then_some(place)
    }

    /// What the slot `slot >= self.sure` is.
    pub(super) fn unsure_slot(&self, slot: usize) -> Slot {
        match self.tests.get(slot - self.sure) {
            Some(&test) => Slot::Test(test),
            None if slot < SLOTS - self.left.slots as usize => Slot::RightTail,
            None => Slot::LeftTail,
        }
    }

    /// Whether the point lies under the curve, by floating point, if its margin of error allows an
    /// answer.
    ///
    /// The height is `base + width (leading + t) / 2^64` with an unknown t in [0, 1). Its few
    /// roundings are relative errors of 2^-53 each in sums of positive numbers; they and the margin
    /// proved for the curve are below the margin that
    /// [`Curve::bounds`](crate::curve::Curve::bounds) keeps.
    #[inline]
    fn is_under_fast(&self, place: i128, height: Height, leading: u64) -> Option<bool> {
        const UNIT: f64 = 1.0 / (1u128 << 64) as f64;
        let width = f64::from(height.factor) * height.two_to_minus_shift()? * UNIT;
        let (base, leading) = (f64::from(height.base), leading as f64);
        let (lower, upper) = self.curve.bounds(self.distance(place));
        let scale = f64::from(self.scale);
        if base + width * (leading + 1.0) < scale * lower {
            Some(true)
        } else if base + width * leading > scale * upper {
            Some(false)
        } else {
            None
        }
    }

    /// The same comparison, decided by drawing further bits of the same height and place and
    /// enclosing the curve more and more tightly. It ends with probability 1: the height is a real
    /// number, and equals the curve with probability 0.
    #[cold]
    fn is_under_exact<R: Bits + ?Sized>(
        &self,
        place: i128,
        height: Height,
        leading: u64,
        bits: &mut R,
    ) -> bool {
        let mut height_digits = LeadingDigits::new(leading.into(), 64);
        let near = self.distance(place).min(self.distance(place + 1));
        let mut place_digits = LeadingDigits::new(near.into(), POSITION_BITS as usize);
        let mut precision = 128;
        loop {
            height_digits.extend(precision, bits);
            let curve = match self.support {
                Support::Integers { .. } => {
                    self.curve.enclose(self.distance(place).into(), POSITION_BITS as usize, precision)
                }
                Support::Reals => {
                    place_digits.extend(precision, bits);
                    self.enclose_between(&place_digits, precision)
                }
            };
            if let Some(decided) = height.compare(&height_digits, &curve, self.scale) {
                return decided;
            }
            precision *= 2;
        }
    }

    /// Encloses f over all distances that start with the given digits: the curve falls, so that its
    /// values lie between those at the two ends.
    fn enclose_between(&self, distance: &LeadingDigits, precision: usize) -> Enclosure {
        let far = self.curve.enclose(&distance.value + UBig::ONE, distance.count, precision);
        let near = self.curve.enclose(distance.value.clone(), distance.count, precision);
        Enclosure { lower: far.lower, upper: near.upper, precision }
    }

    /// Distance from 0 of the point that a place stands for: the place itself, or the integer at or
    /// below it.
    #[inline]
    fn distance(&self, place: i128) -> u128 {
        (place & i128::from(self.support.kept_bits())).unsigned_abs()
    }
}

impl Tail {
    /// Distance in whole blocks and height of a proposal in the tail. One word gives the block
    /// within the superblock and the first coins.
    fn propose<R: Bits + ?Sized>(self, bits: &mut R) -> (i128, Height) {
        let word = bits.next_u64();
        let within = word & ((1 << self.width_bits) - 1);
        let coins = 64 - self.width_bits;
        let mut heads = (word >> self.width_bits).trailing_ones();
        if heads == coins {
            heads += heads_in_a_row(bits);
        }
        // At most 2^63 blocks: a place of 113 bits.
        let blocks = i128::from(self.start) + (i128::from(heads) << self.width_bits) + i128::from(within);
        (blocks, Height { base: 0, factor: self.slots, shift: self.width_bits + 1 + heads })
    }
}

/// Fits its type: an overflow would need half a gigabyte of ones and nothing else from the
/// generator.
fn heads_in_a_row<R: Bits + ?Sized>(bits: &mut R) -> u32 {
    let mut heads = 0u32;
    loop {
        let run = bits.next_u64().trailing_ones();
        heads += run;
        if run < 64 {
            return heads;
        }
    }
}

/// The slot that a word chooses: its first bits.
#[inline]
pub(super) fn slot(word: u64) -> usize {
    (word >> POSITION_BITS) as usize
}

/// The place of a word in a block, in fixed point: the block and the rest of the bits.
#[inline]
pub(super) fn place(block: i64, word: u64) -> i64 {
    (block << POSITION_BITS) | (word & WITHIN_BLOCK) as i64
}

/// The same for a block far out.
fn wide_place(block: i128, word: u64) -> i128 {
    (block << POSITION_BITS) | i128::from(word & WITHIN_BLOCK)
}
