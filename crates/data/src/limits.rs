//! At most k records of one unit, and the sensitivity that follows.
//!
//! # Definition
//! A unit is all records that share a value of the unit's column. Each unit keeps a uniform random
//! set of at most k records, drawn by one reservoir (Vitter, *Random Sampling with a Reservoir*,
//! 1985, Algorithm R); the others leave empty slots.
//!
//! # Guarantee
//! The records that a unit keeps are a function of its own records and of fresh randomness. No
//! other unit's records move, so two inputs that differ in one unit give tables that differ in at
//! most k records. A sum of contributions clipped to C moves by at most k C (2 k C under
//! `replace`). A mechanism that costs one record an event costs a unit that event for groups of k
//! ([`ContributionLimit::event`]).
//!
//! # Pitfalls
//! - Bound first, then join or aggregate: a join that multiplies rows undoes the bound.
//! - Keeping the *first* k records makes the order of the file a part of the answer; keeping those
//!   that look best looks at the data. Uniform choice does neither.
//! - k is public: chosen before the data is seen. A k read off the data is a maximum, and costs.

use std::collections::HashMap;
use std::num::NonZero;

use sordino_noise::{Bits, uniform_below};
use sordino_privacy::{ClipNorm, Count, Event, Neighbours, RelationError, Sensitivity, Unit};

use crate::schema::UnitRule;

/// The largest number of records that one unit contributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContributionLimit {
    unit: Unit,
    max_records: Count,
}

impl ContributionLimit {
    /// The limit that a schema declares.
    pub fn of(rule: &UnitRule) -> Self {
        Self { unit: rule.unit(), max_records: rule.max_records() }
    }

    /// The unit that guarantees name.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// k, the largest number of records of one unit.
    pub fn max_records(&self) -> Count {
        self.max_records
    }

    /// The event as it counts for one *unit*: `event`, which counts for one *record*, for a group
    /// of k.
    pub fn event(&self, event: Event) -> Event {
        if self.max_records == Count::ONE {
            event
        } else {
            Event::Group { size: self.max_records, event: Box::new(event) }
        }
    }

    /// How far one unit moves a sum of records, each clipped to `clip_norm`.
    pub fn clipped_sum(
        &self,
        neighbours: Neighbours,
        clip_norm: ClipNorm,
    ) -> Result<Sensitivity, RelationError> {
        let one = neighbours.clipped_sum(clip_norm)?;
        // Counts are exact as doubles, and a product that overflows is refused by the constructor.
        let k = one.get() * self.max_records.get() as f64;
        // The product may have been rounded down by half a unit in the last place.
        Ok(Sensitivity::new(if self.max_records == Count::ONE { k } else { k.next_up() })?)
    }
}

/// One reservoir of slots for each unit.
pub(crate) struct Reservoirs {
    most: u64,
    units: HashMap<Vec<u8>, Reservoir>,
    slots: usize,
}

#[derive(Default)]
struct Reservoir {
    /// The unit's number, in order of first appearance.
    unit: u64,
    seen: u64,
    kept: Vec<u32>,
}

impl Reservoirs {
    pub(crate) fn new(most: Count) -> Self {
        Self { most: most.get(), units: HashMap::new(), slots: 0 }
    }

    /// Adds the record in `slot`, which belongs to `unit`. Returns a number for the unit: equal
    /// units have equal numbers, and the number means nothing else. A record without a unit is not
    /// kept, and nothing reads its number.
    pub(crate) fn see<R: Bits + ?Sized>(&mut self, unit: Option<&[u8]>, slot: usize, bits: &mut R) -> u64 {
        self.slots = self.slots.max(slot + 1);
        let Some(unit) = unit else { return u64::MAX };
        let next = self.units.len() as u64;
        let reservoir = match self.units.get_mut(unit) {
            Some(reservoir) => reservoir,
            None => {
                self.units.entry(unit.to_vec()).or_insert(Reservoir { unit: next, ..Reservoir::default() })
            }
        };
        reservoir.see(self.most, slot as u32, |bound| uniform_below(bound, bits));
        reservoir.unit
    }

    /// Empties the slots that are not kept.
    pub(crate) fn keep(self, present: &mut [bool]) {
        let mut kept = vec![false; present.len()];
        for slot in self.units.into_values().flat_map(|reservoir| reservoir.kept) {
            kept[slot as usize] = true;
        }
        present.iter_mut().zip(kept).for_each(|(present, kept)| *present &= kept);
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }
}

impl Reservoir {
    /// Keeps the t-th record with probability k/t; it replaces a uniform one of those kept.
    fn see(&mut self, most: u64, slot: u32, mut below: impl FnMut(NonZero<u64>) -> u64) {
        self.seen += 1;
        if self.seen <= most {
            self.kept.push(slot);
            return;
        }
        let place = below(NonZero::<u64>::MIN.saturating_add(self.seen - 1)); // uniform on 0..seen
        if place < most {
            self.kept[place as usize] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;

    use super::*;

    fn kept(units: &[Option<&str>], most: u64, seed: u64) -> Vec<bool> {
        let mut reservoirs = Reservoirs::new(Count::new(most).unwrap());
        let mut bits = seeded(seed);
        for (slot, unit) in units.iter().enumerate() {
            reservoirs.see(unit.map(str::as_bytes), slot, &mut bits);
        }
        let mut present = vec![true; reservoirs.slots()];
        reservoirs.keep(&mut present);
        present
    }

    /// Every sequence of draws once: each of the C(5, 2) sets is kept equally often.
    #[test]
    fn the_kept_set_is_uniform_by_enumeration() {
        let mut counts: HashMap<Vec<u32>, u32> = HashMap::new();
        for mut code in 0..3 * 4 * 5u64 {
            let mut reservoir = Reservoir::default();
            for slot in 0..5 {
                reservoir.see(2, slot, |bound| {
                    let draw = code % bound;
                    code /= bound;
                    draw
                });
            }
            reservoir.kept.sort_unstable();
            *counts.entry(reservoir.kept).or_default() += 1;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| *count == 6), "{counts:?}");
    }

    #[test]
    fn a_unit_keeps_k_records_or_all_if_it_has_fewer() {
        let units: Vec<Option<&str>> = ["a", "b", "a", "a", "c", "a", "b"].map(Some).to_vec();
        for seed in 0..20 {
            let kept = kept(&units, 2, seed);
            let of =
                |name| units.iter().zip(&kept).filter(|(unit, kept)| **unit == Some(name) && **kept).count();
            assert_eq!((of("a"), of("b"), of("c")), (2, 2, 1));
        }
        assert_eq!(kept(&[Some("a"), None, Some("b")], 1, 1), [true, false, true]);
    }

    #[test]
    fn a_unit_moves_a_sum_by_k_records() {
        let rule = UnitRule::Column { column: "user".to_owned(), max_records: Count::new(5).unwrap() };
        let limit = ContributionLimit::of(&rule);
        let clip = ClipNorm::new(0.1).unwrap();
        let moved = |neighbours| limit.clipped_sum(neighbours, clip).unwrap().get();
        assert!((0.5..0.5 + 1e-12).contains(&moved(Neighbours::ZeroOut)));
        assert!((1.0..1.0 + 1e-12).contains(&moved(Neighbours::Replace)));
        let event = limit.event(Event::non_private());
        assert!(matches!(event, Event::Group { size, .. } if size.get() == 5));
        let single = ContributionLimit::of(&UnitRule::Record);
        assert_eq!(single.event(Event::non_private()), Event::non_private());
        assert_eq!(single.clipped_sum(Neighbours::ZeroOut, clip).unwrap().get(), 0.1);
    }
}
