//! Trains a model of a table within a budget.
//!
//! The order is that of every release: plan from public facts, ask the budget, pay, read the data,
//! release, book. Through the strict door the owner learns before the charge whether every record
//! fits the schema. Everybody else uses the permissive door, which replaces values or drops records
//! silently.

mod advice;
mod begun;
mod bought;
mod by;
mod carry_out;
mod declared;
mod effective;
mod estimate;
mod facts;
mod fit;
mod input;
mod learner;
mod linear;
mod network;
mod opened;
mod pace;
mod pages;
mod plan;
mod public_test;
mod rehearsal;
mod request;
mod subject;
mod synthetic;
mod watch;

use std::path::Path;
use std::time::Duration;

use sordino_privacy::{Guarantee, Neighbours, Quote};
use sordino_report::Evaluation;

pub use self::advice::{Advice, Candidate, Merit};
use self::bought::Bought;
pub use self::by::By;
use self::carry_out::{Place, carry_out, check_report, room};
pub use self::estimate::{Forecast, MemoryNeed, Scores};
pub use self::learner::Learner;
pub use self::network::ImageShape;
use self::opened::{Aim, Opened, asked, encoding_of, open_purse, opened_to_buy};
pub use self::pace::Pace;
pub use self::plan::RunPlan;
pub use self::public_test::PublicTest;
pub use self::request::{Fitted, Prospect, Request};
pub use self::subject::Subject;
pub use self::watch::{Observer, Session, Step};
use crate::access::Access;
use crate::error::RunError;
use crate::folder::{self, Folder};
use crate::model::{Model, Package};
use crate::payer::Given;
use crate::purse::Purse;
use crate::settings::Settings;

/// Disk space for report, model card and manifest, in bytes.
const PAGES_BYTES: u64 = 2 << 20;

/// A run with its plan, which the budget would grant.
#[derive(Debug)]
pub struct PlannedTraining {
    /// The plan.
    pub plan: RunPlan,
    /// What would pay for it.
    pub purse: Purse,
    /// What it would take of what is left, if there is a ledger.
    pub quote: Option<Quote>,
    /// Estimated time, memory and loss of accuracy.
    pub estimate: Forecast,
    /// Settings of a linear model that did better than the default in rehearsals.
    pub better: Option<Candidate>,
}

/// A model that was released, written and booked.
#[derive(Debug)]
pub struct Trained {
    /// The plan that was carried out.
    pub plan: RunPlan,
    /// What paid for it.
    pub purse: Purse,
    /// What the fit has taken of what was left, if there is a ledger.
    pub took: Option<Quote>,
    /// The model.
    pub model: Model,
    /// Its guarantee.
    pub guarantee: Guarantee,
    /// The model's scores on public records.
    pub public: Option<Evaluation>,
    /// The facts of the run, as JSON on one line.
    pub json: String,
    /// The findings that weaken the claim, without *unmetered* and *seeded*, which a front end
    /// states by itself.
    pub findings: Vec<String>,
    pages: Option<(String, String)>,
    package: Package,
}

impl Trained {
    /// What was released, without the data.
    fn without_data(self) -> Fitted {
        let Self { plan, took, model, guarantee, public, json, findings, pages, package, .. } = self;
        let (steps, RunPlan { decision, settings, notes, .. }) = (plan.learner.steps(), plan);
        Fitted {
            model,
            guarantee,
            decision,
            public,
            settings,
            steps,
            took,
            notes,
            findings,
            json,
            pages,
            package,
        }
    }

    /// A remark on the scores for the user, such as that a constant is as good.
    pub fn remark(&self) -> Option<&str> {
        self.public.as_ref()?.remark.as_deref()
    }
}

/// Plans a run, prices it and estimates its time, memory and loss of accuracy. Charges nothing.
/// Fails as the run would if the budget refuses.
pub fn plan(settings: &Settings) -> Result<PlannedTraining, RunError> {
    if settings.estimate_schema_with.is_some() {
        return Err(RunError::NoSchemaYet { setting: "--plan" });
    }
    Bought::check_settings(settings)?;
    let Opened { input, subject, purse, notes } = Opened::new(Request::new(settings), settings, Aim::Plan)?;
    let plan = RunPlan::draw(settings, input, subject, Some(plan::out_of(settings)?), notes)?;
    let quote = purse.quote(&plan.learner.claim(), &plan.unit())?;
    let estimate = Forecast::of(&plan)?;
    let better = advice::better(&plan, SUGGESTION_TIME);
    Ok(PlannedTraining { plan, purse, quote, estimate, better })
}

/// Plans a run from the schema and `--rows`, without data. Charges nothing. Fails if the budget
/// would refuse.
pub fn plan_for(request: Request<'_>) -> Result<Prospect, RunError> {
    let settings = request.settings()?;
    if settings.payment.ledger.is_some() {
        let by = "a plan without data".to_owned();
        return Err(RunError::Unused { setting: "--ledger".to_owned(), by });
    }
    let Request { given: Given { schema, payer, .. }, network, .. } = request;
    let mut access = Access::by(&payer, Path::new(TABLE), &settings.payment, true)?;
    access.check_seed(settings.danger_seed.is_some())?;
    let purse = open_purse(&settings, &mut access, Some([0; 32]))?;
    let mut notes = Vec::new();
    let subject = Subject::of_schema(&settings, schema, &purse, &mut notes)?.with_network(network);
    access.check_schema(&subject.schema)?;
    let (learner, _) = plan::decided(&settings, &subject, &mut notes)?;
    let quote = purse.quote(&learner.claim(), &subject.unit())?;
    let settings = effective::settings(&settings, &subject, &learner, None);
    Ok(Prospect { subject, learner, settings, quote, notes })
}

/// The longest run that a plan suggests in place of the default.
const SUGGESTION_TIME: Duration = Duration::from_secs(60);
/// The name of a table that has none.
const TABLE: &str = "the table";

/// Finds settings that finish within `limit`, the best first. Without a
/// ledger, the data file need not exist.
pub fn advise(settings: &Settings, limit: Duration) -> Result<Advice, RunError> {
    let mut notes = Vec::new();
    let (subject, purse) = match (&settings.data, &settings.payment.ledger) {
        (None, None) => {
            settings.payment.check_without_ledger()?;
            let purse = Purse::unmetered(None, asked(settings).unwrap_or(Neighbours::ZeroOut));
            (Subject::of_schema(settings, None, &purse, &mut notes)?, purse)
        }
        _ => {
            let opened = Opened::new(Request::new(settings), settings, Aim::Plan)?;
            notes = opened.notes;
            (opened.subject, opened.purse)
        }
    };
    let advice = Advice::of(subject, settings, limit, notes)?;
    purse.ask(&advice.best().learner.claim(), &advice.subject.unit())?;
    Ok(advice)
}

/// Trains, releases, writes and books a model.
pub fn train(settings: &Settings, mut session: Session<'_>) -> Result<Trained, RunError> {
    Bought::check_settings(settings)?;
    let out = plan::out_of(settings)?;
    let Some(fraction) = settings.estimate_schema_with else {
        let opened = Opened::new(Request::new(settings), settings, Aim::Directory)?;
        let Opened { input, subject, purse, notes } = opened;
        let spent_before = purse.spent()?;
        let plan = RunPlan::draw(settings, input, subject, Some(out.clone()), notes)?;
        check_report(&plan)?;
        let place = Place::Directory(Folder::prepare(&out, room(&plan))?);
        return carry_out(plan, purse, (place, None), spent_before, &mut session);
    };
    let (access, input, mut purse) = opened_to_buy(settings)?;
    // Read before the run buys a schema.
    let spent_before = purse.spent()?;
    settings.report.as_deref().map_or(Ok(()), folder::check_writable)?;
    let folder = Folder::prepare(&out, PAGES_BYTES)?;
    session.observer.doing("buying a schema");
    let bought = Bought::buy(settings, fraction, &input, &mut purse, &folder)?;
    // The schema was in a folder meanwhile, where others may have changed it, so it is checked
    // again.
    let schema = bought.schema()?;
    access.check_reading(&schema)?;
    access.check_source(&schema, &input.source)?;
    let (rest, mut input, mut notes) = (bought.settings(settings), input.with_schema(schema), Vec::new());
    let encoding = encoding_of(&rest, &input)?;
    input.survey(&encoding)?;
    let subject = Subject::of_input(&rest, &input, encoding, &purse, &mut notes)?;
    let plan = RunPlan::draw(&rest, input, subject, Some(out), notes)?.stating(settings);
    let folder = folder.with_room(room(&plan))?;
    carry_out(plan, purse, (Place::Directory(folder), Some(bought)), spent_before, &mut session)
}

/// Trains, releases and books a model that stays in memory: in the order of [`train`], with all its
/// checks. The charge is made before the data is read.
pub fn fit(request: Request<'_>, mut session: Session<'_>) -> Result<Fitted, RunError> {
    let settings = request.settings()?;
    Bought::check_settings(&settings)?;
    if settings.estimate_schema_with.is_some() {
        let by = "a model that stays in memory".to_owned();
        return Err(RunError::Unused { setting: "--estimate-schema-with".to_owned(), by });
    }
    let folder = request.folder.clone();
    let Opened { input, subject, purse, notes } = Opened::new(request, &settings, Aim::Memory)?;
    let spent_before = purse.spent()?;
    let plan = RunPlan::draw(&settings, input, subject, None, notes)?;
    check_report(&plan)?;
    let place = match folder {
        Some(folder) => Place::Working(Folder::working(&folder, room(&plan))?),
        None => Place::Memory,
    };
    let trained = carry_out(plan, purse, (place, None), spent_before, &mut session)?;
    Ok(trained.without_data())
}
