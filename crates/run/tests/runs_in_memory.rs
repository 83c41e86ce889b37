//! A program fits models of tables in memory, as the command does of files: the same bits, the same
//! checks, the same order.

mod scene;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use scene::{Scene, epsilon, label, train};
use sordino_data::{Columns, HeaderColumn, Matrix, RawTable, Schema, Source, TypeHint, Values};
use sordino_ledger::{Digest, State};
use sordino_nn::Description;
use sordino_privacy::{Budget, Delta, Neighbours, Terms, Unit};
use sordino_run::model::{Model, Stored};
use sordino_run::query::{AnswerValue, Query, Statistic, answer_given, plan_given};
use sordino_run::training::{Fitted, Observer, Request, Session, Step, fit, plan_for};
use sordino_run::{
    Given, LedgerAccount, LockSettings, Ownership, Payer, Payment, RunError, Settings, SharedBudget,
};

fn schema() -> Schema {
    Schema::from_toml(scene::SCHEMA).unwrap()
}

/// The table of the scene, in memory.
fn table() -> Source {
    of(|row| (row % 10) as f64 / 10.0)
}

fn of(x: impl Fn(usize) -> f64) -> Source {
    let x: Vec<f64> = (0..200).map(x).collect();
    let y = (0..200).map(|row| Some(if row % 10 > 5 { "yes" } else { "no" }));
    let x = Matrix::<f64, _>::new(vec!["x".to_owned()], x, 200, [0, 1, 1]).unwrap();
    let y = RawTable::new().texts("y", y).unwrap();
    Source::memory("X", vec![Arc::new(x), Arc::new(y)]).unwrap()
}

fn budget(whole: f64) -> SharedBudget {
    let terms = Terms::new(epsilon(whole), Neighbours::ZeroOut).with_delta(Delta::new(1e-6).unwrap());
    Arc::new(Mutex::new(Budget::new(terms)))
}

fn spent(budget: &SharedBudget) -> f64 {
    budget.lock().unwrap().total().unwrap()
}

/// The settings of the scene without files and ledger.
fn settings(scene: &Scene) -> Settings {
    Settings { data: None, schema: None, out: None, payment: Payment::default(), ..scene.settings() }
}

fn fitted(settings: &Settings, table: Source, payer: Payer) -> Result<Fitted, RunError> {
    let given = Given { table: Some(table), schema: Some(schema()), payer };
    let request = Request { given, ..Request::new(settings) };
    fit(request, Session { resume: false, stop: &AtomicBool::new(false), observer: &mut () })
}

fn weights(model: &Model) -> Vec<u64> {
    let Model::Linear(model) = model else { panic!("a linear model") };
    model.weights().flatten().map(|weight| weight.to_bits()).collect()
}

#[test]
fn a_seed_gives_the_same_bits_from_memory_and_from_a_file() {
    let scene = Scene::new("memory-bits");
    for method in [None, Some(sordino_run::Method::ObjectivePerturbation), Some(sordino_run::Method::Sgd)] {
        let mut settings = settings(&scene);
        settings.danger_seed = Some(7);
        settings.learner.method = method;
        settings.learner.steps =
            settings.learner.steps.filter(|_| method != Some(sordino_run::Method::ObjectivePerturbation));
        let memory = fitted(&settings, table(), Payer::Settings).unwrap();
        let out = scene.path(&format!("m-{method:?}"));
        let (data, schema) = (Some(scene.path("t.csv")), Some(scene.path("t.toml")));
        let file = train(&Settings { data, schema, out: Some(out.clone()), ..settings.clone() }).unwrap();
        assert_eq!(weights(&memory.model), weights(&file.model), "{method:?}");
        assert_eq!(memory.guarantee, file.guarantee);
        assert!(!memory.guarantee.metered && memory.guarantee.seeded);
        // What is saved is what the command reads, and says the same about its weights.
        let saved = scene.path(&format!("s-{method:?}"));
        memory.save(&saved).unwrap();
        assert_eq!(weights(&Stored::open(&saved).unwrap().model), weights(&file.model));
        assert_eq!(
            std::fs::read(saved.join("model.safetensors")).unwrap(),
            std::fs::read(out.join("model.safetensors")).unwrap()
        );
        assert!(saved.join("report.html").exists() && saved.join("run.json").exists());
        assert!(matches!(memory.save(&saved), Err(RunError::OutExists { .. })));
    }
}

#[test]
fn a_budget_for_two_fits_refuses_the_third() {
    let scene = Scene::new("memory-budget");
    let (settings, budget) = (settings(&scene), budget(1.7));
    let mut before = 0.0;
    for _ in 0..2 {
        let model = fitted(&settings, table(), Payer::Budget(budget.clone())).unwrap();
        assert!(model.guarantee.metered && model.guarantee.holds());
        assert!(spent(&budget) > before + 0.4 && spent(&budget) <= 1.7, "{}", spent(&budget));
        before = spent(&budget);
    }
    let refused = fitted(&settings, table(), Payer::Budget(budget.clone())).unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    assert_eq!(spent(&budget), before);
}

#[test]
fn a_missing_number_is_refused_before_the_charge_and_without_data() {
    let scene = Scene::new("memory-nan");
    let (settings, budget) = (settings(&scene), budget(5.0));
    let holed = of(|row| if row == 41 { f64::NAN } else { 0.123_456_789 });
    let error = fitted(&settings, holed, Payer::Budget(budget.clone())).unwrap_err();
    let said = format!("{error} {error:?}");
    assert!(said.contains("row 42") && said.contains('x') && said.contains("expected a number"), "{said}");
    assert!(!said.contains("123"), "{said}");
    assert_eq!(spent(&budget), 0.0);
    // So is a budget that protects somebody else, or states another relation.
    let terms = Terms::new(epsilon(5.0), Neighbours::ZeroOut).with_delta(Delta::new(1e-6).unwrap());
    let person = terms.for_unit(Unit::Column("person".to_owned()));
    let other = Arc::new(Mutex::new(Budget::new(person)));
    let error = fitted(&settings, table(), Payer::Budget(other)).unwrap_err();
    assert!(matches!(error, RunError::OtherUnit { .. }), "{error}");
    let asked = Settings { neighbours: Some(sordino_run::Relation::Replace), ..settings };
    let error = fitted(&asked, table(), Payer::Budget(budget.clone())).unwrap_err();
    assert!(matches!(error, RunError::TwoRelations { .. }), "{error}");
    assert_eq!(spent(&budget), 0.0);
}

/// Asks the budget each time it is read.
struct Watcher(SharedBudget, Arc<Mutex<Vec<f64>>>);

impl Columns for Watcher {
    fn header(&self) -> Vec<HeaderColumn> {
        vec![HeaderColumn { name: "x".to_owned(), hint: TypeHint::Number }]
    }

    fn rows(&self) -> usize {
        200
    }

    fn read(&self, _: usize, rows: Range<usize>, out: &mut Values<'_>) {
        self.1.lock().unwrap().push(spent(&self.0));
        out.numbers(rows.map(|row| (row % 10) as f64 / 10.0));
    }
}

#[test]
fn the_charge_is_made_before_the_pass_that_reads() {
    let scene = Scene::new("memory-order");
    let (budget, seen) = (budget(5.0), Arc::new(Mutex::new(Vec::new())));
    let y = (0..200).map(|row| Some(if row % 10 > 5 { "yes" } else { "no" }));
    let y = RawTable::new().texts("y", y).unwrap();
    let watcher = Watcher(budget.clone(), seen.clone());
    let table = Source::memory("X", vec![Arc::new(watcher), Arc::new(y)]).unwrap();
    fitted(&settings(&scene), table, Payer::Budget(budget.clone())).unwrap();
    // A survey, which looks for values that do not fit, and one pass behind the charge.
    assert_eq!(*seen.lock().unwrap(), [0.0, spent(&budget)]);
}

/// The owner of the scene's file lets the same table in memory spend from its budget.
fn linked(scene: &Scene, lock: Option<LockSettings>) {
    scene.budget_for(Unit::Record, "t.toml", lock);
    let owner = Ownership { schema: Some(schema()), owner: label("owner"), lock: None };
    let file = Source::open(&scene.path("t.csv"), schema().csv()).unwrap();
    owner.link_values(&scene.ledger(), &label("t.csv"), &file).unwrap();
}

fn account(scene: &Scene, table: &Source, name: Option<&str>) -> Result<LedgerAccount, RunError> {
    let name = name.map(label);
    LedgerAccount::open(&scene.path("l"), table, Some(&schema()), name.as_ref(), &label("owner"))
}

#[test]
fn a_table_finds_the_budget_of_its_file_by_its_values() {
    let scene = Scene::new("memory-account");
    linked(&scene, None);
    let account = account(&scene, &table(), None).unwrap();
    assert_eq!(account.name(), &label("t.csv"));
    let settings = settings(&scene);
    let model = fitted(&settings, table(), Payer::Account(account.clone())).unwrap();
    assert!(model.guarantee.metered && model.guarantee.holds());
    let spent = scene.spent();
    assert!(spent > 0.0, "{spent}");
    // Some rows of it are charged in full, on the program's word.
    let half = RawTable::new().numbers("x", vec![0.5; 60]).unwrap();
    let half = half.texts("y", (0..60).map(|row| Some(if row < 30 { "yes" } else { "no" }))).unwrap();
    let half = Source::memory("fold", vec![Arc::new(half)]).unwrap();
    fitted(&settings, half, Payer::Account(account.clone())).unwrap();
    assert!(scene.spent() > 1.9 * spent);
    // The charges are booked with the hash of what can be saved.
    let saved = scene.path("saved");
    model.save(&saved).unwrap();
    let manifest = Digest::of(&std::fs::read(saved.join("manifest.json")).unwrap());
    let charges = scene.ledger().charges().unwrap();
    assert!(matches!(charges[0].state, State::Booked { result: Some(digest), .. } if digest == manifest));
    assert!(charges.iter().all(|charge| charge.state != State::Reserved));
    assert!(Stored::open(&saved).unwrap().booking(&scene.path("l")).is_ok());
    // A process that is told of the account by its names charges the same budget.
    let again = LedgerAccount::named(account.ledger(), account.name(), account.who()).unwrap();
    assert_eq!(again, account);
    assert!((again.look().unwrap().total().unwrap() - scene.spent()).abs() < 1e-12);
}

#[test]
fn another_table_a_seed_and_a_lock_are_refused() {
    let scene = Scene::new("memory-refused");
    linked(&scene, None);
    let other = of(|_| 0.5);
    assert!(matches!(account(&scene, &other, None), Err(RunError::UnknownTable)));
    assert!(matches!(account(&scene, &other, Some("t.csv")), Err(RunError::Ledger(_))));
    let account = account(&scene, &table(), Some("t.csv")).unwrap();
    let seeded = Settings { danger_seed: Some(1), ..settings(&scene) };
    let error = fitted(&seeded, table(), Payer::Account(account)).unwrap_err();
    assert!(matches!(error, RunError::SeededCharge), "{error}");
    assert_eq!(scene.spent(), 0.0);

    let locked = Scene::new("memory-locked");
    std::fs::create_dir(locked.path("results")).unwrap();
    let lock =
        LockSettings { verbs: vec![label("train")], most: epsilon(1.0), folder: locked.path("results") };
    linked(&locked, Some(lock));
    let refused = self::account(&locked, &table(), None).unwrap_err();
    assert!(matches!(refused, RunError::LockedTable { .. }), "{refused}");
    let named = LedgerAccount::named(&locked.path("l"), &label("t.csv"), &label("owner")).unwrap();
    let refused = fitted(&settings(&locked), table(), Payer::Account(named)).unwrap_err();
    assert!(matches!(refused, RunError::LockedTable { .. }), "{refused}");
    // Nor does a model of the file stay in a program: its owner has fixed where models go.
    let file = Settings { out: Some(locked.path("results").join("m")), ..locked.settings() };
    let session = Session { resume: false, stop: &AtomicBool::new(false), observer: &mut () };
    let refused = fit(Request::new(&file), session).unwrap_err();
    assert!(matches!(refused, RunError::LockedModel { .. }), "{refused}");
    assert_eq!(locked.spent(), 0.0);
}

/// The settings can name the ledger too; then the table must be the one with the budget.
#[test]
fn a_ledger_in_the_settings_is_bound_to_the_values() {
    let scene = Scene::new("memory-bound");
    linked(&scene, None);
    let mut settings = settings(&scene);
    settings.payment = scene.settings().payment;
    settings.payment.name = Some(label("t.csv"));
    assert!(fitted(&settings, of(|_| 0.5), Payer::Settings).is_err());
    assert_eq!(scene.spent(), 0.0);
    let model = fitted(&settings, table(), Payer::Settings).unwrap();
    assert!(model.guarantee.metered);
    assert!(scene.spent() > 0.0);
    assert!(matches!(
        fitted(&settings, table(), Payer::Budget(budget(5.0))),
        Err(RunError::TwoSettings { .. })
    ));
}

/// An analyst reads through the permissive door and cannot use what the owner ignores.
#[test]
fn the_owners_rules_hold_for_tables_too() {
    let scene = Scene::new("memory-rules");
    let ignoring = scene::SCHEMA.replace("kind = 'number', bounds = [0, 1]", "kind = 'ignore'");
    scene.write("owner.toml", &format!("csv.missing = ['?']\n{ignoring}"));
    scene.budget_for(Unit::Record, "owner.toml", None);
    let named = LedgerAccount::named(&scene.path("l"), &label("t.csv"), &label("ann")).unwrap();
    let refused = fitted(&settings(&scene), table(), Payer::Account(named)).unwrap_err();
    assert!(matches!(refused, RunError::Reading(_)), "{refused}");

    let scene = Scene::new("memory-door");
    linked(&scene, None);
    let named = LedgerAccount::named(&scene.path("l"), &label("t.csv"), &label("ann")).unwrap();
    let holed = of(|row| if row == 41 { f64::NAN } else { 0.5 });
    let model = fitted(&settings(&scene), holed, Payer::Account(named)).unwrap();
    assert!(model.notes.iter().any(|note| note.contains("only the owner is")), "{:?}", model.notes);
}

/// Stops a run after some steps.
struct Stopper<'a>(&'a AtomicBool, usize, AtomicUsize);

impl Observer for Stopper<'_> {
    fn step(&mut self, _: &Step<'_>) {
        let done = self.2.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.store(done >= self.1, Ordering::Relaxed);
    }
}

fn stopped(
    settings: &Settings,
    table: Source,
    payer: Payer,
    folder: Option<PathBuf>,
    resume: bool,
    most: usize,
) -> Result<Fitted, RunError> {
    let stop = AtomicBool::new(false);
    let mut observer = Stopper(&stop, most, AtomicUsize::new(0));
    let given = Given { table: Some(table), schema: Some(schema()), payer };
    let request = Request { given, folder, ..Request::new(settings) };
    fit(request, Session { resume, stop: &stop, observer: &mut observer })
}

#[test]
fn a_run_with_a_working_folder_is_stopped_and_resumed_for_its_table_alone() {
    let scene = Scene::new("memory-resume");
    linked(&scene, None);
    let payer = Payer::Account(account(&scene, &table(), None).unwrap());
    let (settings, folder) = (settings(&scene), Some(scene.path("work")));
    let run = |table, resume, most| stopped(&settings, table, payer.clone(), folder.clone(), resume, most);
    let error = run(table(), false, 5).unwrap_err();
    assert!(
        matches!(error, RunError::Stopped { steps: 5, is_charged: true, is_counted: true, .. }),
        "{error}"
    );
    let spent = scene.spent();
    assert!(matches!(run(table(), false, 99), Err(RunError::Unfinished { .. })));
    assert!(matches!(run(of(|_| 0.25), true, 99), Err(RunError::Resume(_))), "another table");
    let model = run(table(), true, 99).unwrap();
    assert!(model.guarantee.metered && model.guarantee.holds());
    assert!((scene.spent() - spent).abs() < 1e-12);
    assert!(!scene.path("work.part").exists() && !scene.path("work").exists());
    assert!(matches!(run(table(), true, 99), Err(RunError::NothingToResume { .. })));
}

#[test]
fn a_run_without_a_folder_says_that_its_charge_stays() {
    let scene = Scene::new("memory-stop");
    let (settings, budget) = (settings(&scene), budget(5.0));
    let payer = Payer::Budget(budget.clone());
    let error = stopped(&settings, table(), payer.clone(), None, false, 5).unwrap_err();
    assert!(
        error.to_string().starts_with("stopped after 5 of 20 steps; what was charged stays spent"),
        "{error}"
    );
    assert!(spent(&budget) > 0.0);
    assert!(matches!(stopped(&settings, table(), payer, None, true, 5), Err(RunError::NoFolder)));
}

/// Somebody who stops a run while it is still planned has paid nothing.
#[test]
fn a_run_that_is_stopped_early_is_not_charged() {
    let scene = Scene::new("memory-early");
    let (settings, budget) = (settings(&scene), budget(5.0));
    let payer = Payer::Budget(budget.clone());
    let given = Given { table: Some(table()), schema: Some(schema()), payer };
    let request = Request { given, ..Request::new(&settings) };
    let session = Session { resume: false, stop: &AtomicBool::new(true), observer: &mut () };
    assert!(matches!(fit(request, session), Err(RunError::StoppedInTime)));
    assert_eq!(spent(&budget), 0.0);
}

#[test]
fn a_plan_without_data_is_the_plan_of_the_run() {
    let scene = Scene::new("memory-plan");
    let (mut settings, budget) = (settings(&scene), budget(1.2));
    let model = fitted(&settings, table(), Payer::Budget(budget.clone())).unwrap();
    settings.rows = Some(sordino_privacy::Count::new(200).unwrap());
    let plan = |payer| {
        let given = Given { table: None, schema: Some(schema()), payer };
        plan_for(Request { given, ..Request::new(&settings) })
    };
    let free = plan(Payer::Settings).unwrap();
    assert_eq!(free.learner.claim().event, model.guarantee.event);
    assert_eq!((free.subject.n.get(), free.quote), (200, None));
    assert!(plan(Payer::Budget(budget)).unwrap_err().is_refusal(), "a second one does not fit");
}

#[test]
fn a_network_may_be_described_in_memory() {
    let scene = Scene::new("memory-network");
    let layers = "[[layers]]\ntype = \"linear\"\noutputs = 3\n[[layers]]\ntype = \"tanh\"\n\
                  [[layers]]\ntype = \"linear\"\noutputs = 2\n";
    let mut settings = settings(&scene);
    settings.danger_seed = Some(3);
    let description = Description::from_toml(layers).unwrap();
    let request = |settings| {
        let given = Given { table: Some(table()), schema: Some(schema()), payer: Payer::Settings };
        Request { given, network: Some(description.clone()), ..Request::new(settings) }
    };
    let session = |stop| Session { resume: false, stop, observer: Box::leak(Box::new(())) };
    let never = AtomicBool::new(false);
    let memory = fit(request(&settings), session(&never)).unwrap();
    assert_eq!(memory.model.weights(), 2 * 3 + 2 + 6);
    scene.write("net.toml", layers);
    let mut named = settings.clone();
    named.learner.model = Some(scene.path("net.toml").display().to_string());
    let given = Given { table: Some(table()), schema: Some(schema()), payer: Payer::Settings };
    let file = fit(Request { given, ..Request::new(&named) }, session(&never)).unwrap();
    let files = |fitted: &Fitted| fitted.files().into_iter().find(|(name, _)| *name == "model.safetensors");
    assert_eq!(files(&memory), files(&file));
    assert!(matches!(fit(request(&named), session(&never)), Err(RunError::TwoSettings { .. })));
}

#[test]
fn a_statistic_of_a_table_is_charged_and_needs_no_file() {
    let budget = budget(1.0);
    let query = Query {
        data: PathBuf::new(),
        statistic: Statistic::Mean,
        column: Some("x".to_owned()),
        epsilon: epsilon(0.6),
        schema: None,
        bounds: Some((0.0, 1.0)),
        values: None,
        csv: Default::default(),
        edges: None,
        equals: None,
        at: 0.5,
        neighbours: None,
        permissive: false,
        payment: Payment::default(),
        danger_seed: None,
    };
    let given = |table, payer| Given { table: Some(table), schema: None, payer };
    let plan = plan_given(&query, given(table(), Payer::Budget(budget.clone()))).unwrap();
    assert_eq!(spent(&budget), 0.0);
    assert!(plan.quote.is_some());
    let holed = of(|row| if row == 3 { f64::NAN } else { 0.5 });
    let error = answer_given(&query, given(holed, Payer::Budget(budget.clone()))).unwrap_err();
    assert!(error.to_string().contains("row 4"), "{error}");
    assert_eq!(spent(&budget), 0.0);
    let (answer, _) = answer_given(&query, given(table(), Payer::Budget(budget.clone()))).unwrap();
    let AnswerValue::Estimate(mean) = answer.value else { panic!("a mean is an estimate") };
    // The scale of the noise is 1/(0.6 · 200): beyond 0.25 with probability e^-30.
    assert!((mean.value - 0.45).abs() < 0.25, "{}", mean.value);
    assert!(answer.guarantee.metered && answer.guarantee.neighbours == Neighbours::ZeroOut);
    let refused = answer_given(&query, given(table(), Payer::Budget(budget))).unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
}
