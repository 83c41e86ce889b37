//! All files of a model's directory in memory, with their manifest. Nothing is left
//! to compute when they are written.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use sordino_ledger::Digest;
use sordino_privacy::Guarantee;

use super::manifest::Manifest;
use super::{CONFIGURATION, ENCODING, GUARANTEE, MANIFEST, Model};
use crate::error::RunError;

#[derive(Debug)]
pub(crate) struct Package {
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Package {
    pub(crate) fn new(model: &Model, guarantee: &Guarantee, configuration: &str) -> Result<Self, RunError> {
        let unwritable = |error: serde_json::Error| RunError::Unwritable { reason: error.to_string() };
        let guarantee = serde_json::to_string_pretty(guarantee).map_err(unwritable)? + "\n";
        let mut files = model.files()?;
        files.extend([
            (ENCODING, (model.encoding().to_json() + "\n").into_bytes()),
            (GUARANTEE, guarantee.into_bytes()),
            (CONFIGURATION, configuration.as_bytes().to_vec()),
        ]);
        Ok(Self { files })
    }

    /// Adds a file.
    pub(crate) fn with(mut self, name: &'static str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name, content.into()));
        self
    }

    /// The hash of the manifest, which covers all files.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.manifest().as_bytes())
    }

    /// All files, the manifest last.
    pub(crate) fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        self.files.iter().cloned().chain([(MANIFEST, self.manifest().into_bytes())]).collect()
    }

    /// Writes and flushes all files into an empty folder, the manifest last.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let (manifest, files) = (self.manifest(), self.files.iter());
        let files = files.map(|(name, content)| (*name, content.as_slice()));
        write_files(files.chain([(MANIFEST, manifest.as_bytes())]), folder)
    }

    fn manifest(&self) -> String {
        Manifest::of(self.files.iter().map(|(name, content)| (*name, content.as_slice()))).to_json()
    }
}

/// Writes and flushes files into an empty folder, in this order.
pub(crate) fn write_files<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    folder: &Path,
) -> io::Result<()> {
    files.into_iter().try_for_each(|(name, content)| write(&folder.join(name), content))?;
    // Systems that cannot open folders skip this.
    File::open(folder).and_then(|folder| folder.sync_all()).or(Ok(()))
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}
