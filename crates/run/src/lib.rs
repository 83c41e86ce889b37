//! One private run, from settings to a booked release.
//!
//! The command, the Python package and a server are thin over this crate: they turn flags, keyword arguments or
//! requests into [`Settings`] or a [`Query`](query::Query), and words, tables or JSON out of what comes back. What makes
//! a run sound is here: who pays, in which order, from which bytes, what is kept, what is written and what is booked.
//!
//! # The order of every run
//! ```text
//! settings ─► rules of the owner ─► header ─► plan ─► would the budget grant it? ─► pay ─► read ─► release ─► write ─► book
//!             (before a byte of the data is read)      (public numbers alone)       (from here on it is spent)
//! ```
//! # Rooms
//! | module | what it holds |
//! |---|---|
//! | [`Settings`] | what is asked for, as flags and files spell it; all of it optional |
//! | [`Access`] | what the owner of the data allows, asked before the data is opened |
//! | [`Purse`] | the ledger's account, or nothing, which is said |
//! | [`training`] | subject, plan, working folder, fit, public test, model directory, report |
//! | [`query`] | one private statistic of a table |
//! | [`discovery`] | bounds and values that nobody declared, found with noise |
//! | [`model`] | a model's directory: what a run leaves and predictions are made from |
//!
//! # Messages
//! Errors name settings as the command spells them, `--batch-size`. A door with another spelling rewrites them:
//! [`respelled`].
#![forbid(unsafe_code)]

mod access;
pub mod discovery;
mod error;
mod folder;
mod identity;
mod memory;
pub mod model;
mod ownership;
mod purse;
pub mod query;
mod receipt;
mod schema_file;
mod settings;
pub mod training;

pub use access::Access;
pub use error::{Mismatch, RunError, respelled};
pub use identity::{content, identity};
pub use ownership::{LockSettings, Ownership};
pub use purse::{Payment, Purse, purpose};
pub use schema_file::read as read_schema;
#[cfg(feature = "clap")]
pub use settings::parse;
pub use settings::{
    AveragingName, ClippingName, LearnerSettings, LossName, Method, Relation, Settings, TunedOn, file,
};
