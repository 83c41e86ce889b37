use super::*;
use crate::accounting::{self, Accountant};
use crate::claim::Claim;
use crate::grant::danger::spent_by_each;
use crate::params::Delta;
use crate::relation::Neighbours;

fn filter(limit: u64, records: usize) -> IndividualFilter {
    IndividualFilter::new(Count::new(limit).unwrap(), records).unwrap()
}

/// (1) retyped: squares of shares never exceed K, and the next one would not have fitted but for
/// rounding. Shares from a fixed list, large and small.
#[test]
fn squares_of_what_was_admitted_stay_within_the_limit() {
    let shares = [0.9, 0.31, 1e-3, 0.77, 1.0, 0.5, 1e-7, 0.11];
    for limit in [1, 2, 17] {
        let (mut filter, mut squares, mut steps) = (filter(limit, 1), 0.0, 0);
        while filter.admits(0, shares[steps % shares.len()]) {
            squares += shares[steps % shares.len()].powi(2);
            steps += 1;
        }
        assert!(squares <= limit as f64, "{squares} of {limit}");
        assert!(squares + shares[steps % shares.len()].powi(2) > limit as f64 - 1e-6);
        assert!(!filter.admits(0, 1e-9), "who was refused stays out");
        assert_eq!(spent_by_each(&filter), [limit as f64]);
    }
}

/// With all norms at the clip norm it is the usual count of releases.
#[test]
fn full_contributions_are_counted_as_usual() {
    for limit in [1, 5, 1000] {
        let mut filter = filter(limit, 2);
        assert_eq!((0..2000).filter(|_| filter.admits(1, 1.0)).count() as u64, limit);
        assert_eq!(spent_by_each(&filter), [0.0, limit as f64]);
        let noise = NoiseMultiplier::new(3.0).unwrap();
        let usual = Event::gaussian(noise).repeated(Count::new(limit).unwrap());
        let cost = |event| {
            let claim = Claim::new(Neighbours::ZeroOut, event);
            accounting::epsilon(&claim, Delta::new(1e-5).unwrap(), Accountant::Auto).unwrap().bound.upper
        };
        assert_eq!(cost(filter.event(noise)), cost(usual));
    }
}

/// Step 2 of the proof by enumeration, with an adversary: the size of the second contribution
/// follows from the first release, and a last one uses up the rest. The law of the likelihood ratio
/// is that of one Gaussian of distance μ, at every ε; without the filter it is not.
#[test]
fn an_adaptive_run_costs_one_gaussian() {
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    // δ of distance μ at ε, Balle and Wang 2018.
    let phi = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let gaussian = |mu: f64, e: f64| phi(mu / 2.0 - e / mu) - e.exp() * phi(-mu / 2.0 - e / mu);
    let (mu, e_twin) = (1.0f64, 0.5);
    let second = |first: f64| -> f64 { if first > 0.3 { 1.6 } else { 0.2 } };
    let (h, mesh) = (0.02, || (-400..=400).map(|i| f64::from(i) * 0.02));
    // The releases are y1 and y2, of deviation 1, with shifts 0.5 and d2(y1), and a last one of
    // what is left.
    let delta = |e: f64| {
        let mut sum = 0.0;
        for y1 in mesh() {
            let left = mu * mu - 0.25;
            let d2 = if second(y1).powi(2) <= left { second(y1) } else { 0.0 };
            let rest = (left - d2 * d2).sqrt();
            for y2 in mesh() {
                let (p, q) = (density(y1 - 0.5) * density(y2 - d2), density(y1) * density(y2));
                // The last release by its closed form: δ at ε - ln(p/q).
                sum += p * gaussian(rest, e - (p / q).ln()) * h * h;
            }
        }
        sum
    };
    for e in [0.0, 0.5, 1.5] {
        let (found, one) = (delta(e), gaussian(mu, e));
        assert!((found - one).abs() < 1e-4, "{found} against {one} at {e}");
    }
    // A twin that is never asked.
    let mut twin = 0.0;
    for (y1, y2) in mesh().flat_map(|y1| mesh().map(move |y2| (y1, y2))) {
        let (p, q) = (density(y1 - 0.5) * density(y2 - second(y1)), density(y1) * density(y2));
        twin += (p - f64::exp(e_twin) * q).max(0.0) * h * h;
    }
    assert!(twin > 1.1 * gaussian(mu, e_twin), "{twin} against {}", gaussian(mu, e_twin));
}

#[test]
fn edges() {
    let mut one = filter(1, 6);
    // What is no number, or too long, is a full step; nothing is free but nothing.
    assert!([f64::NAN, f64::INFINITY, 7.0].into_iter().enumerate().all(|(i, share)| one.admits(i, share)));
    assert!(one.admits(3, -1.0) && one.admits(4, 0.0) && one.admits(5, 5e-324));
    let spent = spent_by_each(&one);
    assert_eq!(spent[..5], [1.0, 1.0, 1.0, 1.0, 0.0]);
    assert!(one.admits(0, 0.0) && !one.admits(0, 5e-324), "nothing but nothing after the last step");
    assert!(spent[5] > 0.0);
    assert!(!format!("{one:?}").contains("left"));
    let error = IndividualFilter::new(Count::new((1 << 31) + 1).unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("at most 2^31 full steps"), "{error}");
}
