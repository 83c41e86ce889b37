//! Calibration elsewhere landed above its target, failed to bracket, or grew without bound at tiny
//! epsilons (opacus #346, #775; dpsynth #71). Here what is returned was evaluated itself, and
//! passed.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sordino_privacy::{
    AccountError, Accountant, Claim, Count, Delta, Epsilon, Event, Neighbours, NoiseMultiplier, SamplingRate,
    accounting, calibrate,
};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(10),
        ..ProptestConfig::default()
    }
}

fn upper(noise: f64, rate: SamplingRate, steps: Count, delta: Delta, neighbours: Neighbours) -> f64 {
    let step = Event::gaussian(NoiseMultiplier::new(noise).unwrap()).poisson_sampled(rate);
    let claim = Claim::new(neighbours, step.repeated(steps));
    accounting::epsilon(&claim, delta, Accountant::Auto).unwrap().bound.upper
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn pitfall_10_noise_never_lands_above_its_target(
        ln_epsilon in -3.0..3.0_f64,
        ln_rate in -9.0..0.0_f64,
        ln_steps in 0.0..12.0_f64,
        ln_delta in -30.0..-5.0_f64,
        replace in any::<bool>(),
    ) {
        let neighbours = if replace { Neighbours::Replace } else { Neighbours::AddRemove };
        let (epsilon, delta) = (Epsilon::new(ln_epsilon.exp()).unwrap(), Delta::new(ln_delta.exp()).unwrap());
        let rate = SamplingRate::new(ln_rate.exp()).unwrap();
        let steps = Count::new(ln_steps.exp() as u64).unwrap();
        let found = calibrate::noise_multiplier(epsilon, delta, neighbours, rate, steps).unwrap();
        prop_assert!(found.epsilon.upper <= epsilon.get());
        // A thousandth less noise is not enough any more, unless the search ended at its edge.
        let less = found.value.get() * 0.999;
        let exceeds = || upper(less, rate, steps, delta, neighbours) > epsilon.get() * (1.0 - 2e-4);
        prop_assert!(less < 0.01 || exceeds());
    }
}

#[test]
fn pitfall_10_steps_and_rates_stay_below_their_target() {
    let (epsilon, delta) = (Epsilon::new(2.0).unwrap(), Delta::new(1e-5).unwrap());
    let (noise, rate) = (NoiseMultiplier::new(1.1).unwrap(), SamplingRate::new(256.0 / 60_000.0).unwrap());
    let steps = calibrate::steps(epsilon, delta, Neighbours::AddRemove, noise, rate).unwrap();
    assert!(steps.epsilon.upper <= 2.0 && steps.epsilon.upper > 1.998, "{steps:?}");
    let most = calibrate::sampling_rate(epsilon, delta, Neighbours::AddRemove, noise, steps.value).unwrap();
    assert!((most.value.get() / rate.get() - 1.0).abs() < 1e-3, "{most:?}");
    assert!(most.epsilon.upper <= 2.0);
}

#[test]
fn pitfall_10_shares_fill_the_budget_at_every_size() {
    for (epsilon, delta, parts) in [(0.5, 0.0, 7), (1.2, 1e-6, 20), (5.0, 1e-6, 100), (8.0, 1e-6, 20)] {
        let target = Epsilon::new(epsilon).unwrap();
        let delta = Delta::new(delta).unwrap();
        let found = calibrate::split(target, delta, Neighbours::AddRemove, &vec![1.0; parts]).unwrap();
        assert!(
            found.epsilon.upper <= epsilon && found.epsilon.upper > 0.999 * epsilon,
            "{epsilon}: {found:?}"
        );
    }
}

#[test]
fn pitfall_10_what_cannot_be_reached_is_said() {
    let (epsilon, delta) = (Epsilon::new(1e-3).unwrap(), Delta::new(1e-9).unwrap());
    let noise = NoiseMultiplier::new(0.5).unwrap();
    let none =
        calibrate::steps(epsilon, delta, Neighbours::AddRemove, noise, SamplingRate::new(1.0).unwrap());
    assert!(matches!(none, Err(AccountError::OutOfReach { .. })), "{none:?}");
    // Tiny targets and tiny deltas are ordinary questions.
    let tiny = Epsilon::new(1e-6).unwrap();
    let found = calibrate::noise_multiplier(
        tiny,
        Delta::new(1e-12).unwrap(),
        Neighbours::AddRemove,
        SamplingRate::new(1e-3).unwrap(),
        Count::new(10).unwrap(),
    )
    .unwrap();
    assert!(found.epsilon.upper <= 1e-6);
}
