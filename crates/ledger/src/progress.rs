//! Counts the steps of the run that a charge pays for, where no copy can undo the count.
//!
//! A run keeps its checkpoints in a folder, and a folder can be copied and put back. Steps after
//! the copy would then be done twice, with new noise, and paid for once. So the run records in the
//! ledger how many steps it has done and which checkpoint holds them, before anybody can resume
//! from that checkpoint. Whoever resumes compares: a checkpoint that the ledger does not know is
//! not one of this run, and one with fewer steps than recorded is an old copy.
//!
//! # Guarantee
//! Steps are recorded only for a charge that is reserved and not booked. Their number never falls,
//! and nothing is recorded after the last step.
//!
//! # Limits
//! The ledger counts what it is told. A run must record its steps before anybody can use the
//! checkpoint. It may have done more steps than it has recorded: unless the last record says that
//! none followed, the steps up to the next checkpoint count as done.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::account::Account;
use crate::book::Book;
use crate::digest::Digest;
use crate::entry::Body;
use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::record::{ChargeRecord, State};

/// The recorded progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunProgress {
    /// The largest recorded number of steps.
    pub steps: u64,
    /// Whether the run did no step after these.
    pub last: bool,
    /// The number of steps at each checkpoint, by the hash of the checkpoint.
    pub checkpoints: BTreeMap<Digest, u64>,
}

impl<L: Borrow<Ledger>> Account<L> {
    /// Records that the run of charge `reservation` has done `steps` steps, and the hash of the
    /// checkpoint that holds them. `last` says that the run does no step after these. Fails if the
    /// charge is booked or of another data set, if more steps are recorded already, or if the last
    /// step is.
    pub fn keep(
        &self,
        reservation: u64,
        steps: u64,
        checkpoint: Digest,
        last: bool,
    ) -> Result<(), LedgerError> {
        let data_set = self.data_set();
        self.ledger().append(&mut |book| {
            if book.charge(reservation).is_some_and(|charge| charge.data_set != data_set) {
                return Err(not_kept(reservation, "it is of another data set"));
            }
            book.check_progress(reservation, steps, checkpoint)?;
            Ok(Body::Kept { reservation, steps, checkpoint, last })
        })?;
        Ok(())
    }

    /// The charge with this number, if it is a charge of this data set.
    pub fn charge_record(&self, number: u64) -> Result<Option<ChargeRecord>, LedgerError> {
        let found = self.ledger().charge_record(number)?;
        Ok(found.filter(|charge| charge.data_set == self.data_set()))
    }
}

impl Ledger {
    /// The charge with this number, if there is one.
    pub fn charge_record(&self, number: u64) -> Result<Option<ChargeRecord>, LedgerError> {
        Ok(self.fresh()?.charge(number).cloned())
    }
}

impl Book {
    /// Checks that this may be recorded. Returns the index of the charge.
    pub(crate) fn check_progress(
        &self,
        number: u64,
        steps: u64,
        checkpoint: Digest,
    ) -> Result<usize, LedgerError> {
        self.needs("progress of a run", 3)?;
        let place = self.reservation(number).ok_or_else(|| not_kept(number, "no charge has this number"))?;
        let charge = &self.charges[place];
        match (&charge.state, &charge.progress) {
            (State::Booked { .. }, _) => Err(not_kept(number, "it is booked, so its run has ended")),
            (State::Reserved, Some(progress)) => {
                progress.check_next(number, steps, checkpoint).map(|()| place)
            }
            (State::Reserved, None) => Ok(place),
        }
    }
}

impl RunProgress {
    fn check_next(&self, number: u64, steps: u64, checkpoint: Digest) -> Result<(), LedgerError> {
        if self.last {
            return Err(not_kept(number, "its run has ended: its last step is recorded"));
        }
        if steps < self.steps {
            return Err(LedgerError::FewerSteps { number, steps, recorded: self.steps });
        }
        match self.checkpoints.get(&checkpoint) {
            Some(known) if *known != steps => {
                Err(not_kept(number, "this checkpoint was recorded with another number of steps"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn record(&mut self, steps: u64, checkpoint: Digest, last: bool) {
        (self.steps, self.last) = (steps, last);
        self.checkpoints.insert(checkpoint, steps);
    }
}

fn not_kept(number: u64, reason: &'static str) -> LedgerError {
    LedgerError::NotKept { number, reason }
}
