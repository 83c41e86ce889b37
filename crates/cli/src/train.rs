//! `sordino train`: a model of a table, released for a price.
//!
//! The order is that of every release: plan from public things, ask the budget, pay, read the data, release, book. Through the strict
//! door the owner is told before anything is charged whether every record fits the schema; where analysts have shares of the budget, they are
//! told after they have paid. Through the permissive door nobody is told, and every record fits.

mod advice;
pub(crate) mod args;
mod blueprint;
mod config;
mod coordinates;
mod cost;
mod estimate;
mod estimated;
mod evaluation;
mod facts;
mod invented;
mod learner;
mod log;
mod loss;
mod method;
mod network;
mod pages;
mod place;
mod planner;
pub(crate) mod receipt;
mod show;
mod stop;
mod subject;
mod watch;

use std::path::Path;
use std::time::Duration;

use sordino::noise::{Bits, danger, entropy};
use sordino::prelude::*;
use sordino_data::{Door, Encoded, Survey, Wanted};
use sordino_optim::{Checkpoint, Checkpoints, OptimError};

use self::args::Settings;
pub(crate) use self::args::TrainArgs;
use self::blueprint::Blueprint;
use self::estimate::Estimate;
use self::estimated::Estimated;
use self::evaluation::PublicTest;
use self::facts::Outcome;
use self::learner::Session;
use self::log::Log;
use self::network::NetworkAdvice;
use self::pages::Pages;
use self::place::Place;
use self::planner::Advice;
use self::receipt::Receipt;
use self::subject::Subject;
use self::watch::Watch;
use crate::args::{Output, Relation};
use crate::error::Error;
use crate::model::{CARD, Model, Package, REPORT, RUN};
use crate::output;
use crate::purse::{Purse, purpose};

/// What a report, a card and a manifest may take, beside weights and encoding.
const ROOM_FOR_WORDS: u64 = 2 << 20;

pub(crate) fn run(args: TrainArgs) -> Result<(), Error> {
    let settings = config::merged(args.settings.clone(), args.config.as_deref())?;
    let mut log = Log::open(args.verbose, args.log.as_deref())?;
    let mut purse = open_purse(&settings, args.minutes.is_some())?;
    if let Some(minutes) = args.minutes {
        return advise(&settings, &purse, minutes, args.output);
    }
    // Before the command, and so before it buys a schema.
    let spent_before = purse.spent()?;
    let (place, estimated) = estimated(&settings, &mut purse, &args, &mut log)?;
    let blueprint = match &estimated {
        Some(estimated) => Blueprint::draw(&estimated.settings(&settings), &purse)?.stating(&settings),
        None => Blueprint::draw(&settings, &purse)?,
    };
    log.say(&format!(
        "planned: {} records, {} coordinates",
        blueprint.subject.n,
        blueprint.subject.encoding.width()
    ));
    if args.plan {
        return plan(&blueprint, &purse, args.output);
    }
    let place = match place {
        Some(place) => place.with_room(room(&blueprint))?,
        None => prepare(&blueprint)?,
    };
    let (trained, pages) = train(&blueprint, &mut purse, (place, estimated), spent_before, &args, &mut log)?;
    if !args.output.quiet {
        show::notes(&trained).into_iter().for_each(output::note);
        pages.findings.iter().for_each(|finding| output::note(finding));
    }
    output::result(&if args.output.json { pages.json } else { show::text(&blueprint, &trained, &purse)? })
}

/// Buys a schema, if that is asked for, into the working folder of the run.
fn estimated(
    settings: &Settings,
    purse: &mut Purse,
    args: &TrainArgs,
    log: &mut Log,
) -> Result<(Option<Place>, Option<Estimated>), Error> {
    let Some(fraction) = settings.estimate_schema_with else {
        let stray =
            [(settings.numbers.is_some(), "--numbers"), (settings.categories.is_some(), "--categories")];
        return match stray.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, flag)) => Err(Error::NeedsEstimate { flag }),
            None => Ok((None, None)),
        };
    };
    if args.plan {
        return Err(Error::NoSchemaYet { flag: "--plan" });
    }
    settings.report.as_deref().map_or(Ok(()), place::check_writable)?;
    let place = Place::prepare(&blueprint::out_of(settings)?, ROOM_FOR_WORDS)?;
    log.say("buying a schema");
    let estimated = Estimated::buy(settings, fraction, purse, &place)?;
    Ok((Some(place), Some(estimated)))
}

/// The working folder, and the report's place.
fn prepare(blueprint: &Blueprint) -> Result<Place, Error> {
    blueprint.settings.report.as_deref().map_or(Ok(()), place::check_writable)?;
    Place::prepare(&blueprint.out, room(blueprint))
}

/// See [`crate::effective_configuration`].
pub(crate) fn effective_configuration(text: &str) -> Result<String, Error> {
    config::text(&config::parsed(text, Path::new("the configuration"))?)
}

/// What would be done. Fails as the run would if the budget does not allow it.
fn plan(blueprint: &Blueprint, purse: &Purse, output: Output) -> Result<(), Error> {
    purse.ask(&blueprint.learner.claim(), &blueprint.unit())?;
    let estimate = Estimate::of(blueprint)?;
    say_defaults(blueprint, output);
    output::result(&if output.json {
        show::plan_object(blueprint, purse, &estimate)?
    } else {
        show::plan_text(blueprint, purse, &estimate)?
    })
}

/// What could be done within some minutes.
fn advise(settings: &Settings, purse: &Purse, minutes: f64, output: Output) -> Result<(), Error> {
    let mut notes = Vec::new();
    let subject = match &settings.data {
        Some(_) => Subject::of_file(settings, purse, &mut notes)?.0,
        None => Subject::of_schema(settings, purse, &mut notes)?,
    };
    let limit = Duration::from_secs_f64(60.0 * minutes);
    let (claim, text) = if settings.model.is_some() {
        let advice = NetworkAdvice::of(&subject, settings, limit)?;
        let show = if output.json { network::advice::object } else { network::advice::text };
        (advice.best().learner.claim(), show(&subject, &advice, minutes)?)
    } else {
        let advice = Advice::of(&subject, settings, limit)?;
        let show = if output.json { advice::object } else { advice::text };
        (advice.best().claim.clone(), show(&subject, &advice, minutes)?)
    };
    purse.ask(&claim, &subject.unit())?;
    if !output.quiet {
        notes.iter().for_each(|note| output::note(note));
    }
    output::result(&text)
}

/// Once nothing else can go wrong, and before anything is charged.
fn say_defaults(blueprint: &Blueprint, output: Output) {
    if !output.quiet {
        blueprint.notes.iter().for_each(|note| output::note(note));
    }
}

/// A model that was released, and what is said about it.
pub(crate) struct Trained {
    pub(crate) model: Model,
    pub(crate) guarantee: Guarantee,
    pub(crate) public: Option<PublicTest>,
}

/// Where nothing is to be trained there need be no data, unless a ledger is to be asked about it.
fn open_purse(settings: &Settings, is_advice: bool) -> Result<Purse, Error> {
    let asked = settings.neighbours.map(Relation::neighbours);
    if is_advice && settings.data.is_none() && settings.payment.ledger.is_none() {
        return Ok(Purse::Unmetered(asked.unwrap_or(Neighbours::ZeroOut)));
    }
    let what = purpose("train", settings.target.as_deref());
    Purse::open(&subject::data_of(settings)?, &settings.payment, asked, Neighbours::ZeroOut, what)
}

fn train(
    blueprint: &Blueprint,
    purse: &mut Purse,
    (place, estimated): (Place, Option<Estimated>),
    spent_before: Option<f64>,
    args: &TrainArgs,
    log: &mut Log,
) -> Result<(Trained, Pages), Error> {
    // Everything that can fail without a word about the records, before anything is charged.
    let configuration = config::text(&blueprint.settings)?;
    let earlier = place.earlier(args.resume)?;
    let content = purse.content(&subject::data_of(&blueprint.settings)?)?;
    let public = PublicTest::open(blueprint, content, purse)?;
    let (claim, receipt) = match &earlier {
        Some(checkpoint) => {
            let receipt: Receipt = place.kept(&place.receipt())?;
            receipt.check_open(content, purse)?;
            (blueprint.learner.replay_claim(checkpoint)?, receipt)
        }
        None => (blueprint.learner.claim(), Receipt::new(content)),
    };
    purse.ask(&claim, &blueprint.unit())?;
    log.say("counting and checking records");
    let survey = survey(blueprint)?;
    blueprint.check_rows(&survey)?;
    if blueprint.door() == Door::Strict && !purse.has_shares()? {
        survey.check()?;
    }
    say_defaults(blueprint, args.output);
    log.say("charging");
    let permit = purse.pay(claim, blueprint.unit(), blueprint.subject.delta)?;
    let receipt = receipt.with(permit.reservation(), purse)?;
    place.keep_record(&place.receipt(), &receipt)?;
    receipt.book_earlier(purse)?;
    log.say("reading the data");
    let data = blueprint.loader().encoded(&blueprint.subject.encoding, &survey)?;
    log.say("training");
    let mut watch = Watch::new(blueprint, public.as_ref(), purse, args, log)?;
    let (model, guarantee) = fit(blueprint, &data, permit, &place, earlier, &mut watch)?;
    let curve = watch.finish();
    let guarantee = match &estimated {
        Some(estimated) => estimated.together(&guarantee)?,
        None => guarantee,
    };
    let trained = Trained { model, guarantee, public };
    let outcome = Outcome { trained: &trained, curve: &curve, spent_before };
    let pages = Pages::of(&facts::run(blueprint, purse, &outcome)?)?;
    release(blueprint, place, purse, &trained, &pages, &configuration)?;
    log.say("written and booked");
    Ok((trained, pages))
}

/// Writes the model's directory, and books the charges with its hash.
fn release(
    blueprint: &Blueprint,
    place: Place,
    purse: &mut Purse,
    trained: &Trained,
    pages: &Pages,
    configuration: &str,
) -> Result<(), Error> {
    let package =
        Package::new(&trained.model, &trained.guarantee, configuration)?.with(RUN, pages.json.as_bytes());
    let package = match &pages.for_people {
        Some((html, card)) => package.with(REPORT, html.as_bytes()).with(CARD, card.as_bytes()),
        None => package,
    };
    let (receipt, digest) = (place.kept::<Receipt>(&place.receipt())?, package.digest());
    place.finish(&package, blueprint.learner.steps())?;
    receipt.book_last(purse, digest)?;
    match (&blueprint.settings.report, &pages.for_people) {
        (Some(path), Some((html, _))) => std::fs::write(path, html)
            .map_err(|source| Error::WriteFile { name: path.display().to_string(), source }),
        (Some(_) | None, _) => Ok(()),
    }
}

fn fit(
    blueprint: &Blueprint,
    data: &Encoded,
    permit: Permit,
    place: &Place,
    from: Option<Checkpoint>,
    watch: &mut Watch<'_>,
) -> Result<(Model, Guarantee), Error> {
    let stop = stop::on_request(blueprint.learner.steps().is_some())?;
    let settings = &blueprint.settings;
    let every = settings.checkpoint_every.map_or(1, Count::get);
    let session = Session {
        threads: settings.threads,
        seed: settings.danger_seed.map(u64::from),
        checkpoints: Some(Checkpoints { path: place.checkpoint(), every, keep: true }),
        from,
        stop: &stop,
        watch: &mut |progress| watch.step(progress),
    };
    match blueprint.learner.fit(data, permit, session) {
        Ok(release) => Ok(release.into_parts()),
        Err(Error::Optim(OptimError::Cancelled { steps })) => {
            let of = blueprint.learner.steps().unwrap_or(steps);
            let [_, what] = blueprint.learner.step_name();
            Err(Error::Stopped { steps, of, what, command: stop::command_to_resume() })
        }
        Err(error) => Err(error),
    }
}

fn survey(blueprint: &Blueprint) -> Result<Survey, Error> {
    let mut bits: Box<dyn Bits> = match blueprint.settings.danger_seed {
        // Another stream than the noise's, which starts from the seed itself.
        Some(seed) => Box::new(danger::seeded(u64::from(seed) | 1 << 63)),
        None => Box::new(entropy()?),
    };
    Ok(blueprint.loader().survey(Wanted::Encoding(&blueprint.subject.encoding), &mut *bits)?)
}

/// What the model's directory will take, with something to spare.
fn room(blueprint: &Blueprint) -> u64 {
    let weights = 8 * blueprint.learner.weights();
    (weights + 2 * blueprint.subject.encoding.to_json().len()) as u64 + ROOM_FOR_WORDS
}
