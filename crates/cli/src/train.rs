//! `sordino train`: a model of a table, released for a price.
//!
//! The order is that of every release: plan from public things, ask the budget, pay, read the data, release, book. Through the strict
//! door the owner is told before anything is charged whether every record fits the schema; through the permissive
//! door nobody is told, and every record fits.

pub(crate) mod args;
mod blueprint;
mod config;
mod estimate;
mod evaluation;
mod facts;
mod learner;
mod log;
mod method;
mod pages;
mod place;
mod show;
mod stop;
mod watch;

use sordino::noise::{Bits, danger, entropy};
use sordino::prelude::*;
use sordino_data::{Door, Encoded};
use sordino_learn::LinearModel;
use sordino_optim::{Checkpoint, Checkpoints, OptimError};

use self::args::Settings;
pub(crate) use self::args::TrainArgs;
use self::blueprint::Blueprint;
use self::estimate::Estimate;
use self::evaluation::PublicTest;
use self::facts::Outcome;
use self::learner::Session;
use self::log::Log;
use self::pages::Pages;
use self::place::Place;
use self::watch::Watch;
use crate::args::{Output, Relation};
use crate::error::Error;
use crate::model::{CARD, Package, REPORT, RUN};
use crate::output;
use crate::purse::{Purse, purpose};

/// What a report, a card and a manifest may take, beside weights and encoding.
const ROOM_FOR_WORDS: u64 = 2 << 20;

pub(crate) fn run(args: TrainArgs) -> Result<(), Error> {
    let settings = config::merged(args.settings.clone(), args.config.as_deref())?;
    let mut log = Log::open(args.verbose, args.log.as_deref())?;
    let mut purse = open_purse(&settings)?;
    let blueprint = Blueprint::draw(&settings, &purse)?;
    log.say(&format!("planned: {} records, {} coordinates", blueprint.n, blueprint.encoding.width()));
    if args.plan {
        return plan(&blueprint, &purse, args.output);
    }
    let (trained, pages) = train(&blueprint, &mut purse, &args, &mut log)?;
    if !args.output.quiet {
        show::notes(&trained).into_iter().for_each(output::note);
        pages.findings.iter().for_each(|finding| output::note(finding));
    }
    output::result(&if args.output.json { pages.json } else { show::text(&blueprint, &trained, &purse)? })
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

/// Once nothing else can go wrong, and before anything is charged.
fn say_defaults(blueprint: &Blueprint, output: Output) {
    if !output.quiet {
        blueprint.notes.iter().for_each(|note| output::note(note));
    }
}

/// A model that was released, and what is said about it.
pub(crate) struct Trained {
    pub(crate) model: LinearModel,
    pub(crate) guarantee: Guarantee,
    pub(crate) public: Option<PublicTest>,
}

fn open_purse(settings: &Settings) -> Result<Purse, Error> {
    let asked = settings.neighbours.map(Relation::neighbours);
    let what = purpose("train", settings.target.as_deref());
    Purse::open(&blueprint::data_of(settings)?, &settings.payment, asked, Neighbours::ZeroOut, what)
}

fn train(
    blueprint: &Blueprint,
    purse: &mut Purse,
    args: &TrainArgs,
    log: &mut Log,
) -> Result<(Trained, Pages), Error> {
    // Everything that can fail without a word about the records, before anything is charged.
    let configuration = config::text(&blueprint.settings)?;
    let place = Place::prepare(&blueprint.out, room(blueprint))?;
    let earlier = place.earlier(args.resume)?;
    let public = PublicTest::open(blueprint)?;
    let claim = match &earlier {
        Some(checkpoint) => blueprint.learner.replay_claim(checkpoint)?,
        None => blueprint.learner.claim(),
    };
    purse.ask(&claim, &blueprint.unit())?;
    blueprint.check_rows()?;
    if blueprint.door() == Door::Strict {
        log.say("checking that every record fits the schema");
        blueprint.loader().check(&blueprint.encoding)?;
    }
    say_defaults(blueprint, args.output);
    let spent_before = purse.spent()?;
    log.say("charging");
    let permit = purse.pay(claim, blueprint.unit(), blueprint.delta)?;
    if let Some(reservation) = permit.reservation() {
        place.note_charge(reservation)?;
    }
    log.say("reading the data");
    let data = read(blueprint)?;
    log.say("training");
    let mut watch = Watch::new(blueprint, public.as_ref(), purse, args, log)?;
    let (model, guarantee) = fit(blueprint, &data, permit, &place, earlier, &mut watch)?;
    let curve = watch.finish();
    let trained = Trained { model, guarantee, public };
    let outcome = Outcome { trained: &trained, curve: &curve, spent_before, configuration: &configuration };
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
    let (charges, digest) = (place.charges()?, package.digest());
    place.finish(&package)?;
    charges.into_iter().try_for_each(|charge| purse.book(charge, digest))?;
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
) -> Result<(LinearModel, Guarantee), Error> {
    let stop = stop::on_request(blueprint.learner.steps().is_some())?;
    let settings = &blueprint.settings;
    let every = settings.checkpoint_every.map_or(1, Count::get);
    let session = Session {
        threads: settings.threads,
        seed: settings.danger_seed.map(u64::from),
        checkpoints: Some(Checkpoints { path: place.checkpoint(), every }),
        from,
        stop: &stop,
        watch: &mut |progress| watch.step(progress),
    };
    match blueprint.learner.fit(data, permit, session) {
        Ok(release) => Ok(release.into_parts()),
        Err(Error::Optim(OptimError::Cancelled { steps })) => {
            let of = blueprint.learner.steps().unwrap_or(steps);
            Err(Error::Stopped { steps, of, command: stop::command_to_resume() })
        }
        Err(error) => Err(error),
    }
}

fn read(blueprint: &Blueprint) -> Result<Encoded, Error> {
    let mut bits: Box<dyn Bits> = match blueprint.settings.danger_seed {
        // Another stream than the noise's, which starts from the seed itself.
        Some(seed) => Box::new(danger::seeded(u64::from(seed) | 1 << 63)),
        None => Box::new(entropy()?),
    };
    Ok(blueprint.loader().encoded(&blueprint.encoding, &mut *bits)?)
}

/// What the model's directory will take, with something to spare.
fn room(blueprint: &Blueprint) -> u64 {
    let weights = blueprint.loss.outputs() * blueprint.encoding.width() * 8;
    (weights + 2 * blueprint.encoding.to_json().len()) as u64 + ROOM_FOR_WORDS
}
