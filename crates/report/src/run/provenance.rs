//! Who released what, when and by which declarations: for whoever signs.

use serde::{Deserialize, Serialize};

/// Where a release comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The day on which it was begun, such as `2026-11-16`. A time of day of its
    /// end would tell how long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Who asked, as the ledger has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The charges that paid for it, by their numbers in the ledger.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<u64>,
    /// SHA-256 of the model's own files, which are released.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ReleasedFile>,
    /// SHA-256 of what the schema says, which is public. Comments and
    /// layout of its file do not change it.
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

/// Neighbouring columns that are declared alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredColumns {
    /// The first of them.
    pub first: String,
    /// The last, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// How many there are.
    pub columns: u64,
    /// What is declared, such as `number from 0 to 120`.
    pub declared: String,
    /// Whether it is what the model predicts.
    #[serde(default)]
    pub is_target: bool,
}
