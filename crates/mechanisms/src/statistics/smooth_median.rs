//! Median with noise as large as the data near by require, by smooth sensitivity.
//!
//! # Definition
//! [`SmoothSensitivity`](crate::SmoothSensitivity) of the median: rows are clamped and put on a
//! public grid of G = 2^40 cells, and A_k is the largest local sensitivity of tables that differ in
//! at most k rows,
//! ```text
//! A_k = max over t = 0, ..., k + 1 of x_(m+t) - x_(m+t-k-1)                                          (1)
//! ```
//! for sorted rows x_i, m = ceil(n/2), x_i the lower bound for i < 1 and the upper for i > n.
//!
//! # Guarantee
//! Under `replace`: ε-private with Cauchy or Student noise, (ε, δ)-private with Laplace noise. The
//! median moves by at most A_0 between neighbours, and `A_k(x) <= A_(k+1)(x')`; tests try all small
//! tables. The rest of the proof is that of the mechanism. Rows are sorted once; a level needs A_k
//! for k below the number of rungs, which is public: O(n log n) together.
//!
//! # Accuracy
//! A table of smooth sensitivity S has noise of scale at most `e^β S/s`: see
//! [`SmoothMedian::error_at`]. The scale itself is private: a release states no error.
//!
//! # Pitfalls
//! - Cauchy noise has no mean: never average releases, take their median, or use Student noise.
//! - How long a release takes depends on the level.
//! - The floor must be public. Without it tables of many equal rows would get no noise at all.

use sordino_noise::Bits;
use sordino_privacy::{Epsilon, Event, Neighbours};

use super::bounds::Bounds;
use super::contributor::Contributor;
use super::ordered::Ordered;
use super::rows::Rows;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::smooth_sensitivity::{Ladder, SmoothNoise};

/// Cells of the grid.
pub(super) const CELLS: u64 = 1 << 40;

/// The median, with noise fit to the data.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Bounds, Contributor, Rows, SmoothMedian};
/// use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
/// let row = Contributor::record(Neighbours::Replace);
/// let plan = SmoothMedian::new(Epsilon::new(1.0)?, Bounds::new(0.0, 1e6)?, 1.0, row)?;
/// let incomes: Vec<f64> = (0..2001).map(|i| 30_000.0 + 10.0 * f64::from(i)).collect();
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::Replace));
/// let release = plan.release(Rows::new(&incomes), budget.charge_claim(plan.claim())?)?;
/// println!("{}", release.value());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SmoothMedian {
    bounds: Bounds,
    who: Contributor,
    ladder: Ladder,
}

impl SmoothMedian {
    /// With Cauchy noise. `floor` is the sensitivity below which noise does not fall, in data
    /// units; a public number. Fails for relations other than replace, for owners of rows, and
    /// where the ladder would have too many levels or noise beyond 2^53 cells.
    pub fn new(
        epsilon: Epsilon,
        bounds: Bounds,
        floor: f64,
        who: Contributor,
    ) -> Result<Self, MechanismError> {
        Self::with_noise(epsilon, SmoothNoise::Cauchy, bounds, floor, who)
    }

    /// With noise of this shape. Laplace noise needs a δ and has the lightest tails; it suits
    /// tables of many rows near the median.
    pub fn with_noise(
        epsilon: Epsilon,
        noise: SmoothNoise,
        bounds: Bounds,
        floor: f64,
        who: Contributor,
    ) -> Result<Self, MechanismError> {
        single_rows_replaced("a smooth median", &who)?;
        let ladder = Ladder::new(epsilon, noise, cells_of("floor", floor, bounds)?, CELLS)?;
        Ok(Self { bounds, who, ladder })
    }

    /// What the noise exceeds with probability at most 1 - `confidence`, for a table of this smooth
    /// sensitivity (in data units). Computing that from private rows is not private.
    pub fn error_at(&self, confidence: f64, smooth_sensitivity: f64) -> f64 {
        let cell = self.bounds.width() / CELLS as f64;
        self.ladder.error_at(confidence, (smooth_sensitivity / cell).ceil() as u64) * cell
    }
}

/// A length in data units as cells of the grid, at least 1.
pub(super) fn cells_of(what: &'static str, length: f64, bounds: Bounds) -> Result<u64, MechanismError> {
    if !(length > 0.0 && length <= bounds.width()) {
        return Err(MechanismError::Floor { what, got: length });
    }
    Ok(((length / bounds.width() * CELLS as f64).ceil() as u64).clamp(1, CELLS))
}

/// The theorems about medians are for rows that become others, their number being public.
pub(super) fn single_rows_replaced(what: &'static str, who: &Contributor) -> Result<(), MechanismError> {
    let (neighbours, advice) =
        (who.neighbours(), "it is for single rows that become others: use `Contributor::record` and replace");
    match neighbours {
        Neighbours::Replace | Neighbours::ReplaceOrdered if !who.has_owners() => Ok(()),
        Neighbours::Replace
        | Neighbours::ReplaceOrdered
        | Neighbours::AddRemove
        | Neighbours::AddRemoveOrdered
        | Neighbours::ZeroOut
        | Neighbours::ZeroOutUnordered
        | Neighbours::MetricBall(_) => Err(MechanismError::Relation { what, neighbours, advice }),
    }
}

impl Mechanism for SmoothMedian {
    type Answer<'a> = Rows<'a, f64>;
    type Output = f64;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        self.ladder.event()
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, f64>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<f64, MechanismError> {
        let places = rows.limited(&self.who, bits)?.iter().map(|x| self.bounds.place(*x, CELLS)).collect();
        let ordered = Ordered::new(places, CELLS);
        let level = self.ladder.level(|k| ordered.sensitivity(k));
        let noisy = i128::from(ordered.median()) + self.ladder.sample(level, bits);
        let place = noisy.clamp(0, CELLS.into());
        Ok(self.bounds.value(place as u64, CELLS))
    }
}

#[cfg(test)]
mod tests;
