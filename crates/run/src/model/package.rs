//! Everything that is written, in memory, with its manifest: nothing is computed while files are being written.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use sordino_ledger::Digest;
use sordino_privacy::Guarantee;

use super::manifest::Manifest;
use super::{CONFIGURATION, ENCODING, GUARANTEE, MANIFEST, Model};
use crate::error::RunError;

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

    /// With one more file.
    pub(crate) fn with(mut self, name: &'static str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name, content.into()));
        self
    }

    /// The hash that stands for all of it.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.manifest().as_bytes())
    }

    /// Into an empty folder, flushed; the manifest last.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        for (name, content) in &self.files {
            write(&folder.join(name), content)?;
        }
        write(&folder.join(MANIFEST), self.manifest().as_bytes())?;
        // Not every system lets folders be opened.
        File::open(folder).and_then(|folder| folder.sync_all()).or(Ok(()))
    }

    fn manifest(&self) -> String {
        Manifest::of(self.files.iter().map(|(name, content)| (*name, content.as_slice()))).to_json()
    }
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}
