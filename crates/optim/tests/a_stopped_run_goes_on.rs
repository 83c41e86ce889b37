//! Crashes, cancellation, checkpoints: no step is released twice for one charge.

#[path = "../../privacy/tests/durable/mod.rs"]
mod durable;
mod support;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};
use sordino_data::Sampling;
use sordino_noise::Bits;
use sordino_noise::danger::seeded;
use sordino_optim::{
    Averaging, Checkpoint, Checkpoints, Clipping, Kept, OptimError, Training, TrainingOptions, TrainingPlan,
    Witness,
};
use sordino_privacy::{
    Budget, Charge, Count, Delta, Epsilon, Event, Paid, ReleaseError, SamplingRate, Terms, danger,
};

use durable::Durable;
use sordino_testing::ScratchFile;
use support::{Points, options, permit, plan};

fn poisson_plan() -> TrainingPlan {
    let rate = SamplingRate::new(0.5).unwrap();
    plan(options(20, 10, Sampling::Poisson { rate }, 1.0), 2.0)
}

fn place(name: &str) -> ScratchFile {
    ScratchFile::new(&format!("optim-{name}"), "run")
}

fn points() -> Points {
    Points(vec![vec![1.0, -1.0]; 20])
}

/// What a checkpoint says was paid, taken at its word.
fn paid(checkpoint: &Checkpoint) -> Paid {
    danger::unmetered_paid(checkpoint.statement()).unwrap()
}

fn training<'a>(plan: &'a TrainingPlan, points: &'a Points, path: &Path) -> Training<'a, Points> {
    let checkpoints = Checkpoints { path: path.to_path_buf(), every: 4, keep: false };
    let training = Training::new(plan, points, TrainingOptions::default()).unwrap();
    training.with_checkpoints(checkpoints).unwrap()
}

/// The offset of a checkpoint's head, after the first line and the length of the head.
const HEAD: usize = 27;

fn head(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let length = u64::from_le_bytes(bytes[HEAD - 8..HEAD].try_into().unwrap());
    String::from_utf8(bytes[HEAD..HEAD + length as usize].to_vec()).unwrap()
}

/// Replaces the head of a checkpoint, and makes its digest match.
fn forge(path: &Path, text: &str) {
    let (bytes, old) = (std::fs::read(path).unwrap(), head(path).len());
    let mut forged = bytes[..HEAD - 8].to_vec();
    forged.extend((text.len() as u64).to_le_bytes());
    forged.extend(text.as_bytes());
    forged.extend(&bytes[HEAD + old..bytes.len() - 32]);
    let digest = Sha256::digest(&forged);
    forged.extend(digest);
    std::fs::write(path, forged).unwrap();
}

/// Simulates a crash by a panic after step 6, before the next checkpoint.
fn crash(plan: &TrainingPlan, points: &Points, path: &Path) {
    let died = std::panic::catch_unwind(|| {
        let training = training(plan, points, path);
        let _ = training.run(permit(plan.claim()), &mut |progress| assert!(progress.step() < 6, "a crash"));
    });
    assert!(died.is_err());
}

#[test]
fn a_crash_is_resumed_and_replays_are_charged_again() {
    let (plan, points, path) = (poisson_plan(), points(), place("crash"));
    crash(&plan, &points, &path);
    let checkpoint = Checkpoint::read(&path).unwrap();
    assert_eq!(checkpoint.steps(), 4);
    let training = training(&plan, &points, &path);
    let replays = training.replay_claim(&checkpoint).unwrap();
    assert_eq!(replays, plan.claim_of(4).unwrap());
    // A permit for fewer steps is refused.
    let refused = training.clone().resume(
        checkpoint.clone(),
        paid(&checkpoint),
        permit(plan.claim_of(3).unwrap()),
        &mut |_| {},
    );
    assert!(matches!(refused, Err(OptimError::Release(_))));
    let mut steps = Vec::new();
    let (before, now) = (paid(&checkpoint), permit(replays.clone()));
    let release = training.resume(checkpoint, before, now, &mut |progress| steps.push(progress.step()));
    let release = release.unwrap();
    assert_eq!(steps, [5, 6, 7, 8, 9, 10]);
    let both = Event::composed([plan.event(), replays.event]);
    assert_eq!(release.guarantee().event, both);
    let alone = permit(plan.claim()).guarantee().epsilon.upper;
    assert!(release.guarantee().epsilon.upper > alone);
    assert!(!path.exists(), "a run that has ended leaves no checkpoint");
}

#[test]
fn a_second_crash_is_charged_a_second_time() {
    let (plan, points, path) = (poisson_plan(), points(), place("twice"));
    crash(&plan, &points, &path);
    let checkpoint = Checkpoint::read(&path).unwrap();
    let again = std::panic::catch_unwind(|| {
        let training = training(&plan, &points, &path);
        let (before, now) = (paid(&checkpoint), permit(training.replay_claim(&checkpoint).unwrap()));
        let _ = training.resume(checkpoint, before, now, &mut |_| panic!("a crash"));
    });
    assert!(again.is_err());
    let checkpoint = Checkpoint::read(&path).unwrap();
    let once = plan.claim_of(4).unwrap().event;
    assert_eq!(checkpoint.statement().event, Event::composed([plan.event(), once.clone()]));
    let training = training(&plan, &points, &path);
    assert_eq!(training.replay_claim(&checkpoint).unwrap().event, once);
}

#[test]
fn a_copy_pays_for_all_remaining_steps() {
    let (plan, points, path) = (poisson_plan(), points(), place("copy"));
    crash(&plan, &points, &path);
    let copy = path.with_file_name("copy");
    std::fs::copy(&path, &copy).unwrap();
    let checkpoint = Checkpoint::read(&copy).unwrap();
    let training = training(&plan, &points, &copy);
    assert_eq!(training.replay_claim(&checkpoint).unwrap(), plan.claim_of(6).unwrap());
}

/// Two runs read the same checkpoint. Only the first can resume from it, and the second is refused.
#[test]
fn no_one_resumes_twice_for_one_charge() {
    let (plan, points, path) = (poisson_plan(), points(), place("second"));
    crash(&plan, &points, &path);
    let (first, second) = (Checkpoint::read(&path).unwrap(), Checkpoint::read(&path).unwrap());
    let replays = || permit(plan.replay_claim(&first).unwrap());
    // Without checkpoints, or with checkpoints in another file, this file would stay as it is.
    let nowhere = Training::new(&plan, &points, TrainingOptions::default()).unwrap();
    let elsewhere = training(&plan, &points, &path.with_file_name("elsewhere"));
    for training in [nowhere, elsewhere] {
        let error =
            training.resume(first.clone(), paid(&first), replays(), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("write its checkpoints to the same file"), "{error}");
    }
    let flag = AtomicBool::new(false);
    let training = || training(&plan, &points, &path);
    let stopped = training().cancelled_by(&flag).resume(first.clone(), paid(&first), replays(), &mut |_| {
        flag.store(true, Ordering::Relaxed);
    });
    assert!(matches!(stopped, Err(OptimError::Cancelled { steps: 5 })), "{stopped:?}");
    for _ in 0..2 {
        let late = training().resume(second.clone(), paid(&second), replays(), &mut |_| {});
        let error = late.unwrap_err().to_string();
        assert!(error.contains("has resumed from it since"), "{error}");
        // The second is also refused when the other run has ended.
        std::fs::remove_file(&path).unwrap_or_default();
    }
}

/// With zero steps between two checkpoints, no replays would be charged.
#[test]
fn checkpoints_are_at_least_a_step_apart() {
    let (plan, path) = (poisson_plan(), place("zero"));
    let checkpoints = Checkpoints { path: path.to_owned(), every: 0, keep: false };
    let refused = sordino_optim::PaidRun::begin(&plan, &(), permit(plan.claim()), Some(&checkpoints));
    assert!(matches!(refused, Err(OptimError::Parameter { .. })), "{refused:?}");
}

#[test]
fn a_run_that_was_stopped_on_request_resumes_for_free_with_the_same_result() {
    let (plan, points, path) =
        (plan(options(20, 10, Sampling::FullBatch, 1.0), 1e-9), points(), place("stop"));
    let flag = AtomicBool::new(false);
    let training = training(&plan, &points, &path).cancelled_by(&flag);
    let mut bits = seeded(3);
    let stopped = training.clone().run_with(permit(plan.claim()), &mut bits, &mut |progress| {
        flag.store(progress.step() == 6, Ordering::Relaxed);
    });
    assert!(matches!(stopped, Err(OptimError::Cancelled { steps: 6 })), "{stopped:?}");
    flag.store(false, Ordering::Relaxed);
    let checkpoint = Checkpoint::read(&path).unwrap();
    let free = training.replay_claim(&checkpoint).unwrap();
    assert_eq!(free.event, Event::composed([]));
    let before = paid(&checkpoint);
    let resumed = training.resume(checkpoint, before, permit(free), &mut |_| {}).unwrap();
    let straight = Training::new(&plan, &points, TrainingOptions::default()).unwrap();
    let straight = straight.run(permit(plan.claim()), &mut |_| {}).unwrap();
    for (one, other) in resumed.value().iter().zip(straight.value()) {
        assert!((one - other).abs() < 1e-6, "{one} {other}");
    }
    assert!(resumed.guarantee().seeded, "the first half came from a seed");
}

/// The process dies after the last step, before the result is stored: no step is done or paid for
/// again.
#[test]
fn a_run_with_all_steps_done_resumes_for_free() {
    let (plan, points, path) = (poisson_plan(), points(), place("ended"));
    // With 5, a checkpoint is due after the last step; with 4, it is not.
    for every in [4, 5] {
        let checkpoints = Checkpoints { path: path.to_owned(), every, keep: true };
        let averaging = Averaging::Tail { fraction: 0.5 };
        let options = TrainingOptions { averaging, ..TrainingOptions::default() };
        let training = Training::new(&plan, &points, options).unwrap().with_checkpoints(checkpoints).unwrap();
        let first = training.clone().run(permit(plan.claim()), &mut |_| {}).unwrap();
        // Twice, since the file that is left can be resumed from again.
        for _ in 0..2 {
            let checkpoint = Checkpoint::read(&path).unwrap();
            assert_eq!(checkpoint.steps(), 10);
            let free = training.replay_claim(&checkpoint).unwrap();
            assert_eq!(free.event, Event::composed([]));
            let before = paid(&checkpoint);
            let again =
                training.clone().resume(checkpoint, before, permit(free), &mut |_| panic!("no step is left"));
            let again = again.unwrap();
            assert_eq!(again.value(), first.value());
            assert_eq!(again.guarantee().epsilon, first.guarantee().epsilon);
        }
        // A copy has no step left either.
        let copy = path.with_file_name("copy");
        std::fs::rename(&path, &copy).unwrap();
        let checkpoint = Checkpoint::read(&copy).unwrap();
        assert_eq!(training.replay_claim(&checkpoint).unwrap().event, Event::composed([]));
    }
}

#[test]
fn checkpoints_of_other_runs_and_other_versions_are_refused() {
    let (plan, points, path) = (poisson_plan(), points(), place("other"));
    crash(&plan, &points, &path);
    // A new run does not overwrite the checkpoint of an old one.
    let refused = training(&plan, &points, &path).run(permit(plan.claim()), &mut |_| {});
    assert!(matches!(refused, Err(OptimError::CheckpointContent { .. })));
    let other = TrainingPlan::with_noise(
        options(20, 10, Sampling::Poisson { rate: SamplingRate::new(0.5).unwrap() }, 1.5),
        plan.noise_multiplier(),
    );
    let other = other.unwrap();
    let checkpoint = Checkpoint::read(&path).unwrap();
    let (before, now) = (paid(&checkpoint), permit(plan.claim_of(4).unwrap()));
    let refused = training(&other, &points, &path).resume(checkpoint, before, now, &mut |_| {});
    assert!(matches!(refused, Err(OptimError::CheckpointContent { .. })), "{refused:?}");
    forge(&path, &head(&path).replace("\"format_version\":3", "\"format_version\":2"));
    let error = Checkpoint::read(&path).unwrap_err().to_string();
    assert!(error.contains("format version 2, and this program knows 3"), "{error}");
}

#[test]
fn two_runs_cannot_share_a_file_and_epochs_resume_at_their_beginning() {
    let (plan, points, path) = (poisson_plan(), points(), place("lock"));
    let inner = || training(&plan, &points, &path).run(permit(plan.claim()), &mut |_| {});
    let mut refused = None;
    training(&plan, &points, &path)
        .run(permit(plan.claim()), &mut |_| refused = Some(inner().is_err()))
        .unwrap();
    assert_eq!(refused, Some(true));
    let bins = Sampling::BallsInBins { bins: Count::new(5).unwrap() };
    let epochs = support::plan(options(20, 3, bins, 1.0), 1.0);
    let training = Training::new(&epochs, &points, TrainingOptions::default()).unwrap();
    assert!(training.with_checkpoints(Checkpoints { path: path.to_owned(), every: 4, keep: false }).is_err());
}

/// If the file says that nothing was paid, the guarantee would omit the first charge.
#[test]
fn a_checkpoint_that_was_not_paid_for_is_refused() {
    let (plan, points, path) = (poisson_plan(), points(), place("unpaid"));
    crash(&plan, &points, &path);
    let text = head(&path);
    let event = serde_json::to_string(&plan.event()).unwrap();
    assert!(text.contains(&event));
    for forged in [r#"{"type":"composed","events":[]}"#, r#"{"type":"pure","epsilon":1e-9}"#] {
        forge(&path, &text.replace(&event, forged));
        let checkpoint = Checkpoint::read(&path).unwrap();
        let honest = danger::unmetered_paid(permit(plan.claim()).guarantee()).unwrap();
        for before in [paid(&checkpoint), honest] {
            let now = permit(plan.replay_claim(&checkpoint).unwrap());
            let refused =
                training(&plan, &points, &path).resume(checkpoint.clone(), before, now, &mut |_| {});
            assert!(matches!(refused, Err(OptimError::CheckpointContent { .. })), "{refused:?}");
        }
    }
}

fn terms(plan: &TrainingPlan) -> Terms {
    let terms = Terms::new(Epsilon::new(100.0).unwrap(), plan.claim().neighbours);
    terms.with_delta(Delta::new(1e-6).unwrap()).planned()
}

/// The budget as another process opens it to resume the run.
fn opened_anew(budget: &Budget, plan: &TrainingPlan) -> Budget {
    Budget::with_journal(&terms(plan), budget.journal().clone()).unwrap()
}

/// Regression: in the checkpoint of an unmetered run, `"metered":false` was changed to `true`. When
/// the run resumed, paid from a budget, its release said that all of it had been paid for.
#[test]
fn a_checkpoint_is_no_evidence_of_what_was_paid() {
    let (plan, points, path) = (poisson_plan(), points(), place("evidence"));
    crash(&plan, &points, &path);
    forge(&path, &head(&path).replace("\"metered\":false", "\"metered\":true"));
    let checkpoint = Checkpoint::read(&path).unwrap();
    assert!(checkpoint.statement().metered);
    let mut budget = Budget::new(terms(&plan));
    let replays = budget.charge_claim(plan.replay_claim(&checkpoint).unwrap()).unwrap();
    // The budget has recorded the replays, but not the run itself.
    let mut again = opened_anew(&budget, &plan);
    let recorded = again.paid(&[replays.reservation().unwrap()]).unwrap();
    let refused = training(&plan, &points, &path).resume(checkpoint.clone(), recorded, replays, &mut |_| {});
    assert!(matches!(refused, Err(OptimError::CheckpointContent { .. })), "{refused:?}");
    let replays = budget.charge_claim(plan.replay_claim(&checkpoint).unwrap()).unwrap();
    let before = paid(&checkpoint);
    let release = training(&plan, &points, &path).resume(checkpoint, before, replays, &mut |_| {}).unwrap();
    assert!(!release.guarantee().metered);
}

/// The process dies after the charge for its replays, before the checkpoint that would state it.
/// The budget knows of both charges, and the guarantee states both.
#[test]
fn a_charge_that_left_no_checkpoint_is_counted() {
    let (plan, points, path) = (poisson_plan(), points(), place("no-checkpoint"));
    let mut budget = Budget::new(terms(&plan));
    let first = budget.charge_claim(plan.claim()).unwrap();
    let mut charges = vec![first.reservation().unwrap()];
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = training(&plan, &points, &path).run(first, &mut |progress| assert!(progress.step() < 6));
    }));
    assert!(died.is_err());
    let checkpoint = Checkpoint::read(&path).unwrap();
    let replays = plan.replay_claim(&checkpoint).unwrap();
    charges.push(budget.charge_claim(replays.clone()).unwrap().reservation().unwrap());
    let mut budget = opened_anew(&budget, &plan);
    let before = budget.paid(&charges).unwrap();
    let now = budget.charge_claim(replays.clone()).unwrap();
    let release = training(&plan, &points, &path).resume(checkpoint, before, now, &mut |_| {}).unwrap();
    assert!(release.guarantee().metered);
    let again = || replays.event.clone();
    assert_eq!(release.guarantee().event, Event::composed([plan.event(), again(), again()]));
}

/// Seeded bits are refused for a ledger's permit before one is drawn, and no checkpoint is written.
#[test]
fn a_ledger_pays_for_no_seeded_run() {
    let (plan, points, path) = (poisson_plan(), points(), place("seeds"));
    let mut ledger = Durable::budget(terms(&plan));
    let mut bits = seeded(5);
    let run =
        |permit, bits: &mut dyn Bits| training(&plan, &points, &path).run_with(permit, bits, &mut |_| {});
    let refused = run(ledger.charge(plan.event()).unwrap(), &mut bits);
    assert!(matches!(refused, Err(OptimError::Release(ReleaseError::Seeded))), "{refused:?}");
    assert_eq!(bits.next_u64(), seeded(5).next_u64());
    assert!(!path.exists());
    let release = run(ledger.charge_seeded(plan.event()).unwrap(), &mut bits).unwrap();
    assert!(release.guarantee().seeded && release.guarantee().metered);
}

/// The order of an epoch is lost with the process. The run resumes at the beginning of the epoch,
/// and pays for that.
#[test]
fn a_stop_in_the_middle_of_an_epoch_keeps_the_last_checkpoint() {
    let (points, path) = (points(), place("epoch"));
    let shuffled = Sampling::ShuffledEpochs { batches: Count::new(5).unwrap() };
    let plan = plan(options(20, 3, shuffled, 1.0), 2.0);
    let flag = AtomicBool::new(false);
    let checkpoints = Checkpoints { path: path.to_owned(), every: 5, keep: false };
    let training = Training::new(&plan, &points, TrainingOptions::default()).unwrap();
    let training = training.with_checkpoints(checkpoints).unwrap().cancelled_by(&flag);
    let stopped = training.clone().run(permit(plan.claim()), &mut |progress| {
        flag.store(progress.step() == 7, Ordering::Relaxed);
    });
    assert!(matches!(stopped, Err(OptimError::Cancelled { steps: 7 })), "{stopped:?}");
    flag.store(false, Ordering::Relaxed);
    let checkpoint = Checkpoint::read(&path).unwrap();
    assert_eq!(checkpoint.steps(), 5);
    let replays = training.replay_claim(&checkpoint).unwrap();
    assert_eq!(replays, plan.claim_of(5).unwrap());
    let mut spent = 0.0;
    let before = paid(&checkpoint);
    let release = training.resume(checkpoint, before, permit(replays), &mut |progress| {
        spent = progress.epsilon(sordino_privacy::Delta::new(1e-6).unwrap()).unwrap().upper;
    });
    let guarantee = release.unwrap().guarantee().clone();
    assert!((spent - guarantee.epsilon.upper).abs() < 1e-9, "progress counts replays too");
}

/// Measures the noise of the count by the clip norm in checkpoints: without records, `ln C` changes
/// by `-η(noise/n + 1/2 - γ)` in a step. 300 draws, within six deviations of the variance; false
/// alarm below 1e-8. No noise, or half of it, is caught.
#[test]
fn the_count_of_adaptive_clipping_has_its_noise() {
    let (n, rate, noise, draws) = (20.0, 0.2, 30.0, 300);
    let clipping = Clipping::Quantile { initial: 1.0, quantile: 0.5, rate, count_noise: noise };
    let options = sordino_optim::PlanOptions { clipping, ..options(20, 2, Sampling::FullBatch, 1.0) };
    let plan = plan(options, 2.0);
    // Gradients that are not finite contribute nothing to either sum.
    let nothing = Points(vec![vec![f64::NAN, 0.0]; 20]);
    let path = place("count");
    let change = |seed: u64| {
        let flag = AtomicBool::new(false);
        let training = training(&plan, &nothing, &path).cancelled_by(&flag);
        let stopped = training.run_with(permit(plan.claim()), &mut seeded(seed), &mut |_| {
            flag.store(true, Ordering::Relaxed);
        });
        assert!(matches!(stopped, Err(OptimError::Cancelled { steps: 1 })));
        let json: serde_json::Value = serde_json::from_str(&head(&path)).unwrap();
        std::fs::remove_file(&path).unwrap();
        json["numbers"]["clip_norm"].as_f64().unwrap().ln()
    };
    let variance = (0..draws).map(|seed| change(seed).powi(2)).sum::<f64>() / draws as f64;
    let expected = (rate * noise / n).powi(2);
    let ratio = variance / expected;
    assert!((ratio - 1.0).abs() < 6.0 * (2.0 / draws as f64).sqrt(), "{ratio}");
}

/// A witness that remembers what it was told, and fails beyond a number of steps.
#[derive(Debug)]
struct Memory {
    told: Mutex<Vec<Kept>>,
    most: u64,
}

impl Memory {
    fn up_to(most: u64) -> Self {
        Self { told: Mutex::default(), most }
    }

    fn steps(&self) -> Vec<(u64, bool)> {
        self.told.lock().unwrap().iter().map(|kept| (kept.steps, kept.is_last)).collect()
    }
}

impl Witness for Memory {
    fn keeps(&self, kept: &Kept) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if kept.steps > self.most {
            return Err("no more".into());
        }
        self.told.lock().unwrap().push(*kept);
        Ok(())
    }
}

/// Regression: a copy of the checkpoint after step 4, put back after step 8, used to redo all steps
/// since for the price of four.
#[test]
fn a_copy_that_is_put_back_pays_for_all_steps_since() {
    let (plan, points, path) = (poisson_plan(), points(), place("copy-put-back"));
    let (witness, copy) = (Memory::up_to(u64::MAX), path.with_extension("copy"));
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let training = training(&plan, &points, &path).witnessed_by(&witness);
        let _ = training.run(permit(plan.claim()), &mut |progress| {
            if progress.step() == 5 {
                std::fs::copy(&path, &copy).unwrap();
            }
            assert!(progress.step() < 9, "a crash");
        });
    }));
    assert!(died.is_err());
    assert_eq!(witness.steps(), [(0, false), (4, false), (8, false)]);
    let last = witness.told.lock().unwrap().last().copied().unwrap();
    assert_eq!(Checkpoint::read(&path).unwrap().digest(), last.digest);
    std::fs::rename(&copy, &path).unwrap();
    let old = Checkpoint::read(&path).unwrap();
    assert_eq!(plan.replay_claim(&old).unwrap(), plan.claim_of(4).unwrap());
    let old = old.known_to_have(last.steps);
    assert_eq!((old.steps(), plan.replay_claim(&old).unwrap()), (4, plan.claim_of(6).unwrap()));
    let training = training(&plan, &points, &path);
    let (before, again) = (paid(&old), paid(&old));
    let refused =
        training.clone().resume(old.clone(), before, permit(plan.claim_of(4).unwrap()), &mut |_| {});
    assert!(matches!(refused, Err(OptimError::Release(_))));
    training.resume(old, again, permit(plan.claim_of(6).unwrap()), &mut |_| {}).unwrap();
}

/// Resuming a run that stopped on request costs nothing, unless the witness knows of more steps.
#[test]
fn a_final_checkpoint_is_free_only_while_it_is_the_last() {
    let (plan, points, path) = (poisson_plan(), points(), place("final-copy"));
    let (witness, flag) = (Memory::up_to(u64::MAX), AtomicBool::new(false));
    let training = training(&plan, &points, &path).witnessed_by(&witness).cancelled_by(&flag);
    let stopped = training.run(permit(plan.claim()), &mut |progress| {
        flag.store(progress.step() == 3, Ordering::Relaxed);
    });
    assert!(matches!(stopped, Err(OptimError::Cancelled { steps: 3 })));
    assert_eq!(witness.steps(), [(0, false), (3, true)]);
    let last = Checkpoint::read(&path).unwrap();
    assert_eq!(plan.replay_claim(&last.clone().known_to_have(3)).unwrap().event, Event::composed([]));
    assert_eq!(plan.replay_claim(&last.known_to_have(5)).unwrap(), plan.claim_of(6).unwrap());
}

/// If the witness fails, the run stops, and the previous checkpoint stays.
#[test]
fn a_run_stops_when_its_witness_fails() {
    let (plan, points, path) = (poisson_plan(), points(), place("no-witness"));
    let witness = Memory::up_to(4);
    let mut done = 0;
    let training = training(&plan, &points, &path).witnessed_by(&witness);
    let stopped = training.run(permit(plan.claim()), &mut |progress| done = progress.step());
    assert!(matches!(stopped, Err(OptimError::Witness(_))), "{stopped:?}");
    assert_eq!((done, Checkpoint::read(&path).unwrap().steps()), (7, 4));
    assert!(!path.with_extension("part").exists());
}
