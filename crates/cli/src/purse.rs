//! What a release is paid from: a ledger, or nothing, which is said.

use std::env;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use sordino::prelude::*;
use sordino::privacy::{Permit, Terms, danger};
use sordino_ledger::{Account, Digest, Label, Ledger};

use crate::decimal;
use crate::error::Error;
use crate::ledger::{content, identity};

/// Said wherever nothing is charged.
pub(crate) const UNMETERED_NOTE: &str =
    "no --ledger given: nothing was charged, and nobody adds this up with other releases";

/// Said of every release with seeded noise.
pub(crate) const SEEDED_NOTE: &str = "the noise is seeded: this is for tests, and nothing is promised";

/// Who pays, from what.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Payment {
    /// Pay from this ledger
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,

    /// The data set's name in the ledger [default: the file's name]
    #[arg(long)]
    pub(crate) name: Option<Label>,

    /// Who asks, for the ledger [default: the user's name]
    #[arg(long)]
    pub(crate) who: Option<Label>,
}

pub(crate) enum Purse {
    Ledger {
        account: Box<Account>,
        /// Of the data file.
        content: Digest,
    },
    Unmetered(Neighbours),
}

impl Purse {
    /// `asked` is the relation that a flag names; without one the ledger's holds, or `usual` where there is none. `what` is
    /// for the history.
    pub(crate) fn open(
        data: &Path,
        payment: &Payment,
        asked: Option<Neighbours>,
        usual: Neighbours,
        what: Label,
    ) -> Result<Self, Error> {
        let Some(path) = &payment.ledger else {
            if let Some(flag) = payment.flag_without_ledger() {
                return Err(Error::NeedsLedger { flag });
            }
            return Ok(Self::Unmetered(asked.unwrap_or(usual)));
        };
        let identity = identity(data, payment.name.as_ref())?;
        let account = Account::open(Ledger::open(path)?, &identity, payment.analyst()?, what)?;
        let stated = account.terms().neighbours;
        match asked {
            Some(asked) if asked != stated => {
                Err(Error::TwoRelations { name: path.display().to_string(), stated, asked })
            }
            _ => Ok(Self::Ledger { account: Box::new(account), content: identity.content }),
        }
    }

    /// The ledger's account, if there is a ledger.
    pub(crate) fn account(&self) -> Option<&Account> {
        match self {
            Self::Ledger { account, .. } => Some(account),
            Self::Unmetered(_) => None,
        }
    }

    /// What is in `data`, the file that it was opened for.
    pub(crate) fn content(&self, data: &Path) -> Result<Digest, Error> {
        match self {
            Self::Ledger { content, .. } => Ok(*content),
            Self::Unmetered(_) => content(data),
        }
    }

    pub(crate) fn neighbours(&self) -> Neighbours {
        match self {
            Self::Ledger { account, .. } => account.terms().neighbours,
            Self::Unmetered(neighbours) => *neighbours,
        }
    }

    /// What may be spent in all.
    pub(crate) fn terms(&self) -> Option<&Terms> {
        match self {
            Self::Ledger { account, .. } => Some(account.terms()),
            Self::Unmetered(_) => None,
        }
    }

    /// Would this be granted? Charges nothing.
    pub(crate) fn ask(&self, claim: &Claim, unit: &Unit) -> Result<(), Error> {
        self.check_unit(unit)?;
        match self {
            Self::Ledger { account, .. } => Ok(account.ask(&claim.event)?),
            Self::Unmetered(_) => Ok(()),
        }
    }

    /// Whether analysts have shares of the budget. Then whoever runs the command need not be the owner.
    pub(crate) fn has_shares(&self) -> Result<bool, Error> {
        let Some(account) = self.account() else { return Ok(false) };
        let sets = account.ledger().data_sets()?;
        Ok(sets.iter().any(|set| set.number == account.data_set() && !set.grants.is_empty()))
    }

    /// Pays before the data is read. `delta` is that of the guarantee where no ledger states one.
    pub(crate) fn pay(&mut self, claim: Claim, unit: Unit, delta: Delta) -> Result<Permit, Error> {
        self.check_unit(&unit)?;
        match self {
            Self::Ledger { account, .. } => Ok(account.charge_claim(claim)?),
            Self::Unmetered(_) => Ok(danger::unmetered(claim, unit, delta)?),
        }
    }

    /// Records that the result of a charge was released.
    pub(crate) fn book(&mut self, reservation: u64, result: Option<Digest>) -> Result<(), Error> {
        match self {
            Self::Ledger { account, .. } => Ok(account.book(reservation, result)?),
            Self::Unmetered(_) => Ok(()),
        }
    }

    /// What is left of the budget.
    pub(crate) fn left(&self) -> Result<Option<f64>, Error> {
        match self {
            Self::Ledger { account, .. } => Ok(Some(account.left()?)),
            Self::Unmetered(_) => Ok(None),
        }
    }

    /// The same for people.
    pub(crate) fn left_shown(&self) -> Result<Option<String>, Error> {
        let budget = self.terms().map(|terms| terms.epsilon.get());
        Ok(self.left()?.zip(budget).map(|(left, budget)| format!("epsilon {}", decimal::left(left, budget))))
    }

    /// What was spent of the budget.
    pub(crate) fn spent(&self) -> Result<Option<f64>, Error> {
        match self {
            Self::Ledger { account, .. } => Ok(Some(account.total()?)),
            Self::Unmetered(_) => Ok(None),
        }
    }

    fn check_unit(&self, unit: &Unit) -> Result<(), Error> {
        match self {
            Self::Ledger { account, .. } if account.terms().unit != *unit => {
                Err(Error::other_unit(&account.terms().unit, unit))
            }
            Self::Ledger { .. } | Self::Unmetered(_) => Ok(()),
        }
    }
}

impl Payment {
    fn flag_without_ledger(&self) -> Option<&'static str> {
        let flags = [(self.name.is_some(), "--name"), (self.who.is_some(), "--who")];
        flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }

    fn analyst(&self) -> Result<Label, Error> {
        if let Some(who) = &self.who {
            return Ok(who.clone());
        }
        let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| env::var(name).ok());
        let label = user.and_then(|user| Label::new(user).ok());
        label.ok_or(Error::NoAnalyst)
    }
}

/// Words for the history: what is done, and to which column. Names of columns are public; where both together make no label,
/// the first word does.
pub(crate) fn purpose(what: &'static str, column: Option<&str>) -> Label {
    let words = format!("{what} {}", column.unwrap_or_default());
    // The words of the command's own verbs are labels, whatever a column is called.
    Label::new(words.trim()).unwrap_or_else(|_| Label::new(what).expect("a plain word"))
}
