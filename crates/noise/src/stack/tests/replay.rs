//! Each road through the drawing code, forced by words chosen for it.

use std::ops::Range;

use dashu::integer::UBig;

use super::*;
use crate::curve::POSITION_BITS;
use crate::stack::draw::Slot;
use crate::stack::{ABOVE_ALL, Rounding, SLOTS, Test};
use crate::testing::Replay;

const WITHIN: u64 = (1 << POSITION_BITS) - 1;

/// A word that chooses a slot and a place within its block.
fn word(slot: usize, within: u64) -> u64 {
    ((slot as u64) << POSITION_BITS) | (within & WITHIN)
}

fn find(stack: &Stack, wanted: impl Fn(Slot) -> bool) -> usize {
    (stack.sure..SLOTS).find(|&slot| wanted(stack.unsure_slot(slot))).expect("such a slot")
}

/// Draws one place from the given words, all of which must be used: by itself and as a vector of
/// one, which must be the same.
fn draw(stack: &Stack, words: impl IntoIterator<Item = u64> + Clone) -> i128 {
    let (mut single, mut vector) = (Replay::new(words.clone()), Replay::new(words));
    let rounding = Rounding { half: 0, shift: 0 };
    let mut places = [0];
    stack.fill(rounding, &mut vector, &mut places);
    let place = stack.sample(rounding, &mut single);
    single.assert_used_up();
    vector.assert_used_up();
    assert_eq!(places, [clamped(place)], "vectors and single draws go the same way");
    place
}

#[test]
fn a_sure_slot_needs_one_word() {
    let stack = rounded_gaussian();
    let block = i64::from(stack.blocks[0]);
    assert_eq!(draw(&stack, [word(0, 12345)]), i128::from((block << POSITION_BITS) + 12345));
}

#[test]
fn a_reject_slot_starts_again() {
    let with_rejects = |stack: &Stack| stack.tests.iter().any(|test| test.height == ABOVE_ALL);
    let stack = (1..50).map(|scale| discrete_laplace(ratio(scale, 3), 0)).find(with_rejects).unwrap();
    let reject = find(&stack, |slot| matches!(slot, Slot::Test(Test { height: ABOVE_ALL, .. })));
    let fresh = draw(&stack, [word(0, 7)]);
    assert_eq!(draw(&stack, [word(reject, 99), 0, word(reject, 5), 0, word(0, 7)]), fresh);
}

#[test]
fn a_rejected_test_goes_back_to_the_choice_of_a_slot() {
    let stack = rounded_gaussian();
    let test = find(&stack, |slot| matches!(slot, Slot::Test(Test { block: 20, .. })));
    let fresh = draw(&stack, [word(3, 77)]);
    // The far end of the block and the top of the slot: above the curve.
    assert_eq!(draw(&stack, [word(test, u64::MAX), u64::MAX, word(3, 77)]), fresh);
}

#[test]
fn an_accepted_test_keeps_its_own_point() {
    let stack = rounded_gaussian();
    let test = find(&stack, |slot| matches!(slot, Slot::Test(Test { block: 20, .. })));
    assert_eq!(draw(&stack, [word(test, 1000), 0]), (20 << POSITION_BITS) + 1000);
}

#[test]
fn the_tails_reach_as_far_as_coins_fall() {
    let stack = rounded_laplace();
    let (right, left) =
        (find(&stack, |slot| slot == Slot::RightTail), find(&stack, |slot| slot == Slot::LeftTail));
    let width = 1i64 << stack.right.width_bits;
    for heads in [0u32, 1, 5, 40] {
        // `heads` ones, then a zero, above the block within the superblock (here block 3).
        let coins = (((1u64 << heads) - 1) << stack.right.width_bits) | 3;
        let block = i64::from(stack.right.start) + i64::from(heads) * width + 3;
        assert_eq!(
            draw(&stack, [word(right, 5), 0, coins]),
            i128::from((block << POSITION_BITS) + 5),
            "{heads} heads"
        );
        assert_eq!(
            draw(&stack, [word(left, 5), 0, coins]),
            i128::from(((-1 - block) << POSITION_BITS) + 5),
            "{heads} heads"
        );
    }
}

/// All coins of the first word are heads: the next word goes on, as far as it may lead. The
/// comparison is still decided, not assumed.
#[test]
fn very_long_runs_of_heads_are_followed_to_the_end() {
    let stack = rounded_laplace();
    let right = find(&stack, |slot| slot == Slot::RightTail);
    let first = 64 - stack.right.width_bits;
    let block = |heads: u32| i128::from(stack.right.start) + (i128::from(heads) << stack.right.width_bits);
    let coins = u64::MAX << stack.right.width_bits;
    assert_eq!(draw(&stack, [word(right, 0), 0, coins, 0b011]), block(first + 2) << POSITION_BITS);
    // 64 * 10 more heads lie beyond 64 bits; floating point passes the height on to the integers,
    // which ask for further digits of height and place before they accept.
    let mut words = vec![word(right, 0), 0, coins];
    words.extend([u64::MAX; 10]);
    let mut bits = Replay::then_zeros(words);
    let place = stack.sample(Rounding { half: 0, shift: 0 }, &mut bits);
    assert_eq!(place, block(first + 640) << POSITION_BITS);
    assert_eq!(clamped(place), i64::MAX);
}

/// The first 64 bits of a height that agrees with the curve at the crossing: floating point cannot
/// tell.
fn agreeing_height(stack: &Stack, crossing: &Crossing) -> u64 {
    let distance = UBig::from(crossing.distance);
    let f = stack.curve.enclose(distance, POSITION_BITS as usize, 256);
    let fraction = (f.lower * stack.scale - (UBig::from(crossing.height) << 256usize)) >> 192usize;
    fraction.try_into().expect("the curve passes through this slot")
}

/// A mutation that guesses where floating point is undecided, in either direction, fails here: the
/// same first 64 bits of a height are accepted or rejected by the bits that follow, and those bits
/// are asked for.
#[test]
fn pitfall_12_an_undecided_comparison_is_refined_and_never_guessed() {
    // Integers: the place is exact, only the height has further digits.
    let stack = discrete_gaussian(ratio(1 << 20, 1), 5);
    let fresh = draw(&stack, [word(0, 0)]);
    for blocks in [10..60, -60..-10] {
        // The first integer of a block lies at the block's own number, on both sides of 0.
        let crossing = Crossing::find(&stack, blocks, |block| block);
        let (slot, leading) = (crossing.slot, agreeing_height(&stack, &crossing));
        let place = i64::from(crossing.block) << POSITION_BITS;
        assert_eq!(draw(&stack, [word(slot, 0), leading, 0]), i128::from(place), "below: accepted");
        assert_eq!(draw(&stack, [word(slot, 0), leading, u64::MAX, word(0, 0)]), fresh, "above: rejected");
    }
}

#[test]
fn pitfall_12_an_undecided_comparison_refines_the_place_too() {
    let stack = rounded_gaussian();
    let right = Crossing::find(&stack, 10..60, |block| block);
    refine_the_place(&stack, &right, 0);
}

/// On the left of 0 a place stands for the points above it, which are nearer to 0: its near end is
/// the next place.
#[test]
fn pitfall_12_a_place_on_the_left_is_refined_toward_zero() {
    let stack = rounded_gaussian();
    let left = Crossing::find(&stack, -60..-10, |block| block + 1);
    refine_the_place(&stack, &left, WITHIN);
}

/// For the place at the near end of a block: further digits of the place decide, for one and the
/// same height.
fn refine_the_place(stack: &Stack, crossing: &Crossing, within: u64) {
    let chosen = word(crossing.slot, within);
    let place = (i64::from(crossing.block) << POSITION_BITS) + within as i64;
    let fresh = draw(stack, [word(0, 0)]);
    // 64 further digits of the height, then 128 of the place. Over the 2^-50 that the place leaves
    // open the curve falls by some 10^4 units of the height's last digit: a height slightly below
    // the near end is above the far end.
    let slope_decides = agreeing_height(stack, crossing) - 4;
    assert_eq!(draw(stack, [chosen, slope_decides, 0, 0, 0]), i128::from(place), "near end: under the curve");
    assert_eq!(
        draw(stack, [chosen, slope_decides, 0, u64::MAX, u64::MAX, word(0, 0)]),
        fresh,
        "far end: above it, for the same height"
    );
}

/// A test slot that the curve crosses at an end of its block.
struct Crossing {
    slot: usize,
    block: i16,
    height: u16,
    /// The distance of that end from 0, in places.
    distance: u64,
}

impl Crossing {
    /// The first among `blocks`; `end` gives the end of a block at which the curve is to cross.
    fn find(stack: &Stack, blocks: Range<i16>, end: impl Fn(i16) -> i16) -> Self {
        let distance = |block: i16| u64::from(end(block).unsigned_abs()) << POSITION_BITS;
        let crosses = |test: &Test| {
            let f = stack.curve.bounds(distance(test.block).into());
            let (scale, height) = (f64::from(stack.scale), f64::from(test.height));
            scale * f.0 > height + 0.01 && scale * f.1 < height + 0.99
        };
        let wanted = |test: &Test| blocks.contains(&test.block) && crosses(test);
        let index = stack.tests.iter().position(wanted).expect("such a slot");
        let Test { block, height } = stack.tests[index];
        Self { slot: stack.sure + index, block, height, distance: distance(block) }
    }
}
