//! A batch, as the list of the slots of its records.
//!
//! # Groups
//! Sums in floating point are rounded in groups, and the absence of a record must not change the
//! groups of *other* blocks (see `sordino_noise::grid::FloatGroups`). So groups are made from fixed
//! blocks of slots: block j has the slots `j L .. (j + 1) L`, and a group consists of the sampled
//! slots of one block, never of a run of positions in the batch. If more than m slots of a block
//! were sampled, the first m in order of slots form the group, and each further slot is a group of
//! its own.

use std::fmt;
use std::ops::Range;

/// The slots of one batch, in ascending order; a slot that was drawn twice is there twice.
///
/// Its size is private under Poisson sampling, so `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Batch(Slots);

#[derive(Clone, PartialEq, Eq)]
enum Slots {
    All(u32),
    Listed(Vec<u32>),
}

impl Batch {
    pub(super) fn all(slots: u32) -> Self {
        Self(Slots::All(slots))
    }

    pub(super) fn of(ascending: Vec<u32>) -> Self {
        debug_assert!(ascending.is_sorted());
        Self(Slots::Listed(ascending))
    }

    /// The slots, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let group = match &self.0 {
            Slots::All(slots) => BatchGroup::Range(0..*slots),
            Slots::Listed(slots) => BatchGroup::Listed(slots),
        };
        group.into_slots()
    }

    /// The slots of this batch that `keep` accepts, which is asked for each of them in order.
    pub fn only(&self, mut keep: impl FnMut(usize) -> bool) -> Self {
        // Proof: a slot came from 32 bits.
        Self::of(self.iter().filter(|slot| keep(*slot)).map(|slot| slot as u32).collect())
    }

    /// The number of slots. It is private under Poisson sampling: no output may depend on it.
    pub fn len(&self) -> usize {
        match &self.0 {
            Slots::All(slots) => *slots as usize,
            Slots::Listed(slots) => slots.len(),
        }
    }

    /// Whether it has no slots. An empty batch is nothing unusual.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The groups of this batch: at most `group_size` sampled slots from each block of `block`
    /// slots, then the block's surplus slots one by one.
    ///
    /// # Panics
    /// If `block` or `group_size` is 0.
    pub fn groups(&self, block: u32, group_size: u32) -> impl Iterator<Item = BatchGroup<'_>> {
        assert!(block > 0 && group_size > 0, "a block and a group have at least one slot");
        let mut rest = match &self.0 {
            Slots::All(slots) => BatchGroup::Range(0..*slots),
            Slots::Listed(slots) => BatchGroup::Listed(slots),
        };
        // The block of the last group; further slots of it are surplus.
        let mut surplus_of = None;
        std::iter::from_fn(move || {
            let first = rest.first()?;
            let of_block = first / block;
            let most = if surplus_of == Some(of_block) { 1 } else { group_size };
            let end = u64::from(block) * (u64::from(of_block) + 1);
            surplus_of = Some(of_block);
            Some(rest.take(most, end))
        })
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}

/// Slots of one block that are summed together.
#[derive(Clone, PartialEq, Eq)]
pub enum BatchGroup<'a> {
    /// Consecutive slots.
    Range(Range<u32>),
    /// Some slots, ascending.
    Listed(&'a [u32]),
}

impl<'a> BatchGroup<'a> {
    /// The number of slots.
    pub fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Listed(slots) => slots.len(),
        }
    }

    /// Always false for a group of a batch, which has at least one slot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slots, ascending.
    pub fn into_slots(self) -> impl Iterator<Item = usize> + 'a {
        let (range, list) = match self {
            Self::Range(range) => (range, &[][..]),
            Self::Listed(slots) => (0..0, slots),
        };
        range.chain(list.iter().copied()).map(|slot| slot as usize)
    }

    fn first(&self) -> Option<u32> {
        match self {
            Self::Range(range) => range.clone().next(),
            Self::Listed(slots) => slots.first().copied(),
        }
    }

    /// Splits off at most `most` slots below `end`.
    fn take(&mut self, most: u32, end: u64) -> Self {
        match self {
            Self::Range(range) => {
                let stop = u64::from(range.start) + u64::from(most);
                let stop = stop.min(end).min(u64::from(range.end)) as u32;
                let taken = range.start..stop;
                range.start = stop;
                Self::Range(taken)
            }
            Self::Listed(slots) => {
                let window = &slots[..slots.len().min(most as usize)];
                let (taken, rest) = slots.split_at(window.partition_point(|slot| u64::from(*slot) < end));
                *slots = rest;
                Self::Listed(taken)
            }
        }
    }
}

impl fmt::Debug for BatchGroup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchGroup").finish_non_exhaustive()
    }
}
