//! What pays for a release: a ledger's account, a budget in memory, or nobody, and then the
//! guarantee says so.

use std::env;
#[cfg(unix)]
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sordino_ledger::{Account, Digest, Label, Limit};
use sordino_optim::{Kept, Witness};
use sordino_privacy::{
    Charge, ChargeError, Claim, Delta, Gauge, Neighbours, Paid, Permit, Quote, Statement, Terms, Unit, danger,
};

use crate::error::RunError;
use crate::payer::{SharedBudget, locked};

/// The first format version of ledgers that count steps and link charges of one run.
const COUNTING_VERSION: u32 = 3;

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

    /// The analyst, for the ledger [default: the user's name]
    #[cfg_attr(feature = "clap", arg(long))]
    pub who: Option<Label>,
}

/// What pays for a release. [`Access::open`](crate::Access::open) opens
/// it for a file with known content.
#[derive(Debug)]
pub struct Purse {
    means: Means,
    /// The content of the data file, if it was read.
    content: Option<Digest>,
}

#[derive(Debug)]
enum Means {
    /// The budget of a data set, as one analyst sees it.
    Ledger(Box<Account>),
    /// A budget in memory, and its terms.
    Budget(SharedBudget, Box<Terms>),
    /// Nothing is charged, and no total is kept.
    Unmetered(Neighbours),
}

impl Purse {
    pub(crate) fn of(account: Account, content: Digest) -> Self {
        Self { means: Means::Ledger(Box::new(account)), content: Some(content) }
    }

    pub(crate) fn of_budget(budget: SharedBudget, content: Option<Digest>) -> Self {
        let terms = Box::new(locked(&budget).terms().clone());
        Self { means: Means::Budget(budget, terms), content }
    }

    pub(crate) fn unmetered(content: Option<Digest>, neighbours: Neighbours) -> Self {
        Self { means: Means::Unmetered(neighbours), content }
    }

    /// The ledger's account, if there is a ledger.
    pub fn account(&self) -> Option<&Account> {
        match &self.means {
            Means::Ledger(account) => Some(account),
            Means::Budget(..) | Means::Unmetered(_) => None,
        }
    }

    /// Whether something is charged.
    pub fn is_metered(&self) -> bool {
        !matches!(self.means, Means::Unmetered(_))
    }

    /// The content of the data file, if it was read.
    pub fn content(&self) -> Option<Digest> {
        self.content
    }

    /// The neighbouring relation of everything that it pays for.
    pub fn neighbours(&self) -> Neighbours {
        match &self.means {
            Means::Ledger(account) => account.terms().neighbours,
            Means::Budget(_, terms) => terms.neighbours,
            Means::Unmetered(neighbours) => *neighbours,
        }
    }

    /// The terms of the budget, if there is one.
    pub fn terms(&self) -> Option<&Terms> {
        match &self.means {
            Means::Ledger(account) => Some(account.terms()),
            Means::Budget(_, terms) => Some(terms),
            Means::Unmetered(_) => None,
        }
    }

    /// Checks that the budget would grant this claim. Charges nothing.
    pub fn ask(&self, claim: &Claim, unit: &Unit) -> Result<(), RunError> {
        self.quote(claim, unit).map(drop)
    }

    /// What this claim would take of what is left, if there is a budget. Charges nothing; fails as
    /// [`ask`](Self::ask) does.
    pub fn quote(&self, claim: &Claim, unit: &Unit) -> Result<Option<Quote>, RunError> {
        self.check_unit(unit)?;
        match &self.means {
            Means::Ledger(account) => Ok(Some(account.quote(&claim.event)?)),
            Means::Budget(budget, _) => Ok(Some(locked(budget).quote(&claim.event)?)),
            Means::Unmetered(_) => Ok(None),
        }
    }

    /// Charges a claim and returns the permit. Call it before the data is read. `delta` is the δ of
    /// the guarantee if there is no ledger.
    pub fn pay(&mut self, claim: Claim, unit: Unit, delta: Delta) -> Result<Permit, RunError> {
        self.pay_after(None, claim, unit, delta)
    }

    /// Charges the rest of a run that an earlier charge paid for, and
    /// ends that charge in the same entry.
    pub(crate) fn pay_after(
        &mut self,
        earlier: Option<u64>,
        claim: Claim,
        unit: Unit,
        delta: Delta,
    ) -> Result<Permit, RunError> {
        self.check_unit(&unit)?;
        let earlier = if self.counts_steps()? { earlier } else { None };
        match (&mut self.means, earlier) {
            (Means::Ledger(account), None) => Ok(account.charge_claim(claim)?),
            (Means::Ledger(account), Some(earlier)) => {
                let budget = account.terms().neighbours;
                if claim.neighbours != budget {
                    return Err(ChargeError::OtherRelation { budget, claim: claim.neighbours }.into());
                }
                Ok(account.charge_after(earlier, claim.event)?)
            }
            (Means::Budget(budget, _), _) => Ok(locked(budget).charge_claim(claim)?),
            (Means::Unmetered(_), _) => Ok(danger::unmetered(claim, unit, delta)?),
        }
    }

    /// Whether a ledger pays and its format counts the steps of runs and links their charges.
    pub(crate) fn counts_steps(&self) -> Result<bool, RunError> {
        let Some(account) = self.account() else { return Ok(false) };
        Ok(account.ledger().format_version()? >= COUNTING_VERSION)
    }

    /// Evidence of earlier payment: charges of this ledger or, without one, the statement in a
    /// file, which stays unmetered. A budget in memory may be another than the one that was charged
    /// then.
    pub(crate) fn paid(&mut self, charges: &[u64], said: &Statement) -> Result<Paid, RunError> {
        match &mut self.means {
            Means::Ledger(account) => Ok(account.paid(charges)?),
            Means::Budget(..) | Means::Unmetered(_) => Ok(danger::unmetered_paid(said)?),
        }
    }

    /// Records that the result of a charge was released.
    pub fn book(&mut self, reservation: u64, result: Option<Digest>) -> Result<(), RunError> {
        match &mut self.means {
            Means::Ledger(account) => Ok(account.book(reservation, result)?),
            Means::Budget(..) | Means::Unmetered(_) => Ok(()),
        }
    }

    /// What the analyst may spend, and how much of it is used: their share, or the budget. `None`
    /// without a ledger.
    pub fn limit(&self) -> Result<Option<Limit>, RunError> {
        Ok(self.account().map(Account::limit).transpose()?)
    }

    /// What is left to the analyst, if there is a budget.
    pub fn left(&self) -> Result<Option<f64>, RunError> {
        Ok(self.gauge()?.map(|gauge| gauge.left))
    }

    /// What the analyst has used, if there is a budget.
    pub fn spent(&self) -> Result<Option<f64>, RunError> {
        Ok(self.gauge()?.map(|gauge| gauge.used))
    }

    fn gauge(&self) -> Result<Option<Gauge>, RunError> {
        match &self.means {
            Means::Budget(budget, _) => Ok(Some(locked(budget).gauge()?)),
            Means::Ledger(_) | Means::Unmetered(_) => Ok(self.limit()?.map(|limit| limit.gauge)),
        }
    }

    /// The counter of the steps that this charge pays for. Ledgers of an older format cannot count:
    /// a resumed run then pays for all remaining steps.
    pub(crate) fn counter(&self, reservation: Option<u64>) -> Result<Option<Counter<'_>>, RunError> {
        let (Some(account), Some(reservation)) = (self.account(), reservation) else { return Ok(None) };
        Ok(self.counts_steps()?.then_some(Counter { account, reservation }))
    }

    fn check_unit(&self, unit: &Unit) -> Result<(), RunError> {
        match self.terms() {
            Some(terms) if terms.unit != *unit => Err(RunError::other_unit(&terms.unit, unit)),
            Some(_) | None => Ok(()),
        }
    }
}

/// Counts the steps of a run in the ledger, which a copy of the working folder cannot change.
#[derive(Debug)]
pub(crate) struct Counter<'a> {
    account: &'a Account,
    reservation: u64,
}

impl Witness for Counter<'_> {
    fn keeps(&self, kept: &Kept) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let Kept { steps, digest, is_last } = *kept;
        Ok(self.account.keep(self.reservation, steps, Digest::from_bytes(digest), is_last)?)
    }
}

impl Payment {
    /// Checks that neither `--name` nor `--who` is given without a ledger.
    pub(crate) fn check_without_ledger(&self) -> Result<(), RunError> {
        let given = [(self.name.is_some(), "--name"), (self.who.is_some(), "--who")];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, setting)) => {
                let by = "a run without --ledger".to_owned();
                Err(RunError::Unused { setting: setting.to_owned(), by })
            }
            None => Ok(()),
        }
    }

    /// The analyst: `who`, or the name of the user.
    pub fn analyst(&self) -> Result<Label, RunError> {
        if let Some(who) = &self.who {
            return Ok(who.clone());
        }
        let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| env::var(name).ok());
        let label = user.or_else(system_user).and_then(|user| Label::new(user).ok());
        label.ok_or(RunError::NoAnalyst)
    }
}

/// The user's name in the system's list of users, for an environment that does not state it.
fn system_user() -> Option<String> {
    #[cfg(unix)]
    {
        let number = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").ok()?);
        let users = fs::read_to_string("/etc/passwd").ok()?;
        let mut lines = users.lines().map(|line| line.split(':'));
        lines.find_map(|mut fields| {
            let (name, _, found) = (fields.next()?, fields.next()?, fields.next()?);
            (found.parse() == Ok(number)).then(|| name.to_owned())
        })
    }
    #[cfg(not(unix))]
    None
}

/// The purpose that the history shows: the verb and the column, whose name is public. If both
/// together are no valid label, the verb alone.
pub fn purpose(what: &'static str, column: Option<&str>) -> Label {
    let words = format!("{what} {}", column.unwrap_or_default());
    // Every verb of ours is a valid label.
    Label::new(words.trim()).unwrap_or_else(|_| Label::new(what).expect("a plain word"))
}
