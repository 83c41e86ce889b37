//! The flags of `sordino ledger`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use sordino::prelude::*;
use sordino_ledger::{Head, Label};

use crate::args::{Output, Relation};

const EXAMPLES: &str = "\
Examples:
  Give a data set a budget, once:
    sordino ledger create budgets.ledger --data census.csv --epsilon 2 --delta 1e-7
  Spend some of it; `sordino train` and `sordino schema --epsilon` have the same flags for it:
    sordino query census.csv count --epsilon 0.25 --ledger budgets.ledger --who ann
  What is left?
    sordino ledger show budgets.ledger
  Let ann spend half of it, and nobody else until they have a share too:
    sordino ledger grant budgets.ledger census.csv --to ann --epsilon 1
  Who spent what, and was it as it says?
    sordino ledger history budgets.ledger
    sordino ledger verify budgets.ledger

A budget has one relation, one unit and one way to read records, for good. Training needs the relation
zero_out, which is the default, or replace. Give --schema where files are not plain tables or the unit is
a column, and --locked to hold analysts to more. Nothing in a ledger is ever changed, removed or refunded.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LedgerArgs {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Give a data set its budget, in a new ledger or in one that exists
    Create(CreateArgs),
    /// Declare that a changed file, or a new name, is a data set that the ledger knows
    Link(LinkArgs),
    /// Give an analyst a share of a budget: their charges count against the share and the budget
    Grant(GrantArgs),
    /// Fix how a data set may be read and used, if that was not done when it was created
    Rule(RuleArgs),
    /// What is left of each budget
    Show(LedgerFile),
    /// Every charge: who, what, when, and its state
    History(HistoryArgs),
    /// Is every entry as it was written, and is none missing? Exit 1 if not
    Verify(VerifyArgs),
    /// Copy one moment of the ledger into a new file, while others may write
    Backup(BackupArgs),
    /// Write the ledger to standard output for other programs
    Export(ExportArgs),
    /// Raise an older ledger to the newest format, after which older programs refuse it
    Migrate(LedgerFile),
}

/// An existing ledger, and the form of the answer.
#[derive(Debug, Args)]
pub(crate) struct LedgerFile {
    /// The ledger: a file, or `postgres://USER@HOST/DATABASE` if the program was built with it
    #[arg(value_name = "LEDGER")]
    pub(crate) ledger: PathBuf,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    pub(crate) file: LedgerFile,

    #[command(flatten)]
    pub(crate) data: Data,

    /// Epsilon of the whole budget: the most that may ever be spent
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Epsilon,

    /// Delta of the whole budget [default: 1e-6]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<Delta>,

    /// What a neighbouring data set is; `train` needs zero_out or replace [default: zero_out]
    #[arg(long, value_enum)]
    pub(crate) neighbours: Option<Relation>,

    /// Whom it protects: `record`, `client`, or `column:NAME` for everything with one value of a
    /// column [default: what --schema says, or record]
    #[arg(long, value_parser = unit)]
    pub(crate) unit: Option<Unit>,

    /// Promise that charges will not depend on earlier results: they then cost less together
    #[arg(long)]
    pub(crate) planned: bool,

    /// What the budget adds up for charges that are not pure [default: renyi]
    #[arg(long, value_enum, conflicts_with = "planned")]
    pub(crate) filter: Option<FilterName>,

    /// The part of delta that is reserved for charges with a delta of their own [default: 0]
    #[arg(long, value_name = "DELTA", allow_hyphen_values = true, conflicts_with = "planned")]
    pub(crate) set_aside: Option<Delta>,

    #[command(flatten)]
    pub(crate) rules: RulesArgs,
}

/// What a budget adds up for charges that are not pure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FilterName {
    /// Rényi divergences at one order: suits all charges
    Renyi,
    /// Squared Gaussian distances: a tenth more full-batch models fit, fewer counts, and training
    /// on samples (`--method sgd`) is refused
    Gaussian,
}

/// What the owner of the data fixes for good.
#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    /// Fix how files are parsed and which unit is protected, as this schema says; every later
    /// schema must say the same [default: plain tables]
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,

    /// The owner of the data: nobody else is told which record does not fit a schema [default: the
    /// user's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<Label>,

    /// Hold analysts to --schema as it is, to --verbs, --most-epsilon and --out-folder; seeds,
    /// messages about records and --public-test are refused
    #[arg(long, requires_all = ["schema", "verbs", "most_epsilon", "out_folder"])]
    pub(crate) locked: bool,

    /// The commands that analysts may use
    #[arg(long, value_enum, value_delimiter = ',', requires = "locked")]
    pub(crate) verbs: Vec<Verb>,

    /// The largest epsilon of one charge
    #[arg(long, value_name = "EPSILON", requires = "locked", allow_hyphen_values = true)]
    pub(crate) most_epsilon: Option<Epsilon>,

    /// The only folder to which results may be written
    #[arg(long, value_name = "FOLDER", requires = "locked")]
    pub(crate) out_folder: Option<PathBuf>,
}

/// The commands that charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Verb {
    /// Models
    Train,
    /// Statistics
    Query,
    /// Bounds and categories that are found privately
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct RuleArgs {
    #[command(flatten)]
    pub(crate) file: LedgerFile,

    /// The name of the data set
    #[arg(value_name = "DATASET")]
    pub(crate) name: Label,

    /// The file that holds the data, to fix its format too: formats are also recognised by file
    /// names, which anybody can change
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) rules: RulesArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GrantArgs {
    #[command(flatten)]
    pub(crate) file: LedgerFile,

    /// The name of the data set
    #[arg(value_name = "DATASET")]
    pub(crate) name: Label,

    /// The analyst who gets the share
    #[arg(long, value_name = "ANALYST")]
    pub(crate) to: Label,

    /// The most that they may ever spend
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) epsilon: Epsilon,

    /// Delta of their share [default: that of the budget]
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) delta: Option<Delta>,
}

#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    #[command(flatten)]
    pub(crate) file: LedgerFile,

    #[command(flatten)]
    pub(crate) data: Data,

    /// Link the table by its values under this schema too, so that the same table in a program's
    /// memory spends from this budget
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
}

/// The data set.
#[derive(Debug, Args)]
pub(crate) struct Data {
    /// The file that holds the data; the ledger keeps its hash and nothing else of it
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,

    /// What the data set is called [default: the name of the file]
    #[arg(long)]
    pub(crate) name: Option<Label>,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) file: LedgerFile,

    /// Only charges to the data set of this name
    #[arg(long)]
    pub(crate) name: Option<Label>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) file: LedgerFile,

    /// A head that an earlier `verify` or `backup` printed: the history must still contain it
    #[arg(long, value_name = "NUMBER:HASH")]
    pub(crate) head: Option<Head>,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    pub(crate) file: LedgerFile,

    /// The new file
    #[arg(value_name = "COPY")]
    pub(crate) copy: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The ledger
    #[arg(value_name = "LEDGER")]
    pub(crate) ledger: PathBuf,

    /// One JSON object, or the charges as CSV
    #[arg(long, value_enum, default_value_t = Format::Json)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Data sets and charges, one object
    Json,
    /// Charges, one line each
    Csv,
}

fn unit(text: &str) -> Result<Unit, String> {
    match (text, text.strip_prefix("column:")) {
        ("record", _) => Ok(Unit::Record),
        ("client", _) => Ok(Unit::Client),
        (_, Some(name)) => match name.parse::<Label>() {
            Ok(name) => Ok(Unit::Column(name.into())),
            Err(error) => Err(error.to_string()),
        },
        (_, None) => Err(format!("a unit is `record`, `client` or `column:NAME`, got `{text}`")),
    }
}
