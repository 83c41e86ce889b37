//! One contract for every learner: register it in [`learners`] and it is held to all of this.

use sordino_data::{Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table};
use sordino_learn::{
    CoordinateClipping, CoordinateDescent, GradientDescent, LearnError, LearningPlan, LinearModel, Loss,
    Noise, Smoothness,
};
use sordino_noise::danger::seeded;
use sordino_optim::{Averaging, TrainingOptions, UpdateRule};
use sordino_privacy::{
    Budget, Charge, Claim, Count, Delta, Epsilon, Event, Neighbours, NoiseMultiplier, Permit, SamplingRate,
    Terms, Unit, danger,
};

type AnyPlan = Box<dyn LearningPlan<Model = LinearModel>>;
type MakePlan = fn(Loss, &Encoding, u64, Noise) -> Result<AnyPlan, LearnError>;

/// Name, and how its plan is made. A learner that needs many steps to converge takes them.
fn learners() -> Vec<(&'static str, MakePlan)> {
    vec![
        ("gradient descent, full batches", |loss, encoding, n, noise| {
            let learner =
                GradientDescent::full_batch(loss).training(patient(encoding, loss)).steps(count(600));
            Ok(Box::new(learner.plan_with(encoding, count(n), noise)?))
        }),
        ("gradient descent, Poisson samples", |loss, encoding, n, noise| {
            let rate = SamplingRate::new(1.0).unwrap();
            let learner =
                GradientDescent::poisson(loss, rate).training(patient(encoding, loss)).steps(count(600));
            Ok(Box::new(learner.plan_with(encoding, count(n), noise)?))
        }),
        ("gradient descent, fixed size", |loss, encoding, n, noise| {
            let learner = GradientDescent::fixed_size(loss, count(n)).training(patient(encoding, loss));
            Ok(Box::new(learner.steps(count(600)).plan_with(encoding, count(n), noise)?))
        }),
        ("coordinate descent", |loss, encoding, n, noise| {
            let learner = CoordinateDescent::new(loss).smoothness(Smoothness::Declared).l2(L2);
            let learner = learner.clipping(CoordinateClipping::BySmoothness { norm: 3.0 });
            let learner = learner.rounds(12).steps(40 * encoding.width() as u64);
            Ok(Box::new(learner.plan_with(encoding, count(n), noise)?))
        }),
        ("coordinate descent, clipped jointly", |loss, encoding, n, noise| {
            let learner = CoordinateDescent::new(loss).smoothness(Smoothness::Declared).l2(L2);
            let learner = learner.clipping(CoordinateClipping::Jointly { norm: 3.0 });
            let learner = learner.rounds(12).steps(40 * encoding.width() as u64);
            Ok(Box::new(learner.plan_with(encoding, count(n), noise)?))
        }),
    ]
}

const L2: f64 = 0.05;

fn patient(encoding: &Encoding, loss: Loss) -> TrainingOptions {
    TrainingOptions {
        rule: UpdateRule::Nesterov { momentum: 0.9 },
        learning_rate: 1.0 / (loss.smoothness(encoding.row_norm()) + L2),
        averaging: Averaging::Tail { fraction: 0.2 },
        l2: L2,
        ..TrainingOptions::default()
    }
}

fn count(n: u64) -> Count {
    Count::new(n).unwrap()
}

fn multiplier(z: f64) -> Noise {
    Noise::Multiplier(NoiseMultiplier::new(z).unwrap())
}

fn unmetered(claim: Claim) -> Permit {
    danger::unmetered(claim, Unit::Record, Delta::new(1e-6).unwrap()).unwrap()
}

fn schema(width: usize) -> Schema {
    let features: String = (0..width)
        .map(|j| format!("columns.x{j} = {{ kind = 'number', bounds = [-1, 1], missing = 0 }}\n"))
        .collect();
    let target = "columns.y = { kind = 'category', values = ['no', 'yes'], missing = 'no' }\n";
    Schema::from_toml(&(features + target)).unwrap()
}

fn encoded(columns: Vec<Vec<f64>>, labels: &[bool]) -> Encoded {
    let schema = schema(columns.len());
    let mut names: Vec<String> = (0..columns.len()).map(|j| format!("x{j}")).collect();
    let mut raw = RawTable::new();
    for (name, column) in names.iter().zip(columns) {
        raw = raw.numbers(name, column).unwrap();
    }
    raw = raw.texts("y", labels.iter().map(|y| Some(if *y { "yes" } else { "no" }))).unwrap();
    names.push("y".to_owned());
    let options = EncodingOptions {
        target: Some("y".to_owned()),
        intercept: true,
        row_norm: Some(1.0),
        ..EncodingOptions::default()
    };
    let encoding = Encoding::new(&schema, &names, options).unwrap();
    let table = Table::new(raw, &schema, Door::Permissive, &mut seeded(1)).unwrap();
    Encoded::new(&encoding, &table).unwrap()
}

/// 400 records of which the first column tells the class, mostly.
fn easy() -> Encoded {
    let x = |i: usize, step: usize| ((i * step) % 400) as f64 / 200.0 - 1.0;
    let columns = vec![(0..400).map(|i| x(i, 7)).collect(), (0..400).map(|i| x(i, 13)).collect()];
    let labels: Vec<bool> = (0..400).map(|i| x(i, 7) + 0.5 * x(i, 171) > 0.1).collect();
    encoded(columns, &labels)
}

/// The minimum of the mean loss plus penalty, by plain gradient descent in f64.
fn optimum(data: &Encoded) -> Vec<f64> {
    let (width, n) = (data.width(), data.slots());
    let mut w = vec![0.0; width];
    for _ in 0..20_000 {
        let mut gradient: Vec<f64> = w.iter().map(|w| L2 * w).collect();
        for slot in 0..n {
            let Some(row) = data.row(slot) else { continue };
            let mut score = [row.iter().zip(&w).map(|(x, w)| f64::from(*x) * w).sum::<f64>()];
            Loss::Logistic.differentiate(&mut score, f64::from(data.target(slot)));
            gradient.iter_mut().zip(row).for_each(|(g, x)| *g += score[0] * f64::from(*x) / n as f64);
        }
        let norm: f64 = gradient.iter().map(|g| g * g).sum();
        w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= 3.0 * g);
        if norm < 1e-20 {
            break;
        }
    }
    w
}

#[test]
fn a_permit_for_something_else_is_refused_before_data_is_read() {
    let data = easy();
    let wrong_data = encoded(vec![vec![0.0; 3]], &[true; 3]);
    for (name, make) in learners() {
        let plan = make(Loss::Logistic, data.encoding(), 400, multiplier(3.0)).unwrap();
        let mut claim = plan.claim();
        claim.event = Event::composed([claim.event, Event::Pure { epsilon: Epsilon::new(0.1).unwrap() }]);
        // Even with data that would be refused too: the permit comes first.
        let refused = plan.fit(&wrong_data, unmetered(claim));
        assert!(matches!(refused, Err(LearnError::Release(_))), "{name}: {refused:?}");
        let mut claim = plan.claim();
        let is_zero_out = claim.neighbours == Neighbours::ZeroOut;
        claim.neighbours =
            if is_zero_out { Neighbours::ZeroOutUnordered } else { Neighbours::ReplaceOrdered };
        let refused = plan.fit(&data, unmetered(claim));
        assert!(matches!(refused, Err(LearnError::Release(_))), "{name}: {refused:?}");
        let refused = plan.fit(&wrong_data, unmetered(plan.claim()));
        assert!(matches!(refused, Err(LearnError::OtherEncoding | LearnError::OtherSize { .. })), "{name}");
    }
}

#[test]
fn a_budget_pays_for_a_fit_and_for_no_second_one() {
    let data = easy();
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    for (name, make) in learners() {
        let plan = make(Loss::Logistic, data.encoding(), 400, Noise::Budget { epsilon, delta }).unwrap();
        let mut budget = Budget::new(Terms::new(epsilon, plan.claim().neighbours).with_delta(delta));
        let permit = budget.charge_claim(plan.claim()).unwrap();
        let release = plan.fit(&data, permit).unwrap();
        let guarantee = release.guarantee();
        assert!(
            guarantee.holds() && guarantee.metered && guarantee.epsilon.upper <= 1.0,
            "{name}: {guarantee}"
        );
        assert!(guarantee.epsilon.upper > 0.95, "{name} leaves budget unused: {guarantee}");
        assert!(budget.charge_claim(plan.claim()).is_err(), "{name}");
    }
}

#[test]
fn with_little_noise_every_learner_finds_the_optimum() {
    let data = easy();
    let optimum = optimum(&data);
    for (name, make) in learners() {
        let plan = make(Loss::Logistic, data.encoding(), 400, multiplier(0.02)).unwrap();
        let release = plan.fit_with(&data, unmetered(plan.claim()), &mut seeded(4)).unwrap();
        assert!(!release.guarantee().holds(), "{name}: seeded");
        let weights = release.value().weights().next().unwrap();
        let distance = weights.iter().zip(&optimum).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(distance < 1e-3, "{name}: {distance}, {weights:?} against {optimum:?}");
    }
}

/// Sane results, and no error that depends on a record.
#[test]
fn strange_data_is_learned_from_like_any_other() {
    let nan_and_infinity = vec![vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 0.5]];
    let cases = [
        ("a constant column", encoded(vec![vec![0.3; 6]], &[true, false, true, false, true, false])),
        ("one class", encoded(vec![vec![0.1, 0.5, -0.7]], &[true; 3])),
        ("one record", encoded(vec![vec![0.9]], &[true])),
        ("more columns than records", encoded(vec![vec![0.5, -0.5]; 30], &[true, false])),
        ("no numbers", encoded(nan_and_infinity, &[true, false, true, false, true])),
    ];
    for (name, make) in learners() {
        for (case, data) in &cases {
            let plan = make(Loss::Logistic, data.encoding(), data.slots() as u64, multiplier(1.0)).unwrap();
            let release = plan.fit_with(data, unmetered(plan.claim()), &mut seeded(2)).unwrap();
            let sane = release.value().weights().flatten().all(|w| w.is_finite());
            assert!(sane, "{name}, {case}");
        }
    }
}

#[test]
fn a_loss_for_another_target_is_refused_by_the_schema_alone() {
    let data = easy();
    for (name, make) in learners() {
        for loss in [Loss::Squared, Loss::Softmax { classes: 3 }, Loss::SmoothHinge { width: 0.0 }] {
            let refused = make(loss, data.encoding(), 400, multiplier(1.0));
            assert!(refused.is_err(), "{name} {loss:?}");
        }
    }
}
