//! A folder with a table, its schema and the owner's ledger.
#![allow(dead_code, reason = "each program uses its own part of it")]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use sordino_ledger::{Label, Ledger};
use sordino_privacy::{Count, Delta, Epsilon, Neighbours, Terms, Unit};
use sordino_run::training::{self, Observer, Session, Trained};
use sordino_run::{
    LearnerSettings, LockSettings, Ownership, Payment, RunError, Settings, identity, read_schema,
};
use sordino_testing::Scratch;

pub(crate) const SCHEMA: &str = "columns.x = { kind = 'number', bounds = [0, 1] }\n\
     columns.y = { kind = 'category', values = ['no', 'yes'] }\n";

pub(crate) struct Scene {
    pub(crate) folder: Scratch,
}

impl Scene {
    /// A scene with 200 records; y = yes if x is large.
    pub(crate) fn new(name: &str) -> Self {
        let scene = Self { folder: Scratch::new(&format!("run-{name}")) };
        scene.write("t.csv", &table(200));
        scene.write("t.toml", SCHEMA);
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// The owner gives the table a budget of ε = 10 in `l`.
    pub(crate) fn budget(&self) {
        self.budget_for(Unit::Record, "t.toml", None);
    }

    pub(crate) fn budget_for(&self, unit: Unit, schema: &str, lock: Option<LockSettings>) {
        let schema = Some(read_schema(&self.path(schema)).unwrap());
        let owner = Ownership { schema, owner: label("owner"), lock };
        let (rules, _) = owner.rules(Some(&unit), Some(&self.path("t.csv"))).unwrap();
        let terms = Terms::new(epsilon(10.0), Neighbours::ZeroOut).with_delta(Delta::new(1e-6).unwrap());
        let ledger = Ledger::create(&self.path("l")).unwrap();
        let identity = identity(&self.path("t.csv"), None).unwrap();
        ledger.create_data_set_with(&identity, &terms.for_unit(unit), &rules).unwrap();
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::open(&self.path("l")).unwrap()
    }

    pub(crate) fn spent(&self) -> f64 {
        self.ledger().total(2).unwrap()
    }

    /// A run of 20 steps for ε = 1 into `m`, paid from `l` by its owner.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            data: Some(self.path("t.csv")),
            schema: Some(self.path("t.toml")),
            target: Some("y".to_owned()),
            epsilon: Some(epsilon(1.0)),
            learner: LearnerSettings { steps: Some(Count::new(20).unwrap()), ..LearnerSettings::default() },
            payment: Payment {
                ledger: Some(self.path("l")),
                who: Some(label("owner")),
                ..Payment::default()
            },
            out: Some(self.path("m")),
            ..Settings::default()
        }
    }
}

pub(crate) fn table(rows: usize) -> String {
    let mut text = String::from("x,y\n");
    for row in 0..rows {
        text += &format!("{},{}\n", (row % 10) as f64 / 10.0, if row % 10 > 5 { "yes" } else { "no" });
    }
    text
}

pub(crate) fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

pub(crate) fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

pub(crate) fn train(settings: &Settings) -> Result<Trained, RunError> {
    train_watched(settings, false, &mut ())
}

pub(crate) fn train_watched(
    settings: &Settings,
    resume: bool,
    observer: &mut dyn Observer,
) -> Result<Trained, RunError> {
    training::train(settings, Session { resume, stop: &AtomicBool::new(false), observer })
}
