//! e^x for eight numbers x <= 0 at once.
//!
//! # Definition
//! With k the integer nearest to `x / ln 2` and `r = x - k ln 2`, `e^x = 2^k e^r` and
//! `|r| <= 0.347`; e^r is computed as its Taylor polynomial of degree 13. For x below -708 the
//! result is e^-708 (3e-308), so it is never subnormal. NaN stays NaN.
//!
//! # Error
//! The relative error is below 2^-50. The remainder of the polynomial is below
//! `r^14/14! (1 + r) < 2^-57`; k times the upper part of ln 2 is exact, so r is off by less than
//! 2^-54; and each rounding of the polynomial is of terms that shrink by |r| or more.
//!
//! # Bits
//! There are only products and sums, no branch and no table. So every processor gives the same
//! bits, and a lane does not depend on the others.

use super::TILE;

/// ln 2 in two parts. The upper one has 32 bits, so that its product with an integer of 11 bits is
/// exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// Adding this to a small number leaves the nearest integer in the last bits.
const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
/// 1/n! for n = 0, ..., 13.
const TAYLOR: [f64; 14] = {
    let mut terms = [1.0; 14];
    let (mut n, mut factorial) = (1, 1.0);
    while n < 14 {
        // Exact: 13! is below 2^53.
        factorial *= n as f64;
        terms[n] = 1.0 / factorial;
        n += 1;
    }
    terms
};

/// Overwrites each x with e^x. No x may be above 0.
#[inline(always)]
pub(super) fn exp(numbers: &mut [f64; TILE]) {
    for x in numbers {
        *x = exp_of_one(*x);
    }
}

#[inline(always)]
fn exp_of_one(x: f64) -> f64 {
    // Not `max`, which would turn NaN into a number.
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2[0]) - k * LN_2[1];
    // Even and odd powers are summed apart: two short chains of operations instead of a long one.
    let square = r * r;
    let (mut even, mut odd) = (TAYLOR[12], TAYLOR[13]);
    for n in (0..6).rev() {
        even = even * square + TAYLOR[2 * n];
        odd = odd * square + TAYLOR[2 * n + 1];
    }
    // k is at least -1022: its last twelve bits plus 1023 are the exponent of 2^k.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    (even + r * odd) * power
}

#[cfg(test)]
mod tests {
    use dashu::float::FBig;
    use dashu::float::round::mode::HalfEven;

    use super::*;

    fn relative_error(x: f64) -> f64 {
        let exact = FBig::<HalfEven, 2>::try_from(x).unwrap().with_precision(120).value().exp();
        let mut tile = [x; TILE];
        exp(&mut tile);
        let got = FBig::<HalfEven, 2>::try_from(tile[3]).unwrap().with_precision(120).value();
        ((got - &exact) / exact).to_f64().value().abs()
    }

    /// Scattered points, and those where x / ln 2 is halfway between two integers.
    #[test]
    fn the_error_is_within_its_bound() {
        let mut worst = 0f64;
        for i in 0..3000 {
            let part = (f64::from(i) * 0.618_033_988_75).fract();
            for x in [-708.0 * part, -part, -part * 1e-3, -(f64::from(i % 1000) + 0.5) * 2f64.ln()] {
                worst = worst.max(if x < -708.0 { 0.0 } else { relative_error(x) });
            }
        }
        assert!(worst < 2f64.powi(-50), "{worst:e}");
        assert!(worst > 2f64.powi(-54), "the test must be able to see an error: {worst:e}");
    }

    #[test]
    fn extreme_arguments_are_as_defined() {
        let mut got = [0.0, -0.0, -708.0, -709.0, f64::NEG_INFINITY, -1e300, f64::NAN, -f64::MIN_POSITIVE];
        exp(&mut got);
        assert_eq!(got[..2], [1.0, 1.0]);
        assert!(got[2] > 3e-308 && got[3..6].iter().all(|e| *e == got[2]));
        assert!(got[6].is_nan() && got[7] == 1.0);
    }
}
