//! Filters and odometers: against the formulas of the papers, typed again.

use super::*;
use crate::params::Count;

fn pair(epsilon: f64, delta: f64) -> Event {
    Event::Approximate { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::new(delta).unwrap() }
}

fn setting_aside(epsilon: f64, delta: f64, set_aside: f64) -> Terms {
    approximate(epsilon, delta).setting_aside(Delta::new(set_aside).unwrap())
}

/// Whitehouse, Ramdas, Rogers, Wu 2023, theorem 2: how many `(epsilon, delta)` releases its filter
/// grants.
fn advanced(whole: (f64, f64, f64), each: (f64, f64)) -> u32 {
    let (budget, slack, own) = whole;
    let fits = |n: u32| {
        let squares = f64::from(n) * each.0 * each.0;
        (2.0 * (1.0 / slack).ln() * squares).sqrt() + squares / 2.0 <= budget && f64::from(n) * each.1 <= own
    };
    (1..).take_while(|n| fits(*n)).count() as u32
}

#[test]
fn whatever_advanced_composition_grants_is_granted() {
    for (budget, delta, epsilon) in [
        (0.3, 1e-6, 0.02),
        (1.0, 1e-6, 0.01),
        (1.0, 1e-9, 0.05),
        (3.0, 1e-5, 0.1),
        (8.0, 1e-7, 0.4),
        (20.0, 1e-6, 1.0),
    ] {
        let promised = advanced((budget, delta / 2.0, delta / 2.0), (epsilon, 0.0));
        let mut charged = Budget::new(setting_aside(budget, delta, delta / 2.0));
        let mut granted = 0;
        while granted < 4 * promised && charged.charge(pair(epsilon, delta * 1e-9)).is_ok() {
            granted += 1;
        }
        assert!(
            granted >= promised && promised > 3,
            "{granted} of {promised} at {budget}, {delta}, {epsilon}"
        );
    }
}

/// A run that was stopped and goes on is charged for nothing. That once counted as a second charge,
/// for which nothing is left after a first one that took everything.
#[test]
fn nothing_costs_nothing_before_and_after_the_first_release() {
    let nothing = Event::composed([]);
    let mut budget = Budget::new(approximate(4.0, 1e-6));
    grant(&mut budget, &nothing);
    assert_eq!(budget.total().unwrap(), 0.0);
    grant(&mut budget, &gaussian(4.0));
    let alone = budget.total().unwrap();
    let mut once = Budget::new(approximate(4.0, 1e-6));
    grant(&mut once, &gaussian(4.0));
    assert_eq!(alone, once.total().unwrap());
    grant(&mut budget, &nothing);
    assert_eq!(budget.total().unwrap(), alone);
    // What follows is added up by the filter, as without it.
    grant(&mut budget, &gaussian(20.0));
    grant(&mut once, &gaussian(20.0));
    assert_eq!(budget.total().unwrap(), once.total().unwrap());
    assert!(once.total().unwrap() > alone);
    // A budget that the release has used up is not exceeded by going on.
    let exactly = budget.gate.price(&gaussian(4.0)).unwrap().epsilon.upper;
    let mut full = Budget::new(approximate(exactly, 1e-6));
    grant(&mut full, &gaussian(4.0));
    grant(&mut full, &nothing);
    assert!(full.charge(gaussian(1e6)).is_err());
}

/// Two hundred releases with a δ of 1e-9 each use up 2e-7, to the last one.
#[test]
fn deltas_of_releases_are_granted_up_to_what_was_set_aside() {
    let mut budget = Budget::new(setting_aside(5.0, 1e-6, 2e-7));
    for _ in 0..200 {
        grant(&mut budget, &pair(0.01, 1e-9));
    }
    let error = budget.charge(pair(0.01, 1e-9)).unwrap_err().to_string();
    assert!(error.contains("exceeds the δ that was set aside"), "{error}");
    // What brings no δ is still welcome, and what was set aside is not used for it.
    grant(&mut budget, &gaussian(20.0));
    let mut whole = Budget::new(approximate(5.0, 8e-7));
    for _ in 0..200 {
        grant(&mut whole, &pure(0.01));
    }
    grant(&mut whole, &gaussian(20.0));
    let (found, expected) = (budget.total().unwrap(), whole.total().unwrap());
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn what_is_set_aside_comes_out_of_delta() {
    let total = |set_aside| {
        let mut budget = Budget::new(setting_aside(5.0, 1e-6, set_aside));
        grant(&mut budget, &gaussian(20.0));
        grant(&mut budget, &gaussian(30.0));
        budget.total()
    };
    let (nothing, half) = (total(0.0).unwrap(), total(5e-7).unwrap());
    assert!(nothing < half, "{nothing} {half}");
    // All of δ set aside leaves none for Gaussians, after the first.
    let mut budget = Budget::new(setting_aside(5.0, 1e-6, 1e-6));
    grant(&mut budget, &gaussian(20.0));
    assert!(budget.charge(gaussian(30.0)).is_err());
}

/// Equation (1) of the odometer, for Gaussians: R_j = a_j n / (2 z²).
#[test]
fn an_odometer_reads_what_its_formula_says() {
    let (delta, z) = (1e-6f64, 25.0);
    let mut odometer = Odometer::new(Neighbours::AddRemove, Delta::new(delta).unwrap());
    for n in 1..=300 {
        odometer.record(&gaussian(z)).unwrap();
        let orders = (-3..15).map(|j| 1.0 + 2f64.powi(j));
        let terms = orders.map(|a| a * f64::from(n) / (2.0 * z * z) + (18.0 / delta).ln() / (a - 1.0));
        let expected = terms.fold(f64::INFINITY, f64::min);
        let reading = odometer.reading();
        assert!((reading.epsilon / expected - 1.0).abs() < 1e-9, "{n}: {reading:?} {expected}");
        assert_eq!(reading.delta, delta);
    }
}

#[test]
fn a_reading_is_never_below_the_tight_total_and_not_absurdly_above() {
    let delta = Delta::new(1e-6).unwrap();
    for (event, count) in [(gaussian(30.0), 200), (pure(0.02), 500), (pair(0.05, 1e-10), 100)] {
        let mut odometer = Odometer::new(Neighbours::AddRemove, delta);
        (0..count).for_each(|_| odometer.record(&event).unwrap());
        let reading = odometer.reading();
        let claim = Claim::new(Neighbours::AddRemove, event.repeated(Count::new(count).unwrap()));
        let at = Delta::new(reading.delta.max(1e-6)).unwrap();
        let tight = price(claim, Unit::Record, at, true).unwrap().epsilon;
        assert!(
            reading.epsilon >= tight.lower && reading.epsilon <= 2.0 * tight.upper,
            "{reading:?} {tight:?}"
        );
        assert!(reading.delta <= 1e-6 + 1.000_001e-8);
    }
    let mut odometer = Odometer::new(Neighbours::AddRemove, delta);
    odometer.record(&pure(0.5)).unwrap();
    assert_eq!(odometer.reading(), OdometerReading { epsilon: 0.5, delta: 0.0 });
    odometer.record(&Event::NonPrivate).unwrap();
    assert_eq!(odometer.reading().epsilon, f64::INFINITY);
}

/// A budget of 1.5 was said to have let out 1.65, and δ was said to be more than all of it.
#[test]
fn nothing_beyond_the_budget_is_quoted() {
    // Many small Gaussians up to the end of the budget: the odometer pays for every moment, the
    // budget does not.
    let terms = approximate(1.5, 1e-6);
    let mut budget = Budget::new(terms.clone());
    let events = std::iter::repeat_n(gaussian(40.0), 100_000);
    let granted = events.take_while(|event| budget.charge(event.clone()).is_ok()).count();
    assert!(granted > 10);
    let spent = budget.spent().unwrap();
    assert!(Odometer::of(&terms, spent.clone()).unwrap().reading().epsilon > 1.5);
    let full = SoFar::of(&terms, spent).unwrap();
    assert_eq!((full.by, full.within), (Voucher::Budget, OdometerReading { epsilon: 1.5, delta: 1e-6 }));
    // Little of it: the odometer says less.
    let mut budget = Budget::new(terms.clone());
    grant(&mut budget, &gaussian(40.0));
    let little = SoFar::of(&terms, budget.spent().unwrap()).unwrap();
    assert!(little.by == Voucher::Odometer && little.within.epsilon < 0.5 && little.within.delta <= 1e-6);
}

#[test]
fn a_quote_keeps_to_delta_whatever_was_set_aside() {
    let terms = setting_aside(5.0, 1e-5, 5e-6);
    let mut budget = Budget::new(terms.clone());
    grant(&mut budget, &gaussian(20.0));
    grant(&mut budget, &pair(0.05, 5e-6));
    let said = SoFar::of(&terms, budget.spent().unwrap()).unwrap();
    assert_eq!(said.by, Voucher::Odometer);
    assert!(said.within.delta <= 1e-5 && said.within.delta > 0.999_999e-5, "{said:?}");
    // A first charge that needs more than its part of δ: what is left to quote is the budget.
    let mut budget = Budget::new(approximate(5.0, 1e-5));
    grant(&mut budget, &pair(0.05, 1e-5));
    let said = SoFar::of(budget.terms(), budget.spent().unwrap()).unwrap();
    assert_eq!((said.by, said.within), (Voucher::Budget, OdometerReading { epsilon: 5.0, delta: 1e-5 }));
}

/// What rounding leaves is not offered to anybody.
#[test]
fn a_rest_within_the_slack_is_nothing() {
    let mut budget = Budget::new(terms(1.0));
    grant(&mut budget, &pure(1.0 - 1e-11));
    assert_eq!(budget.left().unwrap(), 0.0);
    let refusal = budget.charge(pure(0.25)).unwrap_err().to_string();
    assert!(refusal.contains("but the budget has 0 left of 1"), "{refusal}");
    let mut budget = Budget::new(terms(1.0));
    grant(&mut budget, &pure(1.0 - 1e-8));
    assert!((budget.left().unwrap() - 1e-8).abs() < 1e-15);
}

/// Simulated: an analyst reads the odometer after each answer and stops at the first moment at
/// which the loss exceeds it. That must happen with probability at most δ. With δ = 0.2 and 4000
/// runs, more than 1000 excesses have probability below 1e-13 (Hoeffding).
#[test]
fn an_analyst_who_waits_for_a_bad_moment_waits_in_vain() {
    let (delta, mu, steps, runs) = (0.2, 0.3f64, 150, 4000);
    let mut odometer = Odometer::new(Neighbours::AddRemove, Delta::new(delta).unwrap());
    let readings: Vec<f64> = (0..steps)
        .map(|_| {
            odometer.record(&Event::Gdp { mu: Mu::new(mu).unwrap() }).unwrap();
            odometer.reading().epsilon
        })
        .collect();
    let mut random = 7_u64;
    let mut uniform = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    let mut normal = move || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    let excesses = (0..runs).filter(|_| {
        let mut loss = 0.0;
        readings.iter().any(|reading| {
            loss += mu * normal() + 0.5 * mu * mu; // ln of N(mu, 1) over N(0, 1), under the former
            loss > *reading
        })
    });
    let excesses = excesses.count();
    assert!(excesses <= 1000, "{excesses} of {runs}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn readings_never_fall_and_do_not_depend_on_order(events in prop::collection::vec(any_charge(), 1..20)) {
        let new = || Odometer::new(Neighbours::AddRemove, Delta::new(1e-6).unwrap());
        let (mut forward, mut backward) = (new(), new());
        let mut previous = 0.0;
        for event in &events {
            forward.record(event).unwrap();
            prop_assert!(forward.reading().epsilon >= previous);
            previous = forward.reading().epsilon;
        }
        events.iter().rev().for_each(|event| backward.record(event).unwrap());
        let mut spent = Spent::default();
        events.iter().for_each(|event| spent.record(event.clone()));
        let scratch = Odometer::of(&approximate(1.0, 1e-6), spent).unwrap();
        for other in [backward.reading(), scratch.reading()] {
            prop_assert!((other.epsilon / previous - 1.0).abs() < 1e-14, "{other:?} {previous}");
        }
    }
}
