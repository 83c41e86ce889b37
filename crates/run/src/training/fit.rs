//! The fit: checkpoints, progress and cancellation.

use sordino_data::Encoded;
use sordino_optim::{Checkpoint, Checkpoints, OptimError, Progress, Witness};
use sordino_privacy::{Count, Paid, Permit, Release};

use super::learner::Fit;
use super::plan::RunPlan;
use super::public_test::PublicTest;
use super::{Session, Step};
use crate::error::RunError;
use crate::folder::Folder;
use crate::model::Model;
use crate::purse::Purse;

/// The approximate number of points on the curve of public scores.
const POINTS: u64 = 100;

/// The model with its guarantee, and scores on public records by step.
pub(super) type Fitted = (Release<Model>, Vec<(u64, f64)>);

pub(super) fn fit(
    plan: &RunPlan,
    data: &Encoded,
    permit: Permit,
    folder: Option<&Folder>,
    from: Option<(Checkpoint, Paid)>,
    (public, purse): (Option<&PublicTest>, &Purse),
    session: &mut Session<'_>,
) -> Result<Fitted, RunError> {
    let (left, counter) = (purse.left()?, purse.counter(permit.reservation())?);
    let ([name, _], mut score, mut curve) = (plan.learner.step_name(), None, Vec::new());
    let observer = &mut *session.observer;
    observer.begins(plan.learner.steps().is_some());
    let mut watch = |progress: Progress<'_>| {
        let (step, of) = (progress.step(), progress.of());
        if is_due(step, of, POINTS) {
            // The event pays for every iterate, so scoring one on public records costs nothing.
            let model = || plan.learner.model(progress.parameters()).ok();
            score = public.and_then(|public| public.score(&model()?).ok());
            curve.extend(score.map(|score| (step, score)));
        }
        observer.step(&Step {
            progress,
            name,
            score,
            score_name: plan.subject.score_name(),
            delta: plan.subject.delta,
            epsilon: plan.subject.epsilon,
            left,
        });
    };
    let every = plan.settings.learner.checkpoint_every.map_or(1, Count::get);
    let fit = Fit {
        threads: plan.settings.threads,
        seed: plan.settings.danger_seed.map(u64::from),
        checkpoints: folder.map(|folder| Checkpoints { path: folder.checkpoint(), every, keep: true }),
        witness: counter.as_ref().map(|counter| counter as &dyn Witness),
        from,
        stop: session.stop,
        watch: &mut watch,
    };
    match plan.learner.fit(data, permit, fit) {
        Ok(release) => Ok((release, curve)),
        Err(RunError::Optim(OptimError::Cancelled { steps })) => {
            let (of, [_, what]) = (plan.learner.steps().unwrap_or(steps), plan.learner.step_name());
            let is_charged = purse.is_metered();
            if folder.is_none() {
                return Err(RunError::StoppedForGood { steps, of, what, is_charged });
            }
            let is_counted = purse.account().is_none() || purse.counts_steps()?;
            Err(RunError::Stopped { steps, of, what, is_charged, is_counted })
        }
        Err(error) => Err(error),
    }
}

/// Whether this step is one of about `points` evenly spaced ones, or the last.
fn is_due(step: u64, of: u64, points: u64) -> bool {
    step.is_multiple_of(of.div_ceil(points)) || step == of
}
