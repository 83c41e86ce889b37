//! Class weights multiply clipped gradients on every path, and stay within the sensitivity; a
//! faulty twin does not.

use sordino_data::{BatchPlan, ContributionLimit, Sampling, UnitRule};
use sordino_noise::danger::{seeded, unprotected};
use sordino_optim::{Clipping, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier};

use super::*;
use crate::danger::unclipped_sum;
use crate::{Example, Layer, NetworkLoss, Shape};

const ONE: NonZero<usize> = NonZero::<usize>::MIN;
const CLASSES: usize = 3;
/// The second class has the largest weight.
const WEIGHTS: [f64; CLASSES] = [1.0 / 3.0, 1.0, 0.5];
/// The faulty twin: weights above 1.
const UNDIVIDED: [f64; CLASSES] = [1.0, 3.0, 1.5];

/// A few records, one of which may be missing.
struct Few {
    inputs: Vec<[f32; 4]>,
    targets: Vec<[f32; 1]>,
    absent: Option<usize>,
}

impl Few {
    fn new(classes: &[usize], absent: Option<usize>) -> Self {
        let input = |i: usize| std::array::from_fn(|j| ((i * 7 + j * 3) as f32 + 0.3).sin());
        let inputs = (0..classes.len()).map(input).collect();
        Self { inputs, targets: classes.iter().map(|class| [*class as f32]).collect(), absent }
    }
}

impl Examples for Few {
    fn slots(&self) -> usize {
        self.inputs.len()
    }

    fn widths(&self) -> [usize; 2] {
        [4, 1]
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        let example = Example { input: &self.inputs[slot], target: &self.targets[slot] };
        (Some(slot) != self.absent).then_some(example)
    }
}

fn network() -> Network {
    let layers = [Layer::linear(6), Layer::tanh(), Layer::linear(CLASSES)];
    Network::new(Shape::Features(4), &layers, NetworkLoss::CrossEntropy).unwrap()
}

/// The sum over all records in grid steps, and the sensitivity in grid steps.
fn sum(
    examples: &Few,
    weights: Option<[f64; CLASSES]>,
    clipping: &Clipping,
    neighbours: Neighbours,
    is_per_layer: bool,
) -> (Vec<i64>, f64) {
    let network = network();
    let mut objective = NetworkObjective::new(&network, examples, 4.0).unwrap();
    if is_per_layer {
        objective = objective.per_layer(&vec![1.0; network.parts().len()]).unwrap();
    }
    objective.class_weights = weights.map(|weights| weights.to_vec());
    let slots = Count::new(examples.slots() as u64).unwrap();
    let options = PlanOptions {
        sampling: Sampling::FullBatch,
        slots,
        rounds: Count::ONE,
        neighbours,
        clipping: clipping.clone(),
        scales: None,
        divisor: Some(1.0),
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    let plan = TrainingPlan::with_noise(options, NoiseMultiplier::new(1.0).unwrap()).unwrap();
    let clip = plan.clip(NORM, objective.dimension(), objective.float_sums()).unwrap();
    let batch = plan.batches().batches().next(&mut seeded(1)).unwrap();
    let sum = objective.clipped_sum(&network.initial(3), &batch, &clip, ONE).unwrap();
    let bound = clip.grid().clip_units() as f64 * (1.0 + clip.grid().inflation());
    (unprotected(&sum.gradient).to_vec(), bound)
}

/// Below the norms of the network's gradients, which are about 1.
const NORM: f64 = 0.1;

/// All paths: float groups, records one by one on exact grids, and layer by layer.
fn paths() -> Vec<(Clipping, Neighbours, bool)> {
    let clippings = [Clipping::Flat { norm: NORM }, Clipping::Automatic { norm: NORM, gamma: 0.01 }];
    let paths = clippings.into_iter().flat_map(|clipping| {
        [(Neighbours::ZeroOut, false), (Neighbours::ZeroOut, true), (Neighbours::ZeroOutUnordered, false)]
            .map(|(neighbours, is_per_layer)| (clipping.clone(), neighbours, is_per_layer))
    });
    paths.collect()
}

#[test]
fn a_clipped_gradient_is_multiplied_by_the_weight_of_its_class() {
    for (clipping, neighbours, is_per_layer) in paths() {
        for (class, weight) in WEIGHTS.iter().enumerate() {
            let examples = Few::new(&[class], None);
            let of = |weights| sum(&examples, weights, &clipping, neighbours, is_per_layer);
            let ((weighted, bound), (plain, _)) = (of(Some(WEIGHTS)), of(None));
            let off = weighted.iter().zip(&plain).map(|(w, p)| (*w as f64 - weight * *p as f64).abs());
            // Rounding to steps, and weights in single precision.
            let most = 2.0 + 1e-6 * bound;
            assert!(off.fold(0.0, f64::max) <= most, "{clipping:?} {neighbours} {is_per_layer}");
            assert!(plain.iter().any(|p| p.unsigned_abs() as f64 > 0.05 * bound));
            let equal = of(Some([1.0; CLASSES])).0;
            assert_eq!(equal, plain, "equal weights change no bit");
        }
    }
}

fn moves(weights: [f64; CLASSES], out: usize, path: &(Clipping, Neighbours, bool)) -> f64 {
    let classes = [0, 1, 2, 1, 0];
    let of = |absent| {
        let examples = Few::new(&classes, absent);
        sum(&examples, Some(weights), &path.0, path.1, path.2)
    };
    let ((with, bound), (without, _)) = (of(None), of(Some(out)));
    let square: f64 = with.iter().zip(&without).map(|(a, b)| ((a - b) as f64).powi(2)).sum();
    square.sqrt() / bound
}

#[test]
fn one_record_moves_a_weighted_sum_by_at_most_the_sensitivity() {
    for path in paths() {
        for out in 0..5 {
            assert!(moves(WEIGHTS, out, &path) <= 1.0 + 1e-12, "{path:?}");
        }
        // Exact grids clip once more, whatever comes; float groups rest on their caller.
        let is_caught = moves(UNDIVIDED, 1, &path) > 1.0;
        assert_eq!(is_caught, path.1 == Neighbours::ZeroOut, "the twin, {path:?}");
    }
}

/// Also without clipping.
#[test]
fn the_plain_sum_is_that_of_weighted_losses() {
    let (network, examples) = (network(), Few::new(&[0], None));
    let slots = Count::ONE;
    let batches = BatchPlan::new(Sampling::FullBatch, slots, Count::ONE, Neighbours::ZeroOut).unwrap();
    let batch = batches.batches().next(&mut seeded(0)).unwrap();
    let mut objective = NetworkObjective::new(&network, &examples, 1.0).unwrap();
    let plain = unclipped_sum(&objective, &network.initial(3), &batch, ONE, Vec::new());
    objective.class_weights = Some(vec![0.25, 1.0, 1.0]);
    let weighted = unclipped_sum(&objective, &network.initial(3), &batch, ONE, Vec::new());
    assert!(plain.iter().zip(&weighted).all(|(p, w)| (0.25 * p - w).abs() < 1e-6));
    assert!(plain.iter().any(|p| p.abs() > 0.1));
}
