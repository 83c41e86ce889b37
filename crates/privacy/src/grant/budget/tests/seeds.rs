//! A ledger pays for noise that nobody can repeat.

use super::*;
use crate::grant::permit::ReleaseError;

/// A run with a known seed was paid from a ledger, which did not say so: the same seed on a table
/// of one's own gave the noise, and the difference was the answer.
#[test]
fn a_durable_journal_refuses_seeded_noise() {
    let mut budget = Shared::new(terms(1.0)).budget();
    let refused = budget.charge(pure(0.25)).unwrap().seeded().unwrap_err();
    assert_eq!(refused, ReleaseError::Seeded);
    assert_eq!(
        refused.to_string(),
        "the noise comes from a fixed seed, and a ledger's charge pays for noise that nobody can repeat; \
         charge it as seeded (`charge_seeded`), or run without a ledger"
    );
    assert!(budget.charge(pure(0.25)).unwrap().drawn_with(true).is_err());
    let release = budget.charge(pure(0.25)).unwrap().drawn_with(false).unwrap().seal(pure(0.25), ()).unwrap();
    assert!(release.guarantee().holds());
}

#[test]
fn a_charge_for_seeded_noise_is_recorded_as_such_and_void() {
    let journal = Shared::new(terms(1.0));
    let mut budget = journal.budget();
    let permit = budget.charge_seeded(pure(0.5)).unwrap();
    let number = permit.reservation().unwrap();
    assert!(permit.guarantee().seeded, "whatever it is drawn from");
    let release = permit.seeded().unwrap().seal(pure(0.5), ()).unwrap();
    assert!(!release.guarantee().holds() && release.guarantee().metered);
    assert_eq!(budget.journal().recorded(number).unwrap(), Some(Charged { event: pure(0.5), seeded: true }));
    assert!(budget.charge_seeded(pure(0.6)).is_err(), "it costs what others cost");
    assert!(journal.budget().paid(&[number]).unwrap().guarantee().seeded);
}

/// A seeded beginning does not let the rest be seeded.
#[test]
fn what_a_permit_is_joined_with_gives_it_no_right_to_seeds() {
    let journal = Shared::new(terms(1.0));
    let seeded = journal.budget().charge_seeded(pure(0.25)).unwrap().reservation().unwrap();
    let mut budget = journal.budget();
    let paid = budget.paid(&[seeded]).unwrap();
    let joined = budget.charge(pure(0.25)).unwrap().together_with(paid).unwrap();
    assert!(joined.guarantee().seeded);
    assert_eq!(joined.seeded().unwrap_err(), ReleaseError::Seeded);
}

#[test]
fn budgets_that_end_with_the_process_allow_seeds() {
    let mut budget = Budget::new(terms(1.0));
    let seeded = budget.charge(pure(0.25)).unwrap().seeded().unwrap();
    assert!(seeded.guarantee().seeded);
    let number = budget.charge_seeded(pure(0.25)).unwrap().reservation().unwrap();
    assert!(budget.journal().recorded(number).unwrap().unwrap().seeded);
    assert!(!budget.journal().recorded(1).unwrap().unwrap().seeded);
}
