//! With and without one record, sums differ by no more than the grid allows, however large, small or cancelling the record's numbers are; and a
//! record that was not sampled moves nothing at all.

mod support;

use sordino_nn::{DenseExamples, Examples, Layer, NetworkLoss, NetworkObjective, Shape};
use sordino_optim::{Clipping, Objective};
use sordino_privacy::Neighbours;
use support::networks::{Altered, Content, dense, flat, ghost, mixed, narrow, narrow_branch, sample, words};
use support::{Case, full_batch, plan, units};

const CLIP_NORM: f64 = 0.05;

/// All ways of clipping by norms.
fn clippings() -> [Clipping; 3] {
    [
        flat(CLIP_NORM),
        Clipping::Automatic { norm: CLIP_NORM, gamma: 1e-6 },
        Clipping::Quantile { initial: CLIP_NORM, quantile: 0.5, rate: 0.2, count_noise: 10.0 },
    ]
}

/// How far a record moves the sum, as a part of what is allowed.
fn moved(
    case: &Case,
    rows: &DenseExamples,
    parameters: &[f64],
    slot: usize,
    record: Content,
    clipping: &Clipping,
) -> f64 {
    let network = case.network();
    let plan = plan(case.examples, Neighbours::ZeroOut, clipping.clone());
    let batch = full_batch(case.examples);
    let sum_of = |content: Content| {
        let altered = Altered { rows, at: vec![(slot, content)] };
        let objective = NetworkObjective::new(&network, &altered, case.examples as f64).unwrap();
        let clip = plan.clip(CLIP_NORM, objective.dimension(), objective.float_sums()).unwrap();
        let most = clip.grid().clip_units() as f64 * (1.0 + clip.grid().inflation());
        (units(&objective, parameters, &batch, &plan, CLIP_NORM, 2).0, most)
    };
    let ((with, most), (without, _)) = (sum_of(record), sum_of(None));
    with.iter().zip(&without).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt() / most
}

/// Inputs and, where they are numbers, targets of any size. What is too long to be summed safely counts as an empty slot.
#[test]
fn records_of_any_size() {
    for case in [mixed(), dense(), narrow(), narrow_branch(), ghost(), sequence()] {
        let network = case.network();
        let (rows, parameters) = (case.rows(&network), network.initial(1));
        let example = rows.example(40).unwrap();
        for scale in [1e-38, 1e-20, 1e-5, 1e5, 1e12, 1e20, 1e38] {
            let scaled = |numbers: &[f32]| numbers.iter().map(|x| x * scale).collect::<Vec<f32>>();
            let target = match case.loss {
                NetworkLoss::CrossEntropy => example.target.to_vec(),
                NetworkLoss::Squared => scaled(example.target),
            };
            for clipping in &clippings() {
                let record = Some((scaled(example.input), target.clone()));
                let moved = moved(&case, &rows, &parameters, 40, record, clipping);
                assert!(moved <= 1.0, "{moved} at {scale:e} with {clipping:?} for {:?}", case.input);
                // Slopes of classes are as long as ever where inputs are nothing: biases have them.
                let has_slopes = scale < 1.0 && case.loss == NetworkLoss::CrossEntropy;
                assert!(
                    !has_slopes || moved > 0.5,
                    "{moved} at {scale:e} with {clipping:?} for {:?}",
                    case.input
                );
            }
        }
    }
}

/// A dense layer at two positions, whose norms come from products of pairs of positions.
fn sequence() -> Case {
    let input = Shape::Sequence { length: 2, features: 30 };
    Case { input, layers: vec![Layer::linear(30)], loss: NetworkLoss::Squared, examples: 70, seed: 9 }
}

/// Both positions have the same inputs and opposite slopes: the gradient is what roundings leave of it, and its length, computed from terms that
/// cancel, could come out as nothing.
#[test]
fn records_whose_positions_cancel() {
    let case = sequence();
    let network = case.network();
    let (rows, parameters) = (case.rows(&network), network.initial(1));
    let once = &rows.example(40).unwrap().input[..30];
    for (scale, slope) in [(1.0, 1.0), (1.0, 1e3), (1e5, 1e-3), (1e5, 1e5), (1e-5, 1e10)] {
        let input: Vec<f32> = once.iter().chain(once).map(|x| x * scale).collect();
        let outputs = network.outputs(&parameters, &input).unwrap();
        for rest in [0.0, 1e-7, 1e-3] {
            let sign = |at: usize| if at < 30 { -1.0 } else { 1.0 + rest };
            let target = outputs.iter().enumerate().map(|(at, y)| y - slope * sign(at)).collect();
            for clipping in &clippings() {
                let record = Some((input.clone(), Vec::clone(&target)));
                let moved = moved(&case, &rows, &parameters, 40, record, clipping);
                assert!(moved <= 1.0, "{moved} at {scale:e}, {slope:e}, {rest:e} with {clipping:?}");
            }
        }
    }
}

/// Whatever stands in a slot that is not in the batch, the sum has the same bits.
#[test]
fn records_that_were_not_sampled() {
    for case in [mixed(), dense(), narrow(), ghost(), words()] {
        let network = case.network();
        let (rows, parameters, batch) = (case.rows(&network), network.initial(1), sample(case.examples));
        let sampled: Vec<usize> = batch.iter().collect();
        let absent: Vec<usize> = (0..case.examples).filter(|slot| !sampled.contains(slot)).collect();
        assert!(sampled.len() > 10 && absent.len() > 10);
        for neighbours in [Neighbours::ZeroOut, Neighbours::AddRemove] {
            let plan = plan(case.examples, neighbours, flat(CLIP_NORM));
            let sum = |at: Vec<(usize, Content)>| {
                let altered = Altered { rows: &rows, at };
                let objective = NetworkObjective::new(&network, &altered, batch.len() as f64).unwrap();
                units(&objective, &parameters, &batch, &plan, CLIP_NORM, 2).0
            };
            let whole = sum(Vec::new());
            for slot in [absent[0], absent[absent.len() / 2], absent[absent.len() - 1]] {
                let [width, targets] = rows.widths();
                let huge = Some((vec![1e20; width], vec![0.0; targets]));
                for content in [None, huge, Some((vec![f32::NAN; width], vec![f32::NAN; targets]))] {
                    assert!(sum(vec![(slot, content)]) == whole, "slot {slot} of {:?}", case.input);
                }
            }
            // A test of the test: a slot that is in the batch moves it.
            assert!(sum(vec![(sampled[3], None)]) != whole);
        }
    }
}
