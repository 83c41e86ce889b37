//! Where a run stood: a file from which it can go on, and what going on costs.
//!
//! # What is charged
//! A run pays for all its T steps before the first. A checkpoint says that c of them are done. Should the process die, up to
//! `every` further steps may have drawn their noise after the checkpoint was written; going on from c does them again, with
//! new noise, and they are charged again: [`Training::replay_claim`](crate::Training::replay_claim). Steps charged = steps
//! done + replays, and the guarantee of a resumed run is that of both charges together. A run that was stopped on request
//! wrote its checkpoint after its last step and replays nothing.
//!
//! A run that has ended has nothing left to do, but its result is not yet where it belongs: should the process die now, what was paid for
//! is lost, unless the file [stays](Checkpoints::keep) until it is. Going on from it does no step, draws no noise and gives the same result.
//!
//! # Guarantee
//! - A checkpoint is a function of noisy sums and public numbers. It holds no generator: a resumed run draws new bits, since
//!   the same noise on other sums would give the difference of the sums away.
//! - The file is whole or not there: written beside its place, flushed, renamed, and the folder flushed. A write that fails, on a full disk
//!   say, ends the run and leaves the checkpoint before it.
//! - Two processes cannot go on from one file at a time (a lock beside it), and not one after the other for the price of one:
//!   whoever goes on writes the new charge into the file before the first step.
//!
//! # Pitfalls
//! A *copy* of a checkpoint could be resumed beside the original, and each would do all remaining steps. A file that is not where
//! it was written is therefore charged for all of them. A backup put back in its old place looks like the original: do not
//! resume from backups without charging the whole run again.

mod file;
#[cfg(test)]
mod tests;

use std::fmt::{self, Write};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use sordino_privacy::Guarantee;

use crate::average::Average;
use crate::error::OptimError;
use crate::rule::RuleState;
use file::{Failed, Head};

/// The one version of the format.
pub const CHECKPOINT_FORMAT_VERSION: u32 = 2;

/// Where and how often checkpoints are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file.
    pub path: PathBuf,
    /// Steps between two checkpoints: as many are charged again after a crash.
    pub every: u64,
    /// Whether the file stays when the run has ended, with all its steps done. The caller removes it once the result is in its place.
    pub keep: bool,
}

/// A run that stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    head: Head,
    pub(crate) state: State,
}

/// What one step hands to the next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) step: u64,
    pub(crate) clip_norm: f64,
    pub(crate) parameters: Vec<f64>,
    pub(crate) rule: RuleState,
    pub(crate) average: Average,
}

impl Checkpoint {
    /// Reads a checkpoint.
    pub fn read(path: &Path) -> Result<Self, OptimError> {
        let failed = |source| OptimError::CheckpointFile { path: path.to_owned(), source };
        let (mut head, state) = file::read(path).map_err(|error| match error {
            Failed::System(source) => failed(source),
            Failed::Content(reason) => OptimError::CheckpointContent { path: path.to_owned(), reason },
        })?;
        // Where a copy was read from is what counts.
        if head.place != absolute(path).map_err(failed)? {
            (head.every, head.is_final) = (u64::MAX, false);
        }
        Ok(Self { head, state })
    }

    /// Steps that are done.
    pub fn steps(&self) -> u64 {
        self.state.step
    }

    /// What was paid for so far.
    pub fn guarantee(&self) -> &Guarantee {
        &self.head.guarantee
    }

    /// Steps that may have been done after it was written, of a run of `steps`.
    pub(crate) fn replays(&self, steps: u64) -> u64 {
        if self.head.is_final { 0 } else { self.head.every.min(steps.saturating_sub(self.steps())) }
    }

    pub(crate) fn is_of(&self, run: &str) -> bool {
        self.head.run == run
    }
}

/// Writes the checkpoints of one run, and keeps others from writing them.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    every: u64,
    keep: bool,
    run: String,
    guarantee: Guarantee,
    /// Held until the run has ended, by the process's death if need be.
    _lock: File,
}

impl Writer {
    /// Locks the place. A new run refuses a checkpoint that is already there.
    pub(crate) fn new(
        checkpoints: &Checkpoints,
        run: String,
        guarantee: Guarantee,
        is_new: bool,
    ) -> Result<Self, OptimError> {
        let failed = |source| OptimError::CheckpointFile { path: checkpoints.path.clone(), source };
        let path = absolute(&checkpoints.path).map_err(failed)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(beside(&path, ".lock"));
        let lock = lock.map_err(failed)?;
        lock.try_lock().map_err(|error| failed(error.into()))?;
        if is_new && path.exists() {
            let reason = "an earlier run left it; resume that run, or remove the file".to_owned();
            return Err(OptimError::CheckpointContent { path, reason });
        }
        let &Checkpoints { every, keep, .. } = checkpoints;
        Ok(Self { path, every, keep, run, guarantee, _lock: lock })
    }

    pub(crate) fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.every)
    }

    pub(crate) fn write(&self, state: &State, is_final: bool) -> Result<(), OptimError> {
        let head = Head::new(&self.path, &self.run, self.every, is_final, &self.guarantee, state);
        let placed = write_at_once(&self.path, |file| file::write(file, &head, state));
        placed.map_err(|source| OptimError::CheckpointFile { path: self.path.clone(), source })
    }

    /// All steps are done. Should this fail the checkpoint before it stays, and the result is not given up for want of a copy.
    pub(crate) fn write_last(&self, state: &State) {
        // At a due step it has just been written.
        if self.keep && !self.is_due(state.step) {
            let _ = self.write(state, true);
        }
    }

    /// The run has ended: nothing is left to go on with, unless the file is kept.
    pub(crate) fn end(self) -> Result<(), OptimError> {
        if self.keep {
            return Ok(());
        }
        let removed = std::fs::remove_file(&self.path);
        removed.map_err(|source| OptimError::CheckpointFile { path: self.path.clone(), source })
    }
}

/// The digest of what a run is made of. Networks begin at many numbers, and a checkpoint need not spell them out.
pub(crate) fn fingerprint(run: fmt::Arguments<'_>) -> String {
    struct Hasher(Sha256);
    impl Write for Hasher {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }
    let mut hasher = Hasher(Sha256::new());
    // A digest takes every text.
    let _ = hasher.write_fmt(run);
    hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_at_once(path: &Path, content: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let part = beside(path, ".part");
    let file = File::create(&part)?;
    if let Err(error) = content(&file).and_then(|()| file.sync_all()) {
        // What a full disk has no room for need not take any.
        let _ = std::fs::remove_file(&part);
        return Err(error);
    }
    drop(file);
    std::fs::rename(&part, path)?;
    // The new name is durable once its folder is. Not every system lets folders be opened.
    match path.parent().map(File::open) {
        Some(Ok(folder)) => folder.sync_all(),
        Some(Err(_)) | None => Ok(()),
    }
}

/// The path with its folder resolved; the file itself need not be there.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let name = path.file_name().ok_or_else(|| io::Error::other("a checkpoint needs a file name"))?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    Ok(folder.canonicalize()?.join(name))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
