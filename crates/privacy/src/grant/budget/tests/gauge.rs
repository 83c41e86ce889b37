//! What is shown as left falls by what a charge was said to take, from the first charge on.

use super::*;
use crate::accounting::{self, Accountant};
use crate::event::{LaplaceNoise, RandomizedResponseLaw};
use crate::notion::Gdp;
use crate::params::{Count, SamplingRate, TruthProbability};

/// Under which a randomized response has a price, and a contribution moves by two clip norms.
const RELATION: Neighbours = Neighbours::Replace;

fn replacing(epsilon: f64, delta: f64) -> Terms {
    Terms::new(Epsilon::new(epsilon).unwrap(), RELATION).with_delta(Delta::new(delta).unwrap())
}

/// Gaussian noise on all records, calibrated to (ε, δ).
fn full_batches(epsilon: f64, delta: f64) -> Event {
    let mu = Gdp::within(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap()).mu().get();
    let steps = 100.0f64;
    gaussian(2.0 * steps.sqrt() / mu * (1.0 + 1e-12)).repeated(Count::new(100).unwrap())
}

/// Gaussian noise on Poisson samples, at most (ε, δ).
fn sampled(epsilon: f64, delta: f64) -> Event {
    let of = |noise: f64| {
        gaussian(noise).poisson_sampled(SamplingRate::new(0.02).unwrap()).repeated(Count::new(500).unwrap())
    };
    let costs = |noise: f64| {
        let claim = Claim::new(RELATION, of(noise));
        accounting::epsilon(&claim, Delta::new(delta).unwrap(), Accountant::Auto).unwrap().bound.upper
    };
    let mut noise = 0.5;
    while costs(noise) > epsilon {
        noise *= 1.05;
    }
    of(noise)
}

fn laplace(epsilon: f64) -> Event {
    Event::Laplace(LaplaceNoise::Multiplier {
        noise_multiplier: NoiseMultiplier::new(2.0 / epsilon).unwrap(),
    })
}

fn randomized_response(epsilon: f64) -> Event {
    let truth = TruthProbability::new(epsilon.exp() / (1.0 + epsilon.exp())).unwrap();
    Event::RandomizedResponse(RandomizedResponseLaw::new(Count::new(2).unwrap(), truth).unwrap())
}

/// Twenty charges of mixed sizes, and what each costs alone.
fn twenty(delta: f64, has_samples: bool) -> Vec<(Event, f64)> {
    let third = |epsilon| if has_samples { sampled(epsilon, delta) } else { full_batches(epsilon, delta) };
    let mut events = Vec::new();
    for round in 0..4 {
        events.push((full_batches(0.3, delta), 0.3));
        events.push((pure(0.01), 0.01));
        events.push((third(0.3), 0.3));
        events.push((laplace(0.05), 0.05));
        events.push(if round % 2 == 0 { (randomized_response(0.1), 0.1) } else { (pure(0.002), 0.002) });
    }
    events
}

/// A budget of 3 had 2.70 left after a training run of 0.3, and 1.63 after one count of 0.01 more:
/// what converts a sum of divergences at the end of everything was taken off at the second charge.
#[test]
fn a_charge_takes_what_it_was_said_to_take() {
    let delta = 1e-6;
    for (terms, has_samples) in
        [(replacing(3.0, delta), true), (replacing(3.0, delta).filtered_by(Filter::Gaussian), false)]
    {
        let events = twenty(delta, has_samples);
        let run = |events: &[(Event, f64)]| {
            let mut budget = Budget::new(terms.clone());
            let mut taken = Vec::new();
            for (event, alone) in events {
                let before = budget.left().unwrap();
                let quote = budget.quote(event).unwrap();
                grant(&mut budget, event);
                let after = budget.left().unwrap();
                assert_eq!((quote.before, quote.after), (before, after));
                let fell = before - after;
                assert!(fell > 0.0 && fell <= 1.5 * quote.price(), "{fell} against {quote:?}");
                // Nor more than its ε alone, by more than that.
                assert!(fell <= 1.5 * alone, "{fell} for a charge of {alone}");
                taken.push(fell);
            }
            (taken, budget.left().unwrap())
        };
        let (forward, left) = run(&events);
        assert!(left > 0.5, "{left}");
        // The first charge here is not pure, and from there on a charge takes the same wherever it
        // stands.
        let mut reversed = events.clone();
        reversed[1..].reverse();
        let (mut backward, left_then) = run(&reversed);
        backward[1..].reverse();
        assert!((left - left_then).abs() < 1e-9);
        assert!(forward.iter().zip(&backward).all(|(one, other)| (one - other).abs() < 1e-9));
    }
}

/// The numbers of the story: 3, then 2.70, 1.63 and 1.60.
#[test]
fn nothing_is_taken_for_the_second_charge_but_the_second_charge() {
    let mut budget = Budget::new(replacing(3.0, 1e-6));
    grant(&mut budget, &full_batches(0.3, 1e-6));
    let first = 3.0 - budget.left().unwrap();
    assert!(first < 0.3, "{first}");
    grant(&mut budget, &pure(0.01));
    let second = 3.0 - first - budget.left().unwrap();
    assert!(second < 0.01, "{second}");
    grant(&mut budget, &full_batches(0.3, 1e-6));
    let third = 3.0 - first - second - budget.left().unwrap();
    assert!((third - first).abs() < 1e-9, "{third} after {first}");
}

/// Large pure charges need no δ and take their ε; the gauge says what is left once a charge needs
/// it.
#[test]
fn the_first_charge_with_a_delta_takes_what_was_predicted() {
    let mut budget = Budget::new(replacing(3.0, 1e-6));
    for _ in 0..3 {
        grant(&mut budget, &pure(0.5));
    }
    let gauge = budget.gauge().unwrap();
    assert!((gauge.left - 1.5).abs() < 1e-9 && gauge.left_beyond_pure < 0.7, "{gauge:?}");
    let training = full_batches(0.3, 1e-6);
    let quote = budget.quote(&training).unwrap();
    grant(&mut budget, &training);
    let fell = gauge.left_beyond_pure - budget.left().unwrap();
    assert!(fell > 0.0 && fell < 0.3, "{fell}");
    assert!((quote.price() - (1.5 - budget.left().unwrap())).abs() < 1e-9);
    let gauge = budget.gauge().unwrap();
    assert_eq!(gauge.left, gauge.left_beyond_pure);
}

/// How often something fits is how often it is granted.
#[test]
fn what_can_be_asked_is_what_is_granted() {
    for terms in [
        approximate(1.0, 1e-6),
        approximate(1.0, 1e-6).filtered_by(Filter::Gaussian),
        approximate(1.0, 1e-6).planned(),
        terms(1.0),
    ] {
        for event in [pure(0.1), pure(0.25), gaussian(30.0), gaussian(0.1)] {
            let mut budget = Budget::new(terms.clone());
            grant(&mut budget, &pure(0.05));
            let foretold = budget.gate.clone().times(&budget.spent().unwrap(), &event, 1000).unwrap();
            let granted = (0..).take_while(|_| budget.charge(event.clone()).is_ok()).count() as u64;
            assert_eq!(foretold, granted, "{event:?} {terms:?}");
        }
        let budget = Budget::new(terms.clone());
        let times = |most| budget.gate.clone().times(&Spent::default(), &pure(0.001), most).unwrap();
        assert_eq!((times(0), times(1), times(7), times(100)), (0, 1, 7, 100));
    }
}

/// A first charge for which sums have no room is granted where it is within the budget, and has
/// taken everything.
#[test]
fn a_first_charge_that_takes_everything_says_so() {
    let event = gaussian(2.0);
    let budget = Budget::new(approximate(1.993091405, 1e-5));
    let quote = budget.quote(&event).unwrap();
    assert_eq!((quote.before, quote.after), (1.993091405, 0.0));
}
