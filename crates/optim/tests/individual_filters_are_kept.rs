//! A run with an individual filter: what is charged, who takes part, and whether it keeps its
//! claim.

mod support;

use std::num::NonZero;
use std::sync::OnceLock;

use sordino_audit::{Audit, MechanismTester, Verdict};
use sordino_data::{Batch, ContributionLimit, Sampling, UnitRule};
use sordino_noise::Bits;
use sordino_noise::danger::seeded;
use sordino_noise::grid::SumError;
use sordino_optim::{
    Checkpoints, Clip, ClippedSum, Clipping, Contributions, FloatSums, Objective, OptimError, PlanOptions,
    Training, TrainingOptions, TrainingPlan,
};
use sordino_privacy::{
    Accountant, Count, Delta, Neighbours, NoiseMultiplier, SamplingRate, Unit, accounting, danger,
};
use support::{Points, options, permit, plan};

fn count(n: u64) -> Count {
    Count::new(n).unwrap()
}

/// Full batches of n records with this limit, clip norm and noise multiplier, over `steps` steps.
fn filtered(n: u64, limit: u64, clip: f64, noise: f64, steps: u64) -> TrainingPlan {
    plan(options(n, limit, Sampling::FullBatch, clip), noise).filtered_over(count(steps)).unwrap()
}

/// The parameters after each step, and what each record has spent.
fn run<O: Objective>(
    objective: &O,
    plan: &TrainingPlan,
    learning_rate: f64,
    bits: &mut dyn Bits,
) -> (Vec<f64>, Vec<f64>) {
    let options = TrainingOptions { learning_rate, ..TrainingOptions::default() };
    let (spent, mut path) = (OnceLock::new(), Vec::new());
    let training = Training::new(plan, objective, options).unwrap().private_spending_for_owner(&spent);
    // At δ = 0 an unbounded ε is priced at once.
    let permit = danger::unmetered(plan.claim(), Unit::Record, Delta::new(0.0).unwrap()).unwrap();
    training.run_with(permit, bits, &mut |progress| path.push(progress.parameters()[0])).unwrap();
    (path, spent.into_inner().unwrap_or_default())
}

#[test]
fn the_charge_is_that_of_the_limit_however_many_steps() {
    let usual = plan(options(10, 4, Sampling::FullBatch, 1.0), 2.0);
    let longer = usual.clone().filtered_over(count(1000)).unwrap();
    assert_eq!(longer.claim(), usual.claim());
    assert_eq!((longer.batches().steps(), longer.individual_limit()), (1000, Some(count(4))));
    assert_eq!(longer.claim_of(3).unwrap(), usual.claim_of(3).unwrap());
    assert_eq!(longer.claim_of(900).unwrap(), usual.claim());
    let points = Points(vec![vec![1.0]; 10]);
    let training = Training::new(&longer, &points, TrainingOptions::default()).unwrap();
    let release = training.run(permit(usual.claim()), &mut |_| {}).unwrap();
    assert_eq!(release.guarantee().event, usual.event());
    assert_eq!(release.guarantee().arithmetic.get(), 0.0, "on an exact grid");
    assert_ne!(longer.claim(), plan(options(10, 1000, Sampling::FullBatch, 1.0), 2.0).claim());
}

/// A record at the clip norm takes part in K steps and in none after them; one at a third of it in
/// nine times as many; an absent one in all or none. What is seen is what the others contribute.
#[test]
fn a_record_that_was_dropped_contributes_nothing_afterwards() {
    // The gradient is w - x: w stays near 0 compared with x, as the learning rate is small.
    let rate = 1e-9;
    let (clip, noise, limit, steps) = (3.0, 1e-3, 4, 60);
    let points = Points(vec![vec![-1e3], vec![-1.0], vec![f64::NAN]]);
    let (path, spent) = run(&points, &filtered(3, limit, clip, noise, steps), rate, &mut seeded(31));
    // Steps of w in units of the learning rate over n = 3; the noise has deviation 3e-3.
    let moved: Vec<f64> = std::iter::once(0.0)
        .chain(path.iter().copied())
        .collect::<Vec<_>>()
        .windows(2)
        .map(|pair| (pair[0] - pair[1]) / rate * 3.0)
        .collect();
    let expected = |step: usize| {
        let far = if step < 4 { 3.0 } else { 0.0 };
        let near = if step < 35 { 1.0 } else { 0.0 };
        far + near
    };
    for (step, moved) in moved.iter().enumerate() {
        // Rounding up leaves room for 35 or 36 steps at a third of the clip norm.
        let slack = if step == 35 { 1.1 } else { 0.1 };
        assert!((moved - expected(step)).abs() < slack, "step {step}: {moved}");
    }
    assert_eq!(spent, [4.0, 4.0, 0.0]);
}

/// With all norms at the clip norm, a filter over as many steps as its limit changes nothing: the
/// run is the usual one, bit for bit (on the exact grid, which is that of `add_remove`).
#[test]
fn full_contributions_give_the_usual_run() {
    let mut usual = options(5, 7, Sampling::FullBatch, 1.0);
    (usual.neighbours, usual.divisor) = (Neighbours::AddRemove, Some(5.0));
    let usual = plan(usual, 1.5);
    let same = usual.clone().filtered_over(count(7)).unwrap();
    let points = Points((0..5).map(|i| vec![1e6 + f64::from(i)]).collect());
    let (path, none) = run(&points, &usual, 0.1, &mut seeded(32));
    let (filtered, spent) = run(&points, &same, 0.1, &mut seeded(32));
    assert_eq!(path, filtered);
    assert!(none.is_empty(), "no filter, nothing to tell");
    assert!(spent.iter().all(|spent| (*spent - 7.0).abs() < 1e-6), "{spent:?}");
}

#[test]
fn what_a_filter_does_not_serve_is_refused() {
    let refused = |options: PlanOptions, steps: u64| {
        let plan = TrainingPlan::with_noise(options, NoiseMultiplier::new(1.0).unwrap()).unwrap();
        plan.filtered_over(count(steps)).unwrap_err().to_string()
    };
    let full = || options(4, 3, Sampling::FullBatch, 1.0);
    let poisson = Sampling::Poisson { rate: SamplingRate::new(0.5).unwrap() };
    assert!(refused(options(4, 3, poisson, 1.0), 9).contains("needs full batches"));
    let clipping = Clipping::Automatic { norm: 1.0, gamma: 0.1 };
    assert!(refused(PlanOptions { clipping, ..full() }, 9).contains("needs flat clipping"));
    assert!(refused(PlanOptions { scales: Some(vec![1.0]), ..full() }, 9).contains("needs flat clipping"));
    let rule = UnitRule::Column { column: "person".into(), max_records: count(2) };
    let limit = ContributionLimit::of(&rule);
    assert!(refused(PlanOptions { limit, ..full() }, 9).contains("counts single records"));
    assert!(refused(full(), 2).contains("more steps than rounds"));
    // Checkpoints would hold private numbers.
    let plan = filtered(1, 1, 1.0, 1.0, 5);
    let points = Points(vec![vec![0.0]]);
    let training = Training::new(&plan, &points, TrainingOptions::default()).unwrap();
    let checkpoints = Checkpoints { path: "never-written.checkpoint".into(), every: 1, keep: false };
    let error = training.with_checkpoints(checkpoints).unwrap_err();
    assert!(matches!(error, OptimError::IndividualFilter { .. }), "{error}");
    // An objective that cannot bound what records contribute.
    let mute = Mute(Points(vec![vec![0.0]]), false);
    let error = Training::new(&plan, &mute, TrainingOptions::default()).unwrap_err().to_string();
    assert!(error.contains("bounds what each record contributes"), "{error}");
}

/// An objective without bounds on contributions, or with bounds of 0: the filter is there and is
/// told nothing.
#[derive(Debug)]
struct Mute(Points, bool);

impl Objective for Mute {
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn slots(&self) -> usize {
        self.0.slots()
    }

    fn float_sums(&self) -> FloatSums {
        self.0.float_sums()
    }

    fn contributions(&self) -> Option<&dyn Contributions> {
        self.1.then_some(self)
    }

    fn clipped_sum(
        &self,
        w: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError> {
        self.0.clipped_sum(w, batch, clip, threads)
    }
}

impl Contributions for Mute {
    fn norms(&self, _: &[f64], batch: &Batch, _: &Clip<'_>, _: NonZero<usize>) -> Vec<f64> {
        batch.iter().map(|_| 0.0).collect()
    }
}

/// One record that is clipped in every step, or none; the attacker sees every iterate, and scores
/// the first step and all of them. μ is 1 with a limit of one step, and 3 for nine steps without a
/// filter: at δ = 0.1, ε is 1.2 and 5.7.
fn audit(observe: impl Fn(&Points, &mut dyn Bits) -> (f64, f64) + Sync, claimed: f64) -> Audit {
    let (there, absent) = (Points(vec![vec![-1e6]]), Points(vec![vec![f64::NAN]]));
    let tester = MechanismTester::new(sordino_privacy::Epsilon::new(claimed).unwrap())
        .with_delta(Delta::new(0.1).unwrap())
        .with_samples(4000, 4000)
        .at_confidence(1.0 - 1e-7)
        .seeded(33);
    tester.test_pairs(observe, &[(&there, &absent)]).unwrap()
}

#[test]
fn a_filtered_run_keeps_its_claim_and_one_that_is_not_asked_is_caught() {
    let plan = filtered(1, 1, 1.0, 1.0, 9);
    let cost = accounting::epsilon(&plan.claim(), Delta::new(0.1).unwrap(), Accountant::Auto).unwrap();
    let seen = |(path, _): (Vec<f64>, Vec<f64>)| (path[0], path[8]);
    let honest =
        audit(|points, bits| seen(run(&Points(points.0.clone()), &plan, 1.0, bits)), cost.bound.upper);
    assert_eq!(honest.verdict, Verdict::NoViolationFound, "{honest}");
    assert!(honest.epsilon > 0.4 * cost.bound.upper, "the audit has lost its power: {honest}");
    let mute = audit(
        |points, bits| seen(run(&Mute(Points(points.0.clone()), true), &plan, 1.0, bits)),
        cost.bound.upper,
    );
    assert_eq!(mute.verdict, Verdict::Violation, "{mute}");
}
