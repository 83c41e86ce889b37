//! Rounded Student's t: noise with heavy tails and a variance, rounded to integers.
//!
//! # Definition
//! For a whole scale s and T of Student's t with three degrees of freedom (density
//! `2 / (π sqrt 3 (1 + x^2/3)^2)`, variance 3):
//! ```text
//! K = round(s T),    P[K = j] = F((j + 1/2) / s) - F((j - 1/2) / s)
//! F(x) = 1/2 + (atan u + u / (1 + u^2)) / π,    u = x / sqrt 3                                          (1)
//! ```
//! # Construction
//! A Gaussian vector (N_0, ..., N_3) has a uniform direction, and `sqrt 3 N_0 / |(N_1, N_2, N_3)|`
//! is T by definition. The quotient depends on the direction alone, so that a point (a, b_1, b_2,
//! b_3), uniform in the unit ball, has the same: `|T| = sqrt 3 |a| / |b|`. Coordinates are binary
//! fractions. Bits of them are drawn until they decide `a^2 + |b|^2 < 1` and the integer nearest to
//! `s sqrt 3 a / |b|`, which is `floor((1 + floor(sqrt(12 s^2 a^2 / |b|^2))) / 2)`. Integers alone
//! decide both, so that (1) is exact. Three points of ten are in the ball.
//!
//! # Guarantee
//! Rounding to integers is post-processing of the continuous mechanism where the answer is an
//! integer: see [`rounded`](crate::RoundedLaplace).
//!
//! # Pitfalls
//! - Higher moments do not exist: K beyond 2^62 is returned as ±2^62. That is post-processing only
//!   if the noisy answer is clamped to a range well inside of it.

use std::num::NonZero;

use dashu::base::SquareRoot;
use dashu::integer::UBig;

use crate::bits::Bits;
use crate::error::NoiseError;

/// Draws beyond this are returned as this.
const FARTHEST: u64 = 1 << 62;
/// Larger scales would leave no room between the noise and [`FARTHEST`].
const MOST_SCALE: u64 = 1 << 53;

/// `round(scale T)`, T of Student's t with three degrees of freedom, drawn exactly.
///
/// ```
/// use sordino_noise::{RoundedStudent, entropy};
/// let noise = RoundedStudent::new(1000)?.sample(&mut entropy()?);
/// let released = 5_i64.saturating_add(noise).clamp(0, 100_000); // clamping is post-processing
/// # let _ = released;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundedStudent {
    scale: NonZero<u64>,
}

impl RoundedStudent {
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
            if let Some(size) = self.nearest(bits) {
                let size = size as i64; // at most 2^62
                return if bits.next_u64() >> 63 == 0 { size } else { -size };
            }
        }
    }

    /// The integer nearest to `s sqrt 3 a / |b|` for a new point; none for one outside of the ball.
    fn nearest<R: Bits + ?Sized>(&self, bits: &mut R) -> Option<u64> {
        // Each coordinate is from `point[i]` to `point[i] + 1`, in units of 2^-known.
        let (mut point, mut known) = ([const { UBig::ZERO }; 4], 0usize);
        loop {
            for coordinate in &mut point {
                *coordinate = (&*coordinate << 64usize) + UBig::from(bits.next_u64());
            }
            known += 64;
            let one = UBig::ONE << (2 * known);
            let (a, b) = squares(&point, 0);
            if &a + &b >= one {
                return None;
            }
            let (a_end, b_end) = squares(&point, 1);
            // Where it is not decided whether the point is in the ball, or |b| may be 0: more bits.
            if &a_end + &b_end > one || b.is_zero() {
                continue;
            }
            let (low, high) = (self.nearest_root(a, b_end), self.nearest_root(a_end, b));
            if low >= UBig::from(FARTHEST) {
                return Some(FARTHEST);
            }
            // At the upper end itself the quotient may belong to the next integer, but it is not
            // reached.
            if low == high {
                // Proof: below 2^62.
                return Some(low.try_into().expect("checked to be small"));
            }
        }
    }

    /// `floor(1/2 + s sqrt(3 a / b))`, of the squares a and b: `floor(sqrt x)` is that of floor(x).
    fn nearest_root(&self, a: UBig, b: UBig) -> UBig {
        let scale = UBig::from(self.scale.get());
        (UBig::ONE + (UBig::from(12u8) * &scale * &scale * a / b).sqrt()) / UBig::from(2u8)
    }
}

/// `(a + more)^2` and the sum of the `(b_i + more)^2`.
fn squares(point: &[UBig; 4], more: u8) -> (UBig, UBig) {
    let square = |coordinate: &UBig| {
        let end = coordinate + UBig::from(more);
        &end * &end
    };
    (square(&point[0]), square(&point[1]) + square(&point[2]) + square(&point[3]))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::danger::seeded;
    use crate::testing::{Replay, chi_square};

    /// The distribution of Student's t with three degrees, by Simpson's rule on the textbook's
    /// density `Γ(2) / (sqrt(3π) Γ(3/2)) (1 + x^2/3)^-2`.
    fn below(x: f64) -> f64 {
        let density = |x: f64| 2.0 / (PI * 3f64.sqrt()) / (1.0 + x * x / 3.0).powi(2);
        let n = 4000;
        let h = x / f64::from(n);
        let weight = |i: i32| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * f64::from(i % 2) };
        0.5 + (0..=n).map(|i| weight(i) * density(h * f64::from(i))).sum::<f64>() * h / 3.0
    }

    /// (1), as typed in the definition.
    fn closed(x: f64) -> f64 {
        let u = x / 3f64.sqrt();
        0.5 + (u.atan() + u / (1.0 + u * u)) / PI
    }

    #[test]
    fn the_formula_is_the_integral_of_the_density() {
        for x in [-7.0, -1.0, 0.0, 0.3, 2.0, 11.0] {
            assert!((below(x) - closed(x)).abs() < 1e-10, "{x}");
        }
        // Tables of Student's t: 95 % two-sided at 3 degrees.
        assert!((closed(3.182_446_305_284_263) - 0.975).abs() < 1e-12);
    }

    fn follows(scale: u64, claimed: f64) -> Result<(), String> {
        let (cells, noise, mut bits) = (40i64, RoundedStudent::new(scale).unwrap(), seeded(611));
        let mut counts = vec![0; 2 * cells as usize + 1];
        for _ in 0..100_000 {
            counts[(noise.sample(&mut bits).clamp(-cells, cells) + cells) as usize] += 1;
        }
        let edge = |j: i64| closed((j as f64 - 0.5) / claimed);
        let mass = |j: i64| {
            let (from, to) =
                (if j == -cells { 0.0 } else { edge(j) }, if j == cells { 1.0 } else { edge(j + 1) });
            to - from
        };
        chi_square(&counts, &(-cells..=cells).map(mass).collect::<Vec<_>>())
    }

    #[test]
    fn draws_follow_the_definition() {
        for scale in [1, 2, 7] {
            follows(scale, scale as f64).unwrap();
        }
        follows(2, 1.0).unwrap_err();
    }

    /// P[|T| <= 1] = 0.609 at any scale.
    #[test]
    fn large_scales_keep_the_shape() {
        let inside = 2.0 * closed(1.0) - 1.0;
        for scale in [1000, 1 << 40, 1 << 53] {
            let (noise, mut bits) = (RoundedStudent::new(scale).unwrap(), seeded(612));
            let found =
                (0..20_000).filter(|_| noise.sample(&mut bits).unsigned_abs() <= scale).count() as f64;
            // Six standard deviations (false alarm 2e-9).
            let spread = (20_000.0 * inside * (1.0 - inside)).sqrt();
            assert!((found - 20_000.0 * inside).abs() < 6.0 * spread + 20.0, "{found}");
        }
    }

    /// At scale 1 the quotient is 1/2 where `12 a^2 = |b|^2`. A point whose first 64 bits do not
    /// tell the side of it is decided by the next ones.
    #[test]
    fn an_undecided_draw_asks_for_more_bits() {
        let noise = RoundedStudent::new(1).unwrap();
        // |b| = 2^-1, a = |b| / sqrt 12 = 0.144...: rounded down or up, as the following bits say.
        let (a, b) = (2_662_558_164_157_085_850u64, 1u64 << 63);
        let (mut down, mut up) = (0, 0);
        for more in [0, u64::MAX] {
            let mut bits = Replay::new([a, b, 0, 0, more, u64::MAX - more, 0, 0, 0]);
            match noise.sample(&mut bits) {
                0 => down += 1,
                1 => up += 1,
                other => panic!("{other}"),
            }
            bits.assert_used_up();
        }
        assert_eq!((down, up), (1, 1));
    }

    #[test]
    fn edges() {
        assert!(RoundedStudent::new(0).is_err() && RoundedStudent::new(u64::MAX).is_err());
        let far = RoundedStudent::new(1 << 53).unwrap();
        assert_eq!(far.sample(&mut Replay::new([1 << 63, 1, 1, 1, 0])), 1 << 62);
        assert_eq!(far.sample(&mut Replay::new([1 << 63, 1, 1, 1, u64::MAX])), -(1 << 62));
        // A point outside of the ball is drawn again.
        let outside = [u64::MAX; 4];
        let mut bits = Replay::new(outside.into_iter().chain([0, 1 << 63, 0, 0, 0]).collect::<Vec<_>>());
        assert_eq!(RoundedStudent::new(1).unwrap().sample(&mut bits), 0);
        bits.assert_used_up();
    }
}
