//! How much an audit must find: the one rule by which every floor of the suite is set.
//!
//! # Rule
//! A floor is computed before the audit is run, from the exact laws of the mechanism's outputs on
//! two neighbouring inputs ([`laws`](super::laws)), and from the number of outputs on which the
//! audit chooses its event. Among the events "the likelihood ratio is at least t", in both
//! directions, it takes the one whose certified bound is largest if both counts are [`AGAINST`]
//! standard deviations against us. No floor is typed by hand, and none is moved after an audit was
//! seen: an audit that misses its floor has lost power, or needs more outputs.

use sordino_audit::ErrorRates;

use super::{ERROR, delta as valid_delta, searched};

/// Standard deviations by which both counts may be unlucky.
const AGAINST: f64 = 3.0;

/// The floor for outputs of these laws, for an audit with `times` as many outputs as usual.
pub(crate) fn floor((one, two): &(Vec<f64>, Vec<f64>), delta: f64, times: u64) -> f64 {
    let samples = searched(times) / 2; // the other half learns
    best(one, two, delta, samples).max(best(two, one, delta, samples))
}

/// The largest floor of several pairs of laws: of the pairs that an audit is given it finds the
/// most promising.
pub(crate) fn floor_of(pairs: &[(Vec<f64>, Vec<f64>)], delta: f64, times: u64) -> f64 {
    pairs.iter().map(|laws| floor(laws, delta, times)).fold(0.0, f64::max)
}

fn best(one: &[f64], two: &[f64], delta: f64, samples: u64) -> f64 {
    let mut cells: Vec<(f64, f64)> = one.iter().copied().zip(two.iter().copied()).collect();
    cells.retain(|(p, q)| p + q > 0.0);
    cells.sort_by(|(p, q), (r, s)| (r / (r + s)).total_cmp(&(p / (p + q))));
    let (mut p, mut q, mut most) = (0.0, 0.0, 0.0_f64);
    let mut candidates = Vec::new();
    for (one, two) in cells {
        (p, q) = (p + one, q + two);
        candidates.push((rough(p, q, delta, samples), p, q));
    }
    // The normal approximation ranks; Clopper and Pearson decide.
    candidates.sort_by(|one, two| two.0.total_cmp(&one.0));
    for (_, p, q) in candidates.into_iter().take(5) {
        most = most.max(certified(p, q, delta, samples));
    }
    most
}

fn rough(p: f64, q: f64, delta: f64, samples: u64) -> f64 {
    let off = (AGAINST + 4.8) / (samples as f64).sqrt();
    let (low, high) =
        (p - off * (p * (1.0 - p)).max(0.0).sqrt() - delta, q + off * (q * (1.0 - q)).max(0.0).sqrt());
    if low > 0.0 { (low / high).ln() } else { f64::NEG_INFINITY }
}

fn certified(p: f64, q: f64, delta: f64, samples: u64) -> f64 {
    let n = samples as f64;
    let off = |p: f64| AGAINST * (n * p * (1.0 - p)).max(0.0).sqrt();
    let count = |count: f64| count.clamp(0.0, n) as u64;
    let rates =
        ErrorRates::new(count(n * p - off(p)), samples, count((n * q + off(q)).ceil()), samples).unwrap();
    if delta == 0.0 {
        rates.pure_epsilon_by_coins(1.0 - ERROR).unwrap()
    } else {
        rates.epsilon(valid_delta(delta), 1.0 - ERROR).unwrap()
    }
}
