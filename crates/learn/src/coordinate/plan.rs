//! A plan of coordinate descent, and how it is fitted, with checkpoints and resumption.

use std::sync::atomic::{AtomicBool, Ordering};

use sordino_data::{Encoded, Encoding};
use sordino_noise::Bits;
use sordino_noise::grid::Grid;
use sordino_optim::{
    Checkpoint, ClassWeights, FitOptions, Fitted, LearningPlan, OptimError, PaidRun, Priced, Progress,
    StepwisePlan, Stopped, check_data, check_permit,
};
use sordino_privacy::{Claim, Count, Inflation, NoiseMultiplier, Permit, Release};

use super::columns::Columns;
use super::descent::{Descent, State};
use super::grids::grids;
use super::price::Price;
use super::smoothness::smoothness;
use super::{CoordinateClipping, CoordinateDescent};
use crate::bits::Source;
use crate::error::LearnError;
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::weighting::Weighting;

/// Noisy coordinate descent with all its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinatePlan {
    encoding: Encoding,
    n: Count,
    learner: CoordinateDescent,
    price: Price,
}

impl CoordinatePlan {
    pub(super) fn new(encoding: Encoding, n: Count, learner: CoordinateDescent, price: Price) -> Self {
        Self { encoding, n, learner, price }
    }

    /// What is minimised.
    pub fn loss(&self) -> Loss {
        self.learner.loss
    }

    /// The class weights, if any were declared.
    pub fn class_weights(&self) -> Option<&ClassWeights> {
        self.learner.class_weights.as_ref()
    }

    /// How records become rows.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// λ of the penalty `(λ/2)‖w‖²`.
    pub fn l2(&self) -> f64 {
        self.learner.l2
    }

    /// z, the noise multiplier of a step.
    pub fn noise_multiplier(&self) -> NoiseMultiplier {
        self.price.noise
    }

    /// T K, the steps of all rounds.
    pub fn coordinate_steps(&self) -> u64 {
        self.learner.all_steps()
    }

    /// M_j of each coordinate, penalty included.
    pub(super) fn smoothness(&self, columns: &Columns, bits: &mut dyn Bits) -> Result<Vec<f64>, LearnError> {
        smoothness(&self.learner, &self.encoding, self.n, self.price.estimate, columns, bits)
    }

    pub(super) fn grids(&self, smoothness: &[f64]) -> Result<Vec<Grid>, LearnError> {
        grids(&self.learner, &self.encoding, self.n, self.price.noise, smoothness)
    }

    fn descent(&self, mut columns: Columns, smoothness: Vec<f64>) -> Result<Descent<'_>, LearnError> {
        let grids = self.grids(&smoothness)?;
        if let CoordinateClipping::Jointly { .. } = self.learner.clipping {
            columns.clip_jointly(&grids);
        }
        Ok(Descent { learner: &self.learner, n: self.n.get() as f64, columns, smoothness, grids })
    }

    fn weighting(&self) -> Weighting {
        Weighting::of(self.learner.class_weights.as_ref())
    }

    /// Does the remaining passes from `state` on, and releases the model.
    fn passes(
        &self,
        descent: &Descent<'_>,
        mut state: State,
        run: PaidRun<'_>,
        mut source: Source<'_>,
        watch: Watch<'_>,
    ) -> Result<Release<LinearModel>, LearnError> {
        let inflation = descent.grids.iter().map(Grid::inflation).fold(0.0, f64::max);
        let run = run.with_arithmetic(Inflation::new(inflation)?);
        run.keep(&state.snapshot(&descent.smoothness))?;
        let mut scores = descent.columns.scores(&state.iterates.weights);
        let (progress, cancel) = watch;
        let mut silent = |_: Progress<'_>| {};
        let progress = progress.unwrap_or(&mut silent);
        while state.pass < self.price.steps() {
            if cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                run.keep_last(&state.snapshot(&descent.smoothness))?;
                return Err(OptimError::Cancelled { steps: state.pass }.into());
            }
            source.draw(|bits| descent.pass(&mut state, &mut scores, bits))?;
            run.keep_if_due(&state.snapshot(&descent.smoothness))?;
            progress(run.progress(state.pass, &state.iterates.weights));
        }
        run.keep_end(&state.snapshot(&descent.smoothness));
        let release = run.finish(state.iterates.weights)?;
        Ok(release
            .post_process(|weights| LinearModel::new(self.learner.loss, self.encoding.clone(), weights)))
    }

    /// Everything public that a fit depends on. The encoding is given as JSON, because the order of
    /// its tables in memory differs from process to process.
    fn made_of(&self) -> (String, Count, &CoordinateDescent, &Price) {
        (self.encoding.to_json(), self.n, &self.learner, &self.price)
    }
}

/// The callback for progress, and the flag that cancels the fit.
type Watch<'a> = (Option<&'a mut dyn FnMut(Progress<'_>)>, Option<&'a AtomicBool>);

/// A step of this plan is a pass.
impl StepwisePlan for CoordinatePlan {
    fn steps(&self) -> u64 {
        self.price.steps()
    }

    fn fit_under(&self, data: &Encoded, permit: Permit, options: FitOptions<'_>) -> Fitted<Self> {
        let permit = check_permit(permit, &self.claim(), &self.encoding, options.is_seeded())?;
        check_data(&self.encoding, self.n.get(), data)?;
        let FitOptions { progress, cancel, checkpoints, witness, threads: _, bits } = options;
        let run = PaidRun::begin(&self.price, &self.made_of(), permit, checkpoints.as_ref())?;
        let mut source = Source::new(bits);
        let run = run.seeded(source.is_seeded())?.witnessed_by(witness);
        let columns = Columns::new(data, self.weighting());
        let smoothness = source.draw(|bits| self.smoothness(&columns, bits))?;
        let descent = self.descent(columns, smoothness)?;
        let state = State::new(&self.learner, self.encoding.width());
        self.passes(&descent, state, run, source, (progress, cancel))
    }

    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, LearnError> {
        Ok(checkpoint.replay_claim(&self.price)?)
    }

    fn resume(&self, data: &Encoded, from: Stopped, permit: Permit, options: FitOptions<'_>) -> Fitted<Self> {
        let Stopped { checkpoint, paid } = from;
        let claim = self.replay_claim(&checkpoint)?;
        let permit = check_permit(permit, &claim, &self.encoding, options.is_seeded())?;
        check_data(&self.encoding, self.n.get(), data)?;
        let FitOptions { progress, cancel, checkpoints, witness, threads: _, bits } = options;
        let run =
            PaidRun::go_on(&self.price, &self.made_of(), &checkpoint, paid, permit, checkpoints.as_ref())?;
        let source = Source::new(bits);
        let run = run.seeded(source.is_seeded())?.witnessed_by(witness);
        // The smoothness comes from the checkpoint: an estimate was released and paid for once.
        let (state, smoothness) = State::of(checkpoint, &self.learner, self.encoding.width())?;
        let descent = self.descent(Columns::new(data, self.weighting()), smoothness)?;
        self.passes(&descent, state, run, source, (progress, cancel))
    }
}

impl LearningPlan for CoordinatePlan {
    type Model = LinearModel;
    type Error = LearnError;

    fn claim(&self) -> Claim {
        self.price.whole()
    }

    fn fit(&self, data: &Encoded, permit: Permit) -> Fitted<Self> {
        self.fit_under(data, permit, FitOptions::default())
    }

    fn fit_with(&self, data: &Encoded, permit: Permit, bits: &mut dyn Bits) -> Fitted<Self> {
        self.fit_under(data, permit, FitOptions { bits: Some(bits), ..FitOptions::default() })
    }
}
