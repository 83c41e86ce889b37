//! Budgets: how much may be spent, how much is spent, and whether a charge is granted.
//!
//! # Rule
//! A charge is granted if the total, with the new event, is at most the budget's ε. The comparison
//! has a stated slack: `total <= budget * (1 + 1e-9)`, so that ten charges of 0.1 fit a budget of
//! 1.0, whose sum in doubles may be 1.0000000000000002. What is refused leaves the budget as it
//! was. Nothing is ever refunded.
//!
//! # What the total is
//! An analyst who sees one result before choosing the next event can choose its *parameters* by
//! that result. Theorems about composition with fixed parameters do not cover this (Rogers, Roth,
//! Ullman, Vadhan, "Privacy Odometers and Filters", 2016). So there are two kinds of total,
//! [`Choice`]:
//!
//! - [`Choice::Adaptive`], the default, may be used in any way. It is the smaller of
//!   1. the sum of pure ε (the basic filter);
//!   2. for δ > 0, the share of a capacity that was fixed by the terms when the budget was made,
//!      times ε. What is summed is, by [`Terms::filter`], Rényi divergences at one order (Feldman,
//!      Zrnic, "Individual Privacy Accounting via a Rényi Filter", 2021; Lécuyer, "Practical
//!      Privacy Filters and Odometers", 2021), or squares of Gaussian distances (Smith, Thakurta,
//!      "Fully Adaptive Composition for Gaussian Differential Privacy", 2022; Koskela, Tobaben,
//!      Honkela, "Individual Privacy Accounting with Gaussian Differential Privacy", 2022). Events
//!      that bring a δ of their own count with what they cost outside it, as long as the sum of
//!      these δ is at most what the terms [set aside](Terms::set_aside); the capacity is that of
//!      the rest of δ (below).
//!
//!   The first charge, which no result has influenced, is also granted if the tightest accountant
//!   finds it within the budget. If the sums have no room for it, it has used up everything.
//!
//!   Taking the smaller is sound. Let A be the set of transcripts that end within (1), and B those
//!   within (2) but not in A. Stopping before (1) is exceeded is an ε-private process that agrees
//!   with the real one on A, so P(S ∩ A) <= e^ε Q(S ∩ A); likewise P(S ∩ B) <= e^ε Q(S ∩ B) + δ;
//!   their sum is the claim. Whether the first charge was granted otherwise is known before there
//!   is any result. There is one filter (2) and not the better of two, because the argument would
//!   then count δ twice. The book proves that a filter by squares of Gaussian distances is sound
//!   (What composition costs).
//! - [`Choice::Planned`] is tighter: everything granted, composed by the tightest accountant. Its
//!   premise is the owner's to keep: which events are charged does not depend on what earlier ones
//!   released.
//!
//! # The approximate filter
//! Let d be what is set aside. An (ε_i, δ_i)-private release is ε_i-private but for an event of
//! probability δ_i (Kairouz, Oh, Viswanath 2015). Leave out the transcripts in which such an event
//! happens: since the process stops before the δ_i exceed d on any path, they weigh at most d under
//! either input, and on the rest (2) holds at δ - d, because the factors 1 - δ_i are the same under
//! both inputs. So everything is (ε, δ)-private. This is the approximate-zCDP filter of Whitehouse,
//! Ramdas, Rogers, Wu ("Fully-Adaptive Composition in Differential Privacy", 2023, theorem 1) at
//! one order. Their filter with the constants of advanced composition (theorem 2),
//! ```text
//! sqrt(2 ln(1/(δ-d)) S) + S/2 <= ε  with  S = sum ε_i²,  and  sum δ_i <= d                            (1)
//! ```
//! is a special case that (2) never refuses: D_a <= a ε_i²/2 for an ε_i-private release, (1) says
//! that S/2 converts to ε at some order by a looser formula, and the order of (2) is the one that
//! fits most.
//!
//! # What a decision costs
//! Sums are kept between charges; equal events are priced and tallied once. A planned budget asks
//! the tightest accountant only where sums do not decide, and then about twice the history, so that
//! it is asked O(log n) times for n equal charges. [`Budget::work`] counts.
//!
//! # Pitfalls
//! Totals are filters: statements about where the process may stop, not a running ε that could be
//! quoted at every moment. What may be quoted is the budget, or the reading of an [`Odometer`]:
//! [`SoFar`] says which is less.

mod ceiling;
mod filter;
mod fitting;
mod gate;
mod gauge;
mod journal;
mod odometer;
mod price;
mod prospect;
mod refusal;
mod sum;
mod tallies;
mod terms;

use std::collections::HashSet;

pub use self::gate::Gate;
pub use self::gauge::{Gauge, Quote};
pub use self::journal::{Charged, Journal, MemoryJournal, Spent};
pub use self::odometer::{Odometer, OdometerReading, SoFar, Voucher};
pub(super) use self::price::price;
pub use self::prospect::{Prospect, TypicalRelease};
pub use self::refusal::Refusal;
pub use self::tallies::Work;
pub use self::terms::{Choice, Filter, Terms};
use crate::accounting::AccountError;
use crate::claim::Claim;
use crate::event::Event;
use crate::grant::paid::Paid;
use crate::grant::payer::Payer;
use crate::grant::permit::{Permit, Seeds};
use crate::relation::{Neighbours, Unit};

/// Anything that a release can be paid from.
pub trait Charge {
    /// Pays for `event` under the relation of the budget, or refuses before anything else happens.
    fn charge(&mut self, event: Event) -> Result<Permit, ChargeError>;

    /// What may be spent, over which data.
    fn terms(&self) -> &Terms;

    /// Pays for an event that was derived for one relation; refuses if the budget has another.
    fn charge_claim(&mut self, claim: Claim) -> Result<Permit, ChargeError> {
        let budget = self.terms().neighbours;
        if claim.neighbours != budget {
            return Err(ChargeError::OtherRelation { budget, claim: claim.neighbours });
        }
        self.charge(claim.event)
    }
}

/// A budget, in memory unless it is given another journal.
///
/// ```
/// use sordino_privacy::{Budget, Charge, Epsilon, Event, Neighbours, Terms};
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
/// let query = Event::Pure { epsilon: Epsilon::new(0.4)? };
///
/// let permit = budget.charge(query.clone())?;
/// let release = permit.seal(&query, 1_204)?;
/// println!("{} with {}", release.value(), release.guarantee());
///
/// budget.charge(query.clone())?.seal(&query, 1_187)?;
/// let refusal = budget.charge(query).unwrap_err();
/// assert!(refusal.to_string().starts_with("this release costs ε = 0.4, but the budget has 0.2 left of 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Budget<J = MemoryJournal> {
    gate: Gate,
    journal: J,
    payer: Payer,
    /// The charges that have left this budget, as a permit or as evidence.
    handed_out: HashSet<u64>,
}

impl Budget<MemoryJournal> {
    /// Nothing spent yet; forgotten with the process.
    pub fn new(terms: Terms) -> Self {
        Self::opened(Gate::new(&terms), MemoryJournal::new(terms))
    }
}

impl<J> Budget<J> {
    fn opened(gate: Gate, journal: J) -> Self {
        Self { gate, journal, payer: Payer::new(), handed_out: HashSet::new() }
    }
}

impl<J: Journal> Budget<J> {
    /// Continues from what `journal` has. Fails if the journal was kept under other terms: its
    /// charges were priced for another relation, protect another unit, or count against another
    /// limit.
    pub fn with_journal(terms: &Terms, journal: J) -> Result<Self, ChargeError> {
        if journal.terms() == terms {
            Ok(Self::opened(Gate::new(terms), journal))
        } else {
            let (journal, budget) = (Box::new(journal.terms().clone()), Box::new(terms.clone()));
            Err(ChargeError::OtherTerms { journal, budget })
        }
    }

    /// The total that is compared with the budget: the share of its capacity that is used, times ε.
    /// Reading it changes nothing.
    pub fn total(&self) -> Result<f64, ChargeError> {
        self.gate.total(&self.journal.spent()?)
    }

    /// What is left: the share of the capacity that is not used, times ε. A rest within the slack
    /// of the rule counts as 0: it is rounding, not something to spend.
    pub fn left(&self) -> Result<f64, ChargeError> {
        Ok(self.terms().left(self.total()?))
    }

    /// How much is used, and what is left. Reading it changes nothing.
    pub fn gauge(&self) -> Result<Gauge, ChargeError> {
        self.gate.gauge(&self.journal.spent()?)
    }

    /// What `event` would take of what is left. Charges nothing; fails as a charge would.
    pub fn quote(&self, event: &Event) -> Result<Quote, ChargeError> {
        self.gate.clone().quote(&self.journal.spent()?, event)
    }

    /// What was granted.
    pub fn spent(&self) -> Result<Spent, ChargeError> {
        self.journal.spent()
    }

    /// Pays for `event` with noise from a fixed seed, for tests of whole programs. The price is the
    /// same, the journal says that it was seeded, and the guarantee that it is void. A durable
    /// journal has no other permit for seeded noise.
    pub fn charge_seeded(&mut self, event: Event) -> Result<Permit, ChargeError> {
        self.grant(Charged { event, seeded: true })
    }

    fn grant(&mut self, charge: Charged) -> Result<Permit, ChargeError> {
        let Self { gate, journal, .. } = self;
        let guarantee = gate.price(&charge.event)?.seeded_if(charge.seeded);
        let reservation = journal.append(&charge, &mut |spent| gate.decide(spent, &charge.event))?;
        let seeds = if charge.seeded || !journal.is_durable() { Seeds::Allowed } else { Seeds::Refused };
        self.handed_out.insert(reservation);
        Ok(Permit::new(guarantee, Some(self.payer), Some(reservation), seeds))
    }

    /// Evidence of earlier charges, by the numbers of their [reservations](Permit::reservation):
    /// what the journal has recorded, composed in this order and priced under the terms of the
    /// budget. Fails if the list is empty, names a charge twice, or names one that this journal
    /// does not have.
    ///
    /// A charge leaves a budget once, as a permit or as evidence. So charges that left this
    /// instance are refused too. A computation that goes on from a release takes
    /// [`Release::into_paid`](crate::Release::into_paid).
    ///
    /// # Pitfalls
    /// A journal does not know which computation a charge was for. One charge is evidence for one
    /// computation, the one that it began. The caller must see to that, also where one journal is
    /// opened several times.
    ///
    /// ```
    /// use sordino_privacy::{Budget, Charge, Epsilon, Event, Neighbours, Terms};
    /// let terms = Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove);
    /// let mut budget = Budget::new(terms.clone());
    /// let half = Event::Pure { epsilon: Epsilon::new(0.5)? };
    /// let first = budget.charge(half.clone())?.reservation().unwrap_or_default();
    /// // The process died before there was a result. The next one opens the journal, and its
    /// // guarantee covers both.
    /// let mut budget = Budget::with_journal(&terms, budget.journal().clone())?;
    /// let paid = budget.paid(&[first])?;
    /// let permit = budget.charge(half)?.together_with(paid)?;
    /// assert!(permit.guarantee().epsilon.contains(1.0));
    /// assert!(budget.paid(&[first]).is_err() && budget.paid(&[7]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn paid(&mut self, reservations: &[u64]) -> Result<Paid, ChargeError> {
        let mut all: Option<Charged> = None;
        for (place, &number) in reservations.iter().enumerate() {
            if reservations[..place].contains(&number) {
                return Err(ChargeError::NamedTwice { number });
            }
            if self.handed_out.contains(&number) {
                return Err(ChargeError::HandedOut { number });
            }
            let next = self.journal.recorded(number)?.ok_or(ChargeError::NotRecorded { number })?;
            all = Some(match all {
                Some(Charged { event, seeded }) => {
                    Charged { event: event.followed_by(next.event), seeded: seeded || next.seeded }
                }
                None => next,
            });
        }
        let Charged { event, seeded } = all.ok_or(ChargeError::NothingPaid)?;
        let Terms { neighbours, unit, delta, .. } = self.terms();
        let guarantee = price(Claim::new(*neighbours, event), unit.clone(), *delta, true)?;
        self.handed_out.extend(reservations);
        Ok(Paid::new(guarantee.seeded_if(seeded), Some(self.payer)))
    }

    /// The journal.
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// What deciding has cost so far.
    pub fn work(&self) -> Work {
        self.gate.work()
    }
}

impl<J: Journal> Charge for Budget<J> {
    fn charge(&mut self, event: Event) -> Result<Permit, ChargeError> {
        self.grant(Charged { event, seeded: false })
    }

    fn terms(&self) -> &Terms {
        self.gate.terms()
    }
}

/// Why nothing was granted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChargeError {
    /// It would exceed the budget.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The event was derived for another relation.
    #[error(
        "the budget is for {budget}, but the event was derived for {claim}; derive its sensitivity for \
         {budget}, or open a \
         budget for {claim}"
    )]
    OtherRelation {
        /// The relation of the budget.
        budget: Neighbours,
        /// The relation of the claim.
        claim: Neighbours,
    },
    /// Releases that protect different units have no joint guarantee.
    #[error(
        "the release protects a {unit}, and the one before it, which it goes on from, a {earlier}; use one \
         unit for both"
    )]
    TwoUnits {
        /// The unit of the later release.
        unit: Unit,
        /// The unit of the earlier release.
        earlier: Unit,
    },
    /// The journal was kept under other terms.
    #[error(
        "the journal was kept for {} of {}, with ε = {} and δ = {}, and the budget is for {} of {}, with ε = \
         {} and δ = {}; open it under its own terms",
        journal.neighbours, journal.unit, journal.epsilon, journal.delta,
        budget.neighbours, budget.unit, budget.epsilon, budget.delta
    )]
    OtherTerms {
        /// What the journal says.
        journal: Box<Terms>,
        /// What was asked for.
        budget: Box<Terms>,
    },
    /// No charge has this number.
    #[error(
        "charge {number} is not among those of this budget; name the charges that were made from it, for \
         this data"
    )]
    NotRecorded {
        /// What was asked for.
        number: u64,
    },
    /// A charge pays for one thing.
    #[error("charge {number} is named twice; name each charge once, in the order in which they were made")]
    NamedTwice {
        /// What was asked for.
        number: u64,
    },
    /// The charge has already left this budget, as a permit or as evidence.
    #[error(
        "charge {number} was handed out already, as a permit or as evidence, and pays for one thing; go on \
         from its release, or open the budget anew if that run has died"
    )]
    HandedOut {
        /// What was asked for.
        number: u64,
    },
    /// Evidence from one budget, joined to a permit or release of another.
    #[error(
        "what came before was paid from another budget than what goes on from it; pay for both from one \
         budget, which is opened once"
    )]
    OtherBudget,
    /// No charge was named.
    #[error("no charge is named; name the charges that paid for what came before, the first one first")]
    NothingPaid,
    /// No accountant can price it.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// It could not be recorded, so it was not granted.
    #[error("the charge could not be recorded and is not granted")]
    Journal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

#[cfg(test)]
mod tests;
