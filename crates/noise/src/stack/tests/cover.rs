//! The premise of the theorem: the slots cover the area under `A f`, and the sure ones lie below
//! it. Checked with another exponential (that of `dashu`'s floating point at 300 bits) than the one
//! the tables are built with.

use dashu::base::Abs;
use dashu::float::FBig;
use dashu::float::round::mode::HalfEven;
use dashu::integer::UBig;
use proptest::prelude::*;

use super::*;
use crate::curve::POSITION_BITS;
use crate::stack::build::Block;
use crate::stack::{ABOVE_ALL, SLOTS, Tail};

type Float = FBig<HalfEven, 2>;

/// f at a distance in fixed point, to 300 bits.
fn independent(shape: Shape, rate: &RBig, distance: u64) -> Float {
    let y = RBig::from_parts(distance.into(), UBig::ONE << POSITION_BITS as usize);
    let g = match shape {
        Shape::Gaussian => rate * (&y * &y),
        Shape::Laplace => rate * y,
    };
    let float = |x: &RBig| {
        Float::from(x.numerator().clone()).with_precision(300).value()
            / Float::from(dashu::integer::IBig::from(x.denominator().clone())).with_precision(300).value()
    };
    (-float(&g)).exp()
}

fn check_cover(stack: &Stack, shape: Shape, rate: &RBig) {
    let f = |distance: u64| independent(shape, rate, distance) * Float::from(stack.scale);
    let (mut sure, mut first, mut last) = (0, 0, 0);
    for index in -128..128i16 {
        let block = Block::new(index, stack.support);
        let certain = stack.blocks[..stack.sure].iter().filter(|&&entry| i16::from(entry) == index).count();
        let tests = stack.tests.iter().filter(|test| test.height != ABOVE_ALL && test.block == index);
        let tests: Vec<u32> = tests.map(|test| test.height.into()).collect();
        sure += certain;
        if certain == 0 && tests.is_empty() {
            continue;
        }
        (first, last) = (first.min(index), last.max(index));
        let all = (certain + tests.len()) as u32;
        assert_eq!(
            tests,
            Vec::from_iter(certain as u32..all),
            "tests stand on the sure slots of block {index}"
        );
        assert!(
            Float::from(certain as u32) <= f(block.farthest),
            "sure slots of block {index} lie under the curve"
        );
        let slack = Float::from(all) - f(block.nearest);
        assert!(
            slack >= Float::ZERO || slack.abs() < Float::try_from(1e-60).unwrap(),
            "block {index} is covered"
        );
    }
    assert_eq!(sure, stack.sure);
    let tails = (stack.right.slots + stack.left.slots) as usize;
    assert_eq!(stack.sure + stack.tests.len() + tails, SLOTS, "every slot is one of the four kinds");
    assert!(stack.scale <= SLOTS as u32 && SLOTS < usize::from(ABOVE_ALL));
    assert_eq!(
        (stack.right.start as i16, stack.left.start as i16),
        (last + 1, -first),
        "no gap before the tails"
    );
    check_tail(stack.right, Block::new(last + 1, stack.support), &f);
    check_tail(stack.left, Block::new(first - 1, stack.support), &f);
}

fn check_tail(tail: Tail, first: Block, f: &impl Fn(u64) -> Float) {
    let width = 1u64 << tail.width_bits;
    let unit = Float::from(1u64 << (tail.width_bits + 1));
    for j in 0..30u64.min(2000 / width) {
        // The nearest place of superblock j, and the height of the envelope there.
        let distance = first.nearest + ((j * width) << POSITION_BITS);
        let envelope = Float::from(tail.slots).with_precision(300).value() / &unit / Float::from(1u64 << j);
        assert!(f(distance) <= envelope, "superblock {j} of {tail:?} is covered");
    }
}

#[test]
fn the_tables_of_the_rounded_samplers_cover_their_curves() {
    check_cover(&rounded_gaussian(), Shape::Gaussian, &ratio(1, 2048));
    check_cover(&rounded_laplace(), Shape::Laplace, &ratio(1, 16));
}

#[test]
fn most_slots_are_sure() {
    // Not a guarantee, but the reason for the speed: 95.6 % and 91.7 %.
    assert!(rounded_gaussian().sure as f64 >= 0.95 * SLOTS as f64);
    assert!(rounded_laplace().sure as f64 >= 0.91 * SLOTS as f64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_table_covers_its_curve(
        gaussian: bool, numerator in 1u64..1 << 40, denominator in 1u64..1 << 40, bits in 0u32..30,
    ) {
        let (shape, most) = if gaussian { (Shape::Gaussian, 2048) } else { (Shape::Laplace, 24) };
        // Rates as the samplers choose them: scales up to 32 or 24 blocks, and down to almost
        // nothing.
        let rate = ratio(numerator, denominator) + ratio(1, most);
        let support = Support::Integers { bits };
        check_cover(&Stack::new(Curve::new(shape, rate.clone()), support), shape, &rate);
    }
}
