//! Rare jumps and many scales: where one lattice would not do.

use super::epsilon;
use crate::accounting::step::{Sided, Step, Steps};
use crate::accounting::{rdp, reference};

fn training(noise: f64, rate: f64, count: u64) -> Steps {
    let base = Box::new(Step::Gaussian { mu: 1.0 / noise });
    Steps(vec![(Step::Poisson { rate, sided: Sided::One, base }, count)])
}

/// Noise, rate, steps, delta: tiny rates and little noise, very many
/// steps, losses from 1e-9 to 1e5.
const HARD: [(f64, f64, u64, f64); 8] = [
    (7.05434e-1, 6.98951e-9, 59, 5.207e-12),
    (5.31770e-1, 8.65931e-7, 4045, 3.057e-14),
    (7.32074e-1, 6.31840e-8, 2, 8.096e-17),
    (1.23425, 2.81457e-5, 596_004, 5.939e-15),
    (1.98862e-1, 2.13746e-7, 11_424_880, 3.449e-7),
    (4.59316e-1, 1.20238e-4, 1_734_165, 1.308e-10),
    (7.14228e-2, 8.21829e-7, 846_072_628, 1.524e-17),
    (6.98562e-2, 6.53893e-1, 6166, 9.169e-14),
];

#[test]
fn hard_corners_are_certified_to_one_part_in_a_thousand() {
    for (noise, rate, count, delta) in HARD {
        let steps = training(noise, rate, count);
        let found = epsilon(&steps, delta).unwrap();
        assert!(
            0.0 < found.lower
                && found.lower <= found.upper
                && found.upper - found.lower <= 1e-3 * found.upper,
            "sigma {noise}, q {rate}, T {count}, delta {delta}: {found:?}"
        );
        assert!(found.lower <= rdp::epsilon(&steps, delta).unwrap().value * (1.0 + 1e-9), "{found:?}");
    }
}

/// One release against the closed form, where the loss spans many decades.
#[test]
fn one_release_against_its_closed_form() {
    for (noise, rate, delta) in [(0.357, 9.6e-9, 6.1e-14), (1.656, 1.7e-7, 1.6e-17), (970.0, 2.9e-9, 2.2e-18)]
    {
        let found = epsilon(&training(noise, rate, 1), delta).unwrap();
        let base = |e| reference::gaussian(e, 1.0 / noise, 1);
        let truth = |e| reference::sampled_remove(e, rate, base).max(reference::sampled_add(e, rate, base));
        assert!(found.upper - found.lower <= 1e-6 * found.upper, "{found:?}");
        assert!(truth(found.upper) <= delta * (1.0 + 1e-6), "{found:?}: {}", truth(found.upper));
        assert!(truth(found.lower) >= delta * (1.0 - 1e-6), "{found:?}: {}", truth(found.lower));
    }
}

/// Two releases by the definition: `delta = E[delta_1(e - L)]`, a plain sum over a million outcomes
/// of the first release of the closed form for the second.
#[test]
fn two_releases_against_an_integral() {
    for (noise, rate, delta) in [(0.732, 6.3e-8, 8.1e-12), (0.5, 1e-4, 1e-7), (0.3, 0.01, 1e-4)] {
        let found = epsilon(&training(noise, rate, 2), delta).unwrap();
        let truth = |e: f64| two_releases(e, noise, rate);
        assert!(found.upper - found.lower <= 1e-3 * found.upper, "{found:?}");
        assert!(truth(found.upper) <= delta * (1.0 + 1e-5), "{found:?}: {:e}", truth(found.upper));
        assert!(truth(found.lower) >= delta * (1.0 - 1e-5), "{found:?}: {:e}", truth(found.lower));
    }
}

/// The remove direction, which is the worse one at these parameters.
fn two_releases(e: f64, noise: f64, rate: f64) -> f64 {
    let mu = 1.0 / noise;
    let base = |e: f64| reference::gaussian(e, mu, 1);
    let (low, high, n) = (-9.0, mu + 9.0, 40_000);
    let width = (high - low) / f64::from(n);
    (0..n)
        .map(|i| {
            let x = low + width * (f64::from(i) + 0.5);
            let ratio = rate * (mu * (x - 0.5 * mu)).exp_m1();
            let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt() * (1.0 + ratio);
            width * density * reference::sampled_remove(e - ratio.ln_1p(), rate, base)
        })
        .sum()
}

/// Jumps so large that one of them decides: with probability `T q` about, the loss is far above
/// epsilon, and otherwise next to nothing. Then delta(e) is what one jump costs.
#[test]
fn rare_jumps_decide_alone() {
    let (noise, rate, count) = (0.05, 1e-9, 1000);
    let one = |e: f64| reference::sampled_remove(e, rate, |e| reference::gaussian(e, 1.0 / noise, 1));
    // No other loss is below ln(1 - q), and two jumps have probability below 1e-12.
    let found = super::delta(&training(noise, rate, count), 100.0).unwrap();
    let least = -(f64::from(count as u32) * (-one(100.0 + 1000.0 * 1.1e-9)).ln_1p()).exp_m1();
    assert!(
        found.upper >= least && found.upper <= least * (1.0 + 1e-5) + 1e-12,
        "{found:?} against {least:e}"
    );
    assert!(
        found.lower <= least + 1e-12 && found.lower >= least * (1.0 - 1e-5),
        "{found:?} against {least:e}"
    );
}
