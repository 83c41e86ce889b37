//! Where a run works: a folder beside the model's, which becomes the model's in one step.
//!
//! `OUT.part/` has a lock, the checkpoint, the receipt, a file that keeps room for the result, and at the end
//! `model/`, which is flushed and then renamed to `OUT`. So `OUT` is whole or not there; a run that was killed leaves
//! `OUT.part/` for `--resume`, be it after its last step: the checkpoint goes with the folder, once `OUT` is there; and a disk that is
//! full, or a folder that may not be written, is found out before anything is charged.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sordino_optim::Checkpoint;

use crate::error::RunError;
use crate::model::Package;

#[derive(Debug)]
pub(crate) struct Folder {
    out: PathBuf,
    part: PathBuf,
    /// Held until the run has ended, by the process's death if need be.
    _lock: File,
}

impl Folder {
    /// Makes the working folder, with `room` bytes kept for the result.
    pub(crate) fn prepare(out: &Path, room: u64) -> Result<Self, RunError> {
        if fs::symlink_metadata(out).is_ok() {
            return Err(RunError::OutExists { out: out.to_owned() });
        }
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

    /// With so many bytes kept for the result.
    pub(crate) fn with_room(self, room: u64) -> Result<Self, RunError> {
        self.keep_room(room).map_err(|source| RunError::NoRoom { out: self.out.clone(), room, source })?;
        Ok(self)
    }

    /// Where checkpoints are written.
    pub(crate) fn checkpoint(&self) -> PathBuf {
        self.part.join("checkpoint")
    }

    /// Where it is written from what the run was paid.
    pub(crate) fn receipt(&self) -> PathBuf {
        self.part.join("receipt.json")
    }

    /// Where a schema that was bought is kept.
    pub(crate) fn schema(&self) -> PathBuf {
        self.part.join("schema.toml")
    }

    /// Where it is written for what a schema was bought, and what was promised about it.
    pub(crate) fn purchase(&self) -> PathBuf {
        self.part.join("schema.purchase.json")
    }

    /// Writes a file of the working folder: whole, or not there.
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

    /// The same with what can be read again by [`kept`](Self::kept).
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

    /// What an earlier run left. It must be there if `resume`, and must not be if not.
    pub(crate) fn earlier(&self, resume: bool) -> Result<Option<Checkpoint>, RunError> {
        let (path, part) = (self.checkpoint(), self.part.clone());
        match (path.exists(), resume) {
            (false, false) => {
                // Charges of a run that died before its first step: spent, and not this run's.
                let _ = fs::remove_file(self.receipt());
                Ok(None)
            }
            (true, true) => Ok(Some(Checkpoint::read(&path)?)),
            (true, false) => Err(RunError::Unfinished { part }),
            (false, true) => Err(RunError::NothingToResume { part }),
        }
    }

    /// Puts the model where it belongs, whole. If that cannot be done it is kept all the same, for it was paid for: in the checkpoint of a
    /// run of so many steps, or where there is room.
    pub(crate) fn finish(self, package: &Package, steps: Option<u64>) -> Result<(), RunError> {
        match self.write(package) {
            Ok(()) => {
                // What is left behind is of no use to anybody, and no harm.
                let _ = fs::remove_dir_all(&self.part);
                Ok(())
            }
            Err(source) if self.has_all(steps) => Err(RunError::ModelWaits { out: self.out.clone(), source }),
            Err(source) => Err(self.rescue(package, source)),
        }
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

    /// Whether the checkpoint is that of a run that has done all its steps.
    fn has_all(&self, steps: Option<u64>) -> bool {
        let done = Checkpoint::read(&self.checkpoint()).map(|checkpoint| checkpoint.steps()).ok();
        done.is_some() && done == steps
    }

    fn rescue(&self, package: &Package, source: io::Error) -> RunError {
        let elsewhere = std::env::temp_dir().join(format!("sordino-model-{}", std::process::id()));
        let rescued = private_folder().create(&elsewhere).and_then(|()| package.write(&elsewhere));
        let out = self.out.clone();
        match rescued {
            Ok(()) => RunError::ModelElsewhere { out, elsewhere, source },
            Err(_) => RunError::WriteFile { name: out.display().to_string(), source },
        }
    }

    fn keep_room(&self, room: u64) -> io::Result<()> {
        let mut file = private_file().create(true).truncate(true).write(true).open(self.room())?;
        // Written and not only sized: a file of holes takes no room.
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
    /// A run that stopped before its first step leaves nothing to go on with, unless it has bought a schema.
    fn drop(&mut self) {
        let _ = fs::remove_file(self.room());
        if !self.checkpoint().exists() && !self.schema().exists() {
            let _ = fs::remove_dir_all(&self.part);
        }
    }
}

/// Takes over a folder that an earlier run left: no link that leads elsewhere, and nobody else's, which cannot be made one's
/// own.
fn taken_over(part: &Path, error: io::Error) -> io::Result<()> {
    if !fs::symlink_metadata(part).is_ok_and(|found| found.is_dir()) {
        return Err(error);
    }
    #[cfg(unix)]
    fs::set_permissions(part, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// New files that are the owner's alone: iterates and receipts are no release.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The same of folders.
fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// That a file can be written here, found out by opening it. What is there stays as it is.
pub(crate) fn check_writable(path: &Path) -> Result<(), RunError> {
    let is_new = fs::symlink_metadata(path).is_err();
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|source| RunError::WriteFile { name: path.display().to_string(), source })?;
    if is_new {
        // If it cannot be removed it is empty, and will be written over.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A new name is durable once its folder is. Not every system lets folders be opened.
fn sync_folder(folder: Option<&Path>) -> io::Result<()> {
    let here = Path::new(".");
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(here);
    File::open(folder).and_then(|folder| folder.sync_all()).or(Ok(()))
}
