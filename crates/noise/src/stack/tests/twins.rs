//! Samplers that are almost right. Each makes one of the mistakes that the construction warns of,
//! and the same chi-square test that the right one passes must find it. A test that never fails
//! proves nothing.

use super::*;
use crate::bits::Bits;
use crate::curve::POSITION_BITS;
use crate::danger::seeded;
use crate::stack::draw::{Slot, place};
use crate::stack::{ABOVE_ALL, Rounding, Test};
use crate::testing::chi_square;

const DRAWS: usize = 4_000_000;
/// A standard deviation is 2^6 steps, a block two of them.
const DEPTH: u32 = 6;
const CELLS: i64 = 330;

#[derive(Clone, Copy, Debug)]
enum Mistake {
    None,
    AcceptEveryTest,
    RejectEveryTest,
    RetryInsideTheBlock,
    CutTheTail,
    HalveTheNoise,
    ShareBits,
}

fn draw(stack: &Stack, mistake: Mistake, bits: &mut impl Bits) -> i64 {
    let mut word = bits.next_u64();
    loop {
        if let Some(place) = stack.sure_place(word) {
            return match mistake {
                Mistake::HalveTheNoise => place / 2,
                // The place within the block repeats the bits that chose the slot.
                Mistake::ShareBits => (place >> POSITION_BITS << POSITION_BITS) | (word >> 14) as i64,
                Mistake::None
                | Mistake::AcceptEveryTest
                | Mistake::RejectEveryTest
                | Mistake::RetryInsideTheBlock
                | Mistake::CutTheTail => place,
            };
        }
        let slot = stack.unsure_slot((word >> POSITION_BITS) as usize);
        let leading = bits.next_u64();
        let accepted = match (mistake, slot) {
            (Mistake::AcceptEveryTest, Slot::Test(Test { block, height })) if height != ABOVE_ALL => {
                Some(place(block.into(), word))
            }
            (Mistake::RejectEveryTest, Slot::Test(_)) => None,
            (Mistake::CutTheTail, Slot::RightTail | Slot::LeftTail) => None,
            _ => stack.unsure_place(word, leading, bits).map(clamped),
        };
        if let Some(place) = accepted {
            return place;
        }
        word = match (mistake, slot) {
            (Mistake::RetryInsideTheBlock, Slot::Test(Test { height, .. })) if height != ABOVE_ALL => {
                let within = (1 << POSITION_BITS) - 1;
                (word & !within) | (bits.next_u64() & within)
            }
            _ => bits.next_u64(),
        };
    }
}

fn judge(mistake: Mistake) -> Result<(), String> {
    let stack = rounded_gaussian();
    let mut bits = seeded(606);
    let mut counts = vec![0; 2 * CELLS as usize + 1];
    let rounding = Rounding::nearest(1);
    for _ in 0..DRAWS {
        let k = rounding.apply(draw(&stack, mistake, &mut bits)).clamp(-CELLS, CELLS);
        counts[(k + CELLS) as usize] += 1;
    }
    chi_square(&counts, &crate::testing::rounded_gaussian_masses(DEPTH, CELLS))
}

#[test]
fn the_correct_sampler_passes() {
    judge(Mistake::None).unwrap();
}

#[test]
fn pitfall_12_every_wrong_sampler_is_caught() {
    for mistake in [
        Mistake::AcceptEveryTest,
        Mistake::RejectEveryTest,
        Mistake::RetryInsideTheBlock,
        Mistake::CutTheTail,
        Mistake::HalveTheNoise,
        Mistake::ShareBits,
    ] {
        assert!(judge(mistake).is_err(), "{mistake:?} was not noticed");
    }
}
