//! Flags as users type them. The library's own type checks each number, so no later code checks it
//! again. The plan of each verb checks how flags combine.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sordino::prelude::*;
pub(crate) use sordino_run::Relation;
pub(crate) use sordino_run::discovery::default_delta;
pub(crate) use sordino_run::parse::count;

use crate::explain::ExplainArgs;
use crate::ledger::args::LedgerArgs;
use crate::manual::{CompletionsArgs, ManArgs};
use crate::predict::PredictArgs;
use crate::query::QueryArgs;
use crate::schema::SchemaArgs;
use crate::train::TrainArgs;

/// The note for a run that takes [`default_delta`].
pub(crate) const DEFAULT_DELTA_NOTE: &str = "no --delta given: took delta = 1e-6, which suits up to some \
    100000 people; with more, name a delta well below one over their number";

const EXAMPLES: &str = "\
Examples:
  Train a model of a table, within a budget, and use it:
    sordino train patients.csv --target smoker --epsilon 1 --schema patients.toml
    sordino predict patients.model new-patients.csv
  What does this training run cost?
    sordino account --noise-multiplier 1.1 --sampling-rate 0.0042667 --steps 14062 --delta 1e-5
  How much noise does epsilon = 2 need?
    sordino calibrate --epsilon 2 --delta 1e-5 --sampling-rate 0.0042667 --steps 14062
  What does epsilon = 2 mean?
    sordino explain --epsilon 2 --delta 1e-5

Exit status: 0 done; 1 the honest answer is no; 2 could not run (bad flag, bad file).";

/// Differential privacy, counted to the last digit.
#[derive(Debug, Parser)]
#[command(name = "sordino", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Train a model within a budget, and write it with its guarantee and a report.
    Train(Box<TrainArgs>),
    /// Apply a trained model to the records of another table.
    Predict(PredictArgs),
    /// What does this cost? Certified epsilon at a delta, or delta at an epsilon.
    Account(AccountArgs),
    /// How much noise is enough? Also: how many steps, which sampling rate, which share of a
    /// budget.
    Calibrate(CalibrateArgs),
    /// What does that mean? A promise in words, numbers and a picture.
    Explain(ExplainArgs),
    /// One private statistic of a table: count, sum, mean, variance, quantile, histogram, mode.
    Query(QueryArgs),
    /// Budgets that outlive a process: create, show, history, verify, backup, export.
    Ledger(LedgerArgs),
    /// A schema to fill in, made from the header of a file alone, or found with noise.
    Schema(SchemaArgs),
    /// Completions for a shell, on standard output.
    Completions(CompletionsArgs),
    /// The manual page of the command or of a verb, on standard output.
    Man(ManArgs),
}

const ACCOUNT_EXAMPLES: &str = r#"Examples:
  DP-SGD, MNIST size, one line:
    sordino account --noise-multiplier 1.1 --sampling-rate 0.0042667 --steps 14062 --delta 1e-5
  Every accountant side by side:
    sordino account --noise-multiplier 4 --steps 10 --compare
  Any event, from a file or from standard input:
    echo '{"type":"laplace","noise_multiplier":10}' | sordino account -
    echo '{"neighbours":"replace","event":{"type":"gaussian","sigma":4,"sensitivity":1}}' |
      sordino account - --epsilon 1 --json

The answer is an interval that contains the true cost. Promise people the upper end."#;

#[derive(Debug, Args)]
#[command(after_help = ACCOUNT_EXAMPLES)]
pub(crate) struct AccountArgs {
    /// JSON to account for: {"neighbours":..., "event":...} or a bare event; `-` reads standard
    /// input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) training: Training,

    /// Ask for epsilon at this delta [default: 1e-6]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<Delta>,

    /// Ask for delta at this epsilon
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Option<Epsilon>,

    /// Which accountant answers: the tightest that applies, or the one you name
    #[arg(long, value_enum, default_value_t = AccountantFlag::Auto)]
    pub(crate) accountant: AccountantFlag,

    /// Show basic, advanced, Rényi and PLD accounting side by side
    #[arg(long)]
    pub(crate) compare: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

const CALIBRATE_EXAMPLES: &str = "\
Examples:
  Noise for a training run:
    sordino calibrate --epsilon 2.93 --delta 1e-5 --sampling-rate 0.0042667 --steps 14062
  How many steps may be taken?
    sordino calibrate --epsilon 3 --delta 1e-5 --noise-multiplier 1.1 --sampling-rate 0.0042667
  How large may a batch be?
    sordino calibrate --epsilon 3 --delta 1e-5 --noise-multiplier 1.1 --steps 14062
  Which part of epsilon = 1 may each of three releases spend?
    sordino calibrate --epsilon 1 --split 0.5,0.3,0.2

The answer always stays on the safe side of the target.";

#[derive(Debug, Args)]
#[command(after_help = CALIBRATE_EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// The target: stay at or below this epsilon
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Epsilon,

    /// At this delta [default: 1e-6; 0 with --parts or --split]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<Delta>,

    #[command(flatten)]
    pub(crate) training: Training,

    /// Share epsilon equally between this many releases of pure privacy
    #[arg(long, value_name = "N", conflicts_with = "split", value_parser = count, allow_hyphen_values = true)]
    pub(crate) parts: Option<Count>,

    /// Share epsilon between releases of pure privacy in these proportions, such as 0.5,0.3,0.2
    #[arg(
        long,
        value_name = "SHARES",
        value_delimiter = ',',
        value_parser = share,
        allow_hyphen_values = true
    )]
    pub(crate) split: Vec<f64>,

    /// What to find [default: the one of noise multiplier, steps and sampling rate that is not
    /// given]
    #[arg(long, value_enum)]
    pub(crate) solve: Option<Unknown>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// The numbers of a training run: Gaussian noise on Poisson samples, many times.
#[derive(Debug, Args)]
pub(crate) struct Training {
    /// Noise divided by the largest norm of one unit's contribution (the clip norm)
    #[arg(long, value_name = "Z", allow_hyphen_values = true)]
    pub(crate) noise_multiplier: Option<NoiseMultiplier>,

    /// Probability with which each unit enters a batch (Poisson sampling) [default: 1]
    #[arg(long, value_name = "Q", allow_hyphen_values = true)]
    pub(crate) sampling_rate: Option<SamplingRate>,

    /// The number of noisy steps [default: 1]
    #[arg(long, value_name = "T", value_parser = count, allow_hyphen_values = true)]
    pub(crate) steps: Option<Count>,

    /// What a neighbouring data set is [default: add_remove]
    #[arg(long, value_enum)]
    pub(crate) neighbours: Option<Relation>,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// No notes on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccountantFlag {
    /// The tightest that applies
    Auto,
    /// Epsilons and deltas add up
    Basic,
    /// The advanced composition theorem
    Advanced,
    /// Rényi divergences
    Rdp,
    /// Privacy-loss distributions
    Pld,
}

impl AccountantFlag {
    pub(crate) fn accountant(self) -> Accountant {
        match self {
            Self::Auto => Accountant::Auto,
            Self::Basic => Accountant::Basic,
            Self::Advanced => Accountant::Advanced,
            Self::Rdp => Accountant::Rdp,
            Self::Pld => Accountant::Pld,
        }
    }
}

/// The number that `calibrate` looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unknown {
    /// The noise multiplier
    #[value(aliases = ["noise-multiplier", "noise_multiplier"])]
    Noise,
    /// The number of steps
    Steps,
    /// The sampling rate
    #[value(alias = "sampling_rate")]
    SamplingRate,
}

impl Training {
    /// The relation that the flag names, or the default.
    pub(crate) fn neighbours(&self) -> Neighbours {
        self.neighbours.map_or(Neighbours::AddRemove, Relation::neighbours)
    }

    /// The first flag on the command line that describes a training run.
    pub(crate) fn flag_given(&self) -> Option<&'static str> {
        let Self { noise_multiplier, sampling_rate, steps, neighbours: _ } = self;
        let flags = [
            (noise_multiplier.is_some(), "--noise-multiplier"),
            (sampling_rate.is_some(), "--sampling-rate"),
            (steps.is_some(), "--steps"),
        ];
        flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

/// Parses one share of a budget. It is a proportion: only its ratio to the others counts.
fn share(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if share.is_finite() && share > 0.0 => Ok(share),
        Ok(_) | Err(_) => Err(format!("a share must be a finite number above 0, got `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_flags_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_default_delta_is_a_delta_and_the_help_states_it() {
        const DEFAULT_DELTA: f64 = 1e-6;
        assert_eq!(default_delta().get(), DEFAULT_DELTA);
        assert!(DEFAULT_DELTA_NOTE.contains(&format!("delta = {DEFAULT_DELTA:e}")));
        let default = format!("[default: {DEFAULT_DELTA:e}");
        for (verb, stated) in [
            ("account", format!("Ask for epsilon at this delta {default}]")),
            ("calibrate", format!("At this delta {default}; 0 with --parts or --split]")),
        ] {
            let mut command = Arguments::command();
            let help = command.find_subcommand_mut(verb).expect("a verb").render_help().to_string();
            // Lines are broken to the width of the terminal.
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.contains(&stated), "{help}");
        }
    }
}
