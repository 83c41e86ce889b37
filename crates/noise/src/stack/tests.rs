//! Tests of the construction: the cover, the exact distribution, the comparisons, and twins that are wrong.

mod cover;
mod enumeration;
mod replay;
mod twins;

use dashu::integer::UBig;
use dashu::rational::RBig;

use super::{Stack, Support, TOTAL_VARIATION, draw};
use crate::curve::{Curve, POSITION_BITS, Shape};

/// Beyond where places are clamped lies less than the stated distance, for every curve that is drawn from: a scale has
/// at most 24 blocks (discrete Laplace) or a standard deviation at most 32 (both Gaussians). Twice the curve bounds both
/// tails: `P[|X| >= m] <= 2 exp(-m/t)` and `<= 2 exp(-m^2 / (2 sigma^2))`, on the integers too.
#[test]
fn the_clamp_moves_less_than_the_stated_probability() {
    let blocks = UBig::try_from(draw::FARTHEST >> POSITION_BITS).unwrap();
    for (shape, rate) in [(Shape::Laplace, ratio(1, 24)), (Shape::Gaussian, ratio(1, 2048))] {
        let f = Curve::new(shape, rate).enclose(blocks.clone(), 0, 400);
        assert!(f.upper * 2u8 <= UBig::ONE << (400 - 240), "{shape:?}");
    }
    assert_eq!(TOTAL_VARIATION, 2f64.powi(-240));
    let added = (1.0 + 60f64.exp()) * 2f64.powi(50) * TOTAL_VARIATION;
    assert!(added < 2f64.powi(-100) && added < 1e-12 * 1e-18);
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
