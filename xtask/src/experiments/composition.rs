//! What composition costs: ε of DP-SGD against the number of steps, by basic and advanced
//! composition, Rényi divergences and privacy-loss distributions.
//!
//! All answers come from the command itself, as for a user. The table goes to standard output as
//! Markdown, and to `bench/results/composition.csv` with full precision.

use std::fmt::Write;
use std::process::Command;

use serde_json::Value;

use crate::failure::Failure;
use crate::run;

const STEPS: [u64; 6] = [1, 10, 100, 1_000, 10_000, 100_000];
const TRAINING: [&str; 6] = ["--noise-multiplier", "1.1", "--sampling-rate", "0.0042667", "--delta", "1e-5"];
const ACCOUNTANTS: [&str; 4] = ["basic", "advanced", "rdp", "pld"];

pub(crate) fn run(options: &[&str]) -> Result<(), Failure> {
    super::no_options(options)?;
    run::shown(run::cargo().args(["build", "--quiet", "--release", "--package", "sordino-cli"]))?;
    let mut csv = String::from("steps,accountant,lower,upper\n");
    println!("| steps | basic | advanced | Rényi | loss distribution |\n|---|---|---|---|---|");
    for steps in STEPS {
        let answers = ask(steps)?;
        let mut cells = Vec::new();
        for name in ACCOUNTANTS {
            let (lower, upper) = ends(&answers, name);
            // Writing to a string cannot fail.
            let _ = writeln!(csv, "{steps},{name},{},{}", written(lower), written(upper));
            cells.push(upper.map_or("-".to_owned(), rounded_up));
        }
        println!("| {steps} | {} |", cells.join(" | "));
    }
    save(&csv)
}

fn ask(steps: u64) -> Result<Value, Failure> {
    let program = run::target_dir().join("release").join(format!("sordino{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(program);
    command.args(["account", "--compare", "--json", "--quiet"]).args(TRAINING);
    let text = run::captured(command.args(["--steps", &steps.to_string()]))?;
    serde_json::from_str(&text).map_err(|error| Failure::check(format!("the command's JSON: {error}")))
}

/// The ends that an accountant gave; `None` where it refused or has no finite one.
fn ends(answers: &Value, accountant: &str) -> (Option<f64>, Option<f64>) {
    let lines = answers["compare"].as_array().into_iter().flatten();
    let bound = lines.filter(|line| line["accountant"] == accountant).map(|line| &line["epsilon"]).next();
    let end = |name: &str| bound.and_then(|bound| bound[name].as_f64());
    (end("lower"), end("upper"))
}

fn written(end: Option<f64>) -> String {
    end.map_or(String::new(), |end| end.to_string())
}

/// A number rounded up to three digits, because the table shows upper ends.
fn rounded_up(value: f64) -> String {
    let unit = 10_f64.powi(2 - value.abs().max(1e-300).log10().floor() as i32);
    let digits = unit.log10().round().max(0.0) as usize;
    format!("{:.digits$}", (value * unit).ceil() / unit)
}

fn save(csv: &str) -> Result<(), Failure> {
    let folder = run::root().join("bench/results");
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    let path = folder.join("composition.csv");
    std::fs::write(&path, csv).map_err(|error| Failure::file(&path, &error))?;
    println!("\nwritten to {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_ends_are_rounded_up() {
        for (value, shown) in [(2.3811, "2.39"), (0.012301, "0.0124"), (59_990.5, "60000"), (14.0, "14.0")] {
            assert_eq!(rounded_up(value), shown);
        }
    }

    #[test]
    fn an_unbounded_or_absent_end_is_empty() {
        let answers: Value = serde_json::from_str(
            r#"{"compare":[{"accountant":"basic","epsilon":{"lower":0.0,"upper":null}},
            {"accountant":"pld","refused":"no"}]}"#,
        )
        .unwrap();
        assert_eq!(ends(&answers, "basic"), (Some(0.0), None));
        assert_eq!(ends(&answers, "pld"), (None, None));
    }
}
