//! Why a run stops. Each message says what was expected, what came, and what to do next.

use std::io;
use std::path::PathBuf;

use sordino_data::{DataError, DiscoverError, ReadingError, SchemaError};
use sordino_learn::LearnError;
use sordino_ledger::{Label, LedgerError};
use sordino_mechanisms::MechanismError;
use sordino_nn::{DescriptionError, FitError};
use sordino_noise::EntropyError;
use sordino_optim::OptimError;
use sordino_privacy::{AccountError, ChargeError, Neighbours, ParamError, ReleaseError, Unit};

pub use crate::receipt::Mismatch;

/// Why a run cannot be planned, or ended early. Messages name settings as the command spells them;
/// see [`respelled`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message explains its variant and names its fields")]
pub enum RunError {
    #[error("cannot read {name}: {source}")]
    Read { name: String, source: io::Error },

    #[error("cannot write `{name}`: {source}")]
    WriteFile { name: String, source: io::Error },

    #[error(
        "`{}` exists, and is not overwritten; name another file with --out, or remove it",
        path.display()
    )]
    FileExists { path: PathBuf },

    #[error("cannot derive a data-set name from `{name}`; give one with --name")]
    NoName { name: String },

    #[error("{name} states neighbours {stated} and --neighbours says {asked}; leave one of the two out")]
    TwoRelations { name: String, stated: Neighbours, asked: Neighbours },

    #[error(
        "the ledger protects {ledger} and the schema {schema}; one promise cannot be paid from the other's \
         budget: use a schema with the ledger's unit, or a budget that was made for this one (`sordino \
         ledger create --unit {flag}`)"
    )]
    OtherUnit { ledger: String, schema: String, flag: String },

    #[error(
        "a ledger pays for noise that nobody can repeat, and --danger-seed names a seed; leave \
         --danger-seed out, or leave --ledger out for a test"
    )]
    SeededCharge,

    #[error(
        "data set `{name}` is locked to one schema, and this is another; give the owner's with --schema, \
         unchanged"
    )]
    OtherSchema { name: Label },

    #[error(
        "the data set is locked to one schema, and nothing can be added to it; leave --estimate-schema-with \
        out"
    )]
    LockedSchema,

    #[error(
        "the data set is locked, and results of it are written to `{}` alone; name a place there with \
        --out", folder.display()
    )]
    OtherFolder { folder: PathBuf },

    #[error(
        "the data set is locked, and a score is a release unless its owner knows the records to be public; \
         leave --public-test out"
    )]
    LockedTest,

    #[error("the ledger records the analyst, and the system states no user name; give --who NAME")]
    NoAnalyst,

    #[error("{setting} has no meaning for {by}; leave it out")]
    Unused { setting: String, by: String },

    #[error("{setting} is missing; give it, or write it into the file of --config")]
    Missing { setting: &'static str },

    #[error("{first} and {second} are both given, and say the same thing; leave one of them out")]
    TwoSettings { first: &'static str, second: &'static str },

    #[error("{setting} must be {expected}, got {got}")]
    Number { setting: &'static str, expected: &'static str, got: f64 },

    #[error("--epsilon 0 allows no release that depends on the data; give a number above 0, such as 1")]
    NoEpsilon,

    #[error("`{name}` cannot be used: {reason}")]
    Config { name: String, reason: String },

    #[error("the settings of this run cannot be written down: {reason}")]
    Unwritable { reason: String },

    #[error(
        "no --schema given: bounds and categories must be declared, because they must not be read off the \
         data; `sordino schema {}` writes a template",
        data.display()
    )]
    NoSchema { data: PathBuf },

    #[error("{name}: {source}")]
    Schema { name: String, source: Box<SchemaError> },

    #[error("{name} has more than {limit} bytes, and no schema is that long")]
    SchemaTooLong { name: String, limit: u64 },

    #[error("{0}")]
    Declared(Box<SchemaError>),

    #[error(
        "column `{column}` is a number, and a histogram counts values that are declared; say where its cells \
        end: --edges 0,10,20"
    )]
    NoEdges { column: String },

    #[error(
        "--edges must be at least two finite numbers, each above the one before, at most {most}, got {got}"
    )]
    Edges { got: String, most: usize },

    #[error(
        "the edge {edge} lies outside of the column's bounds, {lower} to {upper}; leave it out, or declare \
        other bounds"
    )]
    EdgeOutside { edge: f64, lower: f64, upper: f64 },

    #[error(
        "the target `{column}` has one value, `{value}`, in the schema: there is nothing to tell apart; list \
        all of its values, or name another target"
    )]
    OneClass { column: String, value: String },

    #[error(
        "without DATA the schema must name every column, and `{pattern}` stands for several; name DATA, of \
         which only the header is read"
    )]
    PatternWithoutData { pattern: String },

    #[error(
        "--rows says {stated} and `{}` has {counted} records; leave --rows out, or correct it",
        data.display()
    )]
    OtherRows { data: PathBuf, stated: u64, counted: u64 },

    #[error(
        "training needs a public number of records, which {neighbours} does not give; use zero_out or \
         replace, also when the ledger's data set is created (`sordino ledger create --neighbours \
         zero_out`)"
    )]
    PrivateSize { neighbours: Neighbours },

    #[error(
        "delta is 0, and --method {method} adds Gaussian noise, which needs a delta above 0: give --delta, \
         or a ledger whose budget has one, or use output-perturbation or objective-perturbation, which \
         need none"
    )]
    PureTraining { method: &'static str },

    #[error(
        "a batch of {batch} is more than all {n} records; give fewer with --batch-size, or --method \
         gradient-descent, which takes all"
    )]
    LargeBatch { batch: u64, n: u64 },

    #[error(
        "--method {method} is for linear models; leave it out, or use sgd or gradient-descent with --model"
    )]
    MethodForLinear { method: &'static str },

    #[error("--image {image} does not fit records of {numbers} numbers; correct it, or leave it out")]
    OtherPicture { image: String, numbers: usize },

    #[error("the target is {target}, and the description states another loss; leave it out")]
    OtherLoss { target: &'static str },

    #[error("--model {name}: {source}")]
    Description { name: String, source: Box<DescriptionError> },

    #[error(
        "the run takes about {} MB of memory, and {} MB are free; use fewer records or columns, or a \
         machine with more; nothing was charged",
        needed / 1_000_000, free / 1_000_000
    )]
    NoMemory { needed: u64, free: u64 },

    #[error(
        "no method is done within {given} minutes: the fastest takes about {needed:.1}; allow more with \
         --minutes, or name fewer records with --rows"
    )]
    NoTime { needed: f64, given: f64 },

    #[error("the file has no column `{}`{hint}", column.escape_debug())]
    NoSuchColumn { column: String, hint: String },

    #[error(
        "the owner of the data ignores column `{}`, and nobody else may look at it; leave it out",
        column.escape_debug()
    )]
    IgnoredColumn { column: String },

    #[error(
        "nothing says whether column `{column}` holds numbers or categories: name the columns to be found \
         with --numbers and --categories, or declare it in the schema that --schema names"
    )]
    UnknownKind { column: String },

    #[error(
        "{statistic} needs declared bounds or values, because they must not be read off the data: give \
         --schema FILE, or --bounds LOW,HIGH (numbers), or --values A,B,... (categories)"
    )]
    NothingDeclared { statistic: &'static str },

    #[error("no data set `{name}` in this ledger; {known}")]
    UnknownDataSet { name: Label, known: String },

    #[error(
        "`{}`{place}: {what}; give {instead}, or --permissive, which leaves out what does not fit",
        path.display()
    )]
    UnfitWithoutSchema { path: PathBuf, place: String, what: String, instead: &'static str },

    #[error("the table has no column to read; declare one that is not ignored")]
    NoColumn,

    #[error("the schema declares no column `{}`{hint}", column.escape_debug())]
    NotDeclared { column: String, hint: String },

    #[error("column `{column}` is {is}, and this statistic needs {needed}")]
    ColumnKind { column: String, needed: &'static str, is: &'static str },

    #[error("column `{column}` has no value `{value}`; the declared values are {known}")]
    NoSuchValue { column: String, value: String, known: String },

    #[error(
        "column `{column}` drops records with no value, so the number of records left is private, and a \
        {statistic} under {neighbours} needs it to be public; {remedy}"
    )]
    Drops { column: String, neighbours: Neighbours, statistic: &'static str, remedy: String },

    #[error(
        "`{}` is a schema that an earlier run bought for other columns or another price; give the same \
         flags as then, or remove its folder to give it up (what it was charged stays spent)",
        path.display()
    )]
    OtherSchemaBought { path: PathBuf },

    #[error(
        "{setting} needs a schema, and with --estimate-schema-with there is none before it is paid for; \
         buy one with `sordino schema --epsilon`, and give it with --schema"
    )]
    NoSchemaYet { setting: &'static str },

    #[error("this method is done at once and has nothing to resume; leave --resume out")]
    CannotResume,

    #[error(
        "`{}` exists, and a model is never overwritten; name another directory with --out, or remove it",
        out.display()
    )]
    OutExists { out: PathBuf },

    #[error(
        "another run is writing `{}` right now; wait for it, or name another directory with --out",
        out.display()
    )]
    OutInUse { out: PathBuf },

    #[error("no room for {room} bytes at `{}`: {source}; nothing was charged", out.display())]
    NoRoom { out: PathBuf, room: u64, source: io::Error },

    #[error(
        "`{}` holds a run that was stopped: resume it with --resume, or remove the folder to give it up \
         (what it was charged stays spent)",
        part.display()
    )]
    Unfinished { part: PathBuf },

    #[error(
        "`{}` holds no run to resume; leave --resume out, or give --out as it was given before (a run \
        that was killed before its first checkpoint, while it read the data, cannot be resumed, and \
        its charge stays spent)",
        part.display()
    )]
    NothingToResume { part: PathBuf },

    #[error(
        "cannot resume the earlier run: it was begun with {setting} {then}, and now it is \
        {now}; give all flags as before, or remove the working folder to give the run up (what it was \
        charged stays spent)"
    )]
    OtherSetting { setting: String, then: String, now: String },

    #[error(
        "cannot resume the earlier run: the file of {setting} has changed; give it as before, or remove the \
        working folder to give the run up (what it was charged stays spent)"
    )]
    OtherContent { setting: String },

    #[error("cannot resume the earlier run: {0}")]
    Resume(#[from] Mismatch),

    #[error(
        "the files in `{}` cannot be read: {reason}; if another version of this program wrote them, resume \
         with that version, or remove the folder to give the run up (what it was charged stays spent)",
        part.display()
    )]
    BadRecord { part: PathBuf, reason: String },

    #[error(
        "cannot write `{}`: {source}; the model was paid for and is in `{}` instead: move it from there, \
         it is whole",
        out.display(), elsewhere.display()
    )]
    ModelElsewhere { out: PathBuf, elsewhere: PathBuf, source: io::Error },

    #[error(
        "cannot write `{}`: {source}; the model was paid for and is not lost: fix that, and --resume \
         writes it at no further cost",
        out.display()
    )]
    ModelWaits { out: PathBuf, source: io::Error },

    #[error(
        "stopped after {steps} of {of} {what}; {}--resume continues from here {}",
        if *is_charged { "what was charged stays spent, and " } else { "" },
        if *is_counted { "at no further cost" } else {
            "and pays once more for all that is left to do: a ledger of this format counts no steps \
            (`sordino ledger migrate` before the next run)"
        }
    )]
    Stopped { steps: u64, of: u64, what: &'static str, is_charged: bool, is_counted: bool },

    #[error(
        "stopped after {steps} of {of} {what}; {}there is no working folder to go on from",
        if *is_charged { "what was charged stays spent, and " } else { "" }
    )]
    StoppedForGood { steps: u64, of: u64, what: &'static str, is_charged: bool },

    #[error("stopped before anything was charged; no record was read for a model")]
    StoppedInTime,

    #[error("there is nothing to resume: the run has no working folder; name the one that it was begun with")]
    NoFolder,

    #[error(
        "no data set in this ledger has these values under this schema; create its budget, or link the \
         table to the data set of the file that it came from"
    )]
    UnknownTable,

    #[error(
        "the data set `{name}` is locked: its owner allows files alone, not tables in memory; give the file"
    )]
    LockedTable { name: Label },

    #[error(
        "the data set `{name}` is locked: its models do not stay in a program, they are written to `{}`; use \
         `sordino train`",
        folder.display()
    )]
    LockedModel { name: Label, folder: PathBuf },

    #[error(
        "`{}` is private: it is the data itself, or has a budget in the ledger, and a score on it would be \
         one more release, which nobody pays for; name other records after --public-test, or leave it out",
        path.display()
    )]
    PrivateTest { path: PathBuf },

    #[error("`{}` has no column `{column}`, which the predictions are to be compared with", path.display())]
    NoPublicTarget { path: PathBuf, column: String },

    #[error("the target has no class `{}`; give --threshold CLASS=P{hint}", class.escape_debug())]
    NoSuchClass { class: String, hint: String },

    #[error("the file of --public-test has no column `{}`; name one of its columns with \
        --by{hint}", column.escape_debug())]
    NoGroupColumn { column: String, hint: String },

    #[error(
        "the schema declares no values of column `{column}`, which --by names; list them: --by \
        {column}=VALUE,VALUE"
    )]
    UndeclaredGroups { column: String },

    #[error("`{name}` is no model of this program: {reason}; give the directory that `sordino train` wrote")]
    NoModel { name: String, reason: String },

    #[error(
        "`{}` is not the file that was written after training: its SHA-256 differs from the manifest's; \
         get an untouched copy of the whole directory",
        file.display()
    )]
    TamperedModel { file: PathBuf },

    #[error(
        "`{ledger}` has no booking of `{model}` as it is: it was changed together with its manifest, or \
         another ledger paid for it"
    )]
    NotBooked { model: String, ledger: String },

    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Reading(#[from] ReadingError),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Charge(ChargeError),
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    #[error(transparent)]
    Learn(LearnError),
    #[error(transparent)]
    Network(FitError),
    #[error(transparent)]
    Optim(OptimError),
    #[error(transparent)]
    Discover(DiscoverError),
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error(transparent)]
    Param(#[from] ParamError),
}

impl RunError {
    /// The ledger and the schema state different units.
    pub(crate) fn other_unit(ledger: &Unit, schema: &Unit) -> Self {
        let flag = match schema {
            Unit::Record => "record".to_owned(),
            Unit::Column(name) => format!("column:{}", name.escape_debug()),
            Unit::Client => "client".to_owned(),
        };
        Self::OtherUnit { ledger: ledger.to_string(), schema: schema.to_string(), flag }
    }

    /// Whether the request was sound and the answer is no: the budget refuses, or a model is not
    /// the one that was booked. Every other error means that the request could not be run.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Account(AccountError::OutOfReach { .. })
                | Self::TamperedModel { .. }
                | Self::NotBooked { .. }
                | Self::Charge(ChargeError::Refused(_))
        ) || matches!(self, Self::Ledger(error) if error.is_refusal())
    }
}

/// Shows the ledger's own error instead of wrapping it.
impl From<ChargeError> for RunError {
    fn from(error: ChargeError) -> Self {
        let ChargeError::Journal(reason) = error else { return Self::Charge(error) };
        match reason.downcast::<LedgerError>() {
            Ok(reason) => Self::Ledger(*reason),
            Err(reason) => Self::Charge(ChargeError::Journal(reason)),
        }
    }
}

impl From<SchemaError> for RunError {
    fn from(error: SchemaError) -> Self {
        Self::Declared(Box::new(error))
    }
}

/// Unwraps errors of lower crates, so that each cause has one variant to match on.
impl From<LearnError> for RunError {
    fn from(error: LearnError) -> Self {
        if let LearnError::Optim(error) = error {
            return error.into();
        }
        if let LearnError::Account(error) = error { error.into() } else { Self::Learn(error) }
    }
}

impl From<FitError> for RunError {
    fn from(error: FitError) -> Self {
        if let FitError::Optim(error) = error { error.into() } else { Self::Network(error) }
    }
}

impl From<DiscoverError> for RunError {
    fn from(error: DiscoverError) -> Self {
        if let DiscoverError::Data(error) = error {
            return error.into();
        }
        if let DiscoverError::Charge(error) = error { error.into() } else { Self::Discover(error) }
    }
}

impl From<OptimError> for RunError {
    fn from(error: OptimError) -> Self {
        if let OptimError::Account(error) = error {
            return error.into();
        }
        if let OptimError::Charge(error) = error { error.into() } else { Self::Optim(error) }
    }
}

/// Rewrites the settings in a message: `spell` gets `batch_size` and returns the replacement of
/// `--batch-size`.
///
/// ```
/// let message = "--rows says 3 and `a.csv` has 4 records; leave --rows out, or correct it";
/// let python = sordino_run::respelled(message, |setting| format!("{setting}="));
/// assert!(python.starts_with("rows= says 3"));
/// ```
pub fn respelled(message: &str, spell: impl Fn(&str) -> String) -> String {
    let mut parts = message.split("--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(part.len());
        let (flag, rest) = part.split_at(end);
        text.push_str(&if flag.is_empty() { "--".to_owned() } else { spell(&flag.replace('-', "_")) });
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ledgers of format 1 and 2 count no steps, so a resumed run pays for all remaining steps. The
    /// message once said that resuming was free.
    #[test]
    fn resuming_is_free_only_if_the_ledger_counts_steps() {
        let stopped = |is_charged, is_counted| {
            RunError::Stopped { steps: 3, of: 9, what: "steps", is_charged, is_counted }.to_string()
        };
        let said = |is_counted| stopped(true, is_counted);
        assert!(said(true).contains("stays spent") && !stopped(false, true).contains("charged"));
        assert!(said(true).ends_with("continues from here at no further cost"), "{}", said(true));
        assert!(said(false).contains("pays once more for all that is left to do"), "{}", said(false));
    }
}
