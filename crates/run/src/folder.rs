//! The working folder of a run, beside the model's directory.
//!
//! `OUT.part/` has a lock, the settings, the checkpoint, the receipt and a file that
//! reserves disk space for the result. At the end it also has `model/`, which is
//! flushed and then renamed to `OUT`. So:
//! - `OUT` is whole or does not exist.
//! - A run that was killed leaves `OUT.part/` for `--resume`, even after its last step: the
//!   checkpoint is removed with the folder, once `OUT` exists.
//! - A full disk, or a folder that may not be written, stops the run before anything is charged.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_optim::Checkpoint;

use crate::error::RunError;
use crate::model::{Package, package};

#[derive(Debug)]
pub(crate) struct Folder {
    out: PathBuf,
    part: PathBuf,
    /// Held until the run ends or its process dies.
    _lock: File,
}

impl Folder {
    /// Makes the working folder, locks it and reserves `room` bytes for the result.
    pub(crate) fn prepare(out: &Path, room: u64) -> Result<Self, RunError> {
        if fs::symlink_metadata(out).is_ok() {
            return Err(RunError::OutExists { out: out.to_owned() });
        }
        Self::working(out, room)
    }

    /// The same for a run whose model stays in memory: nothing is written to `out`.
    pub(crate) fn working(out: &Path, room: u64) -> Result<Self, RunError> {
        let part = beside(out, ".part");
        let failed = |source| RunError::WriteFile { name: part.display().to_string(), source };
        private_folder().create(&part).or_else(|error| taken_over(&part, error)).map_err(failed)?;
        let lock = private_file().create(true).truncate(false).write(true).open(part.join("lock"));
        let lock = lock.map_err(failed)?;
        if lock.try_lock().is_err() {
            return Err(RunError::OutInUse { out: out.to_owned() });
        }
        let folder = Self { out: out.to_owned(), part, _lock: lock };
        folder.with_room(room)
    }

    /// Reserves `room` bytes of disk space for the result.
    pub(crate) fn with_room(self, room: u64) -> Result<Self, RunError> {
        self.keep_room(room).map_err(|source| RunError::NoRoom { out: self.out.clone(), room, source })?;
        Ok(self)
    }

    /// The path of the checkpoint.
    pub(crate) fn checkpoint(&self) -> PathBuf {
        self.part.join("checkpoint")
    }

    /// The path of the receipt: the data and the charges that paid for the run.
    pub(crate) fn receipt(&self) -> PathBuf {
        self.part.join("receipt.json")
    }

    /// The path of the settings that the run was begun with.
    pub(crate) fn settings(&self) -> PathBuf {
        self.part.join("settings.json")
    }

    /// The path of a schema that was bought.
    pub(crate) fn schema(&self) -> PathBuf {
        self.part.join("schema.toml")
    }

    /// The path of the record of that purchase: the question, the receipt and the guarantee.
    pub(crate) fn purchase(&self) -> PathBuf {
        self.part.join("schema.purchase.json")
    }

    /// Writes a file of the working folder atomically.
    pub(crate) fn keep(&self, path: &Path, text: &str) -> Result<(), RunError> {
        let part = beside(path, ".part");
        let file = private_file().create(true).truncate(true).write(true).open(&part);
        let written = file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&part, path)
        });
        written.map_err(|source| self.failed(source))
    }

    /// Writes a record that [`kept`](Self::kept) can read again.
    pub(crate) fn keep_record(&self, path: &Path, record: &impl Serialize) -> Result<(), RunError> {
        let text = serde_json::to_string(record);
        self.keep(path, &text.map_err(|error| RunError::Unwritable { reason: error.to_string() })?)
    }

    /// Reads a record of the working folder.
    pub(crate) fn kept<T: DeserializeOwned>(&self, path: &Path) -> Result<T, RunError> {
        let name = format!("`{}`", path.display());
        let text = fs::read_to_string(path).map_err(|source| RunError::Read { name, source })?;
        let part = self.part.clone();
        serde_json::from_str(&text).map_err(|error| RunError::BadRecord { part, reason: error.to_string() })
    }

    /// The checkpoint of an earlier run. There must be one if `resume` is set, and none otherwise.
    pub(crate) fn earlier(&self, resume: bool) -> Result<Option<Checkpoint>, RunError> {
        let (path, part) = (self.checkpoint(), self.part.clone());
        match (path.exists(), resume) {
            (false, false) => {
                // The receipt of a run that died before its first checkpoint: its charges stay
                // spent, and do not pay for this run.
                let _ = fs::remove_file(self.receipt());
                Ok(None)
            }
            (true, true) => Ok(Some(Checkpoint::read(&path)?)),
            (true, false) => Err(RunError::Unfinished { part }),
            (false, true) => Err(RunError::NothingToResume { part }),
        }
    }

    /// Writes the model's directory and removes the working folder. If that fails, the model is
    /// not lost: a checkpoint after all `steps` steps still holds it, and without one it is
    /// written to the folder for temporary files.
    pub(crate) fn finish(self, package: &Package, steps: Option<u64>) -> Result<(), RunError> {
        match self.write(package) {
            Ok(()) => {
                // If this fails, what is left behind does no harm.
                let _ = fs::remove_dir_all(&self.part);
                Ok(())
            }
            Err(source) if self.has_all(steps) => Err(RunError::ModelWaits { out: self.out.clone(), source }),
            Err(source) => Err(self.rescue(package, source)),
        }
    }

    /// Removes the working folder of a run whose model stays in memory.
    pub(crate) fn remove(self) {
        // If this fails, what is left behind cannot be resumed: its charge is booked.
        let _ = fs::remove_dir_all(&self.part);
    }

    fn write(&self, package: &Package) -> io::Result<()> {
        let _ = fs::remove_file(self.room());
        let model = self.part.join("model");
        let _ = fs::remove_dir_all(&model);
        fs::create_dir(&model)?;
        package.write(&model)?;
        fs::rename(&model, &self.out)?;
        sync_folder(self.out.parent())
    }

    /// Whether the checkpoint was written after the last step.
    fn has_all(&self, steps: Option<u64>) -> bool {
        let done = Checkpoint::read(&self.checkpoint()).map(|checkpoint| checkpoint.steps()).ok();
        done.is_some() && done == steps
    }

    fn rescue(&self, package: &Package, source: io::Error) -> RunError {
        let name = format!("sordino-model-{}", std::process::id());
        let elsewhere = new_folder(&std::env::temp_dir(), &name);
        let rescued = elsewhere.and_then(|place| package.write(&place).map(|()| place));
        let out = self.out.clone();
        match rescued {
            Ok(elsewhere) => RunError::ModelElsewhere { out, elsewhere, source },
            Err(_) => RunError::WriteFile { name: out.display().to_string(), source },
        }
    }

    fn keep_room(&self, room: u64) -> io::Result<()> {
        let mut file = private_file().create(true).truncate(true).write(true).open(self.room())?;
        // Written, not only sized: a sparse file reserves nothing.
        let zeros = [0u8; 1 << 16];
        let mut left = room;
        while left > 0 {
            let some = left.min(zeros.len() as u64) as usize;
            file.write_all(&zeros[..some])?;
            left -= some as u64;
        }
        file.sync_all()
    }

    fn room(&self) -> PathBuf {
        self.part.join("room")
    }

    fn failed(&self, source: io::Error) -> RunError {
        RunError::WriteFile { name: self.part.display().to_string(), source }
    }
}

impl Drop for Folder {
    /// Removes the folder if it has neither a checkpoint nor a bought schema, so that nothing can
    /// be resumed.
    fn drop(&mut self) {
        let _ = fs::remove_file(self.room());
        if !self.checkpoint().exists() && !self.schema().exists() {
            let _ = fs::remove_dir_all(&self.part);
        }
    }
}

/// Takes over the folder of an earlier run. Refuses a link, and a folder of another user, whose
/// permissions cannot be set.
fn taken_over(part: &Path, error: io::Error) -> io::Result<()> {
    if !fs::symlink_metadata(part).is_ok_and(|found| found.is_dir()) {
        return Err(error);
    }
    #[cfg(unix)]
    fs::set_permissions(part, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// Options for new files that only their user may read: iterates and receipts are not released.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder called `name`, or `name-1`, `name-2` and so on. An earlier process with the same
/// number may have rescued its model there, and that is not overwritten.
fn new_folder(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let mut place = parent.join(name);
    for number in 1..=100 {
        match private_folder().create(&place) {
            Ok(()) => return Ok(place),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        place = parent.join(format!("{name}-{number}"));
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Options for new folders that only their user may read.
fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Checks by opening it that a file can be written. A file that exists is not changed.
pub(crate) fn check_writable(path: &Path) -> Result<(), RunError> {
    let is_new = fs::symlink_metadata(path).is_err();
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|source| RunError::WriteFile { name: path.display().to_string(), source })?;
    if is_new {
        // If it cannot be removed, an empty file stays and will be overwritten.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Writes the files of a model's directory beside its place and renames it, so that it is whole or
/// absent.
pub(crate) fn save_files<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    out: &Path,
) -> Result<(), RunError> {
    if fs::symlink_metadata(out).is_ok() {
        return Err(RunError::OutExists { out: out.to_owned() });
    }
    let part = beside(out, &format!(".part-{}", std::process::id()));
    let written = fs::create_dir(&part).and_then(|()| {
        package::write_files(files, &part)?;
        fs::rename(&part, out)?;
        sync_folder(out.parent())
    });
    written.map_err(|source| {
        let _ = fs::remove_dir_all(&part);
        RunError::WriteFile { name: out.display().to_string(), source }
    })
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Flushes the folder, which makes a new name in it durable. Systems
/// that cannot open folders skip this.
fn sync_folder(folder: Option<&Path>) -> io::Result<()> {
    let here = Path::new(".");
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(here);
    File::open(folder).and_then(|folder| folder.sync_all()).or(Ok(()))
}

#[cfg(test)]
mod tests {
    use sordino_testing::Scratch;

    use super::*;

    /// Process numbers are reused, and the model that an earlier process rescued must stay.
    #[test]
    fn a_rescued_model_does_not_overwrite_an_earlier_one() {
        let parent = Scratch::new("rescue");
        let first = new_folder(&parent, "model").unwrap();
        fs::write(first.join("weights"), "kept").unwrap();
        assert_eq!(new_folder(&parent, "model").unwrap(), parent.join("model-1"));
        assert_eq!(fs::read_to_string(first.join("weights")).unwrap(), "kept");
    }
}
