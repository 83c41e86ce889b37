//! `sordino predict`: applies a stored model to a table, by its stored encoding.
//!
//! A prediction is a function of a released model and of records that the user already has, so
//! nothing is charged.

mod show;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use sordino::noise::danger;
use sordino_data::{DataError, Door, Loader, Source};
use sordino_run::RunError;
use sordino_run::model::{Prediction, Stored};

use crate::args::Output;
use crate::error::Error;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  Predictions on standard output, one line a record, as CSV:
    sordino predict patients.model new-patients.csv
  With the probability of each class, into a file:
    sordino predict patients.model new-patients.csv --proba --out predictions.csv
  Only if the ledger booked this very model:
    sordino predict patients.model new-patients.csv --ledger budgets.ledger

Exit status: 0 done; 1 the model is not the one that was written or booked; 2 could not run.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PredictArgs {
    /// The directory that `sordino train` wrote
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The table: the columns that the model was trained on, with or without the target
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// Write the predictions to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Write the probability of each class too
    #[arg(long)]
    proba: bool,

    /// Fit values to the schema by its rules, or leave the prediction empty, instead of stopping at
    /// a record that does not fit
    #[arg(long)]
    permissive: bool,

    /// Refuse a model that this ledger did not book
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(args: PredictArgs) -> Result<(), Error> {
    let stored = Stored::open(&args.model)?;
    if let Some(ledger) = &args.ledger {
        let charge = stored.booking(ledger)?;
        if !args.output.quiet {
            output::note(&format!("the ledger booked this model: {}, by {}", charge.what, charge.who));
        }
    }
    if args.proba && !stored.model.has_probabilities() {
        return Err(Error::NoProbabilities { loss: stored.model.loss_name() });
    }
    if stored.guarantee.seeded && !args.output.quiet {
        output::note("the model was trained with seeded noise: nothing is promised about it");
    }
    let predictions = predictions(&stored, &args)?;
    let text = if args.output.json {
        show::object(&stored.model, &predictions, args.proba)?
    } else {
        show::csv(&stored.model, &predictions, args.proba)
    };
    match &args.out {
        None => output::result(&text),
        Some(path) => write(path, &text),
    }
}

/// One prediction for each record; `None` for a record that does not fit the schema.
fn predictions(stored: &Stored, args: &PredictArgs) -> Result<Vec<Option<Prediction>>, Error> {
    let encoding = stored.model.encoding().for_prediction();
    let source = Source::open(&args.data, encoding.schema().csv()).map_err(RunError::from)?;
    let door = if args.permissive { Door::Permissive } else { Door::Strict };
    // The encoding has no units, so no bit is drawn.
    let rows = Loader::new(&source, encoding.schema(), door).read(&encoding, &mut danger::seeded(0));
    Ok(stored.model.decided(&rows.map_err(of_model)?, args.proba, stored.decision.as_ref())?)
}

/// The error in terms of the model. Its schema is fixed, so advice to change the schema would not
/// help.
fn of_model(error: DataError) -> Error {
    if let DataError::UndeclaredColumn { path, column, hint } = error {
        return Error::ColumnOfOtherModel { path, column, hint };
    }
    if let DataError::MissingColumn { path, column, hint } = error {
        return Error::ColumnOfModel { path, column, hint };
    }
    if let DataError::Cell { path, row, column, expected, .. } = error {
        return Error::CellOfModel { path, row, column, expected };
    }
    if let DataError::OneColumn { path, .. } | DataError::StatedDelimiter { path, .. } = error {
        return Error::DelimiterOfModel { path };
    }
    if let DataError::Misfits { path, misfits } = error {
        return Error::MisfitsOfModel { path, misfits };
    }
    RunError::from(error).into()
}

/// Writes the file under another name and renames it, so that it is whole or absent.
fn write(path: &PathBuf, text: &str) -> Result<(), Error> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = std::fs::File::create(&part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&part, path)
    });
    written.map_err(|source| {
        let _ = std::fs::remove_file(&part);
        RunError::WriteFile { name: path.display().to_string(), source }.into()
    })
}
