//! `sordino train`: flags, output and progress. `sordino_run` does the run itself.

mod advice;
pub(crate) mod args;
mod log;
mod scores;
mod show;
mod stop;
mod watch;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sordino_run::training::{self, Session};
use sordino_run::{Access, RunError, Settings, file};

pub(crate) use self::args::TrainArgs;
use self::log::Log;
use self::watch::Watch;
use crate::args::Output;
use crate::error::Error;
use crate::output;

pub(crate) fn run(args: TrainArgs) -> Result<(), Error> {
    let settings = file::merged(args.settings.clone(), args.config.as_deref())?;
    if let (Some(log), Some(data)) = (&args.log, &settings.data) {
        // Under an owner's lock, a log may only be written to the folder of results.
        Access::find(data, &settings.payment)?.check_place(log)?;
    }
    let log = Log::open(args.verbose, args.log.as_deref())?;
    if let Some(minutes) = args.minutes {
        return advise(&settings, minutes, args.output);
    }
    if args.plan {
        return plan(&settings, args.output);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut watch = Watch::new(log, Arc::clone(&stop), args.output.quiet, args.verbose);
    let session = Session { resume: args.resume, stop: &stop, observer: &mut watch };
    let trained = training::train(&settings, session).map_err(|error| {
        if let RunError::Stopped { .. } = error {
            return Error::Stopped { error: Box::new(error), command: stop::command_to_resume() };
        }
        error.into()
    });
    watch.clear();
    let trained = trained?;
    if !args.output.quiet {
        show::notes(&trained).into_iter().for_each(output::note);
        trained.findings.iter().for_each(|finding| output::note(finding));
        trained.remark().into_iter().for_each(output::note);
    }
    output::result(&if args.output.json { trained.json.clone() } else { show::text(&trained)? })
}

/// The settings of a configuration, as TOML; see [`crate::effective_configuration`].
pub(crate) fn effective_configuration(text: &str) -> Result<String, Error> {
    Ok(file::text(&file::parsed(text, Path::new("the configuration"))?)?)
}

fn plan(settings: &Settings, output: Output) -> Result<(), Error> {
    let planned = training::plan(settings)?;
    say(&planned.plan.notes, output);
    output::result(&if output.json { show::plan_object(&planned)? } else { show::plan_text(&planned)? })
}

fn advise(settings: &Settings, minutes: f64, output: Output) -> Result<(), Error> {
    let advice = training::advise(settings, Duration::from_secs_f64(60.0 * minutes))?;
    let show = if output.json { advice::object } else { advice::text };
    let text = show(&advice, minutes)?;
    say(&advice.notes, output);
    output::result(&text)
}

fn say(notes: &[String], output: Output) {
    if !output.quiet {
        notes.iter().for_each(|note| output::note(note));
    }
}
