//! Why the command stops. Each message says what was expected, what came, and what to do next.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use sordino::prelude::Neighbours;
use sordino::privacy::{AccountError, ReadError};
use sordino_data::Misfits;
use sordino_ledger::{Label, LedgerError};
use sordino_run::RunError;
use thiserror::Error as ThisError;

#[derive(Debug, ThisError)]
pub(crate) enum Error {
    #[error(transparent)]
    Run(Box<RunError>),

    /// The run was stopped; `command` resumes it.
    #[error("{error}:\n  {command}")]
    Stopped { error: Box<RunError>, command: String },

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
        "noise multiplier, sampling rate and steps are all given, so nothing is left to solve for: leave one \
        of them out, or ask `sordino account` what they cost"
    )]
    NothingToSolve,

    #[error("--solve {unknown} looks for what {flag} gives; leave {flag} out")]
    SolvedIsGiven { unknown: &'static str, flag: &'static str },

    #[error("--solve {unknown} needs --noise-multiplier")]
    SolveNeedsNoise { unknown: &'static str },

    #[error(
        "--noise-multiplier alone leaves two unknowns: add --sampling-rate to learn steps, or --steps to \
        learn the sampling rate (--solve steps takes every record each step; --solve sampling-rate takes one \
        step)"
    )]
    TwoUnknowns,

    #[error(
        "--delta 0 asks for pure privacy, which no amount of Gaussian noise gives: take a delta above 0, \
        such as 1e-6, or release with Laplace noise of scale sensitivity / epsilon"
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

    #[error(
        "the ledger records the owner of the data, and the system states no user name; give --owner NAME"
    )]
    NoOwner,

    #[error("no data set `{name}` in this ledger; `sordino ledger show` lists them")]
    NoSuchDataSet { name: Label },

    #[error("{0}")]
    Tampered(LedgerError),

    #[error(
        "`{}` has column `{column}`, which the model was not trained with; remove the column from the file: \
        the model's schema is part of it{hint}", path.display()
    )]
    ColumnOfOtherModel { path: PathBuf, column: String, hint: String },

    #[error("the model needs column `{column}`, which `{}` does not have; add it{hint}", path.display())]
    ColumnOfModel { path: PathBuf, column: String, hint: String },

    #[error(
        "`{}`, row {row}, column `{column}`: the model expects {expected}; correct the value, or give \
        --permissive, which maps it or leaves the prediction empty", path.display()
    )]
    CellOfModel { path: PathBuf, row: u64, column: String, expected: String },

    #[error(
        "`{}` has another delimiter than the data that the model was trained with; save the file with the \
        same delimiter", path.display()
    )]
    DelimiterOfModel { path: PathBuf },

    #[error(
        "`{}` does not fit the model in {} places; correct them, or give --permissive, which maps values or \
        leaves predictions empty:{}", path.display(), misfits.count(), misfits.lines(false)
    )]
    MisfitsOfModel { path: PathBuf, misfits: Misfits },

    /// The library can only advise to raise ε or δ; a user who calibrates a run may also change the
    /// run.
    #[error("{source}, {also}")]
    OutOfReach { source: AccountError, also: &'static str },

    #[error(
        "{flag} is for what is paid, and a template costs nothing; add --epsilon to find bounds in the data, \
        or leave {flag} out"
    )]
    NothingToPay { flag: &'static str },

    #[error("there is no verb `{}`; `sordino --help` lists them{hint}", verb.escape_debug())]
    NoVerb { verb: String, hint: String },

    #[error("nothing to explain: give --epsilon (and --delta), or --event FILE")]
    NothingToExplain,

    #[error(
        "a model of the {loss} loss has no probabilities; leave --proba out, or train with logistic or \
        softmax"
    )]
    NoProbabilities { loss: &'static str },

    #[error("cannot write the result: {source}")]
    Write { source: io::Error },
}

/// Every error of a library becomes a [`RunError`] first, so each has one message.
impl<E: Into<RunError>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Run(Box::new(error.into()))
    }
}

impl Error {
    /// 1 if the honest answer is no, 2 if there is no answer.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let is_refusal = if let Self::Run(error) = self {
            error.is_refusal()
        } else {
            matches!(self, Self::OutOfReach { .. } | Self::Tampered(_))
        };
        ExitCode::from(if is_refusal { 1 } else { 2 })
    }
}
