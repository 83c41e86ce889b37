//! The flags of `sordino train`. Those that describe the run are [`Settings`], which a file may
//! give too.

use std::path::PathBuf;

use clap::Args;
use sordino_run::Settings;

use crate::args::Output;

const EXAMPLES: &str = "\
Examples:
  Two classes, by logistic regression; the accuracy is that on public records:
    sordino train patients.csv --target smoker --epsilon 1 --schema patients.toml \\
      --public-test volunteers.csv
  What would that cost, take and lose? Nothing is read but the header and the number of records:
    sordino train patients.csv --target smoker --epsilon 1 --schema patients.toml --plan
  With 50000 records and ten minutes, which method, how many steps, which batches?
    sordino train --schema patients.toml --target smoker --epsilon 1 --rows 50000 --plan --minutes 10
  Paid for from a budget (see `sordino ledger create --neighbours zero_out`):
    sordino train patients.csv --target smoker --epsilon 1 --schema patients.toml --ledger budgets.ledger
  A network for digits of 8 x 8 pixels, in batches of 256:
    sordino train digits.csv --target digit --epsilon 8 --schema digits.toml --model cnn \\
      --image 1x8x8 --batch-size 256
  Settings from a file, one of them changed:
    sordino train --config run.toml --steps 500

The model, its guarantee, its encoding and a report are left in one directory; `sordino predict` uses
it. Stop with Ctrl-C and resume later with --resume. Exit status: 0 done; 1 the budget does not allow
it; 2 could not run, or was stopped.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Settings from this file: TOML, with the names of the flags; flags win
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Say what would be spent, how long it takes and how much accuracy the noise is likely to
    /// cost; train nothing
    #[arg(long)]
    pub(crate) plan: bool,

    /// With --plan: choose method, steps and batches (of a network: batches, passes and rate) that
    /// take at most this many minutes. DATA may be left out; --rows then says n
    #[arg(long, value_name = "M", requires = "plan", value_parser = minutes, allow_hyphen_values = true)]
    pub(crate) minutes: Option<f64>,

    /// Resume a run that was stopped or killed; give all its other flags again
    #[arg(long, conflicts_with = "plan")]
    pub(crate) resume: bool,

    /// Say on standard error what is being done; never anything about a record
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Append the messages of --verbose to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 1e6 => Ok(minutes),
        Ok(_) | Err(_) => {
            Err(format!("minutes must be a number above 0 and at most a million, got `{text}`"))
        }
    }
}
