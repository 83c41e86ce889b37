//! Noise for one vector of known sensitivity.
//!
//! # Definition
//! With step g and depth k, coordinate v becomes `(round(v/g) + K) g`, K the noise of scale 2^k
//! rounded to integers: Gaussian for each coordinate, or spherical (the density depends on the
//! length of the whole vector).
//!
//! # Guarantee
//! Let D be the clip norm (neighbours are D apart, or 2D under `replace`) and d the dimension. A
//! quotient `v/g` is clamped to ±2^50 steps, where its rounding in `f64` is at most 1/2 step, and
//! so is that to an integer. So two vectors that are D apart become integers at most
//! `D/g + 2 sqrt(d)` steps apart. With
//! ```text
//! g = D / (2^k/z - 2 sqrt(d))                                                                  (1)
//! ```
//! this is `2^k/z`, so the noise multiplier is z. Integers plus rounded noise are the rounding of
//! the continuous mechanism, which is post-processing. The clamp acts on each coordinate and brings
//! no two vectors further apart.
//!
//! # Pitfalls
//! Nothing is clipped here: the caller guarantees the sensitivity.

use sordino_noise::{Bits, NoiseError, RoundedGaussian, RoundedSpherical};
use sordino_privacy::{Inflation, NoiseMultiplier};

use crate::error::LearnError;

/// The largest quotient in steps. Beyond it, the rounding of `f64` may exceed half a step.
const MAX_STEPS: f64 = (1u64 << 50) as f64;
/// The largest part of the sensitivity that rounding may take.
const MAX_ROUNDING_SHARE: f64 = 1e-3;

/// The distribution of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Independent Gaussian noise in each coordinate.
    Gaussian,
    /// K-norm noise, whose density depends on its length, for pure privacy.
    Spherical,
}

/// Noise for vectors of a given dimension and sensitivity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VectorNoise {
    shape: Shape,
    step: f64,
    depth: u32,
    inflation: f64,
}

impl VectorNoise {
    /// Noise of scale z times `clip_norm`, and a little more for rounding.
    pub(crate) fn new(
        shape: Shape,
        clip_norm: f64,
        noise: NoiseMultiplier,
        dimension: usize,
    ) -> Result<Self, LearnError> {
        if shape == Shape::Spherical && dimension > RoundedSpherical::MOST_DIMENSION {
            let expected = "at most 2^20 for K-norm noise; state a delta above 0 for Gaussian noise";
            return Err(LearnError::Parameter { name: "number of weights", expected, got: dimension as f64 });
        }
        let roundings = 2.0 * (dimension as f64).sqrt() * noise.get() * (1.0 + 1e-12);
        // Deep enough that rounding takes at most its share. A deeper grid gains nothing.
        let depth = (roundings / MAX_ROUNDING_SHARE).log2().ceil().max(10.0);
        let most = RoundedSpherical::MOST_DEPTH;
        if depth > f64::from(most) {
            let expected = "small enough for its rounding: below 2^28 over the square root of the dimension";
            return Err(LearnError::Parameter { name: "noise multiplier", expected, got: noise.get() });
        }
        let depth = depth as u32;
        let scale = (1u64 << depth) as f64;
        // Equation (1). The last factor covers the roundings of its evaluation.
        let step = clip_norm * noise.get() / (scale - roundings) * (1.0 + 1e-12);
        if !step.is_normal() {
            let expected = "within the range of numbers; check the penalty and the bounds of the schema";
            return Err(LearnError::Parameter { name: "sensitivity", expected, got: clip_norm });
        }
        let inflation = roundings / (scale - roundings) * (1.0 + 1e-9);
        Ok(Self { shape, step, depth, inflation })
    }

    /// What rounding adds to the sensitivity, relative to it.
    pub(crate) fn inflation(&self) -> Result<Inflation, LearnError> {
        Ok(Inflation::new(self.inflation)?)
    }

    /// The scale of the noise.
    pub(crate) fn scale(&self) -> f64 {
        self.step * (1u64 << self.depth) as f64
    }

    /// Adds noise to a vector.
    pub(crate) fn add(&self, vector: &mut [f64], bits: &mut dyn Bits) -> Result<(), NoiseError> {
        let mut noise = vec![0i64; vector.len()];
        match self.shape {
            Shape::Gaussian => RoundedGaussian::new(self.depth)?.fill(bits, &mut noise),
            Shape::Spherical => RoundedSpherical::new(self.depth)?.fill(bits, &mut noise)?,
        }
        // NaN counts as 0. The sum is clamped to the same range whatever the vector is.
        let most = i64::MAX - MAX_STEPS as i64;
        for (v, noise) in vector.iter_mut().zip(noise) {
            let steps = (*v / self.step).clamp(-MAX_STEPS, MAX_STEPS).round_ties_even() as i64;
            *v = steps.saturating_add(noise).clamp(-most, most) as f64 * self.step;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;

    use super::*;

    fn noise(shape: Shape, clip_norm: f64, z: f64, dimension: usize) -> VectorNoise {
        VectorNoise::new(shape, clip_norm, NoiseMultiplier::new(z).unwrap(), dimension).unwrap()
    }

    /// The sensitivity in steps, roundings included, times z is at most 2^k, and nearly 2^k.
    #[test]
    fn the_noise_covers_the_sensitivity_with_its_roundings() {
        for (clip, z, d) in [(1.0, 1.0, 1), (0.013, 7.3, 50), (1e-9, 450.0, 1000), (1e12, 0.02, 3)] {
            let noise = noise(Shape::Gaussian, clip, z, d);
            let steps = clip / noise.step + 2.0 * (d as f64).sqrt();
            let scale = (1u64 << noise.depth) as f64;
            assert!(steps * z <= scale && steps * z > scale * (1.0 - 1e-9), "{clip} {z} {d}");
            assert!(noise.inflation <= 1.1 * MAX_ROUNDING_SHARE && noise.scale() >= z * clip);
        }
    }

    /// The deviation of 10 000 draws is within 4 % of the scale; false alarm below 1e-6.
    #[test]
    fn draws_have_the_scale() {
        let gaussian = noise(Shape::Gaussian, 0.5, 3.0, 10_000);
        let mut vector = vec![2.0; 10_000];
        gaussian.add(&mut vector, &mut seeded(3)).unwrap();
        let variance = vector.iter().map(|v| (v - 2.0).powi(2)).sum::<f64>() / 1e4;
        assert!((variance.sqrt() / 1.5 - 1.0).abs() < 0.04, "{variance}");
        // The length of spherical noise has mean d and deviation sqrt(d): 0.2 is six deviations.
        let spherical = noise(Shape::Spherical, 0.5, 3.0, 1000);
        let mut vector = vec![0.0; 1000];
        spherical.add(&mut vector, &mut seeded(3)).unwrap();
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!((length / 1500.0 - 1.0).abs() < 0.2, "{length}");
    }

    #[test]
    fn huge_and_non_finite_vectors_become_finite() {
        let noise = noise(Shape::Gaussian, 1.0, 1.0, 4);
        let mut vector = [1e300, f64::NEG_INFINITY, f64::NAN, 5.0];
        noise.add(&mut vector, &mut seeded(1)).unwrap();
        assert!(vector.iter().all(|v| v.is_finite()) && vector[2].abs() < 20.0, "{vector:?}");
        assert!(
            VectorNoise::new(Shape::Gaussian, 1.0, NoiseMultiplier::new(1e12).unwrap(), 4).is_err(),
            "no grid is deep enough"
        );
        let wide = VectorNoise::new(Shape::Spherical, 1.0, NoiseMultiplier::new(1.0).unwrap(), (1 << 20) + 1);
        assert!(wide.is_err(), "the plan must refuse it, before anything is paid");
        assert!(VectorNoise::new(Shape::Gaussian, 0.0, NoiseMultiplier::new(1.0).unwrap(), 4).is_err());
    }
}
