//! The one who writes the checkpoints of a run, and keeps others from writing them.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sordino_privacy::Guarantee;

use super::file::{self, Head};
use super::{Checkpoint, Checkpoints, Snapshot};
use crate::error::OptimError;

#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    every: u64,
    keep: bool,
    run: String,
    /// Held until the run has ended, by the process's death if need be.
    _lock: File,
}

impl Writer {
    /// Locks the place. What is there must be what the run goes on `from`, as it was read; a new run refuses whatever it is.
    pub(crate) fn new(
        checkpoints: &Checkpoints,
        run: String,
        from: Option<&Checkpoint>,
    ) -> Result<Self, OptimError> {
        let &Checkpoints { every, keep, .. } = checkpoints;
        if every == 0 {
            let (name, expected) = ("steps between checkpoints", "at least 1");
            return Err(OptimError::Parameter { name, expected, got: every as f64 });
        }
        let failed = |source| OptimError::CheckpointFile { path: checkpoints.path.clone(), source };
        let path = absolute(&checkpoints.path).map_err(failed)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(beside(&path, ".lock"));
        let lock = lock.map_err(failed)?;
        lock.try_lock().map_err(|error| failed(error.into()))?;
        match from.filter(|from| from.path == path) {
            // Under the lock: between reading and locking somebody else may have gone on.
            Some(from) => from.check_untouched()?,
            None if path.exists() => {
                let reason = "an earlier run left it; resume that run, or remove the file".to_owned();
                return Err(OptimError::CheckpointContent { path, reason });
            }
            None => {}
        }
        Ok(Self { path, every, keep, run, _lock: lock })
    }

    pub(crate) fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.every)
    }

    pub(crate) fn write(
        &self,
        snapshot: &Snapshot<'_>,
        guarantee: &Guarantee,
        is_final: bool,
    ) -> Result<(), OptimError> {
        let head = Head::new(&self.path, &self.run, self.every, is_final, guarantee, snapshot);
        let placed = write_at_once(&self.path, |file| file::write(file, &head, snapshot));
        placed.map_err(|source| OptimError::CheckpointFile { path: self.path.clone(), source })
    }

    /// All steps are done. Should this fail the checkpoint before it stays, and the result is not given up for want of a copy.
    pub(crate) fn write_last(&self, snapshot: &Snapshot<'_>, guarantee: &Guarantee) {
        // At a due step it has just been written.
        if self.keep && !self.is_due(snapshot.step) {
            let _ = self.write(snapshot, guarantee, true);
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

pub(super) fn write_at_once(path: &Path, content: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
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
pub(super) fn absolute(path: &Path) -> io::Result<PathBuf> {
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
