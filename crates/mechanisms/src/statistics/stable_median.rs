//! Median with a proposed bound on how far one row moves it, or nothing.
//!
//! # Definition
//! [`ProposeTestRelease`] for the median of rows on a public grid of 2^40 cells: the distance is
//! the least k for which tables that differ in at most k rows have a local sensitivity above the
//! bound, from the formula of [`SmoothMedian`](super::SmoothMedian), cut off where the test is as
//! good as certain to pass.
//!
//! # Guarantee
//! (ε, δ)-private under `replace`: neighbours move this distance by at most 1, cut off or not, and
//! it is 0 where the local sensitivity at the table itself exceeds the bound. Tests try all small
//! tables.

use sordino_noise::Bits;
use sordino_privacy::{Count, Delta, Epsilon, Event};

use super::CONFIDENCE;
use super::bounds::Bounds;
use super::contributor::Contributor;
use super::estimate::Estimate;
use super::ordered::Ordered;
use super::rows::Rows;
use super::smooth_median::{CELLS, cells_of, single_rows_replaced};
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::propose_test_release::{Proposal, ProposeTestRelease};
use crate::protection::Protection;

/// Beyond a distance that passes with this confidence, more distance is not counted.
const AS_GOOD_AS_CERTAIN: f64 = 1.0 - 1e-12;

/// The median, where it is stable.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Bounds, Contributor, Rows, StableMedian};
/// use sordino_privacy::{Budget, Charge, Delta, Epsilon, Neighbours, Terms};
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let row = Contributor::record(Neighbours::Replace);
/// // Ages, of which one row should move the median by no more than a year.
/// let plan = StableMedian::new(epsilon, delta, Bounds::new(0.0, 120.0)?, 1.0, row)?;
/// let ages: Vec<f64> = (0..5000).map(|i| f64::from(i % 90)).collect();
/// let mut budget = Budget::new(Terms::new(epsilon, Neighbours::Replace).with_delta(delta));
/// let release = plan.release(Rows::new(&ages), budget.charge_claim(plan.claim())?)?;
/// assert!(release.value().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StableMedian {
    test: ProposeTestRelease,
    /// The proposed bound, in cells.
    bound: u64,
    /// Distances beyond it are not counted.
    most_distance: u64,
    bounds: Bounds,
    who: Contributor,
}

impl StableMedian {
    /// `spread` is the proposed bound, in data units; a public number. Fails for relations other
    /// than replace, for owners of rows, for ε = 0 and for δ = 0.
    pub fn new(
        epsilon: Epsilon,
        delta: Delta,
        bounds: Bounds,
        spread: f64,
        who: Contributor,
    ) -> Result<Self, MechanismError> {
        single_rows_replaced("a stable median", &who)?;
        let bound = cells_of("spread", spread, bounds)?;
        let shift = who.shift(Count::new(bound)?);
        let test = ProposeTestRelease::new(epsilon, delta, shift)?;
        // The cast saturates.
        let most_distance = test.distance_for(AS_GOOD_AS_CERTAIN) as u64;
        Ok(Self { test, bound, most_distance, bounds, who })
    }

    /// What the noise of a released median exceeds with probability at most 1 - `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        // Half a cell for putting rows on the grid.
        (self.test.error_at(confidence) + 0.5) * (self.bounds.width() / CELLS as f64)
    }

    fn proposal(&self, ordered: &Ordered) -> Proposal {
        let distance = ordered.distance_to(self.bound, self.most_distance);
        Proposal { answer: ordered.median() as i64, distance }
    }
}

impl Mechanism for StableMedian {
    type Answer<'a> = Rows<'a, f64>;
    /// `None` if the median did not seem stable.
    type Output = Option<Estimate>;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        self.test.event()
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, f64>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Option<Estimate>, MechanismError> {
        let places = rows.limited(&self.who, bits)?.iter().map(|x| self.bounds.place(*x, CELLS)).collect();
        let released = self.test.tested(self.proposal(&Ordered::new(places, CELLS)), bits);
        Ok(released.map(|place| {
            let place = place.clamp(0, CELLS as i64) as u64;
            Estimate { value: self.bounds.value(place, CELLS), error: self.error_at(CONFIDENCE) }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ordered::tests::{neighbours, tables};
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, epsilon, misses_at_most};

    fn plan(e: f64, spread: f64) -> StableMedian {
        let row = Contributor::record(Neighbours::Replace);
        let bounds = Bounds::new(0.0, 1.0).unwrap();
        StableMedian::new(epsilon(e), Delta::new(1e-6).unwrap(), bounds, spread, row).unwrap()
    }

    /// What the theorem needs of a distance, on all tables of five rows on five values spread over
    /// the grid.
    #[test]
    fn the_distance_is_what_the_theorem_needs() {
        let plan = plan(1.0, 0.3);
        let spread = |table: &[u64]| Ordered::new(table.iter().map(|x| x * (CELLS / 4)).collect(), CELLS);
        for table in tables(5, 4) {
            let here = plan.proposal(&spread(&table));
            for other in neighbours(&table, 4) {
                let there = plan.proposal(&spread(&other));
                assert!(here.distance.abs_diff(there.distance) <= 1);
                if here.distance > 0 || there.distance > 0 {
                    assert!(here.answer.abs_diff(there.answer) <= plan.bound, "{table:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn stable_tables_are_answered_and_others_are_not() {
        let plan = plan(1.0, 0.01);
        let rows: Vec<f64> = (0..20_000).map(|i| f64::from(i) / 20_000.0).collect();
        misses_at_most(0.05, 1000, 93, |bits| {
            let estimate = plan.draw_freely(Rows::new(&rows), bits).unwrap().expect("far from instability");
            (estimate.value - 0.5).abs() > estimate.error
        });
        let mut bits = sordino_noise::danger::seeded(94);
        let split = [vec![0.0; 50], vec![1.0; 50]].concat();
        assert!((0..100).all(|_| plan.draw_freely(Rows::new(&split), &mut bits).unwrap().is_none()));
        assert!(plan.draw_freely(Rows::new(&[]), &mut bits).unwrap().is_none());
    }
}
