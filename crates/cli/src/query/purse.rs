//! What an answer is paid from: a ledger, or nothing, which is said.

use std::env;

use sordino::prelude::*;
use sordino::privacy::{Permit, danger};
use sordino_ledger::{Account, Digest, Label, Ledger};

use super::args::QueryArgs;
use crate::args::Relation;
use crate::error::Error;
use crate::ledger::identity;

pub(crate) enum Purse {
    Ledger(Box<Account>),
    Unmetered(Neighbours),
}

impl Purse {
    pub(crate) fn open(args: &QueryArgs) -> Result<Self, Error> {
        let asked = args.neighbours.map(Relation::neighbours);
        let Some(path) = &args.ledger else {
            return Ok(Self::Unmetered(asked.unwrap_or(Neighbours::AddRemove)));
        };
        let identity = identity(&args.data, args.name.as_ref())?;
        let what = purpose(args);
        let account = Account::open(Ledger::open(path)?, &identity, who(args)?, what)?;
        let stated = account.terms().neighbours;
        match asked {
            Some(asked) if asked != stated => {
                Err(Error::TwoRelations { name: path.display().to_string(), stated, asked })
            }
            _ => Ok(Self::Ledger(Box::new(account))),
        }
    }

    pub(crate) fn neighbours(&self) -> Neighbours {
        match self {
            Self::Ledger(account) => account.terms().neighbours,
            Self::Unmetered(neighbours) => *neighbours,
        }
    }

    /// Pays before the data is read.
    pub(crate) fn pay(&mut self, claim: Claim, unit: Unit) -> Result<Permit, Error> {
        match self {
            Self::Ledger(account) if account.terms().unit != unit => {
                Err(Error::OtherUnit { ledger: account.terms().unit.to_string(), schema: unit.to_string() })
            }
            Self::Ledger(account) => Ok(account.charge_claim(claim)?),
            // Pure privacy: the statistics here have no δ.
            Self::Unmetered(_) => Ok(danger::unmetered(claim, unit, Delta::ZERO)?),
        }
    }

    /// Records that the result of a charge was released.
    pub(crate) fn book(&mut self, reservation: Option<u64>, result: &str) -> Result<(), Error> {
        match (self, reservation) {
            (Self::Ledger(account), Some(reservation)) => {
                Ok(account.book(reservation, Some(Digest::of(result.as_bytes())))?)
            }
            (Self::Ledger(_) | Self::Unmetered(_), _) => Ok(()),
        }
    }

    /// What is left of the budget.
    pub(crate) fn left(&self) -> Result<Option<f64>, Error> {
        match self {
            Self::Ledger(account) => Ok(Some(account.left()?)),
            Self::Unmetered(_) => Ok(None),
        }
    }
}

fn who(args: &QueryArgs) -> Result<Label, Error> {
    if let Some(who) = &args.who {
        return Ok(who.clone());
    }
    let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| env::var(name).ok());
    let label = user.and_then(|user| Label::new(user).ok());
    label.ok_or(Error::NoAnalyst)
}

/// Words for the history. Names of columns are public; they are cut where a label would be too long.
fn purpose(args: &QueryArgs) -> Label {
    let column = args.column.as_deref().unwrap_or_default();
    let words = format!("{} {column}", args.statistic.name());
    // The name of a statistic is a label, whatever the column is called.
    Label::new(words.trim()).unwrap_or_else(|_| Label::new(args.statistic.name()).expect("a plain word"))
}
