//! Reads a model's directory, after comparing every file with the manifest.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use sordino_data::Encoding;
use sordino_ledger::{ChargeRecord, Digest, Ledger, State};
use sordino_nn::NetworkModel;
use sordino_privacy::Statement;

use super::manifest::{FORMAT_VERSION, Manifest};
use super::{DECISION, Decision, ENCODING, GUARANTEE, MANIFEST, MODEL, Model, NETWORK, weights};
use crate::error::RunError;
use crate::folder;

/// The longest manifest that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// A model's directory whose files have the hashes of its manifest.
#[derive(Debug)]
pub struct Stored {
    /// The model.
    pub model: Model,
    /// What its files state about it.
    pub guarantee: Statement,
    /// The threshold that was declared for it, if any.
    pub decision: Option<Decision>,
    folder: PathBuf,
    digest: Digest,
    files: BTreeMap<String, Vec<u8>>,
}

impl Stored {
    /// Reads a directory and refuses it if any file is not the one that was written.
    pub fn open(folder: &Path) -> Result<Self, RunError> {
        let name = folder.display().to_string();
        if !folder.is_dir() {
            return Err(RunError::NoModel { name, reason: "it is no directory".to_owned() });
        }
        let mut bytes = Vec::new();
        let path = folder.join(MANIFEST);
        File::open(&path)
            .and_then(|file| file.take(MAX_MANIFEST_BYTES).read_to_end(&mut bytes))
            .map_err(|source| RunError::Read { name: format!("`{}`", path.display()), source })?;
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read(&path).map_err(|source| RunError::Read { name: format!("`{}`", path.display()), source })
        };
        Self::checked(folder, &bytes, read)
    }

    /// The same for a directory's files in memory, by name, its manifest among them.
    pub fn from_files(mut files: BTreeMap<String, Vec<u8>>) -> Result<Self, RunError> {
        let folder = Path::new("the model");
        let manifest = files.remove(MANIFEST).ok_or_else(|| missing(folder, MANIFEST))?;
        Self::checked(folder, &manifest, |name| files.remove(name).ok_or_else(|| missing(folder, name)))
    }

    /// A file of the directory, as it was read.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// All files of the directory, by name, its manifest included.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, content)| (name.as_str(), content.as_slice()))
    }

    fn checked(
        folder: &Path,
        manifest_bytes: &[u8],
        read: impl FnMut(&str) -> Result<Vec<u8>, RunError>,
    ) -> Result<Self, RunError> {
        let (manifest, digest) = manifest(folder, manifest_bytes)?;
        let mut files = files(folder, &manifest, read)?;
        let text = |file: &'static str| -> Result<&str, RunError> {
            let bytes = files.get(file).ok_or_else(|| missing(folder, file))?;
            std::str::from_utf8(bytes).map_err(|error| unsound(folder, file, error.to_string()))
        };
        let encoding = Encoding::from_json(text(ENCODING)?)?;
        let guarantee = serde_json::from_str(text(GUARANTEE)?);
        let guarantee = guarantee.map_err(|error| unsound(folder, GUARANTEE, error.to_string()))?;
        let bytes = files.get(MODEL).ok_or_else(|| missing(folder, MODEL))?;
        let model = if files.contains_key(NETWORK) {
            NetworkModel::read(text(NETWORK)?, bytes, encoding).map(Model::Network)
        } else {
            weights::model(bytes, encoding).map(Model::Linear)
        };
        let model = model.map_err(|reason| unsound(folder, MODEL, reason))?;
        let decision = files.contains_key(DECISION).then(|| {
            let decision = serde_json::from_str(text(DECISION)?);
            decision.map_err(|error| unsound(folder, DECISION, error.to_string()))
        });
        let decision = decision.transpose()?.filter(|decision: &Decision| decision.number < 2);
        files.insert(MANIFEST.to_owned(), manifest_bytes.to_vec());
        Ok(Self { model, guarantee, decision, folder: folder.to_owned(), digest, files })
    }

    /// Writes the same directory elsewhere. It must not exist.
    pub fn save(&self, out: &Path) -> Result<(), RunError> {
        folder::save_files(self.files(), out)
    }

    /// The charge that the ledger booked with the hash of this manifest.
    pub fn booking(&self, ledger: &Path) -> Result<ChargeRecord, RunError> {
        let charges = Ledger::open_to_read(ledger)?.charges()?;
        let is_this = |charge: &ChargeRecord| match charge.state {
            State::Booked { result, .. } => result == Some(self.digest),
            State::Reserved => false,
        };
        charges.into_iter().find(is_this).ok_or_else(|| RunError::NotBooked {
            model: self.folder.display().to_string(),
            ledger: ledger.display().to_string(),
        })
    }
}

fn manifest(folder: &Path, bytes: &[u8]) -> Result<(Manifest, Digest), RunError> {
    let manifest: Manifest =
        serde_json::from_slice(bytes).map_err(|error| unsound(folder, MANIFEST, error.to_string()))?;
    if manifest.format_version != FORMAT_VERSION {
        let version = manifest.format_version;
        let reason = format!("it has format version {version}, this program knows {FORMAT_VERSION}");
        return Err(unsound(folder, MANIFEST, reason));
    }
    Ok((manifest, Digest::of(bytes)))
}

/// The content of every listed file, after comparing its hash.
fn files(
    folder: &Path,
    manifest: &Manifest,
    mut read: impl FnMut(&str) -> Result<Vec<u8>, RunError>,
) -> Result<BTreeMap<String, Vec<u8>>, RunError> {
    let mut files = BTreeMap::new();
    for (name, digest) in &manifest.files {
        if Path::new(name).file_name() != Some(name.as_ref()) {
            let reason = format!("`{}` is no plain name of a file", name.escape_debug());
            return Err(unsound(folder, MANIFEST, reason));
        }
        let content = read(name)?;
        if Digest::of(&content) != *digest {
            return Err(RunError::TamperedModel { file: folder.join(name) });
        }
        files.insert(name.clone(), content);
    }
    Ok(files)
}

fn missing(folder: &Path, file: &str) -> RunError {
    let reason = format!("its manifest does not list `{file}`");
    RunError::NoModel { name: folder.display().to_string(), reason }
}

fn unsound(folder: &Path, file: &str, reason: String) -> RunError {
    RunError::NoModel { name: folder.display().to_string(), reason: format!("{file}: {reason}") }
}
