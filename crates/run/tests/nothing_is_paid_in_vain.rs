//! Everything that can be checked before a charge is checked before it: memory, work, and that the
//! data is the data set with the budget.

mod scene;

use std::fs;

use scene::{Scene, table, train, train_watched};
use sordino_data::DataError;
use sordino_privacy::Count;
use sordino_run::training::{self, Observer};
use sordino_run::{LearnerSettings, Method, RunError, Settings};

/// A wide one-hot table was once paid for, and then the process was killed for lack of memory.
#[test]
fn a_table_that_does_not_fit_in_memory_is_refused_before_it_is_charged() {
    let scene = Scene::new("memory");
    // 400 000 records of 2^18 numbers are 400 GB.
    let values: Vec<String> = (0..1 << 18).map(|value| format!("'v{value}'")).collect();
    scene.write(
        "t.toml",
        &format!(
            "columns.x = {{ kind = 'category', values = [{}] }}\ncolumns.y = {{ kind = 'category', \
            values = ['no', 'yes'] }}",
            values.join(",")
        ),
    );
    scene.write("t.csv", &format!("x,y\n{}", "v1,no\nv2,yes\n".repeat(200_000)));
    scene.budget();
    let refused = train(&scene.settings()).map(drop).unwrap_err();
    if cfg!(target_os = "linux") {
        assert!(matches!(refused, RunError::NoMemory { .. }), "{refused}");
    }
    assert_eq!(scene.spent(), 0.0);
    assert!(!scene.path("m.part").exists());
}

/// Moves another table to the path of the data, once the run has been planned.
struct Swap<'a>(&'a Scene, &'a str);

impl Observer for Swap<'_> {
    fn doing(&mut self, what: &str) {
        if what == self.1 {
            fs::rename(self.0.path("other.csv"), self.0.path("t.csv")).unwrap();
        }
    }
}

/// Overwrites the data in place.
struct Rewrite<'a>(&'a Scene);

impl Observer for Rewrite<'_> {
    fn doing(&mut self, what: &str) {
        if what == "reading the data" {
            let text = fs::read_to_string(self.0.path("t.csv")).unwrap();
            fs::write(self.0.path("t.csv"), text.replacen("0.1,no", "0.9,no", 1)).unwrap();
        }
    }
}

/// The content was once hashed and then the path opened again: a link that was moved in between led
/// to another table, at this table's price.
#[test]
fn a_run_learns_from_the_bytes_that_were_digested() {
    let scene = Scene::new("swap");
    scene.budget();
    // A file that takes over the path is ignored: the run reads the file that it has opened.
    for moment in ["charging", "reading the data"] {
        let before = fs::read_to_string(scene.path("t.csv")).unwrap();
        scene.write("other.csv", &table(10));
        let trained = train_watched(&scene.settings(), false, &mut Swap(&scene, moment)).unwrap();
        assert_eq!(trained.plan.subject.n.get(), 200);
        fs::remove_dir_all(scene.path("m")).unwrap();
        scene.write("t.csv", &before);
    }
    // A file that is rewritten in place is noticed before anything is released.
    let refused = train_watched(&scene.settings(), false, &mut Rewrite(&scene)).map(drop).unwrap_err();
    assert!(matches!(refused, RunError::Data(DataError::Changed { .. })), "{refused}");
    assert!(!scene.path("m").exists());
}

/// `train --plan` with three million steps once rehearsed them all.
#[test]
fn a_plan_of_many_steps_is_not_rehearsed() {
    let scene = Scene::new("long-plan");
    let plan = |method, steps| {
        let learner = LearnerSettings {
            method: Some(method),
            steps: Some(Count::new(steps).unwrap()),
            ..LearnerSettings::default()
        };
        let settings = Settings { learner, payment: Default::default(), ..scene.settings() };
        training::plan(&settings).unwrap().estimate
    };
    assert!(plan(Method::Sgd, 100).scores.is_some());
    let long = plan(Method::Sgd, 3_000_000);
    assert!(long.scores.is_none() && long.time.as_secs_f64() > 0.0, "{long:?}");
    assert!(plan(Method::CoordinateDescent, 3_000_000).scores.is_none());
}

/// One pass digests, counts and checks, and one encodes. A file was once read five times.
#[test]
fn a_file_is_read_twice() {
    let scene = Scene::new("passes");
    scene.write("t.csv", &table(100_000));
    scene.budget();
    let trained = train(&scene.settings()).unwrap();
    let (read, length) = (trained.plan.bytes_read(), fs::metadata(scene.path("t.csv")).unwrap().len());
    // Its beginning is read once more, for the header.
    assert!((2 * length..2 * length + (1 << 18)).contains(&read), "{read} of {length}");
}
