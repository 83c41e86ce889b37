//! A run keeps checkpoints in a folder that anybody may copy. How far it is stands in the ledger,
//! where no copy changes it.

mod common;

use common::{account, census, charge, folder, identity, label, of_version, pure, terms, with_census};
use sordino_ledger::{Account, Digest, Ledger, LedgerError, State};

fn checkpoint(steps: u64) -> Digest {
    Digest::of(&steps.to_le_bytes())
}

#[test]
fn steps_are_counted_and_never_fall() {
    let path = folder("count").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    let number = charge(&mut ann, pure(0.25)).unwrap();
    assert_eq!(ann.charge_record(number).unwrap().unwrap().progress, None);
    for steps in [10, 20, 20, 1000] {
        ann.keep(number, steps, checkpoint(steps), false).unwrap();
    }
    // A copy of the folder from before, put back: in this process, and after a restart.
    for account in [ann, account(&path, "ann").unwrap()] {
        let error = account.keep(number, 30, checkpoint(30), false).unwrap_err();
        assert!(matches!(error, LedgerError::FewerSteps { steps: 30, recorded: 1000, .. }), "{error}");
        let progress = account.charge_record(number).unwrap().unwrap().progress.unwrap();
        assert_eq!((progress.steps, progress.last), (1000, false));
        let kept: Vec<u64> = [10, 20, 1000, 30]
            .iter()
            .filter_map(|steps| progress.checkpoints.get(&checkpoint(*steps)).copied())
            .collect();
        assert_eq!(kept, [10, 20, 1000]);
    }
    // It costs nothing.
    assert_eq!(Ledger::open(&path).unwrap().total(2).unwrap(), 0.25);
}

#[test]
fn nothing_follows_the_last_step() {
    let path = folder("last").join("a.ledger");
    with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    let number = charge(&mut ann, pure(0.25)).unwrap();
    ann.keep(number, 10, checkpoint(10), false).unwrap();
    // The checkpoint that was kept may turn out to be the last one.
    ann.keep(number, 10, checkpoint(10), true).unwrap();
    for (steps, last) in [(10, true), (11, false)] {
        let error = ann.keep(number, steps, checkpoint(steps), last).unwrap_err();
        assert!(error.to_string().contains("its last step is recorded"), "{error}");
    }
    ann.book(number, Some(Digest::of(b"a model"))).unwrap();
    let record = ann.charge_record(number).unwrap().unwrap();
    assert!(record.progress.unwrap().last);
    // Another charge is another run.
    let other = charge(&mut ann, pure(0.25)).unwrap();
    ann.keep(other, 1, checkpoint(1), false).unwrap();
    ann.book(other, None).unwrap();
    let error = ann.keep(other, 2, checkpoint(2), false).unwrap_err();
    assert!(error.to_string().contains("it is booked"), "{error}");
}

#[test]
fn a_run_is_that_of_one_charge_of_one_data_set() {
    let path = folder("whose").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let sales = identity("sales", "the sales");
    ledger.create_data_set(&sales, &terms(1.0)).unwrap();
    let mut ann = account(&path, "ann").unwrap();
    let number = charge(&mut ann, pure(0.25)).unwrap();
    let other = Account::open(&ledger, &sales, label("ann"), label("train")).unwrap();
    assert!(
        other.keep(number, 1, checkpoint(1), false).unwrap_err().to_string().contains("another data set")
    );
    assert_eq!(other.charge_record(number).unwrap(), None);
    assert_eq!(ledger.charge_record(number).unwrap().unwrap().number, number);
    for nothing in [0, 2, 99] {
        assert!(ann.keep(nothing, 1, checkpoint(1), false).unwrap_err().to_string().contains("no charge"));
        assert_eq!(ann.charge_record(nothing).unwrap(), None);
    }
    // One checkpoint holds one number of steps.
    ann.keep(number, 5, checkpoint(5), false).unwrap();
    let error = ann.keep(number, 6, checkpoint(5), false).unwrap_err();
    assert!(error.to_string().contains("another number of steps"), "{error}");
}

#[test]
fn an_older_ledger_is_raised_before_it_counts_steps() {
    let path = folder("older").join("a.ledger");
    of_version(2, &path);
    let mut ann = account(&path, "ann").unwrap();
    let number = charge(&mut ann, pure(0.25)).unwrap();
    let error = ann.keep(number, 1, checkpoint(1), false).unwrap_err();
    assert!(matches!(error, LedgerError::NeedsMigration { found: 2, needed: 3, .. }), "{error}");
    Ledger::open(&path).unwrap().migrate().unwrap();
    ann.keep(number, 1, checkpoint(1), false).unwrap();
}

#[test]
fn exports_say_how_far_a_run_is() {
    let path = folder("export").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let mut ann = Account::open(&ledger, &census(), label("ann"), label("train")).unwrap();
    let number = sordino_privacy::Charge::charge(&mut ann, pure(0.25)).unwrap().reservation().unwrap();
    ann.keep(number, 40, checkpoint(40), true).unwrap();
    let export = ledger.export().unwrap();
    // One charge, not one line for each record of its steps.
    assert_eq!((export.charges.len(), export.entries), (1, 4));
    assert_eq!((export.charges[0].steps, export.charges[0].ended), (Some(40), Some(true)));
    assert!(export.to_csv().unwrap().trim_end().ends_with(",false,40"));
}

/// Only one copy of a run's files can be resumed: a charge that resumes a run ends
/// the one before in the same entry.
#[test]
fn one_charge_goes_on_with_another() {
    let path = folder("goes-on").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let sales = identity("sales", "the sales");
    ledger.create_data_set(&sales, &terms(1.0)).unwrap();
    let mut account = account(&path, "ann").unwrap();
    let number = charge(&mut account, pure(0.25)).unwrap();
    // Not with a run of another data set.
    let mut other = Account::open(&ledger, &sales, label("ann"), label("train")).unwrap();
    assert!(other.charge_after(number, pure(0.1)).is_err());
    let after = account.charge_after(number, pure(0.1)).unwrap().reservation().unwrap();
    let record = account.charge_record(after).unwrap().unwrap();
    assert_eq!((record.follows, &record.state), (Some(number), &State::Reserved));
    assert!(matches!(
        account.charge_record(number).unwrap().unwrap().state,
        State::Booked { result: None, .. }
    ));
    let before = account.left().unwrap();
    assert!(account.charge_after(number, pure(0.1)).is_err());
    assert!(account.charge_after(1, pure(0.1)).is_err());
    assert_eq!(account.left().unwrap(), before);
    // The next charge goes on with nothing.
    let next = charge(&mut account, pure(0.1)).unwrap();
    assert_eq!(account.charge_record(next).unwrap().unwrap().follows, None);
    let reopened = Ledger::open(&path).unwrap();
    assert_eq!(reopened.charge_record(after).unwrap().unwrap().follows, Some(number));
}
