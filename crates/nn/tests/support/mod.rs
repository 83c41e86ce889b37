//! Shared by tests of networks: plans, batches, sums in data units, naive gradients, and networks.
#![allow(dead_code, reason = "each test uses its part")]

use sordino_data::{Batch, BatchPlan, ContributionLimit, Sampling, UnitRule};
use sordino_nn::{DenseExamples, Examples, Layer, Network, NetworkLoss, NetworkObjective, Shape};
use sordino_noise::danger::{seeded, unprotected};
use sordino_optim::{ClippedSum, Clipping, Objective, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier};

pub(crate) mod dropout;
pub(crate) mod dual;
pub(crate) mod extras;
pub(crate) mod images;
pub(crate) mod naive;
pub(crate) mod networks;
pub(crate) mod random;
pub(crate) mod reference;

pub(crate) fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A plan for full batches with hardly any noise, so that the grid is fine.
pub(crate) fn plan(slots: usize, neighbours: Neighbours, clipping: Clipping) -> TrainingPlan {
    let options = PlanOptions {
        sampling: Sampling::FullBatch,
        slots: Count::new(slots as u64).unwrap(),
        rounds: Count::ONE,
        neighbours,
        clipping,
        scales: None,
        divisor: Some(1.0),
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    TrainingPlan::with_noise(options, NoiseMultiplier::new(1e-6).unwrap()).unwrap()
}

pub(crate) fn full_batch(slots: usize) -> Batch {
    let slots = Count::new(slots as u64).unwrap();
    let plan = BatchPlan::new(Sampling::FullBatch, slots, Count::ONE, Neighbours::ZeroOut).unwrap();
    plan.batches().next(&mut seeded(0)).unwrap()
}

/// The clipped sum in steps, and the length of a step.
pub(crate) fn units<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    plan: &TrainingPlan,
    clip_norm: f64,
    threads: usize,
) -> (Vec<i64>, f64) {
    let clip = plan.clip(clip_norm, objective.dimension(), objective.float_sums()).unwrap();
    let ClippedSum { gradient, .. } =
        objective.clipped_sum(parameters, batch, &clip, std::num::NonZero::new(threads).unwrap()).unwrap();
    (unprotected(&gradient).to_vec(), clip.grid().step())
}

/// The same in data units.
pub(crate) fn clipped_sum<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    plan: &TrainingPlan,
    clip_norm: f64,
) -> Vec<f64> {
    let (units, step) = units(objective, parameters, batch, plan, clip_norm, 2);
    units.iter().map(|unit| *unit as f64 * step).collect()
}

/// Everything that a comparison needs.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) input: Shape,
    pub(crate) layers: Vec<Layer>,
    pub(crate) loss: NetworkLoss,
    pub(crate) examples: usize,
    pub(crate) seed: u64,
}

impl Case {
    pub(crate) fn network(&self) -> Network {
        Network::new(self.input, &self.layers, self.loss).unwrap()
    }

    /// Random examples.
    pub(crate) fn rows(&self, network: &Network) -> DenseExamples {
        let mut random = random::Random(self.seed);
        let (size, targets) = (self.input.size(), network.targets());
        let inputs = (0..self.examples * size).map(|_| self.number(&mut random)).collect();
        let classes = network.output().channels() as u64;
        let targets_all = (0..self.examples * targets)
            .map(|_| match self.loss {
                // Some targets are ignored, if there are several.
                NetworkLoss::CrossEntropy if targets > 1 && random.below(4) == 0 => -1.0,
                NetworkLoss::CrossEntropy => random.below(classes) as f32,
                NetworkLoss::Squared => random.uniform() as f32,
            })
            .collect();
        DenseExamples::new(inputs, size, targets_all, targets)
    }

    fn number(&self, random: &mut random::Random) -> f32 {
        match self.input {
            Shape::Tokens { .. } => random.below(5) as f32,
            Shape::Features(_) | Shape::Sequence { .. } | Shape::Image { .. } => {
                random.uniform() as f32 * 2.0
            }
        }
    }
}
