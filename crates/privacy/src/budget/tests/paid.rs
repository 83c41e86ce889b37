//! What was paid for earlier comes from a record, and never from a file.

use super::*;
use crate::danger;
use crate::statement::Statement;

/// A charge for nothing was joined with a promise that somebody had written into a file: the release said
/// `metered`, with ε = 50, and the budget's total was 0.
#[test]
fn a_promise_read_from_a_file_is_not_metered() {
    let written = r#"{"neighbours":"add_remove","unit":"record","epsilon":{"lower":0,"upper":1e-9},"delta":0,
        "accountant":"pure","event":{"type":"pure","epsilon":50},"arithmetic":0,"seeded":false,"metered":true}"#;
    let said: Statement = serde_json::from_str(written).unwrap();
    let mut budget = Budget::new(terms(1.0));
    let permit = budget.charge(Event::composed([])).unwrap();
    let permit = permit.together_with(&danger::unmetered_paid(&said).unwrap()).unwrap();
    let event = Event::composed([pure(50.0), Event::composed([])]);
    let release = permit.seal(event, ()).unwrap();
    assert!(!release.guarantee().metered, "{}", release.guarantee());
    assert!(release.guarantee().epsilon.upper >= 50.0, "and the file's ε is not believed");
    assert_eq!(budget.total().unwrap(), 0.0);
}

#[test]
fn a_file_is_believed_where_it_says_less() {
    let event = Event::composed([pure(0.25), pure(0.25)]);
    let claim = Claim::new(Neighbours::Replace, event.clone());
    let permit = danger::unmetered(claim, Unit::Client, Delta::ZERO).unwrap().seeded().unwrap();
    let guarantee = permit.with_arithmetic(crate::Inflation::new(0.25).unwrap()).seal(&event, ()).unwrap();
    let paid = danger::unmetered_paid(guarantee.guarantee()).unwrap();
    assert_eq!(paid.guarantee(), guarantee.guarantee());
    assert_eq!(paid.event(), &event);
}

#[test]
fn a_budget_vouches_for_what_it_recorded() {
    let terms = approximate(20.0, 1e-6).for_unit(Unit::Client);
    for mut budget in [Budget::new(terms.clone()), Budget::new(terms.planned())] {
        let numbers = [gaussian(2.0), pure(0.5), gaussian(3.0)]
            .map(|event| budget.charge(event).unwrap().reservation().unwrap());
        let paid = budget.paid(&[numbers[0], numbers[2]]).unwrap();
        let event = Event::composed([gaussian(2.0), gaussian(3.0)]);
        assert_eq!(paid.event(), &event);
        let guarantee = paid.guarantee();
        assert!(guarantee.metered && !guarantee.seeded && guarantee.unit == Unit::Client);
        let claim = Claim::new(Neighbours::AddRemove, event);
        let alone = price(claim, Unit::Client, Delta::new(1e-6).unwrap(), true).unwrap();
        assert_eq!(guarantee.epsilon, alone.epsilon);
        // One charge is its own event, as a run that did not stop has it.
        assert_eq!(budget.paid(&numbers[1..2]).unwrap().event(), &pure(0.5));
    }
}

#[test]
fn what_was_not_recorded_was_not_paid() {
    let journal = Shared::new(terms(1.0));
    let mut budget = journal.budget();
    let paid = budget.charge(pure(0.5)).unwrap().reservation().unwrap();
    for (list, message) in [
        (&[][..], "no charge is named; name the charges that paid for what came before, the first one first"),
        (
            &[0],
            "charge 0 is not among those of this budget; name the charges that were made from it, for this data",
        ),
        (
            &[paid, 2],
            "charge 2 is not among those of this budget; name the charges that were made from it, for this data",
        ),
        (
            &[u64::MAX],
            "charge 18446744073709551615 is not among those of this budget; name the charges that were made from it, for this data",
        ),
        (
            &[paid, paid],
            "charge 1 is named twice; name each charge once, in the order in which they were made",
        ),
    ] {
        assert_eq!(budget.paid(list).unwrap_err().to_string(), message);
    }
    assert!(journal.budget().paid(&[paid]).is_ok());
}
