//! Ledgers of an older version are read, continued and raised; two versions of the program at once
//! never lose a charge.

mod common;

use common::{account, charge, folder, label, of_version, pure, terms, with_census};
use rusqlite::Connection;
use sordino_ledger::{Body, FORMAT_VERSION, Ledger, LedgerError};
use sordino_privacy::{Delta, Epsilon, Filter};

#[test]
fn an_older_ledger_is_continued_as_it_is() {
    let path = folder("older").join("a.ledger");
    of_version(1, &path);
    charge(&mut account(&path, "ann").unwrap(), pure(0.25)).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!((ledger.format_version().unwrap(), ledger.total(2).unwrap()), (1, 0.25));
    // A program of version 1 understands every entry: none is of a kind that it does not know.
    let kinds: Vec<_> = ledger.entries().unwrap().into_iter().map(|entry| entry.body).collect();
    assert!(matches!(
        kinds[..],
        [Body::Ledger { format_version: 1 }, Body::Created { .. }, Body::Reserved { .. }]
    ));
}

#[test]
fn what_an_older_ledger_cannot_say_needs_migration() {
    let path = folder("needs").join("a.ledger");
    of_version(1, &path);
    let ledger = Ledger::open(&path).unwrap();
    let grant = || ledger.grant(&label("census"), &label("ann"), Epsilon::new(0.5).unwrap(), None);
    let error = grant().unwrap_err();
    assert!(matches!(error, LedgerError::NeedsMigration { found: 1, needed: 2, .. }));
    assert!(error.to_string().contains("sordino ledger migrate"), "{error}");
    let aside = terms(1.0).with_delta(Delta::new(1e-6).unwrap()).setting_aside(Delta::new(1e-7).unwrap());
    let other = common::identity("sales", "the sales");
    assert!(matches!(ledger.create_data_set(&other, &aside), Err(LedgerError::NeedsMigration { .. })));

    let before = ledger.head().unwrap();
    assert_eq!(ledger.migrate().unwrap(), 1);
    assert_eq!(ledger.migrate().unwrap(), FORMAT_VERSION);
    grant().unwrap();
    ledger.create_data_set(&other, &aside).unwrap();
    let again = Ledger::open(&path).unwrap();
    // The old entries are what they were.
    assert_eq!(again.verify(Some(before)).unwrap().number, before.number + 3);
    assert_eq!(again.format_version().unwrap(), FORMAT_VERSION);
    assert_eq!(again.data_sets().unwrap()[1].terms, aside);
}

/// A filter is part of what a budget means, so that a program which does not know it must not spend
/// from it.
#[test]
fn a_budget_with_another_filter_needs_version_4() {
    let path = folder("filter").join("a.ledger");
    of_version(3, &path);
    let ledger = Ledger::open(&path).unwrap();
    let other = common::identity("sales", "the sales");
    let renyi = terms(1.0).with_delta(Delta::new(1e-6).unwrap());
    let gaussian = renyi.clone().filtered_by(Filter::Gaussian);
    let error = ledger.create_data_set(&other, &gaussian).unwrap_err();
    assert!(matches!(error, LedgerError::NeedsMigration { found: 3, needed: 4, .. }), "{error}");
    ledger.create_data_set(&other, &renyi).unwrap();
    assert_eq!(ledger.migrate().unwrap(), 3);
    let third = common::identity("visits", "the visits");
    ledger.create_data_set(&third, &gaussian).unwrap();
    let read = Ledger::open(&path).unwrap().data_sets().unwrap();
    assert_eq!((&read[1].terms, &read[2].terms), (&renyi, &gaussian));
}

/// One process has an old ledger open while another raises it.
#[test]
fn a_ledger_raised_under_an_open_account_goes_on() {
    let path = folder("raised").join("a.ledger");
    of_version(1, &path);
    let mut open = account(&path, "ann").unwrap();
    charge(&mut open, pure(0.25)).unwrap();
    Ledger::open(&path).unwrap().migrate().unwrap();
    charge(&mut open, pure(0.25)).unwrap();
    assert_eq!(Ledger::open(&path).unwrap().total(2).unwrap(), 0.5);
}

/// A program that knows only version 1 looks at the header under the lock of every charge. Here the
/// header of the next version stands for it: whoever does not know it charges nothing, even with
/// the ledger open.
#[test]
fn a_program_that_is_too_old_charges_nothing_and_loses_nothing() {
    let path = folder("old-program").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut open = account(&path, "ann").unwrap();
    charge(&mut open, pure(0.25)).unwrap();
    let header =
        |version: u32| Connection::open(&path).unwrap().pragma_update(None, "user_version", version).unwrap();
    header(FORMAT_VERSION + 1);
    assert!(charge(&mut open, pure(0.25)).is_err());
    header(FORMAT_VERSION);
    assert_eq!(open.total().unwrap(), 0.25);
    charge(&mut open, pure(0.25)).unwrap();
}

/// Somebody turns the header back, so that an old program takes grants for nothing.
#[test]
fn a_header_that_was_turned_back_is_noticed() {
    let path = folder("back").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    ledger.grant(&label("census"), &label("ann"), Epsilon::new(0.5).unwrap(), None).unwrap();
    drop(ledger);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 1).unwrap();
    let error = Ledger::open(&path).unwrap_err().to_string();
    assert!(error.contains("it is of format_version 4, and the store says 1"), "{error}");
}
