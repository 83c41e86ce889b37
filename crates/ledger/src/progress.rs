//! How far a run is that a charge pays for, counted where it cannot be copied.
//!
//! A run of many steps keeps checkpoints in a folder, and a folder can be copied and put back: what was done after the copy would
//! be done again, with new noise, for the price of once. So the run tells the ledger how many steps it has done and
//! which checkpoint holds them, before anybody could go on from it. Whoever goes on can then compare: a checkpoint that
//! the ledger does not know was not kept by this run, and one of fewer steps than are recorded is an old copy.
//!
//! # Guarantee
//! Steps are recorded for a charge that is reserved and not booked. They never fall, and nothing follows the last.
//!
//! # Limits
//! The ledger counts what it is told. A run must record its steps before the checkpoint is of use to anybody, and may do more steps than it
//! has recorded: unless the last record says that none followed, the steps until the next one count as done.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use crate::account::Account;
use crate::book::Book;
use crate::digest::Digest;
use crate::entry::Body;
use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::record::{ChargeRecord, State};

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The most steps that were recorded.
    pub steps: u64,
    /// The run did no step after them.
    pub last: bool,
    /// After how many steps each checkpoint was kept, by the hash of the checkpoint.
    pub checkpoints: BTreeMap<Digest, u64>,
}

impl<L: Borrow<Ledger>> Account<L> {
    /// Records that the run that `reservation` pays for has done `steps` steps, and that `checkpoint` is the hash of what it keeps of
    /// them; `last` if it does no step after that. Fails if the charge is of another data set or booked, if more steps are recorded, or after a
    /// last one.
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

    /// The charge with this number, if it is one of this data set.
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
    /// May this be recorded now? Returns the place of the charge.
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

impl Progress {
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
