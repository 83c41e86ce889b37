//! The training of a network with all its numbers, ready to be charged.
//!
//! # Guarantee
//! That of [`Plan`]: T clipped sums with Gaussian noise on the samples drawn. Before a record is read the permit must
//! pay for the plan's claim, for the unit of the schema, and the data must have the encoding, the slots and the limit
//! of records a unit that the plan was made for: the same gate as that of linear learners.

use std::num::NonZero;
use std::sync::Arc;

use sordino_data::{Encoded, Encoding};
use sordino_noise::Bits;
use sordino_optim::{
    Checkpoint, FitOptions, LearningPlan, OptimError, Plan, Progress, StepwisePlan, Training,
    TrainingOptions, check_data, check_permit,
};
use sordino_privacy::{Claim, Paid, Permit, Release};
use sordino_threads::available;

use crate::error::FitError;
use crate::examples::{Example, Examples, Records};
use crate::model::NetworkModel;
use crate::network::Network;
use crate::objective::NetworkObjective;
use crate::style::ClippingStyle;
use crate::view::View;

/// DP-SGD on a network. [`NetworkLearner`](crate::NetworkLearner) builds it.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    pub(crate) network: Arc<Network>,
    pub(crate) encoding: Encoding,
    pub(crate) plan: Plan,
    pub(crate) clipping: ClippingStyle,
    pub(crate) training: TrainingOptions,
    /// For what grows with batches, in bytes.
    pub(crate) memory: Option<usize>,
}

/// Memory of batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMemory {
    /// Micro-batch size per thread.
    pub micro_batch: usize,
    /// Bytes over all threads.
    pub bytes: usize,
}

impl NetworkPlan {
    /// Fails where a number is out of range, the network does not fit the encoding, or its batches the memory on this
    /// many threads: all that is known before there is data.
    pub(crate) fn check(&self, threads: Option<NonZero<usize>>) -> Result<(), FitError> {
        self.training.check(self.network.parameters())?;
        self.objective(&self.nobody(), threads)?;
        Ok(())
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// How records become inputs.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Batches, clipping, noise.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Update rule and what belongs to it.
    pub fn training(&self) -> &TrainingOptions {
        &self.training
    }

    /// How gradients are clipped.
    pub fn clipping(&self) -> ClippingStyle {
        self.clipping
    }

    /// What batches take beside the data, on this many threads.
    pub fn batch_memory(&self, threads: NonZero<usize>) -> Result<BatchMemory, FitError> {
        let nobody = self.nobody();
        let objective = self.objective(&nobody, Some(threads))?;
        Ok(BatchMemory { micro_batch: objective.micro_batch(), bytes: objective.batch_bytes(threads) })
    }

    /// The model of an iterate.
    pub fn model(&self, parameters: Vec<f64>) -> NetworkModel {
        NetworkModel::new(Arc::clone(&self.network), self.encoding.clone(), parameters)
    }

    fn nobody(&self) -> Nobody {
        Nobody { slots: self.plan.batches().slots().get() as usize, widths: [self.encoding.width(), 1] }
    }

    fn objective<'a, E: Examples>(
        &'a self,
        examples: &'a E,
        threads: Option<NonZero<usize>>,
    ) -> Result<NetworkObjective<'a, E>, FitError> {
        let batch = self.plan.divisor();
        let objective = NetworkObjective::new(&self.network, examples, batch)?;
        let objective = match self.clipping {
            ClippingStyle::PerLayer => objective.per_layer(&vec![1.0; self.network.parts().len()])?,
            ClippingStyle::Flat | ClippingStyle::Automatic | ClippingStyle::Adaptive { .. } => objective,
        };
        let Some(bytes) = self.memory else { return Ok(objective) };
        Ok(objective.memory(bytes, threads.unwrap_or_else(available))?)
    }

    /// Everything public about the objective that a checkpoint must agree with.
    fn about(&self) -> String {
        let (layers, loss) = (self.network.layers(), self.network.loss());
        let mut about = format!("{} {layers:?} {loss:?}", self.encoding.to_json());
        if *self.network.views() != [View::Same] {
            about.push_str(&format!(" {:?}", self.network.views()));
        }
        // The other styles are the plan's, which a checkpoint must agree with anyway.
        if self.clipping == ClippingStyle::PerLayer {
            about.push_str(" per-layer");
        }
        about
    }

    /// The permit first, then shapes, then records.
    fn run(
        &self,
        data: &Encoded,
        permit: Permit,
        claim: &Claim,
        options: FitOptions<'_>,
        run: impl FnOnce(
            Training<'_, NetworkObjective<'_, Records<'_>>>,
            Permit,
            Option<&mut dyn Bits>,
            &mut dyn FnMut(Progress<'_>),
        ) -> Result<Release<Vec<f64>>, OptimError>,
    ) -> Result<Release<NetworkModel>, FitError> {
        let permit = check_permit(permit, claim, &self.encoding, options.is_seeded())?;
        check_data(&self.encoding, self.plan.batches().slots().get(), data)?;
        let FitOptions { progress, cancel, checkpoints, witness, threads, bits } = options;
        let records = Records::new(data);
        let objective = self.objective(&records, threads)?;
        let mut training = Training::new(&self.plan, &objective, self.training.clone())?.about(self.about());
        if let Some(threads) = threads {
            training = training.threads(threads);
        }
        if let Some(flag) = cancel {
            training = training.cancelled_by(flag);
        }
        if let Some(checkpoints) = checkpoints {
            training = training.with_checkpoints(checkpoints)?;
        }
        if let Some(witness) = witness {
            training = training.witnessed_by(witness);
        }
        let mut silent = |_: Progress<'_>| {};
        let release = run(training, permit, bits, progress.unwrap_or(&mut silent))?;
        Ok(release.post_process(|parameters| self.model(parameters)))
    }
}

impl LearningPlan for NetworkPlan {
    type Model = NetworkModel;
    type Error = FitError;

    fn claim(&self) -> Claim {
        self.plan.claim()
    }

    fn fit(&self, data: &Encoded, permit: Permit) -> Result<Release<NetworkModel>, FitError> {
        self.fit_under(data, permit, FitOptions::default())
    }

    fn fit_with(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
    ) -> Result<Release<NetworkModel>, FitError> {
        self.fit_under(data, permit, FitOptions { bits: Some(bits), ..FitOptions::default() })
    }
}

impl StepwisePlan for NetworkPlan {
    fn steps(&self) -> u64 {
        self.plan.batches().steps()
    }

    fn fit_under(
        &self,
        data: &Encoded,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<NetworkModel>, FitError> {
        self.run(data, permit, &self.claim(), options, |training, permit, bits, progress| match bits {
            Some(bits) => training.run_with(permit, bits, progress),
            None => training.run(permit, progress),
        })
    }

    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, FitError> {
        Ok(self.plan.replay_claim(checkpoint)?)
    }

    fn resume(
        &self,
        data: &Encoded,
        checkpoint: Checkpoint,
        paid: Paid,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<NetworkModel>, FitError> {
        let claim = self.replay_claim(&checkpoint)?;
        self.run(data, permit, &claim, options, |training, permit, bits, progress| match bits {
            Some(bits) => training.resume_with(checkpoint, paid, permit, bits, progress),
            None => training.resume(checkpoint, paid, permit, progress),
        })
    }
}

/// As many empty slots as there will be records.
struct Nobody {
    slots: usize,
    widths: [usize; 2],
}

impl Examples for Nobody {
    fn slots(&self) -> usize {
        self.slots
    }

    fn widths(&self) -> [usize; 2] {
        self.widths
    }

    fn example(&self, _: usize) -> Option<Example<'_>> {
        None
    }
}
