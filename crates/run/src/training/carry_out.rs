//! A planned run, from the last checks before the charge to the booking: the one order for every
//! front end.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use sordino_ledger::Time;
use sordino_optim::Checkpoint;
use sordino_privacy::Paid;

use super::begun::Begun;
use super::bought::Bought;
use super::facts::{self, Outcome};
use super::pages::{self, Pages};
use super::plan::RunPlan;
use super::public_test::PublicTest;
use super::watch::Session;
use super::{PAGES_BYTES, Trained, fit};
use crate::error::RunError;
use crate::folder::{self, Folder};
use crate::memory;
use crate::model::{CARD, DECISION, Package, REPORT, RUN};
use crate::purse::Purse;
use crate::receipt::Receipt;
use crate::settings::file;

/// Where a run works and what it leaves there.
pub(super) enum Place {
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

/// Checks that the report can be written.
pub(super) fn check_report(plan: &RunPlan) -> Result<(), RunError> {
    plan.settings.report.as_deref().map_or(Ok(()), folder::check_writable)
}

pub(super) fn carry_out(
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
    if session.stop.load(Ordering::Relaxed) {
        return Err(RunError::StoppedInTime);
    }
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
pub(super) fn room(plan: &RunPlan) -> u64 {
    let weights = 8 * plan.learner.weights();
    (weights + 2 * plan.subject.encoding.to_json().len()) as u64 + PAGES_BYTES
}
