//! A run that goes on asks the ledger what was paid for it, and gets what was recorded for its own
//! data.

mod common;

use common::{account, census, folder, identity, label, of_version, pure, terms, with_census};
use sordino_ledger::{Account, Identity, Ledger};
use sordino_privacy::{Charge, ChargeError, Event, ReleaseError};

#[test]
fn evidence_is_what_the_ledger_recorded() {
    let path = folder("evidence").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    let first = ann.charge(pure(0.25)).unwrap().reservation().unwrap();
    ann.book(first, None).unwrap();
    drop(ann);
    // Another process, another analyst: the charge is of the data set.
    let mut bob = account(&path, "bob").unwrap();
    let paid = bob.paid(&[first]).unwrap();
    assert_eq!(paid.event(), &pure(0.25));
    assert!(paid.guarantee().metered);
    let permit = bob.charge(pure(0.5)).unwrap().together_with(paid).unwrap();
    assert!(permit.guarantee().epsilon.contains(0.75) && permit.guarantee().metered);
    // Entry 1 says that this is a ledger, entry 2 names the data set, entry 4 books.
    let mut bob = account(&path, "bob").unwrap();
    for number in [0, 1, 2, 4, 99] {
        let refused = bob.paid(&[first, number]).unwrap_err();
        assert!(matches!(refused, ChargeError::NotRecorded { number: at } if at == number), "{refused}");
    }
}

/// What was paid from one table's budget is no evidence for another table.
#[test]
fn charges_of_another_data_set_are_no_evidence() {
    let path = folder("evidence-of-others").join("a.ledger");
    with_census(&path, &terms(1.0));
    let ledger = Ledger::open(&path).unwrap();
    let other = identity("survey", "another table");
    ledger.create_data_set(&other, &terms(1.0)).unwrap();
    let open = |identity: &Identity| Account::open(&ledger, identity, label("ann"), label("test")).unwrap();
    let charge = |identity: &Identity| {
        let number = open(identity).charge(pure(0.25)).unwrap().reservation().unwrap();
        (open(identity), number)
    };
    let ((mut of_census, one), (mut of_other, two)) = (charge(&census()), charge(&other));
    assert!(matches!(of_census.paid(&[one, two]), Err(ChargeError::NotRecorded { .. })));
    assert!(matches!(of_other.paid(&[one]), Err(ChargeError::NotRecorded { .. })));
    let (of_census, of_other) = (of_census.paid(&[one]).unwrap(), of_other.paid(&[two]).unwrap());
    for paid in [of_census, of_other] {
        let refused = open(&census()).charge(pure(0.25)).unwrap().together_with(paid);
        assert!(matches!(refused, Err(ChargeError::OtherBudget)), "an account is opened once");
    }
}

/// Runs with a known seed were paid for and recorded as any other. The same seed on a table of
/// one's own gave the noise.
#[test]
fn a_ledger_pays_for_no_seeded_noise_unless_it_says_so() {
    let path = folder("seeds").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut account = account(&path, "ann").unwrap();
    let refused = account.charge(pure(0.25)).unwrap().seeded().unwrap_err();
    assert_eq!(refused, ReleaseError::Seeded);
    let permit = account.charge_seeded(pure(0.25)).unwrap();
    let release = permit.seeded().unwrap().seal(pure(0.25), ()).unwrap();
    assert!(release.guarantee().metered && !release.guarantee().holds());
}

#[test]
fn the_history_says_what_was_seeded() {
    let path = folder("marked").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    let plain = ann.charge(pure(0.25)).unwrap().reservation().unwrap();
    let seeded = ann.charge_seeded(pure(0.25)).unwrap().reservation().unwrap();
    drop(ann);
    let ann = account(&path, "ann").unwrap();
    let marks = ann.ledger().charges().unwrap().iter().map(|charge| charge.seeded).collect::<Vec<_>>();
    assert_eq!(marks, [false, true]);
    // Evidence of it promises nothing either.
    assert!(account(&path, "ann").unwrap().paid(&[plain]).unwrap().guarantee().holds());
    assert!(!account(&path, "ann").unwrap().paid(&[plain, seeded]).unwrap().guarantee().holds());
    let export = ann.ledger().export().unwrap();
    assert_eq!(serde_json::to_value(&export).unwrap()["charges"][1]["seeded"], true);
    assert!(export.to_csv().unwrap().trim_end().ends_with(",true,"));
}

/// Its history has no word for it, and nothing is charged that it cannot say.
#[test]
fn an_older_ledger_is_raised_before_it_is_charged_for_seeded_noise() {
    let path = folder("older").join("a.ledger");
    of_version(2, &path);
    let mut ann = account(&path, "ann").unwrap();
    let refused = format!("{:?}", ann.charge_seeded(pure(0.25)).unwrap_err());
    assert!(refused.contains("NeedsMigration"), "{refused}");
    let _paid = ann.charge(pure(0.25)).unwrap();
    Ledger::open(&path).unwrap().migrate().unwrap();
    let _paid = ann.charge_seeded(pure(0.25)).unwrap();
    assert_eq!(ann.total().unwrap(), 0.5);
}

/// A charge for nothing, joined with a promise that somebody wrote down.
#[test]
fn a_free_charge_makes_no_metered_release_of_what_a_file_says() {
    let path = folder("forged").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut account = account(&path, "ann").unwrap();
    let free = account.charge(Event::composed([])).unwrap();
    assert_eq!(free.guarantee().epsilon.upper, 0.0);
    let written = serde_json::json!({"neighbours": "add_remove", "unit": "record",
        "epsilon": {"lower": 50, "upper": 50}, "delta": 0, "accountant": "pure",
        "event": {"type": "pure", "epsilon": 50}, "arithmetic": 0, "seeded": false, "metered": true});
    let said = serde_json::from_value::<sordino_privacy::Statement>(written).unwrap();
    let paid = sordino_privacy::danger::unmetered_paid(&said).unwrap();
    let release = free.together_with(paid).unwrap();
    assert!(!release.guarantee().metered);
}
