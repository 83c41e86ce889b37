//! One release of one mechanism: pay, draw, book.
//!
//! # Guarantee
//! - The charge comes before the draw, and is recorded whatever happens after it.
//! - A unit other than the budget's is refused before the charge.
//! - No ledger pays for noise from a seed.

use sordino_ledger::{Account, Digest};
use sordino_mechanisms::Mechanism;
use sordino_noise::{danger as seeds, entropy};
use sordino_privacy::{Budget, Charge, Delta, Release, Terms, Unit, danger};

use crate::error::RunError;

/// What pays for a single release.
#[derive(Debug)]
pub enum Paying<'a> {
    /// Nobody; the guarantee, at this δ, says so.
    Nobody(Delta),
    /// A budget in memory.
    Budget(&'a mut Budget),
    /// A ledger's account.
    Account(&'a mut Account),
}

impl Paying<'_> {
    fn terms(&self) -> Option<&Terms> {
        match self {
            Self::Nobody(_) => None,
            Self::Budget(budget) => Some(budget.terms()),
            Self::Account(account) => Some(account.terms()),
        }
    }

    fn check_unit(&self, unit: &Unit) -> Result<(), RunError> {
        match self.terms() {
            Some(terms) if terms.unit != *unit => Err(RunError::other_unit(&terms.unit, unit)),
            Some(_) | None => Ok(()),
        }
    }
}

/// Pays for one release of `answer`, makes it, and books it with the digest of its value. `seed`
/// makes the noise repeatable and voids the guarantee.
pub fn release<M: Mechanism>(
    mechanism: &M,
    answer: M::Answer<'_>,
    mut paying: Paying<'_>,
    seed: Option<u64>,
    digest: impl FnOnce(&M::Output) -> Digest,
) -> Result<Release<M::Output>, RunError> {
    let (claim, unit) = (mechanism.claim(), mechanism.unit().clone());
    if seed.is_some() && matches!(paying, Paying::Account(_)) {
        return Err(RunError::SeededCharge);
    }
    paying.check_unit(&unit)?;
    // Before the charge: without entropy nothing could be released for it.
    let mut bits = entropy()?;
    let permit = match &mut paying {
        Paying::Nobody(delta) => danger::unmetered(claim, unit, *delta)?,
        Paying::Budget(budget) => budget.charge_claim(claim)?,
        Paying::Account(account) => account.charge_claim(claim)?,
    };
    let reservation = permit.reservation();
    let release = match seed {
        Some(seed) => mechanism.release_with(answer, permit, &mut seeds::seeded(seed))?,
        None => mechanism.release_with(answer, permit, &mut bits)?,
    };
    if let (Paying::Account(account), Some(reservation)) = (paying, reservation) {
        account.book(reservation, Some(digest(release.value())))?;
    }
    Ok(release)
}

#[cfg(test)]
mod tests {
    use sordino_ledger::{Identity, Label, Ledger};
    use sordino_mechanisms::{DiscreteLaplace, Shift};
    use sordino_privacy::{ChargeError, Epsilon, Neighbours};
    use sordino_testing::Scratch;

    use super::*;

    fn count(epsilon: f64) -> DiscreteLaplace {
        let shift = Shift::count(Neighbours::AddRemove).unwrap();
        DiscreteLaplace::new(Epsilon::new(epsilon).unwrap(), shift).unwrap()
    }

    fn terms() -> Terms {
        Terms::new(Epsilon::new(1.0).unwrap(), Neighbours::AddRemove)
    }

    fn bytes(value: &i64) -> Digest {
        Digest::of(&value.to_le_bytes())
    }

    #[test]
    fn a_budget_pays_until_it_is_empty() {
        let mut budget = Budget::new(terms());
        let mut ask = || release(&count(0.4), 10, Paying::Budget(&mut budget), None, bytes);
        assert!(ask().unwrap().guarantee().metered);
        assert!(ask().is_ok());
        assert!(matches!(ask(), Err(RunError::Charge(ChargeError::Refused(_)))));
    }

    #[test]
    fn nobody_pays_and_the_guarantee_says_so() {
        let release = release(&count(0.4), 10, Paying::Nobody(Delta::ZERO), Some(7), bytes).unwrap();
        assert!(!release.guarantee().metered && release.guarantee().seeded);
    }

    #[test]
    fn another_unit_is_refused_before_the_charge() {
        let mut budget = Budget::new(terms().for_unit(Unit::Client));
        let refused = release(&count(0.4), 10, Paying::Budget(&mut budget), None, bytes);
        assert!(matches!(refused, Err(RunError::OtherUnit { .. })));
        assert_eq!(budget.total().unwrap(), 0.0);
    }

    #[test]
    fn a_ledger_books_the_release_and_refuses_seeds() {
        let folder = Scratch::new("single");
        let identity = Identity { name: Label::new("census").unwrap(), content: Digest::of(b"") };
        let ledger = Ledger::create(&folder.join("l.ledger")).unwrap();
        ledger.create_data_set(&identity, &terms()).unwrap();
        let label = |text: &str| Label::new(text).unwrap();
        let mut account = Account::open(ledger, &identity, label("ann"), label("query count")).unwrap();
        let seeded = release(&count(0.4), 10, Paying::Account(&mut account), Some(7), bytes);
        assert!(matches!(seeded, Err(RunError::SeededCharge)));
        assert!(account.ledger().charges().unwrap().is_empty());
        release(&count(0.4), 10, Paying::Account(&mut account), None, bytes).unwrap();
        assert_eq!(account.ledger().charges().unwrap()[0].state.name(), "booked");
    }
}
