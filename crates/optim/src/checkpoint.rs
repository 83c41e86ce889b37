//! Where a run stood: a file from which it can go on, and what going on costs.
//!
//! # What is charged
//! A run pays for all its T steps before the first. A checkpoint says that c of them are done. Should the process die, up to
//! `every` further steps may have drawn their noise after the checkpoint was written; going on from c does them again, with
//! new noise, and they are charged again: [`Training::replay_claim`](crate::Training::replay_claim). Steps charged = steps
//! done + replays, and the guarantee of a resumed run is that of both charges together. A run that was stopped on request
//! wrote its checkpoint after its last step and replays nothing.
//!
//! # Guarantee
//! - A checkpoint is a function of noisy sums and public numbers. It holds no generator: a resumed run draws new bits, since
//!   the same noise on other sums would give the difference of the sums away.
//! - The file is whole or not there: written beside its place, flushed, renamed, and the folder flushed.
//! - Two processes cannot go on from one file at a time (a lock beside it), and not one after the other for the price of one:
//!   whoever goes on writes the new charge into the file before the first step.
//!
//! # Pitfalls
//! A *copy* of a checkpoint could be resumed beside the original, and each would do all remaining steps. A file that is not where
//! it was written is therefore charged for all of them. A backup put back in its old place looks like the original: do not
//! resume from backups without charging the whole run again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sordino_privacy::Guarantee;

use crate::average::Average;
use crate::error::OptimError;
use crate::rule::RuleState;

/// The one version of the format.
pub const CHECKPOINT_FORMAT_VERSION: u32 = 1;

/// Where and how often checkpoints are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// The file. It is removed when the run has ended.
    pub path: PathBuf,
    /// Steps between two checkpoints: as many are charged again after a crash.
    pub every: u64,
}

/// A run that stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    format_version: u32,
    /// The file that it was written to.
    place: PathBuf,
    /// Everything public that the run is made of, spelled out; it must be the same when it goes on.
    run: String,
    every: u64,
    /// Whether no step can have been begun after this was written.
    is_final: bool,
    /// What was paid so far.
    guarantee: Guarantee,
    pub(crate) state: State,
}

/// What one step hands to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
        let unusable = |reason| OptimError::CheckpointContent { path: path.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let checkpoint: Self = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
        if checkpoint.format_version != CHECKPOINT_FORMAT_VERSION {
            let version = checkpoint.format_version;
            return Err(unusable(format!(
                "it has format version {version}, this program knows {CHECKPOINT_FORMAT_VERSION}"
            )));
        }
        // Where a copy was read from is what counts.
        let is_in_place = checkpoint.place == absolute(path).map_err(failed)?;
        let every = if is_in_place { checkpoint.every } else { u64::MAX };
        Ok(Self { every, is_final: checkpoint.is_final && is_in_place, ..checkpoint })
    }

    /// Steps that are done.
    pub fn steps(&self) -> u64 {
        self.state.step
    }

    /// What was paid for so far.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Steps that may have been done after it was written, of a run of `steps`.
    pub(crate) fn replays(&self, steps: u64) -> u64 {
        if self.is_final { 0 } else { self.every.min(steps.saturating_sub(self.steps())) }
    }

    pub(crate) fn is_of(&self, run: &str) -> bool {
        self.run == run
    }
}

/// Writes the checkpoints of one run, and keeps others from writing them.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    every: u64,
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
        Ok(Self { path, every: checkpoints.every, run, guarantee, _lock: lock })
    }

    pub(crate) fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.every)
    }

    pub(crate) fn write(&self, state: &State, is_final: bool) -> Result<(), OptimError> {
        let checkpoint = Checkpoint {
            format_version: CHECKPOINT_FORMAT_VERSION,
            place: self.path.clone(),
            run: self.run.clone(),
            every: self.every,
            is_final,
            guarantee: self.guarantee.clone(),
            state: state.clone(),
        };
        let written = serde_json::to_vec(&checkpoint).map_err(io::Error::from);
        let placed = written.and_then(|bytes| write_at_once(&self.path, &bytes));
        placed.map_err(|source| OptimError::CheckpointFile { path: self.path.clone(), source })
    }

    /// The run has ended: nothing is left to go on with.
    pub(crate) fn remove(self) -> Result<(), OptimError> {
        let removed = std::fs::remove_file(&self.path);
        removed.map_err(|source| OptimError::CheckpointFile { path: self.path.clone(), source })
    }
}

fn write_at_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = beside(path, ".part");
    let mut file = File::create(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
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
