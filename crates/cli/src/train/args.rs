//! The flags of `sordino train`. Those that describe the run are [`Settings`], which a file may give as well.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use sordino::prelude::*;
use sordino::privacy::ClipNorm;

use super::method::Method;
use super::network::{AveragingStyle, ClippingStyle, ImageShape};
use crate::args::{Output, Relation, count};
use crate::purse::Payment;

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
    sordino train digits.csv --target digit --epsilon 8 --schema digits.toml --model cnn --image 1x8x8 --batch-size 256
  Settings from a file, one of them changed:
    sordino train --config run.toml --steps 500

The model, its guarantee, its encoding and a report are left in one directory; `sordino predict` uses it. Stop with Ctrl-C and
go on later with --resume. Exit status: 0 done; 1 the budget does not allow it; 2 could not run, or was stopped.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) settings: Settings,

    /// Settings from this file: TOML, with the names of the flags; flags win
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Say what would be spent, how long it takes and what the noise is likely to cost; train nothing
    #[arg(long)]
    pub(crate) plan: bool,

    /// With --plan: choose method, steps and batches (of a network: batches, passes and rate) that take at most this many minutes. DATA may be left out; --rows then says n
    #[arg(long, value_name = "M", requires = "plan", value_parser = minutes, allow_hyphen_values = true)]
    pub(crate) minutes: Option<f64>,

    /// Go on with a run that was stopped or killed; give all its other flags again
    #[arg(long, conflicts_with = "plan")]
    pub(crate) resume: bool,

    /// Say on standard error what is being done; never anything about a record
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Append the same to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// What a run is made of. What is not given is decided from public things; [`Blueprint`](super::blueprint::Blueprint) says how.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// The table: CSV (also .gz, .zst), Parquet, Arrow IPC, NPY, IDX (MNIST) or CIFAR binary
    #[arg(value_name = "DATA")]
    pub(crate) data: Option<PathBuf>,

    /// The column to be predicted
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,

    /// What the model may cost
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Option<Epsilon>,

    /// At this delta [default: that of the ledger; else 1e-6, or the first power of ten below 1/(10 n) if that is less]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<Delta>,

    /// Bounds, values, and whose records they are (TOML; see `sordino schema`)
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,

    /// Buy what the schema does not declare, or all if there is none: this part of epsilon and delta finds bounds and categories with noise
    #[arg(long, value_name = "FRACTION", value_parser = fraction, allow_hyphen_values = true)]
    pub(crate) estimate_schema_with: Option<f64>,

    /// Columns of numbers whose bounds are to be bought
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) numbers: Option<Vec<String>>,

    /// Columns of categories whose values are to be bought
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) categories: Option<Vec<String>>,

    /// What a neighbouring data set is: zero_out (one unit left empty) or replace (one exchanged for another), under which the number of
    /// records is public, as learning needs it [default: zero_out, or what the ledger says]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "zero_out|replace")]
    pub(crate) neighbours: Option<Relation>,

    /// n, the number of records, which is public [default: counted]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) rows: Option<Count>,

    /// Train a neural network instead of a linear model: a preset (softmax, mlp, cnn, tanh_cnn, cifar_cnn, resnet20), or a
    /// description in a file (.toml, .json)
    #[arg(long, value_name = "PRESET|FILE")]
    pub(crate) model: Option<String>,

    /// Widths of the layers of `--model mlp` [default: 1024,1024]
    #[arg(long, value_name = "WIDTHS", value_delimiter = ',')]
    pub(crate) hidden: Option<Vec<usize>>,

    /// The records are pictures of this shape, such as 1x28x28 [default: what the file's format says, if it is one of pictures]
    #[arg(long, value_name = "CxHxW")]
    pub(crate) image: Option<ImageShape>,

    /// How to learn [default: gradient-descent; sgd for a network]
    #[arg(long, value_enum)]
    pub(crate) method: Option<Method>,

    /// What to minimise [default: logistic for two classes, softmax for more, squared for a number]
    #[arg(long, value_enum)]
    pub(crate) loss: Option<LossFlag>,

    /// How many noisy steps [default: the method's]
    #[arg(long, value_name = "T", value_parser = count)]
    pub(crate) steps: Option<Count>,

    /// Probability with which each record enters a batch; for --method sgd [default: 256/n]
    #[arg(long, value_name = "Q", allow_hyphen_values = true)]
    pub(crate) sampling_rate: Option<SamplingRate>,

    /// The same as a number of records: the sampling rate is this divided by n
    #[arg(long, value_name = "B", value_parser = count)]
    pub(crate) batch_size: Option<Count>,

    /// Passes over the data, instead of --steps
    #[arg(long, value_name = "E", value_parser = count)]
    pub(crate) epochs: Option<Count>,

    /// The length of a step [default: one over the smoothness of the loss; for a network what suits its steps and their noise]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(crate) learning_rate: Option<f64>,

    /// How much of the last step goes into the next; for a network [default: 0.9]
    #[arg(long, value_name = "BETA", allow_hyphen_values = true)]
    pub(crate) momentum: Option<f64>,

    /// The largest norm of one record's gradient; longer ones are scaled down [default: the method's]
    #[arg(long, value_name = "C", allow_hyphen_values = true)]
    pub(crate) clip_norm: Option<ClipNorm>,

    /// How gradients of a network are clipped [default: flat]
    #[arg(long, value_enum)]
    pub(crate) clipping: Option<ClippingStyle>,

    /// The part of gradients that --clipping adaptive leaves as they are; --clip-norm is that of the first step [default: 0.5]
    #[arg(long, value_name = "PART", allow_hyphen_values = true)]
    pub(crate) clip_quantile: Option<f64>,

    /// Which iterates of a network are the result; costs nothing [default: tail]
    #[arg(long, value_enum)]
    pub(crate) averaging: Option<AveragingStyle>,

    /// The last part of the iterates, for --averaging tail [default: 0.1]
    #[arg(long, value_name = "PART", allow_hyphen_values = true)]
    pub(crate) averaging_tail: Option<f64>,

    /// How much of the average stays at each step, for --averaging ema [default: 1 - 10/T for T steps]
    #[arg(long, value_name = "BETA", allow_hyphen_values = true)]
    pub(crate) averaging_decay: Option<f64>,

    /// The largest norm of one encoded record; longer ones are scaled down [default: what the schema allows]
    #[arg(long, value_name = "NORM", allow_hyphen_values = true)]
    pub(crate) row_norm: Option<f64>,

    /// Penalty on large weights: lambda of (lambda/2) |w|^2 [default: 0, or what suits a perturbation's noise]
    #[arg(long, value_name = "LAMBDA", allow_hyphen_values = true)]
    pub(crate) l2: Option<f64>,

    /// Records that are declared public, and no part of DATA: the model's accuracy on them is shown
    #[arg(long, value_name = "FILE")]
    pub(crate) public_test: Option<PathBuf>,

    /// What the settings were tuned on before this run, for the report
    #[arg(long, value_enum)]
    pub(crate) tuned_on: Option<TunedOn>,

    /// Map what the schema has no place for instead of stopping at it; no error then depends on a record
    #[arg(long)]
    #[serde(skip_serializing_if = "is_off")]
    pub(crate) permissive: bool,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) payment: Payment,

    /// The directory for the model; must not exist [default: the data's name with `.model`, here]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Write the report here too; it is always in the model's directory
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Steps between two checkpoints (passes, for coordinate-descent): after a crash as many are charged again [default: a twentieth]
    #[arg(long, value_name = "T", value_parser = count)]
    pub(crate) checkpoint_every: Option<Count>,

    /// Megabytes for what grows with a network's batches; the result is the same but for roundings
    #[arg(long, value_name = "MB", value_parser = count)]
    pub(crate) memory: Option<Count>,

    /// Threads to compute with; the result is the same [default: all processors]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZero<usize>>,

    /// Repeatable noise, for tests: the guarantee is void and says so
    #[arg(long, value_name = "N")]
    pub(crate) danger_seed: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LossFlag {
    /// Two classes
    Logistic,
    /// Two classes, with a margin
    SmoothHinge,
    /// Two classes or more
    Softmax,
    /// A number
    Squared,
    /// A number, with large residuals counted linearly
    Huber,
}

/// What somebody says about the search for settings. Nobody can check it; the report repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TunedOn {
    /// Nothing: they are defaults, or follow a rule
    None,
    /// Data that everybody may see
    Public,
    /// The private data, and each run was charged to the same budget
    Booked,
    /// The private data, and nobody paid
    Private,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 1e6 => Ok(minutes),
        Ok(_) | Err(_) => {
            Err(format!("minutes must be a number above 0 and at most a million, got `{text}`"))
        }
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(part) if part > 0.0 && part < 1.0 => Ok(part),
        Ok(_) | Err(_) => Err(format!("a fraction must be a number above 0 and below 1, got `{text}`")),
    }
}

fn is_off(flag: &bool) -> bool {
    !flag
}
