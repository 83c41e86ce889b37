//! Why the ledger did not do what was asked. Nothing is granted with an error.

use std::path::PathBuf;

use sordino_privacy::{ChargeError, Epsilon};

use crate::digest::Digest;
use crate::entry::Head;
use crate::label::Label;
use crate::rules::RulesError;

/// What went wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// There is a file where the ledger should be made.
    #[error("`{path}` exists already; a ledger is never written over: name another file, or open this one")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// No file, no right to it, no room.
    #[error("cannot {doing} `{path}`: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// SQLite could not do its work.
    #[error(
        "cannot {doing} the ledger `{path}`: {source}; SQLite needs to write to the file and to its folder, \
         which must be on a local disk with room left"
    )]
    Sqlite {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Reading fails without the right to write: the last entries are in a log that only writers
    /// can put in order.
    #[error(
        "cannot read the ledger `{path}` without the right to write: its log (`-wal`) is in use, or was left \
         by a process that died; try again when nobody has it open, or ask somebody who may write to run \
         `sordino ledger show` once"
    )]
    LogInUse {
        /// The file.
        path: PathBuf,
    },
    /// PostgreSQL could not do its work.
    #[error(
        "cannot {doing} the ledger `{place}`: {detail}; nothing is granted that the server has not confirmed"
    )]
    Postgres {
        /// What was tried.
        doing: &'static str,
        /// The URL, without a password.
        place: String,
        /// What the server or the connection says.
        detail: String,
    },
    /// The ledger is in a database, and this program was built without a client.
    #[error(
        "`{place}` is a PostgreSQL ledger, and this program was built without the feature `postgresql`; name \
         a file, or build it with `--features postgresql`"
    )]
    NoPostgres {
        /// The URL, without a password.
        place: String,
    },
    /// Another process holds the lock for too long.
    #[error(
        "another process has held the ledger `{path}` locked for {seconds} s; nothing was charged: try again"
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The file has a second name. Under that name it has another log and other locks.
    #[error(
        "`{path}` has {links} hard links: under another name the same ledger has another log (`-wal`) and \
         other locks, and would be spent twice; remove the other names (`find FOLDER -samefile {path}` lists \
         them), or make them symbolic links"
    )]
    HardLinked {
        /// The file, without symbolic links.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// The file is mounted by itself, without its log.
    #[error(
        "`{path}` is a file that is mounted by itself: in its own folder the same ledger has another log \
         (`-wal`) and other locks, and would be spent twice; mount the folder that the ledger is in"
    )]
    MountPoint {
        /// The file, without symbolic links.
        path: PathBuf,
    },
    /// The path leads to another file, or to none.
    #[error(
        "`{path}` is no longer the file that was opened: it was moved, removed or replaced meanwhile; \
         nothing was charged: put it back together with its `-wal`, and open it again"
    )]
    Moved {
        /// The file, without symbolic links.
        path: PathBuf,
    },
    /// Some other file.
    #[error("`{path}` is not a ledger{detail}; `sordino ledger create` makes one")]
    NotALedger {
        /// The file.
        path: PathBuf,
        /// What it is instead, if known.
        detail: &'static str,
    },
    /// Written by a newer program, whose rules this one does not know.
    #[error(
        "`{path}` has format_version {found}, and this program knows versions up to {known}; use a newer \
         version of the program: this one cannot know what the entries mean and leaves them alone"
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// What the file says.
        found: i64,
        /// What this program reads and writes.
        known: u32,
    },
    /// The format of the ledger is too old for this.
    #[error(
        "the ledger has format_version {found}, and {what} came with {needed}; `sordino ledger migrate` \
         raises it, after which older programs refuse it"
    )]
    NeedsMigration {
        /// What was asked for.
        what: &'static str,
        /// What the ledger is.
        found: u32,
        /// What it would have to be.
        needed: u32,
    },
    /// The file is no longer a well-formed database.
    #[error("the ledger `{path}` is damaged: {detail}; nothing is granted from it: restore a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        detail: String,
    },
    /// The chain does not hold.
    #[error(
        "the ledger was tampered with or damaged at entry {number}: {reason}; entries before {number} are as \
         they were written; nothing is granted from it: restore a backup and find out who could write to the \
         file"
    )]
    Broken {
        /// The first entry that is wrong.
        number: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Entries are missing at the end.
    #[error(
        "the ledger has lost entries: it once had at least {expected}, and entry {expected} is now missing \
         or another; nothing is granted from it: restore the file together with its `-wal`, or a backup. If \
         an older copy was put back on purpose, what was spent since is forgotten; remove `{witness}` to \
         accept that"
    )]
    LostEntries {
        /// The number of entries that were once there.
        expected: u64,
        /// The file that remembers.
        witness: PathBuf,
    },
    /// A head that was kept elsewhere is not in this history.
    #[error(
        "the ledger has {entries} entries, and entry {} does not have the hash {}: entries up to there were \
         changed or removed since that head was noted", head.number, head.hash
    )]
    OtherHistory {
        /// The head that was kept.
        head: Head,
        /// How many entries there are now.
        entries: u64,
    },
    /// Neither name nor content is known.
    #[error("no data set `{name}` in this ledger, nor one with this content; create its budget first")]
    Unknown {
        /// The name that was given.
        name: Label,
    },
    /// The name is known with other content.
    #[error(
        "data set `{name}` is known, but its content has changed (now {content}); a changed file gets no new \
         budget: if it is the same data set, its owner says so with `sordino ledger link`"
    )]
    ChangedContent {
        /// The name.
        name: Label,
        /// The content that was given.
        content: Digest,
    },
    /// The content is known under another name.
    #[error(
        "the content of `{name}` is known as data set `{known}`; a new name gets no new budget: use that \
         name, or have the owner link the new one with `sordino ledger link`"
    )]
    OtherName {
        /// The name that was given.
        name: Label,
        /// The name that it has.
        known: Label,
    },
    /// The name belongs to one data set and the content to another.
    #[error("`{name}` is one data set and the content given is another, `{known}`; their budgets stay apart")]
    TwoDataSets {
        /// The name that was given.
        name: Label,
        /// The data set that has the content.
        known: Label,
    },
    /// To be linked, one half must be known and the other not.
    #[error("`{name}` with this content is known already; there is nothing to link")]
    AlreadyLinked {
        /// The name.
        name: Label,
    },
    /// To be created, neither half may be known.
    #[error("data set `{name}` has a budget already, which is never replaced")]
    HasBudget {
        /// The name.
        name: Label,
    },
    /// The data set is spent by grants, and this analyst has none.
    #[error(
        "`{who}` has no grant for data set `{name}`, which is spent by grants; {}: `sordino ledger grant \
         LEDGER {name} --to {who} --epsilon EPSILON`",
        if *.is_owner { "you are the owner; give yourself a share" } else { "its owner gives one" }
    )]
    NoGrant {
        /// Whether they own the data.
        is_owner: bool,
        /// The analyst.
        who: Label,
        /// The first name of the data set.
        name: Label,
    },
    /// The share is larger than the whole.
    #[error(
        "a grant must be at most the budget it is a share of, epsilon {epsilon} and delta {delta}; more \
         would never be spent"
    )]
    GrantTooLarge {
        /// ε of the whole.
        epsilon: f64,
        /// δ of the whole.
        delta: f64,
    },
    /// The rules are not valid.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// The data set has rules already.
    #[error("data set `{name}` has rules of its owner already, which are never replaced")]
    HasRules {
        /// The first name of the data set.
        name: Label,
    },
    /// The owner gave rules after the account was opened.
    #[error(
        "the owner of data set `{name}` has said since it was opened how it may be read and used; nothing \
         was charged: open it again"
    )]
    RulesChanged {
        /// The first name of the data set.
        name: Label,
    },
    /// Noise from a fixed seed: whoever knows the seed can subtract it.
    #[error(
        "data set `{name}` is locked by its owner, and the noise of this charge comes from a fixed seed, \
         which protects nobody; leave the seed out"
    )]
    SeededCharge {
        /// The first name of the data set.
        name: Label,
    },
    /// The lock does not allow this verb.
    #[error("data set `{name}` is locked by its owner, who allows {verbs}, and not {verb}")]
    OtherVerb {
        /// The first name of the data set.
        name: Label,
        /// What was asked for.
        verb: String,
        /// What is allowed.
        verbs: String,
    },
    /// One charge costs more than the lock allows.
    #[error(
        "this charge costs epsilon {costs} alone, and the owner of the data set allows at most {most} for \
         one charge; add noise, or ask for less"
    )]
    ChargeTooLarge {
        /// ε of the charge alone, at the budget's δ; ∞ if it has none.
        costs: f64,
        /// The most that one may cost.
        most: Epsilon,
    },
    /// No data set has this number.
    #[error("no data set has the number {number}")]
    NoDataSet {
        /// The number.
        number: u64,
    },
    /// Nothing was reserved under this number, or it was booked before.
    #[error("cannot book charge {number}: {reason}")]
    NotReserved {
        /// The number.
        number: u64,
        /// Why not.
        reason: &'static str,
    },
    /// The run that a charge pays for has ended, or the charge is not there.
    #[error("cannot record progress of charge {number}: {reason}")]
    NotKept {
        /// The number of the charge.
        number: u64,
        /// Why not.
        reason: &'static str,
    },
    /// The ledger has recorded more steps than this run.
    #[error(
        "cannot record {steps} steps of charge {number}: {recorded} are recorded, so that this is an old \
         copy of its run, or another process goes on with it"
    )]
    FewerSteps {
        /// The number of the charge.
        number: u64,
        /// What was to be recorded.
        steps: u64,
        /// What is recorded.
        recorded: u64,
    },
    /// Nothing is left to migrate.
    #[error("the ledger has the newest format_version already")]
    Migrated,
    /// The entry would not be read back as it is.
    #[error("this entry cannot be written down exactly ({detail}); nothing was charged")]
    Unwritable {
        /// Why not.
        detail: String,
    },
    /// The accountant has no total for what is recorded.
    #[error(transparent)]
    Charge(#[from] ChargeError),
}

impl LedgerError {
    /// Is this an honest refusal, and not a failure?
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Charge(ChargeError::Refused(_))
                | Self::NoGrant { .. }
                | Self::SeededCharge { .. }
                | Self::OtherVerb { .. }
                | Self::ChargeTooLarge { .. }
        )
    }
}

impl From<LedgerError> for ChargeError {
    fn from(error: LedgerError) -> Self {
        if let LedgerError::Charge(error) = error { error } else { Self::Journal(Box::new(error)) }
    }
}
