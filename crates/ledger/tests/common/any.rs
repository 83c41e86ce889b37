//! What must hold for whatever comes in from outside. Shared by the test `any_bytes` and the
//! targets in `fuzz/`.

use std::path::Path;

use rusqlite::Connection;
use sordino_ledger::{ChargeRecord, Digest, Entry, FORMAT_VERSION, Head, Label, Ledger, LedgerError};
use sordino_privacy::{Claim, Event, Terms};
use sordino_testing::ScratchFile;

/// A file of this process and thread.
fn place() -> ScratchFile {
    ScratchFile::new(&format!("any-ledger-{:?}", std::thread::current().id()), "a.ledger")
}

/// Any file: opened, or refused in words.
pub(crate) fn file(bytes: &[u8]) {
    let path = place();
    std::fs::write(&path, bytes).expect("a file can be written");
    let _ = look(&path);
}

/// Everything that reads, on a file that exists.
pub(crate) fn look(path: &Path) -> Result<Vec<ChargeRecord>, LedgerError> {
    let ledger = Ledger::open(path)?;
    let head = ledger.verify(None)?;
    assert_eq!(ledger.head()?, head);
    assert_eq!(ledger.entries()?.len() as u64, head.number);
    for set in ledger.data_sets()? {
        assert!(!set.names.is_empty() && !set.contents.is_empty());
        // Totals may be refused; they are never below zero and never no number.
        assert!(set.total().is_ok_and(|total| total >= 0.0) || set.total().is_err());
    }
    ledger.export()?.to_csv()?;
    ledger.charges()
}

/// Any text: read as what it is or refused; what is read is written as what was read.
pub(crate) fn text(text: &str) {
    if let Ok(entry) = serde_json::from_str::<Entry>(text) {
        again(&entry);
    }
    if let Ok(event) = serde_json::from_str::<Event>(text) {
        again(&event);
    }
    if let Ok(terms) = serde_json::from_str::<Terms>(text) {
        again(&terms);
    }
    if let Ok(head) = text.parse::<Head>() {
        assert_eq!(head.to_string().parse(), Ok(head));
    }
    if let Ok(label) = text.parse::<Label>() {
        assert!(label.as_str() == text && !text.contains('\n'));
    }
    let _ = (text.parse::<Digest>(), Claim::from_json(text));
}

fn again<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let written = serde_json::to_string(value).expect("what was read can be written");
    assert_eq!(serde_json::from_str::<T>(&written).expect("and read again"), *value);
}

/// Any lines, each an entry with a correct hash: the chain holds, so only their meaning can be
/// wrong.
pub(crate) fn history(text: &str) {
    let path = place();
    drop(Ledger::create(&path).expect("a ledger can be made"));
    let connection = Connection::open(&path).expect("it can be opened");
    forge(&connection, text.lines());
    drop(connection);
    let _ = std::fs::remove_file(path.with_extension("ledger-head"));
    let _ = look(&path);
}

/// Replaces all entries by these.
pub(crate) fn forge<'a>(connection: &Connection, lines: impl Iterator<Item = &'a str>) {
    let query = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid";
    let mut statement = connection.prepare(query).expect("a schema");
    let triggers: Vec<(String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("triggers")
        .collect::<Result<_, _>>()
        .expect("triggers");
    for (name, _) in &triggers {
        connection.execute_batch(&format!("DROP TRIGGER {name}")).expect("a trigger can be dropped");
    }
    connection.execute_batch("DELETE FROM entries").expect("entries can be removed");
    let mut hash = bytes(Digest::of(b"sordino ledger"));
    for (place, line) in lines.enumerate() {
        hash = bytes(Digest::of(&[&hash, line.as_bytes()].concat()));
        let insert = "INSERT INTO entries (number, body, hash) VALUES (?1, ?2, ?3)";
        connection.execute(insert, (place as i64 + 1, line, &hash)).expect("an entry can be forged");
    }
    for (_, sql) in &triggers {
        connection.execute_batch(sql).expect("a trigger can be put back");
    }
    connection.pragma_update(None, "user_version", FORMAT_VERSION).expect("a version can be set");
}

fn bytes(digest: Digest) -> Vec<u8> {
    let text = digest.to_string();
    (0..32).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal")).collect()
}
