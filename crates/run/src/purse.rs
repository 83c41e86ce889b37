//! What a release is paid from: a ledger, or nothing, which is said.

use std::env;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sordino_ledger::{Account, Digest, Label, Ledger};
use sordino_privacy::{Charge, Claim, Delta, Neighbours, Permit, Terms, Unit, danger};

use crate::error::RunError;
use crate::identity::{content, identity};

/// Who pays, from what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Payment {
    /// Pay from this ledger
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub ledger: Option<PathBuf>,

    /// The data set's name in the ledger [default: the file's name]
    #[cfg_attr(feature = "clap", arg(long))]
    pub name: Option<Label>,

    /// Who asks, for the ledger [default: the user's name]
    #[cfg_attr(feature = "clap", arg(long))]
    pub who: Option<Label>,
}

/// What a release is paid from.
#[derive(Debug)]
pub enum Purse {
    /// The budget of a data set.
    Ledger {
        /// As one analyst sees it.
        account: Box<Account>,
        /// Of the data file.
        content: Digest,
    },
    /// Nothing is charged, and nobody adds releases up.
    Unmetered(Neighbours),
}

impl Purse {
    /// `asked` is the relation that a flag names; without one the ledger's holds, or `usual` where there is none. `what` is
    /// for the history.
    pub fn open(
        data: &Path,
        payment: &Payment,
        asked: Option<Neighbours>,
        usual: Neighbours,
        what: Label,
    ) -> Result<Self, RunError> {
        let Some(path) = &payment.ledger else {
            if let Some(setting) = payment.given_without_ledger() {
                let by = "a run without --ledger".to_owned();
                return Err(RunError::Unused { setting: setting.to_owned(), by });
            }
            return Ok(Self::Unmetered(asked.unwrap_or(usual)));
        };
        let identity = identity(data, payment.name.as_ref())?;
        let account = Account::open(Ledger::open(path)?, &identity, payment.analyst()?, what)?;
        let stated = account.terms().neighbours;
        match asked {
            Some(asked) if asked != stated => {
                Err(RunError::TwoRelations { name: path.display().to_string(), stated, asked })
            }
            _ => Ok(Self::Ledger { account: Box::new(account), content: identity.content }),
        }
    }

    /// The ledger's account, if there is a ledger.
    pub fn account(&self) -> Option<&Account> {
        match self {
            Self::Ledger { account, .. } => Some(account),
            Self::Unmetered(_) => None,
        }
    }

    /// What is in `data`, the file that it was opened for.
    pub fn content(&self, data: &Path) -> Result<Digest, RunError> {
        match self {
            Self::Ledger { content, .. } => Ok(*content),
            Self::Unmetered(_) => content(data),
        }
    }

    /// The relation of all that is paid from it.
    pub fn neighbours(&self) -> Neighbours {
        match self {
            Self::Ledger { account, .. } => account.terms().neighbours,
            Self::Unmetered(neighbours) => *neighbours,
        }
    }

    /// What may be spent in all.
    pub fn terms(&self) -> Option<&Terms> {
        match self {
            Self::Ledger { account, .. } => Some(account.terms()),
            Self::Unmetered(_) => None,
        }
    }

    /// Would this be granted? Charges nothing.
    pub fn ask(&self, claim: &Claim, unit: &Unit) -> Result<(), RunError> {
        self.check_unit(unit)?;
        match self {
            Self::Ledger { account, .. } => Ok(account.ask(&claim.event)?),
            Self::Unmetered(_) => Ok(()),
        }
    }

    /// Whether analysts have shares of the budget. Then whoever runs the command need not be the owner.
    pub fn has_shares(&self) -> Result<bool, RunError> {
        let Some(account) = self.account() else { return Ok(false) };
        let sets = account.ledger().data_sets()?;
        Ok(sets.iter().any(|set| set.number == account.data_set() && !set.grants.is_empty()))
    }

    /// Pays before the data is read. `delta` is that of the guarantee where no ledger states one.
    pub fn pay(&mut self, claim: Claim, unit: Unit, delta: Delta) -> Result<Permit, RunError> {
        self.check_unit(&unit)?;
        match self {
            Self::Ledger { account, .. } => Ok(account.charge_claim(claim)?),
            Self::Unmetered(_) => Ok(danger::unmetered(claim, unit, delta)?),
        }
    }

    /// Records that the result of a charge was released.
    pub fn book(&mut self, reservation: u64, result: Option<Digest>) -> Result<(), RunError> {
        match self {
            Self::Ledger { account, .. } => Ok(account.book(reservation, result)?),
            Self::Unmetered(_) => Ok(()),
        }
    }

    /// What is left of the budget.
    pub fn left(&self) -> Result<Option<f64>, RunError> {
        match self {
            Self::Ledger { account, .. } => Ok(Some(account.left()?)),
            Self::Unmetered(_) => Ok(None),
        }
    }

    /// What was spent of the budget.
    pub fn spent(&self) -> Result<Option<f64>, RunError> {
        match self {
            Self::Ledger { account, .. } => Ok(Some(account.total()?)),
            Self::Unmetered(_) => Ok(None),
        }
    }

    fn check_unit(&self, unit: &Unit) -> Result<(), RunError> {
        match self {
            Self::Ledger { account, .. } if account.terms().unit != *unit => {
                Err(RunError::other_unit(&account.terms().unit, unit))
            }
            Self::Ledger { .. } | Self::Unmetered(_) => Ok(()),
        }
    }
}

impl Payment {
    fn given_without_ledger(&self) -> Option<&'static str> {
        let flags = [(self.name.is_some(), "--name"), (self.who.is_some(), "--who")];
        flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag))
    }

    fn analyst(&self) -> Result<Label, RunError> {
        if let Some(who) = &self.who {
            return Ok(who.clone());
        }
        let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| env::var(name).ok());
        let label = user.and_then(|user| Label::new(user).ok());
        label.ok_or(RunError::NoAnalyst)
    }
}

/// Words for the history: what is done, and to which column. Names of columns are public; where both together make no label,
/// the first word does.
pub fn purpose(what: &'static str, column: Option<&str>) -> Label {
    let words = format!("{what} {}", column.unwrap_or_default());
    // The words of the command's own verbs are labels, whatever a column is called.
    Label::new(words.trim()).unwrap_or_else(|_| Label::new(what).expect("a plain word"))
}
