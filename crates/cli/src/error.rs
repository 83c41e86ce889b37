//! Why the command stops. Each message says what was expected, what came, and what to do next.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use sordino::mechanisms::MechanismError;
use sordino::noise::EntropyError;
use sordino::prelude::{Neighbours, Unit};
use sordino::privacy::{AccountError, ChargeError, ParamError, ReadError, ReleaseError};
use sordino_data::{DataError, DiscoverError, SchemaError};
use sordino_learn::LearnError;
use sordino_ledger::{Label, LedgerError};
use sordino_nn::{DescriptionError, NetworkError};
use sordino_optim::OptimError;
use thiserror::Error as ThisError;

use crate::train::receipt::Mismatch;

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

    #[error("the ledger records who owns the data, and the system tells no user's name; give --owner NAME")]
    NoOwner,

    #[error("no data set `{name}` in this ledger; `sordino ledger show` lists them")]
    NoSuchDataSet { name: Label },

    #[error("{0}")]
    Tampered(LedgerError),

    #[error("{0}")]
    Ledger(#[from] LedgerError),

    #[error("{0}")]
    Data(#[from] DataError),

    #[error(
        "`{}` has column `{column}`, which the model was not trained with{hint}; remove the column from the file: the model's schema is \
         part of it", path.display()
    )]
    ColumnOfOtherModel { path: PathBuf, column: String, hint: String },

    #[error("the model needs column `{column}`, which `{}` does not have{hint}; add it", path.display())]
    ColumnOfModel { path: PathBuf, column: String, hint: String },

    #[error(
        "`{}`, row {row}, column `{column}`: the model expects {expected}; correct the value, or give --permissive, which maps it or leaves \
         the prediction empty", path.display()
    )]
    CellOfModel { path: PathBuf, row: u64, column: String, expected: String },

    #[error("{0}")]
    Account(#[from] AccountError),

    /// The library can only advise to ask for less; whoever calibrates a run may also change the run.
    #[error("{source}, {also}")]
    OutOfReach { source: AccountError, also: &'static str },

    #[error("{0}")]
    Charge(ChargeError),

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

    #[error("the file has no column `{}`{hint}", column.escape_debug())]
    NoSuchColumn { column: String, hint: String },

    #[error(
        "nothing says whether column `{column}` holds numbers or categories: name the columns to be found with --numbers and \
         --categories, or declare it in the schema that --schema names"
    )]
    UnknownKind { column: String },

    #[error(
        "{flag} is for what is paid, and a template costs nothing; add --epsilon to find bounds in the data, or leave {flag} out"
    )]
    NothingToPay { flag: &'static str },

    #[error(
        "`{}` is a schema that an earlier run bought for other columns or another price; give the same flags as then, or remove its \
         folder to give it up (what it was charged stays spent)", path.display()
    )]
    OtherSchemaBought { path: PathBuf },

    #[error(
        "{flag} needs a schema, and with --estimate-schema-with there is none before it is paid for; buy one with `sordino schema --epsilon`, \
         and give it with --schema"
    )]
    NoSchemaYet { flag: &'static str },

    #[error(
        "{flag} names what is to be bought, and nothing says for how much; add --estimate-schema-with FRACTION, or leave {flag} out"
    )]
    NeedsEstimate { flag: &'static str },

    #[error("`{}` exists, and is not overwritten; name another file with --out, or remove it", path.display())]
    FileExists { path: PathBuf },

    #[error("the table has no column to read; declare one that is not ignored")]
    NoColumn,

    #[error("the schema declares no column `{}`{hint}", column.escape_debug())]
    NotDeclared { column: String, hint: String },

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
        "the ledger protects {ledger} and the schema {schema}; one promise cannot be paid from the other's budget: use a schema with \
         the ledger's unit, or a budget that was made for this one (`sordino ledger create --unit {flag}`)"
    )]
    OtherUnit { ledger: String, schema: String, flag: String },

    #[error("{flag} is for the ledger's record, and no --ledger is given; give one, or leave {flag} out")]
    NeedsLedger { flag: &'static str },

    #[error("the ledger records who asks, and the system tells no user's name; give --who NAME")]
    NoAnalyst,

    #[error("there is no verb `{}`{hint}; `sordino --help` lists them", verb.escape_debug())]
    NoVerb { verb: String, hint: String },

    #[error("nothing to explain: give --epsilon (and --delta), or --event FILE")]
    NothingToExplain,

    #[error("{flag} is missing; give it, or write it into the file of --config")]
    NoSetting { flag: &'static str },

    #[error(
        "no --schema given: bounds and categories must be declared, because they must not be read off the data; \
         `sordino schema {}` writes a template", data.display()
    )]
    NoSchema { data: PathBuf },

    #[error("`{name}` cannot be used: {reason}")]
    Config { name: String, reason: String },

    #[error("the settings of this run cannot be written down: {reason}")]
    Unwritable { reason: String },

    #[error("--epsilon 0 allows no release that depends on the data; give a number above 0, such as 1")]
    NoEpsilon,

    #[error("{flag} must be {expected}, got {got}")]
    Number { flag: &'static str, expected: &'static str, got: f64 },

    #[error("--rows says {stated} and `{}` has {counted} records; leave --rows out, or correct it", data.display())]
    OtherRows { data: PathBuf, stated: u64, counted: u64 },

    #[error(
        "delta is 0, and --method {method} adds Gaussian noise, which needs a delta above 0: give --delta, or a ledger \
         whose budget has one, or use output-perturbation or objective-perturbation, which need none"
    )]
    PureTraining { method: &'static str },

    #[error(
        "--method sufficient-statistics does the squared loss of a number, and this is {loss}; use another method, or \
         another target"
    )]
    MethodNeedsSquared { loss: &'static str },

    #[error(
        "training needs a public number of records, which {neighbours} does not give; use zero_out or replace, also when \
         the ledger's data set is created (`sordino ledger create --neighbours zero_out`)"
    )]
    PrivateSize { neighbours: Neighbours },

    #[error(
        "no method is done within {given} minutes: the fastest takes about {needed:.1}; allow more with --minutes, or name fewer \
         records with --rows"
    )]
    NoTime { needed: f64, given: f64 },

    #[error(
        "without DATA the schema must name every column, and `{pattern}` stands for several; name DATA, of which only the header \
         is read"
    )]
    PatternWithoutData { pattern: String },

    #[error("--method {method} does not use {flag}; leave it out, or use one that does: {known}")]
    FlagOfOtherMethod { flag: &'static str, method: &'static str, known: String },

    #[error("{first} and {second} are both given, and say the same thing; leave one of them out")]
    TwoFlags { first: &'static str, second: &'static str },

    #[error(
        "a batch of {batch} is more than all {n} records; give fewer with --batch-size, or --method gradient-descent, which takes all"
    )]
    LargeBatch { batch: u64, n: u64 },

    #[error(
        "--method {method} is for linear models; leave it out, or use sgd or gradient-descent with --model"
    )]
    MethodForLinear { method: &'static str },

    #[error("{flag} is for linear models; leave it out, or leave --model out")]
    FlagOfLinear { flag: &'static str },

    #[error("{flag} is for networks; leave it out, or name a network with --model")]
    FlagOfNetwork { flag: &'static str },

    #[error("{flag} is for {style}; leave it out, or ask for that")]
    FlagOfStyle { flag: &'static str, style: &'static str },

    #[error("--hidden is for a preset, and `{name}` is a file; write the widths into it")]
    HiddenAndFile { name: String },

    #[error(
        "--image {image} is not what the records are: they have {numbers} numbers; correct it, or leave it out"
    )]
    OtherPicture { image: String, numbers: usize },

    #[error("the target is {target}, and the description states another loss; leave it out")]
    OtherLoss { target: &'static str },

    #[error("--model {name}: {source}")]
    Description { name: String, source: Box<DescriptionError> },

    #[error("{0}")]
    Network(#[from] NetworkError),

    #[error(
        "the data is not what it was when the run was planned: it was changed meanwhile; what was charged stays spent"
    )]
    ChangedData,

    #[error("this method is done at once and has nothing to resume; leave --resume out")]
    CannotResume,

    #[error("`{}` exists, and a model is never overwritten; name another directory with --out, or remove it", out.display())]
    OutExists { out: PathBuf },

    #[error("another run is writing `{}` right now; wait for it, or name another directory with --out", out.display())]
    OutInUse { out: PathBuf },

    #[error("no room for {room} bytes at `{}`: {source}; nothing was charged", out.display())]
    NoRoom { out: PathBuf, room: u64, source: io::Error },

    #[error(
        "`{}` holds a run that was stopped: go on with it by --resume, or remove it to give it up (what it was charged \
         stays spent)", part.display()
    )]
    Unfinished { part: PathBuf },

    #[error(
        "`{}` holds no run to go on with; leave --resume out, or give --out as it was given before", part.display()
    )]
    NothingToResume { part: PathBuf },

    #[error("cannot go on with what an earlier run left: {0}")]
    Resume(#[from] Mismatch),

    #[error(
        "what `{}` keeps cannot be read: {reason}; if another version of this program left it, go on with that one, or remove the folder to give it \
         up (what it was charged stays spent)", part.display()
    )]
    BadRecord { part: PathBuf, reason: String },

    #[error(
        "cannot write `{}`: {source}; the model was paid for and is in `{}` instead: move it from there, it is whole",
        out.display(), elsewhere.display()
    )]
    ModelElsewhere { out: PathBuf, elsewhere: PathBuf, source: io::Error },

    #[error(
        "cannot write `{}`: {source}; the model was paid for and is not lost: mend that, and --resume writes it at no further cost",
        out.display()
    )]
    ModelWaits { out: PathBuf, source: io::Error },

    #[error(
        "stopped after {steps} of {of} {what}; what was charged stays spent, and this goes on from here at no further cost:\n  {command}"
    )]
    Stopped { steps: u64, of: u64, what: &'static str, command: String },

    #[error("cannot prepare for Ctrl-C: {source}")]
    Signals { source: io::Error },

    #[error(
        "`{}` is private: it is the data itself, or has a budget in the ledger, and a score on it would be one more release, which nobody pays \
         for; name other records after --public-test, or leave it out", path.display()
    )]
    PrivateTest { path: PathBuf },

    #[error("`{}` has no column `{column}`, which the predictions are to be compared with", path.display())]
    NoPublicTarget { path: PathBuf, column: String },

    #[error("`{name}` is no model of this program: {reason}; give the directory that `sordino train` left")]
    NoModel { name: String, reason: String },

    #[error(
        "`{}` is not the file that was written after training: its SHA-256 differs from the manifest's; get an untouched \
         copy of the whole directory", file.display()
    )]
    TamperedModel { file: PathBuf },

    #[error(
        "`{ledger}` has no booking of `{model}` as it is: it was changed together with its manifest, or another ledger \
         paid for it"
    )]
    NotBooked { model: String, ledger: String },

    #[error(
        "a model of the {loss} loss has no probabilities; leave --proba out, or train with logistic or softmax"
    )]
    NoProbabilities { loss: &'static str },

    #[error("{0}")]
    Learn(LearnError),

    #[error("{0}")]
    Optim(OptimError),

    #[error("{0}")]
    Discover(DiscoverError),

    #[error("{0}")]
    Release(#[from] ReleaseError),

    #[error("{0}")]
    Param(#[from] ParamError),

    #[error("cannot write `{name}`: {source}")]
    WriteFile { name: String, source: io::Error },

    #[error("cannot write the result: {source}")]
    Write { source: io::Error },
}

impl Error {
    /// What a ledger protects is not what the schema says.
    pub(crate) fn other_unit(ledger: &Unit, schema: &Unit) -> Self {
        let flag = match schema {
            Unit::Record => "record".to_owned(),
            Unit::Column(name) => format!("column:{}", name.escape_debug()),
            Unit::Client => "client".to_owned(),
        };
        Self::OtherUnit { ledger: ledger.to_string(), schema: schema.to_string(), flag }
    }
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Self {
        Self::Declared(Box::new(error))
    }
}

/// What a ledger refuses, or cannot do, is said in its own words.
impl From<ChargeError> for Error {
    fn from(error: ChargeError) -> Self {
        let ChargeError::Journal(reason) = error else { return Self::Charge(error) };
        match reason.downcast::<LedgerError>() {
            Ok(reason) => Self::Ledger(*reason),
            Err(reason) => Self::Charge(ChargeError::Journal(reason)),
        }
    }
}

/// One level: whoever matches on what stopped a run finds it in one place.
impl From<LearnError> for Error {
    fn from(error: LearnError) -> Self {
        if let LearnError::Optim(error) = error {
            return error.into();
        }
        if let LearnError::Account(error) = error { error.into() } else { Self::Learn(error) }
    }
}

impl From<DiscoverError> for Error {
    fn from(error: DiscoverError) -> Self {
        if let DiscoverError::Data(error) = error {
            return error.into();
        }
        if let DiscoverError::Charge(error) = error { error.into() } else { Self::Discover(error) }
    }
}

impl From<OptimError> for Error {
    fn from(error: OptimError) -> Self {
        if let OptimError::Account(error) = error {
            return error.into();
        }
        if let OptimError::Charge(error) = error { error.into() } else { Self::Optim(error) }
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
                | Self::TamperedModel { .. }
                | Self::NotBooked { .. }
                | Self::Charge(ChargeError::Refused(_))
        ) || matches!(self, Self::Ledger(error) if error.is_refusal());
        ExitCode::from(if refused { 1 } else { 2 })
    }
}
