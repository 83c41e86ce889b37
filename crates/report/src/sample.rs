//! Runs for tests: the complete one of the example, a minimal one, and one that promises nothing.

#[path = "../examples/sample/mod.rs"]
mod complete;

use sordino_privacy::Statement;

pub(crate) use self::complete::logistic;
use crate::{BoundsOrigin, DataFacts, MethodFacts, Released, RunFacts, Task};

/// A minimal run: no rows, no budget, no scores, δ = 0.
pub(crate) fn bare() -> RunFacts {
    let released =
        Released { model: "ridge regression".into(), task: Task::Regression, target: None, weights: 3 };
    let source = DataFacts {
        data: "table".into(),
        identity: None,
        rows: None,
        features: None,
        max_records: None,
        bounds: BoundsOrigin::Declared,
    };
    let method = MethodFacts { name: "output perturbation".into(), settings: Vec::new() };
    let guarantee = r#"{"neighbours":"add_remove","unit":"record",
        "epsilon":{"lower":0.5,"upper":0.5},"delta":0.0,
        "accountant":"pure","event":{"type":"pure","epsilon":0.5},
        "arithmetic":0.0,"seeded":false,"metered":false}"#;
    RunFacts::new(released, source, method, read(guarantee))
}

/// A release without any noise.
pub(crate) fn unbounded() -> RunFacts {
    let guarantee = r#"{"neighbours":"add_remove","unit":"record",
        "epsilon":{"lower":null,"upper":null},"delta":0.0,
        "accountant":"non_private","event":{"type":"non_private"},
        "arithmetic":0.0,"seeded":false,"metered":false}"#;
    let mut run = bare();
    run.guarantee = read(guarantee);
    run
}

fn read(json: &str) -> Statement {
    serde_json::from_str(json).unwrap()
}
