//! Sum of clamped numbers.
//!
//! # Definition
//! `n c + noisy sum of (x - c)`, c the middle of the bounds, where the number n of rows is public;
//! the noisy sum of x elsewhere. Centring keeps the grid fine where bounds are narrow and far from
//! 0.
//!
//! # Guarantee
//! ε-private, by discrete Laplace noise on the exact sum of integers ([lattice](super)). With
//! bounds L and U, one row that appears or disappears moves the sum by at most max(|L|, |U|), one
//! that becomes another by U - L, and one of a public number of rows that becomes nothing moves the
//! centred sum by (U - L)/2; n c is public.

use sordino_noise::Bits;
use sordino_privacy::{Epsilon, Event};

use super::CONFIDENCE;
use super::bounds::Bounds;
use super::contributor::Contributor;
use super::estimate::Estimate;
use super::lattice::LatticeSum;
use super::rows::Rows;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

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
    /// c, or 0.
    centre: f64,
    bounds: Bounds,
    who: Contributor,
}

impl Sum {
    /// Fails for ε = 0 or too small for 64-bit noise, and for a relation without rows.
    pub fn new(epsilon: Epsilon, bounds: Bounds, who: Contributor) -> Result<Self, MechanismError> {
        let centre = if who.has_public_count() { bounds.middle() } else { 0.0 };
        let lattice = LatticeSum::new(epsilon, bounds.lower() - centre, bounds.upper() - centre, &who)?;
        Ok(Self { lattice, centre, bounds, who })
    }

    /// What the noise exceeds with probability at most 1 - `confidence`. Putting a row on the grid
    /// moves it by up to half a step besides, 2^-31 of the larger bound unless ε is tiny. Where the
    /// number of rows is public, it is 2^-32 of the width, and releases add it for every row; where
    /// it is private they cannot.
    pub fn error_at(&self, confidence: f64) -> f64 {
        self.lattice.error_at(confidence)
    }
}

impl Mechanism for Sum {
    type Answer<'a> = Rows<'a, f64>;
    type Output = Estimate;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        self.lattice.event()
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, f64>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Estimate, MechanismError> {
        let kept = rows.limited(&self.who, bits)?;
        let total = self.lattice.total(kept.iter().map(|x| self.bounds.clamp(*x) - self.centre));
        let noisy = self.lattice.draw(total, bits);
        if !self.who.has_public_count() {
            return Ok(Estimate { value: noisy, error: self.error_at(CONFIDENCE) });
        }
        let (n, value) = (kept.len() as f64, kept.len() as f64 * self.centre + noisy);
        // Half a step for each row, and the roundings of the last line.
        let rounding = 0.5 * n * self.lattice.step() + f64::EPSILON * (n * self.centre.abs() + value.abs());
        Ok(Estimate { value, error: self.error_at(CONFIDENCE) + rounding })
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, count, epsilon, misses_at_most, permit};

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
                let estimate = plan.draw_freely(Rows::new(&rows), bits).unwrap();
                (estimate.value - 5.5).abs() > estimate.error
            });
        }
    }

    /// Narrow bounds far from 0: a grid for numbers of this size has steps of about the width, and
    /// a million roundings of the same sign add up to far more than the noise.
    #[test]
    fn the_stated_error_holds_far_from_zero() {
        let bounds = Bounds::new(1e9, 1e9 + 10.0).unwrap();
        let plan = Sum::new(epsilon(1.0), bounds, Contributor::record(Neighbours::Replace)).unwrap();
        let rows = vec![1e9 + 0.4; 100_000];
        misses_at_most(0.05, 40, 73, |bits| {
            let estimate = plan.draw_freely(Rows::new(&rows), bits).unwrap();
            assert!(estimate.error < 40.0);
            (estimate.value - (1e14 + 4e4)).abs() > estimate.error
        });
    }

    #[test]
    fn owners_are_limited_before_anything_is_added() {
        let who = Contributor::owner(Neighbours::AddRemove, "user_id", count(2));
        let plan = Sum::new(epsilon(100.0), Bounds::new(0.0, 1.0).unwrap(), who).unwrap();
        let (rows, owners) = (vec![1.0; 100_000], vec![1; 100_000]);
        let release = plan.release(Rows::owned(&rows, &owners).unwrap(), permit(&plan)).unwrap();
        // 2 and noise of scale 1/50; e^-25 for the rest.
        assert!((release.value().value - 2.0).abs() < 0.6, "{:?}", release.value());
    }
}
