//! What deciding costs, in operations counted and not in time.

use super::*;
use crate::event::Event;
use crate::params::SamplingRate;

const CHARGES: u64 = 100_000;

fn sampled(noise: f64) -> Event {
    gaussian(noise).poisson_sampled(SamplingRate::new(0.01).unwrap())
}

fn charge_all(budget: &mut Budget, event: &Event) -> u64 {
    (0..CHARGES).take_while(|_| budget.charge(event.clone()).is_ok()).count() as u64
}

#[test]
fn a_hundred_thousand_equal_charges_are_priced_and_tallied_once() {
    for event in [pure(1e-5), gaussian(2000.0), sampled(40.0)] {
        let mut budget = Budget::new(approximate(10.0, 1e-6));
        assert_eq!(charge_all(&mut budget, &event), CHARGES);
        let work = budget.work();
        // Sums have room for the first charge, so that nothing is composed; each other one adds
        // once.
        assert_eq!(
            (work.priced, work.tallied, work.added, work.composed),
            (1, 1, CHARGES - 1, 0),
            "{work:?}"
        );
        let mut odometer = Odometer::new(Neighbours::AddRemove, Delta::new(1e-6).unwrap());
        (0..1000).for_each(|_| odometer.record(&event).unwrap());
        assert_eq!((odometer.work().tallied, odometer.work().added), (1, 1000));
    }
}

/// Up to the end of the budget and against it: where sums do not decide, the tightest accountant
/// does, O(log n) times.
#[test]
fn a_planned_budget_asks_the_tightest_accountant_a_logarithmic_number_of_times() {
    let event = sampled(1.0);
    let mut budget = Budget::new(approximate(1.0, 1e-6).planned());
    let granted = charge_all(&mut budget, &event);
    assert!((100..CHARGES).contains(&granted), "{granted}");
    let work = budget.work();
    assert_eq!((work.priced, work.tallied), (1, 1));
    assert!(work.composed <= 4 * (granted.ilog2() as u64 + 2), "{work:?} for {granted}");
    // As much as the tightest accountant allows: one more is too much, from scratch too.
    let claim = |count| {
        Claim::new(Neighbours::AddRemove, event.clone().repeated(crate::params::Count::new(count).unwrap()))
    };
    let total =
        |count| price(claim(count), Unit::Record, Delta::new(1e-6).unwrap(), true).unwrap().epsilon.upper;
    assert!(total(granted) <= 1.0 + 1e-3 && total(granted + 1) > 1.0 - 1e-3);
}

#[test]
fn a_cycle_of_events_is_certified_ahead_too() {
    let cycle = [sampled(1.0), sampled(1.5)];
    let mut budget = Budget::new(approximate(1.0, 1e-6).planned());
    let granted = (0..CHARGES)
        .take_while(|i| budget.charge(cycle[*i as usize % cycle.len()].clone()).is_ok())
        .count() as u64;
    let work = budget.work();
    assert!(granted > 20 && work.composed <= 8 * (granted.ilog2() as u64 + 2), "{work:?} for {granted}");
}

/// Two budgets take turns on one journal: each adds what the other was granted, and nothing twice.
#[test]
fn grants_of_others_are_added_once() {
    let journal = Shared::new(approximate(10.0, 1e-6));
    let (mut here, mut there) = (journal.budget(), journal.budget());
    for _ in 0..500 {
        let _paid = here.charge(pure(1e-3)).unwrap();
        let _paid = there.charge(pure(2e-3)).unwrap();
    }
    let (mine, yours) = (here.work(), there.work());
    assert!(mine.added < 1000 && yours.added <= 1000 && mine.tallied == 2, "{mine:?} {yours:?}");
    assert!((here.total().unwrap() - there.total().unwrap()).abs() < 1e-12);
}
