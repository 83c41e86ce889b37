//! The loop: batch, clipped sum, exact noise, update.
//!
//! # Definition
//! For t = 0, 1, ..., T - 1, with the plan's divisor D, scales s and
//! clip norm C, penalty λ and radius r:
//! ```text
//! S   = Σ_{i in batch t} clip_C(g_i(w)/s)          on the grid
//! g~  = s (S + N(0, (z C)² I)) / D + λ w
//! w  <- Proj_r(update(w, g~))
//! ```
//! If the plan has an individual filter, only those records of the batch are summed that it admits.
//!
//! # Guarantee
//! The permit is checked before the data is read, and the run does the steps that the plan's event
//! names and no more; an empty batch is a step. Bits come from the operating system, fresh for each
//! step. If the caller's bits are seeded, the guarantee is marked as void. Errors, progress and
//! results depend on noisy sums and public numbers alone.
//!
//! # Pitfalls
//! Stopping when a loss on the data looks good would be another mechanism; T is fixed before the
//! first step. Time is not protected: the time of a step reveals the size of a Poisson batch.

mod state;
mod under;

use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use sordino_noise::{Bits, entropy};
use sordino_privacy::{Claim, IndividualFilter, Inflation, Paid, Permit, Release, danger};
use sordino_threads::available;

use crate::average::Averaging;
use crate::checkpoint::{Checkpoint, Checkpoints, Witness};
use crate::clip::Clipping;
use crate::error::{OptimError, positive, within};
use crate::objective::{Contributions, Objective};
use crate::plan::TrainingPlan;
use crate::progress::Progress;
use crate::rule::{Gradient, UpdateRule};
use crate::run::PaidRun;
use crate::schedule::Schedule;
use state::State;

/// The least adaptive clip norm, as a fraction of the first one. Where most gradients are short, as
/// for a class that is well predicted, their quantile keeps falling; without this floor, updates
/// would vanish before the rare long gradients have had an effect.
const MIN_CLIP_FRACTION: f64 = 0.25;

/// The options of a run that are post-processing.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingOptions {
    /// The update rule.
    pub rule: UpdateRule,
    /// η; with [`Clipping::Quantile`], the rate for the first clip norm.
    pub learning_rate: f64,
    /// How η changes from step to step.
    pub schedule: Schedule,
    /// Which iterates make the result.
    pub averaging: Averaging,
    /// λ of the penalty `(λ/2)‖w‖²`, which is not clipped.
    pub l2: f64,
    /// The radius of the ball to which parameters are projected.
    pub radius: Option<f64>,
    /// The initial parameters; zero by default. They must not come from the data.
    pub start: Option<Vec<f64>>,
}

impl TrainingOptions {
    /// Checks every number, for an objective of so many parameters. Plans do this before they are
    /// paid for.
    pub fn check(&self, dimension: usize) -> Result<(), OptimError> {
        self.rule.check(dimension)?;
        self.averaging.check()?;
        // Checked before the rate, which may follow from it.
        within("l2 penalty", "a finite number of at least 0", self.l2, |x| x >= 0.0 && x.is_finite())?;
        positive("learning rate", self.learning_rate)?;
        self.radius.map(|radius| positive("radius", radius)).transpose()?;
        match &self.start {
            Some(start) if start.len() != dimension => {
                Err(OptimError::Length { what: "start", expected: dimension, got: start.len() })
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Default for TrainingOptions {
    fn default() -> Self {
        Self {
            rule: UpdateRule::Sgd,
            learning_rate: 1.0,
            schedule: Schedule::Constant,
            averaging: Averaging::Last,
            l2: 0.0,
            radius: None,
            start: None,
        }
    }
}

/// One run of a plan on an objective. A run consumes it, so that the initial parameters are not
/// stored twice; clone it to run it again.
///
/// See `crates/optim/tests` for a whole example; learners wrap it.
#[derive(Debug)]
pub struct Training<'a, O: ?Sized> {
    plan: &'a TrainingPlan,
    objective: &'a O,
    options: TrainingOptions,
    threads: NonZero<usize>,
    cancel: Option<&'a AtomicBool>,
    checkpoints: Option<Checkpoints>,
    witness: Option<&'a dyn Witness>,
    spending: Option<&'a OnceLock<Vec<f64>>>,
    about: String,
}

impl<O: ?Sized> Clone for Training<'_, O> {
    fn clone(&self) -> Self {
        let (options, checkpoints, about) =
            (self.options.clone(), self.checkpoints.clone(), self.about.clone());
        Self { options, checkpoints, about, ..*self }
    }
}

/// Where bits come from.
enum Source<'a> {
    /// The operating system, with fresh entropy for each step.
    System,
    /// The caller.
    Given(&'a mut dyn Bits),
}

impl<'a, O: Objective + ?Sized> Training<'a, O> {
    /// Checks that plan, objective and options fit together. Reads no record.
    pub fn new(
        plan: &'a TrainingPlan,
        objective: &'a O,
        options: TrainingOptions,
    ) -> Result<Self, OptimError> {
        let dimension = objective.dimension();
        plan.check_dimension(dimension)?;
        let (planned, slots) = (plan.batches().slots().get(), objective.slots());
        if planned != slots as u64 {
            return Err(OptimError::OtherData { planned, slots });
        }
        if objective.limit() != *plan.limit() {
            return Err(OptimError::OtherLimit);
        }
        options.check(dimension)?;
        if plan.individual_limit().is_some() && objective.contributions().is_none() {
            let why = "needs an objective that bounds what each record contributes: linear models do";
            return Err(OptimError::IndividualFilter { why });
        }
        let (threads, about) = (available(), String::new());
        let (cancel, checkpoints, witness, spending) = (None, None, None, None);
        Ok(Self { plan, objective, options, threads, cancel, checkpoints, witness, spending, about })
    }

    /// Sets the number of threads. The result does not depend on it, unless the objective does.
    pub fn threads(self, threads: NonZero<usize>) -> Self {
        Self { threads, ..self }
    }

    /// Stops before the next step once `flag` is set.
    pub fn cancelled_by(self, flag: &'a AtomicBool) -> Self {
        Self { cancel: Some(flag), ..self }
    }

    /// Describes the objective by what is public and the same in every process: its loss and
    /// encoding, for instance. Checkpoints with another description are refused.
    pub fn about(self, objective: String) -> Self {
        Self { about: objective, ..self }
    }

    /// Writes checkpoints. Runs by epochs can only resume at the beginning of an epoch.
    pub fn with_checkpoints(self, checkpoints: Checkpoints) -> Result<Self, OptimError> {
        self.check_no_filter()?;
        let epoch = self.plan.steps_per_round();
        if checkpoints.every == 0 || !checkpoints.every.is_multiple_of(epoch) {
            let expected = "a multiple of the steps of an epoch, above 0";
            let got = checkpoints.every as f64;
            return Err(OptimError::Parameter { name: "steps between checkpoints", expected, got });
        }
        Ok(Self { checkpoints: Some(checkpoints), ..self })
    }

    /// Sets a witness that is told of every checkpoint.
    pub fn witnessed_by(self, witness: &'a dyn Witness) -> Self {
        Self { witness: Some(witness), ..self }
    }

    /// Sets the place for what each slot has spent in the end, in full steps, if the plan has an
    /// individual filter. It is *private data* of the records, for their owner alone.
    pub fn private_spending_for_owner(self, place: &'a OnceLock<Vec<f64>>) -> Self {
        Self { spending: Some(place), ..self }
    }

    /// Runs all steps, against a permit for the plan's claim.
    pub fn run(
        self,
        permit: Permit,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Release<Vec<f64>>, OptimError> {
        self.begin(permit, Source::System, progress)
    }

    /// Runs all steps with the given bits. Seeded bits void the guarantee, which says so.
    pub fn run_with(
        self,
        permit: Permit,
        bits: &mut dyn Bits,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Release<Vec<f64>>, OptimError> {
        self.begin(permit, Source::Given(bits), progress)
    }

    /// The claim that must be paid before a run can resume from `checkpoint`: the steps that may be
    /// done a second time.
    pub fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, OptimError> {
        self.plan.replay_claim(checkpoint)
    }

    /// Resumes from a checkpoint, against a permit for [`replay_claim`](Self::replay_claim). The
    /// guarantee of the result covers this charge and the earlier ones, of which `paid` is the
    /// evidence.
    pub fn resume(
        self,
        checkpoint: Checkpoint,
        paid: Paid,
        permit: Permit,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Release<Vec<f64>>, OptimError> {
        self.go_on(checkpoint, paid, permit, Source::System, progress)
    }

    /// Resumes with the given bits.
    pub fn resume_with(
        self,
        checkpoint: Checkpoint,
        paid: Paid,
        permit: Permit,
        bits: &mut dyn Bits,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Release<Vec<f64>>, OptimError> {
        self.go_on(checkpoint, paid, permit, Source::Given(bits), progress)
    }

    fn begin(
        mut self,
        permit: Permit,
        source: Source<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Release<Vec<f64>>, OptimError> {
        let run = PaidRun::begin(self.plan, &self.made_of(), permit, self.checkpoints.as_ref())?
            .witnessed_by(self.witness);
        let dimension = self.objective.dimension();
        let start = self.options.start.take();
        let state = State::new(&self.options, start, self.plan.initial_clip_norm(dimension), dimension);
        self.steps(state, run, source, progress)
    }

    fn go_on(
        mut self,
        checkpoint: Checkpoint,
        paid: Paid,
        permit: Permit,
        source: Source<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Release<Vec<f64>>, OptimError> {
        self.check_no_filter()?;
        let checkpoints = self.checkpoints.as_ref();
        let run = PaidRun::go_on(self.plan, &self.made_of(), &checkpoint, paid, permit, checkpoints)?
            .witnessed_by(self.witness);
        self.options.start = None;
        let state = State::of(checkpoint, &self.options, self.objective.dimension())?;
        self.steps(state, run, source, progress)
    }

    /// Does the remaining steps from `state` on, and releases the result.
    fn steps(
        &self,
        mut state: State,
        run: PaidRun<'_>,
        mut source: Source<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Release<Vec<f64>>, OptimError> {
        let is_seeded = matches!(&source, Source::Given(bits) if bits.is_seeded());
        let clip =
            self.plan.clip(state.clip_norm, self.objective.dimension(), self.objective.float_sums())?;
        let run = run.seeded(is_seeded)?.with_arithmetic(Inflation::new(clip.grid().inflation())?);
        run.keep(&state.snapshot())?;
        let of = self.plan.batches().steps();
        let mut batches = self.plan.batches().batches_from(state.step)?;
        let mut filter = self.plan.individual_filter()?;
        while state.step < of {
            if self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                // A run cannot resume in the middle of an epoch: the last checkpoint stays, and the
                // steps after it are charged again.
                if state.step.is_multiple_of(self.plan.steps_per_round()) {
                    run.keep_last(&state.snapshot())?;
                }
                return Err(OptimError::Cancelled { steps: state.step });
            }
            match &mut source {
                Source::System => self.step(&mut state, &mut batches, &mut filter, &mut entropy()?)?,
                Source::Given(bits) => self.step(&mut state, &mut batches, &mut filter, *bits)?,
            }
            run.keep_if_due(&state.snapshot())?;
            progress(run.progress(state.step, &state.parameters));
        }
        if let (Some(filter), Some(place)) = (&filter, self.spending) {
            // A place that is not empty belongs to another run, and stays as it is.
            place.set(danger::spent_by_each(filter)).ok();
        }
        run.keep_end(&state.snapshot());
        run.finish(state.average.result(state.parameters))
    }

    fn step<R: Bits + ?Sized>(
        &self,
        state: &mut State,
        batches: &mut sordino_data::Batches,
        filter: &mut Option<IndividualFilter>,
        bits: &mut R,
    ) -> Result<(), OptimError> {
        let (plan, options) = (self.plan, &self.options);
        // A run has no more steps than its plan has batches.
        let Some(mut batch) = batches.next(bits) else { return Ok(()) };
        let clip = plan.clip(state.clip_norm, self.objective.dimension(), self.objective.float_sums())?;
        if let Some(filter) = filter {
            let norms = |of: &dyn Contributions| of.norms(&state.parameters, &batch, &clip, self.threads);
            // A record whose norm is missing counts as one at the clip norm.
            let mut norms = self.objective.contributions().map(norms).unwrap_or_default().into_iter();
            let mut share = || norms.next().unwrap_or(f64::INFINITY) / clip.grid().clip_norm();
            batch = batch.only(|slot| filter.admits(slot, share()));
        }
        let sum = self.objective.clipped_sum(&state.parameters, &batch, &clip, self.threads)?;
        let noisy = sum.gradient.add_gaussian_on(self.threads, bits)?;
        let (divisor, units) = (plan.divisor(), noisy.units());
        let unit = noisy.grid().step() / divisor;
        // The learning rate is chosen for the first clip norm, so gradients clipped to a larger one
        // are scaled back to it, and the penalty with them.
        let factor = (plan.initial_clip_norm(self.objective.dimension()) / state.clip_norm).min(1.0);
        let gradient = Gradient {
            of: |j: usize, w: f64| factor * (units[j] as f64 * unit * plan.scale(j) + options.l2 * w),
            deviation: |j| factor * clip.grid().noise_scale() * plan.scale(j) / divisor,
        };
        let rate = options.learning_rate * options.schedule.factor(state.step, plan.batches().steps());
        let State { rule, parameters, step, .. } = state;
        rule.update(&options.rule, *step, rate, gradient, parameters, self.threads);
        self.objective.take_back(noisy);
        options.radius.iter().for_each(|radius| project(&mut state.parameters, *radius));
        if let (Some(count), Clipping::Quantile { quantile, rate, .. }) = (sum.count, plan.clipping()) {
            let part = count.add_gaussian(bits)?.to_f64()[0] / divisor + 0.5;
            // C changes by at most a factor of e in a step, and stays within the range of grids.
            let exponent = (-rate * (part - quantile)).clamp(-1.0, 1.0);
            let least = MIN_CLIP_FRACTION * plan.initial_clip_norm(self.objective.dimension());
            state.clip_norm = (state.clip_norm * exponent.exp()).max(least).clamp(1e-30, 1e30);
        }
        state.average.take(&state.parameters, state.step, plan.batches().steps(), self.threads);
        state.step += 1;
        Ok(())
    }

    /// What records have spent is private, and a checkpoint must not hold it; without it a run
    /// cannot resume.
    fn check_no_filter(&self) -> Result<(), OptimError> {
        let why = "has no checkpoints, which would hold what each record has spent: run it in one go";
        match self.plan.individual_limit() {
            Some(_) => Err(OptimError::IndividualFilter { why }),
            None => Ok(()),
        }
    }

    /// Everything public that the run depends on. A checkpoint must agree with it.
    fn made_of(&self) -> (&TrainingPlan, &TrainingOptions, &str) {
        (self.plan, &self.options, &self.about)
    }
}

fn project(parameters: &mut [f64], radius: f64) {
    let norm = parameters.iter().map(|w| w * w).sum::<f64>().sqrt();
    if norm > radius {
        parameters.iter_mut().for_each(|w| *w *= radius / norm);
    }
}
