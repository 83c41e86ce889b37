//! Private logistic regression on large tables: seconds, accuracy and memory.
//!
//! `peers/linear.py` does work of the same names, on the same files. Every figure comes from a
//! process of its own, so that its peak memory (`VmHWM` of `/proc/self/status`) is that of this
//! work alone.
//!
//! ```text
//! linear --data FOLDER [--quick] [--ends]   all figures of a round; --ends adds those measured once
//! linear --data FOLDER --one WORK ...       one of them, in this process
//! ```
#![expect(clippy::print_stdout, reason = "lines of child processes are passed on")]

mod cache;
mod fit;
mod memory;
mod problem;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use problem::Problem;

/// The values of n at which scaling is measured.
const LENGTHS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
/// d of these tables.
const LENGTHS_WIDTH: usize = 50;
/// The values of d at which scaling is measured.
const WIDTHS: [usize; 5] = [10, 30, 100, 300, 1000];
/// n of these tables.
const WIDTHS_LENGTH: u64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let after = |flag: &str| words.iter().skip_while(|word| *word != flag).nth(1).cloned();
    let folder = PathBuf::from(after("--data").ok_or("expected --data FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    match words.iter().position(|word| word == "--one") {
        Some(place) => one(&folder, &words[place + 1..]),
        None => all(&folder, has("--quick"), has("--ends")),
    }
}

/// Measures one figure after the other, each in a child process.
fn all(folder: &Path, quick: bool, ends: bool) -> Result<(), Box<dyn Error>> {
    let (n, test) = if quick { (20_000, 5_000) } else { (500_000, 50_000) };
    let compared = Problem { n, test, d: 100 };
    compared.write(folder)?;
    child(folder, &["bandwidth", &n.to_string()])?;
    for learner in fit::LEARNERS {
        child(folder, &["fit", learner, &n.to_string(), &test.to_string(), "100"])?;
    }
    if !ends {
        return Ok(());
    }
    let lengths = LENGTHS.into_iter().filter(|n| !quick || *n <= 100_000);
    for n in lengths {
        child(folder, &["length", &n.to_string(), &LENGTHS_WIDTH.to_string()])?;
    }
    for d in WIDTHS.into_iter().filter(|d| !quick || *d <= 100) {
        child(folder, &["width", &WIDTHS_LENGTH.to_string(), &d.to_string()])?;
    }
    let n = if quick { 100_000 } else { 10_000_000 };
    let from_file = [n.to_string(), LENGTHS_WIDTH.to_string()];
    child(folder, &["parquet", &from_file[0], &from_file[1]])?;
    child(folder, &["cache", &from_file[0], &from_file[1]])?;
    child(folder, &["cached", &from_file[0], &from_file[1]])
}

fn one(folder: &Path, words: &[String]) -> Result<(), Box<dyn Error>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["bandwidth", n] => memory::bandwidth(n.parse()?),
        ["fit", learner, n, test, d] => {
            fit::compared(folder, learner, Problem { n: n.parse()?, test: test.parse()?, d: d.parse()? })
        }
        [axis @ ("length" | "width"), n, d] => fit::scaling(folder, axis, n.parse()?, d.parse()?),
        ["parquet", n, d] => cache::write_parquet(folder, n.parse()?, d.parse()?),
        ["cache", n, d] => cache::write_cache(folder, n.parse()?, d.parse()?),
        ["cached", n, d] => cache::fit(folder, n.parse()?, d.parse()?),
        _ => Err("no such work".into()),
    }
}

/// Does one piece of work in a child process, and passes its lines on.
fn child(folder: &Path, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--data").arg(folder).arg("--one").args(words).stderr(Stdio::inherit());
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{words:?} failed: {}", output.status).into());
    }
    print!("{}", String::from_utf8(output.stdout)?);
    Ok(())
}
