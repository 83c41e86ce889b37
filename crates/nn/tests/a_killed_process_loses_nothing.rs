//! A process that trains a network is killed again and again, at arbitrary moments. Its checkpoints
//! survive, and all steps that anyone can have seen are paid for.
//!
//! This file is its own worker. With `worker FOLDER` it begins or resumes a run, and logs each
//! charge before the run and each step after it, like someone who sees every iterate.

mod support;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use sordino_nn::NetworkObjective;
use sordino_optim::{Checkpoint, Checkpoints, Clipping, Training, TrainingPlan};
use sordino_privacy::{Event, danger};
use sordino_testing::Scratch;
use support::images::{bars, network, options, permit, plan, poisson};

/// How often the worker is killed.
const KILLS: u64 = 20;
/// More than workers get done before they are killed.
const STEPS: u64 = 400;
const EVERY: u64 = 3;
/// Steps after which a worker is killed: at most so many, by a fixed sequence. The scheduler adds
/// what no seed can.
const LONGEST_LIFE: u64 = 12;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.as_slice() {
        [_, role, folder] if role == "worker" => work(Path::new(folder)),
        _ => {
            let folder = Scratch::new("nn-killed");
            killed(&folder);
        }
    }
}

fn the_plan() -> TrainingPlan {
    plan(poisson(0.1), STEPS, Clipping::Flat { norm: 1.0 }, 2.0)
}

fn work(folder: &Path) {
    let (network, rows, plan) = (network(), bars(), the_plan());
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let path = folder.join("run");
    let training = Training::new(&plan, &objective, options(&network)).unwrap();
    let training =
        training.with_checkpoints(Checkpoints { path: path.clone(), every: EVERY, keep: false }).unwrap();
    let mut log = OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
    let mut seen = log.try_clone().unwrap();
    let mut step = |progress: sordino_optim::Progress<'_>| note(&mut seen, "step", progress.step());
    let release = if path.exists() {
        let checkpoint = Checkpoint::read(&path).unwrap();
        let replays = training.replay_claim(&checkpoint).unwrap();
        note(&mut log, "resumed", checkpoint.steps());
        let paid = danger::unmetered_paid(checkpoint.statement()).unwrap();
        training.resume(checkpoint, paid, permit(replays), &mut step).unwrap()
    } else {
        note(&mut log, "begun", 0);
        training.run(permit(plan.claim()), &mut step).unwrap()
    };
    let event = serde_json::to_vec(&release.guarantee().event).unwrap();
    std::fs::write(folder.join("event"), event).unwrap();
}

fn note(log: &mut File, word: &str, number: u64) {
    log.write_all(format!("{word} {number}\n").as_bytes()).unwrap();
}

fn killed(folder: &Path) {
    let (path, mut random, mut safe) = (folder.join("run"), 1u64, 0);
    for _ in 0..KILLS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let lives = count(folder) + 1 + (random >> 33) as usize % LONGEST_LIFE as usize;
        let mut worker = start(folder);
        while count(folder) < lives {
            assert!(worker.try_wait().unwrap().is_none(), "a worker ended before it could be killed");
            sleep(Duration::from_micros(200));
        }
        sleep(Duration::from_micros(random >> 53));
        worker.kill().unwrap();
        assert_eq!(worker.wait().unwrap().code(), None);
        let checkpoint = path.exists().then(|| Checkpoint::read(&path).unwrap());
        let steps = checkpoint.map_or(0, |checkpoint| checkpoint.steps());
        assert!(steps >= safe, "{steps} after {safe}");
        // No more steps were seen than are charged again.
        let mut seen = notes(folder).into_iter().filter(|(word, _)| word == "step").map(|(_, step)| step);
        assert!(seen.next_back().is_none_or(|seen| seen <= steps + EVERY), "{steps}");
        safe = steps;
    }
    assert!(safe > 0);
    assert!(start(folder).wait().unwrap().success());
    check(folder);
    eprintln!("killed {KILLS} times, the last time after step {safe} of {STEPS}");
}

/// The guarantee pays for every step that was seen, replays included.
fn check(folder: &Path) {
    let event: Event = serde_json::from_slice(&std::fs::read(folder.join("event")).unwrap()).unwrap();
    let plan = the_plan();
    let Event::Composed { events } = event else { panic!("{event:?}") };
    assert_eq!(events[0], plan.event());
    let again = plan.claim_of(EVERY).unwrap().event;
    let paid = events.iter().skip(1).filter(|event| **event == again).count() as u64;
    assert_eq!(paid as usize, events.len() - 1, "{events:?}");
    let notes = notes(folder);
    let seen = notes.iter().filter(|(word, _)| word == "step").count() as u64;
    let lives = notes.split(|(word, _)| word != "step").filter(|steps| !steps.is_empty()).count() as u64;
    // A process may be killed between a step and its log entry.
    assert!(seen + KILLS >= STEPS && seen <= STEPS + EVERY * paid, "{seen} steps, {paid} resumptions");
    // Every process that did a step paid before it, except the first.
    assert!((lives - 1..=KILLS).contains(&paid), "{lives} lives, {paid} resumptions");
    // The last step of each life and the first of the next: nothing is skipped.
    for pair in notes.windows(2) {
        let [(word, before), (next, after)] = pair else { unreachable!("windows of two") };
        if next == "step" {
            assert_eq!(*after, before + 1, "after {word}");
        }
    }
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap()).arg("worker").arg(folder).spawn().unwrap()
}

/// Whole lines of the log.
fn count(folder: &Path) -> usize {
    notes(folder).len()
}

fn notes(folder: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(log(folder)).unwrap_or_default();
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let pair = |line: &str| {
        let (word, number) = line.split_once(' ').unwrap();
        (word.to_owned(), number.parse().unwrap())
    };
    whole.lines().map(pair).collect()
}

fn log(folder: &Path) -> PathBuf {
    folder.join("log")
}
