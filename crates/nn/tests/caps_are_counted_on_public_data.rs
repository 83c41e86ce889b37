//! How often the cap on `w Σ_t ‖a_t‖ ‖d_t‖` lowers a weight is reported for public data only, and
//! never by a training run.

mod support;

use std::num::NonZero;

use sordino_nn::danger::cap_count;
use sordino_nn::{DenseExamples, Layer, Network, NetworkLoss, NetworkObjective, Shape};
use sordino_optim::{Clipping, Objective, TrainingPlan};
use sordino_privacy::Neighbours;
use support::{clipped_sum, full_batch, length, plan};

const FEATURES: usize = 20;
const SPREAD: f64 = 8.0;

/// A dense layer at two positions, without bias, with weights 0: output gradients are minus the
/// targets. Norms come from Gram matrices.
fn network() -> Network {
    let layer = Layer::Linear { outputs: FEATURES, bias: false };
    let input = Shape::Sequence { length: 2, features: FEATURES };
    Network::new(input, &[layer], NetworkLoss::Squared).unwrap()
}

/// Records with the same input of norm 1 at both positions, and targets of norm 1 that are opposite
/// up to `rest`: gradients have norm `rest`, spreads `2 - rest`.
fn rows(rests: &[f32]) -> DenseExamples {
    let one = (FEATURES as f32).sqrt().recip();
    let inputs = vec![one; rests.len() * 2 * FEATURES];
    let targets = rests.iter().flat_map(|rest| {
        let second = one * (rest - 1.0);
        [one, second].into_iter().flat_map(|x| std::iter::repeat_n(x, FEATURES))
    });
    DenseExamples::new(inputs, 2 * FEATURES, targets.collect(), 2 * FEATURES)
}

fn caps(
    objective: &NetworkObjective<'_, DenseExamples>,
    plan: &TrainingPlan,
    clip_norm: f64,
    threads: usize,
) -> u64 {
    let clip = plan.clip(clip_norm, objective.dimension(), objective.float_sums()).unwrap();
    let (parameters, batch) = (vec![0.0; objective.dimension()], full_batch(objective.slots()));
    cap_count(objective, &parameters, &batch, &clip, NonZero::new(threads).unwrap()).unwrap()
}

/// β is 8: a record that cancels to less than an eighth of its spread is capped.
#[test]
fn records_whose_positions_cancel_are_capped_and_counted() {
    let (network, rows) = (network(), rows(&[0.001, 1.0, 0.2, 0.5, 0.05]));
    let objective = NetworkObjective::new(&network, &rows, 5.0).unwrap();
    let (clip_norm, flat) = (0.1, Clipping::Flat { norm: 0.1 });
    let zero_out = plan(5, Neighbours::ZeroOut, flat.clone());
    assert_eq!(objective.float_sums().beta, SPREAD);
    for threads in 1..=3 {
        assert_eq!(caps(&objective, &zero_out, clip_norm, threads), 3);
    }
    // Records that are rounded one by one need no cap.
    let add_remove = plan(5, Neighbours::AddRemove, flat);
    assert_eq!(caps(&objective, &add_remove, clip_norm, 2), 0);
}

/// `w b = β C` where the cap binds: the record that cancels from 1.95 to 0.05 has weight
/// `8 · 0.1/1.95` instead of 1.
#[test]
fn a_capped_record_has_the_weight_that_the_cap_gives() {
    let (network, rows) = (network(), rows(&[0.05]));
    let objective = NetworkObjective::new(&network, &rows, 1.0).unwrap();
    let plan = plan(1, Neighbours::ZeroOut, Clipping::Flat { norm: 0.1 });
    let sum = clipped_sum(&objective, &vec![0.0; objective.dimension()], &full_batch(1), &plan, 0.1);
    assert!((length(&sum) / (0.8 / 1.95 * 0.05) - 1.0).abs() < 1e-5, "{}", length(&sum));
}

/// With one position the spread of a gradient is its norm, so the cap never binds.
#[test]
fn dense_layers_on_one_position_are_never_capped() {
    let layers = [Layer::linear(30), Layer::tanh(), Layer::linear(3)];
    let network = Network::new(Shape::Features(FEATURES), &layers, NetworkLoss::CrossEntropy).unwrap();
    let inputs = (0..40 * FEATURES).map(|i| (i % 17) as f32 * 0.1 - 0.8).collect();
    let rows = DenseExamples::new(inputs, FEATURES, (0..40).map(|slot| (slot % 3) as f32).collect(), 1);
    let objective = NetworkObjective::new(&network, &rows, 40.0).unwrap();
    for clip_norm in [1e-3, 1.0, 1e3] {
        let plan = plan(40, Neighbours::ZeroOut, Clipping::Flat { norm: clip_norm });
        assert_eq!(caps(&objective, &plan, clip_norm, 2), 0);
    }
}
