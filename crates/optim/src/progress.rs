//! The progress of a run. It never states a batch's size, a loss or a norm, which are private.

use sordino_privacy::{Accountant, Bound, Claim, Delta, Event, accounting};

use crate::error::OptimError;
use crate::run::Priced;

/// The state of a run after a step. All of it is public.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    pub(crate) step: u64,
    pub(crate) plan: &'a dyn Priced,
    pub(crate) parameters: &'a [f64],
    /// All that was charged, if the run was resumed.
    pub(crate) whole: Option<&'a Event>,
}

impl<'a> Progress<'a> {
    /// The number of steps done.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The number of all steps.
    pub fn of(&self) -> u64 {
        self.plan.steps()
    }

    /// The parameters after this step. Every iterate is accounted for as if it were released.
    pub fn parameters(&self) -> &'a [f64] {
        self.parameters
    }

    /// ε at `delta` of the steps done so far; for a resumed run, that of all charges, replays
    /// included. For display only: the whole run was charged before it began. Takes a moment where
    /// batches are sampled, so do not call it at every step.
    pub fn epsilon(&self, delta: Delta) -> Result<Bound, OptimError> {
        let claim = match self.whole {
            None => self.plan.claim_of(self.step)?,
            Some(event) => Claim::new(self.plan.claim().neighbours, event.clone()),
        };
        Ok(accounting::epsilon(&claim, delta, Accountant::Auto)?.bound)
    }
}
