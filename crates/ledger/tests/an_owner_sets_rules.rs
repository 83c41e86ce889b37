//! An owner says, with the budget, how a data set may be read and used. It holds for whoever asks
//! later.

#[path = "common/any.rs"]
#[allow(dead_code)]
mod any;
mod common;

use std::error::Error;
use std::path::Path;

use common::{
    account, approximate, census, charge, folder, identity, label, of_version, pure, terms, with_census,
};
use sordino_ledger::{Account, Digest, FORMAT_VERSION, Ledger, LedgerError, Lock, Rules};
use sordino_privacy::{ChargeError, Epsilon, Event, NoiseMultiplier, Terms};

fn rules() -> Rules {
    Rules::new("unit = \"record\"\n").unwrap().owned_by(label("olga"))
}

/// Questions of at most 0.5, into one folder.
fn locked() -> Rules {
    let verbs = vec![label("query"), label("schema")];
    let lock = Lock::new(Digest::of(b"schema"), verbs, Epsilon::new(0.5).unwrap(), "/srv/results");
    rules().locked(lock.unwrap())
}

fn with_locked_census(path: &Path, terms: &Terms) -> Ledger {
    let ledger = Ledger::create(path).unwrap();
    ledger.create_data_set_with(&census(), terms, &locked()).unwrap();
    ledger
}

fn ask(path: &Path, what: &str) -> Account {
    Account::open(Ledger::open(path).unwrap(), &census(), label("ann"), label(what)).unwrap()
}

/// The ledger's own words.
fn reason(error: ChargeError) -> String {
    error.source().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn rules_are_there_before_the_file_is_read_and_after_a_restart() {
    let path = folder("kept").join("a.ledger");
    with_locked_census(&path, &terms(1.0));
    let ledger = Ledger::open(&path).unwrap();
    // By name alone: the content of the file is not known yet.
    let set = ledger.find_by_name(&label("census")).unwrap();
    assert_eq!(set.rules, Some(locked()));
    assert!(matches!(ledger.find_by_name(&label("sales")), Err(LedgerError::Unknown { .. })));
    let open = Account::open(&ledger, &census(), label("ann"), label("query count")).unwrap();
    let rules = open.rules().unwrap();
    assert_eq!((rules.reading(), rules.is_owner(&label("olga"))), ("unit = \"record\"\n", true));
    let lock = rules.lock().unwrap();
    assert_eq!((lock.folder(), lock.schema()), (Path::new("/srv/results"), Digest::of(b"schema")));
    let json = serde_json::to_value(ledger.export().unwrap()).unwrap();
    assert_eq!(json["data_sets"][0]["rules"]["owner"], "olga");
    assert_eq!(json["data_sets"][0]["rules"]["lock"]["most"], 0.5);
}

#[test]
fn rules_are_given_once() {
    let path = folder("once").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    assert!(account(&path, "ann").unwrap().rules().is_none());
    ledger.rule(&label("census"), &rules()).unwrap();
    assert_eq!(account(&path, "ann").unwrap().rules(), Some(&rules()));
    let error = ledger.rule(&label("census"), &locked()).unwrap_err();
    assert!(matches!(error, LedgerError::HasRules { .. }), "{error}");
    assert!(matches!(ledger.rule(&label("sales"), &rules()), Err(LedgerError::Unknown { .. })));
    // Nor are they another data set's, nor lost with a new name.
    ledger.create_data_set_with(&identity("sales", "the sales"), &terms(1.0), &locked()).unwrap();
    assert!(matches!(ledger.rule(&label("sales"), &rules()), Err(LedgerError::HasRules { .. })));
    ledger.link(&identity("survey", "the census")).unwrap();
    assert_eq!(ledger.find_by_name(&label("survey")).unwrap().rules, Some(rules()));
}

#[test]
fn an_older_ledger_is_raised_before_it_can_have_rules() {
    let path = folder("older").join("a.ledger");
    of_version(2, &path);
    let ledger = Ledger::open(&path).unwrap();
    let other = identity("sales", "the sales");
    for error in [
        ledger.rule(&label("census"), &rules()).unwrap_err(),
        ledger.create_data_set_with(&other, &terms(1.0), &rules()).unwrap_err(),
    ] {
        assert!(matches!(error, LedgerError::NeedsMigration { found: 2, needed: 3, .. }), "{error}");
    }
    // What version 2 can say goes on as before.
    ledger.create_data_set(&other, &terms(1.0)).unwrap();
    ledger.migrate().unwrap();
    ledger.rule(&label("census"), &rules()).unwrap();
    assert_eq!(Ledger::open(&path).unwrap().format_version().unwrap(), FORMAT_VERSION);
}

/// Whoever opened the data set before it had rules has read it in a way of his own.
#[test]
fn rules_that_appear_under_an_open_account_stop_it() {
    let path = folder("appear").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let mut open = account(&path, "ann").unwrap();
    charge(&mut open, pure(0.25)).unwrap();
    ledger.rule(&label("census"), &rules()).unwrap();
    let reason = reason(charge(&mut open, pure(0.25)).unwrap_err());
    assert!(reason.contains("open it again"), "{reason}");
    assert!(open.ask(&pure(0.25)).is_err());
    assert_eq!(open.total().unwrap(), 0.25);
    charge(&mut account(&path, "ann").unwrap(), pure(0.25)).unwrap();
}

#[test]
fn a_lock_bounds_every_single_charge() {
    let path = folder("most").join("a.ledger");
    with_locked_census(&path, &terms(2.0));
    let mut ann = ask(&path, "query mean age");
    let said = reason(charge(&mut ann, pure(0.75)).unwrap_err());
    assert!(said.contains("costs epsilon 0.75 alone") && said.contains("at most 0.5"), "{said}");
    assert_eq!(said, reason(ann.ask(&pure(0.75)).unwrap_err()));
    assert_eq!(ann.total().unwrap(), 0.0);
    // As much as is allowed, more than once, and then what is left of the budget.
    for _ in 0..4 {
        ann.ask(&pure(0.5)).unwrap();
        charge(&mut ann, pure(0.5)).unwrap();
    }
    assert!(matches!(charge(&mut ann, pure(0.5)), Err(ChargeError::Refused(_))));
    assert!(reason(charge(&mut ann, pure(0.75)).unwrap_err()).contains("at most 0.5"));
}

/// A Gaussian of noise multiplier 4 costs more than 1 at δ = 10⁻⁶, one of 12 less than 0.5; neither
/// has a finite ε at δ = 0.
#[test]
fn a_charge_is_priced_alone_at_the_delta_of_the_budget() {
    let path = folder("delta").join("a.ledger");
    with_locked_census(&path, &approximate(10.0, 1e-6));
    let mut ann = ask(&path, "query sum");
    let gaussian = |noise| Event::gaussian(NoiseMultiplier::new(noise).unwrap());
    assert!(charge(&mut ann, gaussian(4.0)).is_err());
    charge(&mut ann, gaussian(12.0)).unwrap();
    let path = folder("pure").join("a.ledger");
    with_locked_census(&path, &terms(10.0));
    let said = reason(charge(&mut ask(&path, "query sum"), gaussian(12.0)).unwrap_err());
    assert!(said.contains("costs epsilon inf alone"), "{said}");
}

#[test]
fn a_lock_names_the_verbs() {
    let path = folder("verbs").join("a.ledger");
    with_locked_census(&path, &terms(2.0));
    for what in ["query", "query mean age", "schema"] {
        charge(&mut ask(&path, what), pure(0.125)).unwrap();
    }
    for what in ["train", "train income", "queries", "Query", "mean query"] {
        let mut ann = ask(&path, what);
        assert!(ann.ask(&pure(0.125)).is_err());
        let said = reason(charge(&mut ann, pure(0.125)).unwrap_err());
        assert!(said.contains("who allows query, schema, and not"), "{said}");
    }
    // The purpose may change under an open account.
    let mut ann = ask(&path, "query");
    ann.set_purpose(label("train"));
    assert!(charge(&mut ann, pure(0.125)).is_err());
    assert_eq!(ann.total().unwrap(), 0.375);
}

#[test]
fn a_lock_refuses_seeds() {
    let path = folder("seeds").join("a.ledger");
    with_locked_census(&path, &terms(2.0));
    let mut ann = ask(&path, "query");
    let said = reason(ann.charge_seeded(pure(0.125)).unwrap_err());
    assert!(said.contains("comes from a fixed seed"), "{said}");
    assert_eq!(ann.total().unwrap(), 0.0);
}

/// Whoever can write entries with correct hashes cannot make them say what the rules forbid.
#[test]
fn a_history_that_breaks_its_rules_is_refused() {
    let path = folder("forged").join("a.ledger");
    let ledger = with_locked_census(&path, &terms(2.0));
    charge(&mut ask(&path, "query"), pure(0.125)).unwrap();
    let text = |entry| serde_json::to_string(entry).unwrap();
    let lines: Vec<String> = ledger.entries().unwrap().iter().map(text).collect();
    drop(ledger);
    let ruled = format!(
        r#"{{"number":4,"time":{},"type":"ruled","data_set":2,"rules":{{"reading":"x"}}}}"#,
        u64::MAX
    );
    for (place, forged) in [(2, lines[2].replace("\"what\":\"query\"", "\"what\":\"train\"")), (3, ruled)] {
        let mut history = lines.clone();
        history.truncate(place);
        history.push(forged);
        let connection = rusqlite::Connection::open(&path).unwrap();
        any::forge(&connection, history.iter().map(String::as_str));
        drop(connection);
        let _ = std::fs::remove_file(path.with_extension("ledger-head"));
        let error = Ledger::open(&path).unwrap_err();
        assert!(matches!(error, LedgerError::Broken { number, .. } if number == place as u64 + 1), "{error}");
    }
}
