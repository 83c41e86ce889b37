//! Pitfall 13: audits that prove too much. From scores that were pure chance an audit returned
//! lower bounds on ε of 3.5 to 5.9, by a shortcut for the second direction
//! (google-deepmind/jax_privacy, issue 270). Every shortcut that looks at the counted scores before
//! it has chosen what to count does the like. Ours gives 0, except for as many runs as the stated
//! error allows.

mod suite;

use sordino_audit::{ErrorRates, MechanismTester};
use sordino_noise::danger::seeded;
use sordino_noise::{Bits, DiscreteLaplace};
use suite::{delta, epsilon};

/// Six standard deviations above the mean of a binomial count: false alarm below 1e-9.
fn most(runs: f64, error: f64) -> f64 {
    runs * error + 6.0 * (runs * error * (1.0 - error)).sqrt()
}

fn scores(count: usize, bits: &mut dyn Bits) -> Vec<u64> {
    (0..count).map(|_| bits.next_u64()).collect()
}

fn above(scores: &[u64], threshold: u64) -> u64 {
    scores.iter().filter(|score| **score > threshold).count() as u64
}

fn bound(one: &[u64], two: &[u64], threshold: u64) -> f64 {
    let (trials, rates) = (one.len() as u64, (above(one, threshold), above(two, threshold)));
    ErrorRates::new(rates.0, trials, rates.1, trials).unwrap().epsilon(delta(0.0), 0.9).unwrap()
}

#[test]
fn a_threshold_fixed_beforehand_gives_zero_on_null_scores() {
    let mut bits = seeded(1);
    let wrong = (0..2000)
        .filter(|_| bound(&scores(200, &mut bits), &scores(200, &mut bits), u64::MAX / 4 * 3) > 0.0)
        .count();
    assert!(wrong as f64 <= most(2000.0, 0.1), "{wrong} of 2000");
}

/// Such a shortcut: the largest ratio over all thresholds, on the same scores.
#[test]
fn ratios_at_a_threshold_chosen_on_the_counted_scores_prove_what_is_not_there() {
    let mut bits = seeded(2);
    let wrong = (0..100)
        .filter(|_| {
            let (one, two) = (scores(200, &mut bits), scores(200, &mut bits));
            let ratio = |threshold: &u64| above(&one, *threshold) as f64 / above(&two, *threshold) as f64;
            // Thresholds that two holds itself, so that no ratio is infinite.
            let best = two.iter().filter(|score| above(&two, **score) > 0).map(ratio).fold(0.0, f64::max);
            best.ln() > 0.5
        })
        .count();
    assert!(wrong as f64 > most(100.0, 0.1), "{wrong} of 100: the trap is gone?");
}

/// The whole tester, search included, on a mechanism that does not look at its input.
#[test]
fn the_tester_gives_zero_on_null_mechanisms() {
    let noise = DiscreteLaplace::new(3, 1).unwrap();
    let runs = 300;
    let few = |_: &bool, bits: &mut dyn Bits| noise.sample(bits);
    let many = |_: &bool, bits: &mut dyn Bits| (bits.next_u64() >> 11) as f64;
    let wrong = |seed: u64, continuous: bool| {
        let tester =
            MechanismTester::new(epsilon(1.0)).with_samples(400, 400).at_confidence(0.9).seeded(seed);
        let audit = if continuous {
            tester.test(many, &true, &false).unwrap()
        } else {
            tester.test(few, &true, &false).unwrap()
        };
        assert!(audit.epsilon < 1.0, "{audit}");
        audit.epsilon > 0.0
    };
    for continuous in [false, true] {
        let wrong = (0..runs).filter(|seed| wrong(*seed, continuous)).count();
        assert!(wrong as f64 <= most(runs as f64, 0.1), "{wrong} of {runs}");
    }
}

/// Honest randomized response at ε = ln 3 is refuted in no more than the stated share of audits.
#[test]
fn a_tight_mechanism_is_refuted_no_more_often_than_stated() {
    let truth = sordino_noise::Probability::new(3, 4).unwrap();
    let respond = |answer: &bool, bits: &mut dyn Bits| *answer == truth.flip(bits);
    let runs = 300;
    let tester = |seed| {
        MechanismTester::new(epsilon(3.0_f64.ln())).with_samples(400, 400).at_confidence(0.9).seeded(seed)
    };
    let above = |seed: &u64| tester(*seed).test(respond, &true, &false).unwrap().epsilon > 3.0_f64.ln();
    let wrong = (0..runs).filter(above).count();
    assert!(wrong as f64 <= most(runs as f64, 0.1), "{wrong} of {runs}");
}
