//! `exp(-g)` of a rational number, enclosed between two integers as tightly as one asks.
//!
//! # Definition
//! For a rational `g >= 0` and a precision `p`, [`exp_neg`] finds integers `lower <= upper` with
//! ```text
//! lower / 2^p  <=  exp(-g)  <=  upper / 2^p,        upper - lower of the order of 1.          (1)
//! ```
//! # Why (1) holds
//! Only integers are computed with, and every rounding goes outward. `g` is halved `s` times until
//! it is at most 1/2; the alternating series of `exp(-r)`, `r = g / 2^s`, is summed until a term
//! falls below the last place, and the whole of that term is added on both sides (the terms of an
//! alternating series with falling terms bound its remainder); then the enclosure is squared `s`
//! times, since `exp(-g) = exp(-r)^(2^s)`.

use dashu::base::BitTest;
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

/// An enclosure `[lower, upper] / 2^precision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Enclosure {
    pub(crate) lower: UBig,
    pub(crate) upper: UBig,
    pub(crate) precision: usize,
}

/// Encloses `exp(-g)`, `g >= 0`, to about `precision` bits behind the point.
pub(crate) fn exp_neg(g: &RBig, precision: usize) -> Enclosure {
    debug_assert!(*g >= RBig::ZERO);
    if g.is_zero() {
        let one = UBig::ONE << precision;
        return Enclosure { lower: one.clone(), upper: one, precision };
    }
    let (numerator, denominator) = (magnitude(g.numerator()), g.denominator());
    // exp(-g) < 2^-g <= 2^-precision: nothing more to know at this precision, and no huge powers
    // below.
    if numerator >= denominator * UBig::from(precision) {
        return Enclosure { lower: UBig::ZERO, upper: UBig::ONE, precision };
    }
    let whole = (&numerator / denominator).bit_len();
    let halvings = whole + 1; // g < 2^whole, hence g / 2^halvings < 1/2
    // Each squaring doubles the error of the last place; 16 more bits pay for the roundings of the
    // series.
    let places = precision + halvings + 16;
    let scaled = (numerator << (places - halvings)) / denominator;
    let mut enclosure = series(&scaled, places);
    for _ in 0..halvings {
        enclosure = square(&enclosure);
    }
    round_outward(enclosure, precision)
}

/// Encloses `exp(-r)` for every `r` in `[r, r + 1] / 2^places`, `r / 2^places < 1/2`.
fn series(r: &UBig, places: usize) -> Enclosure {
    let r_upper = r + UBig::ONE;
    let one = UBig::ONE << places;
    // Bounds of r^n / n!, which alternate in sign from n = 1 on.
    let (mut term_lower, mut term_upper) = (one.clone(), one.clone());
    let (mut lower, mut upper) = (IBig::from(one.clone()), IBig::from(one));
    for n in 1u32.. {
        term_lower = ((&term_lower * r) >> places) / UBig::from(n);
        term_upper = (((&term_upper * &r_upper) >> places) + UBig::ONE) / UBig::from(n) + UBig::ONE;
        if n % 2 == 1 {
            lower -= &term_upper;
            upper -= &term_lower;
        } else {
            lower += &term_lower;
            upper += &term_upper;
        }
        // Once a term is down to its roundings, the remainder is smaller than the term itself.
        if term_upper <= UBig::from(2u8) {
            lower -= &term_upper;
            upper += &term_upper;
            break;
        }
    }
    Enclosure { lower: magnitude(&lower.max(IBig::ZERO)), upper: magnitude(&upper), precision: places }
}

fn square(x: &Enclosure) -> Enclosure {
    Enclosure {
        lower: (&x.lower * &x.lower) >> x.precision,
        upper: ((&x.upper * &x.upper) >> x.precision) + UBig::ONE,
        precision: x.precision,
    }
}

fn round_outward(x: Enclosure, precision: usize) -> Enclosure {
    let dropped = x.precision - precision;
    Enclosure { lower: x.lower >> dropped, upper: (x.upper >> dropped) + UBig::ONE, precision }
}

/// The absolute value. Callers hand over numbers that are not negative.
fn magnitude(x: &IBig) -> UBig {
    x.clone().into_parts().1
}

#[cfg(test)]
mod tests {
    use dashu::float::FBig;
    use proptest::prelude::*;

    use super::*;

    /// exp(-g) by another program: the floating-point exponential of `dashu`, with room to spare.
    fn independent(g: &RBig, precision: usize) -> (UBig, UBig) {
        type Float = FBig<dashu::float::round::mode::HalfEven, 2>;
        let digits = precision + 64;
        let x = Float::from(-g.numerator().clone()).with_precision(digits).value()
            / Float::from(IBig::from(g.denominator().clone())).with_precision(digits).value();
        let scaled = (x.exp() << (precision as isize + 20)).to_int().value();
        // Within 2^-20 of the last place of the enclosure on either side.
        (magnitude(&(scaled.clone() - IBig::ONE)), magnitude(&(scaled + IBig::ONE)))
    }

    fn contains(enclosure: &Enclosure, g: &RBig) -> bool {
        let (below, above) = independent(g, enclosure.precision);
        &enclosure.lower << 20usize <= above && below <= &enclosure.upper << 20usize
    }

    #[test]
    fn zero_is_exact() {
        let one = UBig::ONE << 90usize;
        assert_eq!(exp_neg(&RBig::ZERO, 90), Enclosure { lower: one.clone(), upper: one, precision: 90 });
    }

    #[test]
    fn what_is_below_the_last_place_is_between_zero_and_one_unit() {
        let g = RBig::from(10_000);
        assert_eq!(exp_neg(&g, 64), Enclosure { lower: UBig::ZERO, upper: UBig::ONE, precision: 64 });
        assert!(exp_neg(&g, 20_000).lower > UBig::ZERO);
    }

    proptest! {
        #[test]
        fn the_truth_is_inside_and_the_walls_are_close(
            numerator in 1u64.., denominator in 1u64.., shift in 0usize..80, precision in 30usize..400,
        ) {
            // g from about 2^-80 to 2^8.
            let g = RBig::from_parts(numerator.into(), UBig::from(denominator) << shift);
            prop_assume!(g < RBig::from(200));
            let enclosure = exp_neg(&g, precision);
            prop_assert!(contains(&enclosure, &g));
            prop_assert!(&enclosure.upper - &enclosure.lower <= UBig::from(3u8));
        }
    }
}
