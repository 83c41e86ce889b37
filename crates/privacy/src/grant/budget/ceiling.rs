//! A history that is known to fit, ahead of the one there is.
//!
//! # Guarantee
//! Leaving releases out of a list never makes it cost more (it is post-processing), so every list
//! that is part of one that fits the budget fits it too. The tightest accountant is asked about
//! twice the present history; if that fits, it need not be asked again before the history has
//! doubled. If not, about half as much ahead, and so on. For n equal charges it is asked O(log n)
//! times: at each size of the history once while there is room, and then once or twice for each
//! halving of the room that is left.

use std::collections::HashMap;

use super::Spent;
use crate::event::Event;

/// Aims are not halved below this.
const SMALLEST_AIM: f64 = 1e-9;

#[derive(Clone, Debug)]
pub(super) struct Ceiling {
    counts: HashMap<Event, u64>,
    /// The number of first grants that are within it.
    within: usize,
    /// How far ahead to look, as a part of the history. What was too far once is too far later.
    aim: f64,
}

impl Default for Ceiling {
    fn default() -> Self {
        Self { counts: HashMap::new(), within: 0, aim: 1.0 }
    }
}

impl Ceiling {
    /// Are all of `spent`, and `next` after it, part of the history that fits?
    pub(super) fn covers(&mut self, spent: &Spent, next: &Event) -> bool {
        for place in spent.since(self.within) {
            let (event, count) = &spent.events()[*place as usize];
            if *count > self.count(event) {
                return false;
            }
            self.within += 1;
        }
        spent.count(next) < self.count(next)
    }

    /// A list to ask about that holds more than `needed`; `None` if the aim adds nothing to it.
    pub(super) fn ahead(&self, needed: &[(Event, u64)]) -> Option<Vec<(Event, u64)>> {
        let more = |count: u64| (count as f64 * self.aim) as u64;
        needed.iter().any(|(_, count)| more(*count) > 0).then(|| {
            needed.iter().map(|(event, count)| (event.clone(), count.saturating_add(more(*count)))).collect()
        })
    }

    /// The list fits, and `spent` is part of it.
    pub(super) fn raise(&mut self, list: Vec<(Event, u64)>, spent: &Spent) {
        self.counts = list.into_iter().collect();
        self.within = spent.since(0).len();
    }

    pub(super) fn lower_aim(&mut self) {
        self.aim = if self.aim > SMALLEST_AIM { 0.5 * self.aim } else { 0.0 };
    }

    fn count(&self, event: &Event) -> u64 {
        self.counts.get(event).copied().unwrap_or(0)
    }
}
