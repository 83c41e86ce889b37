//! Checkpoints: files from which a run resumes, and what that costs.
//!
//! # What is charged
//! A run pays for all its T steps before the first. A checkpoint says that c of them are done. If
//! the process dies, up to `every` further steps may have drawn their noise after the checkpoint
//! was written. A run that resumes from c does them again, with new noise, and they are charged
//! again: [`Checkpoint::replay_claim`]. Steps charged = steps done + replays, and the guarantee of
//! a resumed run is that of both charges together. A run that was stopped on request wrote its
//! checkpoint after its last step and replays nothing.
//!
//! When all steps are done, the result is not yet stored. If the process dies now, what was paid
//! for is lost, unless the checkpoint [stays](Checkpoints::keep) until the result is in its place.
//! A run that resumes from it does no step, draws no noise and gives the same result.
//!
//! # Guarantee
//! - A checkpoint is a function of noisy sums and public numbers. It holds no generator: a resumed
//!   run draws new bits, because the same noise on other sums would reveal the difference of the
//!   sums.
//! - The file is complete or absent: it is written beside its place, flushed and renamed, and the
//!   folder is flushed. If a write fails, for instance on a full disk, the run ends and the
//!   previous checkpoint stays.
//! - Two processes cannot resume from one file at the same time, because of a lock beside it. They
//!   cannot do so one after the other for one charge either: a run resumes in the same place,
//!   checks that the file is as it was read, and writes the new charge into it before the first
//!   step.
//!
//! # Pitfalls
//! A *copy* of a checkpoint could be resumed beside the original, and each would do all remaining
//! steps. Therefore a file that is not where it was written is charged for all of them, and may
//! then resume anywhere.
//!
//! A copy that is put back in its old place looks like the original. A [`Witness`], such as a
//! ledger, remembers how far the run was: it is told of every checkpoint before that replaces the
//! previous one, and [`Checkpoint::known_to_have`] charges all steps that may have been done since.
//! Without a witness, do not resume from backups.
//!
//! A checkpoint does not identify the data, and its charges were paid from one budget. Call
//! [`Training::resume`](crate::Training::resume) with the data and the budget of the first run, as
//! `sordino train` does. The file is no evidence of what was paid, since anyone can write into it;
//! the budget's record is.

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

/// The version of the file format. No other is read.
pub const CHECKPOINT_FORMAT_VERSION: u32 = 3;

/// Where and how often checkpoints are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file.
    pub path: PathBuf,
    /// Steps between two checkpoints, at least 1. After a crash, as many are charged again.
    pub every: u64,
    /// Whether the file stays when all steps are done. The caller then removes it once the result
    /// is in its place.
    pub keep: bool,
}

/// Counts the steps of a run where no copy of a file can undo the count: a ledger, for instance.
pub trait Witness: std::fmt::Debug {
    /// Records a checkpoint that is about to replace the previous one. On an error it does not
    /// replace it, and the run stops.
    fn keeps(&self, kept: &Kept) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// What a [`Witness`] is told of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The number of steps done.
    pub steps: u64,
    /// SHA-256 of the file without the digest at its end.
    pub digest: [u8; 32],
    /// Whether no step is done after this checkpoint is written.
    pub is_last: bool,
}

/// The state between two steps, for a checkpoint. It consists of noisy sums and public numbers
/// alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<'a> {
    /// The number of steps done.
    pub step: u64,
    /// Finite numbers, by name.
    pub numbers: Vec<(&'static str, f64)>,
    /// One to four vectors, by name. The first is not empty; the others have its length or are
    /// empty.
    pub vectors: Vec<(&'static str, &'a [f64])>,
}

/// The checkpoint of a run, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The file that it was read from.
    path: PathBuf,
    head: Head,
    vectors: file::Vectors,
    /// The digest of the file.
    digest: file::Digest,
    /// The number of steps that a witness knows of.
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
        // A copy pays for all remaining steps.
        if head.place != path {
            (head.every, head.is_final) = (u64::MAX, false);
        }
        Ok(Self { path, head, vectors, digest, known: 0 })
    }

    /// States that the run is known to have done so many steps. If the checkpoint is older, the
    /// steps since are charged again too.
    pub fn known_to_have(self, steps: u64) -> Self {
        Self { known: steps, ..self }
    }

    /// The number of steps that the run is [known to have](Self::known_to_have) done.
    pub fn known(&self) -> u64 {
        self.known
    }

    /// SHA-256 of the file, as a [`Witness`] was told.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The number of steps done.
    pub fn steps(&self) -> u64 {
        self.head.step
    }

    /// What the file says was paid so far. The file is no evidence of it; a budget's record is:
    /// [`Paid`](sordino_privacy::Paid).
    pub fn statement(&self) -> &Statement {
        &self.head.guarantee
    }

    /// The number of this name in the [`Snapshot`], if it has one.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.head.numbers.get(name).copied()
    }

    /// Takes out the vector of this name, or an empty one if there is none.
    pub fn take_vector(&mut self, name: &str) -> Vec<f64> {
        self.vectors.remove(name).unwrap_or_default()
    }

    /// The claim that must be paid before a run of `plan` can resume from here: the steps that may
    /// be done a second time.
    pub fn replay_claim(&self, plan: &dyn Priced) -> Result<Claim, OptimError> {
        plan.claim_again(self.replays(plan.steps()))
    }

    /// The error for a checkpoint of another run.
    pub fn of_another_run(&self) -> OptimError {
        self.refused("it belongs to another plan or other options; resume with those of the first run")
    }

    /// How many steps may have been done after this checkpoint, in a run of `steps`: up to `every`
    /// after the last checkpoint that is known.
    pub(crate) fn replays(&self, steps: u64) -> u64 {
        let since = self.known.saturating_sub(self.steps());
        if self.head.is_final && since == 0 {
            return 0;
        }
        self.head.every.saturating_add(since).min(self.left(steps))
    }

    /// How many steps are left, in a run of `steps`.
    pub(crate) fn left(&self, steps: u64) -> u64 {
        steps.saturating_sub(self.steps())
    }

    /// Whether a run with this [fingerprint](crate::run) wrote it.
    pub(crate) fn is_of(&self, run: &str) -> bool {
        self.head.run == run
    }

    /// Whether it was read from this place.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        writer::absolute(path).is_ok_and(|path| path == self.path)
    }

    /// Checks that the file is still the one that was read.
    pub(crate) fn check_untouched(&self) -> Result<(), OptimError> {
        if file::digest_of(&self.path).is_ok_and(|digest| digest == self.digest) {
            return Ok(());
        }
        Err(self.refused(
            "another run has resumed from it since it was read; read the checkpoint of that run, and pay \
            for its replays",
        ))
    }

    pub(crate) fn refused(&self, reason: &str) -> OptimError {
        OptimError::CheckpointContent { path: self.path.clone(), reason: reason.to_owned() }
    }
}
