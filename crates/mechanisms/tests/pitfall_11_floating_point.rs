//! Pitfall 11: noise in floating point has holes that depend on the answer, and whoever knows where
//! they are reads the answer off the release (Mironov, "On significance of the least significant
//! bits for differential privacy", 2012).

use std::collections::HashSet;

use sordino_mechanisms::{Contributions, Laplace, Mechanism};
use sordino_noise::danger::seeded;
use sordino_privacy::{ClipNorm, Count, Delta, Epsilon, Neighbours, Unit, danger};

/// The textbook's sampler: the inverse distribution function of a uniform double.
fn naive(answer: f64, uniform: f64) -> f64 {
    answer - (uniform - 0.5).signum() * (1.0 - 2.0 * (uniform - 0.5).abs()).ln()
}

fn naive_outputs(answer: f64) -> HashSet<u64> {
    (1..4096).map(|u| naive(answer, f64::from(u) / 4096.0).to_bits()).collect()
}

#[test]
fn the_naive_sampler_tells_neighbours_apart() {
    let (zero, third) = (naive_outputs(0.0), naive_outputs(1.0 / 3.0));
    let shared = zero.intersection(&third).count();
    assert!(shared < zero.len() / 10, "{shared} of {} outputs are possible under both", zero.len());
}

/// Every output of ours, whatever the records, is a whole multiple of one public step.
#[test]
fn outputs_of_neighbours_have_one_support() {
    let clip = ClipNorm::new(1.0).unwrap();
    let bounds = Contributions::new(Neighbours::ZeroOut, clip, Count::new(10).unwrap());
    let mechanism = Laplace::new(Epsilon::new(1.0).unwrap(), bounds).unwrap();
    let step = mechanism.grid().step();
    for record in [0.0, 1.0 / 3.0, 0.1, f64::MIN_POSITIVE, 1.0] {
        for seed in 0..200 {
            let permit =
                danger::unmetered(mechanism.claim(), Unit::Record, Delta::new(0.0).unwrap()).unwrap();
            let mut sum = mechanism.sum();
            sum.add(&[record]).unwrap();
            let release = mechanism.release_with(sum, permit, &mut seeded(seed)).unwrap();
            let (units, value) = (release.value().units()[0], release.value().to_f64()[0]);
            assert_eq!(value, units as f64 * step, "one rounding of a whole number of steps");
        }
    }
}
