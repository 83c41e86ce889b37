//! One release of one mechanism: pay, draw, book.
//!
//! # Guarantee
//! - The charge comes before the draw, and is recorded whatever happens after it.
//! - A unit other than the budget's is refused before the charge.
//! - No ledger pays for noise from a seed.

use std::sync::PoisonError;

use sordino_ledger::{Account, Digest, Label};
use sordino_mechanisms::Mechanism;
use sordino_noise::{danger as seeds, entropy};
use sordino_privacy::{Charge, Claim, Delta, Permit, Release, Terms, Unit, danger};

use crate::error::RunError;
use crate::payer::Payer;

/// Pays for one release of `answer`, makes it, and books it with the digest of its value.
///
/// `delta` is the δ of a guarantee that nobody pays for, `what` the purpose that a ledger shows.
/// `seed` makes the noise repeatable and voids the guarantee.
pub fn release<M: Mechanism>(
    mechanism: &M,
    answer: M::Answer<'_>,
    payer: &Payer,
    delta: Delta,
    seed: Option<u64>,
    what: Label,
    digest: impl FnOnce(&M::Output) -> Digest,
) -> Result<Release<M::Output>, RunError> {
    let (claim, unit) = (mechanism.claim(), mechanism.unit().clone());
    // Before the charge: without entropy nothing could be released for it.
    let mut bits = entropy()?;
    let (permit, account) = pay(payer, claim, unit, delta, seed.is_some(), what)?;
    let reservation = permit.reservation();
    let release = match seed {
        Some(seed) => mechanism.release_with(answer, permit, &mut seeds::seeded(seed))?,
        None => mechanism.release_with(answer, permit, &mut bits)?,
    };
    if let (Some(mut account), Some(reservation)) = (account, reservation) {
        account.book(reservation, Some(digest(release.value())))?;
    }
    Ok(release)
}

fn pay(
    payer: &Payer,
    claim: Claim,
    unit: Unit,
    delta: Delta,
    is_seeded: bool,
    what: Label,
) -> Result<(Permit, Option<Account>), RunError> {
    match payer {
        Payer::Settings => Ok((danger::unmetered(claim, unit, delta)?, None)),
        Payer::Budget(budget) => {
            // A panic of somebody who held it has charged or has not; either is consistent.
            let mut budget = budget.lock().unwrap_or_else(PoisonError::into_inner);
            check_unit(budget.terms(), &unit)?;
            Ok((budget.charge_claim(claim)?, None))
        }
        Payer::Account(_) if is_seeded => Err(RunError::SeededCharge),
        Payer::Account(account) => {
            let mut account = account.look()?;
            check_unit(account.terms(), &unit)?;
            account.set_purpose(what);
            Ok((account.charge_claim(claim)?, Some(account)))
        }
    }
}

fn check_unit(terms: &Terms, unit: &Unit) -> Result<(), RunError> {
    if terms.unit == *unit { Ok(()) } else { Err(RunError::other_unit(&terms.unit, unit)) }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use sordino_ledger::{Identity, Ledger};
    use sordino_mechanisms::{DiscreteLaplace, Shift};
    use sordino_privacy::{Budget, ChargeError, Epsilon, Neighbours};
    use sordino_testing::Scratch;

    use super::*;
    use crate::payer::LedgerAccount;

    fn terms() -> Terms {
        Terms::new(Epsilon::new(1.0).unwrap(), Neighbours::AddRemove)
    }

    fn budget(terms: Terms) -> Payer {
        Payer::Budget(Arc::new(Mutex::new(Budget::new(terms))))
    }

    fn label(text: &str) -> Label {
        Label::new(text).unwrap()
    }

    fn count(payer: &Payer, seed: Option<u64>) -> Result<Release<i64>, RunError> {
        let shift = Shift::count(Neighbours::AddRemove).unwrap();
        let mechanism = DiscreteLaplace::new(Epsilon::new(0.4).unwrap(), shift).unwrap();
        let digest = |value: &i64| Digest::of(&value.to_le_bytes());
        release(&mechanism, 10, payer, Delta::ZERO, seed, label("query count"), digest)
    }

    #[test]
    fn a_budget_pays_until_it_is_empty() {
        let budget = budget(terms());
        assert!(count(&budget, None).unwrap().guarantee().metered);
        assert!(count(&budget, None).is_ok());
        assert!(matches!(count(&budget, None), Err(RunError::Charge(ChargeError::Refused(_)))));
    }

    #[test]
    fn nobody_pays_and_the_guarantee_says_so() {
        let release = count(&Payer::Settings, Some(7)).unwrap();
        assert!(!release.guarantee().metered && release.guarantee().seeded);
    }

    #[test]
    fn another_unit_is_refused_before_the_charge() {
        let payer = budget(terms().for_unit(Unit::Client));
        assert!(matches!(count(&payer, None), Err(RunError::OtherUnit { .. })));
        let Payer::Budget(budget) = payer else { unreachable!("made above") };
        assert_eq!(budget.lock().unwrap().total().unwrap(), 0.0);
    }

    #[test]
    fn a_ledger_books_the_release_and_refuses_seeds() {
        let folder = Scratch::new("single");
        let path = folder.join("l.ledger");
        let identity = Identity { name: label("census"), content: Digest::of(b"") };
        Ledger::create(&path).unwrap().create_data_set(&identity, &terms()).unwrap();
        let payer = Payer::Account(LedgerAccount::named(&path, &label("census"), &label("ann")).unwrap());
        let charges = || Ledger::open(&path).unwrap().charges().unwrap();
        assert!(matches!(count(&payer, Some(7)), Err(RunError::SeededCharge)));
        assert!(charges().is_empty());
        count(&payer, None).unwrap();
        assert_eq!(charges()[0].state.name(), "booked");
    }
}
