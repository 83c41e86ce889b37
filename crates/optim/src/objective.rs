//! What is minimised: the waist of the hour-glass.
//!
//! # Contract
//! [`Objective::clipped_sum`] returns `Σ_{i in batch} clip(g_i)` as integers on the
//! clip's grid, a *sum* and never a mean.
//! - Each contribution is a function of its own record and the public parameters, to the last bit:
//!   not of its neighbours, its place in the batch, the number of records or of threads.
//! - On a grid for float groups, groups are those of [`Batch::groups`] (fixed blocks of slots), and
//!   [`FloatSums`] bounds how they are summed. On an exact grid records are added one by one.
//! - An empty slot, and a record whose gradient is not finite, adds nothing.
//!
//! [`sum_by_groups`] does the part that all objectives share: groups over threads, integers merged.

use std::num::NonZero;

use sordino_data::{Batch, BatchGroup, ContributionLimit, UnitRule};
use sordino_noise::grid::{Allowance, FloatGroups, GridSum, Grouping, NoisySum, SumError};
use sordino_privacy::Neighbours;
use sordino_threads::gather;

use crate::clip::Clip;
use crate::error::OptimError;

/// A sum of losses over records, one for each slot.
pub trait Objective: Sync {
    /// Number of parameters.
    fn dimension(&self) -> usize;

    /// n: slots of the data, empty ones included.
    fn slots(&self) -> usize;

    /// How many records of one unit the data has at most. A record is a unit of its own, unless the
    /// data says otherwise; the plan must be for the same.
    fn limit(&self) -> ContributionLimit {
        ContributionLimit::of(&UnitRule::Record)
    }

    /// How sums of groups are made in floating point.
    fn float_sums(&self) -> FloatSums;

    /// The clipped sum over `batch` at `parameters`.
    fn clipped_sum(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError>;

    /// Takes back a gradient that has been released and used: the next
    /// sum may be made in its place.
    fn take_back(&self, _spent: NoisySum) {}
}

/// What an objective returns.
#[derive(Debug)]
pub struct ClippedSum {
    /// The sum of contributions.
    pub gradient: GridSum,
    /// Half for each record that was not clipped, minus half for each that was, where asked for.
    pub count: Option<GridSum>,
}

/// How float sums of groups are made; see [`FloatGroups`] for the terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatSums {
    /// Slots in a block.
    pub block: u32,
    /// Most records in a group, m.
    pub group_size: u32,
    /// Longest chain of additions plus 2, K.
    pub chain: u64,
    /// Of the format that is computed in.
    pub unit_roundoff: f64,
    /// `w_i b_i <= beta C`.
    pub beta: f64,
    /// Positions that make up a record's gradient, T.
    pub positions: u64,
}

impl FloatSums {
    /// How contributions become integers under a relation.
    ///
    /// Groups are fixed blocks of slots, which is enough where all other records keep their slots.
    /// Where they need not (n is private, or data sets are multisets), rounding in groups would
    /// show the order of records even in steps in which the changed record was not sampled; then
    /// records are quantised one by one.
    pub(crate) fn allowance(self, neighbours: Neighbours) -> Result<Allowance, OptimError> {
        match neighbours {
            Neighbours::ZeroOut | Neighbours::ReplaceOrdered => Ok(Allowance::FloatGroups(FloatGroups {
                group_size: self.group_size,
                chain: self.chain,
                unit_roundoff: self.unit_roundoff,
                beta: self.beta,
                positions: self.positions,
                grouping: Grouping::FixedSlotsSurplusAlone,
            })),
            Neighbours::AddRemove
            | Neighbours::AddRemoveOrdered
            | Neighbours::ZeroOutUnordered
            | Neighbours::Replace => Ok(Allowance::Exact),
            Neighbours::MetricBall(_) => Err(OptimError::Relation { neighbours }),
        }
    }
}

/// One thread's share of a sum.
#[derive(Debug)]
pub struct Partial {
    /// Where contributions go.
    pub gradient: GridSum,
    /// Where counts go, where asked for.
    pub count: Option<GridSum>,
}

impl Partial {
    fn new(clip: &Clip<'_>) -> Self {
        Self { gradient: GridSum::new(clip.grid()), count: clip.count().map(GridSum::new) }
    }

    /// Counts one record as clipped or not.
    pub fn counted(&mut self, is_within: bool) -> Result<(), SumError> {
        match &mut self.count {
            Some(count) => count.add(&[if is_within { 0.5 } else { -0.5 }]),
            None => Ok(()),
        }
    }

    fn merge(&mut self, other: Self) -> Result<(), SumError> {
        self.gradient.merge(other.gradient)?;
        match (&mut self.count, other.count) {
            (Some(count), Some(more)) => count.merge(more),
            _ => Ok(()),
        }
    }
}

/// Calls `add` for every group of the batch, on several threads, and merges what they
/// summed. Integers make the result the same at any number of threads. `workspace` makes
/// what one thread needs beside its share.
pub fn sum_by_groups<W>(
    clip: &Clip<'_>,
    batch: &Batch,
    sums: FloatSums,
    threads: NonZero<usize>,
    workspace: impl Fn() -> W + Sync,
    add: impl Fn(&mut W, BatchGroup<'_>, &mut Partial) -> Result<(), SumError> + Sync,
) -> Result<ClippedSum, SumError> {
    let groups: Vec<BatchGroup<'_>> = batch.groups(sums.block, sums.group_size).collect();
    let share = |groups: &[BatchGroup<'_>]| {
        let (mut partial, mut workspace) = (Partial::new(clip), workspace());
        groups.iter().try_for_each(|group| add(&mut workspace, group.clone(), &mut partial))?;
        Ok::<_, SumError>(partial)
    };
    let shares = groups.chunks(groups.len().div_ceil(threads.get()).max(1)).collect();
    let mut total = Partial::new(clip);
    gather(threads, shares, share).into_iter().try_for_each(|part| total.merge(part?))?;
    Ok(ClippedSum { gradient: total.gradient, count: total.count })
}
