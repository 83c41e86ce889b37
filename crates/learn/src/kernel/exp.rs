//! e^x for eight numbers at once, none of them above 0.
//!
//! # Definition
//! With k the integer nearest to `x / ln 2` and `r = x - k ln 2`, `e^x = 2^k e^r` and
//! `|r| <= 0.347`; e^r is its Taylor polynomial of degree 13. Below -708 it is e^-708 (3e-308): no
//! subnormal number comes out. NaN stays NaN.
//!
//! # Error
//! Within 2^-50 of e^x, relatively. What the polynomial leaves out is below
//! `r^14/14! (1 + r) < 2^-57`; k times the upper part of ln 2 is exact, so r is off by less than
//! 2^-54; and each rounding of the polynomial is of terms that fall off by |r| and more.
//!
//! # Bits
//! Products and sums only, no branch and no table: the same bits on every
//! processor, and each lane's are its own.

use super::TILE;

/// Upper part of ln 2: 32 bits, so that the product with an integer of
/// 11 bits is exact. And the rest.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// Added to a small number it leaves the nearest integer in the last bits.
const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
/// 1/n!.
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

/// Overwrites each x with e^x; see the module. None may be above 0.
#[inline(always)]
pub(super) fn exp(numbers: &mut [f64; TILE]) {
    for x in numbers {
        *x = exp_of_one(*x);
    }
}

#[inline(always)]
fn exp_of_one(x: f64) -> f64 {
    // Not `max`, which would make a number of NaN.
    let x = if x < -708.0 { -708.0 } else { x };
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN_2[0]) - k * LN_2[1];
    // Even and odd powers apart: two short chains instead of a long one.
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

    /// Random points, and those where the rounding to k turns.
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
        assert!(worst > 2f64.powi(-54), "and the test would see more: {worst:e}");
    }

    #[test]
    fn ends_are_those_of_the_definition() {
        let mut got = [0.0, -0.0, -708.0, -709.0, f64::NEG_INFINITY, -1e300, f64::NAN, -f64::MIN_POSITIVE];
        exp(&mut got);
        assert_eq!(got[..2], [1.0, 1.0]);
        assert!(got[2] > 3e-308 && got[3..6].iter().all(|e| *e == got[2]));
        assert!(got[6].is_nan() && got[7] == 1.0);
    }
}
