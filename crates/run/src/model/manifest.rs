//! The list of a model's files with their hashes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sordino_ledger::Digest;

/// The version of the directory that is written and read.
pub(crate) const FORMAT_VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) sordino: String,
    pub(crate) format_version: u32,
    /// Digests by file name, without folders.
    pub(crate) files: BTreeMap<String, Digest>,
}

impl Manifest {
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let files = files.into_iter().map(|(name, content)| (name.to_owned(), Digest::of(content))).collect();
        Self { sordino: env!("CARGO_PKG_VERSION").to_owned(), format_version: FORMAT_VERSION, files }
    }

    /// The text that is stored, and whose hash a ledger books.
    pub(crate) fn to_json(&self) -> String {
        // Strings and integers always serialise.
        serde_json::to_string_pretty(self).expect("a manifest is JSON") + "\n"
    }
}
