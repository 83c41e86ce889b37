//! A model's directory, which `train` writes and `predict` reads.
//!
//! | file | what |
//! |---|---|
//! | `model.safetensors` | linear: one tensor `weights`, `F64`, of shape [scores, coordinates] |
//! | | and the metadata `sordino_linear`: format and loss |
//! | | network: the tensors of its layers with PyTorch's names and layouts |
//! | `network.toml` | for a network: its complete description |
//! | `encoding.json` | how records become rows: schema, features in order, scaling |
//! | `guarantee.json` | what is promised |
//! | `decision.json` | the threshold, if one was declared |
//! | `configuration.toml` | every setting of the run, defaults included |
//! | `run.json`, `report.html`, `card.md` | the facts of the run: JSON, report, model card |
//! | `manifest.json` | the SHA-256 of each of these |
//!
//! # What the manifest protects
//! A changed file is noticed by its hash. An attacker who can change a file can change the manifest
//! too. So if a ledger paid for the model, its booking holds the hash of the manifest, and
//! `predict --ledger` compares them.

mod coefficients;
mod decision;
mod learned;
mod manifest;
pub(crate) mod package;
mod stored;
mod weights;

pub use self::coefficients::Coefficients;
pub use self::decision::{Decision, Threshold};
pub(crate) use self::learned::network_loss;
pub use self::learned::{Model, Prediction};
pub(crate) use self::package::Package;
pub use self::stored::Stored;

pub(crate) const MODEL: &str = "model.safetensors";
pub(crate) const NETWORK: &str = "network.toml";
pub(crate) const ENCODING: &str = "encoding.json";
pub(crate) const GUARANTEE: &str = "guarantee.json";
pub(crate) const DECISION: &str = "decision.json";
pub(crate) const CONFIGURATION: &str = "configuration.toml";
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const RUN: &str = "run.json";
pub(crate) const REPORT: &str = "report.html";
pub(crate) const CARD: &str = "card.md";
