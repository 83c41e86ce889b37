//! One measurement a line, as JSON: `{workload, system, metric, value, config}`. The programs in `bench/peers`
//! print the same lines for the same work; `cargo xtask bench` puts them side by side.
#![expect(clippy::print_stdout, reason = "the lines are the program's result")]
#![forbid(unsafe_code)]

pub mod process;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Less work, to see that everything runs.
    pub quick: bool,
}

impl Options {
    /// From the program's arguments; `--ends` (the ends of intervals are wanted) needs nothing here, since
    /// Sordino always has them.
    pub fn from_arguments() -> Self {
        Self { quick: std::env::args().any(|word| word == "--quick") }
    }

    /// How long one figure is measured: calls are repeated until this is filled.
    pub fn fill(self) -> Duration {
        Duration::from_millis(if self.quick { 20 } else { 200 })
    }
}

/// Prints one measurement of Sordino.
pub fn emit(workload: &str, metric: &str, value: f64, config: Value) {
    emit_for("sordino", workload, metric, value, config);
}

/// Prints one measurement of one of several ways in which Sordino does the work.
pub fn emit_for(system: &str, workload: &str, metric: &str, value: f64, config: Value) {
    let line = json!({
        "workload": workload, "system": system, "metric": metric, "value": value, "config": config,
    });
    println!("{line}");
}

/// Median seconds of one call, after a first call that is not counted.
pub fn seconds(fill: Duration, mut work: impl FnMut()) -> f64 {
    work();
    let mut taken = Vec::new();
    let begun = Instant::now();
    while taken.len() < 3 || begun.elapsed() < fill {
        let start = Instant::now();
        work();
        taken.push(start.elapsed().as_secs_f64());
    }
    taken.sort_by(f64::total_cmp);
    // There are at least three.
    taken[taken.len() / 2]
}
