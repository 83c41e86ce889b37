//! Gradient descent with an individual filter: more steps for the same charge.

mod contract;

use contract::data;
use sordino_learn::{GradientDescent, LearnError, LearningPlan, Loss, Noise, StepwisePlan};
use sordino_noise::danger::seeded;
use sordino_optim::{Checkpoints, Clipping, FitOptions, OptimError};
use sordino_privacy::{Count, Delta, NoiseMultiplier, Unit, danger};

#[test]
fn more_steps_for_the_same_charge() {
    let (data, count) = (data::easy(Loss::Logistic), |n| Count::new(n).unwrap());
    let noise = Noise::Multiplier(NoiseMultiplier::new(20.0).unwrap());
    let learner =
        GradientDescent::full_batch(Loss::Logistic).steps(count(10)).clipping(Clipping::Flat { norm: 4.0 });
    let usual = learner.plan_with(data.encoding(), count(400), noise).unwrap();
    let longer = learner.filtered_over(count(60)).plan_with(data.encoding(), count(400), noise).unwrap();
    assert_eq!(usual.claim(), longer.claim());
    assert_eq!((usual.steps(), longer.steps()), (10, 60));
    let permit = || danger::unmetered(longer.claim(), Unit::Record, Delta::new(1e-5).unwrap()).unwrap();
    let mut steps = 0;
    let mut progress = |_: sordino_optim::Progress<'_>| steps += 1;
    let mut bits = seeded(8);
    let options =
        FitOptions { progress: Some(&mut progress), bits: Some(&mut bits), ..FitOptions::default() };
    let release = longer.fit_under(&data, permit(), options).unwrap();
    assert_eq!((steps, &release.guarantee().event), (60, &usual.claim().event));
    let checkpoints = Some(Checkpoints { path: "never-written".into(), every: 1, keep: false });
    let refused = longer.fit_under(&data, permit(), FitOptions { checkpoints, ..FitOptions::default() });
    assert!(matches!(refused, Err(LearnError::Optim(OptimError::IndividualFilter { .. }))));
}
