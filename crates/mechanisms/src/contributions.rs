//! What records may contribute to a sum of real vectors, and the public grid that follows from it.
//!
//! # Definition
//! Each record contributes a vector of `dimension` coordinates whose norm is at most `clip_norm`;
//! at most `most` records can ever be in one sum. A record beyond the norm is scaled down, one that
//! is not finite counts as zero; both look at that record alone. The grid depends on these bounds
//! and on the noise, never on data.
//!
//! The unit says what a record is ([`for_unit`](Contributions::for_unit)): each unit has one
//! vector. For a person with many rows, their sum is clipped, not each row.
//!
//! # Pitfalls
//! A sum refuses more than `most` records. Under `add_remove` their number is private, and the
//! refusal would tell: `most` must then be a number that cannot be exceeded (the rows of the
//! largest possible table), not an expected one. It costs a bit of depth for each doubling, and no
//! noise.
//!
//! # Depth
//! Quantising toward zero is a bias of up to half a step a record. Next to the noise, 2^k steps,
//! all records together may move the sum by `most / 2^k` scales. The depth k is chosen so that this
//! is at most 1/512, as far as 64-bit integers have room.

use sordino_noise::grid::{Grid, GridError, GridPlan, GridSum, Norm};
use sordino_privacy::{ClipNorm, Count, Neighbours, NoiseMultiplier, Unit};

use crate::error::MechanismError;
use crate::protection::Protection;

/// Bits of depth beyond those of the number of records.
const SPARE_BITS: u32 = 9;
/// The deepest grid.
const MOST_DEPTH: u32 = sordino_noise::grid::MAX_DEPTH;

/// Declared public bounds of a sum of vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contributions {
    protection: Protection,
    clip_norm: ClipNorm,
    most: Count,
    dimension: Count,
}

impl Contributions {
    /// Numbers of absolute value at most `clip_norm`, at most `most` of them, one for each record.
    pub fn new(neighbours: Neighbours, clip_norm: ClipNorm, most: Count) -> Self {
        let protection = Protection::of_records(neighbours);
        Self { protection, clip_norm, most, dimension: Count::ONE }
    }

    /// Vectors of this many coordinates instead, of norm at most the clip norm (L1 or L2, as the
    /// noise needs).
    pub fn of_dimension(self, dimension: Count) -> Self {
        Self { dimension, ..self }
    }

    /// One for each of these units instead, whatever records it has.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { protection: self.protection.for_unit(unit), ..self }
    }

    /// The relation and the unit for which the bounds were derived.
    pub fn protection(&self) -> &Protection {
        &self.protection
    }

    /// Clip norms between the sums of two neighbours: 1, or 2 where a record becomes another.
    pub(crate) fn norms(&self) -> Result<u64, MechanismError> {
        // Exact for a clip norm of 1.
        Ok(self.protection.neighbours().clipped_sum(ClipNorm::new(1.0)?)?.get() as u64)
    }

    /// The grid of noise of scale `noise_multiplier` clip norms.
    pub(crate) fn grid(&self, noise_multiplier: NoiseMultiplier, norm: Norm) -> Result<Grid, MechanismError> {
        self.grid_up_to(noise_multiplier, norm, MOST_DEPTH)
    }

    /// The same, for noise that is not drawn on deeper grids than this.
    pub(crate) fn grid_up_to(
        &self,
        noise_multiplier: NoiseMultiplier,
        norm: Norm,
        most_depth: u32,
    ) -> Result<Grid, MechanismError> {
        let (clip, dimension, most) = (self.clip_norm.get(), self.dimension.get() as usize, self.most.get());
        let plan = GridPlan::new(clip, noise_multiplier.get(), dimension, most).norm(norm);
        let least = plan.least_depth()?;
        let wanted = (u64::BITS - most.leading_zeros() + SPARE_BITS).min(most_depth);
        // As deep as there is room for, down to what truncation of one record needs.
        let deeper = (least.depth() + 1..=wanted).rev().find_map(|depth| plan.at_depth(depth).ok());
        let grid = deeper.unwrap_or(least);
        // A least depth beyond it is refused as one that is beyond every grid.
        if grid.depth() > most_depth {
            return Err(GridError::TooDeep { depth: grid.depth(), limit: most_depth }.into());
        }
        Ok(grid)
    }
}

/// The sum, if it was begun on this grid.
pub(crate) fn on_grid(sum: GridSum, grid: &Grid) -> Result<GridSum, MechanismError> {
    if sum.grid() == grid { Ok(sum) } else { Err(MechanismError::OtherGrid) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contributions(neighbours: Neighbours, most: u64) -> Contributions {
        Contributions::new(neighbours, ClipNorm::new(2.0).unwrap(), Count::new(most).unwrap())
    }

    #[test]
    fn truncation_of_all_records_is_small_next_to_the_noise() {
        for most in [1, 1000, 1_000_000, 1 << 26] {
            let z = NoiseMultiplier::new(3.0).unwrap();
            let grid = contributions(Neighbours::AddRemove, most).grid(z, Norm::L1).unwrap();
            assert!(most as f64 / (1u64 << grid.depth()) as f64 <= 1.0 / 512.0, "{most}: {}", grid.depth());
        }
    }

    #[test]
    fn a_sum_without_room_is_refused() {
        let z = NoiseMultiplier::new(1e-6).unwrap();
        assert!(contributions(Neighbours::AddRemove, 1 << 53).grid(z, Norm::L1).is_err());
    }

    /// Pitfall 4: a record that becomes another moves a sum by two clip norms.
    #[test]
    fn pitfall_04_the_relation_decides_how_many_norms() {
        assert_eq!(contributions(Neighbours::AddRemove, 1).norms().unwrap(), 1);
        assert_eq!(contributions(Neighbours::ZeroOut, 1).norms().unwrap(), 1);
        assert_eq!(contributions(Neighbours::Replace, 1).norms().unwrap(), 2);
    }
}
