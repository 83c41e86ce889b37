//! A stack of blocks under a decreasing curve: the one construction behind every fast sampler.
//!
//! # Definition
//! The line is cut into *blocks* `[i, i + 1)`, i an integer, the unit chosen so that the curve f
//! has a scale of 12 to 32 blocks. With one public number A, the area under `A f` is covered by
//! unit squares, the *slots*, of which there are [`SLOTS`]:
//! - *sure* slots of block i: heights from 0 to `n_i = floor(A min f over the block)`;
//! - *test* slots of block i: heights from n_i to `ceil(A max f over the block)`;
//! - *tail* slots: as many as the area of the envelope described under [`Tail`];
//! - *reject* slots: what is left over.
//!
//! A draw takes one 64-bit word: 14 bits choose a slot, 50 are the leading bits of the place within
//! the block. A sure slot is accepted at once. In a test slot a height is drawn, and the point is
//! accepted iff it lies under `A f`. **Every rejection goes back to the choice of a slot**, never
//! to a retry inside the block.
//!
//! # Theorem
//! The accepted place has density proportional to f on the reals, or probability proportional to f
//! on the integers. Proof: the proposals are uniform over the slots, which cover the area under A f
//! once, because `n_i <= A f <= ceil(A max f)` on each block and the envelope of the tail lies
//! above A f (all certified when the table is built, in integers where floating point is not
//! decisive). A uniform point conditioned to lie under a curve has an abscissa with the curve as
//! its density (von Neumann, "Various techniques used in connection with random digits", 1951). No
//! normalising constant, no rounded probability and no cut tail enters.
//!
//! The comparison of a height with `A f` is decided by floating point only outside of a proved
//! margin; inside of it further bits of the *same* height and the *same* place are drawn and the
//! curve is enclosed by integers at doubling precision until the comparison is decided ([`draw`]).
//!
//! # Pitfalls
//! - A retry inside the block after a rejection would make all blocks as probable as their covers,
//!   not as the area under the curve.
//! - Slot, place and height use disjoint bits; shared bits would correlate.
//! - A draw has no bounds, and 64 bits have. Noise that is clamped to them *alone* is another
//!   distribution; a sum of answer and noise may be clamped, for that is post-processing. So a
//!   single draw has 128 bits, which no tail reaches, and [`Stack::fill`] says what must be done
//!   with its 64.

mod build;
mod draw;
mod height;
#[cfg(test)]
mod tests;
mod vector;

use crate::curve::{Curve, POSITION_BITS};

/// Bits of a word that choose a slot.
pub(crate) const SLOT_BITS: u32 = 64 - POSITION_BITS;
/// Number of slots. One byte each: the table fills half of a usual first-level cache.
pub(crate) const SLOTS: usize = 1 << SLOT_BITS;

/// Where the distribution lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    /// All places count, with as many bits as a comparison asks for.
    Reals,
    /// A block holds 2^bits integers; only the first `bits` bits of a place count.
    /// `bits <= POSITION_BITS`.
    Integers { bits: u32 },
}

impl Support {
    /// A mask for the bits of a place that count. Clearing the others rounds down, negative places
    /// too.
    #[inline]
    fn kept_bits(self) -> i64 {
        match self {
            Self::Reals => -1,
            Self::Integers { bits } => -1 << (POSITION_BITS - bits),
        }
    }
}

/// The covered curve, ready to draw from.
pub(crate) struct Stack {
    curve: Curve,
    support: Support,
    /// A: slots that block 0 would have if f were 1 on it.
    scale: u32,
    /// The block of each sure slot; entries from `sure` on are not used.
    blocks: Box<[i8; SLOTS]>,
    /// Number of sure slots; they come first.
    sure: usize,
    /// The slots after the sure ones, up to those of the tails.
    tests: Vec<Test>,
    /// The last slots but those of `left`.
    right: Tail,
    /// The last slots.
    left: Tail,
}

/// Heights from `height` to `height + 1` over a block. A reject slot is a test that fails, at the
/// height [`ABOVE_ALL`]: drawing need not treat it as a case of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Test {
    block: i16,
    height: u16,
}

impl Test {
    const REJECT: Self = Self { block: 0, height: ABOVE_ALL };
}

/// Above `A f` wherever it is: A is at most [`SLOTS`].
const ABOVE_ALL: u16 = u16::MAX;

/// What lies at distances of `start` blocks and more, on one side.
///
/// Superblocks of `2^width_bits` blocks each, chosen so that f at least halves over each of them.
/// Superblock j has an envelope of height `slots 2^-(width_bits + 1 + j)`, which for j = 0 is at
/// least `A f(start)`. Their areas are `slots/2, slots/4, ...`: as many slots as the table gives to
/// the tail, and j is the number of heads before the first tail of a fair coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    start: u32,
    width_bits: u32,
    slots: u32,
}

/// From a place in fixed point to the integer that is returned: `floor((place + half) / 2^shift)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounding {
    half: i64,
    shift: u32,
}

/// The integer of 64 bits that is nearest to `value`.
#[inline]
pub(crate) fn clamped(value: i128) -> i64 {
    // Proof: within the range of the type after clamping.
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl Rounding {
    /// The integer at or below a place, for blocks of `2^bits` integers.
    pub(crate) fn down(bits: u32) -> Self {
        Self { half: 0, shift: POSITION_BITS - bits }
    }

    /// The nearest integer to `2^bits` times a place given in blocks. `bits < POSITION_BITS`: one
    /// drawn bit is needed behind the point, and then one is enough, since the bits that were not
    /// drawn cannot carry.
    pub(crate) fn nearest(bits: i32) -> Self {
        let shift = (POSITION_BITS as i32 - bits) as u32;
        Self { half: 1 << (shift - 1), shift }
    }

    /// For places within the blocks, which are below 2^57.
    #[inline]
    pub(crate) fn apply(self, place: i64) -> i64 {
        (place + self.half) >> self.shift
    }

    /// For all places.
    #[inline]
    pub(crate) fn apply_wide(self, place: i128) -> i128 {
        (place + i128::from(self.half)) >> self.shift
    }
}
