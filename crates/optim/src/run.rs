//! A run that was paid for: what it costs, what it may go on from, and what it leaves.
//!
//! # Guarantee
//! A [`PaidRun`] is made against a permit: for all that its plan costs, or for what is done a second
//! time after a [`Checkpoint`]. Whoever makes one has the place of its checkpoints to himself. The
//! result is sealed with all that was charged, in this run and in those before it.
//!
//! # How to use it
//! Make it before the data is touched; `keep` before the first step, so that whoever goes on sees
//! what was charged; `keep_if_due` after each step; `keep_last` if it stops on request; `keep_end`
//! and `finish` at the end. Between two calls no more than one step may be done.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};
use sordino_privacy::{Claim, Event, Inflation, Paid, Permit, Release, Unit};

use crate::checkpoint::{Checkpoint, Checkpoints, Snapshot, Witness, Writer};
use crate::error::OptimError;
use crate::progress::Progress;

/// A plan of many steps, by what they cost. Public numbers alone.
pub trait Priced: fmt::Debug {
    /// How many steps there are.
    fn steps(&self) -> u64;

    /// What the whole run costs.
    fn claim(&self) -> Claim;

    /// Whom it protects.
    fn unit(&self) -> Unit;

    /// What the first `steps` of it cost, with all that comes before them.
    fn claim_of(&self, steps: u64) -> Result<Claim, OptimError>;

    /// What any `steps` of it cost that are done once more.
    fn claim_again(&self, steps: u64) -> Result<Claim, OptimError> {
        self.claim_of(steps)
    }
}

/// One run of a plan.
#[derive(Debug)]
pub struct PaidRun<'a> {
    plan: &'a dyn Priced,
    permit: Permit,
    /// What the permit is for.
    event: Event,
    is_new: bool,
    writer: Option<Writer<'a>>,
}

impl<'a> PaidRun<'a> {
    /// From the first step, against a permit for the plan's claim. `made_of` is everything public
    /// that the run depends on, in a form that is the same in every process: a checkpoint is only
    /// good for a run that is made of the same.
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

    /// From a checkpoint on, against a permit for its [`replay_claim`](Checkpoint::replay_claim).
    /// Where that is less than all that is left to do, the run must be kept in the checkpoint's own
    /// place: nobody may go on from there a second time.
    ///
    /// `paid` is evidence of what was charged so far, from the budget that has recorded it. It must
    /// begin with the plan's own price, and with all that the checkpoint says was paid. It may have
    /// more: a run that died between a charge and its first checkpoint has left none that says so.
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
                "a run that goes on from it must be kept in its place, or it could be gone on from twice; \
                name it as the place of checkpoints",
            ));
        }
        let writer = checkpoints.map(|checkpoints| Writer::new(checkpoints, run, Some(from)));
        let writer = writer.transpose()?;
        let event = paid.event().clone().followed_by(replays.event);
        let permit = permit.together_with(paid)?;
        Ok(Self { plan, permit, event, is_new: false, writer })
    }

    /// With somebody who is told of every checkpoint.
    pub fn witnessed_by(mut self, witness: Option<&'a dyn Witness>) -> Self {
        self.writer.iter_mut().for_each(|writer| writer.witness = witness);
        self
    }

    /// Marks that noise comes from a fixed seed, if it does. Refused where the permit does not
    /// allow it; to be asked before a bit is drawn.
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

    /// Writes a checkpoint after which no step is done: going on from it costs nothing.
    pub fn keep_last(&self, snapshot: &Snapshot<'_>) -> Result<(), OptimError> {
        self.write(snapshot, true)
    }

    /// How far it is, after `step` steps.
    pub fn progress<'b>(&'b self, step: u64, parameters: &'b [f64]) -> Progress<'b> {
        let whole = if self.is_new { None } else { Some(&self.event) };
        Progress { step, plan: self.plan, parameters, whole }
    }

    /// After the last step: where the file is to [stay](Checkpoints::keep), all of it is in there.
    pub fn keep_end(&self, snapshot: &Snapshot<'_>) {
        self.writer.iter().for_each(|writer| writer.write_last(snapshot, self.permit.guarantee()));
    }

    /// The result, with what is promised about it.
    pub fn finish<T>(self, value: T) -> Result<Release<T>, OptimError> {
        let release = self.permit.seal(self.event, value)?;
        self.writer.map(Writer::end).transpose()?;
        Ok(release)
    }

    fn write(&self, snapshot: &Snapshot<'_>, is_final: bool) -> Result<(), OptimError> {
        self.writer.iter().try_for_each(|writer| writer.write(snapshot, self.permit.guarantee(), is_final))
    }
}

/// The digest of what a run is made of. Networks begin at many numbers, and a
/// checkpoint need not spell them out.
fn fingerprint(made_of: &dyn fmt::Debug) -> String {
    struct Hasher(Sha256);
    impl Write for Hasher {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }
    let mut hasher = Hasher(Sha256::new());
    // A digest takes every text.
    let _ = write!(hasher, "{made_of:?}");
    hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether `event` is `first`, or a composition that begins with it, however deep. What follows a
/// composition extends it, so `first` may be the beginning of a list as well as its first member.
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
    fn what_was_paid_first_is_found_after_any_number_of_charges() {
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
