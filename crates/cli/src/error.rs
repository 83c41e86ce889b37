//! Why the command stops. Each message says what was expected, what came, and what to do next.

use std::io;
use std::process::ExitCode;

use sordino::mechanisms::MechanismError;
use sordino::noise::EntropyError;
use sordino::prelude::Neighbours;
use sordino::privacy::{AccountError, ChargeError, ReadError};
use sordino_data::{DataError, SchemaError};
use sordino_ledger::{Label, LedgerError};
use thiserror::Error as ThisError;

#[derive(Debug, ThisError)]
pub(crate) enum Error {
    #[error("cannot read {name}: {source}")]
    Read { name: String, source: io::Error },

    #[error("cannot read {name}: it is a directory; name the JSON file inside it")]
    Directory { name: String },

    #[error("{name} has more than {limit} bytes; larger lists of equal events are written as `repeated`")]
    TooLong { name: String, limit: u64 },

    #[error("{name} is not UTF-8 text (byte {position} is the first wrong one); save it as UTF-8 JSON")]
    NotText { name: String, position: usize },

    #[error("{name}: {source}")]
    Claim { name: String, source: ReadError },

    #[error("{name} states neighbours {stated} and --neighbours says {asked}; leave one of the two out")]
    TwoRelations { name: String, stated: Neighbours, asked: Neighbours },

    #[error(
        "nothing to account for: give a FILE, `-` for standard input, or --noise-multiplier \
         (with --sampling-rate and --steps); `sordino account --help` has examples"
    )]
    NothingToAccount,

    #[error("{flag} describes a training run and FILE already states an event; leave one of the two out")]
    FileAndFlags { flag: &'static str },

    #[error("{flag} needs --noise-multiplier: without noise there is nothing to account for")]
    NoNoise { flag: &'static str },

    #[error(
        "--delta and --epsilon are both given, so nothing is left to answer: give --delta to learn epsilon, \
         or --epsilon to learn delta"
    )]
    TwoQuestions,

    #[error(
        "noise multiplier, sampling rate and steps are all given, so nothing is left to solve for: leave one of \
         them out, or ask `sordino account` what they cost"
    )]
    NothingToSolve,

    #[error("--solve {unknown} looks for what {flag} gives; leave {flag} out")]
    SolvedIsGiven { unknown: &'static str, flag: &'static str },

    #[error("--solve {unknown} needs --noise-multiplier")]
    SolveNeedsNoise { unknown: &'static str },

    #[error(
        "--noise-multiplier alone leaves two unknowns: add --sampling-rate to learn steps, or --steps to learn the \
         sampling rate (--solve steps takes every record each step; --solve sampling-rate takes one step)"
    )]
    TwoUnknowns,

    #[error(
        "--delta 0 asks for pure privacy, which no amount of Gaussian noise gives: take a delta above 0, such as \
         1e-6, or release with Laplace noise of scale sensitivity / epsilon"
    )]
    PureCalibration,

    #[error(
        "{flag} describes a training run and --parts or --split shares a budget; ask one question at a time"
    )]
    SplitAndTraining { flag: &'static str },

    #[error("--epsilon 0 leaves nothing to share; give a number above 0")]
    NothingToSplit,

    #[error("a budget is split into at most {limit} parts, got {number}")]
    TooManyParts { number: u64, limit: u64 },

    #[error("cannot read {name}: it is a directory; name one file that holds the data")]
    DataIsDirectory { name: String },

    #[error("`{name}` makes no name for a data set; give one with --name")]
    NoName { name: String },

    #[error("no data set `{name}` in this ledger; `sordino ledger show` lists them")]
    NoSuchDataSet { name: Label },

    #[error("{0}")]
    Tampered(LedgerError),

    #[error("{0}")]
    Ledger(#[from] LedgerError),

    #[error("{0}")]
    Data(#[from] DataError),

    #[error("{0}")]
    Account(#[from] AccountError),

    /// The library can only advise to ask for less; whoever calibrates a run may also change the run.
    #[error("{source}, {also}")]
    OutOfReach { source: AccountError, also: &'static str },

    #[error("{0}")]
    Charge(#[from] ChargeError),

    #[error("{0}")]
    Mechanism(#[from] MechanismError),

    #[error("{0}")]
    Entropy(#[from] EntropyError),

    #[error("{0}")]
    Declared(Box<SchemaError>),

    #[error("{name}: {source}")]
    Schema { name: String, source: Box<SchemaError> },

    #[error("{name} has more than {limit} bytes, which is no schema")]
    SchemaTooLong { name: String, limit: u64 },

    #[error(
        "{statistic} needs declared bounds or values, because they must not be read off the data: give --schema FILE, \
         or --bounds LOW,HIGH (numbers), or --values A,B,... (categories)"
    )]
    NothingDeclared { statistic: &'static str },

    #[error("the table has no column to read; declare one that is not ignored")]
    NoColumn,

    #[error("column `{column}` is {is}, and this statistic needs {needed}")]
    ColumnKind { column: String, needed: &'static str, is: &'static str },

    #[error("column `{column}` has no value `{value}`; declared are {known}")]
    NoSuchValue { column: String, value: String, known: String },

    #[error(
        "under {neighbours} the number of records is public, and records can be dropped for what they hold in column \
         `{column}`, which would change it; ask under add_remove, or say in the schema what missing and other \
         values become (and do not ask with --permissive)"
    )]
    Drops { column: String, neighbours: Neighbours },

    #[error(
        "the ledger protects {ledger} and the schema {schema}; one promise cannot be paid from the other's budget"
    )]
    OtherUnit { ledger: String, schema: String },

    #[error("the ledger records who asks, and the system tells no user's name; give --who NAME")]
    NoAnalyst,

    #[error("nothing to explain: give --epsilon (and --delta), or --event FILE")]
    NothingToExplain,

    #[error("cannot write `{name}`: {source}")]
    WriteFile { name: String, source: io::Error },

    #[error("cannot write the result: {source}")]
    Write { source: io::Error },
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Self {
        Self::Declared(Box::new(error))
    }
}

impl Error {
    /// 1 where the honest answer is no, 2 where there is none.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let refused = matches!(
            self,
            Self::OutOfReach { .. }
                | Self::Account(AccountError::OutOfReach { .. })
                | Self::Tampered(_)
                | Self::Charge(ChargeError::Refused(_))
        );
        ExitCode::from(if refused { 1 } else { 2 })
    }
}
