//! After a stop, a crash or a full disk, a network's run resumes from its checkpoint, and no step
//! is released twice for one charge.

mod support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use sordino_data::Sampling;
use sordino_nn::{DenseExamples, NetworkObjective};
use sordino_noise::danger::seeded;
use sordino_optim::{
    Averaging, Checkpoint, Checkpoints, Clipping, OptimError, Training, TrainingOptions, TrainingPlan,
};
use sordino_privacy::{Event, Paid, danger};
use sordino_testing::ScratchFile;
use support::images::{bars, network, options, permit, plan, poisson};

const EVERY: u64 = 4;
const FLAT: Clipping = Clipping::Flat { norm: 1.0 };

type Run<'a> = Training<'a, NetworkObjective<'a, DenseExamples>>;

fn place(name: &str) -> ScratchFile {
    ScratchFile::new(&format!("nn-{name}"), "run")
}

/// The payment that a checkpoint states, taken on trust.
fn paid(checkpoint: &Checkpoint) -> Paid {
    danger::unmetered_paid(checkpoint.statement()).unwrap()
}

fn training<'a>(
    plan: &'a TrainingPlan,
    objective: &'a NetworkObjective<'a, DenseExamples>,
    options: TrainingOptions,
    path: &Path,
) -> Run<'a> {
    let checkpoints = Checkpoints { path: path.to_owned(), every: EVERY, keep: false };
    Training::new(plan, objective, options).unwrap().with_checkpoints(checkpoints).unwrap()
}

/// Stops after step 5, on request; with seeded bits if there are any.
fn stop<'a>(training: Run<'a>, plan: &TrainingPlan, flag: &'a AtomicBool, seed: Option<u64>) -> Run<'a> {
    let training = training.cancelled_by(flag);
    let mut progress = |progress: sordino_optim::Progress<'_>| {
        flag.store(progress.step() == 5, Ordering::Relaxed);
    };
    let stopped = match seed {
        Some(seed) => training.clone().run_with(permit(plan.claim()), &mut seeded(seed), &mut progress),
        None => training.clone().run(permit(plan.claim()), &mut progress),
    };
    assert!(matches!(stopped, Err(OptimError::Cancelled { steps: 5 })), "{stopped:?}");
    flag.store(false, Ordering::Relaxed);
    training
}

/// With full batches and hardly any noise, both runs have the same result: momentum, average and
/// clip norm are in the file.
#[test]
fn a_stopped_run_resumes_for_free_with_the_same_result() {
    let (network, rows, path) = (network(), bars(), place("stop"));
    let objective = NetworkObjective::new(&network, &rows, 2000.0).unwrap();
    let adaptive = Clipping::Quantile { initial: 1.0, quantile: 0.5, rate: 0.2, count_noise: 1e-3 };
    let plan = plan(Sampling::FullBatch, 12, adaptive, 1e-9);
    let options = TrainingOptions { averaging: Averaging::Exponential { decay: 0.8 }, ..options(&network) };
    let flag = AtomicBool::new(false);
    let training = stop(training(&plan, &objective, options.clone(), &path), &plan, &flag, None);
    let checkpoint = Checkpoint::read(&path).unwrap();
    assert_eq!(checkpoint.steps(), 5);
    let free = training.replay_claim(&checkpoint).unwrap();
    assert_eq!(free.event, Event::composed([]));
    let mut steps = Vec::new();
    let resumed = training.resume(checkpoint.clone(), paid(&checkpoint), permit(free), &mut |progress| {
        steps.push(progress.step())
    });
    let resumed = resumed.unwrap();
    assert_eq!(steps, (6..=12).collect::<Vec<_>>());
    assert_eq!(resumed.guarantee().event, Event::composed([plan.event(), Event::composed([])]));
    let straight = Training::new(&plan, &objective, options).unwrap();
    let straight = straight.run(permit(plan.claim()), &mut |_| {}).unwrap();
    for (one, other) in resumed.value().iter().zip(straight.value()) {
        assert!((one - other).abs() < 1e-4, "{one} {other}");
    }
    assert!(!path.exists(), "a run that has ended leaves nothing to go on with");
}

/// Steps charged = steps done + replays.
#[test]
fn a_crash_is_resumed_and_replays_are_charged_again() {
    let (network, rows, path) = (network(), bars(), place("crash"));
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let plan = plan(poisson(0.1), 12, FLAT, 1.0);
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let training = training(&plan, &objective, options(&network), &path);
        let _ = training.run(permit(plan.claim()), &mut |progress| assert!(progress.step() < 6, "a crash"));
    }));
    assert!(died.is_err());
    let checkpoint = Checkpoint::read(&path).unwrap();
    assert_eq!(checkpoint.steps(), 4);
    let training = training(&plan, &objective, options(&network), &path);
    let replays = training.replay_claim(&checkpoint).unwrap();
    assert_eq!(replays, plan.claim_of(EVERY).unwrap());
    let cheaper = permit(plan.claim_of(EVERY - 1).unwrap());
    let refused = training.clone().resume(checkpoint.clone(), paid(&checkpoint), cheaper, &mut |_| {});
    assert!(matches!(refused, Err(OptimError::Release(_))), "{refused:?}");
    let release =
        training.resume(checkpoint.clone(), paid(&checkpoint), permit(replays.clone()), &mut |_| {}).unwrap();
    assert_eq!(release.guarantee().event, Event::composed([plan.event(), replays.event]));
    assert!(release.guarantee().epsilon.upper > permit(plan.claim()).guarantee().epsilon.upper);
}

/// Whichever half it is.
#[test]
fn one_seeded_half_voids_the_guarantee() {
    let (network, rows) = (network(), bars());
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let plan = plan(poisson(0.1), 8, FLAT, 1.0);
    for (first, second) in [(None, None), (Some(3), None), (None, Some(3)), (Some(3), Some(4))] {
        let (path, flag) = (place("seeds"), AtomicBool::new(false));
        let training = stop(training(&plan, &objective, options(&network), &path), &plan, &flag, first);
        let checkpoint = Checkpoint::read(&path).unwrap();
        assert_eq!(checkpoint.statement().seeded, first.is_some());
        let permit = permit(training.replay_claim(&checkpoint).unwrap());
        let release = match second {
            Some(seed) => training.resume_with(
                checkpoint.clone(),
                paid(&checkpoint),
                permit,
                &mut seeded(seed),
                &mut |_| {},
            ),
            None => training.resume(checkpoint.clone(), paid(&checkpoint), permit, &mut |_| {}),
        };
        let is_void = first.is_some() || second.is_some();
        assert_eq!(release.unwrap().guarantee().seeded, is_void, "{first:?} {second:?}");
    }
}

/// Initial weights are part of a run.
#[test]
fn a_run_from_another_start_is_another_run() {
    let (network, rows, path, flag) = (network(), bars(), place("start"), AtomicBool::new(false));
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let plan = plan(poisson(0.1), 8, FLAT, 1.0);
    drop(stop(training(&plan, &objective, options(&network), &path), &plan, &flag, None));
    let mut start = network.initial(7);
    start[17] += 1e-15;
    let other = TrainingOptions { start: Some(start), ..options(&network) };
    let training = training(&plan, &objective, other, &path);
    let checkpoint = Checkpoint::read(&path).unwrap();
    let free = permit(training.replay_claim(&checkpoint).unwrap());
    let refused = training.resume(checkpoint.clone(), paid(&checkpoint), free, &mut |_| {});
    assert!(matches!(refused, Err(OptimError::CheckpointContent { .. })), "{refused:?}");
}

/// Eight bytes a weight for each vector that the update rule remembers, and a head.
#[test]
fn checkpoints_are_as_large_as_what_they_hold() {
    let (network, rows, path, flag) = (network(), bars(), place("size"), AtomicBool::new(false));
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let plan = plan(poisson(0.1), 8, FLAT, 1.0);
    drop(stop(training(&plan, &objective, options(&network), &path), &plan, &flag, None));
    let length = std::fs::metadata(&path).unwrap().len();
    let numbers = 2 * 8 * network.parameters() as u64; // weights and momentum
    assert!((numbers..numbers + 2000).contains(&length), "{length} for {numbers}");
}

/// A device that is always full takes the place of the next checkpoint.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run_and_loses_no_checkpoint() {
    let (network, rows, path) = (network(), bars(), place("full"));
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let plan = plan(poisson(0.1), 12, FLAT, 1.0);
    let training = training(&plan, &objective, options(&network), &path);
    let part = path.with_extension("part");
    let failed = training.clone().run(permit(plan.claim()), &mut |progress| {
        if progress.step() == 6 {
            std::os::unix::fs::symlink("/dev/full", &part).unwrap();
        }
    });
    let Err(OptimError::CheckpointFile { source, .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    assert!(!part.exists());
    let checkpoint = Checkpoint::read(&path).unwrap();
    assert_eq!(checkpoint.steps(), 4);
    // Eight steps were done; four of them are to be done again.
    let replays = training.replay_claim(&checkpoint).unwrap();
    assert_eq!(replays, plan.claim_of(EVERY).unwrap());
    let mut steps = Vec::new();
    let release = training
        .resume(checkpoint.clone(), paid(&checkpoint), permit(replays), &mut |progress| {
            steps.push(progress.step())
        })
        .unwrap();
    assert_eq!(steps, (5..=12).collect::<Vec<_>>());
    assert!(release.guarantee().holds());
}
