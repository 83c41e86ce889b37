//! Durable privacy budgets: what may be spent on a data set, and everything that was, across
//! processes and crashes.
//!
//! # Guarantee
//! - **Two phases.** A charge is on the disk before there is a permit, and so before the data is
//!   touched. The release of its result is recorded afterwards. A crash between the two counts as
//!   spent. There is no refund.
//! - **One decision at a time.** Charges are decided under one lock, on the whole history. Two
//!   charges that together exceed the budget are never both granted. The decision itself, and the
//!   permit, belong to `sordino_privacy`.
//! - **Append-only.** Entries are chained by SHA-256. Opening a ledger checks every entry;
//!   [`Ledger::verify`] says which one is wrong. A ledger that is not as it was written grants
//!   nothing.
//! - **Shares.** A data set that has [grants](Ledger::grant) is spent by those who have one; a
//!   charge counts against the grant and against the whole.
//! - **Rules.** The owner fixes with the budget how a data set is read and, if it is
//!   [locked](Lock), what analysts are held to.
//! - **Progress.** A run tells the ledger [how far it is](Account::keep), so that a copy of its
//!   working folder is recognised.
//! - **Identity.** A data set is its name and the hash of its content. A changed file under a known
//!   name, and known content under a new name, are refused until the owner [links](Ledger::link)
//!   them.
//!
//! # Where it is kept
//! A ledger is one SQLite file, or a database with the feature `postgresql`: a path that begins
//! with `postgres://` or `postgresql://` is taken for its URL. Both have the same entries, the same
//! chain and the same rules.
//!
//! # Limits
//! Anyone who may write to the file can replace it by another, or by an older copy of itself
//! together with its witness `-head`. Somebody who kept a [`Head`] notices. A file whose every
//! record is changed a little, under a new name, is a new data set to the ledger: identity is by
//! content, not by meaning.
//!
//! ```
//! use sordino_ledger::{Account, Digest, Identity, Label, Ledger};
//! use sordino_privacy::{Charge, Epsilon, Event, Neighbours, Terms};
//! # let folder = sordino_testing::Scratch::new("ledger-doc");
//! # let path = folder.join("budgets.ledger");
//!
//! let data = Identity { name: Label::new("census")?, content: Digest::of(b"the bytes of the file") };
//! let ledger = Ledger::create(&path)?;
//! ledger.create_data_set(&data, &Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove))?;
//!
//! let mut account = Account::open(ledger, &data, Label::new("ann")?, Label::new("how many?")?)?;
//! let count = Event::Pure { epsilon: Epsilon::new(0.4)? };
//! let permit = account.charge(count.clone())?; // spent, and on the disk
//! let reservation = permit.reservation().expect("a ledger numbers its charges");
//! let release = permit.seal(&count, 1_204)?;
//! account.book(reservation, Some(Digest::of(b"1204")))?;
//! assert!((account.left()? - 0.6).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod account;
mod book;
mod clock;
mod digest;
mod entry;
mod error;
mod export;
mod grant;
mod label;
mod ledger;
mod progress;
mod record;
mod rules;
mod store;

pub use account::{Account, Limit};
pub use clock::Time;
pub use digest::{Digest, DigestError};
pub use entry::{Body, Entry, Head, HeadError, Identity};
pub use error::LedgerError;
pub use export::{Export, ExportedCharge, ExportedDataSet, ExportedGrant};
pub use grant::Grant;
pub use label::{Label, LabelError};
pub use ledger::Ledger;
pub use progress::RunProgress;
pub use record::{ChargeRecord, DataSet, State};
pub use rules::{Lock, Rules, RulesError};

/// The version of the ledgers that this program makes. It reads and continues older ones as they
/// are; what they cannot say needs [`Ledger::migrate`] first. Newer ones are refused.
///
/// | version | what came with it |
/// |---|---|
/// | 1 | budgets, links, charges |
/// | 2 | grants; terms that set δ aside |
/// | 3 | rules of the owner; charges for seeded noise; progress of runs |
/// | 4 | budgets that add up squares of Gaussian distances |
pub const FORMAT_VERSION: u32 = 4;
