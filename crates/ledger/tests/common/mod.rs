//! Ledgers in folders of their own.
// Each test file uses its own part of this.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use sordino_ledger::{Account, Digest, Identity, Label, Ledger, LedgerError};
use sordino_privacy::{Charge, ChargeError, Delta, Epsilon, Event, Neighbours, Terms};

/// An empty folder; names must differ between the tests of one file.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

pub(crate) fn label(text: &str) -> Label {
    Label::new(text).expect("a label")
}

pub(crate) fn identity(name: &str, content: &str) -> Identity {
    Identity { name: label(name), content: Digest::of(content.as_bytes()) }
}

pub(crate) fn census() -> Identity {
    identity("census", "the census")
}

pub(crate) fn pure(epsilon: f64) -> Event {
    Event::Pure { epsilon: Epsilon::new(epsilon).expect("an epsilon") }
}

pub(crate) fn terms(epsilon: f64) -> Terms {
    Terms::new(Epsilon::new(epsilon).expect("an epsilon"), Neighbours::AddRemove)
}

pub(crate) fn approximate(epsilon: f64, delta: f64) -> Terms {
    terms(epsilon).with_delta(Delta::new(delta).expect("a delta"))
}

/// A ledger with the census and this budget.
pub(crate) fn with_census(path: &Path, terms: &Terms) -> Ledger {
    let ledger = Ledger::create(path).expect("a ledger can be made");
    ledger.create_data_set(&census(), terms).expect("the first budget");
    ledger
}

pub(crate) fn account(path: &Path, who: &str) -> Result<Account, LedgerError> {
    Account::open(Ledger::open(path)?, &census(), label(who), label("a test"))
}

/// Charges, and gives the permit up: only its number is of interest here.
pub(crate) fn charge(account: &mut Account, event: Event) -> Result<u64, ChargeError> {
    account.charge(event).map(|permit| permit.reservation().expect("ledgers number their charges"))
}
