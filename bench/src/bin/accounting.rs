//! Seconds for one certified answer: ε of training runs and of a mixture, and calibration.
//!
//! `peers/accounting.py` does work of the same names.

use std::error::Error;
use std::hint::black_box;

use serde_json::json;
use sordino::prelude::*;
use sordino::privacy::FixedSample;

use sordino_bench::{Options, emit, seconds};

const DELTA: f64 = 1e-5;

/// Training runs: name, noise multiplier, sampling rate, steps.
const TRAINING: [(&str, f64, f64, u64); 5] = [
    ("mnist", 1.1, 256.0 / 60_000.0, 14_062),
    ("low noise", 0.7, 0.01, 10_000),
    ("high noise", 4.0, 0.05, 2_000),
    ("tiny noise", 0.5, 1e-3, 5_000),
    ("many steps", 1.0, 1e-4, 1_000_000),
];

/// Steps of training on samples of fixed size.
const FIXED_STEPS: [u64; 3] = [1, 600, 8_000];

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments();
    let delta = Delta::new(DELTA)?;
    for (name, noise, rate, steps) in TRAINING.into_iter().take(if options.quick { 1 } else { 5 }) {
        let step = Event::gaussian(NoiseMultiplier::new(noise)?).poisson_sampled(SamplingRate::new(rate)?);
        let claim = Claim::new(Neighbours::AddRemove, step.repeated(Count::new(steps)?));
        epsilon(options, &format!("dp-sgd, {name}"), &claim, delta)?;
    }
    for steps in FIXED_STEPS.into_iter().take(if options.quick { 1 } else { FIXED_STEPS.len() }) {
        epsilon(options, &format!("fixed size, {steps} steps"), &fixed_size(steps)?, delta)?;
    }
    epsilon(options, "500 gaussians, 200 laplaces", &mixture()?, Delta::new(1e-6)?)?;
    for target in if options.quick { &[2.93][..] } else { &[1.0, 2.93, 8.0] } {
        noise(options, *target, delta)?;
    }
    Ok(())
}

fn epsilon(options: Options, workload: &str, claim: &Claim, delta: Delta) -> Result<(), Box<dyn Error>> {
    let answer = accounting::epsilon(claim, delta, Accountant::Auto)?;
    let taken = seconds(options.fill(), || {
        // Cannot fail: the same question was answered above.
        let _ = black_box(accounting::epsilon(black_box(claim), delta, Accountant::Auto));
    });
    let config = json!({
        "upper": answer.bound.upper, "lower": answer.bound.lower, "accountant": answer.accountant,
    });
    emit(workload, "s", taken, config);
    Ok(())
}

/// Samples of 150 of 20 000 records, with a noise of 2.5 clip norms, under `replace`.
fn fixed_size(steps: u64) -> Result<Claim, Box<dyn Error>> {
    let sample = FixedSample::distinct(Count::new(150)?, Count::new(20_000)?)?;
    let step = Event::gaussian(NoiseMultiplier::new(2.5)?).sampled_without_replacement(sample);
    Ok(Claim::new(Neighbours::Replace, step.repeated(Count::new(steps)?)))
}

/// Standard deviations from 5 to 50 and scales from 10 to 100, evenly spaced, all different.
fn mixture() -> Result<Claim, Box<dyn Error>> {
    let mut events = Vec::new();
    for i in 0..500 {
        events.push(Event::gaussian(NoiseMultiplier::new(5.0 + 45.0 * f64::from(i) / 499.0)?));
    }
    for i in 0..200 {
        events.push(Event::laplace(NoiseMultiplier::new(10.0 + 90.0 * f64::from(i) / 199.0)?));
    }
    Ok(Claim::new(Neighbours::AddRemove, Event::composed(events)))
}

fn noise(options: Options, target: f64, delta: Delta) -> Result<(), Box<dyn Error>> {
    let (_, _, rate, steps) = TRAINING[0];
    let (target, rate, steps) = (Epsilon::new(target)?, SamplingRate::new(rate)?, Count::new(steps)?);
    let find = || calibrate::noise_multiplier(target, delta, Neighbours::AddRemove, rate, steps);
    let answer = find()?;
    let taken = seconds(options.fill(), || {
        let _ = black_box(find());
    });
    let config = json!({
        "noise_multiplier": answer.value.get(), "upper": answer.epsilon.upper, "lower": answer.epsilon.lower,
    });
    emit(&format!("calibrate, epsilon {}", target.get()), "s", taken, config);
    Ok(())
}
