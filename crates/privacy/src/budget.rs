//! How much may be spent, how much was, and who decides.
//!
//! # Rule
//! A charge is granted if the total ε, with the new event, is at most the budget. The comparison has a stated
//! slack: `total <= budget * (1 + 1e-9)`, so that ten charges of 0.1 fit a budget of 1.0, whose sum in
//! doubles may be 1.0000000000000002. What is refused leaves the budget as it was. Nothing is ever refunded.
//!
//! # What the total is
//! Whoever sees one result before choosing the next event can choose its *parameters* by that result, and
//! theorems about composition with fixed parameters do not cover this (Rogers, Roth, Ullman, Vadhan,
//! "Privacy Odometers and Filters", 2016). So there are two kinds of total, [`Choice`]:
//!
//! - [`Choice::Adaptive`], the default, may be used in any way. It is the smallest of
//!   1. the sum of pure ε (the basic filter);
//!   2. for δ > 0, the sum of Rényi divergences at one order that was fixed by ε and δ when the budget was
//!      made, converted to ε at δ (Feldman, Zrnic, "Individual Privacy Accounting via a Rényi Filter",
//!      2021; Lécuyer, "Practical Privacy Filters and Odometers", 2021);
//!   3. for the first charge alone, which no result has influenced, what the tightest accountant says.
//!
//!   Taking the smallest is sound. Let A be the set of transcripts that end within (1), and B those within
//!   (2) but not in A. Stopping before (1) is exceeded is an ε-private process that agrees with the real
//!   one on A, so P(S ∩ A) <= e^ε Q(S ∩ A); likewise P(S ∩ B) <= e^ε Q(S ∩ B) + δ; their sum is the claim.
//!   Whether (3) was needed is known before there is any result.
//! - [`Choice::Planned`] is tighter: everything granted, composed by the tightest accountant. Its premise
//!   is the owner's to keep: which events are charged does not depend on what earlier ones released.
//!
//! # Pitfalls
//! Totals are filters: statements about where the process may stop, not a running ε that could be quoted
//! at every moment. What may be quoted is the budget.

mod filter;
mod journal;
mod price;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::filter::Filter;
pub use self::journal::{Journal, Memory, Spent};
pub(crate) use self::price::price;
use crate::accounting::AccountError;
use crate::bound::Bound;
use crate::claim::Claim;
use crate::event::Event;
use crate::params::{Delta, Epsilon, Rounded};
use crate::permit::Permit;
use crate::relation::{Neighbours, Unit};

/// Relative slack of the comparison with the budget.
const SLACK: f64 = 1e-9;

/// What a budget allows, over which data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Terms {
    /// The most that may be spent.
    pub epsilon: Epsilon,
    /// δ of the whole.
    pub delta: Delta,
    /// The relation of all events.
    pub neighbours: Neighbours,
    /// Whose data moves between neighbours.
    pub unit: Unit,
    /// May events depend on earlier results?
    pub choice: Choice,
}

/// How the events of a budget are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// As one goes: events may depend on earlier results.
    Adaptive,
    /// In advance: events do not depend on earlier results.
    Planned,
}

impl Terms {
    /// Pure privacy of single records, for events chosen as one goes.
    pub fn new(epsilon: Epsilon, neighbours: Neighbours) -> Self {
        // 0 is in the range of δ.
        let delta = Delta::new(0.0).expect("0 is a delta");
        Self { epsilon, delta, neighbours, unit: Unit::Record, choice: Choice::Adaptive }
    }

    /// With this δ.
    pub fn with_delta(self, delta: Delta) -> Self {
        Self { delta, ..self }
    }

    /// Protecting this unit.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// For events that do not depend on earlier results: tighter. See the module's documentation.
    pub fn planned(self) -> Self {
        Self { choice: Choice::Planned, ..self }
    }
}

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
pub struct Budget<J = Memory> {
    terms: Terms,
    filter: Filter,
    journal: J,
}

impl Budget<Memory> {
    /// Nothing spent yet; forgotten with the process.
    pub fn new(terms: Terms) -> Self {
        Self::with_journal(terms, Memory::default())
    }
}

impl<J: Journal> Budget<J> {
    /// Continues from what `journal` has.
    pub fn with_journal(terms: Terms, journal: J) -> Self {
        Self { filter: Filter::new(&terms), terms, journal }
    }

    /// The total that is compared with the budget. Reading it changes nothing.
    pub fn total(&self) -> Result<f64, ChargeError> {
        let spent = self.journal.spent()?;
        Ok(self.filter.clone().total(&spent, None)?)
    }

    /// What the budget exceeds the total by; not additive: an event may fit that costs more alone.
    pub fn left(&self) -> Result<f64, ChargeError> {
        Ok((self.terms.epsilon.get() - self.total()?).max(0.0))
    }

    /// What was granted.
    pub fn spent(&self) -> Result<Spent, ChargeError> {
        self.journal.spent()
    }

    /// The journal.
    pub fn journal(&self) -> &J {
        &self.journal
    }
}

impl<J: Journal> Charge for Budget<J> {
    fn charge(&mut self, event: Event) -> Result<Permit, ChargeError> {
        let Self { terms, filter, journal } = self;
        let claim = Claim::new(terms.neighbours, event);
        let guarantee = price(claim, terms.unit.clone(), terms.delta, true)?;
        let mut decide = |spent: &Spent| {
            let total = filter.total(spent, Some(&guarantee.event))?;
            if total <= terms.epsilon.get() * (1.0 + SLACK) {
                return Ok(());
            }
            let before = filter.total(spent, None)?;
            Err(ChargeError::Refused(Box::new(Refusal {
                costs: guarantee.epsilon,
                left: (terms.epsilon.get() - before).max(0.0),
                total,
                terms: terms.clone(),
            })))
        };
        let reservation = journal.append(&guarantee.event, &mut decide)?;
        filter.granted();
        Ok(Permit::new(guarantee, Some(reservation)))
    }

    fn terms(&self) -> &Terms {
        &self.terms
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
    /// No accountant knows what it costs.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// It could not be recorded, so it was not granted.
    #[error("the charge could not be recorded and is not granted")]
    Journal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The numbers of a refusal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// What the event costs alone.
    pub costs: Bound,
    /// What the budget exceeds the present total by.
    pub left: f64,
    /// What the total would have become.
    pub total: f64,
    /// The budget.
    pub terms: Terms,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (costs, left, total) = (Rounded(self.costs.upper), Rounded(self.left), Rounded(self.total));
        let Terms { epsilon, delta, .. } = &self.terms;
        if self.costs.upper == f64::INFINITY {
            let reason =
                if delta.get() == 0.0 { " at δ = 0; a budget with δ > 0 may have room for it" } else { "" };
            return write!(f, "this release has no finite ε{reason}; nothing was charged");
        }
        if self.total == f64::INFINITY {
            return write!(
                f,
                "this release costs ε = {costs} alone, but has neither a pure nor a Rényi bound that adds \
                 up when events \
                 depend on earlier results; charge it first, or to a budget that is planned; nothing was \
                 charged"
            );
        }
        write!(
            f,
            "this release costs ε = {costs}, but the budget has {left} left of {epsilon} (δ = {delta}; \
             the total would be \
             {total}); add noise, release less often, or ask the budget's owner for more"
        )
    }
}

#[cfg(test)]
mod tests;
