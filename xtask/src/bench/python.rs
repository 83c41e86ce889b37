//! `cargo xtask bench python`: fits from each kind of table that people have in Python, beside the
//! same fit from Rust; and what the package weighs.
//!
//! Contestants are started first and then take [`turns`], one fit at a time. Before that each fits
//! once, which shows its peak of memory.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::line::{self, Line, Summary};
use super::load::Load;
use super::{Plan, program, script, turns};
use crate::failure::Failure;
use crate::{python, run};

/// The most that a fit from Python may take, of the time of the fit from Rust.
const TIME: f64 = 1.05;
/// The most memory, of what input and encoded rows take together.
const MEMORY: f64 = 1.05;
/// The most seconds of `import sordino`.
const IMPORT: f64 = 0.03;
/// The largest wheel, in MB.
const WHEEL: f64 = 12.0;

/// Builds the wheel as people install it, and measures.
pub(super) fn measure(plan: &Plan) -> Result<Vec<Line>, Failure> {
    let environment = python::environment("bench")?;
    let wheel = python::wheel(&environment, "release", &run::target_dir().join("wheels-bench"))?;
    python::install(&environment, &wheel)?;
    let bytes = std::fs::metadata(&wheel).map_err(|error| Failure::file(&wheel, &error))?.len();
    let interpreter = python::python_of(&environment);
    let data = run::target_dir().join("bench-python");
    let with_options = |mut command: Command| {
        command.arg("--data").arg(&data).args(plan.quick.then_some("--quick"));
        command.args(["--turns", &plan.rounds.to_string()]).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    run::shown(with_options(program(plan)).arg("--write"))?;
    let mut commands = vec![with_options(program(plan))];
    let ours = |interpreter: &Path| with_options(script(plan, interpreter));
    for kind in run::captured(ours(&interpreter).arg("--list"))?.lines() {
        let mut command = ours(&interpreter);
        command.args(["--one", kind]);
        commands.push(command);
    }
    eprintln!("{} contestants, {} turns each", commands.len(), plan.rounds);
    let before = Load::now();
    let mut output = turns::take(commands, plan.rounds)?;
    output.push_str(&run::captured(ours(&interpreter).arg("--imports"))?);
    let mut lines = line::parse(&output, before.others_since())?;
    let size = serde_json::json!({
        "workload": "wheel", "system": "sordino", "metric": "MB", "value": bytes as f64 / 1e6,
    });
    lines.extend(line::parse(&size.to_string(), None)?);
    Ok(lines)
}

/// One line for each figure, with what was asked for.
pub(super) fn table(summaries: &[Summary]) -> String {
    let mut text = format!(
        "{:<24} {:<12} {:>10} {:>9} {:>8} {:>9} {:>9} {:>10} {:>8} {:>6}\n",
        "work", "from", "median", "of Rust", "cpu s", "of Rust", "extra MB", "of in+enc", "", "load"
    );
    for row in summaries {
        let rust = summaries.iter().find(|other| other.workload == row.workload && other.system == "sordino");
        let is_fit = row.workload.starts_with("logistic");
        let ratio = rust.filter(|_| is_fit).map(|rust| row.median / rust.median);
        let memory = of_memory(row);
        let met = match (row.workload.as_str(), ratio) {
            ("import", _) => row.median <= IMPORT,
            ("wheel", _) => row.median <= WHEEL,
            (_, ratio) => {
                ratio.is_none_or(|ratio| ratio <= TIME) && memory.is_none_or(|share| share <= MEMORY)
            }
        };
        let shown =
            |value: Option<f64>, digits| value.map_or(String::new(), |value| format!("{value:.digits$}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<24} {:<12} {:>10} {:>9} {:>8} {:>9} {:>9} {:>10} {:>8} {:>6}",
            row.workload,
            if is_fit && row.system == "sordino" { "Rust" } else { row.system.as_str() },
            format!("{:.4} {}", row.median, row.metric),
            shown(ratio, 3),
            shown(processor(row), 3),
            shown(rust.filter(|_| is_fit).and_then(|rust| Some(processor(row)? / processor(rust)?)), 3),
            shown(number(row, "extra_bytes").map(|bytes| bytes / 1e6), 1),
            shown(memory, 3),
            if met { "met" } else { "MISSED" },
            row.other_load.map_or("?".to_owned(), |load| format!("{load:.2}")),
        );
    }
    let _ = writeln!(
        text,
        "asked: at most {TIME} of Rust's time, {MEMORY} of input and encoded rows, {IMPORT} s, {WHEEL} MB\n\
        load: processors that other processes kept busy, at most; above 0.1, repeat the run"
    );
    text
}

/// The peak of a fit, of what input and encoded rows take: four bytes for each number and label.
fn of_memory(row: &Summary) -> Option<f64> {
    let (input, extra) = number(row, "input_bytes").zip(number(row, "extra_bytes"))?;
    let (rows, columns) = number(row, "rows").zip(number(row, "columns"))?;
    Some((input + extra) / (input + 4.0 * rows * (columns + 1.0)))
}

/// Processor seconds of all threads, which say something also where the machine is not alone.
fn processor(row: &Summary) -> Option<f64> {
    number(row, "processor_s")
}

fn number(row: &Summary, name: &str) -> Option<f64> {
    row.config.get(name).and_then(Value::as_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_met_or_missed() {
        let lines = r#"{"workload":"logistic, 10 x 4","system":"sordino","metric":"s","value":0.5}
            {"workload":"logistic, 10 x 4","system":"polars","metric":"s","value":0.52,"config":CONFIG}
            {"workload":"logistic, 10 x 4","system":"pandas","metric":"s","value":0.53}
            {"workload":"wheel","system":"sordino","metric":"MB","value":12.1}"#;
        // Ten rows of four numbers and a label: 400 bytes, and 200 encoded.
        let config = r#"{"rows":10,"columns":4,"input_bytes":400,"extra_bytes":230}"#;
        let lines = line::parse(&lines.replace("CONFIG", config), None).unwrap();
        let text = table(&line::summaries(&lines));
        let verdicts: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().rev().nth(1)).collect();
        assert_eq!(verdicts[1..5], ["met", "met", "MISSED", "MISSED"], "{text}");
        assert!(text.contains("1.040") && text.contains("1.050") && text.contains("1.060"), "{text}");
    }
}
