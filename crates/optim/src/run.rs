//! A run that was paid for: its permit, its checkpoints and its release.
//!
//! # Guarantee
//! A [`PaidRun`] is made against a permit: for the whole plan, or for the steps that are done a
//! second time after a [`Checkpoint`]. No other run can use the path of its checkpoints. The result
//! is sealed with all that was charged, in this run and in earlier parts.
//!
//! # How to use it
//! Make it before the data is read. Call `keep` before the first step, so that the checkpoint
//! states what was charged; `keep_if_due` after each step; `keep_last` if the run is stopped on
//! request; `keep_end` and `finish` at the end. Do at most one step between two calls.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};
use sordino_privacy::{Claim, Event, Inflation, Paid, Permit, Release, Unit};

use crate::checkpoint::{Checkpoint, Checkpoints, Snapshot, Witness, Writer};
use crate::error::OptimError;
use crate::progress::Progress;

/// What the steps of a plan cost, from public numbers alone.
pub trait Priced: fmt::Debug {
    /// The number of steps.
    fn steps(&self) -> u64;

    /// The claim of the whole run.
    fn claim(&self) -> Claim;

    /// The unit that the claim protects.
    fn unit(&self) -> Unit;

    /// The claim of the first `steps` steps, and of all releases before them.
    fn claim_of(&self, steps: u64) -> Result<Claim, OptimError>;

    /// The claim of any `steps` steps that are done again.
    fn claim_again(&self, steps: u64) -> Result<Claim, OptimError> {
        self.claim_of(steps)
    }
}

/// A run of a plan that a permit pays for.
#[derive(Debug)]
pub struct PaidRun<'a> {
    plan: &'a dyn Priced,
    permit: Permit,
    /// The event that the result is sealed with: everything charged so far.
    event: Event,
    is_new: bool,
    writer: Option<Writer<'a>>,
}

impl<'a> PaidRun<'a> {
    /// Begins a run at the first step, against a permit for the plan's claim. `made_of` is
    /// everything public that the run depends on, in a form that is the same in every process. Only
    /// a run with the same `made_of` can resume from its checkpoints.
    pub fn begin(
        plan: &'a dyn Priced,
        made_of: &dyn fmt::Debug,
        permit: Permit,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Self, OptimError> {
        let claim = plan.claim();
        permit.covers(&claim, &plan.unit())?;
        let writer = checkpoints.map(|checkpoints| Writer::new(checkpoints, fingerprint(made_of), None));
        Ok(Self { plan, permit, event: claim.event, is_new: true, writer: writer.transpose()? })
    }

    /// Resumes from a checkpoint, against a permit for its
    /// [`replay_claim`](Checkpoint::replay_claim). Unless that covers all remaining steps, the run
    /// must write its checkpoints to the same file, so that no one can resume from it twice.
    ///
    /// `paid` is evidence of what was charged so far, from the budget that has recorded it. It must
    /// begin with the plan's claim and with all that the checkpoint says was paid. It may have
    /// more: a run that died between a charge and its first checkpoint has left no checkpoint that
    /// states the charge.
    pub fn go_on(
        plan: &'a dyn Priced,
        made_of: &dyn fmt::Debug,
        from: &Checkpoint,
        paid: Paid,
        permit: Permit,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Self, OptimError> {
        let (claim, replays) = (plan.claim(), from.replay_claim(plan)?);
        permit.covers(&replays, &plan.unit())?;
        let (run, said) = (fingerprint(made_of), from.statement());
        let is_paid = paid.guarantee().neighbours == claim.neighbours
            && said.neighbours == claim.neighbours
            && begins_with(&said.event, &claim.event)
            && begins_with(paid.event(), &said.event);
        if !is_paid || !from.is_of(&run) {
            return Err(from.of_another_run());
        }
        let pays_for_all = from.replays(plan.steps()) == from.left(plan.steps());
        if !pays_for_all && !checkpoints.is_some_and(|checkpoints| from.is_at(&checkpoints.path)) {
            return Err(from.refused(
                "a run that resumes from it must write its checkpoints to the same file, or two runs could \
                resume from it; give its path for the checkpoints",
            ));
        }
        let writer = checkpoints.map(|checkpoints| Writer::new(checkpoints, run, Some(from)));
        let writer = writer.transpose()?;
        let event = paid.event().clone().followed_by(replays.event);
        let permit = permit.together_with(paid)?;
        Ok(Self { plan, permit, event, is_new: false, writer })
    }

    /// Sets a witness that is told of every checkpoint.
    pub fn witnessed_by(mut self, witness: Option<&'a dyn Witness>) -> Self {
        self.writer.iter_mut().for_each(|writer| writer.witness = witness);
        self
    }

    /// Marks the noise as seeded, if it is. Fails if the permit does not allow seeds. Call it
    /// before a bit is drawn.
    pub fn seeded(self, is_seeded: bool) -> Result<Self, OptimError> {
        let permit = self.permit.drawn_with(is_seeded)?;
        Ok(Self { permit, ..self })
    }

    /// States the inflation of sensitivity that the event already pays for floating-point error.
    pub fn with_arithmetic(self, inflation: Inflation) -> Self {
        Self { permit: self.permit.with_arithmetic(inflation), ..self }
    }

    /// Writes a checkpoint.
    pub fn keep(&self, snapshot: &Snapshot<'_>) -> Result<(), OptimError> {
        self.write(snapshot, false)
    }

    /// Writes a checkpoint if `every` steps were done since the last one.
    pub fn keep_if_due(&self, snapshot: &Snapshot<'_>) -> Result<(), OptimError> {
        let is_due = self.writer.as_ref().is_some_and(|writer| writer.is_due(snapshot.step));
        if is_due { self.write(snapshot, false) } else { Ok(()) }
    }

    /// Writes a checkpoint after which no step is done, so that resuming from it costs nothing.
    pub fn keep_last(&self, snapshot: &Snapshot<'_>) -> Result<(), OptimError> {
        self.write(snapshot, true)
    }

    /// The progress after `step` steps.
    pub fn progress<'b>(&'b self, step: u64, parameters: &'b [f64]) -> Progress<'b> {
        let whole = if self.is_new { None } else { Some(&self.event) };
        Progress { step, plan: self.plan, parameters, whole }
    }

    /// Writes a checkpoint after the last step, if the file is to [stay](Checkpoints::keep).
    pub fn keep_end(&self, snapshot: &Snapshot<'_>) {
        self.writer.iter().for_each(|writer| writer.write_last(snapshot, self.permit.guarantee()));
    }

    /// Seals the result with its guarantee.
    pub fn finish<T>(self, value: T) -> Result<Release<T>, OptimError> {
        let release = self.permit.seal(self.event, value)?;
        self.writer.map(Writer::end).transpose()?;
        Ok(release)
    }

    fn write(&self, snapshot: &Snapshot<'_>, is_final: bool) -> Result<(), OptimError> {
        self.writer.iter().try_for_each(|writer| writer.write(snapshot, self.permit.guarantee(), is_final))
    }
}

/// The digest of what a run depends on. A digest, because networks start from many numbers.
fn fingerprint(made_of: &dyn fmt::Debug) -> String {
    struct Hasher(Sha256);
    impl Write for Hasher {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }
    let mut hasher = Hasher(Sha256::new());
    // Writing to a digest cannot fail.
    let _ = write!(hasher, "{made_of:?}");
    hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether `event` is `first`, or a composition that begins with it, at any depth.
/// [`Event::followed_by`] extends a composition, so `first` may be a prefix of its list as well as
/// its first member.
fn begins_with(event: &Event, first: &Event) -> bool {
    let Event::Composed { events } = event else { return event == first };
    let is_prefix = matches!(first, Event::Composed { events: firsts }
            if !firsts.is_empty() && events.starts_with(firsts));
    is_prefix || events.first().is_some_and(|event| begins_with(event, first))
}

#[cfg(test)]
mod tests {
    use sordino_privacy::{Count, NoiseMultiplier};

    use super::*;

    #[test]
    fn the_first_charge_is_found_after_any_number_of_others() {
        let one = |z| Event::gaussian(NoiseMultiplier::new(z).unwrap());
        let steps = one(2.0).repeated(Count::new(10).unwrap());
        for first in [steps.clone(), Event::composed([one(1.0), steps.clone()])] {
            let mut paid = first.clone();
            for _ in 0..3 {
                assert!(begins_with(&paid, &first), "{paid:?}");
                paid = paid.followed_by(one(2.0));
            }
            assert!(!begins_with(&Event::composed([]), &first));
            assert!(!begins_with(&one(2.0), &first));
            assert!(!begins_with(&Event::composed([one(2.0), first.clone()]), &first));
            assert!(!begins_with(&Event::composed([one(1.0)]), &first));
        }
    }
}
