//! The networks that are compared, and the parts of their steps. Names and shapes are those of
//! `peers/networks.py`.

use std::error::Error;
use std::num::NonZero;

use sordino_data::{Batch, BatchPlan, ContributionLimit, Sampling, UnitRule};
use sordino_nn::{DenseExamples, Layer, Network, NetworkLoss, NetworkObjective, Shape};
use sordino_noise::entropy;
use sordino_optim::{Clipping, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier};

pub(crate) const CLIP_NORM: f64 = 1.0;
pub(crate) const RATE: f64 = 0.05;
const NOISE: f64 = 1.1;

/// The number of threads, which is also that of the peers.
pub(crate) const THREADS: NonZero<usize> = NonZero::new(2).unwrap();

/// A network and a batch size.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) name: String,
    pub(crate) input: Shape,
    pub(crate) layers: Vec<Layer>,
    pub(crate) batch: usize,
    /// The operations of matrix products in the forward and backward pass of one example.
    pub(crate) operations: f64,
}

/// All work that is compared, as `MODEL:BATCH`.
pub(crate) const ALL: [&str; 6] =
    ["mnist-cnn:256", "mnist-cnn:2048", "mlp:256", "mlp:2048", "softmax:2048", "cifar-cnn:256"];

impl Work {
    /// One of [`ALL`], or another batch size of one of its models.
    pub(crate) fn named(name: &str) -> Result<Self, Box<dyn Error>> {
        let (model, batch) = name.split_once(':').ok_or("expected MODEL:BATCH")?;
        let (input, layers, operations) = match model {
            "mnist-cnn" => (Shape::Image { channels: 1, height: 28, width: 28 }, mnist_cnn(), 2.13e6),
            "mlp" => (Shape::Features(784), mlp(), 9.58e6),
            "softmax" => (Shape::Features(4096), vec![Layer::linear(10)], 0.164e6),
            "cifar-cnn" => (Shape::Image { channels: 3, height: 32, width: 32 }, cifar_cnn(), 61.7e6),
            _ => return Err(format!("no network `{model}`").into()),
        };
        Ok(Self { name: name.to_owned(), input, layers, batch: batch.parse()?, operations })
    }

    pub(crate) fn network(&self) -> Result<Network, Box<dyn Error>> {
        Ok(Network::new(self.input, &self.layers, NetworkLoss::CrossEntropy)?)
    }

    /// Inputs between -2 and 2, and classes.
    pub(crate) fn examples(&self) -> DenseExamples {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 22) as f32 - 2.0
        };
        let size = self.input.size();
        let inputs = (0..self.batch * size).map(|_| next()).collect();
        let targets = (0..self.batch).map(|slot| (slot % 10) as f32).collect();
        DenseExamples::new(inputs, size, targets, 1)
    }

    /// The objective, for batches of all examples.
    pub(crate) fn objective<'a>(
        &self,
        network: &'a Network,
        examples: &'a DenseExamples,
    ) -> Result<NetworkObjective<'a, DenseExamples>, Box<dyn Error>> {
        Ok(NetworkObjective::new(network, examples, self.batch as f64)?)
    }

    /// The plan of private training on batches of all examples.
    pub(crate) fn plan(&self, steps: u64) -> Result<TrainingPlan, Box<dyn Error>> {
        let options = PlanOptions {
            sampling: Sampling::FullBatch,
            slots: Count::new(self.batch as u64)?,
            rounds: Count::new(steps)?,
            neighbours: Neighbours::ZeroOut,
            clipping: Clipping::Flat { norm: CLIP_NORM },
            scales: None,
            divisor: None,
            limit: ContributionLimit::of(&UnitRule::Record),
        };
        Ok(TrainingPlan::with_noise(options, NoiseMultiplier::new(NOISE)?)?)
    }

    /// The batch of all examples.
    pub(crate) fn whole_batch(&self) -> Result<Batch, Box<dyn Error>> {
        let slots = Count::new(self.batch as u64)?;
        let plan = BatchPlan::new(Sampling::FullBatch, slots, Count::ONE, Neighbours::ZeroOut)?;
        plan.batches().next(&mut entropy()?).ok_or_else(|| "a plan of one batch has one".into())
    }
}

/// The network of Opacus' MNIST example.
fn mnist_cnn() -> Vec<Layer> {
    vec![
        Layer::conv2d(16, 8, 2, 3),
        Layer::relu(),
        Layer::max_pool(2, 1),
        Layer::conv2d(32, 4, 2, 0),
        Layer::relu(),
        Layer::max_pool(2, 1),
        Layer::Flatten,
        Layer::linear(32),
        Layer::relu(),
        Layer::linear(10),
    ]
}

fn mlp() -> Vec<Layer> {
    vec![Layer::linear(1024), Layer::relu(), Layer::linear(1024), Layer::relu(), Layer::linear(10)]
}

fn cifar_cnn() -> Vec<Layer> {
    let stage = |channels| [Layer::conv2d(channels, 3, 1, 1), Layer::relu(), Layer::avg_pool(2, 2)];
    let mut layers: Vec<Layer> = [32, 64, 128].into_iter().flat_map(stage).collect();
    layers.extend([Layer::Flatten, Layer::linear(128), Layer::relu(), Layer::linear(10)]);
    layers
}
