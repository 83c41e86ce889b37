//! No permit, no data: the evidence that a release was paid for.
//!
//! A [`Permit`] is made inside this module only, by [`Budget`](crate::Budget) after it has composed
//! the event with all that was spent, and by [`danger::unmetered`](crate::danger::unmetered), which
//! marks it. It cannot be copied, and sealing a release uses it up, so one charge pays for one
//! release.
//!
//! # Who may make one
//! Rust has no friend crates: whatever a durable ledger in another crate could call to make a
//! permit, anyone could call. So nobody else makes permits. A ledger implements
//! [`Journal`](crate::Journal), which only stores what was granted; the decision and the permit
//! stay here. What cannot be prevented is a journal that forgets or invents, just as nobody can be
//! kept from opening two budgets for the same data: the owner of the data chooses the journal.
//!
//! ```compile_fail
//! # fn example(permit: sordino_privacy::Permit, event: sordino_privacy::Event) {
//! let first = permit.seal(&event, 1);
//! let second = permit.seal(&event, 2); // used up
//! # }
//! ```
//! ```compile_fail
//! # fn example(permit: sordino_privacy::Permit) {
//! let copy = permit.clone();
//! # }
//! ```
//! ```compile_fail
//! let forged = sordino_privacy::Permit { guarantee: todo!(), reservation: None };
//! ```
//!
//! # Joined permits
//! What an earlier computation paid for comes as [`Paid`], which only a release, a budget's record
//! or [`danger`](crate::danger::unmetered_paid) makes. A joined permit seals the result of both and
//! [covers](Permit::covers) nothing new: otherwise the noise that was paid for once could be drawn
//! twice. Joining uses the evidence up, and metered evidence must come from the permit's own
//! budget.
//!
//! # Seeds
//! A person who knows the seed can subtract the noise. A ledger is the record of what was
//! protected, so a permit of a [durable](crate::Journal::is_durable) journal refuses seeded noise,
//! unless the charge says that it is for that
//! ([`Budget::charge_seeded`](crate::Budget::charge_seeded)).

use std::borrow::Borrow;

use crate::claim::Claim;
use crate::event::Event;
use crate::grant::budget::ChargeError;
use crate::grant::guarantee::Guarantee;
use crate::grant::paid::Paid;
use crate::grant::payer::Payer;
use crate::grant::release::Release;
use crate::params::Inflation;
use crate::relation::{Neighbours, Unit};

/// The right to make one release of one event. Dropping it refunds nothing.
#[derive(Debug)]
#[must_use = "a permit was paid for; dropping it refunds nothing"]
pub struct Permit {
    guarantee: Guarantee,
    /// None if it is not metered.
    payer: Option<Payer>,
    reservation: Option<u64>,
    seeds: Seeds,
    scope: Scope,
}

/// May the noise come from a fixed seed?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::grant) enum Seeds {
    Allowed,
    Refused,
}

/// What a permit pays for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// A computation from its beginning.
    Whole,
    /// The rest of one, joined with what its beginning paid for.
    Rest,
}

impl Permit {
    /// Called only after the charge has been recorded.
    pub(in crate::grant) fn new(
        guarantee: Guarantee,
        payer: Option<Payer>,
        reservation: Option<u64>,
        seeds: Seeds,
    ) -> Self {
        Self { guarantee, payer, reservation, seeds, scope: Scope::Whole }
    }

    /// The event that was paid for.
    pub fn event(&self) -> &Event {
        &self.guarantee.event
    }

    /// The relation of the budget that paid.
    pub fn neighbours(&self) -> Neighbours {
        self.guarantee.neighbours
    }

    /// Whose data the relation speaks of.
    pub fn unit(&self) -> &Unit {
        &self.guarantee.unit
    }

    /// What is promised about the release that it pays for.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Joins this permit to the evidence of an earlier computation that this one continues. The
    /// release is that of both together, and its guarantee composes what `earlier` paid for with
    /// what this permit paid for: it promises no more than either. Fails if another budget has paid
    /// for `earlier`. Unmetered evidence joins any permit, which is then unmetered.
    pub fn together_with(self, earlier: Paid) -> Result<Self, ChargeError> {
        let payer = Payer::of_both(self.payer, earlier.payer())?;
        let guarantee = self.guarantee.composed_with(earlier.guarantee(), self.guarantee.delta)?;
        Ok(Self { guarantee, payer, scope: Scope::Rest, ..self })
    }

    /// The number of the charge in its journal; none if nothing was charged.
    pub fn reservation(&self) -> Option<u64> {
        self.reservation
    }

    /// Does it cover `claim`, whose sensitivity was derived for `unit`? Ask before data is touched.
    /// No unit covers another: a person may have many records, and one record more may change which
    /// of them count. A permit that was joined with an earlier charge covers no claim.
    pub fn covers(&self, claim: &Claim, unit: &Unit) -> Result<(), ReleaseError> {
        if self.scope == Scope::Rest {
            return Err(ReleaseError::Joined);
        }
        if self.neighbours() != claim.neighbours {
            return Err(ReleaseError::OtherRelation {
                permitted: self.neighbours(),
                needed: claim.neighbours,
            });
        }
        if self.unit() != unit {
            let (permitted, needed) = (self.unit().clone(), unit.clone());
            return Err(ReleaseError::OtherUnit { permitted, needed });
        }
        self.covers_event(&claim.event)
    }

    /// Marks that the noise comes from a fixed seed: the guarantee will say that it is void. Call
    /// it before a bit is drawn and before data is touched. Refused where a durable journal was
    /// charged for noise that nobody can repeat.
    pub fn seeded(self) -> Result<Self, ReleaseError> {
        match self.seeds {
            Seeds::Allowed => Ok(Self { guarantee: self.guarantee.seeded_if(true), ..self }),
            Seeds::Refused => Err(ReleaseError::Seeded),
        }
    }

    /// [`seeded`](Self::seeded) if the bits are; otherwise nothing changes.
    pub fn drawn_with(self, is_seeded: bool) -> Result<Self, ReleaseError> {
        if is_seeded { self.seeded() } else { Ok(self) }
    }

    /// States the inflation of sensitivity that the event already pays for floating-point error:
    /// the largest one, where there are several.
    pub fn with_arithmetic(mut self, inflation: Inflation) -> Self {
        self.guarantee = self.guarantee.with_arithmetic(inflation);
        self
    }

    /// Turns the result of `event` into a release. Whether this fails does not depend on `value`.
    pub fn seal<T>(self, event: impl Borrow<Event>, value: T) -> Result<Release<T>, ReleaseError> {
        self.covers_event(event.borrow())?;
        Ok(Release::new(value, self.guarantee, self.payer))
    }

    fn covers_event(&self, event: &Event) -> Result<(), ReleaseError> {
        if self.event() == event {
            Ok(())
        } else {
            Err(ReleaseError::OtherEvent { permitted: self.event().name(), needed: event.name() })
        }
    }
}

/// A permit that does not fit the release.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// Paid for something else.
    #[error(
        "the permit is for another event ({permitted}) than the one released ({needed}), or for other \
         parameters; charge the event that the mechanism states"
    )]
    OtherEvent {
        /// Type of the event that was paid for.
        permitted: &'static str,
        /// Type of the event that was done.
        needed: &'static str,
    },
    /// Paid for under another relation.
    #[error(
        "the permit is for {permitted}, but the sensitivity was derived for {needed}; use one relation \
         for both"
    )]
    OtherRelation {
        /// The relation of the budget.
        permitted: Neighbours,
        /// The relation of the computation.
        needed: Neighbours,
    },
    /// Paid for the protection of others.
    #[error(
        "the permit is for the unit {permitted}, but the sensitivity was derived for the unit {needed}; pay \
         from a budget for {needed}, or derive the sensitivity for {permitted} and state that unit"
    )]
    OtherUnit {
        /// The unit of the budget.
        permitted: Unit,
        /// The unit of the computation.
        needed: Unit,
    },
    /// Paid for the rest of a computation that began before.
    #[error(
        "the permit pays for the rest of a computation that an earlier charge began, and for nothing new; \
         charge what is begun here, and do not join that permit"
    )]
    Joined,
    /// Noise that can be subtracted, where a ledger was charged for noise that cannot.
    #[error(
        "the noise comes from a fixed seed, and a ledger's charge pays for noise that nobody can repeat; \
         charge it as seeded (`charge_seeded`), or run without a ledger"
    )]
    Seeded,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger;
    use crate::params::{Delta, Epsilon};

    fn pure(epsilon: f64) -> Event {
        Event::Pure { epsilon: Epsilon::new(epsilon).unwrap() }
    }

    fn permit() -> Permit {
        let claim = Claim::new(Neighbours::Replace, pure(0.5));
        danger::unmetered(claim, Unit::Record, Delta::new(0.0).unwrap()).unwrap()
    }

    #[test]
    fn a_permit_seals_what_it_was_paid_for() {
        let release = permit().seal(pure(0.5), 7).unwrap();
        assert_eq!(*release.value(), 7);
        assert!(release.guarantee().epsilon.contains(0.5));
        assert_eq!(release.guarantee().event, pure(0.5));
        assert_eq!(release.post_process(|x| x * 2).into_parts().0, 14);
    }

    #[test]
    fn a_permit_for_something_else_is_refused() {
        assert!(matches!(permit().seal(pure(0.6), 7), Err(ReleaseError::OtherEvent { .. })));
        let permit = permit();
        assert_eq!(permit.covers(&Claim::new(Neighbours::Replace, pure(0.5)), &Unit::Record), Ok(()));
        let error = permit.covers(&Claim::new(Neighbours::AddRemove, pure(0.5)), &Unit::Record).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the permit is for replace, but the sensitivity was derived for add_remove; use one relation \
             for both"
        );
    }

    #[test]
    fn a_permit_for_records_protects_no_others() {
        let covers = |unit: &Unit| permit().covers(&Claim::new(Neighbours::Replace, pure(0.5)), unit);
        assert_eq!(covers(&Unit::Record), Ok(()));
        for other in [Unit::Client, Unit::Column("user_id".into())] {
            assert!(matches!(covers(&other), Err(ReleaseError::OtherUnit { .. })));
        }
        assert_eq!(
            covers(&Unit::Column("user_id".into())).unwrap_err().to_string(),
            "the permit is for the unit record, but the sensitivity was derived for the unit column \
             `user_id`; pay from a budget for column `user_id`, or derive the sensitivity for record and \
             state that unit"
        );
    }

    fn paid() -> Paid {
        permit().seal(pure(0.5), ()).unwrap().into_paid().1
    }

    #[test]
    fn going_on_promises_the_sum_of_both() {
        let both = permit().together_with(paid()).unwrap();
        let event = Event::composed([pure(0.5), pure(0.5)]);
        let release = both.seal(&event, ()).unwrap();
        assert!(release.guarantee().epsilon.contains(1.0) && release.guarantee().holds());
        let seeded = permit().seeded().unwrap().seal(pure(0.5), ()).unwrap().into_paid().1;
        assert!(permit().together_with(seeded).unwrap().guarantee().seeded);
    }

    #[test]
    fn two_relations_or_two_units_have_no_promise_together() {
        let other = |neighbours, unit| {
            let claim = Claim::new(neighbours, pure(0.5));
            danger::unmetered(claim, unit, Delta::ZERO).unwrap()
        };
        let relation = other(Neighbours::ZeroOut, Unit::Record).together_with(paid());
        assert!(matches!(relation, Err(ChargeError::OtherRelation { .. })));
        let unit = other(Neighbours::Replace, Unit::Client).together_with(paid());
        assert!(matches!(unit, Err(ChargeError::TwoUnits { .. })));
    }

    /// A mechanism of two parts, of which the first was released before: with a joined permit for
    /// the second it would draw the noise of both, and the first answer would have been released
    /// twice for one charge.
    #[test]
    fn a_joined_permit_begins_nothing_new() {
        let both = permit().together_with(paid()).unwrap();
        let claim = Claim::new(Neighbours::Replace, both.event().clone());
        assert_eq!(both.covers(&claim, &Unit::Record), Err(ReleaseError::Joined));
    }

    #[test]
    fn seeds_and_arithmetic_are_written_on_the_release() {
        let permit = permit().seeded().unwrap().with_arithmetic(Inflation::new(0.001).unwrap());
        let sealed = permit.seal(pure(0.5), ()).unwrap();
        let guarantee = sealed.guarantee();
        assert!(guarantee.seeded && !guarantee.holds() && !guarantee.metered);
        assert_eq!(guarantee.arithmetic.get(), 0.001);
    }
}
