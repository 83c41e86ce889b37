//! Who released what, when and by which declarations, for the person who signs.

use serde::{Deserialize, Serialize};

/// Where a release comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The day on which the run began, such as `2026-11-16`. The time at which it ended would tell
    /// how long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The analyst, as the ledger records the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The charges that paid for it, by their numbers in the ledger.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<u64>,
    /// SHA-256 of the model's own files, which are released.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ReleasedFile>,
    /// SHA-256 of the schema's declarations, which are public. Comments and layout of its file do
    /// not change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_digest: Option<String>,
    /// The columns that were used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<DeclaredColumns>,
}

/// A file of the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasedFile {
    /// Its name in the model's directory.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Adjacent columns with the same declaration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredColumns {
    /// The first column.
    pub first: String,
    /// The last column, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The number of columns.
    pub columns: u64,
    /// The declaration, such as `number from 0 to 120`.
    pub declared: String,
    /// Whether it is the target.
    #[serde(default)]
    pub is_target: bool,
}
