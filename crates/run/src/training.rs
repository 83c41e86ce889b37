//! A model of a table, released for a price.
//!
//! The order is that of every release: plan from public things, ask the budget, pay, read the data, release, book. Through
//! the strict door the owner is told before anything is charged whether every record fits the schema; others come through
//! the permissive door, where nobody is told and every record fits.

mod advice;
mod bought;
mod effective;
mod estimate;
mod facts;
mod fit;
mod invented;
mod learner;
mod linear;
mod network;
mod pace;
mod pages;
mod plan;
mod public_test;
mod rehearsal;
mod subject;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sordino_data::Door;
use sordino_optim::Progress;
use sordino_privacy::{Bound, Guarantee, Neighbours};

pub use self::advice::{Advice, Candidate, Merit};
use self::bought::Bought;
pub use self::estimate::{Estimate, Memory, Scores};
use self::facts::Outcome;
pub use self::learner::Learner;
pub use self::network::ImageShape;
pub use self::pace::Pace;
use self::pages::Pages;
pub use self::plan::Plan;
pub use self::public_test::PublicTest;
pub use self::subject::Subject;
use crate::error::RunError;
use crate::folder::{self, Folder};
use crate::memory;
use crate::model::{CARD, Model, Package, REPORT, RUN};
use crate::purse::{Purse, purpose};
use crate::receipt::Receipt;
use crate::settings::{Relation, Settings, file};

/// What a report, a card and a manifest may take, beside weights and encoding.
const ROOM_FOR_WORDS: u64 = 2 << 20;

/// Who watches a run. Everything that is told is public: no record, no loss, no norm.
pub trait Observer {
    /// What is being done, for a log.
    fn doing(&mut self, _what: &str) {}

    /// What was decided by default and should be said; once nothing else can go wrong, and before anything is charged.
    fn decided(&mut self, _notes: &[String]) {}

    /// The fit begins. Unless it can be stopped midway, a request to stop is not looked at.
    fn begins(&mut self, _can_stop: bool) {}

    /// One more step is done.
    fn step(&mut self, _step: &Step<'_>) {}
}

/// Nobody watches.
impl Observer for () {}

/// How far a run is.
#[derive(Debug)]
pub struct Step<'a> {
    /// What steps, ε so far and iterate are.
    pub progress: Progress<'a>,
    /// What a step is called.
    pub name: &'static str,
    /// The score of the last iterate that was looked at, on public records.
    pub score: Option<f64>,
    /// What scores are called.
    pub score_name: &'static str,
    /// δ of the run.
    pub delta: sordino_privacy::Delta,
    /// ε that the run was planned for.
    pub epsilon: sordino_privacy::Epsilon,
    /// What is left of the budget, if there is one.
    pub left: Option<f64>,
}

impl Step<'_> {
    /// ε of the steps so far. Takes a moment where batches are sampled; do not ask at every step.
    pub fn epsilon_so_far(&self) -> Result<Bound, RunError> {
        Ok(self.progress.epsilon(self.delta)?)
    }
}

/// What a run has around it.
pub struct Session<'a> {
    /// Goes on with a run that was stopped or killed.
    pub resume: bool,
    /// Stops before the next step once it is set. What cannot be stopped midway never looks at it.
    pub stop: &'a AtomicBool,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
}

/// A run that is planned and would be granted.
#[derive(Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What it would be paid from.
    pub purse: Purse,
    /// What it is likely to take and to lose.
    pub estimate: Estimate,
}

/// A model that was released, written and booked.
#[derive(Debug)]
pub struct Trained {
    /// What was done.
    pub plan: Plan,
    /// What it was paid from.
    pub purse: Purse,
    /// The model.
    pub model: Model,
    /// What is promised about it.
    pub guarantee: Guarantee,
    /// Public records, and the model's score on them.
    pub public: Option<(PublicTest, f64)>,
    /// Everything there is to say about the run, as JSON on one line.
    pub json: String,
    /// What weakens the claim, beside that nothing was charged or that noise was seeded.
    pub findings: Vec<String>,
}

/// What would be done, what it would cost and what it is likely to take. Fails as the run would if the budget does not
/// allow it; nothing is charged.
pub fn plan(settings: &Settings) -> Result<Planned, RunError> {
    if settings.estimate_schema_with.is_some() {
        return Err(RunError::NoSchemaYet { setting: "--plan" });
    }
    Bought::check_settings(settings)?;
    let purse = open_purse(settings)?;
    let plan = Plan::draw(settings, &purse)?;
    purse.ask(&plan.learner.claim(), &plan.unit())?;
    let estimate = Estimate::of(&plan)?;
    Ok(Planned { plan, purse, estimate })
}

/// What could be done within some time, the best first. There need be no data, unless a ledger is to be asked about it.
pub fn advise(settings: &Settings, limit: Duration) -> Result<Advice, RunError> {
    let purse = match (&settings.data, &settings.payment.ledger) {
        (None, None) => Purse::Unmetered(asked(settings).unwrap_or(Neighbours::ZeroOut)),
        _ => open_purse(settings)?,
    };
    let mut notes = Vec::new();
    let subject = match &settings.data {
        Some(_) => Subject::of_file(settings, &purse, &mut notes)?.0,
        None => Subject::of_schema(settings, &purse, &mut notes)?,
    };
    let advice = Advice::of(subject, settings, limit, notes)?;
    purse.ask(&advice.best().learner.claim(), &advice.subject.unit())?;
    Ok(advice)
}

/// Trains, releases, writes and books a model.
pub fn train(settings: &Settings, mut session: Session<'_>) -> Result<Trained, RunError> {
    let mut purse = open_purse(settings)?;
    // Before the run, and so before it buys a schema.
    let spent_before = purse.spent()?;
    let (folder, bought) = buy(settings, &mut purse, session.observer)?;
    let plan = match &bought {
        Some(bought) => Plan::draw(&bought.settings(settings), &purse)?.stating(settings),
        None => Plan::draw(settings, &purse)?,
    };
    let size = format!("planned: {} records, {} coordinates", plan.subject.n, plan.subject.encoding.width());
    session.observer.doing(&size);
    let folder = match folder {
        Some(folder) => folder.with_room(room(&plan))?,
        None => prepare(&plan)?,
    };
    carry_out(plan, purse, (folder, bought), spent_before, &mut session)
}

/// Buys a schema, if that is asked for, into the working folder of the run.
fn buy(
    settings: &Settings,
    purse: &mut Purse,
    observer: &mut dyn Observer,
) -> Result<(Option<Folder>, Option<Bought>), RunError> {
    Bought::check_settings(settings)?;
    let Some(fraction) = settings.estimate_schema_with else { return Ok((None, None)) };
    settings.report.as_deref().map_or(Ok(()), folder::check_writable)?;
    let folder = Folder::prepare(&plan::out_of(settings)?, ROOM_FOR_WORDS)?;
    observer.doing("buying a schema");
    let bought = Bought::buy(settings, fraction, purse, &folder)?;
    Ok((Some(folder), Some(bought)))
}

/// The working folder, and the report's place.
fn prepare(plan: &Plan) -> Result<Folder, RunError> {
    plan.settings.report.as_deref().map_or(Ok(()), folder::check_writable)?;
    Folder::prepare(&plan.out, room(plan))
}

fn open_purse(settings: &Settings) -> Result<Purse, RunError> {
    let what = purpose("train", settings.target.as_deref());
    Purse::open(&subject::data_of(settings)?, &settings.payment, asked(settings), Neighbours::ZeroOut, what)
}

fn asked(settings: &Settings) -> Option<Neighbours> {
    settings.neighbours.map(Relation::neighbours)
}

fn carry_out(
    plan: Plan,
    mut purse: Purse,
    (folder, bought): (Folder, Option<Bought>),
    spent_before: Option<f64>,
    session: &mut Session<'_>,
) -> Result<Trained, RunError> {
    // Everything that can fail without a word about the records, before anything is charged.
    let configuration = file::text(&plan.settings)?;
    let earlier = folder.earlier(session.resume)?;
    let content = purse.content(plan.source.path())?;
    let public = PublicTest::open(&plan, content, &purse)?;
    let (claim, receipt) = match &earlier {
        Some(checkpoint) => {
            let receipt: Receipt = folder.kept(&folder.receipt())?;
            receipt.check_open(content, &purse)?;
            (plan.learner.replay_claim(checkpoint)?, receipt)
        }
        None => (plan.learner.claim(), Receipt::new(content)),
    };
    purse.ask(&claim, &plan.unit())?;
    plan.check_rows()?;
    memory::check(plan.bytes())?;
    if plan.door() == Door::Strict && !purse.has_shares()? {
        session.observer.doing("checking that every record fits the schema");
        plan.loader().check(&plan.subject.encoding)?;
    }
    session.observer.decided(&plan.notes);
    session.observer.doing("charging");
    let permit = purse.pay(claim, plan.unit(), plan.subject.delta)?;
    let receipt = receipt.with(permit.reservation(), &purse)?;
    folder.keep_record(&folder.receipt(), &receipt)?;
    receipt.book_earlier(&mut purse)?;
    session.observer.doing("reading the data");
    let data = plan.read()?;
    session.observer.doing("training");
    let (model, guarantee, curve) =
        fit::fit(&plan, &data, permit, &folder, earlier, (public.as_ref(), &purse), session)?;
    let guarantee = match &bought {
        Some(bought) => bought.together(&guarantee)?,
        None => guarantee,
    };
    let public = public.map(|public| public.scored(&model)).transpose()?;
    let outcome = Outcome {
        model: &model,
        guarantee: &guarantee,
        public: public.as_ref(),
        curve: &curve,
        spent_before,
    };
    let pages = Pages::of(&facts::run(&plan, &purse, &outcome)?)?;
    let package = Package::new(&model, &guarantee, &configuration)?.with(RUN, pages.json.as_bytes());
    release(&plan, folder, &mut purse, package, &pages)?;
    session.observer.doing("written and booked");
    let Pages { json, findings, .. } = pages;
    Ok(Trained { plan, purse, model, guarantee, public, json, findings })
}

/// Writes the model's directory, and books the charges with its hash.
fn release(
    plan: &Plan,
    folder: Folder,
    purse: &mut Purse,
    package: Package,
    pages: &Pages,
) -> Result<(), RunError> {
    let package = match &pages.for_people {
        Some((html, card)) => package.with(REPORT, html.as_bytes()).with(CARD, card.as_bytes()),
        None => package,
    };
    let (receipt, digest) = (folder.kept::<Receipt>(&folder.receipt())?, package.digest());
    folder.finish(&package, plan.learner.steps())?;
    receipt.book_last(purse, digest)?;
    match (&plan.settings.report, &pages.for_people) {
        (Some(path), Some((html, _))) => std::fs::write(path, html)
            .map_err(|source| RunError::WriteFile { name: path.display().to_string(), source }),
        (Some(_) | None, _) => Ok(()),
    }
}

/// What the model's directory will take, with something to spare.
fn room(plan: &Plan) -> u64 {
    let weights = 8 * plan.learner.weights();
    (weights + 2 * plan.subject.encoding.to_json().len()) as u64 + ROOM_FOR_WORDS
}
