//! The decreasing curves under which all noise is drawn, with certified bounds.
//!
//! # Definition
//! Positions are measured in blocks (see [`crate::stack`]) and written in fixed point with
//! [`POSITION_BITS`] bits behind the point. A curve is `f(y) = exp(-g(y))` with
//! ```text
//! g(y) = rate * y^2   (Gaussian)      or      g(y) = rate * |y|   (Laplace),                       (1)
//! ```
//! `rate` an exact rational: f(0) = 1, no normalising constant anywhere.
//!
//! # Guarantee
//! [`Curve::bounds`] is fast and encloses f by floating point with an error bound proved below;
//! [`Curve::enclose`] encloses it as tightly as one asks, in integers. Neither ever guesses.
//!
//! # The bound for floating point
//! Let u = 2^-53. The position, the rate and the products of (1) are rounded at most seven times,
//! so the computed exponent is `g (1 + e)`, |e| <= 8u. For g <= 700 that moves f by a factor within
//! `1 +- 2^-40`. The exponential itself ([`exp_neg_f64`]) is off by a factor within `1 +- 2^-41`. A
//! position known to its leading bits only moves g by less than `2^-49`. Together less than 2^-39;
//! [`SLACK`] is 2^-34.

use dashu::integer::UBig;
use dashu::rational::RBig;

use crate::exact::{Enclosure, exp_neg};

/// Bits behind the point of a position: what a 64-bit word has left after choosing one of 2^14
/// slots.
pub(crate) const POSITION_BITS: u32 = 50;

/// Relative half-width of [`Curve::bounds`], 32 times the proved error.
const SLACK: f64 = 1.0 / (1u64 << 34) as f64;

/// Beyond this exponent floating point says only that f lies in `[0, TINY]`.
const LARGEST_EXPONENT: f64 = 700.0;
/// 2^-1000, above exp(-699).
const TINY: f64 = f64::from_bits((1023 - 1000) << 52);

/// How the exponent grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Gaussian,
    Laplace,
}

/// An unnormalised density or probability, decreasing in the distance from 0.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    shape: Shape,
    rate: RBig,
    rate_f64: f64,
}

impl Curve {
    /// `rate` must be positive.
    pub(crate) fn new(shape: Shape, rate: RBig) -> Self {
        debug_assert!(rate > RBig::ZERO);
        let rate_f64 = rate.to_f64().value();
        Self { shape, rate, rate_f64 }
    }

    /// Certified `lower <= f <= upper` at a distance from 0 in units of 2^-POSITION_BITS blocks,
    /// and up to one unit farther (while the rate is at most 1), for a distance of which only the
    /// leading bits are known.
    #[inline]
    pub(crate) fn bounds(&self, distance: u128) -> (f64, f64) {
        if distance == 0 {
            // The distance may be known to its leading bits only: f is 1 or slightly below.
            return (1.0 - SLACK, 1.0);
        }
        let g = self.exponent_f64(distance);
        if g > LARGEST_EXPONENT {
            return (0.0, TINY);
        }
        let f = exp_neg_f64(g);
        (f * (1.0 - SLACK), f * (1.0 + SLACK))
    }

    /// g to a relative error of 8u.
    #[inline]
    fn exponent_f64(&self, distance: u128) -> f64 {
        const UNIT: f64 = 1.0 / (1u64 << POSITION_BITS) as f64;
        // The usual distance fits 63 bits, and those convert in one instruction.
        let y = i64::try_from(distance).map_or_else(|_| distance as f64, |distance| distance as f64) * UNIT;
        match self.shape {
            Shape::Gaussian => self.rate_f64 * (y * y),
            Shape::Laplace => self.rate_f64 * y,
        }
    }

    /// Encloses f at the distance `numerator / 2^bits`, to `precision` bits.
    pub(crate) fn enclose(&self, numerator: UBig, bits: usize, precision: usize) -> Enclosure {
        let y = RBig::from_parts(numerator.into(), UBig::ONE << bits);
        let g = match self.shape {
            Shape::Gaussian => &self.rate * (&y * &y),
            Shape::Laplace => &self.rate * y,
        };
        exp_neg(&g, precision)
    }

    /// Whether `f(y + width) <= f(y) / 2` for every `y >= start` (both in whole blocks).
    ///
    /// g is convex, so that the smallest of its increments over `width` is the first one. 0.7 > ln
    /// 2 leaves a hundredth for rounding.
    pub(crate) fn halves_within(&self, start: u32, width: u32) -> bool {
        let (start, width) = (f64::from(start), f64::from(width));
        let increment = match self.shape {
            Shape::Gaussian => self.rate_f64 * width * (2.0 * start + width),
            Shape::Laplace => self.rate_f64 * width,
        };
        increment >= 0.7
    }

    /// `floor(scale * f)`, certified.
    pub(crate) fn floor_times(&self, scale: u32, distance: u64) -> u32 {
        self.certified(scale, distance, f64::floor, |x, precision| x >> precision)
    }

    /// `ceil(scale * f)`, certified. At least 1, however small f is: no exponential is 0.
    pub(crate) fn ceil_times(&self, scale: u32, distance: u64) -> u32 {
        let ceil = |x: UBig, precision| (x + (UBig::ONE << precision) - UBig::ONE) >> precision;
        self.certified(
            scale,
            distance,
            |x| x.ceil().max(1.0),
            |x, precision| ceil(x, precision).max(UBig::ONE),
        )
    }

    /// Rounds both ends of an enclosure of `scale * f` and narrows it until they agree. It ends,
    /// because `scale * f` is irrational (Lindemann) unless the distance is 0, and then the
    /// enclosure is a point.
    fn certified(
        &self,
        scale: u32,
        distance: u64,
        round: impl Fn(f64) -> f64,
        round_exact: impl Fn(UBig, usize) -> UBig,
    ) -> u32 {
        let (lower, upper) = self.bounds(distance.into());
        // The rounding of these products is paid for by SLACK.
        let (low, high) = (round(f64::from(scale) * lower), round(f64::from(scale) * upper));
        if low == high {
            return low as u32;
        }
        let mut precision = 128;
        loop {
            let f = self.enclose(distance.into(), POSITION_BITS as usize, precision);
            let (low, high) =
                (round_exact(f.lower * scale, precision), round_exact(f.upper * scale, precision));
            if low == high {
                // Proof: f <= 1, so that the result is at most `scale`, a u32.
                return low.try_into().expect("at most `scale`");
            }
            precision *= 2;
        }
    }
}

/// `exp(-g)` for 0 <= g <= 700 with a relative error below 2^-41.
///
/// `g = n ln 2 + r` with |r| <= 0.35 and an absolute error of r below 2^-42 (`n ln 2 <= 700` is
/// rounded twice, the constant once: 3 * 700 * 2^-53); the series of exp(-r) to degree 11 leaves
/// `0.35^12/12! < 2^-46`, its roundings less than 2^-48; multiplication by 2^-n, n <= 1010, is
/// exact. No library function is involved: those promise no accuracy, and differ between platforms.
#[inline]
pub(crate) fn exp_neg_f64(g: f64) -> f64 {
    // Adding 1.5 * 2^52 rounds to an integer, which the last bits of the sum then spell.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let shifted = g * std::f64::consts::LOG2_E + ROUND;
    let r = (shifted - ROUND) * std::f64::consts::LN_2 - g;
    // Coefficients 1/k!, summed in pairs (Estrin) so that the additions do not wait for each other.
    let (r2, pair) = (r * r, |k: usize| INVERSE_FACTORIALS[k] + INVERSE_FACTORIALS[k + 1] * r);
    let r4 = r2 * r2;
    let series = (pair(0) + pair(2) * r2) + ((pair(4) + pair(6) * r2) + (pair(8) + pair(10) * r2) * r4) * r4;
    series * f64::from_bits(1023u64.wrapping_sub(shifted.to_bits()) << 52)
}

const INVERSE_FACTORIALS: [f64; 12] = {
    let (mut table, mut k) = ([1.0; 12], 1);
    while k < 12 {
        table[k] = table[k - 1] / k as f64;
        k += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(g: f64) -> f64 {
        let precision = 1200;
        let enclosure = exp_neg(&RBig::try_from(g).unwrap(), precision);
        (RBig::from(enclosure.lower) / RBig::from(UBig::ONE << precision)).to_f64().value()
    }

    #[test]
    fn the_fast_exponential_keeps_its_stated_error() {
        let edges = [0.0, f64::MIN_POSITIVE, 1e-300, 0.34657359, 0.34657360, 1.0, 699.99, 700.0];
        for g in edges.into_iter().chain((0..2000).map(|i| f64::from(i) * 0.35 + 1e-3)) {
            let error = (exp_neg_f64(g) / exact(g) - 1.0).abs();
            assert!(error < 1.0 / (1u64 << 41) as f64, "relative error {error:e} at {g}");
        }
    }

    proptest! {
        #[test]
        fn floating_point_bounds_enclose_the_exact_curve(
            gaussian: bool, numerator in 1u32.., denominator in 1u32.., distance in 0u64..1 << 62,
        ) {
            let shape = if gaussian { Shape::Gaussian } else { Shape::Laplace };
            let curve = Curve::new(shape, RBig::from_parts(numerator.into(), denominator.into()));
            let (lower, upper) = curve.bounds(distance.into());
            let precision = 1200;
            let f = curve.enclose(distance.into(), POSITION_BITS as usize, precision);
            let unit = RBig::from(UBig::ONE << precision);
            prop_assert!(RBig::try_from(lower).unwrap() <= RBig::from(f.lower) / &unit);
            prop_assert!(RBig::from(f.upper) / &unit <= RBig::try_from(upper).unwrap());
        }

        #[test]
        fn floors_and_ceilings_agree_with_high_precision(
            gaussian: bool, denominator in 1u32..10_000, distance in 0u64..1 << 57, scale in 1u32..1 << 14,
        ) {
            let shape = if gaussian { Shape::Gaussian } else { Shape::Laplace };
            let curve = Curve::new(shape, RBig::from_parts(1.into(), denominator.into()));
            let f = curve.enclose(distance.into(), POSITION_BITS as usize, 300);
            let floor = UBig::from(curve.floor_times(scale, distance));
            let ceil = UBig::from(curve.ceil_times(scale, distance));
            prop_assert!(&floor << 300usize <= f.lower * scale && f.upper * scale <= &ceil << 300usize);
            prop_assert!(&ceil - &floor <= UBig::ONE);
        }
    }

    /// A real place is known to one unit: the bounds at its near end hold over the whole of it, at
    /// 0 too.
    #[test]
    fn bounds_hold_up_to_the_next_place() {
        let unit = RBig::from(UBig::ONE << 300usize);
        for (shape, rate) in [(Shape::Gaussian, 2048u32), (Shape::Laplace, 16), (Shape::Laplace, 1)] {
            let curve = Curve::new(shape, RBig::from_parts(1.into(), rate.into()));
            for distance in [0u64, 1, 2, 1 << 20, 1 << 50, (1 << 57) - 1] {
                let (lower, upper) = curve.bounds(distance.into());
                let near = curve.enclose(distance.into(), POSITION_BITS as usize, 300);
                let far = curve.enclose((distance + 1).into(), POSITION_BITS as usize, 300);
                assert!(
                    RBig::try_from(lower).unwrap() <= RBig::from(far.lower) / &unit,
                    "{shape:?} {distance}"
                );
                assert!(
                    RBig::from(near.upper) / &unit <= RBig::try_from(upper).unwrap(),
                    "{shape:?} {distance}"
                );
            }
        }
    }

    /// Where floating point cannot tell on which side of an integer `scale * f` lies, the integers
    /// must.
    #[test]
    fn a_value_next_to_an_integer_is_rounded_by_high_precision() {
        // f(2^-46 blocks) = exp(-2^-46): the floating-point enclosure of 10000 f straddles 10000.
        let curve = Curve::new(Shape::Laplace, RBig::ONE);
        let (lower, upper) = curve.bounds(16);
        assert!(lower < 1.0 && upper > 1.0);
        assert_eq!(curve.floor_times(10_000, 16), 9_999);
        assert_eq!(curve.ceil_times(10_000, 16), 10_000);
        assert_eq!((curve.floor_times(10_000, 0), curve.ceil_times(10_000, 0)), (10_000, 10_000));
    }

    #[test]
    fn halving_widths_halve() {
        let curve = Curve::new(Shape::Gaussian, RBig::from_parts(1.into(), 2048u32.into()));
        assert!(!curve.halves_within(128, 5) && curve.halves_within(128, 8));
        let f = |y: u64| curve.bounds(u128::from(y) << POSITION_BITS).0;
        assert!((128..400).all(|y| f(y + 8) <= f(y) / 2.0));
    }
}
