//! Fits that are killed or stopped, and resumed, with what each resumption costs.

mod contract;

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::data::{easy, of_users};
use contract::learners::{HINGE, LOGISTIC};
use contract::{distance, unmetered, weights};
use sordino_data::Encoded;
use sordino_learn::{
    CoordinateClipping, CoordinateDescent, CoordinatePlan, FitOptions, GradientDescent, LearnError,
    LearningPlan, LinearModel, Noise, Smoothness, StepwisePlan,
};
use sordino_noise::Bits;
use sordino_noise::danger::seeded;
use sordino_optim::{Checkpoint, Checkpoints, Clipping, OptimError, Progress, Stopped, TrainingOptions};
use sordino_privacy::{
    Budget, Charge, Claim, Count, Delta, Epsilon, Event, NoiseMultiplier, Permit, Release, ReleaseError,
    SamplingRate, Terms, Unit, danger,
};
use sordino_testing::ScratchFile;

/// Steps between two checkpoints.
const EVERY: u64 = 4;
/// The number of coordinates of [`easy`] data.
const P: u64 = 3;

/// A plan of ten steps, and the event of [`EVERY`] steps, stated independently.
struct Case {
    name: &'static str,
    plan: Box<dyn StepwisePlan<Model = LinearModel, Error = LearnError>>,
    of_every: Event,
}

fn multiplier(z: f64) -> Noise {
    Noise::Multiplier(NoiseMultiplier::new(z).unwrap())
}

/// Gradient descent with each sampling, and coordinate descent with each clipping and smoothness.
fn cases(noise: Noise) -> Vec<Case> {
    let half = SamplingRate::new(0.5).unwrap();
    let size = Count::new(50).unwrap();
    let gradients = [
        ("full", GradientDescent::full_batch(LOGISTIC)),
        ("poisson", GradientDescent::poisson(LOGISTIC, half)),
        ("fixed", GradientDescent::fixed_size(LOGISTIC, size)),
    ];
    let by_gradients = |(name, learner): (_, GradientDescent)| {
        let learner = learner.steps(Count::new(10).unwrap());
        let plan = learner.plan_with(easy(LOGISTIC).encoding(), Count::new(400).unwrap(), noise).unwrap();
        Case { name, of_every: plan.plan().claim_of(EVERY).unwrap().event, plan: Box::new(plan) }
    };
    let by_coordinates = |(name, clipping, smoothness, releases)| {
        let plan = coordinates(clipping, smoothness, noise);
        let once = Event::gaussian(plan.noise_multiplier());
        Case { name, of_every: once.repeated(Count::new(releases).unwrap()), plan: Box::new(plan) }
    };
    let mut all: Vec<Case> = gradients.into_iter().map(by_gradients).collect();
    all.extend(kinds().into_iter().map(by_coordinates));
    all
}

/// Variants of coordinate descent, each with the number of Gaussian releases in [`EVERY`] passes.
fn kinds() -> [(&'static str, CoordinateClipping, Smoothness, u64); 4] {
    let (jointly, clamped) =
        (CoordinateClipping::Jointly { norm: 1.0 }, CoordinateClipping::BySmoothness { norm: 1.0 });
    [
        ("jointly, declared", jointly, Smoothness::Declared, EVERY),
        ("jointly, estimated", jointly, estimated(), EVERY),
        ("clamped, declared", clamped, Smoothness::Declared, EVERY * P),
        ("clamped, estimated", clamped, estimated(), EVERY * P),
    ]
}

fn estimated() -> Smoothness {
    Smoothness::Estimated { share: 0.1, floor: 1e-4 }
}

/// Two rounds of 14 steps: the first ends in the middle of the fifth pass, and the tenth pass has
/// one step.
fn coordinates(clipping: CoordinateClipping, smoothness: Smoothness, noise: Noise) -> CoordinatePlan {
    let learner = CoordinateDescent::new(LOGISTIC).rounds(2).steps(14).tail(0.7).l2(0.01);
    let learner = learner.clipping(clipping).smoothness(smoothness);
    learner.plan_with(easy(LOGISTIC).encoding(), Count::new(400).unwrap(), noise).unwrap()
}

fn place(name: &str) -> ScratchFile {
    ScratchFile::new(&format!("learn-{}", name.replace(", ", "-")), "fit")
}

fn kept<'a>(path: &Path) -> FitOptions<'a> {
    FitOptions {
        checkpoints: Some(Checkpoints { path: path.to_owned(), every: EVERY, keep: false }),
        ..FitOptions::default()
    }
}

type AnyPlan = dyn StepwisePlan<Model = LinearModel, Error = LearnError>;

fn free(plan: &AnyPlan) -> Permit {
    unmetered(Claim::new(plan.claim().neighbours, Event::composed([])))
}

/// Resumes, and takes the checkpoint's word for what was paid.
fn resume(
    plan: &AnyPlan,
    data: &Encoded,
    checkpoint: Checkpoint,
    permit: Permit,
    options: FitOptions<'_>,
) -> Result<Release<LinearModel>, LearnError> {
    let paid = danger::unmetered_paid(checkpoint.statement()).unwrap();
    plan.resume(data, Stopped { checkpoint, paid }, permit, options)
}

/// Simulates a kill by a panic after step 6, between two checkpoints, of a new fit or of one that
/// resumes from a checkpoint.
fn kill(plan: &AnyPlan, path: &Path, from: Option<Checkpoint>) {
    let done = from.as_ref().map_or(0, Checkpoint::steps);
    let died = catch_unwind(AssertUnwindSafe(|| {
        let mut progress = |progress: Progress<'_>| assert!(progress.step() < done.max(6), "killed");
        let options = FitOptions { progress: Some(&mut progress), ..kept(path) };
        let data = easy(LOGISTIC);
        let _ = match from {
            None => plan.fit_under(&data, unmetered(plan.claim()), options),
            Some(from) => {
                let permit = unmetered(plan.replay_claim(&from).unwrap());
                resume(plan, &data, from, permit, options)
            }
        };
    }));
    assert!(died.is_err());
}

/// Stops a fit after `steps` steps, and returns its checkpoint.
fn stop(plan: &AnyPlan, path: &Path, steps: u64, bits: Option<&mut dyn Bits>) -> Checkpoint {
    let flag = AtomicBool::new(steps == 0);
    let mut told = Vec::new();
    let mut progress = |progress: Progress<'_>| {
        told.push((progress.step(), progress.of()));
        flag.store(progress.step() == steps, Ordering::Relaxed);
    };
    let bits = bits.map(|bits| bits as &mut dyn Bits);
    let options = FitOptions { progress: Some(&mut progress), cancel: Some(&flag), bits, ..kept(path) };
    let stopped = plan.fit_under(&easy(LOGISTIC), unmetered(plan.claim()), options);
    assert!(
        matches!(stopped, Err(LearnError::Optim(OptimError::Cancelled { steps: at })) if at == steps),
        "{stopped:?}"
    );
    assert_eq!(told, (1..=steps).map(|step| (step, 10)).collect::<Vec<_>>());
    Checkpoint::read(path).unwrap()
}

#[test]
fn a_killed_fit_resumes_and_its_replays_are_charged() {
    let data = easy(LOGISTIC);
    for Case { name, plan, of_every } in cases(multiplier(5.0)) {
        let (plan, path) = (&*plan, place(&format!("kill-{name}")));
        kill(plan, &path, None);
        let checkpoint = Checkpoint::read(&path).unwrap();
        assert_eq!((checkpoint.steps(), plan.steps()), (4, 10), "{name}");
        let replays = plan.replay_claim(&checkpoint).unwrap();
        assert_eq!(replays, Claim::new(plan.claim().neighbours, of_every.clone()), "{name}");
        // A permit for nothing is refused.
        let refused = resume(plan, &data, checkpoint.clone(), free(plan), kept(&path));
        assert!(matches!(refused, Err(LearnError::Optim(OptimError::Release(_)))), "{name}: {refused:?}");
        // A second kill is charged a second time, and the file states both charges.
        kill(plan, &path, Some(checkpoint));
        let checkpoint = Checkpoint::read(&path).unwrap();
        let once = plan.claim().event.followed_by(of_every.clone());
        assert_eq!((checkpoint.steps(), &checkpoint.statement().event), (4, &once), "{name}");
        assert_eq!(plan.replay_claim(&checkpoint).unwrap(), replays, "{name}");
        let release = resume(plan, &data, checkpoint, unmetered(replays), kept(&path)).unwrap();
        assert_eq!(release.guarantee().event, once.followed_by(of_every), "{name}");
        assert!(!path.exists(), "{name}: a fit that has ended leaves no checkpoint");
    }
}

#[test]
fn a_budget_without_room_for_replays_refuses_to_resume() {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    for Case { name, plan, .. } in cases(Noise::Budget { epsilon, delta }) {
        let (plan, path) = (&*plan, place(&format!("budget-{name}")));
        let mut budget = Budget::new(Terms::new(epsilon, plan.claim().neighbours).with_delta(delta));
        drop(budget.charge_claim(plan.claim()).unwrap());
        kill(plan, &path, None);
        let replays = plan.replay_claim(&Checkpoint::read(&path).unwrap()).unwrap();
        assert!(budget.charge_claim(replays).is_err(), "{name}");
    }
}

/// With the same noise, a fit that was stopped and resumed has the same result as one that was not.
/// All noise comes from one stream, so a resumed fit that drew anything twice, such as an estimate
/// of smoothness, would end elsewhere.
#[test]
fn a_stopped_fit_resumes_for_free_with_the_same_result() {
    let data = easy(LOGISTIC);
    // 5 and 9 are in the middle of a round; at 0 the checkpoint holds only the smoothness.
    for (noise, steps) in [(1e-6, 5), (5.0, 5), (5.0, 9), (5.0, 0)] {
        for Case { name, plan, .. } in cases(multiplier(noise)) {
            let (plan, path) = (&*plan, place(&format!("stop-{name}")));
            let mut bits = seeded(7);
            let checkpoint = stop(plan, &path, steps, Some(&mut bits));
            let replays = plan.replay_claim(&checkpoint).unwrap();
            assert_eq!(replays.event, Event::composed([]), "{name}");
            let options = FitOptions { bits: Some(&mut bits), ..kept(&path) };
            let resumed = resume(plan, &data, checkpoint, unmetered(replays), options).unwrap();
            let straight = plan.fit_with(&data, unmetered(plan.claim()), &mut seeded(7)).unwrap();
            let apart = distance(&weights(resumed.value()), &weights(straight.value()));
            assert!(apart < 1e-6, "{name} at {steps} with noise {noise}: {apart}");
            assert!(noise < 1.0 || apart < 1e-3 * distance(&weights(straight.value()), &[0.0; 3]), "{name}");
        }
    }
}

/// The process dies after the last step, before the model is stored: no step is done or paid for
/// again.
#[test]
fn a_fit_with_all_steps_done_resumes_for_free() {
    let data = easy(LOGISTIC);
    for Case { name, plan, .. } in cases(multiplier(5.0)) {
        let (plan, path) = (&*plan, place(&format!("ended-{name}")));
        let checkpoints = Checkpoints { path: path.to_owned(), every: EVERY, keep: true };
        let options = || FitOptions { checkpoints: Some(checkpoints.clone()), ..FitOptions::default() };
        let first = plan.fit_under(&data, unmetered(plan.claim()), options()).unwrap();
        let mut no_step = |_: Progress<'_>| panic!("no step is left");
        let options = FitOptions { progress: Some(&mut no_step), ..options() };
        let checkpoint = Checkpoint::read(&path).unwrap();
        assert_eq!(
            (checkpoint.steps(), plan.replay_claim(&checkpoint).unwrap().event),
            (10, Event::composed([]))
        );
        let again = resume(plan, &data, checkpoint, free(plan), options).unwrap();
        assert_eq!(again.value(), first.value(), "{name}");
    }
}

/// The estimate was released once. Resuming with new bits, on other data of the same shape, does
/// not change it.
#[test]
fn smoothness_is_estimated_once() {
    let other = contract::data::encoded(LOGISTIC, &[vec![0.01; 400], vec![0.0; 400]], &[1.0; 400], true);
    for (name, clipping, smoothness, _) in kinds() {
        let plan = coordinates(clipping, smoothness, multiplier(5.0));
        let path = place(&format!("once-{name}"));
        let of = |checkpoint: &Checkpoint| checkpoint.clone().take_vector("smoothness");
        let first = stop(&plan, &path, 0, None);
        assert!(of(&first).iter().all(|m| *m > 0.0) && of(&first).len() == 3, "{name}");
        let flag = AtomicBool::new(false);
        let mut seen = |_: Progress<'_>| flag.store(true, Ordering::Relaxed);
        let options = FitOptions { progress: Some(&mut seen), cancel: Some(&flag), ..kept(&path) };
        let again = resume(&plan, &other, first.clone(), free(&plan), options);
        assert!(matches!(again, Err(LearnError::Optim(OptimError::Cancelled { steps: 1 }))), "{again:?}");
        assert_eq!(of(&Checkpoint::read(&path).unwrap()), of(&first), "{name}");
    }
}

#[test]
fn a_copy_pays_for_all_remaining_passes() {
    for (name, clipping, smoothness, of_every) in kinds() {
        let plan = coordinates(clipping, smoothness, multiplier(5.0));
        let path = place(&format!("copy-{name}"));
        kill(&plan, &path, None);
        let copy = path.with_file_name("copy");
        std::fs::copy(&path, &copy).unwrap();
        let checkpoint = Checkpoint::read(&copy).unwrap();
        let left = Event::gaussian(plan.noise_multiplier()).repeated(Count::new(of_every / 2 * 3).unwrap());
        let replays = plan.replay_claim(&checkpoint).unwrap();
        assert_eq!(replays.event, left, "{name}");
        let data = easy(LOGISTIC);
        let release = resume(&plan, &data, checkpoint, unmetered(replays), FitOptions::default()).unwrap();
        assert_eq!(release.guarantee().event, plan.claim().event.followed_by(left), "{name}");
    }
}

#[test]
fn a_checkpoint_of_another_plan_is_refused() {
    let data = easy(LOGISTIC);
    let of = |noise: f64| cases(multiplier(noise));
    for (at, Case { name, plan, .. }) in of(5.0).into_iter().enumerate() {
        let path = place(&format!("other-{name}"));
        let checkpoint = stop(&*plan, &path, 5, None);
        let others = of(5.0).into_iter().enumerate().filter(|(other, _)| *other != at).map(|(_, case)| case);
        for other in others.chain(of(5.1)) {
            let refused = resume(&*other.plan, &data, checkpoint.clone(), free(&*other.plan), kept(&path));
            let is_other = |refused: &Result<Release<LinearModel>, _>| {
                matches!(refused, Err(LearnError::Optim(OptimError::CheckpointContent { .. })))
            };
            assert!(is_other(&refused), "{name} as {}: {refused:?}", other.name);
        }
    }
}

/// The two losses have equal plans and training options. The checkpoint of one is refused for the
/// other all the same.
#[test]
fn a_checkpoint_of_another_loss_is_refused() {
    let data = easy(LOGISTIC);
    let plan = |loss| {
        let learner = GradientDescent::full_batch(loss).steps(Count::new(10).unwrap());
        let learner = learner.training(TrainingOptions::default()).clipping(Clipping::Flat { norm: 1.0 });
        learner.plan_with(data.encoding(), Count::new(400).unwrap(), multiplier(5.0)).unwrap()
    };
    let (one, other) = (plan(LOGISTIC), plan(HINGE));
    assert_eq!((one.plan(), one.training()), (other.plan(), other.training()));
    let path = place("loss");
    let checkpoint = stop(&one, &path, 5, None);
    let refused = resume(&other, &data, checkpoint.clone(), free(&other), kept(&path));
    assert!(matches!(refused, Err(LearnError::Optim(OptimError::CheckpointContent { .. }))), "{refused:?}");
    assert!(resume(&one, &data, checkpoint, free(&one), kept(&path)).is_ok());
}

/// A unit of two records pays for replays as a group.
#[test]
fn replays_are_charged_to_units() {
    let data = of_users(LOGISTIC, true);
    let user = || Unit::Column("user".to_owned());
    let permit = |claim: Claim| danger::unmetered(claim, user(), Delta::ZERO).unwrap();
    let learner = CoordinateDescent::new(LOGISTIC).steps(10 * data.encoding().width() as u64);
    let n = Count::new(data.slots() as u64).unwrap();
    let plan = learner.plan_with(data.encoding(), n, multiplier(5.0)).unwrap();
    let path = place("users");
    let died = catch_unwind(AssertUnwindSafe(|| {
        let mut progress = |_: Progress<'_>| panic!("killed");
        let options = FitOptions { progress: Some(&mut progress), ..kept(&path) };
        let _ = plan.fit_under(&data, permit(plan.claim()), options);
    }));
    assert!(died.is_err());
    let checkpoint = Checkpoint::read(&path).unwrap();
    let replays = plan.replay_claim(&checkpoint).unwrap();
    let steps = Event::gaussian(plan.noise_multiplier()).repeated(Count::new(EVERY).unwrap());
    assert_eq!(replays.event, Event::Group { size: Count::new(2).unwrap(), event: Box::new(steps) });
    let of_records = resume(&plan, &data, checkpoint.clone(), unmetered(replays.clone()), kept(&path));
    assert!(
        matches!(of_records, Err(LearnError::Optim(OptimError::Release(ReleaseError::OtherUnit { .. })))),
        "{of_records:?}"
    );
    let release = resume(&plan, &data, checkpoint, permit(replays.clone()), kept(&path)).unwrap();
    let guarantee = release.guarantee();
    assert_eq!(
        (&guarantee.event, &guarantee.unit),
        (&plan.claim().event.followed_by(replays.event), &user())
    );
}

/// During a fit, ε grows from that of the estimate to that of the whole. In a resumed fit it is
/// that of all charges.
#[test]
fn progress_states_what_passes_cost() {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    for (name, clipping, smoothness, _) in kinds() {
        let plan = coordinates(clipping, smoothness, Noise::Budget { epsilon, delta });
        let watched = |fit: &dyn Fn(FitOptions<'_>) -> Release<LinearModel>| {
            let mut told = Vec::new();
            let mut progress = |progress: Progress<'_>| told.push(progress.epsilon(delta).unwrap().upper);
            let release = fit(FitOptions { progress: Some(&mut progress), ..FitOptions::default() });
            (told, release.guarantee().epsilon.upper)
        };
        let data: Encoded = easy(LOGISTIC);
        let permit = |claim| danger::unmetered(claim, Unit::Record, delta).unwrap();
        let (told, whole) = watched(&|options| plan.fit_under(&data, permit(plan.claim()), options).unwrap());
        assert!(told.len() == 10 && told.is_sorted(), "{name}: {told:?}");
        assert!((told[9] - whole).abs() < 1e-9 && told[0] < 0.6 * whole, "{name}: {told:?}, {whole}");
        let path = place(&format!("progress-{name}"));
        kill(&plan, &path, None);
        let checkpoint = Checkpoint::read(&path).unwrap();
        let replays = plan.replay_claim(&checkpoint).unwrap();
        let (told, both) = watched(&|options| {
            let FitOptions { checkpoints, .. } = kept(&path);
            let options = FitOptions { checkpoints, ..options };
            resume(&plan, &data, checkpoint.clone(), permit(replays.clone()), options).unwrap()
        });
        assert!(told.len() == 6 && told.iter().all(|epsilon| (epsilon - both).abs() < 1e-9), "{name}");
        assert!(both > whole, "{name}");
    }
}

#[test]
fn a_fit_does_not_depend_on_the_number_of_threads() {
    let data = easy(LOGISTIC);
    for Case { name, plan, .. } in cases(multiplier(1.0)) {
        let with = |threads: usize| {
            let mut bits = seeded(9);
            let threads = NonZero::new(threads);
            let options = FitOptions { threads, bits: Some(&mut bits), ..FitOptions::default() };
            weights(plan.fit_under(&data, unmetered(plan.claim()), options).unwrap().value())
        };
        assert_eq!(with(1), with(3), "{name}");
    }
}
