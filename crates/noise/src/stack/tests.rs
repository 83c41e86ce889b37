//! Tests of the construction: the cover, the exact distribution, the comparisons, and twins that are wrong.

mod cover;
mod enumeration;
mod replay;
mod twins;

use dashu::rational::RBig;

use super::{Stack, Support};
use crate::curve::{Curve, Shape};

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
