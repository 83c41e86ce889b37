//! Running sums over a growing record of grants, so that a charge need not add up everything again.

use super::Spent;
use super::sum::RunningSum;
use crate::accounting::{self, AccountError, Tally};
use crate::claim::Claim;
use crate::event::Event;
use crate::relation::Neighbours;

/// What deciding has cost so far: a count of operations, which is the same on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Work {
    /// Events whose cost alone was computed.
    pub priced: u64,
    /// Events whose part of the sums was computed.
    pub tallied: u64,
    /// Additions to the sums.
    pub added: u64,
    /// Compositions of a whole history by the tightest accountant.
    pub composed: u64,
}

/// Sums of all grants at some orders.
#[derive(Clone, Debug)]
pub(super) struct Tallies {
    neighbours: Neighbours,
    orders: Vec<f64>,
    /// By place in the record.
    known: Vec<Tally>,
    /// The last event that was not in the record: if it is granted, it will be.
    fresh: Option<(Event, Tally)>,
    pure: RunningSum,
    lost: RunningSum,
    gaussian: RunningSum,
    renyi: Vec<RunningSum>,
    charges: usize,
    pub(super) tallied: u64,
    pub(super) added: u64,
}

impl Tallies {
    pub(super) fn new(neighbours: Neighbours, orders: Vec<f64>) -> Self {
        let renyi = vec![RunningSum::default(); orders.len()];
        let (pure, lost, gaussian) = (RunningSum::default(), RunningSum::default(), RunningSum::default());
        let (known, fresh) = (Vec::new(), None);
        Self {
            neighbours,
            orders,
            known,
            fresh,
            pure,
            lost,
            gaussian,
            renyi,
            charges: 0,
            tallied: 0,
            added: 0,
        }
    }

    /// Adds what was granted since the last call, here or elsewhere. Records only grow.
    pub(super) fn catch_up(&mut self, spent: &Spent) -> Result<(), AccountError> {
        while self.known.len() < spent.events().len() {
            let tally = self.of(spent, &spent.events()[self.known.len()].0)?;
            self.known.push(tally);
        }
        if self.charges == 0 {
            for (place, (_, count)) in spent.events().iter().enumerate() {
                self.add(place, *count);
            }
        } else {
            for place in spent.since(self.charges) {
                self.add(*place as usize, 1);
            }
        }
        self.charges = spent.since(0).len();
        Ok(())
    }

    /// What one event adds.
    pub(super) fn of(&mut self, spent: &Spent, event: &Event) -> Result<Tally, AccountError> {
        if let Some(tally) = spent.place(event).and_then(|place| self.known.get(place)) {
            return Ok(tally.clone());
        }
        if let Some((_, tally)) = self.fresh.as_ref().filter(|(known, _)| known == event) {
            return Ok(tally.clone());
        }
        self.tallied += 1;
        let tally = accounting::tally(&Claim::new(self.neighbours, event.clone()), &self.orders)?;
        self.fresh = Some((event.clone(), tally.clone()));
        Ok(tally)
    }

    /// All of the record.
    pub(super) fn total(&self) -> Tally {
        self.total_with(None)
    }

    /// All of the record, and `next` so many times after it.
    pub(super) fn total_with(&self, next: Option<(&Tally, u64)>) -> Tally {
        let (mut pure, mut lost, mut gaussian) = (self.pure, self.lost, self.gaussian);
        let mut renyi = self.renyi.clone();
        if let Some((next, times)) = next.filter(|(_, times)| *times > 0) {
            let times = times as f64;
            pure.add(times * next.pure);
            lost.add(times * next.lost);
            gaussian.add(times * next.gaussian);
            renyi.iter_mut().zip(&next.renyi).for_each(|(sum, term)| sum.add(times * term));
        }
        let renyi = renyi.into_iter().map(RunningSum::value).collect();
        Tally { pure: pure.value(), lost: lost.value(), gaussian: gaussian.value(), renyi }
    }

    fn add(&mut self, place: usize, count: u64) {
        let (tally, times) = (&self.known[place], count as f64);
        self.pure.add(times * tally.pure);
        self.lost.add(times * tally.lost);
        self.gaussian.add(times * tally.gaussian);
        self.renyi.iter_mut().zip(&tally.renyi).for_each(|(sum, term)| sum.add(times * term));
        self.added += 1;
    }
}
