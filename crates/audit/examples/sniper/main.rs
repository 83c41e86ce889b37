//! DP-Sniper's table of lower bounds, and ours beside it: `cargo xtask experiments sniper`.
//!
//! Every row is a mechanism of Bichsel, Steffen, Bogunovic, Vechev ("DP-Sniper", 2021), with the
//! lower bounds at 90 % that they published (logistic regression, multi-layer perceptron; 200
//! million final samples). The tester gets the mechanism as a black box and the pairs of inputs
//! that they tried, and the same confidence. The bar of a row is the larger of the two published
//! bounds, to their three digits. Two published bounds are above, or within 0.0005 of, what is
//! exactly true; there the bar is what DP-Sniper's procedure certifies on average, and the table
//! shows both.
//!
//! ```text
//! sniper [--samples N] [--seed N] [ROW...]      N final samples for a row of weight 1, by default 20 million
//! ```
#![expect(clippy::print_stdout, reason = "a program that prints a table")]
#![forbid(unsafe_code)]

mod rows;
#[path = "../../tests/specimens/mod.rs"]
mod specimens;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rows::Row;
use sordino_audit::{AuditProgress, MechanismTester};
use sordino_privacy::Epsilon;

/// What the command line asks for.
struct Wishes {
    samples: f64,
    seed: u64,
    names: Vec<String>,
}

fn main() -> ExitCode {
    match wishes().and_then(|wishes| table(&wishes)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("sniper: {message}");
            ExitCode::from(2)
        }
    }
}

fn wishes() -> Result<Wishes, String> {
    let mut wishes = Wishes { samples: 2e7, seed: 2021, names: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().and_then(|value| value.parse::<f64>().ok());
            value.filter(|value| *value >= 0.0).ok_or(format!("{word} needs a number, as in {word} 1e7"))
        };
        match word.as_str() {
            "--samples" => wishes.samples = number()?,
            "--seed" => wishes.seed = number()? as u64,
            name if rows::ALL.iter().any(|row| row.name == name) => wishes.names.push(word),
            _ => {
                let names: Vec<_> = rows::ALL.iter().map(|row| row.name).collect();
                return Err(format!("no row `{word}`; there are: {}", names.join(", ")));
            }
        }
    }
    Ok(wishes)
}

/// Prints the table; whether every row reaches its bar.
fn table(wishes: &Wishes) -> Result<bool, String> {
    let begun = Instant::now();
    println!(
        "| mechanism | claimed ε | DP-Sniper, logistic / perceptron | true ε | bar | Sordino | samples | s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (mut rows, mut reached) = (0, 0);
    for row in rows::ALL {
        if wishes.names.is_empty() || wishes.names.iter().any(|name| name == row.name) {
            rows += 1;
            reached += u32::from(line(row, wishes)?);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("\n{reached} of {rows} rows reach their bar; {seconds:.0} s, seed {}", wishes.seed);
    Ok(reached == rows)
}

fn line(row: &Row, wishes: &Wishes) -> Result<bool, String> {
    let begun = Instant::now();
    let samples = (wishes.samples * row.weight) as u64;
    let told = Ticker::new(row.name);
    let on_progress = |progress| told.tell(progress);
    // A bound is wanted, not a verdict: what nobody claims is not tested twice.
    let nothing_claimed = Epsilon::new(1e3).map_err(|error| error.to_string())?;
    let tester = MechanismTester::new(nothing_claimed)
        .with_samples(samples.clamp(1000, row.search), samples)
        .at_confidence(0.9)
        .seeded(wishes.seed)
        .on_progress(&on_progress);
    let audit = (row.audit)(tester).map_err(|error| error.to_string())?;
    told.clear();
    let number =
        |number: Option<f64>, digits: usize| number.map_or("-".to_owned(), |x| format!("{x:.digits$}"));
    println!(
        "| {} | {} | {} / {} | {} | {:.4} | {:.4}{} | {:.0e} | {:.0} |",
        row.title,
        row.claimed,
        number(row.logistic, 3),
        number(row.perceptron, 3),
        number(row.truth, 5),
        row.bar(),
        (audit.epsilon * 1e4).floor() / 1e4,
        remark(row, audit.epsilon),
        samples as f64,
        begun.elapsed().as_secs_f64()
    );
    Ok(row.reached(audit.epsilon))
}

/// What there is to say about a bound. At 90 % one in ten may exceed what is true.
fn remark(row: &Row, epsilon: f64) -> &'static str {
    match row.truth {
        _ if !row.reached(epsilon) => " (below)",
        Some(truth) if epsilon > truth => " (above what is true, by chance)",
        _ => "",
    }
}

/// One line on standard error that says how far a row is.
struct Ticker {
    name: &'static str,
    shown: AtomicU64,
}

impl Ticker {
    fn new(name: &'static str) -> Self {
        Self { name, shown: AtomicU64::new(u64::MAX) }
    }

    fn tell(&self, progress: AuditProgress) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let percent = 100 * progress.done / progress.total;
        // A stage is shown twenty times, whichever thread comes first.
        if self.shown.swap(percent / 5, Ordering::Relaxed) != percent / 5 {
            eprint!("\r{:<40}\r{}: {} {percent} %", "", self.name, progress.stage);
            let _ = std::io::stderr().flush();
        }
    }

    fn clear(&self) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        eprint!("\r{:<60}\r", "");
    }
}
