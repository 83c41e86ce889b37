//! Rounded Laplace of any whole scale, for noise whose scale is one of many.
//!
//! # Definition
//! For a whole scale s and L Laplace of scale 1 (density `exp(-|x|)/2`):
//! ```text
//! K = round(s L),    P[K = 0] = 1 - exp(-1/(2s)),
//!                    P[K = j] = exp(-(|j| - 1/2)/s) (1 - exp(-1/s)) / 2,  j /= 0                         (1)
//! ```
//! # Construction
//! |K| is at least 1 with probability exp(-1/(2s)), a coin. Given that, the exponential
//! distribution forgets: |K| - 1 is geometric with ratio exp(-1/s). The sign is a fair coin. All of
//! them are exact ([`BernoulliExp`], [`Geometric`]).
//!
//! # Guarantee
//! Rounding to integers is post-processing of the continuous mechanism where the answer is an
//! integer: see [`rounded`](crate::RoundedLaplace), which is faster and for one scale for each
//! grid.

use crate::bernoulli_exp::BernoulliExp;
use crate::bits::Bits;
use crate::error::NoiseError;
use crate::geometric::Geometric;

/// Scales of which the geometric part can be drawn.
const MOST_SCALE: u64 = 1 << 50;

/// `round(scale L)`, L Laplace of scale 1, drawn exactly.
///
/// ```
/// use sordino_noise::{ScaledLaplace, entropy};
/// let noise = ScaledLaplace::new(1000)?.sample(&mut entropy()?);
/// # let _ = noise;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScaledLaplace {
    beyond: BernoulliExp,
    farther: Geometric,
}

impl ScaledLaplace {
    /// Fails for a scale of 0 or beyond 2^50.
    pub fn new(scale: u64) -> Result<Self, NoiseError> {
        if scale > MOST_SCALE {
            let value = scale.to_string();
            return Err(NoiseError::TooLarge { parameter: "scale", value, most: "2^50" });
        }
        let farther = Geometric::with_ratio_exp(1, scale)?;
        Ok(Self { beyond: BernoulliExp::new(1, 2 * scale)?, farther })
    }

    /// One draw. Its sum with an answer may be clamped; the draw alone may not.
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> i128 {
        if !self.beyond.flip(bits) {
            return 0;
        }
        // Proof: a geometric draw of scale 2^50 does not come near to 2^127.
        let size = 1 + self.farther.sample(bits) as i128;
        if bits.next_u64() >> 63 == 0 { size } else { -size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::chi_square;

    const CELLS: i64 = 30;

    /// The distribution of s L at the edges of cells, from the textbook; the end cells have the
    /// tails.
    fn masses(scale: f64) -> Vec<f64> {
        let below = |x: f64| if x < 0.0 { 0.5 * (x / scale).exp() } else { 1.0 - 0.5 * (-x / scale).exp() };
        let cell = |j: i64| {
            let from = if j == -CELLS { 0.0 } else { below(j as f64 - 0.5) };
            let to = if j == CELLS { 1.0 } else { below(j as f64 + 0.5) };
            to - from
        };
        (-CELLS..=CELLS).map(cell).collect()
    }

    fn follows(scale: u64, claimed: f64) -> Result<(), String> {
        let (noise, mut bits) = (ScaledLaplace::new(scale).unwrap(), seeded(621));
        let mut counts = vec![0; 2 * CELLS as usize + 1];
        for _ in 0..100_000 {
            counts[(noise.sample(&mut bits).clamp((-CELLS).into(), CELLS.into()) as i64 + CELLS) as usize] +=
                1;
        }
        chi_square(&counts, &masses(claimed))
    }

    #[test]
    fn draws_follow_the_definition() {
        for scale in [1, 2, 5] {
            follows(scale, scale as f64).unwrap();
        }
        follows(4, 2.0).unwrap_err();
    }

    /// Rounded and discrete Laplace are not the same: the middle differs.
    #[test]
    fn formula_one_is_the_rounding_of_the_continuous_law() {
        for scale in [1.0f64, 3.0] {
            let cells = masses(scale);
            assert!((cells[CELLS as usize] - (1.0 - (-0.5 / scale).exp())).abs() < 1e-14);
            for j in [1, 2, 7] {
                let typed = (-(f64::from(j) - 0.5) / scale).exp() * (1.0 - (-1.0 / scale).exp()) / 2.0;
                assert!((cells[CELLS as usize + j as usize] - typed).abs() < 1e-14);
            }
        }
        follows(1, 1.3).unwrap_err();
    }

    #[test]
    fn large_scales_keep_the_shape() {
        for scale in [1 << 20, 1 << 50] {
            let (noise, mut bits) = (ScaledLaplace::new(scale).unwrap(), seeded(622));
            let within =
                (0..20_000).filter(|_| noise.sample(&mut bits).unsigned_abs() <= scale.into()).count() as f64;
            let inside = 1.0 - (-1f64).exp();
            // Six standard deviations (false alarm 2e-9).
            assert!((within - 20_000.0 * inside).abs() < 6.0 * (20_000.0 * inside * (1.0 - inside)).sqrt());
        }
        assert!(ScaledLaplace::new(0).is_err() && ScaledLaplace::new((1 << 50) + 1).is_err());
    }
}
