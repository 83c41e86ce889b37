//! After steps on all kinds of layers, exactly the stated bytes are reserved: these tests find
//! arrays that grow during a step, or that are not counted.

use sordino_data::{BatchPlan, ContributionLimit, Sampling, UnitRule};
use sordino_noise::danger::seeded;
use sordino_optim::{Clipping, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier, SamplingRate};

use super::*;
use crate::{Activation, Example, Layer, NetworkLoss, Shape, View, preset};

const TWO: NonZero<usize> = NonZero::new(2).unwrap();

/// The same example in every slot, except every seventh, which is empty.
struct Same {
    input: Vec<f32>,
    target: Vec<f32>,
    slots: usize,
}

impl Same {
    fn new(network: &Network, slots: usize) -> Self {
        Self { input: vec![1.0; network.input().size()], target: vec![0.0; network.targets()], slots }
    }
}

impl Examples for Same {
    fn slots(&self) -> usize {
        self.slots
    }

    fn widths(&self) -> [usize; 2] {
        [self.input.len(), self.target.len()]
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        (slot % 7 != 3).then_some(Example { input: &self.input, target: &self.target })
    }
}

/// Takes steps on several batches, and compares the reserved bytes with the stated ones.
fn check(name: &str, network: &Network, sampling: Sampling, slots: usize, batch: f64, limit: Option<f64>) {
    let (examples, parameters) = (Same::new(network, slots), network.initial(1));
    let mut objective = NetworkObjective::new(network, &examples, batch).unwrap();
    if let Some(part) = limit {
        let limit = (part * objective.batch_bytes(TWO) as f64) as usize;
        objective = objective.memory(limit, TWO).unwrap();
        assert!(objective.batch_bytes(TWO) <= limit, "{name}");
    }
    let (slots, rounds) = (Count::new(slots as u64).unwrap(), Count::new(3).unwrap());
    let options = PlanOptions {
        sampling,
        slots,
        rounds,
        neighbours: Neighbours::ZeroOut,
        clipping: Clipping::Flat { norm: 1.0 },
        scales: None,
        divisor: Some(1.0),
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    let plan = TrainingPlan::with_noise(options, NoiseMultiplier::new(1.0).unwrap()).unwrap();
    let clip = plan.clip(1.0, objective.dimension(), objective.float_sums()).unwrap();
    assert!(objective.is_grouped(&clip));
    let (batches, mut bits) =
        (BatchPlan::new(sampling, slots, rounds, Neighbours::ZeroOut).unwrap(), seeded(1));
    let mut batches = batches.batches();
    while let Some(batch) = batches.next(&mut bits) {
        objective.clipped_sum(&parameters, &batch, &clip, TWO).unwrap();
    }
    let stated = objective.batch_bytes(TWO);
    let buffers = objective.buffers.lock().unwrap();
    let reserved = buffers.workers.iter().map(Worker::bytes).sum::<usize>() + buffers.slab.bytes();
    assert_eq!(reserved, stated, "{name}, {sampling:?}");
}

fn poisson(rate: f64) -> Sampling {
    Sampling::Poisson { rate: SamplingRate::new(rate).unwrap() }
}

fn image(channels: usize, side: usize) -> Shape {
    Shape::Image { channels, height: side, width: side }
}

#[test]
fn presets_reserve_what_they_state() {
    let presets = [
        ("softmax", Shape::Features(300)),
        ("mlp", Shape::Features(100)),
        ("cnn", image(1, 8)),
        ("tanh_cnn", image(1, 28)),
        ("cifar_cnn", image(3, 32)),
        ("resnet20", image(3, 8)),
    ];
    for (name, input) in presets {
        let hidden = (name == "mlp").then_some(&[1024, 1024][..]);
        let network = preset::named(name, hidden).unwrap().network_for(input, 10).unwrap();
        check(name, &network, Sampling::FullBatch, 24, 24.0, None);
        check(name, &network, poisson(0.02), 2000, 40.0, None);
        check(name, &network, poisson(0.02), 2000, 40.0, Some(0.7));
    }
}

/// Layers whose state holds derivatives, masks, statistics, windows, words, patches or other
/// chains.
#[test]
fn every_kind_of_layer_reserves_what_it_states() {
    let gelu = Layer::Activation { function: Activation::Gelu };
    let silu = Layer::Activation { function: Activation::Silu };
    let residual = Layer::Residual {
        body: vec![
            Layer::conv2d(6, 3, 1, 1),
            Layer::GroupNorm { groups: 2, affine: true },
            gelu.clone(),
            Layer::conv2d(4, 3, 1, 1),
        ],
        shortcut: vec![Layer::conv2d(4, 1, 1, 0)],
    };
    let images = vec![
        residual,
        silu.clone(),
        Layer::Dropout { rate: 0.2 },
        Layer::max_pool(2, 2),
        // A ghost: few positions, many weights.
        Layer::conv2d(256, 3, 1, 0),
        Layer::relu(),
        Layer::AdaptiveMaxPool { output: [1, 1] },
        Layer::Flatten,
        Layer::linear(600),
        gelu,
        // Deferred.
        Layer::linear(300),
        silu,
        Layer::linear(5),
    ];
    let tokens = vec![
        Layer::Embedding { words: 9, features: 12, padding: Some(0) },
        Layer::LayerNorm { affine: true },
        Layer::linear(200),
        Layer::tanh(),
        Layer::Flatten,
        Layer::linear(4),
    ];
    let cases = [("images", image(4, 8), images), ("tokens", Shape::Tokens { length: 11 }, tokens)];
    for (name, input, layers) in cases {
        for views in [1, 3] {
            let views = vec![View::Same; views];
            let network = Network::with_views(input, &layers, NetworkLoss::CrossEntropy, &views).unwrap();
            check(name, &network, Sampling::FullBatch, 90, 90.0, None);
            check(name, &network, poisson(0.05), 3000, 150.0, None);
            check(name, &network, poisson(0.05), 3000, 150.0, Some(0.8));
        }
    }
}

/// Records that are rounded one by one need no memory for micro-batches.
#[test]
fn the_slow_path_allocates_no_workers_for_the_fast_one() {
    let network = preset::cnn().network_for(image(1, 8), 10).unwrap();
    let (examples, parameters) = (Same::new(&network, 20), network.initial(1));
    let objective = NetworkObjective::new(&network, &examples, 20.0).unwrap();
    let options = PlanOptions {
        sampling: Sampling::FullBatch,
        slots: Count::new(20).unwrap(),
        rounds: Count::ONE,
        neighbours: Neighbours::AddRemove,
        clipping: Clipping::Flat { norm: 1.0 },
        scales: None,
        divisor: Some(1.0),
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    let plan = TrainingPlan::with_noise(options, NoiseMultiplier::new(1.0).unwrap()).unwrap();
    let clip = plan.clip(1.0, objective.dimension(), objective.float_sums()).unwrap();
    assert!(!objective.is_grouped(&clip));
    let batches = plan.batches();
    let batch = batches.batches().next(&mut seeded(1)).unwrap();
    objective.clipped_sum(&parameters, &batch, &clip, TWO).unwrap();
    assert!(objective.buffers.lock().unwrap().workers.is_empty());
}
