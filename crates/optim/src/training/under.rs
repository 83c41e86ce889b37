//! A run under [`FitOptions`].

use sordino_privacy::{Permit, Release};

use super::{Source, Training};
use crate::error::OptimError;
use crate::learner::{FitOptions, Stopped};
use crate::objective::Objective;
use crate::progress::Progress;

impl<O: Objective> Training<'_, O> {
    /// Runs all steps, or those after a checkpoint, with evidence of what was paid for it. The
    /// permit must pay for the plan's claim, or for the [replays](Self::replay_claim).
    pub(crate) fn run_under(
        self,
        from: Option<Stopped>,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<Vec<f64>>, OptimError> {
        let FitOptions { progress, cancel, checkpoints, witness, threads, bits } = options;
        let mut training = Training { cancel, witness, ..self };
        if let Some(threads) = threads {
            training = training.threads(threads);
        }
        if let Some(checkpoints) = checkpoints {
            training = training.with_checkpoints(checkpoints)?;
        }
        let mut silent = |_: Progress<'_>| {};
        let progress = progress.unwrap_or(&mut silent);
        let source = bits.map_or(Source::System, Source::Given);
        match from {
            Some(Stopped { checkpoint, paid }) => training.go_on(checkpoint, paid, permit, source, progress),
            None => training.begin(permit, source, progress),
        }
    }
}
