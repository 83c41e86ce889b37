//! Measurements as lines of JSON: `{workload, system, metric, value, config}`. The programs in
//! `bench/peers` print the same lines for the same work, and `cargo xtask bench` puts them side by
//! side.
#![expect(clippy::print_stdout, reason = "the lines are the program's result")]
#![forbid(unsafe_code)]

pub mod process;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The folder of the documentation: that of the checkout from which Cargo runs the program, or
/// `docs` in the working folder.
pub fn docs() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR");
    own.map_or_else(|| PathBuf::from("docs"), |own| Path::new(&own).join("../docs"))
}

/// The options of a benchmark program.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Less work, to see that everything runs.
    pub quick: bool,
    /// N of `--turns N`: contestants take turns, N times each, and wait in between.
    turns: Option<usize>,
}

impl Options {
    /// The options in the program's arguments. `--ends`, which asks for both ends of intervals, is
    /// ignored: Sordino always prints them.
    pub fn from_arguments() -> Self {
        let turns = std::env::args().skip_while(|word| word != "--turns").nth(1);
        Self {
            quick: std::env::args().any(|word| word == "--quick"),
            turns: turns.and_then(|turns| turns.parse().ok()),
        }
    }

    /// The program's arguments that are not options.
    pub fn words(self) -> Vec<String> {
        let mut words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--quick").collect();
        if let Some(at) = words.iter().position(|word| word == "--turns") {
            words.drain(at..words.len().min(at + 2));
        }
        words
    }

    /// How many blocks of work a figure is the median of.
    pub fn blocks(self) -> usize {
        self.turns.unwrap_or(if self.quick { 3 } else { 7 })
    }

    /// Before each block: if contestants take turns, says so and waits for a line on standard
    /// input.
    pub fn wait(self) {
        if self.turns.is_some() {
            println!("waiting");
            // Without a line, for instance if the input is closed, the turn begins at once.
            let _ = std::io::stdin().read_line(&mut String::new());
        }
    }

    /// How long one figure is measured: calls are repeated until this time has passed.
    pub fn fill(self) -> Duration {
        Duration::from_millis(if self.quick { 20 } else { 200 })
    }
}

/// Prints one measurement of Sordino.
pub fn emit(workload: &str, metric: &str, value: f64, config: Value) {
    emit_for("sordino", workload, metric, value, config);
}

/// Prints one measurement of a variant of Sordino.
pub fn emit_for(system: &str, workload: &str, metric: &str, value: f64, config: Value) {
    let line = json!({
        "workload": workload, "system": system, "metric": metric, "value": value, "config": config,
    });
    println!("{line}");
}

/// The median of the seconds of one call, after a first call that is not counted.
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
    // Not empty: there are at least three.
    taken[taken.len() / 2]
}
