//! The ledger counts the paid steps, where no copy can undo the count, and no seeded run is charged
//! to a ledger.

mod scene;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use scene::{Scene, label, train, train_watched};
use sordino_ledger::{Account, Ledger};
use sordino_privacy::{Charge, Count, Delta, Epsilon, Event, Permit};
use sordino_run::training::{self, Observer, Step};
use sordino_run::{LearnerSettings, Mismatch, RunError, Settings};

/// Copies the working folder after one step, and dies after another.
struct Saboteur<'a> {
    scene: &'a Scene,
    copy_at: u64,
    die_at: u64,
}

impl Observer for Saboteur<'_> {
    fn step(&mut self, step: &Step<'_>) {
        let done = step.progress.step();
        if done == self.copy_at {
            copy(&self.scene.path("m.part"), &self.scene.path("copy"));
        }
        assert!(done < self.die_at, "killed");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

fn put_back(scene: &Scene) {
    fs::remove_dir_all(scene.path("m.part")).unwrap();
    fs::rename(scene.path("copy"), scene.path("m.part")).unwrap();
}

fn killed(scene: &Scene, settings: &Settings, resume: bool, copy_at: u64, die_at: u64) {
    let mut observer = Saboteur { scene, copy_at, die_at };
    let run = || train_watched(settings, resume, &mut observer).map(drop);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
}

fn every_step(scene: &Scene) -> Settings {
    let settings = scene.settings();
    let learner = LearnerSettings { checkpoint_every: Some(Count::ONE), ..settings.learner.clone() };
    Settings { learner, ..settings }
}

/// The number of steps that a charge pays for.
fn steps(event: &Event) -> u64 {
    if let Event::Composed { events } = event {
        return events.iter().map(steps).sum();
    }
    if let Event::Repeated { count, .. } = event { count.get() } else { 1 }
}

/// A copy of the folder from after step 2, put back after the run died at step 15, once repeated 13
/// steps for the price of one, again and again.
#[test]
fn an_old_copy_of_the_folder_pays_for_all_steps_done_since() {
    let scene = Scene::new("put-back");
    scene.budget();
    let settings = every_step(&scene);
    killed(&scene, &settings, false, 2, 15);
    put_back(&scene);
    let trained = train_watched(&settings, true, &mut ()).unwrap();
    let charges = scene.ledger().charges().unwrap();
    // Fifteen steps were done, and one more may have been: steps 3 to 16 of twenty are paid twice.
    assert_eq!(charges.iter().map(|charge| steps(&charge.event)).collect::<Vec<_>>(), [20, 14]);
    assert_eq!(steps(&trained.guarantee.event), 34);
    assert!(trained.guarantee.metered && trained.guarantee.epsilon.upper > 1.2);
}

/// The same with a second copy, taken from the resumed run.
#[test]
fn a_copy_of_a_resumed_run_pays_again() {
    let scene = Scene::new("put-back-twice");
    scene.budget();
    let settings = every_step(&scene);
    killed(&scene, &settings, false, u64::MAX, 5);
    // Four steps are certainly kept, and the fifth may be: at most two are paid again.
    killed(&scene, &settings, true, 6, 12);
    put_back(&scene);
    train_watched(&settings, true, &mut ()).unwrap();
    let paid: Vec<u64> =
        scene.ledger().charges().unwrap().iter().map(|charge| steps(&charge.event)).collect();
    assert_eq!(paid[0], 20);
    // Twelve steps were recorded; the copy has six.
    assert!(paid[1] <= 2 && paid[2] == 7, "{paid:?}");
}

/// A checkpoint that the ledger does not know is refused, whatever its own digest says.
#[test]
fn an_edited_checkpoint_is_refused() {
    let scene = Scene::new("edited");
    scene.budget();
    let settings = every_step(&scene);
    killed(&scene, &settings, false, u64::MAX, 10);
    // A checkpoint of another run of the same plan, which nobody paid for.
    let other = Settings { out: Some(scene.path("other")), payment: Default::default(), ..settings.clone() };
    let mut observer = Saboteur { scene: &scene, copy_at: u64::MAX, die_at: 3 };
    let run = || train_watched(&other, false, &mut observer).map(drop);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    fs::copy(scene.path("other.part/checkpoint"), scene.path("m.part/checkpoint")).unwrap();
    let refused = train_watched(&settings, true, &mut ()).map(drop).unwrap_err();
    assert!(matches!(refused, RunError::Resume(Mismatch::Checkpoint)), "{refused}");
}

/// A known seed cancels the noise of a release, and the ledger's entry once did not say that there
/// was a seed.
#[test]
fn no_seeded_run_is_charged_to_a_ledger() {
    let scene = Scene::new("seeds");
    scene.budget();
    let seeded = Settings { danger_seed: Some(7), ..scene.settings() };
    assert!(matches!(train(&seeded), Err(RunError::SeededCharge)));
    assert!(matches!(training::plan(&seeded).map(drop), Err(RunError::SeededCharge)));
    let bought = Settings {
        estimate_schema_with: Some(0.5),
        numbers: Some(vec!["x".to_owned()]),
        schema: None,
        ..seeded.clone()
    };
    assert!(matches!(train(&bought), Err(RunError::SeededCharge)));
    assert_eq!(scene.spent(), 0.0);
    let unmetered = Settings { payment: Default::default(), ..seeded };
    assert!(train(&unmetered).unwrap().guarantee.seeded);

    // A seeded charge by a library is marked in the history.
    let identity = sordino_run::identity(&scene.path("t.csv"), None).unwrap();
    let ledger = Ledger::open(&scene.path("l")).unwrap();
    let mut account = Account::open(ledger, &identity, label("owner"), label("a test")).unwrap();
    let event = Event::Pure { epsilon: Epsilon::new(0.1).unwrap() };
    let seeded: Permit = account.charge_seeded(event.clone()).unwrap();
    assert!(seeded.seeded().is_ok() && account.charge(event).unwrap().seeded().is_err());
    let seeded: Vec<bool> = scene.ledger().charges().unwrap().iter().map(|charge| charge.seeded).collect();
    assert_eq!(seeded, [true, false]);
    assert_eq!(account.terms().delta, Delta::new(1e-6).unwrap());
}

/// The working folder is not released: only its user may read the folder, its checkpoints and its
/// receipts.
#[cfg(unix)]
#[test]
fn only_its_user_may_read_the_working_folder() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new("modes");
    scene.budget();
    killed(&scene, &every_step(&scene), false, u64::MAX, 5);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scene.path("m.part")), 0o700);
    for file in fs::read_dir(scene.path("m.part")).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

/// A receipt that leaves out the charge under which most steps were done, and names another open
/// charge, would repeat those steps for next to nothing.
#[test]
fn a_receipt_cannot_leave_out_a_charge() {
    let scene = Scene::new("receipt");
    scene.budget();
    let settings = every_step(&scene);
    killed(&scene, &settings, false, 3, 5);
    fs::rename(scene.path("copy"), scene.path("first")).unwrap();
    // An open charge that costs next to nothing.
    let identity = sordino_run::identity(&scene.path("t.csv"), None).unwrap();
    let mut account = Account::open(scene.ledger(), &identity, label("owner"), label("query count")).unwrap();
    let cheap = account.charge(Event::Pure { epsilon: Epsilon::new(1e-6).unwrap() }).unwrap();
    let head = serde_json::to_value(scene.ledger().head().unwrap()).unwrap();
    // The run resumes, and dies at step 18.
    killed(&scene, &settings, true, u64::MAX, 18);
    let receipt: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scene.path("m.part/receipt.json")).unwrap()).unwrap();
    fs::remove_dir_all(scene.path("m.part")).unwrap();
    fs::rename(scene.path("first"), scene.path("m.part")).unwrap();
    let other = serde_json::json!({ "number": cheap.reservation().unwrap(), "history": head });
    let spent = scene.spent();
    for charges in [
        vec![receipt["charges"][0].clone()],
        vec![receipt["charges"][0].clone(), other.clone()],
        vec![other.clone(), receipt["charges"][1].clone()],
        vec![receipt["charges"][1].clone()],
        vec![other],
    ] {
        let forged = serde_json::json!({ "data": receipt["data"], "charges": charges });
        fs::write(scene.path("m.part/receipt.json"), forged.to_string()).unwrap();
        let refused = train_watched(&settings, true, &mut ()).map(drop).unwrap_err();
        assert!(matches!(refused, RunError::Resume(_)), "{forged}: {refused}");
    }
    assert_eq!(scene.spent(), spent);
    // The true receipt pays for the steps that the ledger has recorded since.
    fs::write(scene.path("m.part/receipt.json"), receipt.to_string()).unwrap();
    train_watched(&settings, true, &mut ()).unwrap();
    let last = scene.ledger().charges().unwrap().last().unwrap().clone();
    assert_eq!(steps(&last.event), 16);
}

/// If copies of a folder are resumed at the same time, one of them succeeds.
#[test]
fn only_one_copy_of_a_run_can_be_resumed() {
    let scene = Scene::new("race");
    scene.budget();
    let settings = every_step(&scene);
    // Stopped on request, so resuming is free.
    struct Stops<'a>(&'a std::sync::atomic::AtomicBool);
    impl Observer for Stops<'_> {
        fn step(&mut self, step: &Step<'_>) {
            self.0.store(step.progress.step() == 3, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let stop = std::sync::atomic::AtomicBool::new(false);
    let session = training::Session { resume: false, stop: &stop, observer: &mut Stops(&stop) };
    assert!(matches!(training::train(&settings, session).map(drop), Err(RunError::Stopped { steps: 3, .. })));
    copy(&scene.path("m.part"), &scene.path("copy"));
    // Plays another process with a copy, such as another machine may have: it resumes the run after
    // this one has checked the ledger and before this one's charge.
    struct Thief<'a>(&'a Scene, &'a Settings);
    impl Observer for Thief<'_> {
        fn doing(&mut self, what: &str) {
            if what == "charging" {
                let identity = sordino_run::identity(&self.0.path("t.csv"), None).unwrap();
                let ledger = self.0.ledger();
                let number = ledger.charges().unwrap()[0].number;
                let mut account = Account::open(ledger, &identity, label("owner"), label("train y")).unwrap();
                account.charge_after(number, Event::composed([])).map(drop).unwrap();
                assert!(self.1.out.is_some());
            }
        }
    }
    let refused = train_watched(&settings, true, &mut Thief(&scene, &settings)).map(drop).unwrap_err();
    assert!(matches!(refused, RunError::Ledger(_)), "{refused}");
    assert!(!scene.path("m").exists());
}
