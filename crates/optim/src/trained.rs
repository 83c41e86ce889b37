//! Plans that one [`Training`](crate::Training) fits, and how all of them are fitted and resumed.

use std::num::NonZero;

use sordino_data::{Encoded, Encoding};
use sordino_noise::{Bits, EntropyError};
use sordino_privacy::{Claim, Permit, Release};

use crate::checkpoint::Checkpoint;
use crate::error::OptimError;
use crate::learner::{FitOptions, Fitted, LearningPlan, StepwisePlan, Stopped, check_data, check_permit};
use crate::objective::Objective;
use crate::plan::TrainingPlan;
use crate::training::Training;

/// A learner of any model whose steps are those of a [`TrainingPlan`]. It says only what is its
/// own: the gate, the claim and the ways to fit and to resume are the same for all of them.
pub trait TrainedPlan {
    /// The model.
    type Model;
    /// Why a fit failed.
    type Error: From<OptimError> + From<EntropyError>;

    /// How records become rows.
    fn encoding(&self) -> &Encoding;

    /// The batches, the clipping and the noise.
    fn training_plan(&self) -> &TrainingPlan;

    /// Runs the training. The permit and the shapes of the data have been checked.
    fn train(&self, data: &Encoded, fit: CheckedFit<'_>) -> Result<Release<Self::Model>, Self::Error>;
}

/// A fit whose permit covers it; only the gate of this crate makes one.
pub struct CheckedFit<'a> {
    permit: Permit,
    options: FitOptions<'a>,
    from: Option<Stopped>,
}

impl CheckedFit<'_> {
    /// The number of threads, if one was asked for.
    pub fn threads(&self) -> Option<NonZero<usize>> {
        self.options.threads
    }

    /// Runs the steps of a training, or those that are left.
    pub fn run<O: Objective>(self, training: Training<'_, O>) -> Result<Release<Vec<f64>>, OptimError> {
        training.run_under(self.from, self.permit, self.options)
    }
}

impl<P: TrainedPlan> LearningPlan for P {
    type Model = P::Model;
    type Error = P::Error;

    fn claim(&self) -> Claim {
        self.training_plan().claim()
    }

    fn fit(&self, data: &Encoded, permit: Permit) -> Fitted<Self> {
        self.fit_under(data, permit, FitOptions::default())
    }

    fn fit_with(&self, data: &Encoded, permit: Permit, bits: &mut dyn Bits) -> Fitted<Self> {
        self.fit_under(data, permit, FitOptions { bits: Some(bits), ..FitOptions::default() })
    }
}

impl<P: TrainedPlan> StepwisePlan for P {
    fn steps(&self) -> u64 {
        self.training_plan().batches().steps()
    }

    fn fit_under(&self, data: &Encoded, permit: Permit, options: FitOptions<'_>) -> Fitted<Self> {
        let permit = gate(self, data, permit, &self.claim(), &options)?;
        self.train(data, CheckedFit { permit, options, from: None })
    }

    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, P::Error> {
        Ok(self.training_plan().replay_claim(checkpoint)?)
    }

    fn resume(&self, data: &Encoded, from: Stopped, permit: Permit, options: FitOptions<'_>) -> Fitted<Self> {
        let permit = gate(self, data, permit, &self.replay_claim(&from.checkpoint)?, &options)?;
        self.train(data, CheckedFit { permit, options, from: Some(from) })
    }
}

/// Checks the permit, then the shapes of the data. No record is read.
fn gate(
    plan: &impl TrainedPlan,
    data: &Encoded,
    permit: Permit,
    claim: &Claim,
    options: &FitOptions<'_>,
) -> Result<Permit, OptimError> {
    let permit = check_permit(permit, claim, plan.encoding(), options.is_seeded())?;
    check_data(plan.encoding(), plan.training_plan().batches().slots().get(), data)?;
    Ok(permit)
}
