//! Durable charges per second with one and with eight writers, and the time of the n-th charge.
//!
//! The ledger is a file in the folder of the program, so it is on the disk of the build. Started as
//! `ledger writer FILE COUNT`, this program is one of the writers.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use sordino::prelude::*;
use sordino::privacy::Terms;
use sordino_bench::{Options, emit};
use sordino_ledger::{Account, Digest, Identity, Label, Ledger};

/// The time of the n-th charge is the median of so many charges from it on.
const AROUND: u64 = 51;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    if let [_, role, path, count] = words.as_slice()
        && role == "writer"
    {
        return write(Path::new(path), count.parse()?);
    }
    let quick = Options::from_arguments().quick;
    let folder = std::env::current_exe()?.with_file_name(format!("ledger-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    for writers in [1, 8] {
        throughput(&folder, writers, if quick { 40 } else { 2000 })?;
    }
    let pure = Event::Pure { epsilon: Epsilon::new(1e-6)? };
    let adaptive = Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove).with_delta(Delta::new(1e-6)?);
    let last = if quick { 1000 } else { 100_000 };
    nth_charge(&folder, "adaptive", &adaptive, &pure, last)?;
    let step = Event::gaussian(NoiseMultiplier::new(1.0)?).poisson_sampled(SamplingRate::new(0.001)?);
    nth_charge(&folder, "planned", &adaptive.planned(), &step, if quick { 100 } else { 10_000 })?;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

fn identity() -> Result<Identity, Box<dyn Error>> {
    Ok(Identity { name: Label::new("census")?, content: Digest::of(b"the census") })
}

fn create(path: &Path, terms: &Terms) -> Result<(), Box<dyn Error>> {
    Ledger::create(path)?.create_data_set(&identity()?, terms)?;
    Ok(())
}

fn account(path: &Path) -> Result<Account, Box<dyn Error>> {
    Ok(Account::open(Ledger::open(path)?, &identity()?, Label::new("ann")?, Label::new("a bench")?)?)
}

fn write(path: &Path, count: u64) -> Result<(), Box<dyn Error>> {
    let mut account = account(path)?;
    for _ in 0..count {
        let _paid = account.charge(Event::Pure { epsilon: Epsilon::new(1e-6)? })?;
    }
    Ok(())
}

/// Measures all writers together: `charges` divided by the time until the last one has finished.
fn throughput(folder: &Path, writers: u64, charges: u64) -> Result<(), Box<dyn Error>> {
    let path = folder.join(format!("{writers}.ledger"));
    create(&path, &Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove))?;
    let begin = Instant::now();
    let start = |_| {
        let count = (charges / writers).to_string();
        Command::new(std::env::current_exe()?).arg("writer").arg(&path).arg(count).spawn()
    };
    let processes = (0..writers).map(start).collect::<Result<Vec<_>, _>>()?;
    for mut process in processes {
        if !process.wait()?.success() {
            return Err("a writer failed".into());
        }
    }
    let rate = charges as f64 / begin.elapsed().as_secs_f64();
    emit(&format!("durable charges, {writers} writers"), "/s", rate, json!({ "charges": charges }));
    Ok(())
}

/// Measures the 10th, 1000th, ... charge, each as the median of [`AROUND`] charges from it on.
fn nth_charge(
    folder: &Path,
    kind: &str,
    terms: &Terms,
    event: &Event,
    last: u64,
) -> Result<(), Box<dyn Error>> {
    let path: PathBuf = folder.join(format!("{kind}.ledger"));
    create(&path, terms)?;
    let mut account = account(&path)?;
    let mut taken: Vec<Duration> = Vec::new();
    for _ in 0..last + AROUND {
        let begin = Instant::now();
        let _paid = account.charge(event.clone())?;
        taken.push(begin.elapsed());
    }
    for n in [10, 1000, 10_000, 100_000].into_iter().filter(|n| *n <= last) {
        let around = &mut taken[n as usize..(n + AROUND) as usize].to_vec();
        around.sort();
        let worst = taken[..n as usize].iter().max().map_or(0.0, Duration::as_secs_f64);
        let median = around[AROUND as usize / 2].as_secs_f64();
        emit(&format!("charge {n}, {kind}"), "s", median, json!({ "worst so far": worst }));
    }
    let begin = Instant::now();
    drop(Ledger::open(&path)?);
    emit(&format!("open, {last} charges, {kind}"), "s", begin.elapsed().as_secs_f64(), json!({}));
    Ok(())
}
