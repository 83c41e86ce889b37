//! Rounded Cauchy: heavy-tailed noise of any whole scale, rounded to integers.
//!
//! # Definition
//! For a whole scale s and C standard Cauchy (density `1 / (π (1 + x^2))`):
//! ```text
//! K = round(s C),    P[K = j] = (atan((j + 1/2) / s) - atan((j - 1/2) / s)) / π                          (1)
//! ```
//! # Construction
//! For (a, b) uniform in the quarter of the unit disc, a/b is the absolute value of a standard
//! Cauchy: its angle is uniform. a and b are binary fractions. Bits of them are drawn until they
//! decide `a^2 + b^2 < 1` and the integer nearest to `s a/b`; both are decided by integers alone,
//! so that (1) is exact.
//!
//! # Guarantee
//! Rounding to integers is post-processing of the continuous mechanism where the answer is an
//! integer: see [`rounded`](crate::RoundedLaplace).
//!
//! # Pitfalls
//! - There is no mean and no variance, and large values are frequent: K beyond 2^62 is returned as
//!   ±2^62. That is post-processing only if the noisy answer is clamped to a range well inside of
//!   it.

use std::num::NonZero;

use dashu::integer::UBig;

use crate::bits::Bits;
use crate::error::NoiseError;

/// Draws beyond this are returned as this.
const FARTHEST: u64 = 1 << 62;
/// Larger scales would leave no room between the noise and [`FARTHEST`].
const MOST_SCALE: u64 = 1 << 53;

/// `round(scale C)`, C standard Cauchy, drawn exactly.
///
/// ```
/// use sordino_noise::{RoundedCauchy, entropy};
/// let noise = RoundedCauchy::new(1000)?.sample(&mut entropy()?);
/// let released = 5_i64.saturating_add(noise).clamp(0, 100_000); // clamping is post-processing
/// # let _ = released;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundedCauchy {
    scale: NonZero<u64>,
}

impl RoundedCauchy {
    /// Fails for a scale of 0 or beyond 2^53.
    pub fn new(scale: u64) -> Result<Self, NoiseError> {
        if scale > MOST_SCALE {
            let value = scale.to_string();
            return Err(NoiseError::TooLarge { parameter: "scale", value, most: "2^53" });
        }
        let scale = NonZero::new(scale)
            .ok_or_else(|| NoiseError::NotPositive { parameter: "scale", value: "0".to_owned() })?;
        Ok(Self { scale })
    }

    /// One draw.
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i64 {
        loop {
            let (a, b) = (bits.next_u64(), bits.next_u64());
            if let Some(size) = self.nearest(a, b).or_else(|| self.nearest_exact(a, b, bits)) {
                let size = size as i64; // at most 2^62
                return if bits.next_u64() >> 63 == 0 { size } else { -size };
            }
        }
    }

    /// The integer nearest to s a/b from the first 64 bits of a and b, if they are enough to decide
    /// everything and the point is in the disc.
    fn nearest(&self, a: u64, b: u64) -> Option<u64> {
        let square = |x: u64| u128::from(x) * u128::from(x);
        // (a + 1)^2 + (b + 1)^2 <= 2^128, and no overflow on the way.
        let a_end = a.checked_add(1)?;
        let b_end = b.checked_add(1)?;
        square(a_end).checked_add(square(b_end))?;
        if b == 0 {
            return None;
        }
        let quotient = |a: u64, b: u64| {
            let (numerator, b) = (u128::from(self.scale.get()) * u128::from(a), u128::from(b));
            // floor(n/b + 1/2) = floor((2n + b) / 2b); 2n < 2^118.
            (2 * numerator + b) / (2 * b)
        };
        let (low, high) = (quotient(a, b_end), quotient(a_end, b));
        // At the upper end itself the quotient belongs to the next integer, but is not reached.
        (low == high).then(|| low.min(FARTHEST.into()) as u64)
    }

    /// The same with as many bits as it takes; none for a point outside of the disc.
    #[cold]
    fn nearest_exact<R: Bits + ?Sized>(&self, a: u64, b: u64, bits: &mut R) -> Option<u64> {
        let (mut a, mut b, mut known) = (UBig::from(a), UBig::from(b), 64usize);
        let scale = UBig::from(self.scale.get());
        loop {
            let (a_end, b_end) = (&a + UBig::ONE, &b + UBig::ONE);
            let one = UBig::ONE << (2 * known);
            if &a * &a + &b * &b >= one {
                return None;
            }
            if &a_end * &a_end + &b_end * &b_end <= one && b != UBig::ZERO {
                let low = nearest_quotient(&scale * &a, &b_end);
                let high = nearest_quotient(&scale * &a_end, &b);
                if low >= UBig::from(FARTHEST) {
                    return Some(FARTHEST);
                }
                if low == high {
                    // Proof: below 2^62.
                    return Some(low.try_into().expect("checked to be small"));
                }
            }
            a = (a << 64usize) + UBig::from(bits.next_u64());
            b = (b << 64usize) + UBig::from(bits.next_u64());
            known += 64;
        }
    }
}

/// `floor(n/d + 1/2)`.
fn nearest_quotient(numerator: UBig, denominator: &UBig) -> UBig {
    ((numerator << 1usize) + denominator) / (denominator << 1usize)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::danger::seeded;
    use crate::testing::{Replay, chi_square};

    /// Equation (1) for |j| < cells, the ends with the tails.
    fn masses(scale: f64, cells: i64) -> Vec<f64> {
        let below = |j: i64| 0.5 + ((j as f64 - 0.5) / scale).atan() / PI;
        let inner = |j: i64| below(j + 1) - below(j);
        (-cells..=cells)
            .map(|j| match j {
                j if j == -cells => below(j + 1),
                j if j == cells => 1.0 - below(j),
                j => inner(j),
            })
            .collect()
    }

    fn follows(scale: u64, claimed: f64) -> Result<(), String> {
        let (cells, noise, mut bits) = (40i64, RoundedCauchy::new(scale).unwrap(), seeded(511));
        let mut counts = vec![0; 2 * cells as usize + 1];
        for _ in 0..100_000 {
            counts[(noise.sample(&mut bits).clamp(-cells, cells) + cells) as usize] += 1;
        }
        chi_square(&counts, &masses(claimed, cells))
    }

    #[test]
    fn draws_follow_the_definition() {
        for scale in [1, 2, 7] {
            follows(scale, scale as f64).unwrap();
        }
        follows(2, 1.0).unwrap_err();
    }

    /// Half of all draws are within the scale, at any scale.
    #[test]
    fn quartiles_are_at_the_scale() {
        for scale in [1000, 1 << 40, 1 << 53] {
            let (noise, mut bits) = (RoundedCauchy::new(scale).unwrap(), seeded(512));
            let inside =
                (0..20_000).filter(|_| noise.sample(&mut bits).unsigned_abs() <= scale).count() as f64;
            // Six standard deviations (false alarm 2e-9).
            assert!((inside - 10_000.0).abs() < 6.0 * 5000f64.sqrt(), "{inside}");
        }
    }

    /// Both roads agree wherever the short one decides.
    #[test]
    fn the_short_road_never_decides_otherwise() {
        let mut bits = seeded(513);
        let mut decided = 0;
        for _ in 0..20_000 {
            let noise = RoundedCauchy::new(1 + bits.next_u64() % (1 << 20)).unwrap();
            let (a, b) = (bits.next_u64(), bits.next_u64());
            if let Some(size) = noise.nearest(a, b) {
                decided += 1;
                assert_eq!(noise.nearest_exact(a, b, &mut Replay::new([])), Some(size));
            }
        }
        assert!(decided > 15_000);
    }

    /// a/b about 1/2 at scale 1: rounded down or up, as the following bits say.
    #[test]
    fn an_undecided_draw_asks_for_more_bits() {
        let noise = RoundedCauchy::new(1).unwrap();
        let (a, b) = (1u64 << 61, 1u64 << 62);
        assert_eq!(noise.nearest(a, b), None);
        // b larger, a not: below one half. a larger, b not: above it.
        for (more_a, more_b, size) in [(0, u64::MAX, 0), (u64::MAX, 0, 1)] {
            let mut bits = Replay::new([a, b, more_a, more_b, 0]);
            assert_eq!(noise.sample(&mut bits), size);
            bits.assert_used_up();
        }
        // The rim of the disc: a = 3/5, b = 4/5 to 64 bits, and then inside or outside.
        let (a, b) = (0x9999_9999_9999_9999, 0xcccc_cccc_cccc_cccc);
        assert_eq!(noise.nearest_exact(a, b, &mut Replay::new([0, 0])), Some(1));
        assert_eq!(noise.nearest_exact(a, b, &mut Replay::new([u64::MAX, u64::MAX])), None);
    }

    #[test]
    fn edges() {
        assert!(RoundedCauchy::new(0).is_err() && RoundedCauchy::new(u64::MAX).is_err());
        let far = RoundedCauchy::new(1 << 53).unwrap();
        assert_eq!(far.sample(&mut Replay::new([1 << 63, 1, 1, 1, 0])), 1 << 62);
        assert_eq!(far.sample(&mut Replay::new([1 << 63, 0, 0, 1, u64::MAX])), -(1 << 62));
        // A point outside of the disc is drawn again.
        assert_eq!(
            far.sample(&mut Replay::new([u64::MAX, u64::MAX, 0, 0, 0, 1 << 63, 0, 1 << 20, 0])).abs(),
            0
        );
    }
}
