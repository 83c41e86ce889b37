//! Building a stack: how many slots each block gets, certified.

use super::{SLOTS, Stack, Support, Tail, Test};
use crate::curve::{Curve, POSITION_BITS};

/// Most blocks on one side of 0: block numbers are bytes.
const SIDE: i16 = 128;

impl Stack {
    /// Covers `curve` (measured in blocks). Any positive rate gives an exact sampler; a scale of 12
    /// to 32 blocks, or fewer with one integer to the block, gives a fast one.
    pub(crate) fn new(curve: Curve, support: Support) -> Self {
        let peaks = Peaks::new(&curve, support);
        // Start where the cover would fit without rounding, at 64 or more (256 blocks of height 1
        // at most), and go down until it fits with it.
        let mut plan = Plan::new(&curve, &peaks, (SLOTS as f64 / peaks.total) as u32);
        while let Some(excess) = plan.slots().checked_sub(SLOTS + 1) {
            let surplus = (excess as f64 / peaks.total) as u32;
            plan = Plan::new(&curve, &peaks, plan.scale - 1 - surplus.min(plan.scale / 8));
        }
        plan.into_stack(curve, support)
    }
}

/// A block and the distances of its nearest and farthest place from 0, in fixed point.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) index: i16,
    pub(super) nearest: u64,
    pub(super) farthest: u64,
}

impl Block {
    pub(super) fn new(index: i16, support: Support) -> Self {
        // Distance from the last place that counts to the next block.
        let gap = match support {
            Support::Reals => 0,
            Support::Integers { bits } => 1 << (POSITION_BITS - bits),
        };
        let first = i64::from(index) << POSITION_BITS;
        let last = first + (1 << POSITION_BITS) - gap;
        let (first, last) = (first.unsigned_abs(), last.unsigned_abs());
        Self { index, nearest: first.min(last), farthest: first.max(last) }
    }
}

/// All blocks that a byte can name, with an estimate of f where it is largest.
struct Peaks {
    support: Support,
    blocks: Vec<(Block, f64)>,
    total: f64,
}

impl Peaks {
    fn new(curve: &Curve, support: Support) -> Self {
        let peak = |index| {
            let block = Block::new(index, support);
            (block, curve.bounds(block.nearest.into()).1)
        };
        let blocks: Vec<_> = (-SIDE..SIDE).map(peak).collect();
        let total = blocks.iter().map(|(_, peak)| peak).sum();
        Self { support, blocks, total }
    }
}

/// Slots for one value of A.
struct Plan {
    scale: u32,
    /// Block, sure slots, sure and test slots.
    blocks: Vec<(Block, u32, u32)>,
    right: Tail,
    left: Tail,
}

impl Plan {
    fn new(curve: &Curve, peaks: &Peaks, scale: u32) -> Self {
        // Blocks where less than half a slot would be filled are left to the tail. Which ones are
        // is a matter of speed alone: whatever is not a block is in the tail. Block 0 always stays.
        let worthwhile = |&&(block, peak): &&(Block, f64)| block.index == 0 || peak * f64::from(scale) >= 0.5;
        let kept: Vec<Block> = peaks.blocks.iter().filter(worthwhile).map(|&(block, _)| block).collect();
        // f falls on both sides of 0, so that the kept blocks are neighbours.
        let right = kept.last().map_or(1, |block| block.index + 1);
        let left = kept.first().map_or(0, |block| block.index) - 1;
        let slots = |block: Block| {
            (block, curve.floor_times(scale, block.farthest), curve.ceil_times(scale, block.nearest))
        };
        Self {
            scale,
            blocks: kept.into_iter().map(slots).collect(),
            right: Tail::new(curve, scale, Block::new(right, peaks.support), right.into()),
            left: Tail::new(curve, scale, Block::new(left, peaks.support), (-1 - left).into()),
        }
    }

    fn slots(&self) -> usize {
        let blocks: u32 = self.blocks.iter().map(|&(_, _, all)| all).sum();
        (blocks + self.right.slots + self.left.slots) as usize
    }

    fn into_stack(self, curve: Curve, support: Support) -> Stack {
        let (mut table, mut sure) = (Box::new([0; SLOTS]), 0);
        let mut tests = Vec::new();
        for &(Block { index, .. }, certain, all) in &self.blocks {
            let end = sure + certain as usize;
            // Proof: indices run from -SIDE to SIDE - 1, the range of a byte.
            table[sure..end].fill(i8::try_from(index).expect("block numbers are bytes"));
            sure = end;
            // Heights are below A, which is at most SLOTS = 2^14.
            tests.extend((certain..all).map(|height| Test { block: index, height: height as u16 }));
        }
        let Self { scale, right, left, .. } = self;
        let tails = (right.slots + left.slots) as usize;
        assert!(
            sure + tests.len() + tails <= SLOTS,
            "a cover that does not fit would be another distribution"
        );
        tests.resize(SLOTS - tails - sure, Test::REJECT);
        Stack { curve, support, scale, blocks: table, sure, tests, right, left }
    }
}

impl Tail {
    /// The tail from `start` blocks on, whose first block is `first`, for A = `scale`.
    fn new(curve: &Curve, scale: u32, first: Block, start: i32) -> Self {
        let start = start.unsigned_abs();
        // Ends: every rate is positive, so that some power of two halves the curve. 2^31 blocks
        // would mean a scale of 2^31 blocks, and the callers choose blocks so that it is at most
        // 32.
        let width_bits = (0..31)
            .find(|&bits| curve.halves_within(start, 1 << bits))
            .expect("a scale of at most 32 blocks");
        // slots / 2^(width_bits + 1) >= A f at the nearest place of the tail.
        let height = curve.ceil_times(scale << (width_bits + 1), first.nearest);
        Self { start, width_bits, slots: height.max(1) }
    }
}
