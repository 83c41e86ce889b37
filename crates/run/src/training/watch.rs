//! The surroundings of a run: who watches it, and how it is stopped.

use std::sync::atomic::AtomicBool;

use sordino_optim::Progress;
use sordino_privacy::Bound;

use crate::error::RunError;

/// Watches a run. It gets public facts only: no record, no training loss, no gradient norm.
pub trait Observer {
    /// The run enters a new phase; for a log.
    fn doing(&mut self, _what: &str) {}

    /// Defaults that the user should know of. Called after the last check, before the charge.
    fn decided(&mut self, _notes: &[String]) {}

    /// The fit begins. If `can_stop` is false, it ignores requests to stop.
    fn begins(&mut self, _can_stop: bool) {}

    /// One more step is done.
    fn step(&mut self, _step: &Step<'_>) {}
}

/// Watches nothing.
impl Observer for () {}

/// How far a run is.
#[derive(Debug)]
pub struct Step<'a> {
    /// Steps done, ε so far and the iterate.
    pub progress: Progress<'a>,
    /// The word for a step.
    pub name: &'static str,
    /// The latest score on public records.
    pub score: Option<f64>,
    /// The word for scores.
    pub score_name: &'static str,
    /// δ of the run.
    pub delta: sordino_privacy::Delta,
    /// ε that the run was planned for.
    pub epsilon: sordino_privacy::Epsilon,
    /// What is left of the budget, if there is one.
    pub left: Option<f64>,
}

impl Step<'_> {
    /// ε of the steps so far. Accounting for sampled batches takes a
    /// moment: do not call it at every step.
    pub fn epsilon_so_far(&self) -> Result<Bound, RunError> {
        Ok(self.progress.epsilon(self.delta)?)
    }
}

/// The surroundings of a run.
pub struct Session<'a> {
    /// Resume a run that was stopped or killed.
    pub resume: bool,
    /// Once set, the run stops before its next step. Methods without steps ignore it.
    pub stop: &'a AtomicBool,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
}
