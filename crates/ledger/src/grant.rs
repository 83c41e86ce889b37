//! Shares of a budget.
//!
//! # Guarantee
//! Once a data set has a grant, only analysts who have one can charge it, and a charge must fit
//! both the grant of whoever asks and the whole budget. Shares may add up to more than the whole:
//! the whole holds all the same. What an analyst was granted before they had a share counts against
//! it. A later grant replaces the numbers and refunds nothing.
//!
//! # Limits
//! An analyst is a name. Whether it is true is known to whoever lets analysts in, not to the
//! ledger. Two analysts who put their results together know what both were granted; what they know
//! together is bounded by the whole.

use sordino_privacy::{Event, Gate, Gauge, Prospect, SoFar, Spent, Terms};

use crate::error::LedgerError;
use crate::label::Label;
use crate::record::{ChargeRecord, DataSet};

/// What one analyst may spend of a budget.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Number of the entry that last set it.
    pub number: u64,
    /// The analyst.
    pub to: Label,
    /// The share: of the same relation and unit as the whole.
    pub terms: Terms,
    /// What they were granted on this data set.
    pub spent: Spent,
}

impl Grant {
    /// The total of their charges, as it is compared with the share.
    pub fn total(&self) -> Result<f64, LedgerError> {
        Ok(Gate::new(&self.terms).total(&self.spent)?)
    }
}

impl Grant {
    /// How much of the share is used, and what is left of it.
    pub fn gauge(&self) -> Result<Gauge, LedgerError> {
        Ok(Gate::new(&self.terms).gauge(&self.spent)?)
    }

    /// What they could still ask of the share.
    pub fn prospects(&self) -> Result<Vec<Prospect>, LedgerError> {
        Ok(Gate::new(&self.terms).prospects(&self.spent)?)
    }
}

impl DataSet {
    /// The total of all charges, as it is compared with the budget.
    pub fn total(&self) -> Result<f64, LedgerError> {
        Ok(Gate::new(&self.terms).total(&self.spent)?)
    }

    /// How much of the budget is used, and what is left of it.
    pub fn gauge(&self) -> Result<Gauge, LedgerError> {
        Ok(Gate::new(&self.terms).gauge(&self.spent)?)
    }

    /// What could still be asked of the budget.
    pub fn prospects(&self) -> Result<Vec<Prospect>, LedgerError> {
        Ok(Gate::new(&self.terms).prospects(&self.spent)?)
    }

    /// What may be said of everything released so far, at every moment at once: never more than the
    /// budget.
    pub fn so_far(&self) -> Result<SoFar, LedgerError> {
        let said = SoFar::of(&self.terms, self.spent.clone());
        Ok(said.map_err(sordino_privacy::ChargeError::from)?)
    }

    /// The share of `who`; `None` if the budget is not spent by shares.
    pub fn share(&self, who: &Label) -> Result<Option<&Grant>, LedgerError> {
        match self.grants.iter().find(|grant| grant.to == *who) {
            Some(grant) => Ok(Some(grant)),
            None if self.grants.is_empty() => Ok(None),
            None => Err(LedgerError::NoGrant {
                is_owner: self.rules.as_ref().is_some_and(|rules| rules.is_owner(who)),
                who: who.clone(),
                name: self.names[0].clone(),
            }),
        }
    }

    pub(crate) fn grant<'a>(
        &mut self,
        number: u64,
        to: &Label,
        terms: Terms,
        before: impl Iterator<Item = &'a ChargeRecord>,
    ) {
        if let Some(grant) = self.grants.iter_mut().find(|grant| grant.to == *to) {
            *grant = Grant { number, to: to.clone(), terms, spent: std::mem::take(&mut grant.spent) };
            return;
        }
        let mut spent = Spent::default();
        before.for_each(|charge| spent.record(charge.event.clone()));
        self.grants.push(Grant { number, to: to.clone(), terms, spent });
    }

    /// One more charge by `who`.
    pub(crate) fn record(&mut self, who: &Label, event: &Event) -> Result<(), LedgerError> {
        self.share(who)?;
        self.spent.record(event.clone());
        if let Some(grant) = self.grants.iter_mut().find(|grant| grant.to == *who) {
            grant.spent.record(event.clone());
        }
        Ok(())
    }
}
