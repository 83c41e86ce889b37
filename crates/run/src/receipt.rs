//! The receipt in a working folder: which data the run is of, and which charges paid for it.
//!
//! # Guarantee
//! A resumed run pays only for steps that may be done twice; its first part has paid for the
//! rest. So the data must be the same. If there is a ledger, its history must contain the
//! earlier charges, for this data set, and the last of them must not have ended. The charge that
//! resumes a run names the one before and ends it in the same entry. From then on, older copies
//! of the folder are refused, as all copies are once the model is written, and no charge of
//! another run can take its place. One table does not pay for another's model, and a ledger
//! takes over no run that it was not charged for.
//!
//! The ledger's count of steps detects a copy that was taken *during* a run. Every checkpoint is
//! recorded there before anybody can resume from it. A checkpoint that was not recorded is refused,
//! and an old one pays for all steps that may have been done since.
//!
//! # Pitfalls
//! Without a ledger nothing detects a copy of the folder that is put back: it can be resumed
//! once more. The guarantee says that no total is kept. A ledger of an older format neither
//! counts steps nor links charges. A resumed run then pays for all remaining steps, and a
//! process that is killed after it has written its charge to the receipt, and before it has
//! booked the earlier ones, leaves two folders that can be resumed. The digest of the data stays
//! in the working folder and is removed with it.

use serde::{Deserialize, Serialize};
use sordino_ledger::{Account, ChargeRecord, Digest, Head, LedgerError, State};
use sordino_optim::Checkpoint;

use crate::error::RunError;
use crate::purse::Purse;

/// The data and the charges of a run, which a resumed run needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Receipt {
    /// Content of the data file.
    data: Digest,
    /// Empty if there was no ledger.
    charges: Vec<Charge>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Charge {
    number: u64,
    /// The ledger's history, with the charge in it.
    history: Head,
}

/// Why a run cannot be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum Mismatch {
    #[error("it was begun with other data; give the file that it was begun with, unchanged")]
    Data,
    #[error("it was begun without a ledger, which has no charge for it; leave --ledger out, or begin again")]
    NoLedgerThen,
    #[error("it was paid from a ledger, which has to be told of its end; give --ledger as before")]
    NoLedgerNow,
    #[error(
        "it was paid from another ledger, or from this one before its history was changed; give --ledger \
         as before"
    )]
    OtherLedger,
    #[error("its charge is of another data set; give --name and the file as before")]
    OtherDataSet,
    #[error(
        "its checkpoint is not one that the ledger was told of: it was changed, or belongs to another run; \
         begin again"
    )]
    Checkpoint,
    #[error(
        "another process is still at work on it, and has done steps meanwhile; wait until it has ended, and \
        resume then"
    )]
    AtWork,
    #[error(
        "its charge is booked: its result was written, and resuming it would be another release; begin \
        again, and pay for it"
    )]
    Booked,
}

impl Receipt {
    /// A receipt without charges.
    pub(crate) fn new(data: Digest) -> Self {
        Self { data, charges: Vec::new() }
    }

    /// Adds the charge that was just made.
    pub(crate) fn with(mut self, reservation: Option<u64>, purse: &Purse) -> Result<Self, RunError> {
        if let (Some(number), Some(account)) = (reservation, purse.account()) {
            self.charges.push(Charge { number, history: account.ledger().head()? });
        }
        Ok(self)
    }

    /// The last charge, which a resumed run ends.
    pub(crate) fn last(&self) -> Option<u64> {
        self.charges().next_back()
    }

    /// Numbers of the charges, the last one last.
    pub(crate) fn charges(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.charges.iter().map(|charge| charge.number)
    }

    /// Books all charges but the last, so that no copy of the folder with only
    /// the earlier ones can be resumed.
    pub(crate) fn book_earlier(&self, purse: &mut Purse) -> Result<(), RunError> {
        let last = self.charges().next_back();
        let open: Vec<u64> = self
            .records(purse)?
            .iter()
            .filter(|charge| is_open(charge))
            .map(|charge| charge.number)
            .collect();
        open.into_iter()
            .filter(|number| Some(*number) != last)
            .try_for_each(|number| purse.book(number, None))
    }

    /// Books the last charge with its result.
    pub(crate) fn book_last(&self, purse: &mut Purse, result: Digest) -> Result<(), RunError> {
        self.charges().next_back().map_or(Ok(()), |number| purse.book(number, Some(result)))
    }

    /// The checkpoint with the number of steps that the ledger has recorded for its run. Fails if
    /// the ledger was not told of this checkpoint.
    pub(crate) fn known(&self, checkpoint: Checkpoint, purse: &Purse) -> Result<Checkpoint, RunError> {
        if purse.account().is_none() {
            return Ok(checkpoint);
        }
        if !purse.counts_steps()? {
            // Nobody has counted, so all remaining steps are charged again.
            return Ok(checkpoint.known_to_have(u64::MAX));
        }
        let records = self.records(purse)?;
        // Each charge resumes the one before, so a charge that is left out, or one of another run,
        // is noticed here.
        let is_chain = records.first().is_some_and(|first| first.follows.is_none())
            && records.windows(2).all(|pair| pair[1].follows == Some(pair[0].number));
        if !is_chain {
            return Err(Mismatch::Checkpoint.into());
        }
        let progress: Vec<_> = records.iter().filter_map(|charge| charge.progress.as_ref()).collect();
        let digest = Digest::from_bytes(checkpoint.digest());
        if !progress.iter().any(|progress| progress.checkpoints.contains_key(&digest)) {
            return Err(Mismatch::Checkpoint.into());
        }
        let done = progress.iter().map(|progress| progress.steps).max().unwrap_or(u64::MAX);
        Ok(checkpoint.known_to_have(done))
    }

    /// Checks that nobody has done steps since the checkpoint's price was computed.
    pub(crate) fn check_still(&self, checkpoint: &Checkpoint, purse: &Purse) -> Result<(), RunError> {
        if !purse.counts_steps()? {
            return Ok(());
        }
        let done =
            self.records(purse)?.iter().filter_map(|charge| Some(charge.progress.as_ref()?.steps)).max();
        if done.is_none_or(|done| done <= checkpoint.known()) { Ok(()) } else { Err(Mismatch::AtWork.into()) }
    }

    /// Checks that `data` and `purse` are those of the first part, and that nobody else has resumed
    /// the run.
    pub(crate) fn check_open(&self, data: Digest, purse: &Purse) -> Result<(), RunError> {
        let last = self.charges().next_back();
        self.check(data, purse, |charge| Some(charge.number) != last || is_open(charge))
    }

    /// Checks the same for a result that is kept, whose charges may be booked
    /// already. Returns whether they are.
    pub(crate) fn check_kept(&self, data: Digest, purse: &Purse, result: Digest) -> Result<bool, RunError> {
        let is_booked = |charge: &ChargeRecord| match charge.state {
            State::Booked { result: Some(booked), .. } => booked == result,
            State::Reserved | State::Booked { result: None, .. } => false,
        };
        self.check(data, purse, |charge| is_open(charge) || is_booked(charge))?;
        Ok(self.records(purse)?.iter().all(is_booked))
    }

    fn check(
        &self,
        data: Digest,
        purse: &Purse,
        is_fine: impl Fn(&ChargeRecord) -> bool,
    ) -> Result<(), RunError> {
        if self.data != data {
            return Err(Mismatch::Data.into());
        }
        match (purse.account(), self.charges.is_empty()) {
            (None, true) => return Ok(()),
            (None, false) => return Err(Mismatch::NoLedgerNow.into()),
            (Some(_), true) => return Err(Mismatch::NoLedgerThen.into()),
            (Some(account), false) => self.check_histories(account)?,
        }
        let set = purse.account().map(Account::data_set);
        let records = self.records(purse)?;
        if records.len() != self.charges.len() {
            return Err(Mismatch::OtherLedger.into());
        }
        if records.iter().any(|charge| Some(charge.data_set) != set) {
            return Err(Mismatch::OtherDataSet.into());
        }
        if records.iter().all(is_fine) { Ok(()) } else { Err(Mismatch::Booked.into()) }
    }

    fn check_histories(&self, account: &Account) -> Result<(), RunError> {
        self.charges.iter().try_for_each(|charge| match account.ledger().verify(Some(charge.history)) {
            Err(LedgerError::OtherHistory { .. }) => Err(Mismatch::OtherLedger.into()),
            checked => checked.map(drop).map_err(RunError::from),
        })
    }

    fn records(&self, purse: &Purse) -> Result<Vec<ChargeRecord>, RunError> {
        let Some(account) = purse.account() else { return Ok(Vec::new()) };
        let found: Result<Vec<_>, _> =
            self.charges().map(|number| account.ledger().charge_record(number)).collect();
        Ok(found?.into_iter().flatten().collect())
    }
}

fn is_open(charge: &ChargeRecord) -> bool {
    charge.state == State::Reserved
}
