//! Where a run stood: a file from which it can go on, and what going on costs.
//!
//! # What is charged
//! A run pays for all its T steps before the first. A checkpoint says that c of them are done.
//! Should the process die, up to `every` further steps may have drawn their noise after the
//! checkpoint was written; going on from c does them again, with new noise, and they are charged
//! again: [`Checkpoint::replay_claim`]. Steps charged = steps done + replays, and the guarantee of
//! a resumed run is that of both charges together. A run that was stopped on request wrote its
//! checkpoint after its last step and replays nothing.
//!
//! A run that has ended has nothing left to do, but its result is not yet where it belongs: should
//! the process die now, what was paid for is lost, unless the file [stays](Checkpoints::keep) until
//! it is. Going on from it does no step, draws no noise and gives the same result.
//!
//! # Guarantee
//! - A checkpoint is a function of noisy sums and public numbers. It holds no
//!   generator: a resumed run draws new bits, since the same noise on other sums would
//!   give the difference of the sums away.
//! - The file is whole or not there: written beside its place, flushed, renamed, and
//!   the folder flushed. A write that fails, on a full disk say, ends the run and
//!   leaves the checkpoint before it.
//! - Two processes cannot go on from one file at a time (a lock beside it), and not one after the
//!   other for the price of one: whoever goes on does so in the same place, finds the file as it
//!   was when it was read, and writes the new charge into it before the first step.
//!
//! # Pitfalls
//! A *copy* of a checkpoint could be resumed beside the original, and each would do all
//! remaining steps. A file that is not where it was written is therefore charged for all of
//! them, and may then go on anywhere. A copy that is put back in its old place looks like the
//! original. A [`Witness`], such as a ledger, remembers how far the run was: it is told of every
//! checkpoint before that replaces the one before, and [`Checkpoint::known_to_have`] charges all
//! steps that may have been done since. Without one, do not resume from backups. A checkpoint
//! says nothing of the data, and what was paid for it was paid from one budget: whoever calls
//! [`Training::resume`](crate::Training::resume) sees to it that data and budget are those of
//! the beginning, as runs of `sordino train` do. What was paid is the budget's to say: anybody
//! can write into a file that much was.

mod file;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};

use sordino_privacy::{Claim, Statement};

use crate::error::OptimError;
use crate::run::Priced;
use file::{Failed, Head};
pub(crate) use writer::Writer;

/// The one version of the format.
pub const CHECKPOINT_FORMAT_VERSION: u32 = 3;

/// Where and how often checkpoints are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file.
    pub path: PathBuf,
    /// Steps between two checkpoints, at least 1: as many are charged again after a crash.
    pub every: u64,
    /// Whether the file stays when the run has ended, with all its steps done. The caller removes
    /// it once the result is in its place.
    pub keep: bool,
}

/// Somebody who remembers how far a run is, where its files cannot be
/// put back: a ledger, for instance.
pub trait Witness: std::fmt::Debug {
    /// A checkpoint is about to replace the one before. If this fails it
    /// does not, and the run stops.
    fn keeps(&self, kept: &Kept) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// What a [`Witness`] is told of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Steps that are done.
    pub steps: u64,
    /// SHA-256 of the file, but for the digest at its end.
    pub digest: [u8; 32],
    /// No step is done after this one was written.
    pub is_last: bool,
}

/// What one step hands to the next, for a checkpoint to keep. Made of
/// noisy sums and public numbers alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<'a> {
    /// Steps that are done.
    pub step: u64,
    /// Finite numbers, by name.
    pub numbers: Vec<(&'static str, f64)>,
    /// Vectors, by name: one to four, of one length or empty, the first of them not.
    pub vectors: Vec<(&'static str, &'a [f64])>,
}

/// A run that stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Where it was read from.
    path: PathBuf,
    head: Head,
    vectors: file::Vectors,
    /// Of the file.
    digest: file::Digest,
    /// Steps that somebody else knows to have been done.
    known: u64,
}

impl Checkpoint {
    /// Reads a checkpoint.
    pub fn read(path: &Path) -> Result<Self, OptimError> {
        let failed = |source| OptimError::CheckpointFile { path: path.to_owned(), source };
        let (mut head, vectors, digest) = file::read(path).map_err(|error| match error {
            Failed::System(source) => failed(source),
            Failed::Content(reason) => OptimError::CheckpointContent { path: path.to_owned(), reason },
        })?;
        let path = writer::absolute(path).map_err(failed)?;
        // Where a copy was read from is what counts.
        if head.place != path {
            (head.every, head.is_final) = (u64::MAX, false);
        }
        Ok(Self { path, head, vectors, digest, known: 0 })
    }

    /// This checkpoint of a run that is known to have done so many steps, for which it may be too
    /// old: whatever was done since is charged again.
    pub fn known_to_have(self, steps: u64) -> Self {
        Self { known: steps, ..self }
    }

    /// Steps that the run is [known to have](Self::known_to_have) done.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// SHA-256 of the file, as its [`Witness`] was told.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Steps that are done.
    pub fn steps(&self) -> u64 {
        self.head.step
    }

    /// What the file says was paid for so far. A budget's record is evidence of it,
    /// [`Paid`](sordino_privacy::Paid); the file is none.
    pub fn statement(&self) -> &Statement {
        &self.head.guarantee
    }

    /// The number of this name in the [`Snapshot`], if it has one.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.head.numbers.get(name).copied()
    }

    /// Takes the vector of this name out; it is empty if there is none.
    pub fn take_vector(&mut self, name: &str) -> Vec<f64> {
        self.vectors.remove(name).unwrap_or_default()
    }

    /// What must be charged before a run of `plan` can go on from here: the
    /// steps that may be done a second time.
    pub fn replay_claim(&self, plan: &dyn Priced) -> Result<Claim, OptimError> {
        plan.claim_again(self.replays(plan.steps()))
    }

    /// The error of one that is asked to go on with what it is no part of.
    pub fn of_another_run(&self) -> OptimError {
        self.refused("it belongs to another plan or other options; resume with those of the first run")
    }

    /// Steps that may have been done after it was written, of a run of `steps`: up to `every`
    /// after the last one that was kept.
    pub(crate) fn replays(&self, steps: u64) -> u64 {
        let since = self.known.saturating_sub(self.steps());
        if self.head.is_final && since == 0 {
            return 0;
        }
        self.head.every.saturating_add(since).min(self.left(steps))
    }

    /// Steps that are not done, of a run of `steps`.
    pub(crate) fn left(&self, steps: u64) -> u64 {
        steps.saturating_sub(self.steps())
    }

    /// Whether it was written by the run of this [fingerprint](crate::run).
    pub(crate) fn is_of(&self, run: &str) -> bool {
        self.head.run == run
    }

    /// Whether it was read from this place.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        writer::absolute(path).is_ok_and(|path| path == self.path)
    }

    /// That the file is still the one that was read.
    pub(crate) fn check_untouched(&self) -> Result<(), OptimError> {
        if file::digest_of(&self.path).is_ok_and(|digest| digest == self.digest) {
            return Ok(());
        }
        Err(self.refused(
            "a run has gone on from it since it was read; read what that one has left, and pay \
            for its replays",
        ))
    }

    pub(crate) fn refused(&self, reason: &str) -> OptimError {
        OptimError::CheckpointContent { path: self.path.clone(), reason: reason.to_owned() }
    }
}
