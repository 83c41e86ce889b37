//! Class weights for each learner: equal weights change nothing, others lead to the minimum of the
//! weighted loss, and a stopped fit does not resume with other weights.

mod contract;

use std::sync::atomic::AtomicBool;

use contract::data::{easy, encoded};
use contract::learners::{HINGE, L2, LOGISTIC, SOFTMAX};
use contract::{distance, fit, unmetered, weights};
use sordino_data::Encoded;
use sordino_learn::danger::{non_private_optimum, non_private_weighted_optimum};
use sordino_learn::{
    ClassWeights, CoordinateClipping, CoordinateDescent, FitOptions, GradientDescent, LearnError,
    LearningPlan, LinearModel, Loss, Noise, ObjectivePerturbation, OutputPerturbation, Smoothness,
    StepwisePlan,
};
use sordino_optim::{Averaging, Checkpoint, Checkpoints, Clipping, Stopped, TrainingOptions, UpdateRule};
use sordino_privacy::{Count, Delta, Epsilon, NoiseMultiplier, SamplingRate, danger};
use sordino_testing::Scratch;

type AnyPlan = Box<dyn LearningPlan<Model = LinearModel, Error = LearnError> + Sync>;

const N: u64 = 400;

fn class_weights(data: &Encoded, numbers: &[f64]) -> ClassWeights {
    let classes = data.encoding().classes().unwrap();
    let declared: Vec<(String, f64)> = classes.iter().cloned().zip(numbers.iter().copied()).collect();
    ClassWeights::new(data.encoding(), &declared).unwrap()
}

fn descent(learner: GradientDescent, loss: Loss, data: &Encoded) -> GradientDescent {
    let training = TrainingOptions {
        rule: UpdateRule::Nesterov { momentum: 0.9 },
        learning_rate: 1.0 / (loss.smoothness(data.encoding().row_norm()) + L2),
        averaging: Averaging::Tail { fraction: 0.2 },
        l2: L2,
        ..TrainingOptions::default()
    };
    let learner = learner.training(training).steps(Count::new(600).unwrap());
    learner.clipping(Clipping::Flat { norm: 2.0 })
}

/// Hardly any noise.
fn quiet() -> Noise {
    Noise::Multiplier(NoiseMultiplier::new(1e-3).unwrap())
}

/// Every method for classes, with hardly any noise, with or without weights.
fn plans(loss: Loss, data: &Encoded, weights: Option<&ClassWeights>) -> Vec<(&'static str, AnyPlan)> {
    let (encoding, n) = (data.encoding(), Count::new(N).unwrap());
    let (epsilon, delta) = (Epsilon::new(1e6).unwrap(), Delta::new(1e-6).unwrap());
    let mut all: Vec<(&'static str, AnyPlan)> = Vec::new();
    for (name, learner) in [
        ("full batches", GradientDescent::full_batch(loss)),
        ("Poisson samples", GradientDescent::poisson(loss, SamplingRate::new(1.0).unwrap())),
    ] {
        let learner = descent(learner, loss, data);
        let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights.clone()));
        all.push((name, Box::new(learner.plan_with(encoding, n, quiet()).unwrap())));
    }
    let learner = OutputPerturbation::new(loss).l2(L2);
    let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights.clone()));
    all.push(("output perturbation", Box::new(learner.plan_with(encoding, n, quiet()).unwrap())));
    let learner = ObjectivePerturbation::new(loss).l2(L2);
    let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights.clone()));
    all.push(("objective perturbation", Box::new(learner.plan(encoding, n, epsilon, delta).unwrap())));
    if loss.outputs() == 1 {
        let learner = CoordinateDescent::new(loss)
            .smoothness(Smoothness::Declared)
            .l2(L2)
            .clipping(CoordinateClipping::Lipschitz)
            .rounds(12)
            .steps(40 * encoding.width() as u64);
        let learner = weights.map_or(learner.clone(), |weights| learner.class_weights(weights.clone()));
        all.push(("coordinate descent", Box::new(learner.plan_with(encoding, n, quiet()).unwrap())));
    }
    all
}

fn declared(loss: Loss) -> Vec<f64> {
    if loss.outputs() == 3 { vec![1.0, 4.0, 2.0] } else { vec![1.0, 4.0] }
}

#[test]
fn with_little_noise_every_learner_finds_the_optimum_of_the_weighted_loss() {
    for loss in [LOGISTIC, HINGE, SOFTMAX] {
        let data = easy(loss);
        let class_weights = class_weights(&data, &declared(loss));
        let optimum = weights(&non_private_weighted_optimum(loss, &class_weights, &data, L2).unwrap());
        let plain = weights(&non_private_optimum(loss, &data, L2).unwrap());
        assert!(distance(&optimum, &plain) > 0.1, "{loss:?}: the weights must make a difference");
        for (name, plan) in plans(loss, &data, Some(&class_weights)) {
            let found = fit(&*plan, &data, 4).unwrap();
            let off = distance(&found, &optimum);
            assert!(off < 1e-3, "{name}, {loss:?}: {off}, {found:?} against {optimum:?}");
        }
    }
}

/// A class weight of 3 has the effect of three copies of each record, with the penalty adjusted to
/// the larger number of records.
#[test]
fn the_weighted_optimum_is_that_of_repeated_records() {
    let (x, n) = (|i: usize| (i as f64 * 0.7).sin(), 60);
    let class = |i: usize| u8::from(x(i) + 0.5 * x(5 * i) > 0.6);
    let repeated: Vec<usize> = (0..n).flat_map(|i| vec![i; if class(i) == 1 { 3 } else { 1 }]).collect();
    let of = |records: &[usize]| {
        let columns = [records.iter().map(|i| x(*i)).collect(), records.iter().map(|i| x(3 * i)).collect()];
        let targets: Vec<f64> = records.iter().map(|i| f64::from(class(*i))).collect();
        encoded(LOGISTIC, &columns, &targets, true)
    };
    let (once, often) = (of(&(0..n).collect::<Vec<_>>()), of(&repeated));
    let class_weights = class_weights(&once, &[1.0, 3.0]);
    let weighted = non_private_weighted_optimum(LOGISTIC, &class_weights, &once, L2).unwrap();
    // Weights are divided by 3, so the weighted sum is a third of that over the copies.
    let l2 = 3.0 * L2 * n as f64 / repeated.len() as f64;
    let copied = non_private_optimum(LOGISTIC, &often, l2).unwrap();
    let off = distance(&weights(&weighted), &weights(&copied));
    assert!(off < 1e-9, "{off}");
}

#[test]
fn equal_weights_change_no_bit_of_the_result() {
    for loss in [LOGISTIC, HINGE, SOFTMAX] {
        let data = easy(loss);
        let equal = class_weights(&data, &vec![0.7; loss.outputs().max(2)]);
        let with = plans(loss, &data, Some(&equal));
        for ((name, with), (_, without)) in with.iter().zip(plans(loss, &data, None)) {
            assert_eq!(with.claim(), without.claim(), "{name}");
            let bits = |plan: &AnyPlan| -> Vec<u64> {
                fit(&**plan, &data, 7).unwrap().iter().map(|w| w.to_bits()).collect()
            };
            assert_eq!(bits(with), bits(&without), "{name} {loss:?}");
        }
    }
}

/// Weights cost nothing: the event is the same for all.
#[test]
fn weights_do_not_change_the_claim() {
    let data = easy(LOGISTIC);
    let weights = class_weights(&data, &[1.0, 4.0]);
    for ((name, with), (_, without)) in
        plans(LOGISTIC, &data, Some(&weights)).iter().zip(plans(LOGISTIC, &data, None))
    {
        assert_eq!(with.claim(), without.claim(), "{name}");
    }
}

#[test]
fn weights_for_another_target_are_refused() {
    let (two, three) = (easy(LOGISTIC), easy(SOFTMAX));
    let weights = class_weights(&three, &[1.0, 2.0, 3.0]);
    let n = Count::new(N).unwrap();
    let error = GradientDescent::full_batch(LOGISTIC).class_weights(weights.clone());
    let error = error.plan_with(two.encoding(), n, quiet()).unwrap_err().to_string();
    assert!(error.contains("weights for 3 classes, and the target has 2"), "{error}");
    let number = easy(Loss::Squared);
    let learner = GradientDescent::full_batch(Loss::Squared).class_weights(weights);
    assert!(learner.plan_with(number.encoding(), n, quiet()).is_err());
}

#[test]
fn a_stopped_fit_does_not_resume_with_other_weights() {
    let data = easy(LOGISTIC);
    let folder = Scratch::new("class-weights");
    let of =
        |numbers: Option<&[f64]>| -> Vec<Box<dyn StepwisePlan<Model = LinearModel, Error = LearnError>>> {
            let weights = numbers.map(|numbers| class_weights(&data, numbers));
            let n = Count::new(N).unwrap();
            let gradient = GradientDescent::full_batch(LOGISTIC).steps(Count::new(5).unwrap());
            let coordinate = CoordinateDescent::new(LOGISTIC).steps(15);
            match weights {
                Some(weights) => vec![
                    Box::new(
                        gradient
                            .class_weights(weights.clone())
                            .plan_with(data.encoding(), n, quiet())
                            .unwrap(),
                    ),
                    Box::new(
                        coordinate.class_weights(weights).plan_with(data.encoding(), n, quiet()).unwrap(),
                    ),
                ],
                None => vec![
                    Box::new(gradient.plan_with(data.encoding(), n, quiet()).unwrap()),
                    Box::new(coordinate.plan_with(data.encoding(), n, quiet()).unwrap()),
                ],
            }
        };
    for which in 0..2 {
        let path = folder.join(which.to_string());
        let begun = &of(Some(&[1.0, 3.0]))[which];
        let checkpoints = || Some(Checkpoints { path: path.clone(), every: 1, keep: false });
        let now = AtomicBool::new(true);
        let options = FitOptions { cancel: Some(&now), checkpoints: checkpoints(), ..FitOptions::default() };
        assert!(begun.fit_under(&data, unmetered(begun.claim()), options).is_err(), "stopped");
        let resume = |numbers: Option<&[f64]>| {
            let (plan, checkpoint) = (&of(numbers)[which], Checkpoint::read(&path).unwrap());
            let paid = danger::unmetered_paid(checkpoint.statement()).unwrap();
            let permit = unmetered(plan.replay_claim(&checkpoint)?);
            let options = FitOptions { checkpoints: checkpoints(), ..FitOptions::default() };
            plan.resume(&data, Stopped { checkpoint, paid }, permit, options)
        };
        for other in [None, Some(&[1.0, 2.0][..])] {
            let error = resume(other).unwrap_err().to_string();
            assert!(error.contains("another plan"), "{error}");
        }
        // The same weights after division by the largest.
        resume(Some(&[2.0, 6.0])).unwrap();
    }
}
