//! The plan of DP-SGD on a network: all its numbers, before it is paid for.
//!
//! # Guarantee
//! The guarantee is that of [`TrainingPlan`]: T clipped sums with Gaussian noise on sampled
//! batches. Before a record is read, the permit must pay for the plan's claim and for the unit of
//! the schema. The data must have the encoding, the slots and the limit of records per unit that
//! the plan was made for. Linear learners have the same gate.

use std::num::NonZero;
use std::sync::Arc;

use sordino_data::{Encoded, Encoding};
use sordino_optim::{
    CheckedFit, ClassWeights, OptimError, TrainedPlan, Training, TrainingOptions, TrainingPlan,
};
use sordino_privacy::Release;
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
    pub(crate) plan: TrainingPlan,
    pub(crate) clipping: ClippingStyle,
    pub(crate) training: TrainingOptions,
    /// Limit of the memory of micro-batches, in bytes.
    pub(crate) memory: Option<usize>,
    pub(crate) class_weights: Option<ClassWeights>,
}

/// Memory of micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMemory {
    /// Micro-batch size per thread.
    pub micro_batch: usize,
    /// Bytes over all threads.
    pub bytes: usize,
}

impl NetworkPlan {
    /// Checks what can be checked without data: numbers are in range, the network fits the
    /// encoding, and micro-batches on `threads` threads fit in the memory limit.
    pub(crate) fn check(&self, threads: Option<NonZero<usize>>) -> Result<(), FitError> {
        self.training.check(self.network.parameters())?;
        self.class_weights
            .iter()
            .try_for_each(|weights| weights.check(&self.encoding))
            .map_err(OptimError::from)?;
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

    /// Batches, clipping and noise.
    pub fn plan(&self) -> &TrainingPlan {
        &self.plan
    }

    /// Update rule, learning rate, averaging and start.
    pub fn training(&self) -> &TrainingOptions {
        &self.training
    }

    /// How gradients are clipped.
    pub fn clipping(&self) -> ClippingStyle {
        self.clipping
    }

    /// Weights of classes, if they were declared.
    pub fn class_weights(&self) -> Option<&ClassWeights> {
        self.class_weights.as_ref()
    }

    /// Memory of micro-batches on `threads` threads, beside the data.
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
        let objective = match &self.class_weights {
            Some(weights) => objective.class_weights(weights)?,
            None => objective,
        };
        let Some(bytes) = self.memory else { return Ok(objective) };
        Ok(objective.memory(bytes, threads.unwrap_or_else(available))?)
    }

    /// Describes the objective by its public parts; a checkpoint must have the same text.
    fn about(&self) -> String {
        let (layers, loss) = (self.network.layers(), self.network.loss());
        let mut about = format!("{} {layers:?} {loss:?}", self.encoding.to_json());
        if *self.network.views() != [View::Same] {
            about.push_str(&format!(" {:?}", self.network.views()));
        }
        // The plan holds the other styles, and is compared with the checkpoint anyway.
        if self.clipping == ClippingStyle::PerLayer {
            about.push_str(" per-layer");
        }
        if let Some(weights) = &self.class_weights {
            about.push_str(&format!(" class weights {:?}", weights.as_slice()));
        }
        about
    }
}

impl TrainedPlan for NetworkPlan {
    type Model = NetworkModel;
    type Error = FitError;

    fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    fn training_plan(&self) -> &TrainingPlan {
        &self.plan
    }

    fn train(&self, data: &Encoded, fit: CheckedFit<'_>) -> Result<Release<NetworkModel>, FitError> {
        let records = Records::new(data);
        let objective = self.objective(&records, fit.threads())?;
        let training = Training::new(&self.plan, &objective, self.training.clone())?.about(self.about());
        Ok(fit.run(training)?.post_process(|parameters| self.model(parameters)))
    }
}

/// Examples with the right number of slots, all empty: stands in for data that is not there yet.
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

#[cfg(test)]
mod tests {
    use sordino_data::{EncodingOptions, Schema};
    use sordino_optim::LearningPlan;
    use sordino_privacy::{Count, Delta, Epsilon};

    use super::*;
    use crate::{Layer, NetworkLearner, NetworkLoss, Shape};

    fn plan(outputs: usize, weights: Option<[f64; 2]>) -> Result<NetworkPlan, FitError> {
        let schema = Schema::from_toml(
            "columns.x = { kind = 'number', bounds = [0, 1] }\n\
             columns.ill = { kind = 'category', values = ['no', 'yes'] }",
        );
        let options = EncodingOptions { target: Some("ill".to_owned()), ..EncodingOptions::default() };
        let encoding = Encoding::new(&schema.unwrap(), &["x".into(), "ill".into()], options).unwrap();
        let network =
            Network::new(Shape::Features(1), &[Layer::linear(outputs)], NetworkLoss::CrossEntropy).unwrap();
        let mut learner = NetworkLearner::new(Arc::new(network)).steps(Count::ONE);
        if let Some([no, yes]) = weights {
            let declared = [("no".to_owned(), no), ("yes".to_owned(), yes)];
            learner = learner.class_weights(ClassWeights::new(&encoding, &declared).unwrap());
        }
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        learner.plan(&encoding, Count::new(100).unwrap(), epsilon, delta)
    }

    /// What a checkpoint is compared with.
    #[test]
    fn other_weights_are_another_objective() {
        let about = |weights| plan(2, weights).unwrap().about();
        assert_ne!(about(None), about(Some([1.0, 3.0])));
        assert_ne!(about(Some([1.0, 2.0])), about(Some([1.0, 3.0])));
        assert_eq!(about(Some([2.0, 6.0])), about(Some([1.0, 3.0])));
    }

    #[test]
    fn weights_cost_nothing_and_fit_the_outputs() {
        assert_eq!(plan(2, None).unwrap().claim(), plan(2, Some([1.0, 3.0])).unwrap().claim());
        let error = plan(3, Some([1.0, 3.0])).unwrap_err().to_string();
        assert!(error.contains("weights for 2 classes, and it has 3 outputs"), "{error}");
    }
}
