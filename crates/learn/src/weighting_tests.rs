//! Compares weighted sums, gradients and minima with those without weights. The broken twins have
//! weights that were not divided by the largest.

use std::num::NonZero;

use proptest::prelude::*;
use sordino_data::{ContributionLimit, Encoded, Sampling, UnitRule};
use sordino_noise::danger::{seeded, unprotected};
use sordino_optim::{Clipping, Objective, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier};

use crate::linear_objective::LinearObjective;
use crate::loss::Loss;
use crate::solver::Problem;
use crate::testing::classes;
use crate::weighting::Weighting;

const LOSSES: [(Loss, usize); 3] =
    [(Loss::Logistic, 2), (Loss::SmoothHinge { width: 0.5 }, 2), (Loss::Softmax { classes: 3 }, 3)];

/// Class weights, the largest of which is 1.
const WEIGHTS: [f64; 3] = [1.0 / 3.0, 1.0, 0.5];

/// The broken twin: the same weights before division by the largest.
const UNDIVIDED: [f64; 3] = [1.0, 3.0, 1.5];

fn weighting(all: [f64; 3], classes: usize) -> Weighting {
    Weighting(all[..classes].to_vec())
}

fn plan(n: usize, clipping: Clipping, neighbours: Neighbours, scales: Option<Vec<f64>>) -> TrainingPlan {
    let options = PlanOptions {
        sampling: Sampling::FullBatch,
        slots: Count::new(n as u64).unwrap(),
        rounds: Count::ONE,
        neighbours,
        clipping,
        scales,
        divisor: None,
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    TrainingPlan::with_noise(options, NoiseMultiplier::new(1.0).unwrap()).unwrap()
}

/// The sum over all records in steps, the size of a step, and how many steps one record may move
/// it.
fn sum(
    (loss, weighting): (Loss, &Weighting),
    data: &Encoded,
    (plan, clip_norm): (&TrainingPlan, f64),
    w: &[f64],
) -> (Vec<i64>, f64, f64) {
    let mut objective = LinearObjective::new(loss, data);
    objective.weighting = weighting.clone();
    let clip = plan.clip(clip_norm, objective.dimension(), objective.float_sums()).unwrap();
    let batch = plan.batches().batches().next(&mut seeded(1)).unwrap();
    let sum = objective.clipped_sum(w, &batch, &clip, NonZero::<usize>::MIN).unwrap();
    let bound = clip.grid().clip_units() as f64 * (1.0 + clip.grid().inflation());
    (unprotected(&sum.gradient).to_vec(), clip.grid().step(), bound)
}

fn clippings(dimension: usize) -> [(Clipping, f64); 3] {
    let root = (dimension as f64).sqrt();
    [
        (Clipping::Flat { norm: 0.3 }, 0.3),
        (Clipping::Automatic { norm: 0.3, gamma: 0.01 }, 0.3),
        (Clipping::Coordinates { bounds: vec![0.3; dimension] }, 0.3 * root),
    ]
}

fn distance(a: &[i64], b: &[i64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt()
}

fn point(dimension: usize) -> Vec<f64> {
    (0..dimension).map(|j| 2.0 * (j as f64 + 0.5).cos()).collect()
}

/// One record at a time, with every clipping, on the fast path, with scales and on exact grids. A
/// clipped gradient is weighted too.
#[test]
fn a_weighted_gradient_is_the_weight_times_the_unweighted_one() {
    for (loss, k) in LOSSES {
        for (class, weight) in WEIGHTS[..k].iter().enumerate() {
            let data = classes(&[vec![0.6, -0.7]], &[class], k);
            let w = point(loss.outputs() * data.width());
            for (clipping, clip_norm) in clippings(w.len()) {
                for (neighbours, scales) in [
                    (Neighbours::ZeroOut, None),
                    (Neighbours::ZeroOutUnordered, None),
                    (Neighbours::ZeroOut, Some(vec![0.5; w.len()])),
                ] {
                    let plan = plan(1, clipping.clone(), neighbours, scales);
                    let of = |weighting: &Weighting| sum((loss, weighting), &data, (&plan, clip_norm), &w);
                    let (weighted, step, _) = of(&weighting(WEIGHTS, k));
                    let (plain, _, _) = of(&Weighting::default());
                    assert!(plain.iter().any(|units| units.unsigned_abs() > 1000), "{loss:?} {clipping:?}");
                    for (weighted, plain) in weighted.iter().zip(&plain) {
                        let off = (*weighted as f64 - weight * *plain as f64).abs();
                        assert!(off <= 2.0, "{loss:?} {clipping:?} {neighbours}: {off} steps of {step}");
                    }
                }
            }
        }
    }
}

/// Whether leaving out record `out` moves some sum by more than the sensitivity.
fn exceeds_the_sensitivity(
    rows: &[Vec<f64>],
    labels: &[usize],
    out: usize,
    (loss, k): (Loss, usize),
    weights: [f64; 3],
) -> bool {
    let labels: Vec<usize> = labels.iter().map(|label| label % k).collect();
    let mut without = rows.to_vec();
    without[out] = vec![f64::NAN; rows[0].len()]; // an empty slot
    let (with, without) = (classes(rows, &labels, k), classes(&without, &labels, k));
    assert!(without.row(out).is_none());
    let w = point(loss.outputs() * with.width());
    let weighting = weighting(weights, k);
    clippings(w.len()).into_iter().any(|(clipping, clip_norm)| {
        [Neighbours::ZeroOut, Neighbours::ZeroOutUnordered].into_iter().any(|neighbours| {
            let plan = plan(rows.len(), clipping.clone(), neighbours, None);
            let of = |data| sum((loss, &weighting), data, (&plan, clip_norm), &w);
            let ((one, _, bound), (other, _, _)) = (of(&with), of(&without));
            distance(&one, &other) > bound * (1.0 + 1e-12)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn no_record_moves_a_weighted_sum_by_more_than_the_sensitivity(
        rows in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 2), 1..30),
        labels in prop::collection::vec(0..3usize, 30),
        out in any::<prop::sample::Index>(),
    ) {
        let (labels, out) = (&labels[..rows.len()], out.index(rows.len()));
        for loss in LOSSES {
            prop_assert!(!exceeds_the_sensitivity(&rows, labels, out, loss, WEIGHTS), "{:?}", loss);
        }
    }
}

/// The broken twin fails the same test: a record of the second class has weight 3.
#[test]
fn weights_above_one_move_a_sum_by_too_much() {
    let rows = vec![vec![0.6, -0.7], vec![-0.2, 0.9], vec![0.1, 0.1]];
    for loss in LOSSES {
        assert!(exceeds_the_sensitivity(&rows, &[0, 1, 0], 1, loss, UNDIVIDED), "{loss:?}");
        assert!(!exceeds_the_sensitivity(&rows, &[0, 1, 0], 1, loss, WEIGHTS), "{loss:?}");
    }
}

fn problem<'a>(loss: Loss, data: &'a Encoded, ridge: f64, weighting: Weighting) -> Problem<'a> {
    Problem { loss, data, ridge, tilt: vec![0.0; loss.outputs() * data.width()], weighting }
}

/// If all records have one class, gradient and Hessian are multiplied by its weight.
#[test]
fn the_solver_weights_first_and_second_derivatives() {
    let rows: Vec<Vec<f64>> = (0..50).map(|i| vec![f64::from(i).sin(), f64::from(3 * i).cos()]).collect();
    for (loss, k) in LOSSES {
        for (class, weight) in WEIGHTS[..k].iter().enumerate() {
            let data = classes(&rows, &[class; 50], k);
            let w: Vec<f64> = point(loss.outputs() * data.width()).iter().map(|w| 0.3 * w).collect();
            let [weighted, plain] = [weighting(WEIGHTS, k), Weighting::default()].map(|weighting| {
                let problem = problem(loss, &data, 1e-300, weighting);
                let mut all = problem.gradient(&w).vector;
                all.extend(problem.hessian_times(&w, &w));
                all
            });
            for (weighted, plain) in weighted.iter().zip(&plain) {
                assert!((weighted - weight * plain).abs() < 1e-12 * (1.0 + plain.abs()), "{loss:?}");
            }
        }
    }
}

/// How far the minimum moves when the first record is left out, divided by `G/Λ`, which is the
/// sensitivity of output perturbation.
fn moves(loss: Loss, k: usize, weights: [f64; 3]) -> f64 {
    let ridge = 4.0;
    let of = |rows: &[Vec<f64>]| {
        let data = classes(rows, &[1, 0], k);
        problem(loss, &data, ridge, weighting(weights, k)).minimise(1e-9).unwrap()
    };
    let one = of(&[vec![1.0, 1.0], vec![f64::NAN, 0.0]]);
    let other = of(&[vec![f64::NAN, 1.0], vec![f64::NAN, 0.0]]);
    let square: f64 = one.iter().zip(&other).map(|(a, b)| (a - b).powi(2)).sum();
    square.sqrt() * ridge / loss.lipschitz(1.0).unwrap()
}

#[test]
fn weighted_minima_move_by_at_most_the_clip_norm_unless_a_weight_is_above_one() {
    let mut furthest = 0f64;
    for (loss, k) in LOSSES {
        assert!(moves(loss, k, WEIGHTS) <= 1.0 + 1e-6, "{loss:?}");
        furthest = furthest.max(moves(loss, k, UNDIVIDED));
    }
    assert!(furthest > 1.4, "{furthest}");
}
