//! The order of coordinates, the mean of iterates, and how far one record moves a pass.

use sordino_data::{
    Bounds, Column, ContributionLimit, Door, Encoded, EncodingOptions, NumberColumn, RawTable, Scaling,
    Schema, Table, UnitRule,
};
use sordino_noise::Bits;
use sordino_noise::danger::{seeded, unprotected};
use sordino_privacy::{NoiseMultiplier, Unit, danger};

use super::columns::Columns;
use super::descent::order;
use super::*;
use crate::weighting::Weighting;
use sordino_optim::LearningPlan;

/// Columns x0, x1, ... within ±`bound`, the last one the target.
fn encoded(columns: &[Vec<f64>], bound: f64) -> Encoded {
    let names: Vec<String> = (0..columns.len()).map(|j| format!("x{j}")).collect();
    let column = Column::Number(NumberColumn::new(Bounds::new(-bound, bound).unwrap()));
    let declared = names.iter().map(|name| (name.clone(), column.clone())).collect();
    let schema = Schema::new(UnitRule::Record, declared).unwrap();
    let target = names.last().cloned();
    let options = EncodingOptions { target, scaling: Scaling::None, intercept: false, row_norm: None };
    let encoding = Encoding::new(&schema, &names, options).unwrap();
    let raw = names
        .iter()
        .zip(columns)
        .fold(RawTable::new(), |raw, (name, values)| raw.numbers(name, values.clone()).unwrap());
    let table = Table::new(raw, &schema, Door::Permissive, &mut seeded(1)).unwrap();
    Encoded::new(&encoding, &table).unwrap()
}

/// Pseudo-random numbers in [-1, 1].
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut bits = seeded(seed);
    (0..count).map(|_| (bits.next_u64() >> 11) as f64 / (1u64 << 52) as f64 - 1.0).collect()
}

fn weights(learner: &CoordinateDescent, data: &Encoded, z: f64, seed: u64) -> Vec<f64> {
    let noise = Noise::Multiplier(NoiseMultiplier::new(z).unwrap());
    let n = Count::new(data.slots() as u64).unwrap();
    let plan = learner.plan_with(data.encoding(), n, noise).unwrap();
    let permit = danger::unmetered(plan.claim(), Unit::Record, Delta::new(1e-6).unwrap()).unwrap();
    let model = plan.fit_with(data, permit, &mut seeded(seed)).unwrap().into_parts().0;
    model.weights().flatten().copied().collect()
}

#[test]
fn every_pass_has_every_coordinate_once() {
    let mut bits = seeded(1);
    let passes: Vec<Vec<usize>> = (0..50).map(|_| order(5, &mut bits)).collect();
    for pass in &passes {
        let mut sorted = pass.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4]);
    }
    assert!(passes.iter().any(|pass| *pass != passes[0]));
}

/// With one coordinate, x = 1, target 1 and almost no noise, w_k = 1 - (1 - γ)^k.
#[test]
fn the_result_is_the_mean_of_the_last_iterates() {
    let data = encoded(&[vec![1.0; 8], vec![1.0; 8]], 1.0);
    let learner = CoordinateDescent::new(Loss::Squared)
        .smoothness(Smoothness::Declared)
        .clipping(CoordinateClipping::Jointly { norm: 10.0 })
        .step_size(0.5)
        .steps(5);
    let iterate = |k: i32| 1.0 - 0.5f64.powi(k);
    let close = |tail: f64, rounds: u64, expected: f64| {
        let got = weights(&learner.clone().tail(tail).rounds(rounds), &data, 1e-3, 1)[0];
        // The noise of a step is 1e-3 · 10 / 8, so the mean of all is within 6 of its deviations.
        assert!((got - expected).abs() < 0.01, "tail {tail}: {got} against {expected}");
    };
    close(1.0, 1, (1..=5).map(iterate).sum::<f64>() / 5.0);
    close(0.5, 1, (3..=5).map(iterate).sum::<f64>() / 3.0);
    close(0.01, 1, iterate(5));
    close(0.01, 2, iterate(10));
}

#[test]
fn a_tail_outside_its_range_is_refused() {
    let data = encoded(&[vec![1.0; 8], vec![1.0; 8]], 1.0);
    let noise = Noise::Multiplier(NoiseMultiplier::new(1.0).unwrap());
    for tail in [0.0, 1.5, f64::NAN] {
        let learner = CoordinateDescent::new(Loss::Squared).tail(tail);
        let error = learner.plan_with(data.encoding(), Count::new(8).unwrap(), noise).unwrap_err();
        assert!(error.to_string().contains("averaged part of a round"), "{error}");
    }
}

/// With joint clipping a pass is one release, complete or not. A clamped step is one release.
#[test]
fn joint_clipping_is_charged_by_passes_and_clamping_by_steps() {
    let columns: Vec<Vec<f64>> = (0..5).map(|j| numbers(j, 8)).collect();
    let data = encoded(&columns, 1.0);
    let event = |clipping, steps, rounds| {
        let learner = CoordinateDescent::new(Loss::Squared).smoothness(Smoothness::Declared);
        let learner = learner.clipping(clipping).steps(steps).rounds(rounds);
        let noise = Noise::Multiplier(NoiseMultiplier::new(2.0).unwrap());
        learner.plan_with(data.encoding(), Count::new(8).unwrap(), noise).unwrap().claim().event
    };
    let gaussian =
        |count| Event::gaussian(NoiseMultiplier::new(2.0).unwrap()).repeated(Count::new(count).unwrap());
    let limit = ContributionLimit::of(data.encoding().schema().unit());
    let jointly = CoordinateClipping::Jointly { norm: 1.0 };
    assert_eq!(event(jointly, 12, 1), limit.event(gaussian(3)));
    assert_eq!(event(jointly, 13, 1), limit.event(gaussian(4)));
    assert_eq!(event(jointly, 6, 2), limit.event(gaussian(3)));
    assert_eq!(event(CoordinateClipping::BySmoothness { norm: 1.0 }, 12, 1), limit.event(gaussian(12)));
}

/// Over a pass, with scores that differ from step to step, one record moves the sums by at most 1
/// in units of the clip norms, and by nearly 1 if its slope is beyond the limit.
#[test]
fn one_record_moves_a_pass_by_at_most_one_clip_norm() {
    const P: usize = 6;
    let n = 5_000;
    let mut columns: Vec<Vec<f64>> = (0..=P as u64).map(|j| numbers(j + 1, n)).collect();
    // Records that are long, short, zero, and dominated by one coordinate.
    for (slot, scale) in [(0, 1e6), (1, 1e-6), (2, 0.0), (4_500, 1e3)] {
        columns[..P].iter_mut().for_each(|column| column[slot] *= scale);
    }
    columns[3][3] = 1e6;
    let data = encoded(&columns, 1e6);
    let smoothness: Vec<f64> = (0..P).map(|j| 10f64.powi(j as i32 - 3)).collect();
    for neighbours in [Neighbours::ZeroOut, Neighbours::ZeroOutUnordered] {
        let learner = CoordinateDescent::new(Loss::Squared)
            .smoothness(Smoothness::Public(smoothness.clone()))
            .clipping(CoordinateClipping::Jointly { norm: 0.3 })
            .neighbours(neighbours);
        let noise = Noise::Multiplier(NoiseMultiplier::new(1.5).unwrap());
        let plan = learner.plan_with(data.encoding(), Count::new(n as u64).unwrap(), noise).unwrap();
        let grids = plan.grids(&smoothness).unwrap();
        let mut with = Columns::new(&data, Weighting::default());
        with.clip_jointly(&grids);
        for slot in [0, 1, 2, 3, 4, 4_500] {
            let mut without = Columns::new(&data, Weighting::default());
            without.clip_jointly(&grids);
            without.present[slot] = false;
            let mut square = 0.0;
            for (j, grid) in grids.iter().enumerate() {
                // The record's score may be anything when this coordinate has its turn.
                let mut scores = numbers(100 + j as u64, n);
                scores[slot] *= 1e9;
                let sum = |columns: &Columns| {
                    let sum = columns.clamped_sum(Loss::Squared, &scores, j, *grid).unwrap();
                    unprotected(&sum)[0]
                };
                let most = (1u64 << grid.depth()) as f64 / grid.noise_multiplier();
                square += ((sum(&with) - sum(&without)) as f64 / most).powi(2);
            }
            assert!(square <= 1.0, "slot {slot}: {square}");
            let is_beyond = slot != 2;
            assert!(!is_beyond || square > 0.999, "slot {slot}: {square}");
        }
    }
}

/// One round of 40 passes has less noise than 20 rounds of 2 passes: its mean is over more
/// iterates.
#[test]
fn noise_is_averaged_over_passes() {
    const P: usize = 4;
    let mut columns: Vec<Vec<f64>> = (0..P as u64).map(|j| numbers(j + 1, 400)).collect();
    columns.push(vec![0.0; 400]);
    let data = encoded(&columns, 1.0);
    let square = |rounds: u64, passes: u64| -> f64 {
        let learner = CoordinateDescent::new(Loss::Squared)
            .smoothness(Smoothness::Public(vec![1.0 / 3.0; P]))
            .clipping(CoordinateClipping::Jointly { norm: 10.0 })
            .rounds(rounds)
            .steps(passes * P as u64);
        let of = |seed| weights(&learner, &data, 1.0, seed).iter().map(|w| w * w).sum::<f64>();
        (1..=20).map(of).sum()
    };
    // The expected ratio is 20. The sums have 80 degrees of freedom, so a ratio of 4 is ten
    // deviations away.
    let (one, many) = (square(1, 40), square(20, 2));
    assert!(4.0 * one < many, "{one} against {many}");
}

/// Holds for float groups and exact grids, with and without clipping.
#[test]
fn a_weighted_derivative_is_the_weight_times_the_clipped_one() {
    let rows = vec![vec![0.6, -0.7], vec![-0.1, 0.9], vec![0.8, 0.1]];
    for class in [0, 1] {
        let data = crate::testing::classes(&rows, &[class; 3], 2);
        for (neighbours, norm) in
            [Neighbours::ZeroOut, Neighbours::ZeroOutUnordered].into_iter().flat_map(|n| [(n, 0.1), (n, 5.0)])
        {
            let learner = CoordinateDescent::new(Loss::Logistic)
                .smoothness(Smoothness::Declared)
                .clipping(CoordinateClipping::Uniform { norm })
                .neighbours(neighbours);
            let noise = Noise::Multiplier(NoiseMultiplier::new(1.0).unwrap());
            let plan = learner.plan_with(data.encoding(), Count::new(3).unwrap(), noise).unwrap();
            let grids = plan.grids(&[0.1; 3]).unwrap();
            let sum = |weighting: Weighting, j: usize| {
                let columns = Columns::new(&data, weighting);
                let sum = columns.clamped_sum(Loss::Logistic, &[0.3, -2.0, 1.0], j, grids[j]).unwrap();
                unprotected(&sum)[0] as f64
            };
            for (j, grid) in grids.iter().enumerate() {
                let (plain, weighted) = (sum(Weighting::default(), j), sum(Weighting(vec![0.25, 1.0]), j));
                let weight = if class == 0 { 0.25 } else { 1.0 };
                assert!((weighted - weight * plain).abs() <= 4.0, "{neighbours} {norm}: {weighted} {plain}");
                // The sum of three records is within the bound. The broken twin, weights above 1,
                // is not.
                let most = 3.0 * (1u64 << grid.depth()) as f64;
                assert!(weighted.abs() <= most);
                let above_one = sum(Weighting(vec![40.0, 40.0]), j);
                assert!(norm > 1.0 || above_one.abs() > most || neighbours != Neighbours::ZeroOut);
            }
        }
    }
}
