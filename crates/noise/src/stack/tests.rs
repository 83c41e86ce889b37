//! Tests of the construction: the cover, the exact distribution, the comparisons, and twins that
//! are wrong.

mod cover;
mod enumeration;
mod replay;
mod twins;

use dashu::rational::RBig;

use super::{Stack, Support, clamped};
use crate::curve::{Curve, Shape};

/// What [`Stack::fill`] says about its clamp: with the ends that it names, a sum is the same
/// whether the noise was clamped before or not. With the ends of the type itself it would not be.
#[test]
fn a_clamped_sum_does_not_see_that_its_noise_was_clamped() {
    let (answers, beyond) = ([-1000_i64, -999, 0, 7, 1000], i128::from(i64::MAX));
    let noises =
        [-3 * beyond, -beyond - 1, -beyond, -beyond + 1500, -5, 0, 900, beyond - 1001, beyond, 2 * beyond];
    let wrong = |answer: i64, noise: i128| {
        let exact = (i128::from(answer) + noise).clamp(i64::MIN.into(), i64::MAX.into());
        i128::from(answer.saturating_add(clamped(noise))) != exact
    };
    let end = i64::MAX - 1000;
    for answer in answers {
        for noise in noises {
            let exact = (i128::from(answer) + noise).clamp((-end).into(), end.into());
            assert_eq!(i128::from(answer.saturating_add(clamped(noise)).clamp(-end, end)), exact);
        }
    }
    assert!(wrong(-1000, 2 * beyond));
}

/// The half-normal of the rounded Gaussian.
fn rounded_gaussian() -> Stack {
    Stack::new(Curve::new(Shape::Gaussian, ratio(1, 2048)), Support::Reals)
}

/// The exponential of the rounded Laplace.
fn rounded_laplace() -> Stack {
    Stack::new(Curve::new(Shape::Laplace, ratio(1, 16)), Support::Reals)
}

/// Blocks of 2^bits integers under `exp(-k^2 / (2 sigma^2))`.
fn discrete_gaussian(sigma_squared: RBig, bits: u32) -> Stack {
    let rate = RBig::from(1u128 << (2 * bits)) / (sigma_squared * RBig::from(2));
    Stack::new(Curve::new(Shape::Gaussian, rate), Support::Integers { bits })
}

/// Blocks of 2^bits integers under `exp(-|k| / scale)`.
fn discrete_laplace(scale: RBig, bits: u32) -> Stack {
    Stack::new(Curve::new(Shape::Laplace, RBig::from(1u64 << bits) / scale), Support::Integers { bits })
}

fn ratio(numerator: u64, denominator: u64) -> RBig {
    RBig::from_parts(numerator.into(), denominator.into())
}
