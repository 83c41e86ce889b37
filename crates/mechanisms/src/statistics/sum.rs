//! Sum of clamped numbers.
//!
//! # Guarantee
//! ε-private, by discrete Laplace noise on the exact sum of integers ([lattice](super)). With bounds L and U, one row that
//! appears or disappears moves the sum by at most max(|L|, |U|), one that becomes another by U - L.

use sordino_noise::Bits;
use sordino_privacy::{Epsilon, Event, Neighbours, Permit, Release};

use super::CONFIDENCE;
use super::bounds::Bounds;
use super::contributor::Contributor;
use super::estimate::Estimate;
use super::lattice::LatticeSum;
use super::rows::Rows;
use crate::error::MechanismError;
use crate::mechanism::{Mechanism, sealed};

/// Adds up numbers.
///
/// ```
/// use sordino_mechanisms::statistics::{Bounds, Contributor, Sum};
/// use sordino_privacy::{Epsilon, Neighbours};
/// let bounds = Bounds::new(0.0, 40.0)?;
/// let hours = Sum::new(Epsilon::new(1.0)?, bounds, Contributor::record(Neighbours::AddRemove))?;
/// assert!((hours.error_at(0.95) - 120.0).abs() < 1.0); // 40 ln 20
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sum {
    lattice: LatticeSum,
    bounds: Bounds,
    who: Contributor,
}

impl Sum {
    /// Fails for ε = 0 or too small for 64-bit noise, and for a relation without rows.
    pub fn new(epsilon: Epsilon, bounds: Bounds, who: Contributor) -> Result<Self, MechanismError> {
        let lattice = LatticeSum::new(epsilon, bounds.lower(), bounds.upper(), who)?;
        Ok(Self { lattice, bounds, who })
    }

    /// What the noise exceeds with probability at most 1 - `confidence`. (Putting rows on the grid moves each of them
    /// by at most 2^-31 of the larger bound besides, up or down.)
    pub fn error_at(&self, confidence: f64) -> f64 {
        self.lattice.error_at(confidence)
    }

    fn draw<R: Bits + ?Sized>(&self, rows: Rows<'_, f64>, bits: &mut R) -> Result<Estimate, MechanismError> {
        let kept = rows.limited(self.who, bits)?;
        let total = self.lattice.total(kept.into_iter().map(|x| self.bounds.clamp(x)));
        Ok(Estimate { value: self.lattice.draw(total, bits), error: self.error_at(CONFIDENCE) })
    }
}

impl Mechanism for Sum {
    type Answer<'a> = Rows<'a, f64>;
    type Output = Estimate;

    fn neighbours(&self) -> Neighbours {
        self.who.neighbours()
    }

    fn event(&self) -> Event {
        self.lattice.event()
    }

    fn release_with<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, f64>,
        permit: Permit,
        bits: &mut R,
    ) -> Result<Release<Estimate>, MechanismError> {
        sealed(self, permit, bits, |bits| self.draw(rows, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, epsilon, misses_at_most, permit};

    #[test]
    fn the_stated_error_is_met() {
        let bounds = Bounds::new(-1.0, 3.0).unwrap();
        for who in [
            Contributor::record(Neighbours::AddRemove),
            Contributor::record(Neighbours::Replace),
            Contributor::record(Neighbours::ZeroOut),
        ] {
            let plan = Sum::new(epsilon(0.5), bounds, who).unwrap();
            // 2.5, clamped 3 and -1, and the middle for NaN.
            let rows = [2.5, 99.0, f64::NEG_INFINITY, f64::NAN];
            misses_at_most(0.05, 4000, 72, |bits| {
                let estimate = plan.draw(Rows::new(&rows), bits).unwrap();
                (estimate.value - 5.5).abs() > estimate.error
            });
        }
    }

    #[test]
    fn owners_are_limited_before_anything_is_added() {
        let who = Contributor::owner(Neighbours::AddRemove, count(2));
        let plan = Sum::new(epsilon(100.0), Bounds::new(0.0, 1.0).unwrap(), who).unwrap();
        let (rows, owners) = (vec![1.0; 100_000], vec![1; 100_000]);
        let release = plan.release(Rows::owned(&rows, &owners).unwrap(), permit(&plan)).unwrap();
        // 2 and noise of scale 1/50; e^-25 for the rest.
        assert!((release.value().value - 2.0).abs() < 0.6, "{:?}", release.value());
    }
}
