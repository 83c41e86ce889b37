//! Charge, sampling, clipping, divisor and noise of a run are those of its plan.

mod support;

use sordino_data::Sampling;
use sordino_noise::danger::seeded;
use sordino_optim::{
    Averaging, Clipping, Objective, OptimError, Schedule, Training, TrainingOptions, TrainingPlan, UpdateRule,
};
use sordino_privacy::{Count, Delta, Epsilon, Event, Neighbours, NoiseMultiplier, SamplingRate};

use support::{Points, options, permit, plan};

const POISSON: f64 = 0.25;

fn poisson() -> Sampling {
    Sampling::Poisson { rate: SamplingRate::new(POISSON).unwrap() }
}

fn sgd(learning_rate: f64) -> TrainingOptions {
    TrainingOptions { learning_rate, ..TrainingOptions::default() }
}

fn run(points: &Points, plan: &TrainingPlan, options: TrainingOptions, seed: u64) -> Vec<f64> {
    let training = Training::new(plan, points, options).unwrap();
    let release = training.run_with(permit(plan.claim()), &mut seeded(seed), &mut |_| {}).unwrap();
    release.into_parts().0
}

/// Other systems shuffle batches and account for them as Poisson samples. Here the event is that of
/// the sampler.
#[test]
fn pitfall_01_the_event_is_that_of_the_sampler() {
    let noise = NoiseMultiplier::new(2.0).unwrap();
    let step = Event::gaussian(noise);
    let count = |n| Count::new(n).unwrap();
    let plan = plan(options(100, 30, poisson(), 1.0), 2.0);
    let rate = SamplingRate::new(POISSON).unwrap();
    assert_eq!(plan.event(), step.clone().poisson_sampled(rate).repeated(count(30)));
    let shuffled = Sampling::ShuffledEpochs { batches: count(10) };
    let epochs = Event::ShuffledEpochs { epochs: count(3), event: Box::new(step) };
    assert_eq!(support::plan(options(100, 3, shuffled, 1.0), 2.0).event(), epochs);
    // No theorem covers samples of fixed size under zero_out, so there is no such plan.
    let fixed = Sampling::WithoutReplacement { size: count(10) };
    let refused = TrainingPlan::with_noise(options(100, 3, fixed, 1.0), noise);
    assert!(matches!(refused, Err(OptimError::Batch(_))), "{refused:?}");
    let mut replace = options(100, 3, fixed, 1.0);
    replace.neighbours = Neighbours::Replace;
    assert_eq!(TrainingPlan::with_noise(replace, noise).unwrap().claim().neighbours, Neighbours::Replace);
}

/// Other systems divide noisy sums by the size of the actual batch, or by an n read from the data.
/// Here one more record in the sample moves the update by its own gradient over a constant.
#[test]
fn pitfall_02_a_public_constant_divides() {
    let plan = plan(options(8, 1, poisson(), 1.0), 0.05);
    assert_eq!(plan.divisor(), 2.0);
    let mut sizes = std::collections::BTreeSet::new();
    for seed in 0..20 {
        // The sum of gradients at 0 is minus the number of sampled records. The same bits draw the
        // same sample below.
        let moved = run(&Points(vec![vec![1.0]; 8]), &plan, sgd(1.0), seed)[0];
        let sampled = plan.batches().batches().next(&mut seeded(seed)).unwrap().len();
        assert!((moved - sampled as f64 / 2.0).abs() < 0.2, "{moved} of {sampled}");
        sizes.insert(sampled);
    }
    assert!(sizes.len() > 2, "batches of different sizes are divided by the same number");
    let mut private_n = options(8, 1, poisson(), 1.0);
    private_n.neighbours = Neighbours::AddRemove;
    let refused = TrainingPlan::with_noise(private_n.clone(), NoiseMultiplier::new(1.0).unwrap());
    assert!(matches!(refused, Err(OptimError::NoDivisor { .. })));
    private_n.divisor = Some(5.0);
    assert_eq!(support::plan(private_n, 1.0).divisor(), 5.0);
}

/// Other systems confuse clipped means with clipped sums, and scale the noise for the wrong one.
/// Here the deviation of the release is z C / D. Ten thousand draws; 1 ± 0.04 has a false alarm
/// below 1e-6 by the chi-square tail.
#[test]
fn pitfall_03_the_noise_is_that_of_a_sum() {
    let (noise, clip, n) = (1.5, 0.5, 40);
    let full = plan(options(n, 1, Sampling::FullBatch, clip), noise);
    let points = Points(vec![vec![0.0; 10_000]; n as usize]);
    let noisy = run(&points, &full, sgd(1.0), 7);
    let deviation = (noisy.iter().map(|x| x * x).sum::<f64>() / noisy.len() as f64).sqrt();
    let expected = noise * clip / n as f64;
    assert!((deviation / expected - 1.0).abs() < 0.04, "{deviation} against {expected}");
}

/// In other systems an empty sample crashes training, or is skipped, which reveals that it was
/// empty. Here it is a step with noise.
#[test]
fn pitfall_15_an_empty_batch_is_a_step_with_noise() {
    let rare = Sampling::Poisson { rate: SamplingRate::new(1e-12).unwrap() };
    let plan = plan(options(3, 25, rare, 1.0), 1.0);
    let mut steps = 0;
    let points = Points(vec![vec![5.0]; 3]);
    let training = Training::new(&plan, &points, sgd(1.0)).unwrap();
    let release = training.run_with(permit(plan.claim()), &mut seeded(1), &mut |progress| {
        steps += 1;
        assert_eq!((progress.step(), progress.of()), (steps, 25));
    });
    assert!(release.unwrap().value()[0].abs() > 1.0, "25 draws of deviation 1e12 cannot stay near 0");
    assert_eq!(steps, 25);
}

#[test]
fn a_permit_for_something_else_is_refused_before_data_is_read() {
    let plan = plan(options(4, 10, poisson(), 1.0), 1.0);
    let points = Points(vec![vec![1.0]; 4]);
    let training = Training::new(&plan, &points, sgd(1.0)).unwrap();
    let cheaper = plan.claim_of(9).unwrap();
    let mut touched = false;
    let refused = training.clone().run(permit(cheaper), &mut |_| touched = true);
    assert!(matches!(refused, Err(OptimError::Release(_))) && !touched);
    let mut other = plan.claim();
    other.neighbours = Neighbours::Replace;
    assert!(matches!(training.run(permit(other), &mut |_| {}), Err(OptimError::Release(_))));
}

#[test]
fn a_guarantee_states_the_event_and_whether_it_was_seeded() {
    let plan = plan(options(64, 10, poisson(), 1.0), 2.0);
    let points = Points(vec![vec![1.0, 0.0]; 64]);
    let training = Training::new(&plan, &points, sgd(0.1)).unwrap();
    let real = training.clone().run(permit(plan.claim()), &mut |_| {}).unwrap();
    assert_eq!(real.guarantee().event, plan.event());
    assert!(real.guarantee().holds() && real.guarantee().arithmetic.get() > 0.0);
    let test = training.run_with(permit(plan.claim()), &mut seeded(1), &mut |_| {}).unwrap();
    assert!(!test.guarantee().holds());
}

#[test]
fn every_kind_of_training_finds_the_mean_when_noise_is_small() {
    let points = Points((0..50).map(|i| vec![1.0 + f64::from(i % 5), -2.0]).collect());
    let (count, n) = (|n| Count::new(n).unwrap(), 50);
    let samplings = [
        (Sampling::FullBatch, 400, Neighbours::ZeroOut),
        (Sampling::FullBatch, 400, Neighbours::AddRemove),
        (Sampling::WithoutReplacement { size: count(50) }, 400, Neighbours::Replace),
        (Sampling::WithoutReplacement { size: count(50) }, 400, Neighbours::ReplaceOrdered),
        (Sampling::ShuffledEpochs { batches: count(1) }, 400, Neighbours::ZeroOut),
    ];
    let clippings = [
        Clipping::Flat { norm: 1e3 },
        Clipping::Coordinates { bounds: vec![100.0, 50.0] },
        Clipping::Quantile { initial: 1.0, quantile: 0.9, rate: 0.2, count_noise: 0.1 },
    ];
    for (sampling, rounds, neighbours) in samplings {
        for clipping in &clippings {
            let base = options(n, rounds, sampling, 1.0);
            let plan = plan(
                sordino_optim::PlanOptions {
                    neighbours,
                    clipping: clipping.clone(),
                    divisor: Some(50.0),
                    ..base
                },
                1e-4,
            );
            let found = run(&points, &plan, sgd(0.1), 3);
            let error = (found[0] - 3.0).hypot(found[1] + 2.0);
            assert!(error < 0.02, "{sampling:?} {neighbours} {clipping:?}: {found:?}");
        }
    }
}

/// Gradients are longer than any clip norm, so C and the clipped sums grow with every step. Updates
/// do not: they are those of the first clip norm, also with momentum.
#[test]
fn a_growing_clip_norm_keeps_the_step_length() {
    let clipping = Clipping::Quantile { initial: 0.5, quantile: 0.9, rate: 0.5, count_noise: 0.1 };
    let base = || options(10, 20, Sampling::FullBatch, 0.5);
    let growing = plan(sordino_optim::PlanOptions { clipping, ..base() }, 1e-6);
    let fixed = plan(base(), 1e-6);
    let points = Points(vec![vec![1e9]; 10]);
    for rule in [UpdateRule::Sgd, UpdateRule::Momentum { momentum: 0.9 }] {
        let iterates = |plan: &TrainingPlan| {
            let (mut iterates, options) = (Vec::new(), TrainingOptions { rule: rule.clone(), ..sgd(0.1) });
            let training = Training::new(plan, &points, options).unwrap();
            let release = training.run_with(permit(plan.claim()), &mut seeded(1), &mut |progress| {
                iterates.push(progress.parameters()[0]);
            });
            release.unwrap();
            iterates
        };
        for (growing, fixed) in iterates(&growing).into_iter().zip(iterates(&fixed)) {
            assert!((growing / fixed - 1.0).abs() < 1e-4, "{growing} for {fixed} with {rule:?}");
        }
    }
}

#[test]
fn rules_schedules_averages_and_projections_work_together() {
    let points = Points(vec![vec![3.0, -4.0]; 20]);
    let plan = plan(options(20, 300, Sampling::FullBatch, 10.0), 1e-3);
    let adam = UpdateRule::Adam { first: 0.9, second: 0.99, floor: 1e-6, corrected: true };
    let rules = [
        (UpdateRule::Momentum { momentum: 0.9 }, 0.1),
        (UpdateRule::Nesterov { momentum: 0.9 }, 0.1),
        (adam, 0.2),
        (UpdateRule::AdaGrad { floor: 1e-6 }, 1.0),
        (UpdateRule::Diagonal { factors: vec![1.0, 0.5] }, 0.5),
    ];
    for (rule, learning_rate) in rules {
        let averaging = Averaging::Tail { fraction: 0.2 };
        let training = TrainingOptions { rule: rule.clone(), learning_rate, averaging, ..sgd(1.0) };
        let found = run(&points, &plan, training, 5);
        assert!((found[0] - 3.0).hypot(found[1] + 4.0) < 0.05, "{rule:?}: {found:?}");
    }
    let ball = TrainingOptions { radius: Some(1.0), schedule: Schedule::InverseSqrt, ..sgd(0.5) };
    let found = run(&points, &plan, ball, 5);
    assert!((found[0] - 0.6).abs() < 1e-2 && (found[1] + 0.8).abs() < 1e-2, "{found:?}");
    // The penalty halves the solution of a unit quadratic.
    let found = run(&points, &plan, TrainingOptions { l2: 1.0, ..sgd(0.1) }, 5);
    assert!((found[0] - 1.5).abs() < 1e-2 && (found[1] + 2.0).abs() < 1e-2, "{found:?}");
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let points = Points((0..100).map(|i| vec![f64::from(i) * 0.37, 1e8 / f64::from(i + 1)]).collect());
    let plan = plan(options(100, 20, poisson(), 1.0), 0.5);
    let with = |threads| {
        let training = Training::new(&plan, &points, sgd(0.3)).unwrap();
        let training = training.threads(std::num::NonZero::new(threads).unwrap());
        training.run_with(permit(plan.claim()), &mut seeded(9), &mut |_| {}).unwrap().into_parts().0
    };
    let one = with(1);
    assert!([2, 3, 8, 100].iter().all(|threads| with(*threads) == one));
}

#[test]
fn calibrated_noise_meets_epsilon_for_every_sampling() {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-5).unwrap());
    let fixed = Sampling::WithoutReplacement { size: Count::new(10).unwrap() };
    let cases = [
        (poisson(), Neighbours::ZeroOut),
        (Sampling::FullBatch, Neighbours::Replace),
        (fixed, Neighbours::Replace),
    ];
    for (sampling, neighbours) in cases {
        let wanted = sordino_optim::PlanOptions { neighbours, ..options(100, 20, sampling, 1.0) };
        let plan = TrainingPlan::calibrated(wanted, epsilon, delta).unwrap();
        let spent = permit(plan.claim()).guarantee().clone();
        let spent = sordino_privacy::accounting::epsilon(
            &sordino_privacy::Claim::new(spent.neighbours, spent.event.clone()),
            delta,
            sordino_privacy::Accountant::Auto,
        );
        let upper = spent.unwrap().bound.upper;
        assert!(upper <= 1.0 && upper > 0.98, "{sampling:?}: {upper}");
    }
}

#[test]
fn progress_states_epsilon_so_far() {
    let plan = plan(options(10, 3, Sampling::FullBatch, 1.0), 5.0);
    let points = Points(vec![vec![1.0]; 10]);
    let training = Training::new(&plan, &points, sgd(1.0)).unwrap();
    let delta = Delta::new(1e-6).unwrap();
    let mut spent = Vec::new();
    let mut watch =
        |progress: sordino_optim::Progress<'_>| spent.push(progress.epsilon(delta).unwrap().upper);
    let release = training.run(permit(plan.claim()), &mut watch).unwrap();
    assert!(spent.is_sorted() && spent.len() == 3);
    assert!((spent[2] - release.guarantee().epsilon.upper).abs() < 1e-9);
}

/// Regression: the bits of a release reveal the depth of its grid. Under `add_remove` n is private,
/// and 511 and 512 records had grids of different depth.
#[test]
fn grids_reveal_nothing_about_a_private_n() {
    let grid = |slots: u64, neighbours| {
        let options = sordino_optim::PlanOptions {
            neighbours,
            divisor: Some(256.0),
            ..options(slots, 3, Sampling::FullBatch, 1.0)
        };
        let points = Points(vec![vec![1.0; 3]]);
        plan(options, 2.0).clip(1.0, 3, points.float_sums()).unwrap().grid()
    };
    for n in [1, 100, 511, 512, 1_000_000, u64::from(u32::MAX)] {
        assert_eq!(grid(n, Neighbours::AddRemove), grid(512, Neighbours::AddRemove), "{n} records");
    }
    assert_ne!(grid(511, Neighbours::ZeroOut).depth(), grid(512, Neighbours::ZeroOut).depth());
}

#[test]
fn a_permit_for_another_unit_is_refused() {
    let plan = plan(options(10, 3, Sampling::FullBatch, 1.0), 5.0);
    let points = Points(vec![vec![1.0]; 10]);
    let user = sordino_privacy::Unit::Column("user".to_owned());
    let permit = sordino_privacy::danger::unmetered(plan.claim(), user, Delta::new(1e-6).unwrap()).unwrap();
    let refused = Training::new(&plan, &points, sgd(1.0)).unwrap().run(permit, &mut |_| {});
    assert!(
        matches!(refused, Err(OptimError::Release(sordino_privacy::ReleaseError::OtherUnit { .. }))),
        "{refused:?}"
    );
}

/// Each record of this data is a unit of its own, so a plan for users does not fit it.
#[test]
fn a_plan_for_another_unit_than_that_of_the_data_is_refused() {
    let users =
        sordino_data::UnitRule::Column { column: "user".to_owned(), max_records: Count::new(3).unwrap() };
    let limit = sordino_data::ContributionLimit::of(&users);
    let plan = plan(sordino_optim::PlanOptions { limit, ..options(10, 3, Sampling::FullBatch, 1.0) }, 5.0);
    let points = Points(vec![vec![1.0]; 10]);
    assert!(matches!(Training::new(&plan, &points, sgd(1.0)), Err(OptimError::OtherLimit)));
}
