//! Samples of a fixed size: a uniform subset (Floyd's algorithm; Bentley, Floyd, *A Sample of
//! Brilliance*, 1987), or independent draws.

use std::collections::HashSet;
use std::num::NonZero;

use sordino_noise::{Bits, uniform_below};

/// A uniform set of `size` of the slots `0..slots`, ascending; `size` is at most `slots`.
pub(super) fn subset<R: Bits + ?Sized>(size: u64, slots: u32, bits: &mut R) -> Vec<u32> {
    subset_by(size, slots, |bound| uniform_below(bound, bits))
}

/// `size` independent slots, ascending.
pub(super) fn draws<R: Bits + ?Sized>(size: u64, slots: u32, bits: &mut R) -> Vec<u32> {
    // Cannot happen: a plan has at least one slot.
    let Some(bound) = NonZero::new(u64::from(slots)) else { return Vec::new() };
    let mut draws: Vec<u32> = (0..size).map(|_| uniform_below(bound, bits) as u32).collect();
    draws.sort_unstable();
    draws
}

fn subset_by(size: u64, slots: u32, mut below: impl FnMut(NonZero<u64>) -> u64) -> Vec<u32> {
    let slots = u64::from(slots);
    let mut chosen = HashSet::with_capacity(size as usize);
    for last in slots - size..slots {
        let draw = below(NonZero::<u64>::MIN.saturating_add(last)) as u32; // uniform on 0..=last
        if !chosen.insert(draw) {
            chosen.insert(last as u32);
        }
    }
    let mut subset: Vec<u32> = chosen.into_iter().collect();
    subset.sort_unstable();
    subset
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Every sequence of draws once: each of the 10 subsets comes from equally many.
    #[test]
    fn subsets_are_uniform_by_enumeration() {
        let (size, slots) = (3u64, 5u32);
        let mut counts: HashMap<Vec<u32>, u32> = HashMap::new();
        for mut code in 0..3 * 4 * 5u64 {
            let subset = subset_by(size, slots, |bound| {
                let draw = code % bound;
                code /= bound;
                draw
            });
            *counts.entry(subset).or_default() += 1;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| *count == 6), "{counts:?}");
    }

    #[test]
    fn the_whole_is_a_subset_of_itself() {
        assert_eq!(subset(4, 4, &mut sordino_noise::danger::seeded(1)), [0, 1, 2, 3]);
        assert_eq!(subset(0, 4, &mut sordino_noise::danger::seeded(1)), [0u32; 0]);
    }
}
