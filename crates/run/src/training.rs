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
mod declared;
mod effective;
mod estimate;
mod facts;
mod fit;
mod input;
mod learner;
mod linear;
mod network;
mod pace;
mod pages;
mod plan;
mod public_test;
mod rehearsal;
mod subject;
mod synthetic;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use sordino_data::{Door, Encoding};
use sordino_ledger::Time;
use sordino_nn::Description;
use sordino_optim::{Checkpoint, Progress};
use sordino_privacy::{Bound, Guarantee, Neighbours, Paid, Quote};
use sordino_report::Evaluation;

pub use self::advice::{Advice, Candidate, Merit};
use self::begun::Begun;
use self::bought::Bought;
pub use self::by::By;
pub use self::estimate::{Forecast, MemoryNeed, Scores};
use self::facts::Outcome;
use self::input::Input;
pub use self::learner::Learner;
pub use self::network::ImageShape;
pub use self::pace::Pace;
use self::pages::Pages;
pub use self::plan::RunPlan;
pub use self::public_test::PublicTest;
pub use self::subject::Subject;
use crate::access::{Access, DOOR_NOTE};
use crate::discovery::{self, Columns};
use crate::error::RunError;
use crate::folder::{self, Folder};
use crate::memory;
use crate::model::{CARD, DECISION, Decision, Model, Package, REPORT, RUN};
use crate::payer::{Given, Payer};
use crate::purse::{Purse, purpose};
use crate::receipt::Receipt;
use crate::settings::{Relation, Settings, file};

/// Disk space for report, model card and manifest, in bytes.
const PAGES_BYTES: u64 = 2 << 20;

/// Watches a run. It gets public facts only: no record, no training loss, no gradient norm.
pub trait Observer {
    /// The run enters a new phase; for a log.
    fn doing(&mut self, _what: &str) {}

    /// Defaults that the user should know of. Called after the last check, before the charge.
    fn decided(&mut self, _notes: &[String]) {}

    /// The fit begins. If `can_stop` is false, it ignores requests to stop.
    fn begins(&mut self, _can_stop: bool) {}

    /// One more step is done.
    fn step(&mut self, _step: &Step<'_>) {}
}

/// Watches nothing.
impl Observer for () {}

/// How far a run is.
#[derive(Debug)]
pub struct Step<'a> {
    /// Steps done, ε so far and the iterate.
    pub progress: Progress<'a>,
    /// The word for a step.
    pub name: &'static str,
    /// The latest score on public records.
    pub score: Option<f64>,
    /// The word for scores.
    pub score_name: &'static str,
    /// δ of the run.
    pub delta: sordino_privacy::Delta,
    /// ε that the run was planned for.
    pub epsilon: sordino_privacy::Epsilon,
    /// What is left of the budget, if there is one.
    pub left: Option<f64>,
}

impl Step<'_> {
    /// ε of the steps so far. Accounting for sampled batches takes a
    /// moment: do not call it at every step.
    pub fn epsilon_so_far(&self) -> Result<Bound, RunError> {
        Ok(self.progress.epsilon(self.delta)?)
    }
}

/// The surroundings of a run.
pub struct Session<'a> {
    /// Resume a run that was stopped or killed.
    pub resume: bool,
    /// Once set, the run stops before its next step. Methods without steps ignore it.
    pub stop: &'a AtomicBool,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
}

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

/// A run that a program asks for.
#[derive(Debug)]
pub struct Request<'a> {
    /// What is asked for. Settings that name files are used where [`given`](Self::given) has
    /// nothing.
    pub settings: &'a Settings,
    /// What is in memory, and who pays.
    pub given: Given,
    /// The network, in the place of `--model`.
    pub network: Option<Description>,
    /// A working folder, so that the run can be stopped and resumed: `FOLDER.part`, which is
    /// removed when the run is done.
    pub folder: Option<PathBuf>,
}

impl<'a> Request<'a> {
    /// A request for what the settings name.
    pub fn new(settings: &'a Settings) -> Self {
        Self { settings, given: Given::default(), network: None, folder: None }
    }

    /// The settings, with a name for a network that is described.
    fn settings(&self) -> Result<Cow<'a, Settings>, RunError> {
        if self.network.is_none() {
            return Ok(Cow::Borrowed(self.settings));
        }
        if self.settings.learner.model.is_some() {
            return Err(RunError::TwoSettings { first: "--model", second: "a described network" });
        }
        let mut settings = self.settings.clone();
        settings.learner.model = Some("described".to_owned());
        Ok(Cow::Owned(settings))
    }
}

/// A model that was released and booked, without the data that it was learned from.
#[derive(Debug)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Its guarantee.
    pub guarantee: Guarantee,
    /// The threshold that turns a probability into a class, if one was declared.
    pub decision: Option<Decision>,
    /// The model's scores on public records.
    pub public: Option<Evaluation>,
    /// Every setting of the run, defaults included.
    pub settings: Settings,
    /// The number of steps, for methods that have steps.
    pub steps: Option<u64>,
    /// What the fit has taken of what was left, if there is a budget.
    pub took: Option<Quote>,
    /// Defaults that the user should know of.
    pub notes: Vec<String>,
    /// The findings that weaken the claim.
    pub findings: Vec<String>,
    /// The facts of the run, as JSON on one line.
    pub json: String,
    /// The report (HTML) and the model card (Markdown); `None` if they could not be drawn.
    pub pages: Option<(String, String)>,
    package: Package,
}

impl Fitted {
    /// Writes the model's directory, which [`Stored`](crate::model::Stored) reads. It must not
    /// exist.
    pub fn save(&self, out: &Path) -> Result<(), RunError> {
        let files = self.files();
        folder::save_files(files.iter().map(|(name, content)| (*name, content.as_slice())), out)
    }

    /// The files of the model's directory, by name, its manifest included.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        self.package.files()
    }
}

/// A plan of a run whose data nobody has: the schema and n are enough.
#[derive(Debug)]
pub struct Prospect {
    /// The data, the target and the price.
    pub subject: Subject,
    /// The learner.
    pub learner: Learner,
    /// Every setting, defaults included.
    pub settings: Settings,
    /// What it would take of what is left, if a budget pays.
    pub quote: Option<Quote>,
    /// Defaults that the user should know of.
    pub notes: Vec<String>,
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

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// A plan.
    Plan,
    /// A model's directory.
    Directory,
    /// A model that stays in memory.
    Memory,
}

/// Where a run works and what it leaves there.
enum Place {
    /// The model's directory.
    Directory(Folder),
    /// Nothing: the folder is for checkpoints.
    Working(Folder),
    /// There is no folder.
    Memory,
}

impl Place {
    fn folder(&self) -> Option<&Folder> {
        match self {
            Self::Directory(folder) | Self::Working(folder) => Some(folder),
            Self::Memory => None,
        }
    }

    fn keep_record(&self, path: fn(&Folder) -> PathBuf, record: &impl Serialize) -> Result<(), RunError> {
        self.folder().map_or(Ok(()), |folder| folder.keep_record(&path(folder), record))
    }
}

/// Data that was opened under its owner's rules, and what pays for it.
struct Opened {
    input: Input,
    subject: Subject,
    purse: Purse,
    notes: Vec<String>,
}

impl Opened {
    /// Reads the schema and the header. Surveys the data if this is a run, a ledger needs
    /// its content, or nobody states n.
    fn new(request: Request<'_>, settings: &Settings, aim: Aim) -> Result<Self, RunError> {
        let Request { given: Given { table, schema, payer }, network, folder, .. } = request;
        let data = match &table {
            Some(table) => table.path().to_owned(),
            None => input::data_of(settings)?,
        };
        let mut access = access(settings, &payer, (&data, table.is_some()), aim)?;
        let schema = match schema {
            Some(schema) => schema,
            None => subject::schema_of(settings)?.ok_or(RunError::NoSchema { data })?,
        };
        // A checkpoint belongs to one table, and so does the budget of a data set.
        let is_identified = folder.is_some() || access.needs_identity();
        let table = table.map(|table| if is_identified { table.identified(&schema) } else { table });
        let mut input = Input::open(settings, table, schema, &access)?;
        let (encoding, mut notes) = (encoding_of(settings, &input)?, Vec::new());
        if aim != Aim::Plan || access.is_metered() || settings.rows.is_none() {
            input.survey(&encoding)?;
        }
        let purse = open_purse(settings, &mut access, input.content())?;
        let subject = Subject::of_input(settings, &input, encoding, &purse, &mut notes)?;
        if input.door == Door::Permissive && !settings.permissive {
            notes.push(DOOR_NOTE.to_owned());
        }
        Ok(Self { input, subject: subject.with_network(network), purse, notes })
    }
}

/// The file and what pays for it, before there is a schema.
fn opened_to_buy(settings: &Settings) -> Result<(Access, Input, Purse), RunError> {
    let data = input::data_of(settings)?;
    let mut access = access(settings, &Payer::Settings, (&data, false), Aim::Directory)?;
    access.check_purchase()?;
    subject::target_and_epsilon(settings)?;
    let known = discovery::known(settings.schema.as_deref(), access.csv())?;
    let input = Input::open(settings, None, known, &access)?;
    access.check_columns(Columns::of(settings).names())?;
    let content = input.source.content()?;
    let purse = open_purse(settings, &mut access, Some(content))?;
    // Checked before a schema is bought for a model that cannot be trained.
    subject::public_size(&purse)?;
    Ok((access, input, purse))
}

/// Checks every rule of the owner that can be checked before the file is opened.
fn access(
    settings: &Settings,
    payer: &Payer,
    (data, is_table): (&Path, bool),
    aim: Aim,
) -> Result<Access, RunError> {
    let access = Access::by(payer, data, &settings.payment, is_table)?;
    match aim {
        Aim::Plan | Aim::Directory => access.check_place(&plan::out_of(settings)?)?,
        Aim::Memory => access.check_unlocked()?,
    }
    settings.report.as_deref().map_or(Ok(()), |report| access.check_place(report))?;
    settings.public_test.as_deref().map_or(Ok(()), |_| access.check_public_test())?;
    Ok(access)
}

fn open_purse(
    settings: &Settings,
    access: &mut Access,
    content: Option<[u8; 32]>,
) -> Result<Purse, RunError> {
    let what = purpose("train", settings.target.as_deref());
    access.open(content, asked(settings), Neighbours::ZeroOut, what)
}

fn asked(settings: &Settings) -> Option<Neighbours> {
    settings.neighbours.map(Relation::neighbours)
}

fn encoding_of(settings: &Settings, input: &Input) -> Result<Encoding, RunError> {
    let (target, _) = subject::target_and_epsilon(settings)?;
    subject::encoding(&input.schema, &input.source.names(), target, settings)
}

/// Checks that the report can be written.
fn check_report(plan: &RunPlan) -> Result<(), RunError> {
    plan.settings.report.as_deref().map_or(Ok(()), folder::check_writable)
}

fn carry_out(
    plan: RunPlan,
    mut purse: Purse,
    (place, bought): (Place, Option<Bought>),
    spent_before: Option<f64>,
    session: &mut Session<'_>,
) -> Result<Trained, RunError> {
    let size = format!("planned: {} records, {} coordinates", plan.subject.n, plan.subject.encoding.width());
    session.observer.doing(&size);
    let began = now();
    // Everything that can fail without depending on a record comes before the charge.
    let configuration = file::text(&plan.settings)?;
    let public = PublicTest::open(&plan, &purse)?;
    let (from, receipt) = earlier(&mut purse, place.folder(), session.resume)?;
    let begun = Begun::of(&plan)?;
    // An earlier version of this program kept no settings.
    if let Some(folder) = place.folder().filter(|folder| from.is_some() && folder.settings().exists()) {
        folder.kept::<Begun>(&folder.settings())?.check(&begun)?;
    }
    let claim = match &from {
        Some((checkpoint, _)) => plan.learner.replay_claim(checkpoint)?,
        None => plan.learner.claim(),
    };
    let took = purse.quote(&claim, &plan.unit())?;
    memory::check(plan.bytes())?;
    plan.input.check(&purse, plan.subject.n.get())?;
    session.observer.decided(&plan.notes);
    place.keep_record(Folder::settings, &begun)?;
    session.observer.doing("charging");
    let permit = purse.pay_after(receipt.last(), claim, plan.unit(), plan.subject.delta)?;
    if let Some((checkpoint, _)) = &from {
        // The earlier charge has ended now, so a process that still worked under it can record no
        // further step.
        receipt.check_still(checkpoint, &purse)?;
    }
    let receipt = receipt.with(permit.reservation(), &purse)?;
    place.keep_record(Folder::receipt, &receipt)?;
    receipt.book_earlier(&mut purse)?;
    session.observer.doing("reading the data");
    let data = plan.input.read(&plan.subject.encoding)?;
    session.observer.doing("training");
    let watching = (public.as_ref(), &purse);
    let (release, curve) = fit::fit(&plan, &data, permit, place.folder(), from, watching, session)?;
    let release = match bought {
        Some(bought) => bought.together(release)?,
        None => release,
    };
    let (model, guarantee) = release.into_parts();
    let public = public.map(|public| public.evaluation(&model)).transpose()?;
    let public = public.map(|scores| facts::with_curve(scores, &plan, &curve));
    let charges = receipt.charges().collect();
    let outcome = Outcome {
        model: &model,
        guarantee: &guarantee,
        public: public.as_ref(),
        spent_before,
        charges,
        began,
    };
    let pages = Pages::of(&facts::run(&plan, &purse, &outcome)?)?;
    let package = Package::new(&model, &guarantee, &configuration)?.with(RUN, pages.json.as_bytes());
    let package = match &plan.decision {
        Some(decision) => package.with(DECISION, pages::line(decision)?),
        None => package,
    };
    let package = match &pages.for_people {
        Some((html, card)) => package.with(REPORT, html.as_bytes()).with(CARD, card.as_bytes()),
        None => package,
    };
    write(&plan, place, &mut purse, &receipt, (&package, &pages))?;
    session.observer.doing("written and booked");
    let Pages { json, findings, for_people } = pages;
    Ok(Trained { plan, purse, took, model, guarantee, public, json, findings, pages: for_people, package })
}

/// The checkpoint of an earlier run with evidence of its charges, and its
/// receipt; for a new run, an empty receipt.
fn earlier(
    purse: &mut Purse,
    folder: Option<&Folder>,
    resume: bool,
) -> Result<(Option<(Checkpoint, Paid)>, Receipt), RunError> {
    // The data was surveyed when it was opened, so its content is known.
    let content = purse.content().ok_or(RunError::Missing { setting: "DATA" })?;
    let Some(folder) = folder else {
        return if resume { Err(RunError::NoFolder) } else { Ok((None, Receipt::new(content))) };
    };
    let Some(checkpoint) = folder.earlier(resume)? else { return Ok((None, Receipt::new(content))) };
    let receipt: Receipt = folder.kept(&folder.receipt())?;
    receipt.check_open(content, purse)?;
    let checkpoint = receipt.known(checkpoint, purse)?;
    let charges: Vec<u64> = receipt.charges().collect();
    let paid = purse.paid(&charges, checkpoint.statement())?;
    Ok((Some((checkpoint, paid)), receipt))
}

/// Writes the model's directory, if it has one, and books the charges with its hash.
fn write(
    plan: &RunPlan,
    place: Place,
    purse: &mut Purse,
    receipt: &Receipt,
    (package, pages): (&Package, &Pages),
) -> Result<(), RunError> {
    let digest = package.digest();
    match place {
        Place::Directory(folder) => {
            folder.finish(package, plan.learner.steps())?;
            receipt.book_last(purse, digest)?;
        }
        Place::Working(folder) => {
            receipt.book_last(purse, digest)?;
            folder.remove();
        }
        Place::Memory => receipt.book_last(purse, digest)?,
    }
    match (&plan.settings.report, &pages.for_people) {
        (Some(path), Some((html, _))) => std::fs::write(path, html)
            .map_err(|source| RunError::WriteFile { name: path.display().to_string(), source }),
        (Some(_) | None, _) => Ok(()),
    }
}

/// The current time; 1970 if the clock is set before that.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Upper estimate of the bytes of the model's directory.
fn room(plan: &RunPlan) -> u64 {
    let weights = 8 * plan.learner.weights();
    (weights + 2 * plan.subject.encoding.to_json().len()) as u64 + PAGES_BYTES
}
