//! Shows that pitfalls known from other systems do not occur in learners. The tests look at
//! results, not at claims alone.

mod contract;

use contract::data::encoded;
use contract::learners::LOGISTIC;
use contract::unmetered;
use sordino_data::Encoded;
use sordino_learn::{FitOptions, GradientDescent, GradientPlan, LearningPlan, Noise, StepwisePlan};
use sordino_noise::danger::seeded;
use sordino_optim::{Clipping, TrainingOptions};
use sordino_privacy::{Count, Event, FixedSample, NoiseMultiplier, SamplingRate};

/// The first `present` slots hold a record with x = 1 and the second class, whose gradient at 0 is
/// -1/2; the others are empty.
fn ones(present: usize, slots: usize) -> Encoded {
    let x = |slot| if slot < present { 1.0 } else { f64::NAN };
    encoded(LOGISTIC, &[(0..slots).map(x).collect()], &vec![1.0; slots], false)
}

fn count(n: u64) -> Count {
    Count::new(n).unwrap()
}

/// Steps from zero with learning rate 1 and clip norm 1.
fn plan(learner: GradientDescent, steps: u64, slots: u64, z: f64) -> GradientPlan {
    let learner = learner.steps(count(steps)).training(TrainingOptions::default());
    let learner = learner.clipping(Clipping::Flat { norm: 1.0 });
    let noise = Noise::Multiplier(NoiseMultiplier::new(z).unwrap());
    learner.plan_with(ones(1, slots as usize).encoding(), count(slots), noise).unwrap()
}

fn weight(plan: &GradientPlan, data: &Encoded, seed: u64) -> f64 {
    let release = plan.fit_with(data, unmetered(plan.claim()), &mut seeded(seed)).unwrap();
    release.value().weights().next().unwrap()[0]
}

fn poisson(rate: f64) -> GradientDescent {
    GradientDescent::poisson(LOGISTIC, SamplingRate::new(rate).unwrap())
}

/// Other systems shuffle batches and account for them as Poisson samples. Here the number of
/// sampled records, read off the weights, has the distribution that is accounted for. Chi-square
/// with 6 cells; a limit of 60 has a false alarm of 1e-11.
#[test]
fn pitfall_01_learners_sample_what_they_claim() {
    let (data, runs) = (ones(8, 8), 2000);
    let learner = plan(poisson(0.25), 1, 8, 1e-3);
    let step = Event::gaussian(NoiseMultiplier::new(1e-3).unwrap());
    let rate = SamplingRate::new(0.25).unwrap();
    assert_eq!(learner.claim().event, step.clone().poisson_sampled(rate).repeated(Count::ONE));
    let mut seen = [0u32; 6];
    for seed in 0..runs {
        let sampled = weight(&learner, &data, seed) * 2.0 / 0.5; // the divisor is 2
        assert!((sampled - sampled.round()).abs() < 0.1, "{sampled}");
        seen[(sampled.round() as usize).min(5)] += 1;
    }
    let binomial = |k: i32| [1.0, 8.0, 28.0, 56.0, 70.0][k as usize] * 0.25f64.powi(k) * 0.75f64.powi(8 - k);
    let mut expected: Vec<f64> = (0..5).map(binomial).collect();
    expected.push(1.0 - expected.iter().sum::<f64>());
    let cells = seen.iter().zip(&expected).map(|(seen, p)| {
        let expected = p * runs as f64;
        (f64::from(*seen) - expected).powi(2) / expected
    });
    assert!(cells.sum::<f64>() < 60.0, "{seen:?}");
    // Samples of fixed size have three of eight records each time.
    let fixed = plan(GradientDescent::fixed_size(LOGISTIC, count(3)), 1, 8, 1e-3);
    let sample = FixedSample::distinct(count(3), count(8)).unwrap();
    assert_eq!(fixed.claim().event, step.sampled_without_replacement(sample).repeated(Count::ONE));
    let half = ones(4, 8);
    let sampled: Vec<f64> = (0..50).map(|seed| weight(&fixed, &half, seed) * 3.0 / 0.5).collect();
    assert!(sampled.iter().all(|k| (k - k.round()).abs() < 0.1 && (0.0..3.1).contains(&k.abs())));
    assert!(sampled.iter().any(|k| k.round() != sampled[0].round()), "always the same slots");
    assert!((weight(&fixed, &data, 1) - 0.5).abs() < 0.01);
}

/// Other systems divide noisy sums by the number of records in the data or in the sample. Here the
/// divisor is public: empty slots count.
#[test]
fn pitfall_02_a_learner_divides_by_a_public_number() {
    let full = plan(GradientDescent::full_batch(LOGISTIC), 1, 8, 1e-3);
    for present in 0..=8 {
        let expected = 0.5 * present as f64 / 8.0;
        assert!((weight(&full, &ones(present, 8), 5) - expected).abs() < 0.01, "{present}");
    }
}

/// Other systems scale the noise of a sum as if it were a mean. Here one step without records is
/// noise of deviation z C/n. 4000 draws, within six deviations of the variance; false alarm 2e-9.
#[test]
fn pitfall_03_the_noise_of_a_learner_is_that_of_a_sum() {
    let full = plan(GradientDescent::full_batch(LOGISTIC), 1, 8, 3.0);
    let empty = ones(0, 8);
    let draws = 4000;
    let variance = (0..draws).map(|seed| weight(&full, &empty, seed).powi(2)).sum::<f64>() / draws as f64;
    let expected = (3.0f64 / 8.0).powi(2);
    assert!((variance / expected - 1.0).abs() < 6.0 * (2.0 / draws as f64).sqrt(), "{variance} {expected}");
}

/// In other systems an empty sample ends training, or is skipped. Here it is a step like any other.
#[test]
fn pitfall_15_a_learner_takes_a_step_for_an_empty_batch() {
    let rare = plan(poisson(1e-12), 7, 8, 1.0);
    let data = ones(8, 8);
    let mut steps = 0;
    let mut progress = |_: sordino_optim::Progress<'_>| steps += 1;
    let mut bits = seeded(2);
    let options =
        FitOptions { progress: Some(&mut progress), bits: Some(&mut bits), ..FitOptions::default() };
    let release = rare.fit_under(&data, unmetered(rare.claim()), options).unwrap();
    // The noise has deviation 1 over a divisor of 8e-12.
    assert!(release.value().weights().next().unwrap()[0].abs() > 1e9);
    assert_eq!(steps, 7);
}
