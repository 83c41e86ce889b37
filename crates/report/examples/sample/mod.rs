//! A run for the example and for tests.

use sordino_privacy::{
    Budget, Charge, Count, Delta, Epsilon, Event, Guarantee, Inflation, Neighbours, NoiseMultiplier,
    SamplingRate, Terms,
};
use sordino_report::{
    Better, Bin, BoundsOrigin, BudgetUse, Calibration, Confusion, Curve, DataFacts, DecisionRule,
    DeclaredColumns, Evaluation, GroupScores, Groups, Interval, MethodFacts, Provenance, PublicData,
    PublicRows, Released, ReleasedFile, Requested, RunFacts, Scale, Score, Task, Tuning,
};

/// DP-SGD for logistic regression on a table of 455 records. The scores are made up; the privacy
/// numbers are real.
pub(crate) fn logistic() -> RunFacts {
    let released = Released {
        model: "logistic regression".into(),
        task: Task::Classification,
        target: Some("diagnosis".into()),
        weights: 31,
    };
    let rows = PublicRows::new(Count::new(455).unwrap(), Neighbours::ZeroOut).unwrap();
    let source = DataFacts {
        data: "breast-cancer.csv.gz".into(),
        identity: Some("sha256 4f1c…e02a".into()),
        rows: Some(rows),
        features: Some(30),
        max_records: None,
        bounds: BoundsOrigin::Declared,
    };
    let method = MethodFacts {
        name: "DP-SGD".into(),
        settings: vec![
            ("loss", "logistic").into(),
            ("steps", 200_u64).into(),
            ("sampling_rate", 0.25).into(),
            ("clip_norm", 1.0).into(),
            ("noise_multiplier", NOISE).into(),
            ("divisor", 113.75).into(),
            ("learning_rate", 2.0).into(),
            ("averaging", true).into(),
        ],
    };
    let (guarantee, budget) = charged();
    let mut run = RunFacts::new(released, source, method, guarantee);
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-5).unwrap());
    run.requested = Some(Requested { epsilon, delta });
    run.budget = Some(budget);
    run.evaluation = Some(evaluation());
    run.tuning = Tuning::WithoutData;
    run.provenance = Some(provenance());
    run.finished = Some("2026-11-16T03:40:00Z".into());
    run.configuration = Some(
        "data = \"examples/data/breast-cancer.csv.gz\"\nschema = \"examples/breast-cancer.toml\"\ntarget \
        = \"diagnosis\"\n\
         epsilon = 1.0\ndelta = 1e-5\nledger = \"patients.ledger\"\n"
            .into(),
    );
    run.notes = vec!["Weights are averages over the last half of the steps.".into()];
    run
}

fn provenance() -> Provenance {
    let declared = |first: &str, last: Option<&str>, columns, declared: &str| DeclaredColumns {
        first: first.into(),
        last: last.map(Into::into),
        columns,
        declared: declared.into(),
        is_target: columns == 1,
    };
    Provenance {
        date: Some("2026-11-16".into()),
        who: Some("ann".into()),
        charges: vec![7],
        files: vec![ReleasedFile {
            name: "model.safetensors".into(),
            sha256: "9a0c4e7d1b3f5a8c2e6d0b9f7a4c1e3d5b8f2a6c9e0d4b7f1a3c5e8d2b6f9a0c".into(),
        }],
        schema_digest: Some("3b1f0c0a5d8e4f7a9c2b6d1e8f3a7c5b0d9e2f4a6c8b1d3e5f7a9c0b2d4e6f81".into()),
        columns: vec![
            declared("diagnosis", None, 1, "category: malignant, benign"),
            declared("mean_radius", Some("worst_fractal_dimension"), 30, "number from 0 to 30"),
        ],
    }
}

/// The least noise with ε <= 1 at δ = 1e-5 for 200 Poisson batches at rate 1/4, rounded up.
const NOISE: f64 = 13.2956;

/// The guarantee from a budget of ε = 3 that has paid for a statistic of ε = 1/2, and the budget
/// before and after.
fn charged() -> (Guarantee, BudgetUse) {
    let (epsilon, delta) = (Epsilon::new(3.0).unwrap(), Delta::new(1e-5).unwrap());
    let mut budget = Budget::new(Terms::new(epsilon, Neighbours::ZeroOut).with_delta(delta));
    drop(budget.charge(Event::Pure { epsilon: Epsilon::new(0.5).unwrap() }).unwrap());
    let spent = |budget: &Budget| Epsilon::new(budget.total().unwrap()).unwrap();
    let spent_before = spent(&budget);
    let step = Event::gaussian(NoiseMultiplier::new(NOISE).unwrap());
    let steps = step.poisson_sampled(SamplingRate::new(0.25).unwrap()).repeated(Count::new(200).unwrap());
    let permit = budget.charge(steps).unwrap().with_arithmetic(Inflation::new(0.0009).unwrap());
    let spent_after = spent(&budget);
    let (ledger, data_set) = ("patients.ledger".into(), "breast-cancer.csv.gz".into());
    (
        permit.guarantee().clone(),
        BudgetUse { ledger, data_set, epsilon, delta, spent_before, spent_after, whole: None },
    )
}

/// Made-up curves with a usual shape.
fn evaluation() -> Evaluation {
    let mut loss = Curve::new("loss", Scale::Number, Better::Lower);
    let mut accuracy = Curve::new("accuracy", Scale::Share, Better::Higher);
    for step in (0..=200_u32).step_by(10) {
        let t = f64::from(step);
        let wobble = 0.012 * (t / 7.0).sin() * (1.0 - (-t / 20.0).exp());
        loss.push(u64::from(step), 0.21 + 0.483 * (-t / 38.0).exp() + wobble);
        let right = 0.947 - 0.32 * (-t / 25.0).exp() - wobble;
        // A share of 114 records.
        accuracy.push(u64::from(step), (114.0 * right).round() / 114.0);
    }
    let last = |curve: &Curve| curve.points.last().and_then(|point| point.value).unwrap();
    let data = PublicData::declared("breast-cancer-test.csv.gz", Some(114));
    let scores = vec![
        Score::share("accuracy", last(&accuracy))
            .against(71.0 / 114.0)
            .within(interval(0.88, 0.98, "Wilson")),
        Score::new("loss", last(&loss), Better::Lower).against(0.66).within(interval(0.12, 0.3, "normal")),
    ];
    let mut evaluation = Evaluation::new(data, scores);
    evaluation.curves = vec![accuracy, loss];
    let classes = vec!["malignant".to_owned(), "benign".to_owned()];
    evaluation.confusion = Some(Confusion { classes, counts: vec![vec![39, 4], vec![2, 69]] });
    let bin = |from: f64, records, stated, observed| Bin {
        from,
        to: from + 0.5,
        records,
        stated: Some(stated),
        observed: Some(observed),
        interval: interval(observed - 0.04, observed + 0.04, "Wilson"),
    };
    let bins = vec![bin(0.0, 41, 0.06, 0.05), bin(0.5, 73, 0.93, 0.94)];
    evaluation.calibration = Some(Calibration { of: "the probability of benign".into(), error: 0.01, bins });
    evaluation.threshold = Some(DecisionRule { class: "malignant".into(), probability: 0.4 });
    let group = |value: &str, records, few, accuracy| GroupScores {
        value: value.into(),
        records,
        few,
        scores: vec![Score::share("accuracy", accuracy).within(interval(accuracy - 0.06, 1.0, "Wilson"))],
    };
    let groups = vec![group("first", 100, false, 0.95), group("second", 14, true, 0.93)];
    evaluation.groups = Some(Groups { column: "hospital".into(), groups, others: 0 });
    evaluation.curves_of = Some(
        "The curve is of single iterates on the way. The released model is the mean \
        of the last half of them; its own score is the mark."
            .into(),
    );
    evaluation
}

fn interval(lower: f64, upper: f64, method: &str) -> Option<Interval> {
    Some(Interval { lower, upper, method: method.into() })
}
