//! What one record contributes depends on that record alone; nothing that a record holds can disturb the others.

mod support;

use std::num::NonZero;

use sordino_data::Batch;
use sordino_nn::{
    DenseExamples, Examples, Layer, Network, NetworkError, NetworkLoss, NetworkObjective, Shape, View,
};
use sordino_noise::danger::seeded;
use sordino_optim::{Clipping, Objective};
use sordino_privacy::Neighbours;
use support::networks::{
    Altered, Content, dense, empty_batch, flat, ghost, mixed, narrow, narrow_branch, normalised, sample,
    words,
};
use support::random::Random;
use support::{Case, clipped_sum, full_batch, length, plan, units};

const CLIP_NORM: f64 = 0.05;

/// The fast road in groups, and whole gradients one by one, are the same but for roundings.
#[test]
fn deferred_layers_have_the_sums_of_single_records() {
    for case in [mixed(), dense(), narrow()] {
        let network = case.network();
        let (rows, parameters) = (case.rows(&network), network.initial(1));
        let batch = sample(case.examples);
        let objective = NetworkObjective::new(&network, &rows, batch.len() as f64).unwrap();
        let [fast, slow] = [Neighbours::ZeroOut, Neighbours::AddRemove].map(|neighbours| {
            let plan = plan(case.examples, neighbours, flat(0.7));
            clipped_sum(&objective, &parameters, &batch, &plan, 0.7)
        });
        let difference: Vec<f64> = fast.iter().zip(&slow).map(|(a, b)| a - b).collect();
        assert!(length(&slow) > 1.0 && length(&difference) < 1e-5 * length(&slow), "{}", length(&difference));
        // Without clipping as well.
        let plain = sordino_nn::danger::unclipped_sum(
            &objective,
            &parameters,
            &batch,
            NonZero::new(2).unwrap(),
            vec![f64::NAN; 3],
        );
        let plan = plan(case.examples, Neighbours::ZeroOut, flat(1e4));
        let wide = clipped_sum(&objective, &parameters, &batch, &plan, 1e4);
        let difference: Vec<f64> = plain.iter().zip(&wide).map(|(a, b)| a - b).collect();
        assert!(length(&difference) < 1e-5 * length(&plain), "{}", length(&difference));
    }
}

/// Infinite, not a number, of no class, of another shape: each counts as an empty slot, and the others stay what they are.
#[test]
fn records_that_are_not_finite_count_as_nothing() {
    for case in [mixed(), dense(), narrow(), narrow_branch(), normalised()] {
        let network = case.network();
        let (rows, parameters) = (case.rows(&network), network.initial(1));
        let (size, batch) = (case.input.size(), full_batch(case.examples));
        let plan = plan(case.examples, Neighbours::ZeroOut, flat(0.5));
        let sum = |at: Vec<(usize, Content)>| {
            let altered = Altered { rows: &rows, at };
            let objective = NetworkObjective::new(&network, &altered, case.examples as f64).unwrap();
            clipped_sum(&objective, &parameters, &batch, &plan, 0.5)
        };
        let without = sum(vec![(5, None), (17, None)]);
        let strange = [
            (vec![f32::NAN; size], vec![0.0]),
            (vec![f32::INFINITY; size], vec![1.0]),
            (vec![0.1; size], vec![77.0]),
            (vec![0.1; size], vec![0.5]),
            (vec![0.1; size], vec![f32::NAN]),
            (vec![0.1; size + 1], vec![0.0]),
        ];
        for (input, target) in strange {
            let with = sum(vec![(5, Some((input.clone(), target.clone()))), (17, None)]);
            let difference: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
            assert!(length(&difference) < 1e-4, "{:?} {target:?}: {}", input[0], length(&difference));
            // In the first slot, too: no record decides whether anything fails.
            sum(vec![(0, Some((input, target)))]);
        }
    }
}

/// With and without one record, sums differ by no more than the clip norm times the allowance, in integers: whichever way norms are found,
/// and even where a block has more records than a group.
#[test]
fn one_record_moves_the_sum_by_no_more_than_the_grid_allows() {
    for case in [mixed(), dense(), narrow(), narrow_branch(), ghost(), words()] {
        // Expecting few records makes blocks long, so that there is a surplus.
        for expected in [case.examples as f64, 4.0] {
            moves_by_the_clip_norm(&case, &case.network(), &|objective| objective, expected);
        }
    }
}

#[test]
fn one_record_of_many_views_moves_the_sum_by_no_more_than_the_grid_allows() {
    let views = [View::Same, View::Mirrored, View::Shifted { lines: 1, columns: 0 }];
    for case in [mixed(), ghost()] {
        let network = Network::with_views(case.input, &case.layers, case.loss, &views).unwrap();
        moves_by_the_clip_norm(&case, &network, &|objective| objective, case.examples as f64);
    }
}

#[test]
fn one_record_clipped_by_layers_moves_the_sum_by_no_more_than_the_grid_allows() {
    for case in [mixed(), dense(), narrow(), ghost(), words()] {
        let network = case.network();
        let shares = vec![1.0; network.parts().len()];
        moves_by_the_clip_norm(
            &case,
            &network,
            &|objective| objective.per_layer(&shares).unwrap(),
            case.examples as f64,
        );
    }
}

/// The clip norm is far below all gradients, so that every record moves the sum by all of it.
fn moves_by_the_clip_norm(
    case: &Case,
    network: &Network,
    clipped: &dyn for<'a> Fn(NetworkObjective<'a, Altered<'a>>) -> NetworkObjective<'a, Altered<'a>>,
    expected: f64,
) {
    let (rows, parameters) = (case.rows(&case.network()), network.initial(1));
    let plan = plan(case.examples, Neighbours::ZeroOut, flat(CLIP_NORM));
    let batch = full_batch(case.examples);
    let sum_of = |at: Vec<(usize, Content)>| {
        let altered = Altered { rows: &rows, at };
        let objective = clipped(NetworkObjective::new(network, &altered, expected).unwrap());
        let clip = plan.clip(CLIP_NORM, objective.dimension(), objective.float_sums()).unwrap();
        (units(&objective, &parameters, &batch, &plan, CLIP_NORM, 2).0, clip.grid())
    };
    let (whole, grid) = sum_of(Vec::new());
    for slot in [0, 1, 40, case.examples - 1] {
        let (less, _) = sum_of(vec![(slot, None)]);
        let moved: f64 = whole.iter().zip(&less).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt();
        let most = grid.clip_units() as f64 * (1.0 + grid.inflation());
        assert!(moved <= most && moved > 0.9 * most / 1.02, "{:?}: {moved} of {most}", case.input);
    }
    assert!(grid.inflation() < 0.01, "{}", grid.inflation());
}

/// A step's sum is made where the last release was; nothing of that may be left in it, of a batch that nobody has joined either.
#[test]
fn a_sum_does_not_feel_what_was_in_its_place() {
    for case in [mixed(), dense(), narrow(), ghost()] {
        let network = case.network();
        let (rows, parameters) = (case.rows(&network), network.initial(1));
        let plan = plan(case.examples, Neighbours::ZeroOut, flat(1.0));
        let sum = |objective: &NetworkObjective<'_, DenseExamples>, batch: &Batch| {
            let clip = plan.clip(1.0, objective.dimension(), objective.float_sums()).unwrap();
            let sum = objective.clipped_sum(&parameters, batch, &clip, NonZero::new(2).unwrap()).unwrap();
            let units = sordino_noise::danger::unprotected(&sum.gradient).to_vec();
            objective.take_back(sum.gradient.add_gaussian(&mut seeded(1)).unwrap());
            units
        };
        let objective = NetworkObjective::new(&network, &rows, case.examples as f64).unwrap();
        let (whole, nobody) = (full_batch(case.examples), empty_batch(case.examples));
        let first = sum(&objective, &whole);
        assert!(first.iter().any(|unit| *unit != 0));
        assert_eq!(sum(&objective, &whole), first);
        assert!(sum(&objective, &nobody).iter().all(|unit| *unit == 0));
        assert_eq!(sum(&objective, &whole), first);
    }
}

/// Two slabs: what is kept of examples is limited to those of one group.
#[test]
fn a_sum_over_several_slabs_is_the_sum() {
    let case = dense();
    let network = case.network();
    let (rows, parameters, batch) = (case.rows(&network), network.initial(1), full_batch(case.examples));
    let plan = plan(case.examples, Neighbours::ZeroOut, flat(0.5));
    let free = NetworkObjective::new(&network, &rows, case.examples as f64).unwrap();
    let sum = units(&free, &parameters, &batch, &plan, 0.5, 2).0;
    let two = NonZero::new(2).unwrap();
    let limited = NetworkObjective::new(&network, &rows, case.examples as f64).unwrap();
    let limited = limited.memory(free.batch_bytes(two) * 3 / 4, two).unwrap();
    for _ in 0..2 {
        let clip = plan.clip(0.5, limited.dimension(), limited.float_sums()).unwrap();
        let again = limited.clipped_sum(&parameters, &batch, &clip, two).unwrap().gradient;
        assert_eq!(sordino_noise::danger::unprotected(&again), sum);
        limited.take_back(again.add_gaussian(&mut seeded(2)).unwrap());
    }
}

/// Opacus (#161, #164, #530, #676, #806) stumbled over batches that nobody had joined.
#[test]
fn pitfall_15_an_empty_batch_is_a_sum_of_nothing() {
    let case = mixed();
    let network = case.network();
    let (rows, parameters) = (case.rows(&network), network.initial(1));
    let batch = empty_batch(case.examples);
    let objective = NetworkObjective::new(&network, &rows, 1.0).unwrap();
    for neighbours in [Neighbours::ZeroOut, Neighbours::AddRemove] {
        let plan = plan(case.examples, neighbours, flat(1.0));
        let (sum, _) = units(&objective, &parameters, &batch, &plan, 1.0, 2);
        assert!(sum.len() == network.parameters() && sum.iter().all(|unit| *unit == 0));
    }
}

/// The clipping count, which the adaptive clip norm is made from, goes the same road as the sum: on its grid, paid for by the plan.
#[test]
fn pitfall_09_records_within_the_clip_norm_are_counted_on_a_grid() {
    let case = mixed();
    let network = case.network();
    let (rows, parameters) = (case.rows(&network), network.initial(1));
    let quantile = Clipping::Quantile { initial: 0.8, quantile: 0.5, rate: 0.2, count_noise: 10.0 };
    let plan = plan(case.examples, Neighbours::ZeroOut, quantile);
    let objective = NetworkObjective::new(&network, &rows, case.examples as f64).unwrap();
    let batch = full_batch(case.examples);
    let within = |clip_norm: f64| {
        let clip = plan.clip(clip_norm, objective.dimension(), objective.float_sums()).unwrap();
        let sum = objective.clipped_sum(&parameters, &batch, &clip, NonZero::new(2).unwrap()).unwrap();
        let count = sum.count.unwrap();
        sordino_noise::danger::unprotected(&count)[0] as f64 * count.grid().step()
    };
    let half = case.examples as f64 / 2.0;
    assert!((within(1e6) - half).abs() < 1e-6, "all are within: {}", within(1e6));
    assert!((within(1e-9) + half).abs() < 1e-6, "none is: {}", within(1e-9));
    let between =
        (1..40).map(|tenth| within(0.3 * f64::from(tenth))).filter(|count| count.abs() < half - 0.5);
    assert!(between.count() > 0, "some are, and some are not");
}

/// A record counts for half, on either road: an empty slot for nothing, not as one that was within the clip norm.
#[test]
fn pitfall_09_an_empty_slot_is_not_counted() {
    let case = narrow();
    let network = case.network();
    let (rows, parameters) = (case.rows(&network), network.initial(1));
    let batch = full_batch(case.examples);
    let quantile = Clipping::Quantile { initial: 0.8, quantile: 0.5, rate: 0.2, count_noise: 10.0 };
    for neighbours in [Neighbours::ZeroOut, Neighbours::ZeroOutUnordered] {
        let plan = plan(case.examples, neighbours, quantile.clone());
        let count = |at: Vec<(usize, Content)>| {
            let altered = Altered { rows: &rows, at };
            let objective = NetworkObjective::new(&network, &altered, case.examples as f64).unwrap();
            let clip = plan.clip(1e-9, objective.dimension(), objective.float_sums()).unwrap();
            let sum = objective.clipped_sum(&parameters, &batch, &clip, NonZero::new(2).unwrap()).unwrap();
            let count = sum.count.unwrap();
            sordino_noise::danger::unprotected(&count)[0] as f64 * count.grid().step()
        };
        let all = count(Vec::new());
        let other_shape = Some((vec![0.0; 3], vec![0.0]));
        for (absent, expected) in [(None, 0.5), (other_shape, 0.5)] {
            let moved = count(vec![(7, absent)]) - all;
            assert!((moved - expected).abs() < 1e-6, "{neighbours:?}: {moved}");
        }
    }
}

#[test]
fn views_are_averaged_before_they_are_clipped() {
    let views = [View::Same, View::Mirrored, View::Shifted { lines: 1, columns: -2 }];
    let input = Shape::Image { channels: 2, height: 5, width: 4 };
    let layers = [Layer::conv2d(3, 3, 1, 1), Layer::tanh(), Layer::Flatten, Layer::linear(3)];
    let case = Case { input, layers: layers.to_vec(), loss: NetworkLoss::CrossEntropy, examples: 1, seed: 8 };
    let single = case.network();
    let network = Network::with_views(input, &layers, NetworkLoss::CrossEntropy, &views).unwrap();
    let (rows, parameters) = (case.rows(&single), network.initial(2));
    let example = rows.example(0).unwrap();
    // The same three pictures as three records, unclipped, and their mean.
    let pictures: Vec<f32> = views
        .iter()
        .flat_map(|view| {
            (0..2 * 5 * 4).map(move |at| {
                let (channel, y, x) = (at / 20, at / 4 % 5, at % 4);
                let source = match view {
                    View::Same => Some((y, x)),
                    View::Mirrored => Some((y, 3 - x)),
                    View::Shifted { .. } => (y >= 1 && x + 2 < 4).then(|| (y - 1, x + 2)),
                };
                source.map_or(0.0, |(y, x)| example.input[channel * 20 + y * 4 + x])
            })
        })
        .collect();
    let three = DenseExamples::new(pictures, 40, vec![example.target[0]; 3], 1);
    let unclipped = NetworkObjective::new(&single, &three, 3.0).unwrap();
    let sum = sordino_nn::danger::unclipped_sum(
        &unclipped,
        &parameters,
        &full_batch(3),
        NonZero::new(1).unwrap(),
        Vec::new(),
    );
    let mean: Vec<f64> = sum.iter().map(|g| g / 3.0).collect();
    let clip_norm = 0.3 * length(&mean);
    let objective = NetworkObjective::new(&network, &rows, 1.0).unwrap();
    let plan = plan(1, Neighbours::ZeroOut, flat(clip_norm));
    let got = clipped_sum(&objective, &parameters, &full_batch(1), &plan, clip_norm);
    let difference: Vec<f64> = got.iter().zip(&mean).map(|(got, mean)| got - 0.3 * mean).collect();
    assert!(length(&difference) < 1e-5 * clip_norm, "{}", length(&difference));
}

/// A limit on memory changes the size of micro-batches, and sums only by roundings.
#[test]
fn a_memory_limit_picks_the_micro_batch() {
    let case = mixed();
    let network = case.network();
    let (rows, parameters) = (case.rows(&network), network.initial(1));
    let (two, batch) = (NonZero::new(2).unwrap(), full_batch(case.examples));
    let plan = plan(case.examples, Neighbours::ZeroOut, flat(0.5));
    let sum = |objective: &NetworkObjective<'_, DenseExamples>| {
        clipped_sum(objective, &parameters, &batch, &plan, 0.5)
    };
    let free = NetworkObjective::new(&network, &rows, 90.0).unwrap();
    let tight = NetworkObjective::new(&network, &rows, 90.0).unwrap().memory(300_000, two).unwrap();
    assert!(tight.micro_batch() < free.micro_batch());
    assert!(tight.batch_bytes(two) <= 300_000 && free.batch_bytes(two) > 300_000);
    let difference: Vec<f64> = sum(&free).iter().zip(sum(&tight)).map(|(a, b)| a - b).collect();
    assert!(length(&difference) < 1e-5 * length(&sum(&free)));
    let refused = NetworkObjective::new(&network, &rows, 90.0).unwrap().memory(1000, two).map(drop);
    assert!(matches!(refused, Err(NetworkError::Memory { .. })));
}

/// Dropout leaves the same numbers of a record out whoever else is there.
#[test]
fn dropout_depends_on_the_slot_and_not_on_the_place() {
    let mut random = Random(1);
    let layers = vec![Layer::linear(20), Layer::Dropout { rate: 0.5 }, Layer::tanh(), Layer::linear(3)];
    let case = Case {
        input: Shape::Features(6),
        layers,
        loss: NetworkLoss::CrossEntropy,
        examples: 12,
        seed: random.bits(),
    };
    let network = case.network();
    let (rows, parameters) = (case.rows(&network), network.initial(1));
    let plan = plan(case.examples, Neighbours::AddRemove, flat(0.5));
    let sum = |empty: &[usize]| {
        let altered = Altered { rows: &rows, at: empty.iter().map(|slot| (*slot, None)).collect() };
        let objective = NetworkObjective::new(&network, &altered, 12.0).unwrap();
        units(&objective, &parameters, &full_batch(12), &plan, 0.5, 2).0
    };
    let all: Vec<usize> = (0..12).collect();
    let but = |kept: &[usize]| all.iter().copied().filter(|slot| !kept.contains(slot)).collect::<Vec<_>>();
    let (third, seventh, both) = (sum(&but(&[3])), sum(&but(&[7])), sum(&but(&[3, 7])));
    assert!(both.iter().zip(third.iter().zip(&seventh)).all(|(both, (a, b))| *both == a + b));
    assert!(third.iter().filter(|unit| **unit == 0).count() > 30, "half of the numbers are out");
}

#[test]
fn errors_name_the_layer() {
    let image = Shape::Image { channels: 3, height: 8, width: 8 };
    let refused = |input: Shape, layers: &[Layer]| {
        Network::new(input, layers, NetworkLoss::CrossEntropy).map(drop).unwrap_err().to_string()
    };
    assert_eq!(
        refused(Shape::Features(9), &[Layer::linear(4), Layer::conv2d(4, 3, 1, 0)]),
        "layers[1] (conv2d) needs an image, but gets 4 features; state the input as an image, or move the layer before `flatten`"
    );
    let batch_norm = refused(image, &[Layer::conv2d(4, 3, 1, 0), Layer::BatchNorm]);
    assert!(
        batch_norm.starts_with("layers[1] (batch_norm) normalises by statistics of the batch"),
        "{batch_norm}"
    );
    assert!(batch_norm.contains("group_norm"));
    assert_eq!(
        refused(image, &[Layer::GroupNorm { groups: 2, affine: true }]),
        "layers[0] (group_norm): groups must be a divisor of its 3 channels, got 2"
    );
    let branch = Layer::Residual { body: vec![Layer::conv2d(5, 3, 1, 1)], shortcut: Vec::new() };
    assert!(
        refused(image, &[branch])
            .contains("the body gives an image of 5 × 8 × 8 and the shortcut an image of 3 × 8 × 8")
    );
    let deep = Layer::Residual { body: vec![Layer::conv2d(3, 30, 1, 1)], shortcut: Vec::new() };
    assert!(refused(image, &[deep]).starts_with("layers[0].body[0] (conv2d): kernel must be"));
    assert!(refused(image, &[Layer::Flatten]).contains("nothing to learn"));
}
