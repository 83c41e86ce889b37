//! Clipped sums as integers: one record is left out, and the number of threads changes.

use std::num::NonZero;

use proptest::prelude::*;
use sordino_data::{
    ContributionLimit, Door, Encoded, Encoding, EncodingOptions, RawTable, Sampling, Scaling, Schema, Table,
    UnitRule,
};
use sordino_learn::{LinearObjective, Loss};
use sordino_noise::danger::{seeded, unprotected};
use sordino_optim::{Clipping, Objective, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier, SamplingRate};

const WIDTH: usize = 3;

fn encoded(rows: &[([f64; WIDTH], bool)]) -> Encoded {
    let numbers: String = (0..WIDTH)
        .map(|j| format!("columns.x{j} = {{ kind = 'number', bounds = [-1e20, 1e20], missing = 'drop' }}\n"))
        .collect();
    let target = "columns.y = { kind = 'category', values = ['no', 'yes'] }\n";
    let schema = Schema::from_toml(&(numbers + target)).unwrap();
    let mut raw = RawTable::new();
    let mut names = Vec::new();
    for j in 0..WIDTH {
        names.push(format!("x{j}"));
        raw = raw.numbers(&names[j], rows.iter().map(|(x, _)| x[j]).collect()).unwrap();
    }
    raw = raw.texts("y", rows.iter().map(|(_, y)| Some(if *y { "yes" } else { "no" }))).unwrap();
    names.push("y".to_owned());
    let options = EncodingOptions {
        target: Some("y".to_owned()),
        scaling: Scaling::None,
        intercept: true,
        row_norm: None,
    };
    let encoding = Encoding::new(&schema, &names, options).unwrap();
    Encoded::new(&encoding, &Table::new(raw, &schema, Door::Permissive, &mut seeded(1)).unwrap()).unwrap()
}

fn plan(n: usize, clipping: Clipping, sampling: Sampling, neighbours: Neighbours) -> TrainingPlan {
    let options = PlanOptions {
        sampling,
        slots: Count::new(n as u64).unwrap(),
        rounds: Count::ONE,
        neighbours,
        clipping,
        scales: None,
        divisor: None,
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    TrainingPlan::with_noise(options, NoiseMultiplier::new(1.0).unwrap()).unwrap()
}

/// The sum of one batch in steps, and how far one record may move it.
fn sum(
    data: &Encoded,
    plan: &TrainingPlan,
    clip_norm: f64,
    w: &[f64],
    threads: usize,
    seed: u64,
) -> (Vec<i64>, f64) {
    let objective = LinearObjective::new(Loss::Logistic, data);
    let clip = plan.clip(clip_norm, objective.dimension(), objective.float_sums()).unwrap();
    let batch = plan.batches().batches().next(&mut seeded(seed)).unwrap();
    let sum = objective.clipped_sum(w, &batch, &clip, NonZero::new(threads).unwrap()).unwrap();
    let bound = clip.grid().clip_units() as f64 * (1.0 + clip.grid().inflation());
    assert!(bound <= (1u64 << clip.grid().depth()) as f64 * (1.0 + 1e-12));
    (unprotected(&sum.gradient).to_vec(), bound)
}

fn distance(a: &[i64], b: &[i64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt()
}

/// Numbers of all sizes, infinity and NaN.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1.0..1.0f64,
        2 => (-20.0..20.0f64, prop_oneof![Just(1.0), Just(-1.0)]).prop_map(|(e, s)| s * 10f64.powf(e)),
        1 => Just(0.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_record_moves_a_sum_by_more_than_the_sensitivity(
        rows in prop::collection::vec((prop::array::uniform3(value()), any::<bool>()), 1..40),
        w in prop::array::uniform4(-3.0..3.0f64),
        out in any::<prop::sample::Index>(),
        seed in any::<u64>(),
        threads in 1usize..4,
    ) {
        let out = out.index(rows.len());
        let n = rows.len();
        let mut without = rows.clone();
        without[out].0 = [f64::NAN; WIDTH]; // does not fit the schema: an empty slot
        let (data, other) = (encoded(&rows), encoded(&without));
        prop_assert!(other.row(out).is_none());
        let poisson = Sampling::Poisson { rate: SamplingRate::new(0.5).unwrap() };
        let clippings = [
            (Clipping::Flat { norm: 0.7 }, 0.7),
            (Clipping::Automatic { norm: 0.7, gamma: 0.01 }, 0.7),
            (Clipping::Coordinates { bounds: vec![0.5, 1e-3, 1e6, 1.0] }, 2.0),
        ];
        for (clipping, clip_norm) in clippings {
            for sampling in [Sampling::FullBatch, poisson] {
                for neighbours in [Neighbours::ZeroOut, Neighbours::ZeroOutUnordered] {
                    let plan = plan(n, clipping.clone(), sampling, neighbours);
                    let (with, bound) = sum(&data, &plan, clip_norm, &w, threads, seed);
                    let (without, _) = sum(&other, &plan, clip_norm, &w, 1, seed);
                    prop_assert!(distance(&with, &without) <= bound * (1.0 + 1e-12), "{clipping:?} \
                        {neighbours}");
                    let sampled = plan.batches().batches().next(&mut seeded(seed)).unwrap();
                    if !sampled.iter().any(|slot| slot == out) {
                        prop_assert_eq!(&with, &without); // a record that is not sampled moves nothing
                    }
                }
            }
        }
    }
}

/// The clipped sum by its definition, record by record, in data units.
fn plain_sum(loss: Loss, data: &Encoded, clip_norm: f64, w: &[f64]) -> Vec<f64> {
    let mut total = vec![0.0; w.len()];
    for (slot, row) in (0..data.slots()).filter_map(|slot| Some((slot, data.row(slot)?))) {
        let dot = |w: &[f64]| row.iter().zip(w).map(|(x, w)| f64::from(*x) * w).sum::<f64>();
        let mut slopes: Vec<f64> = w.chunks_exact(data.width()).map(dot).collect();
        loss.differentiate(&mut slopes, f64::from(data.target(slot)));
        let gradient: Vec<f64> =
            slopes.iter().flat_map(|d| row.iter().map(move |x| d * f64::from(*x))).collect();
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let factor = if norm > clip_norm { clip_norm / norm } else { 1.0 };
        total.iter_mut().zip(&gradient).for_each(|(total, g)| *total += factor * g);
    }
    total
}

fn small_or_nan() -> impl Strategy<Value = f64> {
    prop_oneof![9 => -2.0..2.0f64, 1 => Just(f64::NAN)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Covers numbers of records around whole tiles, empty slots, and gradients on both sides of
    /// the clip norm.
    #[test]
    fn sums_are_those_of_the_definition(
        rows in prop::collection::vec((prop::array::uniform3(small_or_nan()), any::<bool>()), 1..40),
        w in prop::array::uniform8(-3.0..3.0f64),
        clip_norm in 0.3..3.0f64,
    ) {
        let data = encoded(&rows);
        for loss in [Loss::Logistic, Loss::SmoothHinge { width: 0.5 }, Loss::Softmax { classes: 2 }] {
            for neighbours in [Neighbours::ZeroOut, Neighbours::ZeroOutUnordered] {
                let clipping = Clipping::Flat { norm: clip_norm };
                let plan = plan(rows.len(), clipping, Sampling::FullBatch, neighbours);
                let objective = LinearObjective::new(loss, &data);
                let w = &w[..objective.dimension()];
                let clip = plan.clip(clip_norm, w.len(), objective.float_sums()).unwrap();
                let batch = plan.batches().batches().next(&mut seeded(1)).unwrap();
                let sum = objective.clipped_sum(w, &batch, &clip, NonZero::<usize>::MIN).unwrap();
                // Rounding to the grid loses up to one step for the group, or for each record.
                let steps = 1.0 + if clip.is_exact() { rows.len() as f64 } else { 1.0 };
                let plain_sums = plain_sum(loss, &data, clip_norm, w);
                for (units, plain) in unprotected(&sum.gradient).iter().zip(plain_sums) {
                    let off = (*units as f64 * clip.grid().step() - plain).abs();
                    prop_assert!(off <= steps * clip.grid().step() + 1e-9, "{loss:?} {neighbours} {off}");
                }
            }
        }
    }
}

/// The data has more than one block.
#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    let rows: Vec<_> = (0..9000)
        .map(|i| ([f64::from(i).sin(), 1e3 / f64::from(i + 1), f64::from(i % 17)], i % 3 == 0))
        .collect();
    let data = encoded(&rows);
    let plan = plan(9000, Clipping::Flat { norm: 1.0 }, Sampling::FullBatch, Neighbours::ZeroOut);
    let one = sum(&data, &plan, 1.0, &[0.1, -0.2, 0.3, 0.4], 1, 1).0;
    for threads in [2, 3, 7] {
        assert_eq!(sum(&data, &plan, 1.0, &[0.1, -0.2, 0.3, 0.4], threads, 1).0, one);
    }
}

/// Other systems clean values and then train on the raw ones. Here a value beyond its bounds exists
/// only as the clamped one: both data sets give the same sums.
#[test]
fn pitfall_06_only_bounded_values_reach_a_learner() {
    let beyond = encoded(&[([1e300, 0.0, 0.0], true), ([0.0, 2.0, 0.0], false)]);
    let clamped = encoded(&[([1e20, 0.0, 0.0], true), ([0.0, 2.0, 0.0], false)]);
    assert_eq!(beyond.row(0), clamped.row(0));
    let plan = plan(2, Clipping::Flat { norm: 1.0 }, Sampling::FullBatch, Neighbours::ZeroOut);
    let of = |data| sum(data, &plan, 1.0, &[0.1; 4], 1, 1).0;
    assert_eq!(of(&beyond), of(&clamped));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// What an individual filter is told: a record's own length on the grid, in clip norms, is at
    /// most the bound, and not far below it.
    #[test]
    fn a_record_contributes_no_more_than_its_stated_norm(
        rows in prop::collection::vec((prop::array::uniform3(value()), any::<bool>()), 1..12),
        w in prop::array::uniform4(-3.0..3.0f64),
        threads in 1usize..4,
    ) {
        let (data, threads) = (encoded(&rows), NonZero::new(threads).unwrap());
        for neighbours in [Neighbours::ZeroOut, Neighbours::Replace] {
            let plan = plan(rows.len(), Clipping::Flat { norm: 0.7 }, Sampling::FullBatch, neighbours);
            let plan = plan.filtered_over(Count::new(5).unwrap()).unwrap();
            let objective = LinearObjective::new(Loss::Logistic, &data);
            let clip = plan.clip(0.7, objective.dimension(), objective.float_sums()).unwrap();
            prop_assert!(clip.is_exact());
            let batch = plan.batches().batches().next(&mut seeded(1)).unwrap();
            let norms = objective.contributions().unwrap().norms(&w, &batch, &clip, threads);
            prop_assert_eq!(norms.len(), rows.len());
            for (slot, norm) in norms.into_iter().enumerate() {
                let alone = batch.only(|other| other == slot);
                let sum = objective.clipped_sum(&w, &alone, &clip, threads).unwrap();
                let length = distance(unprotected(&sum.gradient), &[0; 4]) / clip.grid().clip_units() as f64;
                prop_assert!(length <= norm / 0.7 * (1.0 + 1e-12), "{length} against {norm}");
                prop_assert!(norm / 0.7 <= length + 4.0 / clip.grid().clip_units() as f64 + 1e-9);
            }
        }
    }
}
