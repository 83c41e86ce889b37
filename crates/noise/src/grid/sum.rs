//! The exact sum of contributions.
//!
//! # Guarantee
//! - The sum is exact and so does not depend on the order of contributions or on how threads share
//!   them.
//! - It cannot overflow: a contribution counts for 1, a float group for as many records as it
//!   covers, at most `B` are taken, one moves a coordinate by at most `r N` (`r` = 1 for records, 2
//!   for float sums), and no grid exists with `B r N` beyond `i64`.
//! - It leaves once: [`GridSum::add_gaussian`] and [`GridSum::add_laplace`] take the sum with them.
//!   (Two releases of one sum are two releases, and their average has less noise.) The only way to
//!   see it without noise is [`danger::unprotected`](crate::danger::unprotected).
//! - Where the number of groups is part of the sensitivity it is counted, over merged sums too.
//!
//! # Pitfalls
//! How many records were added is private under Poisson sampling: there is no way to ask, and
//! `Debug` does not tell.

use std::fmt;

use zeroize::Zeroizing;

use super::{Allowance, Grid, GridContribution, SumError};

/// Accumulates contributions on one grid. Not `Clone`: a copy could be released a second time.
pub struct GridSum {
    grid: Grid,
    units: Vec<i64>,
    /// The contribution at hand; empty until there is one.
    scratch: Zeroizing<Vec<i64>>,
    /// Records added so far, at most `grid.contributions()`.
    records: u64,
    /// Groups added so far, at most what the allowance is for.
    groups: u64,
}

impl GridSum {
    /// The empty sum. (Its release is noise alone, as it must be for an empty batch.)
    pub fn new(grid: Grid) -> Self {
        let units = vec![0; grid.dimension()];
        Self { grid, units, scratch: Zeroizing::default(), records: 0, groups: 0 }
    }

    /// The grid it lives on.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Quantises one record, as [`Grid::quantise`] does, and adds it. For grids with
    /// [`Allowance::Exact`].
    pub fn add<T: Copy + Into<f64>>(&mut self, record: &[T]) -> Result<(), SumError> {
        self.takes_records()?;
        self.grid.check_dimension(record.len())?;
        self.count(1, 0)?;
        self.scratch.resize(record.len(), 0);
        self.grid.quantise_into(record, &mut self.scratch);
        accumulate(&mut self.units, &self.scratch);
        Ok(())
    }

    /// Adds one record that was quantised before. For grids with [`Allowance::Exact`].
    pub fn add_contribution(&mut self, contribution: &GridContribution) -> Result<(), SumError> {
        if *contribution.grid() != self.grid {
            return Err(SumError::OtherGrid);
        }
        self.takes_records()?;
        self.count(1, 0)?;
        accumulate(&mut self.units, contribution.units());
        Ok(())
    }

    /// Rounds the float sum of a group to integers and adds it.
    ///
    /// `steps` is the group's sum *in steps of the grid*: fold `1 / g` into the clipping weights,
    /// so that the product comes out in these units and is rounded once. `records` is how many
    /// records it covers.
    ///
    /// The caller has made the sum as [`FloatGroups`](super::FloatGroups) says: each record's
    /// `w_i ‖g_i‖` is at most `N` = [`Grid::clip_units`] and its `w_i b_i` at most `beta N`,
    /// records that are not finite left out. Here, and only here, the sensitivity rests on the
    /// caller; float sums do not show what went into them. (A coordinate that no such group can
    /// reach is clamped and one that is not a number counts as 0, so that the sum stays exact.)
    pub fn add_group<T: Copy + Into<f64>>(&mut self, steps: &[T], records: u32) -> Result<(), SumError> {
        let Allowance::FloatGroups(groups) = self.grid.allowance() else {
            return Err(SumError::NoAllowance);
        };
        self.grid.check_dimension(steps.len())?;
        if records > groups.group_size {
            return Err(SumError::GroupSize { limit: groups.group_size });
        }
        self.count(records.into(), 1)?;
        let rounding = Rounding::new(&self.grid, records);
        for (unit, &value) in self.units.iter_mut().zip(steps) {
            *unit += rounding.round(value.into());
        }
        Ok(())
    }

    /// The sum of float groups that were rounded elsewhere, coordinate by coordinate with
    /// [`Rounding`], and added as integers: for models with so many coordinates that one pass over
    /// all of them for each group is too dear. `groups` has the number of records of each group.
    ///
    /// As with [`GridSum::add_group`], the sensitivity rests on the caller: `units` must be the sum
    /// over all groups of their rounded coordinates. (What no groups can reach is clamped when the
    /// sum is released.)
    pub fn of_groups(
        grid: Grid,
        units: Vec<i64>,
        groups: impl IntoIterator<Item = u32>,
    ) -> Result<Self, SumError> {
        let Allowance::FloatGroups(allowed) = grid.allowance() else {
            return Err(SumError::NoAllowance);
        };
        grid.check_dimension(units.len())?;
        let scratch = Zeroizing::new(Vec::new());
        let mut sum = Self { grid, units, scratch, records: 0, groups: 0 };
        for records in groups {
            if records > allowed.group_size {
                return Err(SumError::GroupSize { limit: allowed.group_size });
            }
            sum.count(records.into(), 1)?;
        }
        Ok(sum)
    }

    /// Adds all that `other` has (a thread's share, for example), as if its contributions had been
    /// added here.
    pub fn merge(&mut self, other: Self) -> Result<(), SumError> {
        if other.grid != self.grid {
            return Err(SumError::OtherGrid);
        }
        self.count(other.records, other.groups)?;
        accumulate(&mut self.units, &other.units);
        Ok(())
    }

    /// The sum without noise, in steps. Not private.
    pub(crate) fn unprotected(&self) -> &[i64] {
        &self.units
    }

    /// The sum, and the ends to which it and its release must be clamped.
    pub(super) fn into_units(self) -> (Grid, Vec<i64>, Ends) {
        let sum = self.grid.largest_sum();
        (self.grid, self.units, Ends { sum, release: i64::MAX - sum })
    }

    /// Refuses records by themselves where the allowance is for groups: truncated by itself a
    /// record is not the number that it is as a share of a group, and one that changes from the one
    /// to the other (because another record is absent) would move the sum by more than the
    /// allowance.
    fn takes_records(&self) -> Result<(), SumError> {
        match self.grid.allowance() {
            Allowance::Exact => Ok(()),
            Allowance::FloatGroups(_) => Err(SumError::NeedsGroups),
        }
    }

    /// Counts more records and groups, or refuses and changes nothing.
    fn count(&mut self, records: u64, groups: u64) -> Result<(), SumError> {
        let limit = self.grid.contributions();
        let within = |total: Option<u64>, limit: u64| total.filter(|&total| total <= limit);
        let records = within(self.records.checked_add(records), limit).ok_or(SumError::TooMany { limit })?;
        let limit = self.grid.allowance().most_groups(limit).unwrap_or(u64::MAX);
        let groups =
            within(self.groups.checked_add(groups), limit).ok_or(SumError::TooManyGroups { limit })?;
        (self.records, self.groups) = (records, groups);
        Ok(())
    }
}

/// What the coordinates of a sum and of its release are clamped to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// What contributions within their reach cannot leave; clamping moves no two sums further
    /// apart.
    pub(super) sum: i64,
    /// What passes the room that the grid keeps is clamped, which is post-processing: as much of
    /// `i64` is left out as sums can reach, so that noise which was clamped to `i64` before is
    /// beyond these ends with any sum.
    pub(super) release: i64,
}

/// How one group's float sum becomes integers: to nearest, within what the group can reach.
///
/// A coordinate that is not a number counts as 0. One that the group cannot reach is clamped;
/// clamping moves no two values further apart.
#[derive(Clone, Copy, Debug)]
pub struct Rounding {
    reach: i64,
    is_short: bool,
}

impl Rounding {
    /// Integers of at most so many steps have a place in the last bits of a double.
    const SHORT: i64 = 1 << 51;

    /// For a group of that many records.
    pub fn new(grid: &Grid, records: u32) -> Self {
        // Cannot overflow: `records` is within the contributions for which the grid has room.
        let reach = i64::from(records) * grid.allowance().reach() * grid.clip_units();
        Self { reach, is_short: reach <= Self::SHORT }
    }

    /// Rounds one coordinate. Written so that a loop over it becomes vector instructions.
    #[inline(always)]
    pub fn round(self, steps: f64) -> i64 {
        if self.is_short { self.round_short(steps) } else { self.round_long(steps) }
    }

    #[inline(always)]
    fn round_short(self, steps: f64) -> i64 {
        // The doubles between 2^52 and 2^53 are the integers: adding 1.5 · 2^52 rounds to nearest,
        // ties to even, and leaves the integer in the last bits.
        const INTEGERS: f64 = 6_755_399_441_055_744.0;
        let reach = self.reach as f64;
        let steps = if steps.is_nan() { 0.0 } else { steps };
        let steps = if steps > reach { reach } else { steps };
        let steps = if steps < -reach { -reach } else { steps };
        (steps + INTEGERS).to_bits().wrapping_sub(INTEGERS.to_bits()) as i64
    }

    fn round_long(self, steps: f64) -> i64 {
        (steps.round_ties_even() as i64).clamp(-self.reach, self.reach)
    }
}

impl fmt::Debug for GridSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GridSum").field("grid", &self.grid).finish_non_exhaustive()
    }
}

/// Adds integers: see the module's guarantee for why they stay within their type. (Units that a
/// caller of [`GridSum::of_groups`] got wrong may not; they end at its ends.)
fn accumulate(units: &mut [i64], more: &[i64]) {
    for (unit, more) in units.iter_mut().zip(more) {
        *unit = unit.saturating_add(*more);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{FloatGroups, GridPlan, Grouping, Norm};
    use super::*;

    fn grid(dimension: usize, contributions: u64) -> Grid {
        GridPlan::new(1.0, 1.0, dimension, contributions).truncation_limit(1.0).at_depth(20).unwrap()
    }

    fn grouped(group_size: u32, contributions: u64) -> Grid {
        grouped_as(Grouping::FixedSlots, group_size, contributions)
    }

    fn grouped_as(grouping: Grouping, group_size: u32, contributions: u64) -> Grid {
        let unit_roundoff = FloatGroups::F32;
        let groups = FloatGroups { group_size, chain: 10, unit_roundoff, beta: 1.0, positions: 1, grouping };
        GridPlan::new(1.0, 1.0, 2, contributions)
            .allowance(Allowance::FloatGroups(groups))
            .at_depth(20)
            .unwrap()
    }

    #[test]
    fn the_public_limit_holds_by_every_road() {
        let grid = grid(1, 3);
        let mut sum = GridSum::new(grid);
        sum.add(&[1.0]).unwrap();
        sum.add_contribution(&grid.quantise(&[0.5]).unwrap()).unwrap();
        let mut other = GridSum::new(grid);
        other.add(&[0.25]).unwrap();
        other.add(&[0.25]).unwrap();
        assert_eq!(sum.merge(other), Err(SumError::TooMany { limit: 3 }));
        assert_eq!(sum.merge(GridSum::new(grid)), Ok(()));
        sum.add(&[f64::NAN]).unwrap(); // an empty record is a record
        let before = sum.unprotected().to_vec();
        assert_eq!(sum.add(&[0.5]), Err(SumError::TooMany { limit: 3 }));
        assert_eq!(
            sum.add_contribution(&grid.quantise(&[0.5]).unwrap()),
            Err(SumError::TooMany { limit: 3 })
        );
        assert_eq!(sum.unprotected(), before);
    }

    #[test]
    fn the_fullest_sum_fits() {
        let plan = GridPlan::new(1.0, 1.0, 1, 0).truncation_limit(1.0);
        // The most contributions that depth 53 has room for: 2 B 2^53 + 64 · 2^53 < 2^63.
        let grid = GridPlan { contributions: 479, ..plan }.at_depth(53).unwrap();
        assert!(GridPlan { contributions: 480, ..plan }.at_depth(53).is_err());
        for sign in [1.0, -1.0] {
            let full = || {
                let mut sum = GridSum::new(grid);
                while sum.add(&[sign]).is_ok() {}
                sum
            };
            assert_eq!(full().unprotected()[0].unsigned_abs(), 479 << 53);
            // Noise beyond the room is clamped, never wrapped.
            let (extreme, end) = if sign > 0.0 { (i64::MAX, 1) } else { (i64::MIN, -1) };
            let end = end * (i64::MAX - (479 << 53));
            assert_eq!(full().add_noise(true, |noise| noise.fill(extreme)).units(), [end]);
            // Whether it points the same way as the sum or not: to the last step, as if it had been
            // exact.
            assert_eq!(full().add_noise(true, |noise| noise.fill(!extreme)).units(), [-end]);
        }
    }

    #[test]
    fn grids_do_not_mix() {
        let (one, other) = (grid(1, 3), grid(1, 4));
        let mut sum = GridSum::new(one);
        assert_eq!(sum.add_contribution(&other.quantise(&[0.5]).unwrap()), Err(SumError::OtherGrid));
        assert_eq!(sum.merge(GridSum::new(other)), Err(SumError::OtherGrid));
        assert_eq!(sum.add(&[0.5, 0.5]), Err(SumError::Dimension { expected: 1, got: 2 }));
        assert_eq!(sum.add_group(&[1.0], 1), Err(SumError::NoAllowance));
    }

    #[test]
    fn groups_are_rounded_once_and_counted_by_record() {
        let mut sum = GridSum::new(grouped(4, 10));
        sum.add_group(&[2.75f32, -3.5], 4).unwrap();
        sum.add_group(&[0.49f64, 0.51], 4).unwrap();
        assert_eq!(sum.unprotected(), [3, -3]);
        assert_eq!(sum.add_group(&[0.0, 0.0], 5), Err(SumError::GroupSize { limit: 4 }));
        assert_eq!(sum.add_group(&[0.0, 0.0], 3), Err(SumError::TooMany { limit: 10 }));
        sum.add_group(&[0.0, 0.0], 2).unwrap();
        sum.add_group(&[0.0, 0.0], 0).unwrap(); // nobody was sampled
    }

    #[test]
    fn rounding_is_to_nearest_and_ties_go_to_even() {
        let rounding = Rounding::new(&grouped(4, 10), 4);
        for steps in [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.49, 1e6 + 0.25, -1e6 - 0.75, 7.0, 4_194_304.0] {
            assert_eq!(rounding.round(steps), steps.round_ties_even() as i64, "{steps}");
        }
    }

    #[test]
    fn groups_that_were_rounded_elsewhere_are_the_same_sum() {
        let grid = grouped(4, 10);
        let groups = [([2.75f32, -3.5], 4), ([0.49, 0.51], 3), ([-7.0, 1e30], 2)];
        let (mut sum, mut units) = (GridSum::new(grid), vec![0; 2]);
        for (steps, records) in groups {
            sum.add_group(&steps, records).unwrap();
            let rounding = Rounding::new(&grid, records);
            units.iter_mut().zip(steps).for_each(|(unit, x)| *unit += rounding.round(x.into()));
        }
        let rounded = GridSum::of_groups(grid, units, [4, 3, 2]).unwrap();
        assert_eq!((rounded.unprotected(), rounded.records, rounded.groups), (sum.unprotected(), 9, 3));
        assert_eq!(rounded.add_noise(true, |_| {}).units(), sum.unprotected());
        let limits = |groups: &[u32]| GridSum::of_groups(grid, vec![0; 2], groups.iter().copied()).err();
        assert_eq!(limits(&[5]), Some(SumError::GroupSize { limit: 4 }));
        assert_eq!(limits(&[4, 4, 4]), Some(SumError::TooMany { limit: 10 }));
        // What no groups can reach is clamped, also if it comes twice.
        let mut far = GridSum::of_groups(grid, vec![i64::MAX, i64::MIN], []).unwrap();
        far.merge(GridSum::of_groups(grid, vec![i64::MAX, i64::MIN], []).unwrap()).unwrap();
        assert_eq!(far.add_noise(true, |_| {}).units(), [grid.largest_sum(), -grid.largest_sum()]);
    }

    /// A grid with very little noise has very many steps to a clip norm.
    #[test]
    fn long_and_short_rounding_agree_and_long_ones_are_not_cut() {
        let short = Rounding::new(&grouped(4, 10), 4);
        let long = Rounding { is_short: false, ..short };
        for steps in [0.5, 1.5, -2.5, 1e5 + 0.49, -1e30, 1e30, f64::INFINITY, f64::NAN] {
            assert_eq!(short.round(steps), long.round(steps), "{steps}");
        }
        let far = Rounding { reach: 1 << 60, is_short: false };
        assert_eq!(far.round((1u64 << 59) as f64), 1 << 59);
    }

    #[test]
    fn an_impossible_group_cannot_break_the_sum() {
        let grid = grouped(4, 8);
        let mut sum = GridSum::new(grid);
        sum.add_group(&[f32::INFINITY, f32::NAN], 4).unwrap();
        sum.add_group(&[f64::MAX, f64::NEG_INFINITY], 4).unwrap();
        let reach = 8 * grid.clip_units();
        assert_eq!(sum.unprotected(), [2 * reach, -reach]);
    }

    #[test]
    fn a_grid_for_groups_takes_no_record_by_itself() {
        for grouping in [Grouping::FixedSlots, Grouping::FixedSlotsSurplusAlone, Grouping::BatchPositions] {
            let grid = grouped_as(grouping, 4, 8);
            let mut sum = GridSum::new(grid);
            assert_eq!(sum.add(&[0.5, 0.5]), Err(SumError::NeedsGroups));
            let record = grid.quantise(&[0.5, 0.5]).unwrap();
            assert_eq!(sum.add_contribution(&record), Err(SumError::NeedsGroups));
            assert_eq!((sum.unprotected(), sum.records), (&[0, 0][..], 0));
            sum.add_group(&[5.0, 6.0], 1).unwrap();
            assert_eq!(sum.unprotected(), [5, 6]);
        }
    }

    /// Each group is one more rounding that an absence can disturb: 3 are allowed for, as ceil(10 /
    /// 4).
    #[test]
    fn a_batch_cut_into_runs_has_no_more_groups_than_are_allowed_for() {
        let grid = grouped_as(Grouping::BatchPositions, 4, 10);
        let refused = Err(SumError::TooManyGroups { limit: 3 });
        let with_groups = |count: u32| {
            let mut sum = GridSum::new(grid);
            (0..count).try_for_each(|_| sum.add_group(&[1.0, 1.0], 1)).unwrap();
            sum
        };
        let mut sum = with_groups(3);
        assert_eq!(sum.add_group(&[1.0, 1.0], 1), refused);
        assert_eq!(sum.add_group(&[0.0, 0.0], 0), refused);
        assert_eq!(sum.unprotected(), [3, 3]);
        // Nor by way of several sums.
        let mut sum = with_groups(2);
        assert_eq!(sum.merge(with_groups(2)), refused);
        sum.merge(with_groups(1)).unwrap();
        assert_eq!(sum.add_group(&[1.0, 1.0], 1), refused);
        assert_eq!(sum.unprotected(), [3, 3]);
        // Blocks of fixed slots stand for themselves.
        let mut sum = GridSum::new(grouped(4, 10));
        (0..10).try_for_each(|_| sum.add_group(&[1.0, 1.0], 1)).unwrap();
    }

    #[test]
    fn noise_that_was_not_written_is_zero_and_not_the_last_record() {
        let mut sum = GridSum::new(grid(1, 1));
        sum.add(&[0.25]).unwrap();
        let released = sum.add_noise(true, |_| {});
        assert_eq!(released.units(), [1 << 18]);
        assert_eq!(released.to_f64(), [0.25]);
    }

    #[test]
    fn debug_output_shows_neither_sum_nor_count() {
        let mut sum = GridSum::new(grid(1, 1000));
        let empty = format!("{sum:?}");
        sum.add(&[0.3]).unwrap();
        assert_eq!(format!("{sum:?}"), empty);
    }

    proptest! {
        #[test]
        fn any_order_and_any_split_over_threads_give_the_same_sum(
            (records, order) in prop::collection::vec(prop::array::uniform3(-1.5..1.5f64), 1..60)
                .prop_flat_map(|records| (Just(records.clone()), Just(records).prop_shuffle())),
            threads in 1usize..9,
        ) {
            for norm in [Norm::L1, Norm::L2, Norm::Max] {
                let grid = GridPlan::new(1.0, 1.0, 3, 60).norm(norm).at_depth(20).unwrap();
                let mut straight = GridSum::new(grid);
                records.iter().try_for_each(|record| straight.add(record)).unwrap();
                let part = |records: &[[f64; 3]]| {
                    let mut sum = GridSum::new(grid);
                    records.iter().try_for_each(|record| sum.add(record)).unwrap();
                    sum
                };
                let mut merged = GridSum::new(grid);
                std::thread::scope(|scope| {
                    let parts = order.chunks(order.len().div_ceil(threads));
                    let workers: Vec<_> = parts.map(|records| scope.spawn(|| part(records))).collect();
                    for worker in workers {
                        merged.merge(worker.join().unwrap()).unwrap();
                    }
                });
                prop_assert_eq!(straight.unprotected(), merged.unprotected());
            }
        }
    }
}
