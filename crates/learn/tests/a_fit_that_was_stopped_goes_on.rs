//! Killed, stopped, resumed: fits of many steps, with what each of it costs.

mod contract;

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::data::easy;
use contract::learners::LOGISTIC;
use contract::{distance, unmetered, weights};
use sordino_learn::{FitOptions, GradientDescent, GradientPlan, LearnError, LearningPlan, Noise};
use sordino_noise::danger::seeded;
use sordino_optim::{Checkpoint, Checkpoints, OptimError};
use sordino_privacy::{Budget, Charge, Count, Delta, Epsilon, Event, NoiseMultiplier, SamplingRate, Terms};

const EVERY: u64 = 4;

/// Plans of ten steps, by sampling.
fn plans(noise: Noise) -> Vec<(&'static str, GradientPlan)> {
    let half = SamplingRate::new(0.5).unwrap();
    let size = Count::new(50).unwrap();
    let learners = [
        ("full", GradientDescent::full_batch(LOGISTIC)),
        ("poisson", GradientDescent::poisson(LOGISTIC, half)),
        ("fixed", GradientDescent::fixed_size(LOGISTIC, size)),
    ];
    let plan = |learner: GradientDescent| {
        let learner = learner.steps(Count::new(10).unwrap());
        learner.plan_with(easy(LOGISTIC).encoding(), Count::new(400).unwrap(), noise).unwrap()
    };
    learners.into_iter().map(|(name, learner)| (name, plan(learner))).collect()
}

fn multiplier(z: f64) -> Noise {
    Noise::Multiplier(NoiseMultiplier::new(z).unwrap())
}

fn place(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sordino-learn-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("fit.json")
}

fn checkpoints(path: &std::path::Path) -> Option<Checkpoints> {
    Some(Checkpoints { path: path.to_owned(), every: EVERY, keep: false })
}

/// A kill, as far as a test can have one: a panic after step 6, between two checkpoints.
fn kill(plan: &GradientPlan, path: &std::path::Path) {
    let died = std::panic::catch_unwind(|| {
        let mut progress = |progress: sordino_optim::Progress<'_>| assert!(progress.step() < 6, "killed");
        let options = FitOptions {
            progress: Some(&mut progress),
            checkpoints: checkpoints(path),
            ..FitOptions::default()
        };
        let _ = plan.fit_under(&easy(LOGISTIC), unmetered(plan.claim()), options);
    });
    assert!(died.is_err());
}

#[test]
fn a_killed_fit_goes_on_and_its_replays_are_charged() {
    let data = easy(LOGISTIC);
    for (name, plan) in plans(multiplier(5.0)) {
        let path = place(&format!("kill-{name}"));
        kill(&plan, &path);
        let checkpoint = Checkpoint::read(&path).unwrap();
        assert_eq!(checkpoint.steps(), 4, "{name}");
        let replays = plan.replay_claim(&checkpoint).unwrap();
        assert_eq!(replays, plan.plan().claim_of(EVERY).unwrap(), "{name}");
        // Not for free, and not on other data.
        let free = unmetered(sordino_privacy::Claim::new(replays.neighbours, Event::composed([])));
        let refused = plan.resume(&data, checkpoint.clone(), free, FitOptions::default());
        assert!(matches!(refused, Err(LearnError::Release(_))), "{name}: {refused:?}");
        let options = || FitOptions { checkpoints: checkpoints(&path), ..FitOptions::default() };
        let release = plan.resume(&data, checkpoint, unmetered(replays.clone()), options()).unwrap();
        let both = Event::composed([plan.claim().event, replays.event]);
        assert_eq!(release.guarantee().event, both, "{name}");
        assert!(!path.exists(), "{name}: a fit that has ended leaves nothing to go on with");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}

#[test]
fn a_budget_without_room_for_replays_does_not_let_it_go_on() {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    let (_, plan) = plans(Noise::Budget { epsilon, delta }).swap_remove(0);
    let path = place("budget");
    let mut budget = Budget::new(Terms::new(epsilon, plan.claim().neighbours).with_delta(delta));
    drop(budget.charge_claim(plan.claim()).unwrap());
    kill(&plan, &path);
    let replays = plan.replay_claim(&Checkpoint::read(&path).unwrap()).unwrap();
    assert!(budget.charge_claim(replays).is_err());
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// With all records and hardly any noise a fit that was stopped and resumed is the one that was not.
#[test]
fn a_stopped_fit_goes_on_for_free_and_as_if_nothing_had_happened() {
    let data = easy(LOGISTIC);
    let (_, plan) = plans(multiplier(1e-6)).swap_remove(0);
    let path = place("stop");
    let flag = AtomicBool::new(false);
    let mut told = Vec::new();
    let mut progress = |progress: sordino_optim::Progress<'_>| {
        told.push((progress.step(), progress.of()));
        flag.store(progress.step() == 5, Ordering::Relaxed);
    };
    let options = FitOptions {
        progress: Some(&mut progress),
        cancel: Some(&flag),
        checkpoints: checkpoints(&path),
        ..FitOptions::default()
    };
    let stopped = plan.fit_under(&data, unmetered(plan.claim()), options);
    assert!(matches!(stopped, Err(LearnError::Optim(OptimError::Cancelled { steps: 5 }))), "{stopped:?}");
    assert_eq!(told, (1..=5).map(|step| (step, 10)).collect::<Vec<_>>());
    let checkpoint = Checkpoint::read(&path).unwrap();
    let replays = plan.replay_claim(&checkpoint).unwrap();
    assert_eq!(replays.event, Event::composed([]));
    let options = FitOptions { checkpoints: checkpoints(&path), ..FitOptions::default() };
    let resumed = plan.resume(&data, checkpoint, unmetered(replays), options).unwrap();
    let straight = plan.fit(&data, unmetered(plan.claim())).unwrap();
    assert!(distance(&weights(resumed.value()), &weights(straight.value())) < 1e-4);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn threads_do_not_show_in_a_fit() {
    let data = easy(LOGISTIC);
    for (name, plan) in plans(multiplier(1.0)) {
        let with = |threads: usize| {
            let mut bits = seeded(9);
            let threads = NonZero::new(threads);
            let options = FitOptions { threads, bits: Some(&mut bits), ..FitOptions::default() };
            weights(plan.fit_under(&data, unmetered(plan.claim()), options).unwrap().value())
        };
        assert_eq!(with(1), with(3), "{name}");
    }
}
