//! A small task for whole runs: a bright bar on noise, vertical or horizontal. No single pixel
//! tells the two apart.

use sordino_data::{ContributionLimit, Sampling, UnitRule};
use sordino_nn::{DenseExamples, Layer, Network, NetworkLoss, Shape};
use sordino_optim::{Clipping, PlanOptions, TrainingOptions, TrainingPlan, UpdateRule};
use sordino_privacy::{Claim, Count, Delta, Neighbours, NoiseMultiplier, Permit, SamplingRate, Unit, danger};

use super::random::Random;

pub(crate) const SLOTS: usize = 2000;

pub(crate) fn bars() -> DenseExamples {
    let mut random = Random(5);
    let (mut inputs, mut targets) = (Vec::new(), Vec::new());
    for slot in 0..SLOTS {
        let mut image: Vec<f32> = (0..64).map(|_| 0.3 * random.uniform() as f32).collect();
        let at = random.within(0, 7);
        (0..8).for_each(|i| image[if slot % 2 == 0 { at * 8 + i } else { i * 8 + at }] += 1.0);
        inputs.extend(image);
        targets.push((slot % 2) as f32);
    }
    DenseExamples::new(inputs, 64, targets, 1)
}

/// 2 178 weights.
pub(crate) fn network() -> Network {
    let layers = [
        Layer::conv2d(8, 3, 1, 1),
        Layer::tanh(),
        Layer::max_pool(2, 2),
        Layer::Flatten,
        Layer::linear(16),
        Layer::tanh(),
        Layer::linear(2),
    ];
    Network::new(Shape::Image { channels: 1, height: 8, width: 8 }, &layers, NetworkLoss::CrossEntropy)
        .unwrap()
}

pub(crate) fn poisson(rate: f64) -> Sampling {
    Sampling::Poisson { rate: SamplingRate::new(rate).unwrap() }
}

pub(crate) fn plan(sampling: Sampling, steps: u64, clipping: Clipping, noise: f64) -> TrainingPlan {
    let options = PlanOptions {
        sampling,
        slots: Count::new(SLOTS as u64).unwrap(),
        rounds: Count::new(steps).unwrap(),
        neighbours: Neighbours::ZeroOut,
        clipping,
        scales: None,
        divisor: None,
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    TrainingPlan::with_noise(options, NoiseMultiplier::new(noise).unwrap()).unwrap()
}

pub(crate) fn permit(claim: Claim) -> Permit {
    danger::unmetered(claim, Unit::Record, Delta::new(1e-5).unwrap()).unwrap()
}

pub(crate) fn options(network: &Network) -> TrainingOptions {
    TrainingOptions {
        rule: UpdateRule::Momentum { momentum: 0.9 },
        learning_rate: 0.2,
        start: Some(network.initial(7)),
        ..TrainingOptions::default()
    }
}
