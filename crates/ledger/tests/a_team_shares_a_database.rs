//! The same ledger in PostgreSQL: the same rules, the same chain, the same refusals.
#![cfg(feature = "postgresql")]

mod common;
#[path = "common/server.rs"]
mod server;

use std::path::Path;

use common::{account, charge, folder, identity, label, pure, terms, with_census};
use postgres::{Client, NoTls};
use server::Server;
use sordino_ledger::{Digest, FORMAT_VERSION, Ledger, LedgerError, Lock, Rules};
use sordino_privacy::{ChargeError, Epsilon};

/// One server for all: starting one takes seconds.
#[test]
fn a_database_keeps_a_ledger_as_a_file_does() {
    let server = match Server::start() {
        Ok(server) => server,
        Err(reason) => return eprintln!("skipped: PostgreSQL, because {reason}"),
    };
    what_was_spent_is_spent(&server.url("spent"));
    a_copy_moves_between_stores(&server.url("here"), &server.url("there"));
    rules_and_progress_are_kept(&server.url("ruled"));
    tampering_is_found(&server.url("tampering"));
    a_newer_format_is_refused(&server.url("newer"));
    a_database_that_changes_what_is_written_is_refused(&server.url("rules"));
    a_broken_connection_grants_nothing(&server.url("broken"));
    forgetful_servers_are_refused(&server.url("forgetful"));
    analysts_need_few_rights(&server.url("rights"));
}

fn client(url: &str) -> Client {
    Client::connect(url, NoTls).unwrap()
}

fn what_was_spent_is_spent(url: &str) {
    let place = Path::new(url);
    assert!(!Ledger::exists(place).unwrap());
    assert!(matches!(Ledger::open(place), Err(LedgerError::NotALedger { .. })));
    with_census(place, &terms(1.0));
    assert!(Ledger::exists(place).unwrap());
    assert!(matches!(Ledger::create(place), Err(LedgerError::Exists { .. })));
    let (mut ann, mut bob) = (account(place, "ann").unwrap(), account(place, "bob").unwrap());
    let number = charge(&mut ann, pure(0.4)).unwrap();
    ann.book(number, Some(Digest::of(b"17"))).unwrap();
    charge(&mut bob, pure(0.4)).unwrap();
    assert!(matches!(charge(&mut ann, pure(0.4)), Err(ChargeError::Refused(_))));
    let ledger = Ledger::open(place).unwrap();
    let half = Epsilon::new(0.5).unwrap();
    ledger.grant(&label("census"), &label("ann"), half, None).unwrap();
    assert!(charge(&mut bob, pure(0.1)).is_err());
    charge(&mut ann, pure(0.1)).unwrap();
    assert!(charge(&mut ann, pure(0.1)).is_err());
    assert!((ledger.total(2).unwrap() - 0.9).abs() < 1e-12);
    assert_eq!(ledger.verify(None).unwrap().number, 7);
}

fn a_copy_moves_between_stores(here: &str, there: &str) {
    let file = folder("moves").join("a.ledger");
    with_census(Path::new(here), &terms(1.0));
    charge(&mut account(Path::new(here), "ann").unwrap(), pure(0.25)).unwrap();
    let head = Ledger::open(Path::new(here)).unwrap().backup(&file).unwrap();
    assert_eq!(Ledger::open(&file).unwrap().verify(Some(head)).unwrap(), head);
    charge(&mut account(&file, "bob").unwrap(), pure(0.25)).unwrap();
    let later = Ledger::open(&file).unwrap().backup(Path::new(there)).unwrap();
    let moved = Ledger::open(Path::new(there)).unwrap();
    assert_eq!(moved.verify(Some(head)).unwrap(), later);
    assert_eq!(moved.total(2).unwrap(), 0.5);
    assert!(matches!(moved.backup(Path::new(here)), Err(LedgerError::Exists { .. })));
}

fn rules_and_progress_are_kept(url: &str) {
    let place = Path::new(url);
    let ledger = with_census(place, &terms(1.0));
    let mut before = account(place, "ann").unwrap();
    let most = Epsilon::new(0.25).unwrap();
    // The accounts of these tests are for `a test`.
    let lock = Lock::new(Digest::of(b"schema"), vec![label("a")], most, "/srv/results").unwrap();
    let rules = Rules::new("unit = \"record\"").unwrap().owned_by(label("olga")).locked(lock);
    ledger.rule(&label("census"), &rules).unwrap();
    assert!(matches!(ledger.rule(&label("census"), &rules), Err(LedgerError::HasRules { .. })));
    assert!(format!("{:?}", charge(&mut before, pure(0.125)).unwrap_err()).contains("RulesChanged"));
    let mut ann = account(place, "ann").unwrap();
    assert_eq!(ann.rules(), Some(&rules));
    assert!(format!("{:?}", charge(&mut ann, pure(0.5)).unwrap_err()).contains("ChargeTooLarge"));
    let number = charge(&mut ann, pure(0.25)).unwrap();
    ann.keep(number, 10, Digest::of(b"checkpoint"), true).unwrap();
    let progress = account(place, "bob").unwrap().charge_record(number).unwrap().unwrap().progress.unwrap();
    assert_eq!((progress.steps, progress.last), (10, true));
    assert!(matches!(ann.keep(number, 11, Digest::of(b"x"), true), Err(LedgerError::NotKept { .. })));
}

fn tampering_is_found(url: &str) {
    let place = Path::new(url);
    with_census(place, &terms(1.0));
    let mut ann = account(place, "ann").unwrap();
    for _ in 0..4 {
        charge(&mut ann, pure(0.125)).unwrap();
    }
    let mut client = client(url);
    for statement in
        ["DELETE FROM sordino_entries", "UPDATE sordino_entries SET body = ''", "TRUNCATE sordino_entries"]
    {
        let error = client.batch_execute(statement).unwrap_err();
        assert!(format!("{error:?}").contains("append-only"), "{error:?}");
    }
    let kept = ann.ledger().head().unwrap();
    client.batch_execute("ALTER TABLE sordino_entries DISABLE TRIGGER ALL").unwrap();
    client.batch_execute("DELETE FROM sordino_entries WHERE number = 6").unwrap();
    // There is no witness here: somebody must have kept the head. Whoever has the ledger open has.
    assert!(format!("{:?}", charge(&mut ann, pure(0.125)).unwrap_err()).contains("Broken"));
    let ledger = Ledger::open(place).unwrap();
    assert!(matches!(ledger.verify(Some(kept)), Err(LedgerError::OtherHistory { .. })));
    client
        .batch_execute("UPDATE sordino_entries SET body = replace(body, '0.125', '0.001') WHERE number = 4")
        .unwrap();
    assert!(matches!(Ledger::open(place), Err(LedgerError::Broken { number: 4, .. })));
}

fn a_newer_format_is_refused(url: &str) {
    let place = Path::new(url);
    with_census(place, &terms(1.0));
    let mut open = account(place, "ann").unwrap();
    client(url)
        .execute("UPDATE sordino_ledger SET format_version = $1", &[&(FORMAT_VERSION as i32 + 1)])
        .unwrap();
    assert!(format!("{:?}", charge(&mut open, pure(0.125)).unwrap_err()).contains("OtherVersion"));
    assert!(matches!(Ledger::open(place), Err(LedgerError::OtherVersion { .. })));
}

fn a_database_that_changes_what_is_written_is_refused(url: &str) {
    let place = Path::new(url);
    with_census(place, &terms(1.0));
    client(url).batch_execute("CREATE RULE lost AS ON INSERT TO sordino_entries DO INSTEAD NOTHING").unwrap();
    let error = charge(&mut account(place, "ann").unwrap(), pure(0.125)).unwrap_err();
    assert!(format!("{error:?}").contains("did not keep the entry"), "{error:?}");
}

fn a_broken_connection_grants_nothing(url: &str) {
    let place = Path::new(url);
    with_census(place, &terms(1.0));
    let mut ann = account(place, "ann").unwrap();
    charge(&mut ann, pure(0.125)).unwrap();
    let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                  WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client(url).query(others, &[]).unwrap();
    assert!(matches!(charge(&mut ann, pure(0.125)), Err(ChargeError::Journal(_))));
    // Somebody who opens it again finds what was granted, and nothing else.
    let mut again = account(place, "ann").unwrap();
    assert_eq!(again.total().unwrap(), 0.125);
    charge(&mut again, pure(0.125)).unwrap();
}

fn forgetful_servers_are_refused(url: &str) {
    let place = Path::new(url);
    // A database may ask its sessions not to wait for the disk. Ours do.
    client(url).batch_execute("ALTER DATABASE forgetful SET synchronous_commit TO off").unwrap();
    with_census(place, &terms(1.0));
    let error = Ledger::open(Path::new("postgres://sordino:s3cret@127.0.0.1:1/x")).unwrap_err().to_string();
    assert!(error.contains("cannot connect to") && !error.contains("s3cret"), "{error}");
    assert!(
        account(place, "ann").unwrap().ledger().create_data_set(&identity("b", "b"), &terms(1.0)).is_ok()
    );
}

/// The role of analysts can read and append. It cannot change or remove, not even with triggers out
/// of the way.
fn analysts_need_few_rights(url: &str) {
    with_census(Path::new(url), &terms(1.0));
    let mut owner = client(url);
    owner
        .batch_execute("CREATE ROLE analyst LOGIN; GRANT SELECT, INSERT ON sordino_entries TO analyst")
        .unwrap();
    owner.batch_execute("GRANT SELECT ON sordino_ledger TO analyst").unwrap();
    owner.batch_execute("ALTER TABLE sordino_entries DISABLE TRIGGER ALL").unwrap();
    let theirs = url.replace("sordino@", "analyst@");
    charge(&mut account(Path::new(&theirs), "ann").unwrap(), pure(0.125)).unwrap();
    for statement in ["DELETE FROM sordino_entries", "UPDATE sordino_ledger SET format_version = 1"] {
        let error = format!("{:?}", client(&theirs).batch_execute(statement).unwrap_err());
        assert!(error.contains("permission denied"), "{error}");
    }
}
