//! How many rows have a property.
//!
//! # Guarantee
//! The count is an integer that one neighbour moves by at most the rows of one contributor (1 for
//! single rows, under every relation); discrete Laplace noise makes it ε-private.

use sordino_noise::Bits;
use sordino_privacy::{Count, Epsilon, Event};

use super::CONFIDENCE;
use super::contributor::Contributor;
use super::estimate::Estimate;
use super::rows::Rows;
use crate::discrete_laplace::DiscreteLaplace;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// Counts rows that are true.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Contributor, Rows, RowCount};
/// use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
/// let count = RowCount::new(Epsilon::new(0.5)?, Contributor::record(Neighbours::AddRemove))?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(0.5)?, Neighbours::AddRemove));
/// let release = count.release(Rows::new(&[true, false, true]), budget.charge_claim(count.claim())?)?;
/// assert_eq!(release.value().error, 6.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RowCount {
    noise: DiscreteLaplace,
    who: Contributor,
}

impl RowCount {
    /// Fails for ε = 0 and for a relation without rows.
    pub fn new(epsilon: Epsilon, who: Contributor) -> Result<Self, MechanismError> {
        Ok(Self { noise: row_count_noise(epsilon, &who)?, who })
    }

    /// What the noise exceeds with probability at most 1 - `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        self.noise.error_at(confidence)
    }
}

/// Noise for the number of rows.
pub(super) fn row_count_noise(
    epsilon: Epsilon,
    who: &Contributor,
) -> Result<DiscreteLaplace, MechanismError> {
    who.change("a count of rows")?;
    DiscreteLaplace::new(epsilon, who.shift(Count::new(who.rows())?))
}

impl Mechanism for RowCount {
    type Answer<'a> = Rows<'a, bool>;
    type Output = Estimate;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        self.noise.event()
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, bool>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Estimate, MechanismError> {
        let kept = rows.limited(&self.who, bits)?;
        let count = kept.iter().filter(|row| **row).count() as i64;
        Ok(Estimate { value: self.noise.noisy(count, bits) as f64, error: self.error_at(CONFIDENCE) })
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, count, epsilon, misses_at_most, permit, sensitivity_of};

    #[test]
    fn the_stated_error_is_met() {
        let plan = RowCount::new(epsilon(0.3), Contributor::record(Neighbours::Replace)).unwrap();
        misses_at_most(0.05, 4000, 71, |bits| {
            let estimate = plan.draw_freely(Rows::new(&[true; 40]), bits).unwrap();
            (estimate.value - 40.0).abs() > estimate.error
        });
    }

    #[test]
    fn noise_grows_with_what_an_owner_may_have() {
        let owner = |rows| {
            RowCount::new(epsilon(1.0), Contributor::owner(Neighbours::AddRemove, "user_id", count(rows)))
        };
        let sensitivity = |plan: RowCount| sensitivity_of(&plan.event());
        assert_eq!(sensitivity(owner(1).unwrap()), 1);
        assert_eq!(sensitivity(owner(9).unwrap()), 9);
        // One owner of a million rows counts for nine.
        let plan = owner(9).unwrap();
        let (rows, owners) = (vec![true; 1_000_000], vec![3; 1_000_000]);
        let release = plan.release(Rows::owned(&rows, &owners).unwrap(), permit(&plan)).unwrap();
        assert!(release.value().value.abs() < 1000.0);
    }
}
