//! What was paid for earlier comes from a record, and never from a file.

use super::*;
use crate::danger;
use crate::grant::statement::Statement;

/// A charge for nothing was joined with a promise that somebody had written into a file: the
/// release said `metered`, with ε = 50, and the budget's total was 0.
#[test]
fn a_promise_read_from_a_file_is_not_metered() {
    let written = r#"{"neighbours":"add_remove","unit":"record","epsilon":{"lower":0,"upper":1e-9},"delta":0,
        "accountant":"pure","event":{"type":"pure","epsilon":50},"arithmetic":0,"seeded":false,
        "metered":true}"#;
    let said: Statement = serde_json::from_str(written).unwrap();
    let mut budget = Budget::new(terms(1.0));
    let permit = budget.charge(Event::composed([])).unwrap();
    let permit = permit.together_with(danger::unmetered_paid(&said).unwrap()).unwrap();
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
    for terms in [terms.clone(), terms.planned()] {
        let mut budget = Budget::new(terms.clone());
        let numbers = [gaussian(2.0), pure(0.5), gaussian(3.0)]
            .map(|event| budget.charge(event).unwrap().reservation().unwrap());
        let mut budget = Budget::with_journal(&terms, budget.journal().clone()).unwrap();
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
    let paid = journal.budget().charge(pure(0.5)).unwrap().reservation().unwrap();
    let mut budget = journal.budget();
    for (list, message) in [
        (&[][..], "no charge is named; name the charges that paid for what came before, the first one first"),
        (
            &[0],
            "charge 0 is not among those of this budget; name the charges that were made from it, for this \
             data",
        ),
        (
            &[paid, 2],
            "charge 2 is not among those of this budget; name the charges that were made from it, for this \
             data",
        ),
        (
            &[u64::MAX],
            "charge 18446744073709551615 is not among those of this budget; name the charges that were made \
             from it, for this data",
        ),
        (
            &[paid, paid],
            "charge 1 is named twice; name each charge once, in the order in which they were made",
        ),
    ] {
        assert_eq!(budget.paid(list).unwrap_err().to_string(), message);
    }
    assert!(budget.paid(&[paid]).is_ok(), "what was refused was not handed out");
}

fn free(budget: &mut Budget) -> crate::Permit {
    budget.charge(Event::composed([])).unwrap()
}

/// Evidence of one charge was joined to free charges, again and again: many releases of ε = 1 from
/// a budget of 1.
#[test]
fn one_charge_is_evidence_once() {
    let mut budget = Budget::new(terms(1.0));
    let permit = budget.charge(pure(1.0)).unwrap();
    let number = permit.reservation().unwrap();
    let refused = budget.paid(&[number]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "charge 1 was handed out already, as a permit or as evidence, and pays for one thing; go on from its \
         release, or open the budget anew if that run has died"
    );
    let (_, paid) = permit.seal(pure(1.0), 1).unwrap().into_paid();
    assert!(matches!(budget.paid(&[number]), Err(ChargeError::HandedOut { number: 1 })));
    let joined = free(&mut budget).together_with(paid).unwrap();
    let event = joined.event().clone();
    assert!(joined.seal(event, 2).unwrap().guarantee().metered);
    assert!(matches!(budget.paid(&[number]), Err(ChargeError::HandedOut { .. })));
    // Opened anew, the charge is of the past, once.
    let mut again = Budget::with_journal(&terms(1.0), budget.journal().clone()).unwrap();
    assert!(again.paid(&[number]).is_ok());
    assert!(matches!(again.paid(&[number]), Err(ChargeError::HandedOut { .. })));
}

/// A budget for nobody's data paid 50, and a release of a budget of 1 said that ε was at most 50,
/// and metered.
#[test]
fn evidence_of_one_budget_pays_for_nothing_of_another() {
    let (mut large, mut small) = (Budget::new(terms(1000.0)), Budget::new(terms(1.0)));
    let mut paid = || large.charge(pure(50.0)).unwrap().seal(pure(50.0), ()).unwrap().into_paid().1;
    let refused = free(&mut small).together_with(paid()).unwrap_err();
    assert!(matches!(refused, ChargeError::OtherBudget));
    assert_eq!(
        refused.to_string(),
        "what came before was paid from another budget than what goes on from it; pay for both from one \
         budget, which is opened once"
    );
    let release = free(&mut small).seal(Event::composed([]), ()).unwrap();
    assert!(matches!(release.after(paid(), Delta::ZERO), Err(ChargeError::OtherBudget)));
    // Nor do two steps help: what was joined with something unmetered stays unmetered.
    let unmetered = || {
        let claim = Claim::new(Neighbours::AddRemove, Event::composed([]));
        danger::unmetered(claim, Unit::Record, Delta::ZERO).unwrap()
    };
    let joined = unmetered().together_with(paid()).unwrap();
    let event = joined.event().clone();
    let (_, between) = joined.seal(event, ()).unwrap().into_paid();
    let joined = free(&mut small).together_with(between).unwrap();
    assert!(!joined.guarantee().metered);
    let event = joined.event().clone();
    let (_, between) = joined.seal(event, ()).unwrap().into_paid();
    assert!(!free(&mut large).together_with(between).unwrap().guarantee().metered);
}

#[test]
fn what_one_budget_has_paid_for_is_joined() {
    let mut budget = Budget::new(terms(1.0));
    let (_, schema) = budget.charge(pure(0.25)).unwrap().seal(pure(0.25), ()).unwrap().into_paid();
    let model = budget.charge(pure(0.5)).unwrap().seal(pure(0.5), ()).unwrap();
    let both = model.after(schema, Delta::ZERO).unwrap();
    assert!(both.guarantee().metered && both.guarantee().epsilon.contains(0.75));
    let (_, both) = both.post_process(|()| 1).into_paid();
    let all = budget.charge(pure(0.25)).unwrap().together_with(both).unwrap();
    assert!(all.guarantee().metered && all.guarantee().epsilon.contains(1.0));
}
