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
}

impl Stored {
    /// Reads a directory and refuses it if any file is not the one that was written.
    pub fn open(folder: &Path) -> Result<Self, RunError> {
        let name = folder.display().to_string();
        if !folder.is_dir() {
            return Err(RunError::NoModel { name, reason: "it is no directory".to_owned() });
        }
        let (manifest, digest) = manifest(folder)?;
        let files = files(folder, &manifest)?;
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
        Ok(Self { model, guarantee, decision, folder: folder.to_owned(), digest })
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

fn manifest(folder: &Path) -> Result<(Manifest, Digest), RunError> {
    let path = folder.join(MANIFEST);
    let failed = |source| RunError::Read { name: format!("`{}`", path.display()), source };
    let mut bytes = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(MAX_MANIFEST_BYTES).read_to_end(&mut bytes))
        .map_err(failed)?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|error| unsound(folder, MANIFEST, error.to_string()))?;
    if manifest.format_version != FORMAT_VERSION {
        let version = manifest.format_version;
        let reason = format!("it has format version {version}, this program knows {FORMAT_VERSION}");
        return Err(unsound(folder, MANIFEST, reason));
    }
    Ok((manifest, Digest::of(&bytes)))
}

/// The content of every listed file, after comparing its hash.
fn files(folder: &Path, manifest: &Manifest) -> Result<BTreeMap<String, Vec<u8>>, RunError> {
    let mut files = BTreeMap::new();
    for (name, digest) in &manifest.files {
        if Path::new(name).file_name() != Some(name.as_ref()) {
            let reason = format!("`{}` is no plain name of a file", name.escape_debug());
            return Err(unsound(folder, MANIFEST, reason));
        }
        let path = folder.join(name);
        let content = fs::read(&path)
            .map_err(|source| RunError::Read { name: format!("`{}`", path.display()), source })?;
        if Digest::of(&content) != *digest {
            return Err(RunError::TamperedModel { file: path });
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
