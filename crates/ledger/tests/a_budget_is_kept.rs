//! An owner sets a budget; analysts spend it, in one process and in several, and it ends.

mod common;

use common::{account, approximate, census, charge, folder, identity, label, pure, terms, with_census};
use sordino_ledger::{Account, Body, Digest, Ledger, LedgerError, State};
use sordino_privacy::{Charge, ChargeError, Claim, Event, Neighbours, NoiseMultiplier, Unit};

#[test]
fn what_was_spent_is_spent_after_a_restart() {
    let path = folder("restart").join("a.ledger");
    with_census(&path, &terms(1.0));
    for _ in 0..2 {
        charge(&mut account(&path, "ann").unwrap(), pure(0.4)).unwrap();
    }
    let mut third = account(&path, "bob").unwrap();
    assert!((third.left().unwrap() - 0.2).abs() < 1e-12);
    let refusal = charge(&mut third, pure(0.4)).unwrap_err();
    assert!(matches!(refusal, ChargeError::Refused(_)), "{refusal}");
    assert!(refusal.to_string().contains("0.2 left of 1"), "{refusal}");
    // A refusal leaves no trace, and what fits is still granted.
    assert_eq!(third.ledger().head().unwrap().number, 4);
    charge(&mut third, pure(0.2)).unwrap();
}

#[test]
fn two_open_accounts_never_exceed_the_budget_together() {
    let path = folder("together").join("a.ledger");
    with_census(&path, &terms(1.0));
    let (mut ann, mut bob) = (account(&path, "ann").unwrap(), account(&path, "bob").unwrap());
    let mut granted = 0;
    for _ in 0..10 {
        granted += u32::from(charge(&mut ann, pure(0.15)).is_ok());
        granted += u32::from(charge(&mut bob, pure(0.15)).is_ok());
    }
    assert_eq!(granted, 6);
    // One of them added up as it went, the other from scratch.
    assert!((ann.total().unwrap() - bob.total().unwrap()).abs() < 1e-12);
}

#[test]
fn a_permit_carries_its_reservation_and_is_booked_once() {
    let path = folder("phases").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut account = account(&path, "ann").unwrap();
    account.set_purpose(label("how many are left-handed?"));
    let permit = account.charge(pure(0.5)).unwrap();
    let number = permit.reservation().unwrap();
    assert_eq!(account.ledger().charges().unwrap()[0].state, State::Reserved);

    let release = permit.seal(pure(0.5), 17).unwrap();
    assert!(release.guarantee().metered);
    let result = Digest::of(b"17");
    account.book(number, Some(result)).unwrap();
    let charges = Ledger::open(&path).unwrap().charges().unwrap();
    assert_eq!((charges[0].who.as_str(), charges[0].what.as_str()), ("ann", "how many are left-handed?"));
    assert!(matches!(charges[0].state, State::Booked { result: Some(hash), .. } if hash == result));

    assert!(account.book(number, None).unwrap_err().to_string().contains("booked before"));
    assert!(account.book(2, None).unwrap_err().to_string().contains("no charge has this number"));
    assert!((account.total().unwrap() - 0.5).abs() < 1e-12);
}

#[test]
fn a_charge_for_another_relation_is_refused() {
    let path = folder("relation").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut account = account(&path, "ann").unwrap();
    let claim = Claim::new(Neighbours::Replace, pure(0.1));
    assert!(matches!(account.charge_claim(claim), Err(ChargeError::OtherRelation { .. })));
    assert_eq!(account.total().unwrap(), 0.0);
}

/// One edited byte must not buy a new budget, nor must a new name.
#[test]
fn a_changed_file_or_a_new_name_is_refused_until_it_is_linked() {
    let path = folder("identity").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let open = |identity| Account::open(&ledger, &identity, label("ann"), label("a test")).map(|a| a.left());
    let (edited, renamed) = (identity("census", "the Census"), identity("survey", "the census"));
    assert!(matches!(open(edited.clone()), Err(LedgerError::ChangedContent { .. })));
    assert!(matches!(open(renamed.clone()), Err(LedgerError::OtherName { .. })));
    assert!(matches!(open(identity("x", "y")), Err(LedgerError::Unknown { .. })));
    // Nor do they get a budget by asking for one.
    for identity in [&edited, &renamed, &census()] {
        assert!(ledger.create_data_set(identity, &terms(9.0)).is_err());
    }
    let mut first = Account::open(&ledger, &census(), label("ann"), label("a test")).unwrap();
    let _spent = first.charge(pure(0.75)).unwrap();
    ledger.link(&edited).unwrap();
    ledger.link(&renamed).unwrap();
    assert!(matches!(ledger.link(&edited), Err(LedgerError::AlreadyLinked { .. })));
    for identity in [edited, renamed, identity("survey", "the Census"), census()] {
        assert_eq!(open(identity).unwrap().unwrap(), 0.25);
    }
}

#[test]
fn two_data_sets_in_one_ledger_have_budgets_of_their_own() {
    let path = folder("two").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let other = identity("sales", "the sales");
    let number = ledger.create_data_set(&other, &terms(0.3)).unwrap();
    let mut sales = Account::open(&ledger, &other, label("ann"), label("a test")).unwrap();
    assert!(sales.charge(pure(0.4)).is_err());
    let _paid = sales.charge(pure(0.3)).unwrap();
    let mut census = Account::open(&ledger, &census(), label("ann"), label("a test")).unwrap();
    let _paid = census.charge(pure(1.0)).unwrap();
    assert_eq!((ledger.total(2).unwrap(), ledger.total(number).unwrap()), (1.0, 0.3));
    // A name of one with the content of the other is neither, and cannot be made one.
    let mixed = identity("sales", "the census");
    assert!(matches!(ledger.link(&mixed), Err(LedgerError::TwoDataSets { .. })));
    assert!(ledger.link(&identity("x", "y")).is_err());
}

#[test]
fn terms_and_events_come_back_as_they_were() {
    let path = folder("exact").join("a.ledger");
    let unit = Unit::Client;
    let whole = approximate(0.1 + 0.2, 1e-7 / 3.0).for_unit(unit).planned();
    with_census(&path, &whole);
    let event = Event::gaussian(NoiseMultiplier::new(100.0 / 3.0).unwrap());
    charge(&mut account(&path, "ann").unwrap(), event.clone()).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.data_sets().unwrap()[0].terms, whole);
    assert_eq!(ledger.charges().unwrap()[0].event, event);
    assert!(matches!(&ledger.entries().unwrap()[2].body, Body::Reserved { data_set: 2, .. }));
}

#[test]
fn exports_say_the_same_as_the_ledger() {
    let path = folder("export").join("a.ledger");
    with_census(&path, &terms(1.0));
    let ledger = Ledger::open(&path).unwrap();
    let mut account =
        Account::open(&ledger, &census(), label("=cmd()"), label("a \"quoted\", thing")).unwrap();
    let number = account.charge(pure(0.25)).unwrap().reservation().unwrap();
    account.book(number, Some(Digest::of(b"17"))).unwrap();
    let _open = account.charge(pure(0.5)).unwrap();

    let json: serde_json::Value = serde_json::to_value(ledger.export().unwrap()).unwrap();
    assert_eq!(json["ledger_version"], 4);
    assert_eq!(json["head"], ledger.head().unwrap().hash.to_string());
    assert_eq!(json["data_sets"][0]["names"][0], "census");
    let states: Vec<_> = json["charges"].as_array().unwrap().iter().map(|c| c["state"].clone()).collect();
    assert_eq!(states, ["booked", "reserved"]);
    assert_eq!(json["charges"][1]["event"]["epsilon"], 0.5);

    let csv = ledger.export().unwrap().to_csv().unwrap();
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert_eq!(lines[0], "charge,time,data_set,name,who,what,state,booked,result,event,seeded,steps");
    assert!(lines[1].contains(r#",2,census,'=cmd(),"a ""quoted"", thing",booked,"#), "{csv}");
    assert!(lines[2].ends_with(r#",reserved,,,"{""type"":""pure"",""epsilon"":0.5}",false,"#), "{csv}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_backup_is_the_same_history_in_another_file() {
    let folder = folder("backup");
    let (path, copy) = (folder.join("a.ledger"), folder.join("b.ledger"));
    with_census(&path, &terms(1.0));
    let mut original = account(&path, "ann").unwrap();
    charge(&mut original, pure(0.5)).unwrap();
    let head = original.ledger().backup(&copy).unwrap();
    assert_eq!(head, original.ledger().head().unwrap());
    charge(&mut original, pure(0.1)).unwrap();
    let kept = Ledger::open(&copy).unwrap();
    assert_eq!(kept.verify(Some(head)).unwrap(), head);
    assert_eq!(original.ledger().verify(Some(head)).unwrap().number, head.number + 1);
    assert!(matches!(original.ledger().backup(&copy), Err(LedgerError::Exists { .. })));
}

#[test]
fn asking_gives_the_answer_of_a_charge_and_leaves_no_trace() {
    let path = folder("asked").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut account = account(&path, "ann").unwrap();
    account.ask(&pure(0.7)).unwrap();
    assert_eq!(account.ledger().head().unwrap().number, 2);
    charge(&mut account, pure(0.7)).unwrap();
    let asked = account.ask(&pure(0.7)).unwrap_err();
    assert_eq!(asked.to_string(), charge(&mut account, pure(0.7)).unwrap_err().to_string());
    account.ask(&pure(0.3)).unwrap();
}
