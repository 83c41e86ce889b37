//! K-norm mechanism for the Euclidean ball: sums of real vectors bounded in L2, pure privacy.
//!
//! # Definition
//! Records are clipped to L2 norm C and quantised to a public grid; to their exact sum S, a vector
//! Z is added whose density falls with its length, and the result is rounded to the grid:
//! ```text
//! density of Z ~ exp(-|z|_2 / b),      release round(S + Z) = S + round(Z)                           (1)
//! ```
//! The length of Z is Gamma distributed with shape d and scale b, its direction uniform.
//!
//! # Guarantee
//! Under `add_remove` and `zero_out` neighbours move S by at most C in L2, under `replace` by 2C.
//! With `b >= C/ε` (2C/ε) the release is ε-private by the triangle inequality (Hardt, Talwar, "On
//! the geometry of differential privacy", 2010; used for learning by Chaudhuri, Monteleoni,
//! Sarwate, "Differentially private empirical risk minimization", 2011). Rounding is
//! post-processing, and the noise is drawn exactly ([`RoundedSpherical`]).
//!
//! # Accuracy
//! The length of the noise is at most w b with the probability of a Gamma variable of shape d being
//! at most w; it is about d b. Gaussian noise has a length of about sqrt(d) times its scale, so
//! that in many dimensions a little δ saves much noise.
//!
//! # Pitfalls
//! - L1 noise ([`Laplace`](crate::Laplace)) scaled to an L2 bound is a violation by up to sqrt(d).
//! - Shape d, not d + 1: that is for a uniform point of the ball times a Gamma variable.

use sordino_noise::grid::{Grid, GridSum, NoisySum, Norm, SumError};
use sordino_noise::{Bits, RoundedSpherical};
use sordino_privacy::{Epsilon, Event, NoiseMultiplier};

use crate::accuracy;
use crate::contributions::{Contributions, on_grid};
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::shift::scale_for;

/// Adds rounded spherical noise to a sum of clipped vectors.
///
/// ```
/// use sordino_mechanisms::{Contributions, KNorm, Mechanism};
/// use sordino_privacy::{Budget, Charge, ClipNorm, Count, Epsilon, Neighbours, Terms};
/// let bounds = Contributions::new(Neighbours::ZeroOut, ClipNorm::new(1.0)?, Count::new(1000)?);
/// let mechanism = KNorm::new(Epsilon::new(0.5)?, bounds.of_dimension(Count::new(3)?))?;
/// let mut sum = mechanism.sum();
/// sum.add(&[0.6, 0.0, 0.8])?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::ZeroOut));
/// let release = mechanism.release(sum, budget.charge_claim(mechanism.claim())?)?;
/// println!("{:?}, off by {} in length", release.value().to_f64(), mechanism.error_at(0.95));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KNorm {
    epsilon: Epsilon,
    grid: Grid,
    protection: Protection,
}

impl KNorm {
    /// The least noise for ε. Fails for ε = 0, for a relation without sums, for more than 2^20
    /// dimensions, and where no grid has room.
    pub fn new(epsilon: Epsilon, contributions: Contributions) -> Result<Self, MechanismError> {
        let multiplier = NoiseMultiplier::new(scale_for(contributions.norms()?, epsilon)?.get())?;
        let grid = contributions.grid_up_to(multiplier, Norm::L2, RoundedSpherical::MOST_DEPTH)?;
        let (depth, dimension) = (grid.depth(), grid.dimension());
        if dimension > RoundedSpherical::MOST_DIMENSION {
            return Err(SumError::Spherical { depth, dimension }.into());
        }
        Ok(Self { epsilon, grid, protection: contributions.protection().clone() })
    }

    /// An empty sum on this mechanism's grid.
    pub fn sum(&self) -> GridSum {
        GridSum::new(self.grid)
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What the *length* of the noise exceeds with probability at most 1 - `confidence`, in data
    /// units.
    pub fn error_at(&self, confidence: f64) -> f64 {
        let length = accuracy::gamma(self.grid.dimension(), accuracy::miss(confidence));
        // Rounding moves every coordinate by half a step at most.
        self.grid.noise_scale() * length + 0.5 * (self.grid.dimension() as f64).sqrt() * self.grid.step()
    }
}

impl Mechanism for KNorm {
    type Answer<'a> = GridSum;
    type Output = NoisySum;

    fn protection(&self) -> &Protection {
        &self.protection
    }

    fn event(&self) -> Event {
        Event::Pure { epsilon: self.epsilon }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        answer: GridSum,
        bits: &mut R,
        _: &Covered,
    ) -> Result<NoisySum, MechanismError> {
        Ok(on_grid(answer, &self.grid)?.add_spherical(bits)?)
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;
    use sordino_privacy::{ClipNorm, Neighbours};

    use super::*;
    use crate::testing::{DrawFreely, count, epsilon, misses_at_most, permit};

    fn mechanism(e: f64, clip: f64, dimension: u64, neighbours: Neighbours) -> KNorm {
        let bounds = Contributions::new(neighbours, ClipNorm::new(clip).unwrap(), count(1000));
        KNorm::new(epsilon(e), bounds.of_dimension(count(dimension))).unwrap()
    }

    fn length(noisy: &NoisySum) -> f64 {
        noisy.to_f64().iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// d = 10, ε = 1, sensitivity 2: mean length 20, variance 40. Half of the noise, and the shapes
    /// 9 and 11, are caught.
    #[test]
    fn lengths_have_the_textbooks_mean_and_variance() {
        let mechanism = mechanism(1.0, 2.0, 10, Neighbours::AddRemove);
        let (mut bits, draws) = (seeded(45), 10_000);
        let lengths: Vec<f64> =
            (0..draws).map(|_| length(&mechanism.draw_freely(mechanism.sum(), &mut bits).unwrap())).collect();
        let mean = lengths.iter().sum::<f64>() / f64::from(draws);
        let variance = lengths.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(draws);
        // Six standard deviations of the mean (false alarm 2e-9); the other shapes have means 18
        // and 22.
        assert!((mean - 20.0).abs() < 6.0 * (40.0 / f64::from(draws)).sqrt(), "{mean}");
        // The fourth central moment of this Gamma law is (3 + 6/10) 1600.
        let spread = (1600.0 * (3.6 - 1.0) / f64::from(draws)).sqrt();
        assert!((variance - 40.0).abs() < 6.0 * spread, "{variance}");
    }

    /// In integers: the noise has a scale of 2^k steps, and neighbours are at most norms times N
    /// steps apart.
    #[test]
    fn no_shift_costs_more_than_epsilon() {
        for (neighbours, norms) in [(Neighbours::AddRemove, 1.0), (Neighbours::Replace, 2.0)] {
            for e in [0.1, 1.0, 3.0] {
                let grid = *mechanism(e, 2.0, 5, neighbours).grid();
                let scale = (1u64 << grid.depth()) as f64;
                let loss = |steps: f64| steps / scale;
                assert!(loss(norms * grid.clip_units() as f64) <= e);
                assert!(loss(norms * grid.clip_units() as f64) > 0.99 * e, "and not idle");
                // Twins: half of the noise; the relation forgotten; L1 noise for an L2 bound.
                assert!(loss(norms * grid.clip_units() as f64) * 2.0 > e);
                assert!(loss(5f64.sqrt() * norms * grid.clip_units() as f64) > e);
            }
        }
    }

    #[test]
    fn the_stated_error_is_met_in_many_dimensions() {
        for (dimension, draws) in [(1, 4000), (10, 4000), (1000, 100)] {
            let mechanism = mechanism(1.0, 1.0, dimension, Neighbours::AddRemove);
            let error = mechanism.error_at(0.95);
            misses_at_most(0.05, draws, 46, |bits| {
                length(&mechanism.draw_freely(mechanism.sum(), bits).unwrap()) > error
            });
            let least = mechanism.error_at(0.01);
            misses_at_most(0.02, draws, 47, |bits| {
                length(&mechanism.draw_freely(mechanism.sum(), bits).unwrap()) < 0.99 * least
            });
        }
    }

    #[test]
    fn edges() {
        let one = mechanism(1.0, 1.0, 2, Neighbours::AddRemove);
        let other = mechanism(2.0, 1.0, 2, Neighbours::AddRemove);
        assert!(matches!(one.release(other.sum(), permit(&one)), Err(MechanismError::OtherGrid)));
        assert!(one.release(one.sum(), permit(&other)).is_err());
        let bounds = Contributions::new(Neighbours::AddRemove, ClipNorm::new(1.0).unwrap(), count(10));
        let error = KNorm::new(epsilon(1e-12), bounds.clone()).unwrap_err().to_string();
        assert!(error.contains("depth"), "so much noise needs a deeper grid than there is: {error}");
        let wide = bounds.of_dimension(count((1 << 20) + 1));
        assert!(matches!(KNorm::new(epsilon(1.0), wide), Err(MechanismError::Sum(_))));
    }
}
