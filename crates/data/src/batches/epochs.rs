//! Epochs: every slot joins exactly one of the batches, by one random order or by independent
//! draws.

use std::fmt;
use std::num::NonZero;

use sordino_noise::{Bits, uniform_below};

use super::Batch;

/// The batches of one epoch.
pub(super) struct Epoch {
    /// Slots in order of their batches.
    order: Vec<u32>,
    /// Where batch j ends in `order`, for j = 0, 1, ...
    ends: Vec<usize>,
}

impl Epoch {
    /// A uniform random order, cut into parts whose sizes differ by one at most.
    pub(super) fn shuffled<R: Bits + ?Sized>(parts: u64, slots: u32, bits: &mut R) -> Self {
        let order = shuffled_by(slots, |bound| uniform_below(bound, bits));
        // No overflow: both are below 2^53, and their product fits 128 bits.
        let end = |j: u64| (u128::from(j + 1) * u128::from(slots) / u128::from(parts)) as usize;
        Self { order, ends: (0..parts).map(end).collect() }
    }

    /// Each slot joins a uniform part, independently of the others.
    pub(super) fn thrown<R: Bits + ?Sized>(parts: u64, slots: u32, bits: &mut R) -> Self {
        let bound = NonZero::<u64>::MIN.saturating_add(parts - 1);
        let choices: Vec<u64> = (0..slots).map(|_| uniform_below(bound, bits)).collect();
        let mut order: Vec<u32> = (0..slots).collect();
        // Stable: slots of one part stay in ascending order.
        order.sort_by_key(|slot| choices[*slot as usize]);
        let end = |part| order.partition_point(|slot| choices[*slot as usize] <= part);
        let ends = (0..parts).map(end).collect();
        Self { order, ends }
    }

    /// Batch number `part`.
    pub(super) fn part(&self, part: u64) -> Batch {
        let part = part as usize;
        let start = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut slots = self.order[start..self.ends[part]].to_vec();
        slots.sort_unstable();
        Batch::of(slots)
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoch").finish_non_exhaustive()
    }
}

/// A uniform random order, by the shuffle of Fisher and Yates.
fn shuffled_by(slots: u32, mut below: impl FnMut(NonZero<u64>) -> u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..slots).collect();
    for last in (1..order.len()).rev() {
        let other = below(NonZero::<u64>::MIN.saturating_add(last as u64)) as usize; // uniform on 0..=last
        order.swap(last, other);
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// 4! sequences of draws, 4! orders: each exactly once.
    #[test]
    fn orders_are_uniform_by_enumeration() {
        let orders: HashSet<Vec<u32>> = (0..24u64)
            .map(|mut code| {
                shuffled_by(4, |bound| {
                    let draw = code % bound;
                    code /= bound;
                    draw
                })
            })
            .collect();
        assert_eq!(orders.len(), 24);
    }
}
