use sordino_noise::danger::{Seeded, seeded};
use sordino_privacy::NoiseMultiplier;

use super::*;

fn count(value: u64) -> Count {
    Count::new(value).unwrap()
}

fn rate(value: f64) -> Sampling {
    Sampling::Poisson { rate: SamplingRate::new(value).unwrap() }
}

fn plan(sampling: Sampling, slots: u64, rounds: u64) -> BatchPlan {
    BatchPlan::new(sampling, count(slots), count(rounds), Neighbours::Replace).unwrap()
}

fn all(plan: BatchPlan, bits: &mut Seeded) -> Vec<Vec<usize>> {
    let mut batches = plan.batches();
    std::iter::from_fn(|| batches.next(bits)).map(|batch| batch.iter().collect()).collect()
}

fn samplings() -> [Sampling; 7] {
    [
        rate(0.1),
        rate(1e-5),
        Sampling::WithoutReplacement { size: count(7) },
        Sampling::WithReplacement { size: count(7) },
        Sampling::ShuffledEpochs { batches: count(6) },
        Sampling::BallsInBins { bins: count(6) },
        Sampling::FullBatch,
    ]
}

/// Checks that a count lies within six standard deviations of its mean. The false-alarm rate is
/// 2e-9 for each of some hundred checks.
#[track_caller]
fn near(counted: f64, trials: f64, p: f64) {
    let deviation = (trials * p * (1.0 - p)).sqrt();
    assert!((counted - trials * p).abs() <= 6.0 * deviation + 1e-9, "{counted} of {trials} at {p}");
}

#[test]
fn every_slot_and_every_pair_is_included_as_often_as_stated() {
    let (slots, rounds) = (10, 30_000);
    let q = 0.3;
    // P(i), P(i and j); with replacement of 3: 1 - .9^3 and 1 - 2 (.9)^3 + .8^3.
    let (one, two): (f64, f64) = (1.0 - 0.9f64.powi(3), 1.0 - 2.0 * 0.9f64.powi(3) + 0.8f64.powi(3));
    for (sampling, single, pair) in [
        (rate(q), q, q * q),
        (Sampling::WithoutReplacement { size: count(3) }, 0.3, 3.0 * 2.0 / 90.0),
        (Sampling::WithReplacement { size: count(3) }, one, two),
        (Sampling::ShuffledEpochs { batches: count(5) }, 0.2, 0.2 / 9.0),
        (Sampling::BallsInBins { bins: count(5) }, 0.2, 0.04),
    ] {
        let mut bits = seeded(7);
        let mut singles = [0.0; 10];
        let mut pairs = [[0.0; 10]; 10];
        let plan = plan(sampling, slots, rounds);
        let mut batches = plan.batches();
        // One batch of each epoch, since batches of one epoch depend on each other.
        let an_epoch = (plan.steps() / rounds) as usize;
        let firsts = std::iter::from_fn(|| batches.next(&mut bits)).step_by(an_epoch);
        for batch in firsts {
            let mut slots: Vec<usize> = batch.iter().collect();
            slots.dedup();
            for &i in &slots {
                singles[i] += 1.0;
                slots.iter().filter(|j| **j > i).for_each(|j| pairs[i][*j] += 1.0);
            }
        }
        for i in 0..10 {
            near(singles[i], rounds as f64, single);
            (i + 1..10).for_each(|j| near(pairs[i][j], rounds as f64, pair));
        }
    }
}

#[test]
fn sizes_of_poisson_batches_have_the_binomial_mean_and_variance() {
    // By coins, by gaps, and thinned (with a mean of 4e-12, so all batches are empty).
    for (p, slots, rounds) in
        [(0.01, 1000u64, 20_000u64), (2f64.powi(-15), 100_000, 1000), (1e-17, 400_000, 10)]
    {
        let mut bits = seeded(8);
        let sizes: Vec<f64> =
            all(plan(rate(p), slots, rounds), &mut bits).iter().map(|b| b.len() as f64).collect();
        let (n, mean) = (rounds as f64, p * slots as f64);
        near(sizes.iter().sum(), n * slots as f64, p);
        let variance = sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / n;
        // The fourth central moment of a binomial is at most 3 v² + v, which gives six standard
        // deviations of the mean square.
        let v = mean * (1.0 - p);
        assert!((variance - v).abs() <= 6.0 * ((2.0 * v * v + v) / n).sqrt(), "{variance} for {v}");
    }
}

/// Pitfall 1: whether a slot joins one step tells nothing about other steps. A single step of balls
/// in bins looks the same, so this test compares two steps.
#[test]
fn pitfall_01_steps_of_poisson_batches_are_independent() {
    let (slots, steps, q) = (10, 20_000u64, 0.2);
    let together = |sampling, rounds, lag: usize| {
        let batches = all(plan(sampling, slots, rounds), &mut seeded(13));
        let both = |(one, other): (&Vec<usize>, &Vec<usize>)| {
            one.iter().filter(|slot| other.contains(slot)).count() as f64
        };
        batches.iter().zip(&batches[lag..]).map(both).sum::<f64>()
    };
    for lag in 1..=3 {
        // Trials that share a step are correlated: the variance is at most 1.4 times that of
        // independent ones (false alarm 4e-7 each).
        let trials = (slots * (steps - lag as u64)) as f64;
        near(together(rate(q), steps, lag), trials, q * q);
        let in_bins = together(Sampling::BallsInBins { bins: count(5) }, steps / 5, lag);
        // In bins, a slot joins both steps only if an epoch ends in between.
        assert!((in_bins - trials * q * q).abs() > 18.0 * (trials * q * q).sqrt(), "lag {lag}: {in_bins}");
    }
}

/// Pitfall 15: an empty batch is a batch. It is returned, it counts as a step, and the next one
/// follows.
#[test]
fn pitfall_15_an_empty_batch_is_a_batch() {
    let mut bits = seeded(9);
    let batches = all(plan(rate(1e-9), 10, 100), &mut bits);
    assert_eq!(batches.len(), 100);
    assert!(batches.iter().all(Vec::is_empty)); // except with probability 1e-6
    let plan = plan(rate(1e-9), 10, 100);
    let mut source = plan.batches();
    let empty = source.next(&mut bits).expect("a batch");
    assert!(empty.is_empty() && empty.groups(4, 2).next().is_none());
    assert_eq!(source.taken(), 1);
    assert_eq!(plan.divisor().map(|d| d > 0.0), Some(true));
}

/// Pitfall 1: batches and event come from one value, and no more batches are drawn than the event
/// accounts for.
#[test]
fn pitfall_01_the_event_is_that_of_the_sampler() {
    let step = || Event::gaussian(NoiseMultiplier::new(1.0).unwrap());
    let json = |sampling, rounds| serde_json::to_value(plan(sampling, 60, rounds).event(step())).unwrap();
    let gaussian = serde_json::to_value(step()).unwrap();
    let repeated = |event: serde_json::Value| serde_json::json!({"type":"repeated","count":3,"event":event});
    let sampled = |kind: &str| {
        repeated(serde_json::json!({"type":kind,"sample_size":7,"population":60,"event":gaussian}))
    };
    let expected = [
        repeated(serde_json::json!({"type":"poisson_sampled","sampling_rate":0.1,"event":gaussian})),
        repeated(serde_json::json!({"type":"poisson_sampled","sampling_rate":1e-5,"event":gaussian})),
        sampled("sampled_without_replacement"),
        sampled("sampled_with_replacement"),
        serde_json::json!({"type":"shuffled_epochs","epochs":3,"event":gaussian}),
        serde_json::json!({"type":"balls_in_bins","bins":6,"epochs":3,"event":gaussian}),
        repeated(gaussian.clone()),
    ];
    for (sampling, expected) in samplings().into_iter().zip(expected) {
        assert_eq!(json(sampling, 3), expected);
        let plan = plan(sampling, 60, 3);
        assert_eq!(all(plan, &mut seeded(10)).len() as u64, plan.steps());
    }
}

#[test]
fn epochs_take_every_slot_once_and_fixed_batches_have_their_size() {
    let mut bits = seeded(11);
    for sampling in [Sampling::ShuffledEpochs { batches: count(6) }, Sampling::BallsInBins { bins: count(6) }]
    {
        for epoch in all(plan(sampling, 61, 4), &mut bits).chunks(6) {
            let mut slots = epoch.concat();
            slots.sort_unstable();
            assert_eq!(slots, (0..61).collect::<Vec<_>>());
            if let Sampling::ShuffledEpochs { .. } = sampling {
                assert!(epoch.iter().all(|batch| (10..=11).contains(&batch.len())));
            }
        }
    }
    for batch in all(plan(Sampling::WithoutReplacement { size: count(7) }, 60, 20), &mut bits) {
        assert!(batch.len() == 7 && batch.windows(2).all(|pair| pair[0] < pair[1]));
    }
    let batches = all(plan(Sampling::WithReplacement { size: count(90) }, 60, 20), &mut bits);
    assert!(batches.iter().all(|batch| batch.len() == 90 && batch.is_sorted()));
}

#[test]
fn relations_without_a_theorem_are_refused() {
    use Neighbours::{AddRemove, Replace, ZeroOut};
    for (sampling, admitted) in samplings().into_iter().zip([7, 7, 4, 4, 6, 7, 7]) {
        for (bit, neighbours) in [(1, AddRemove), (2, ZeroOut), (4, Replace)] {
            let plan = BatchPlan::new(sampling, count(60), count(1), neighbours);
            assert_eq!(plan.is_ok(), admitted & bit != 0, "{sampling:?} under {neighbours}");
        }
    }
    let error = BatchPlan::new(samplings()[2], count(60), count(1), AddRemove).unwrap_err().to_string();
    assert!(error.contains("need replace"), "{error}");
}

/// Pitfall 2: where n is private, no divisor is made from it.
#[test]
fn pitfall_02_no_divisor_from_a_private_count() {
    let divisor =
        |sampling, neighbours| BatchPlan::new(sampling, count(60), count(1), neighbours).unwrap().divisor();
    assert_eq!(divisor(rate(0.1), Neighbours::ZeroOut), Some(6.0));
    assert_eq!(divisor(rate(0.1), Neighbours::AddRemove), None);
    assert_eq!(divisor(Sampling::FullBatch, Neighbours::AddRemove), None);
    assert_eq!(divisor(Sampling::ShuffledEpochs { batches: count(6) }, Neighbours::ZeroOut), Some(10.0));
}

#[test]
fn plans_that_cannot_be_drawn_are_refused() {
    let refused = |sampling, slots, rounds| {
        BatchPlan::new(sampling, count(slots), count(rounds), Neighbours::Replace).unwrap_err().to_string()
    };
    assert!(refused(Sampling::WithoutReplacement { size: count(61) }, 60, 1).contains("61 of 60"));
    assert!(refused(Sampling::ShuffledEpochs { batches: count(61) }, 60, 1).contains("at most 60"));
    assert!(refused(Sampling::FullBatch, 1 << 32, 1).contains("2^32"));
    assert!(refused(Sampling::BallsInBins { bins: count(1 << 30) }, 60, 1 << 30).contains("2^53"));
}

#[test]
fn a_run_resumes_where_it_stopped_or_at_the_start_of_an_epoch() {
    let plan = plan(Sampling::ShuffledEpochs { batches: count(6) }, 60, 3);
    assert!(plan.batches_from(7).unwrap_err().to_string().contains("multiple of 6"));
    assert!(plan.batches_from(24).is_err());
    let mut rest = plan.batches_from(12).unwrap();
    let mut bits = seeded(12);
    assert_eq!(std::iter::from_fn(|| rest.next(&mut bits)).count(), 6);
}

#[test]
fn groups_come_from_fixed_blocks_and_surplus_slots_are_groups_of_one() {
    let batch = Batch::of(vec![0, 1, 3, 5, 9, 10, 30]);
    let groups = |batch: &Batch| {
        batch.groups(8, 2).map(|group| group.into_slots().collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(groups(&batch), [vec![0, 1], vec![3], vec![5], vec![9, 10], vec![30]]);
    // Without slot 1, only slot 3 moves, from a group of its own into the block's group; other
    // blocks stay as they are.
    let without = Batch::of(vec![0, 3, 5, 9, 10, 30]);
    assert_eq!(groups(&without), [vec![0, 3], vec![5], vec![9, 10], vec![30]]);
    let all = Batch::all(10);
    assert_eq!(all.groups(8, 8).map(|group| group.len()).collect::<Vec<_>>(), [8, 2]);
    assert_eq!(all.iter().count(), 10);
    assert!(!format!("{batch:?}").contains('3'));
}
