//! Writes the checkpoints of a run, under a lock that keeps other runs out.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use sordino_privacy::Statement;

use super::file::{self, Head};
use super::{Checkpoint, Checkpoints, Kept, Snapshot, Witness};
use crate::error::OptimError;

#[derive(Debug)]
pub(crate) struct Writer<'a> {
    path: PathBuf,
    every: u64,
    keep: bool,
    run: String,
    pub(crate) witness: Option<&'a dyn Witness>,
    /// Held until the run or the process ends.
    _lock: File,
}

impl Writer<'_> {
    /// Locks the path. A run that resumes must find the file as it was read; a new run must find
    /// none.
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
        let lock = private().create(true).truncate(false).write(true).open(beside(&path, ".lock"));
        let lock = lock.map_err(failed)?;
        lock.try_lock().map_err(|error| failed(error.into()))?;
        match from.filter(|from| from.path == path) {
            // Checked under the lock, as another run may have resumed between reading and locking.
            Some(from) => from.check_untouched()?,
            None if path.exists() => {
                let reason = "an earlier run left it; resume that run, or remove the file".to_owned();
                return Err(OptimError::CheckpointContent { path, reason });
            }
            None => {}
        }
        Ok(Self { path, every, keep, run, witness: None, _lock: lock })
    }

    pub(crate) fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.every)
    }

    pub(crate) fn write(
        &self,
        snapshot: &Snapshot<'_>,
        guarantee: &Statement,
        is_final: bool,
    ) -> Result<(), OptimError> {
        let head = Head::new(&self.path, &self.run, self.every, is_final, guarantee, snapshot);
        let failed = |source| OptimError::CheckpointFile { path: self.path.clone(), source };
        let (part, digest) =
            write_beside(&self.path, |file| file::write(file, &head, snapshot)).map_err(failed)?;
        if let Some(witness) = self.witness {
            let kept = Kept { steps: snapshot.step, digest, is_last: is_final };
            witness.keeps(&kept).map_err(|error| {
                let _ = std::fs::remove_file(&part);
                OptimError::Witness(error)
            })?;
        }
        put_in_place(&part, &self.path).map_err(failed)
    }

    /// Writes the checkpoint after all steps, if it is to stay. A failure is ignored: the previous
    /// checkpoint stays, and the result is more important than this copy.
    pub(crate) fn write_last(&self, snapshot: &Snapshot<'_>, guarantee: &Statement) {
        // If one was due at this step, it has just been written.
        if self.keep && !self.is_due(snapshot.step) {
            let _ = self.write(snapshot, guarantee, true);
        }
    }

    /// Ends the run, and removes the file unless it is to stay.
    pub(crate) fn end(self) -> Result<(), OptimError> {
        if self.keep {
            return Ok(());
        }
        let removed = std::fs::remove_file(&self.path);
        removed.map_err(|source| OptimError::CheckpointFile { path: self.path.clone(), source })
    }
}

/// Writes and flushes a whole file beside `path`. Returns its path and what `content` returned.
pub(super) fn write_beside<T>(
    path: &Path,
    content: impl FnOnce(&File) -> io::Result<T>,
) -> io::Result<(PathBuf, T)> {
    let part = beside(path, ".part");
    let file = private().create(true).truncate(true).write(true).open(&part)?;
    match content(&file).and_then(|value| file.sync_all().map(|()| value)) {
        Ok(value) => Ok((part, value)),
        Err(error) => {
            // Half a file would only take room on a full disk.
            let _ = std::fs::remove_file(&part);
            Err(error)
        }
    }
}

/// Renames a file that [`write_beside`] wrote to its final path, and flushes the folder.
pub(super) fn put_in_place(part: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(part, path)?;
    // The new name is durable once its folder is flushed. Not every system can open folders.
    match path.parent().map(File::open) {
        Some(Ok(folder)) => folder.sync_all(),
        Some(Err(_)) | None => Ok(()),
    }
}

/// Options for new files that only their owner can read, whatever the umask is.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The absolute path with its folder resolved. The file itself need not exist.
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
