//! Ledgers in folders of their own.
// Each test file uses its own part of this.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sordino_ledger::{Account, Digest, FORMAT_VERSION, Identity, Label, Ledger, LedgerError};
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

/// A ledger as an older version wrote it: the same table, another first entry and another number in
/// the header.
pub(crate) fn of_version(version: u32, path: &Path) {
    with_census(path, &terms(1.0));
    let connection = Connection::open(path).unwrap();
    let mut bodies: Vec<String> = connection
        .prepare("SELECT body FROM entries ORDER BY number")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    bodies[0] = bodies[0]
        .replace(&format!("\"format_version\":{FORMAT_VERSION}"), &format!("\"format_version\":{version}"));
    let triggers: Vec<String> = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    connection
        .execute_batch(
            "DROP TRIGGER entries_stay; DROP TRIGGER entries_stay_as_they_are; DELETE FROM entries",
        )
        .unwrap();
    triggers.iter().for_each(|trigger| connection.execute_batch(trigger).unwrap());
    let mut hash = Digest::of(b"sordino ledger").to_string();
    for (place, body) in bodies.iter().enumerate() {
        let before: Vec<u8> =
            (0..32).map(|i| u8::from_str_radix(&hash[2 * i..2 * i + 2], 16).unwrap()).collect();
        hash = Digest::of(&[&before, body.as_bytes()].concat()).to_string();
        let insert = format!("INSERT INTO entries VALUES ({}, ?1, x'{hash}')", place + 1);
        connection.execute(&insert, [body]).unwrap();
    }
    connection.pragma_update(None, "user_version", version).unwrap();
    drop(connection);
    let mut witness = path.as_os_str().to_owned();
    witness.push("-head");
    fs::remove_file(witness).unwrap();
}

pub(crate) fn account(path: &Path, who: &str) -> Result<Account, LedgerError> {
    Account::open(Ledger::open(path)?, &census(), label(who), label("a test"))
}

/// Charges, and gives the permit up: only its number is of interest here.
pub(crate) fn charge(account: &mut Account, event: Event) -> Result<u64, ChargeError> {
    account.charge(event).map(|permit| permit.reservation().expect("ledgers number their charges"))
}
