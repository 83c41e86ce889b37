//! One private run, from settings to a booked release.
//!
//! A *front end* is a program that people use: the command, a server, a package for another
//! language. It turns flags, requests or keyword arguments into [`Settings`] or a
//! [`Query`](query::Query), and shows the answer. Everything that makes a run sound is here: who
//! pays, in which order, from which bytes, what is kept, what is written and what is booked.
//!
//! # The order of every run
//! ```text
//! settings ─► owner's rules ─► survey ─► plan ─► ask ─► pay ─► read ─► release ─► write ─► book
//!             before the data            public         spent from
//!             is opened                  numbers only   here on
//! ```
//! # Modules
//! | module | what it holds |
//! |---|---|
//! | [`Settings`] | what is asked for, by the names of flags and files; every field is optional |
//! | [`Access`] | what the owner of the data allows, checked before the data is opened |
//! | [`Purse`] | what pays: the ledger's account, a budget, or nobody, and then the guarantee says so |
//! | [`Given`] | what a program has in memory in the place of files: table, schema, [`Payer`] |
//! | [`training`] | subject, plan, working folder, fit, public test, model directory, report |
//! | [`query`] | one private statistic of a table |
//! | [`discovery`] | bounds and values that nobody declared, found with noise |
//! | [`scores`] | how good predictions are, on public records |
//! | [`model`] | a model's directory: `train` writes it, `predict` reads it |
//!
//! # Messages
//! Errors name settings as the command spells them, `--batch-size`. A front end with another
//! spelling rewrites them with [`respelled`].
#![forbid(unsafe_code)]

mod access;
pub mod discovery;
mod error;
mod folder;
mod identity;
mod memory;
pub mod model;
mod ownership;
mod payer;
mod purse;
pub mod query;
mod receipt;
mod schema_file;
pub mod scores;
mod settings;
pub mod single;
pub mod training;

pub use access::Access;
pub use error::{Mismatch, RunError, respelled};
pub use identity::{content, identity, table_identity};
pub use ownership::{LockSettings, Ownership, link_values};
pub use payer::{Given, LedgerAccount, Payer, SharedBudget};
pub use purse::{Payment, Purse, purpose};
pub use schema_file::read as read_schema;
#[cfg(feature = "clap")]
pub use settings::parse;
pub use settings::{
    AveragingName, ClippingName, DeclaredWeights, LearnerSettings, LossName, Method, Relation, SamplingName,
    Settings, TunedOn, file,
};
