//! Mean of clamped numbers.
//!
//! # Definition
//! With c the middle of the bounds: `c + (noisy sum of (x - c)) / n`, clamped to the bounds; n is
//! the number of rows where that is public, and otherwise a noisy count of at least 1 with its own
//! half of ε.
//!
//! # Guarantee
//! ε-private: the composition of one or two releases with discrete Laplace noise; all else is
//! post-processing. One row moves the centred sum by half the width of the bounds (appearing or
//! disappearing) or the whole width (becoming another).
//!
//! # Accuracy
//! The interval of all quotients of a sum and a count within the errors of their noise. Of an empty
//! table there is no mean, and nothing is said.

use sordino_noise::Bits;
use sordino_privacy::{Epsilon, Event};

use super::CONFIDENCE;
use super::bounds::Bounds;
use super::contributor::Contributor;
use super::estimate::Estimate;
use super::moments::Moments;
use super::rows::Rows;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// The mean of numbers; see [the module](super) for an example.
#[derive(Debug)]
pub struct Mean {
    moments: Moments,
    bounds: Bounds,
}

impl Mean {
    /// Fails for ε = 0 or too small for 64-bit noise, and for a relation without rows.
    pub fn new(epsilon: Epsilon, bounds: Bounds, who: Contributor) -> Result<Self, MechanismError> {
        Ok(Self { moments: Moments::new(epsilon, bounds, who, false)?, bounds })
    }
}

impl Mechanism for Mean {
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
        let (lower, upper) = (self.bounds.lower(), self.bounds.upper());
        let (offset, interval) = self.moments.draw(rows, CONFIDENCE, bits)?.first;
        let middle = self.bounds.middle();
        let interval = interval.shifted(middle).within(lower, upper);
        Ok(interval.estimate((middle + offset).clamp(lower, upper)))
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, count, epsilon, misses_at_most};

    fn plan(neighbours: Neighbours) -> Mean {
        let bounds = Bounds::new(50.0, 100.0).unwrap();
        Mean::new(epsilon(0.5), bounds, Contributor::record(neighbours)).unwrap()
    }

    #[test]
    fn the_stated_error_is_met_and_shrinks_with_the_number_of_rows() {
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace, Neighbours::ZeroOut] {
            let plan = plan(neighbours);
            for n in [30, 3000] {
                let rows: Vec<f64> = (0..n).map(|i| 60.0 + f64::from(i % 30)).collect();
                let truth = rows.iter().sum::<f64>() / f64::from(n);
                let mut widest: f64 = 0.0;
                misses_at_most(0.05, 1000, 73, |bits| {
                    let estimate = plan.draw_freely(Rows::new(&rows), bits).unwrap();
                    widest = widest.max(estimate.error);
                    (estimate.value - truth).abs() > estimate.error
                });
                assert!(n == 30 || widest < 0.3, "{neighbours}: {widest}");
            }
        }
    }

    #[test]
    fn an_empty_table_is_a_table() {
        let mut bits = sordino_noise::danger::seeded(74);
        for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
            let estimate = plan(neighbours).draw_freely(Rows::new(&[]), &mut bits).unwrap();
            assert!((50.0..=100.0).contains(&estimate.value));
        }
    }

    #[test]
    fn owners_have_a_private_count() {
        let who = Contributor::owner(Neighbours::Replace, "user_id", count(2));
        let plan = Mean::new(epsilon(0.5), Bounds::new(0.0, 1.0).unwrap(), who).unwrap();
        assert!(matches!(plan.event(), Event::Composed { events } if events.len() == 2));
    }
}
