//! The objective that training minimises: the one interface between losses and the training loop.
//!
//! # Contract
//! [`Objective::clipped_sum`] returns `Σ_{i in batch} clip(g_i)` as integers on the
//! clip's grid, a *sum* and never a mean.
//! - Each contribution is a function of its own record and the public parameters, to the last bit.
//!   It does not depend on other records, its place in the batch, or the number of threads.
//! - On a grid for float groups, groups are those of [`Batch::groups`] (fixed blocks of slots), and
//!   [`FloatSums`] bounds how they are summed. On an exact grid records are added one by one.
//! - An empty slot, and a record whose gradient is not finite, adds nothing.
//!
//! [`sum_by_groups`] does the part that all objectives share: it distributes groups over threads
//! and merges integers.

use std::num::NonZero;

use sordino_data::{Batch, BatchGroup, ContributionLimit, UnitRule};
use sordino_noise::grid::{Allowance, FloatGroups, GridSum, Grouping, NoisySum, SumError};
use sordino_privacy::Neighbours;
use sordino_threads::gather;

use crate::clip::Clip;
use crate::error::OptimError;

/// A sum of losses over records, one for each slot.
pub trait Objective: Sync {
    /// The number of parameters.
    fn dimension(&self) -> usize;

    /// n, the number of slots, empty ones included.
    fn slots(&self) -> usize;

    /// The most records of one unit in the data. By default each record is a unit of its own. The
    /// plan must have the same limit.
    fn limit(&self) -> ContributionLimit {
        ContributionLimit::of(&UnitRule::Record)
    }

    /// How groups are summed in floating point.
    fn float_sums(&self) -> FloatSums;

    /// The clipped sum over `batch` at `parameters`.
    fn clipped_sum(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError>;

    /// What each record contributes, if the objective can bound it. Plans with an individual filter
    /// need it.
    fn contributions(&self) -> Option<&dyn Contributions> {
        None
    }

    /// Takes back a gradient that has been released and used, so that the next sum can reuse its
    /// memory.
    fn take_back(&self, _spent: NoisySum) {}
}

/// An objective that can bound what each of its records contributes.
pub trait Contributions: Sync {
    /// Upper bounds on the norms, in data units, of the vectors that
    /// [`clipped_sum`](Objective::clipped_sum) would add for the slots of `batch`, in order, on an
    /// exact grid. Each is a function of its own record and the public parameters; 0 for a slot
    /// that adds nothing. Private data.
    fn norms(&self, parameters: &[f64], batch: &Batch, clip: &Clip<'_>, threads: NonZero<usize>) -> Vec<f64>;
}

/// The clipped sum of a batch.
#[derive(Debug)]
pub struct ClippedSum {
    /// The sum of contributions.
    pub gradient: GridSum,
    /// 1/2 for each record that was not clipped and -1/2 for each that was, if a count is needed.
    pub count: Option<GridSum>,
}

/// How groups are summed in floats; [`FloatGroups`] defines the terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatSums {
    /// Slots in a block.
    pub block: u32,
    /// m, the most records in a group.
    pub group_size: u32,
    /// K, the longest chain of additions plus 2.
    pub chain: u64,
    /// The unit roundoff of the floats in use.
    pub unit_roundoff: f64,
    /// A bound `w_i b_i <= beta C`.
    pub beta: f64,
    /// T, the positions that make up a record's gradient.
    pub positions: u64,
}

impl FloatSums {
    /// The allowance for float sums under a relation.
    ///
    /// Groups are fixed blocks of slots, which is enough where all other records keep their slots.
    /// Where they need not (n is private, or data sets are multisets), rounding in groups would
    /// reveal the order of records even in steps in which the changed record was not sampled.
    /// There, records are rounded to the grid one by one.
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
    /// The sum of contributions.
    pub gradient: GridSum,
    /// The count of unclipped records, if it is needed.
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

/// Calls `add` for every group of the batch, on several threads, and merges their sums. The sums
/// are integers, so the result does not depend on the number of threads. `workspace` makes the
/// buffers of one thread.
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
