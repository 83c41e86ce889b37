//! A ledger is damaged, tampered with, too new or out of reach. It refuses or gives the answer it
//! always gave.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{account, charge, folder, pure, terms, with_census};
use rusqlite::Connection;
use sordino_ledger::{ChargeRecord, Digest, FORMAT_VERSION, Head, Ledger, LedgerError};

/// A ledger with some charges, closed: its log is folded into the file.
fn closed(folder: &Path) -> PathBuf {
    let path = folder.join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut account = account(&path, "ann").unwrap();
    for _ in 0..12 {
        let number = charge(&mut account, pure(1.0 / 16.0)).unwrap();
        account.book(number, Some(Digest::of(b"result"))).unwrap();
    }
    path
}

fn history(path: &Path) -> Result<Vec<ChargeRecord>, LedgerError> {
    let ledger = Ledger::open(path)?;
    ledger.verify(None)?;
    ledger.charges()
}

/// The file with its triggers taken off and put back, as a careful forger would.
fn forge(path: &Path, statement: &str) {
    let connection = Connection::open(path).unwrap();
    let triggers: Vec<String> = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    connection.execute_batch("DROP TRIGGER entries_stay; DROP TRIGGER entries_stay_as_they_are;").unwrap();
    connection.execute_batch(statement).unwrap();
    triggers.iter().for_each(|trigger| connection.execute_batch(trigger).unwrap());
}

#[test]
fn no_flipped_bit_changes_the_history_unseen() {
    let folder = folder("flips");
    let path = closed(&folder);
    let truth = history(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let (mut found, mut harmless) = (0, 0);
    // Every place of the file header and of the first page's table, then a walk through the rest.
    let places = (0..200).chain((200..whole.len()).step_by(67));
    for place in places {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        fs::write(&path, bytes).unwrap();
        match history(&path) {
            Err(_) => found += 1,
            Ok(charges) => {
                assert_eq!(charges, truth, "byte {place}");
                harmless += 1;
            }
        }
        for side in ["a.ledger-wal", "a.ledger-shm"] {
            let _ = fs::remove_file(folder.join(side));
        }
    }
    assert!(found > 100 && harmless > 0, "{found} found, {harmless} harmless");
}

#[test]
fn no_truncation_loses_entries_unseen() {
    let folder = folder("cuts");
    let path = closed(&folder);
    let truth = history(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len()).step_by(512).chain([1, 99, whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(history(&path).is_err(), "{length} of {} bytes", whole.len());
        for side in ["a.ledger-wal", "a.ledger-shm"] {
            let _ = fs::remove_file(folder.join(side));
        }
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(history(&path).unwrap(), truth);
}

/// SQLite takes a damaged log for the end of the log, and goes on with what came before.
#[test]
fn a_lost_or_damaged_log_is_noticed() {
    let folder = folder("log");
    let path = closed(&folder);
    // A killed process leaves the log; a copy made while the ledger is open looks the same.
    let mut open = account(&path, "bob").unwrap();
    charge(&mut open, pure(1.0 / 16.0)).unwrap();
    let files = ["a.ledger", "a.ledger-wal", "a.ledger-head"];
    let bytes = files.map(|file| fs::read(folder.join(file)).unwrap());
    let place = |case: &str, file: &str| {
        let folder = folder.join(case);
        fs::create_dir_all(&folder).unwrap();
        folder.join(file)
    };
    let length = bytes[1].len();
    let mut cases =
        vec![("whole", bytes[1].clone()), ("gone", Vec::new()), ("cut", bytes[1][..length / 2].to_vec())];
    for place in (0..length).step_by(length / 50 + 1) {
        let mut flipped = bytes[1].clone();
        flipped[place] ^= 1;
        cases.push(("flipped", flipped));
    }
    for (case, log) in cases {
        for (file, content) in files.iter().zip([&bytes[0], &log, &bytes[2]]) {
            fs::write(place(case, file), content).unwrap();
        }
        let _ = fs::remove_file(place(case, "a.ledger-shm"));
        match (case, history(&place(case, "a.ledger"))) {
            // A byte of the log may belong to nothing that is still needed.
            ("whole" | "flipped", Ok(charges)) => assert_eq!(charges.len(), 13),
            ("flipped", Err(_)) => {}
            (_, Err(LedgerError::LostEntries { expected, .. })) => assert_eq!(expected, 27),
            (case, other) => panic!("{case}: {other:?}"),
        }
    }
}

/// A link to a ledger is the same ledger, with the same witness.
#[cfg(unix)]
#[test]
fn a_link_does_not_hide_the_witness() {
    let folder = folder("link");
    let path = closed(&folder);
    std::os::unix::fs::symlink(&path, folder.join("link")).unwrap();
    forge(&path, "DELETE FROM entries WHERE number > 20");
    assert!(matches!(Ledger::open(&folder.join("link")), Err(LedgerError::LostEntries { .. })));
    assert!(matches!(Ledger::create(&folder.join("link")), Err(LedgerError::Exists { .. })));
}

#[test]
fn tampering_is_found_and_located() {
    let folder = folder("tampering");
    let path = closed(&folder);
    let whole = fs::read(&path).unwrap();
    let cases = [
        ("UPDATE entries SET body = replace(body, 'ann', 'bob') WHERE number = 5", 5),
        ("UPDATE entries SET body = replace(body, '0.0625', '0.0001') WHERE number = 7", 7),
        ("UPDATE entries SET hash = zeroblob(32) WHERE number = 9", 9),
        ("UPDATE entries SET hash = x'00' WHERE number = 9", 9),
        ("DELETE FROM entries WHERE number = 11", 11),
        ("DELETE FROM entries WHERE number = 1", 1),
        ("DELETE FROM entries", 1),
        ("UPDATE entries SET number = 100 WHERE number = 8", 8),
        ("INSERT INTO entries VALUES (27, '{}', zeroblob(32))", 27),
    ];
    for (statement, number) in cases {
        fs::write(&path, &whole).unwrap();
        forge(&path, statement);
        match history(&path) {
            Err(LedgerError::Broken { number: found, .. }) => assert_eq!(found, number, "{statement}"),
            other => panic!("{statement}: {other:?}"),
        }
    }
}

/// A chain alone cannot tell a history from its beginning.
#[test]
fn entries_cut_off_the_end_are_missed_by_the_witness_or_by_whoever_kept_a_head() {
    let folder = folder("tail");
    let path = closed(&folder);
    let kept: Head = Ledger::open(&path).unwrap().head().unwrap().to_string().parse().unwrap();
    forge(&path, "DELETE FROM entries WHERE number > 20");
    assert!(matches!(Ledger::open(&path), Err(LedgerError::LostEntries { expected: 26, .. })));
    // A forger removes the witness too; not the head in somebody's drawer.
    fs::remove_file(folder.join("a.ledger-head")).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let error = ledger.verify(Some(kept)).unwrap_err();
    assert!(matches!(error, LedgerError::OtherHistory { entries: 20, .. }), "{error}");
}

/// A process has the ledger open while somebody else rewrites it.
#[test]
fn a_history_changed_under_an_open_account_is_not_continued() {
    let folder = folder("under");
    let path = closed(&folder);
    let whole = fs::read(&path).unwrap();
    for statement in
        ["DELETE FROM entries WHERE number > 20", "UPDATE entries SET hash = zeroblob(32) WHERE number = 26"]
    {
        fs::write(&path, &whole).unwrap();
        let mut open = account(&path, "bob").unwrap();
        forge(&path, statement);
        let error = charge(&mut open, pure(1.0 / 16.0)).unwrap_err();
        assert!(format!("{error:?}").contains("Broken"), "{error:?}");
    }
}

#[test]
fn the_database_itself_refuses_changes_by_honest_hands() {
    let path = closed(&folder("honest"));
    let connection = Connection::open(&path).unwrap();
    for statement in ["DELETE FROM entries", "UPDATE entries SET number = number + 1"] {
        assert!(connection.execute_batch(statement).unwrap_err().to_string().contains("append-only"));
    }
    drop(connection);
    assert_eq!(history(&path).unwrap().len(), 12);
}

#[test]
fn a_trigger_that_was_slipped_in_is_not_run() {
    let path = closed(&folder("trigger"));
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TRIGGER evil AFTER INSERT ON entries BEGIN SELECT 1; END").unwrap();
    drop(connection);
    assert!(matches!(Ledger::open(&path), Err(LedgerError::Damaged { .. })));
}

/// An old program must not guess what the entries of a newer one mean, even if it was started
/// first.
#[test]
fn a_newer_format_is_refused() {
    let path = closed(&folder("newer"));
    let mut open = account(&path, "bob").unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", FORMAT_VERSION + 1).unwrap();
    let error = charge(&mut open, pure(1.0 / 16.0)).unwrap_err();
    assert!(format!("{error:?}").contains("OtherVersion"), "{error:?}");
    drop(open);
    let error = Ledger::open(&path).unwrap_err().to_string();
    assert!(error.contains("has format_version 5, and this program knows versions up to 4"), "{error}");
}

#[test]
fn other_files_are_no_ledgers() {
    let folder = folder("others");
    let path = folder.join("x");
    for content in ["", "hello", &"x".repeat(10_000)] {
        fs::write(&path, content).unwrap();
        let error = Ledger::open(&path).unwrap_err();
        assert!(matches!(error, LedgerError::NotALedger { .. }), "{error:?}");
        // It is left as it was.
        assert!(matches!(Ledger::create(&path), Err(LedgerError::Exists { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    let database = folder.join("y");
    Connection::open(&database).unwrap().execute_batch("CREATE TABLE entries (number)").unwrap();
    assert!(matches!(Ledger::open(&database), Err(LedgerError::NotALedger { .. })));
    assert!(matches!(Ledger::open(&folder.join("z")), Err(LedgerError::Io { .. })));
    assert!(Ledger::open(&folder).is_err());
}

/// Where nothing can be written, nothing is granted.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_a_clear_refusal() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder("read-only");
    let path = closed(&folder);
    let allow = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o555);
    if fs::write(folder.join("probe"), "").is_ok() {
        // Permissions do not bind this user. A folder in the place of a file does: SQLite cannot
        // make its log.
        fs::create_dir(folder.join("a.ledger-wal")).unwrap();
        let error = Ledger::open(&path).unwrap_err().to_string();
        assert!(error.contains("needs to write to the file and to its folder"), "{error}");
        let error = Ledger::create(Path::new("/dev/null/b.ledger")).unwrap_err().to_string();
        assert!(error.starts_with("cannot create `/dev/null/b.ledger`"), "{error}");
    } else {
        let error = Ledger::open(&path).unwrap_err().to_string();
        assert!(error.contains("needs to write to the file and to its folder"), "{error}");
        let error = Ledger::create(&folder.join("b.ledger")).unwrap_err().to_string();
        assert!(error.starts_with("cannot create `"), "{error}");
    }
    allow(0o755);
    let _ = fs::remove_dir(folder.join("a.ledger-wal"));
    assert_eq!(history(&path).unwrap().len(), 12);
}

/// The witness is written after the commit. If that fails there is no permit, and the charge is
/// spent all the same.
#[test]
fn a_charge_whose_witness_cannot_be_written_is_spent_and_not_granted() {
    let folder = folder("witness");
    let path = closed(&folder);
    let mut open = account(&path, "bob").unwrap();
    let witness = folder.join("a.ledger-head");
    fs::remove_file(&witness).unwrap();
    fs::create_dir(&witness).unwrap();
    assert!(charge(&mut open, pure(1.0 / 16.0)).is_err());
    fs::remove_dir(&witness).unwrap();
    assert_eq!(open.total().unwrap(), 13.0 / 16.0);
    assert_eq!(history(&path).unwrap().len(), 13);
    charge(&mut open, pure(1.0 / 16.0)).unwrap();
}
