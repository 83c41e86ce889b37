//! Variance of clamped numbers.
//!
//! # Definition
//! With means of the noisy power sums of [`moments`](super): `second + r^2/2 - first^2`, at least 0
//! and at most r^2, the largest variance within the bounds. It divides by n, not n - 1.
//!
//! # Guarantee
//! ε-private: the composition of two or three releases with discrete Laplace noise; all else is
//! post-processing. One row moves the second sum by half of r^2 (appearing or disappearing) or r^2
//! (becoming another), r half the width of the bounds.

use sordino_noise::Bits;
use sordino_privacy::{Epsilon, Event};

use super::CONFIDENCE;
use super::bounds::Bounds;
use super::contributor::Contributor;
use super::estimate::{Estimate, Interval};
use super::moments::Moments;
use super::rows::Rows;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// The variance of numbers.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Bounds, Contributor, Rows, Variance};
/// use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
/// let bounds = Bounds::new(0.0, 10.0)?;
/// let plan = Variance::new(Epsilon::new(1.0)?, bounds, Contributor::record(Neighbours::Replace))?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(2.0)?, Neighbours::Replace));
/// let numbers: Vec<f64> = (0..10_000).map(|i| f64::from(i % 10)).collect(); // variance 8.25
/// let release = plan.release(Rows::new(&numbers), budget.charge_claim(plan.claim())?)?;
/// assert!((release.value().value - 8.25).abs() < 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Variance {
    moments: Moments,
    bounds: Bounds,
}

impl Variance {
    /// Fails for ε = 0 or too small for 64-bit noise, for a relation without rows, and for bounds
    /// whose squares are no numbers.
    pub fn new(epsilon: Epsilon, bounds: Bounds, who: Contributor) -> Result<Self, MechanismError> {
        Ok(Self { moments: Moments::new(epsilon, bounds, who, true)?, bounds })
    }
}

impl Mechanism for Variance {
    type Answer<'a> = Rows<'a, f64>;
    type Output = Estimate;

    fn protection(&self) -> &Protection {
        self.moments.who.protection()
    }

    fn event(&self) -> Event {
        self.moments.event()
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, f64>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Estimate, MechanismError> {
        let drawn = self.moments.draw(rows, CONFIDENCE, bits)?;
        let (radius, most) = (0.5 * self.bounds.width(), 0.25 * self.bounds.width() * self.bounds.width());
        let (first, first_in) = drawn.first;
        // Proof: the moments were made with the second one.
        let (second, second_in) = drawn.second.expect("asked for when made");
        let (first, second) = (first.clamp(-radius, radius), (second + 0.5 * most).clamp(0.0, most));
        let (square, second_in) =
            (first_in.within(-radius, radius).squared(), second_in.shifted(0.5 * most).within(0.0, most));
        let interval = Interval { low: second_in.low - square.high, high: second_in.high - square.low };
        Ok(interval.within(0.0, most).estimate((second - first * first).clamp(0.0, most)))
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, epsilon, misses_at_most};

    #[test]
    fn the_stated_error_is_met() {
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
            let bounds = Bounds::new(-5.0, 15.0).unwrap();
            let plan = Variance::new(epsilon(1.0), bounds, Contributor::record(neighbours)).unwrap();
            let rows: Vec<f64> = (0..2000).map(|i| f64::from(i % 10)).collect();
            misses_at_most(0.05, 1000, 75, |bits| {
                let estimate = plan.draw_freely(Rows::new(&rows), bits).unwrap();
                assert!(estimate.error < 20.0, "{estimate:?}");
                (estimate.value - 8.25).abs() > estimate.error
            });
        }
    }

    #[test]
    fn constant_rows_have_no_variance_but_noise() {
        let bounds = Bounds::new(0.0, 1.0).unwrap();
        let plan = Variance::new(epsilon(5.0), bounds, Contributor::record(Neighbours::ZeroOut)).unwrap();
        let mut bits = sordino_noise::danger::seeded(76);
        let estimate = plan.draw_freely(Rows::new(&[0.25; 5000]), &mut bits).unwrap();
        assert!(estimate.value < 0.01 && estimate.value >= 0.0);
        assert!(
            Variance::new(
                epsilon(1.0),
                Bounds::new(0.0, 1e-170).unwrap(),
                Contributor::record(Neighbours::ZeroOut)
            )
            .is_err()
        );
    }
}
