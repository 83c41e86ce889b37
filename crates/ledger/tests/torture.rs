//! Processes that charge one budget are killed at random moments. Nothing granted may be lost, and the budget holds.
//!
//! This file is its own worker: `torture worker LEDGER LOG` charges until the budget refuses, and notes each
//! grant in its log *after* it was granted, as an analyst would who has seen a result.

#[path = "common/mod.rs"]
mod common;

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{account, charge, folder, pure, terms, with_census};
use sordino_ledger::{Ledger, State};
use sordino_privacy::ChargeError;

/// Processes at a time.
const WRITERS: usize = 8;
/// How many are killed.
const KILLS: usize = 200;
/// Charges that the budget has room for.
const ROOM: u32 = 4000;
/// Exit code of a worker whose charge could not be recorded.
const NOT_RECORDED: i32 = 3;
/// After this the killing ends, and the workers may finish.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.as_slice() {
        [_, role, ledger, log] if role == "worker" => work(Path::new(ledger), Path::new(log)),
        _ => {
            torture();
            #[cfg(unix)]
            full_disk();
        }
    }
}

fn torture() {
    let folder = folder("torture");
    let path = folder.join("a.ledger");
    drop(with_census(&path, &terms(f64::from(ROOM) / 4096.0)));

    let mut logs = Vec::new();
    let mut start = || {
        let log = folder.join(format!("log-{}", logs.len()));
        let child = Command::new(std::env::current_exe().unwrap()).arg("worker").args([&path, &log]).spawn();
        logs.push(log);
        child.expect("a worker starts")
    };
    let mut workers: Vec<Child> = (0..WRITERS).map(|_| start()).collect();
    let (begin, mut killed, mut random) = (Instant::now(), 0, 1_u64);
    while killed < KILLS && begin.elapsed() < PATIENCE {
        // Which one, and when, by a fixed sequence; the scheduler adds what no seed can.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sleep(Duration::from_micros(random >> 50));
        let victim = &mut workers[(random >> 32) as usize % WRITERS];
        victim.kill().unwrap();
        match victim.wait().unwrap().code() {
            // No exit code: it was killed.
            None => killed += 1,
            // The budget is used up; nothing is left to kill.
            Some(0) => break,
            Some(code) => panic!("a worker failed with {code}"),
        }
        *victim = start();
    }
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success(), "a worker that was left alone fails");
    }
    // The budget lasts for some seconds of killing; a very fast disk may use it up before all have had their turn.
    assert!(killed > 20, "only {killed} workers were killed at work");
    check(&path, &logs);
    eprintln!("torture: {killed} of {} workers killed, {:?}", logs.len(), begin.elapsed());
}

/// A worker may write no file beyond some size, which is what a full disk looks like from inside.
#[cfg(unix)]
fn full_disk() {
    let folder = folder("full");
    let (path, log) = (folder.join("a.ledger"), folder.join("log"));
    drop(with_census(&path, &terms(f64::from(ROOM) / 4096.0)));
    let mut shell = Command::new("sh");
    // Ignored, the signal lets the write fail as on a full disk. The block of `ulimit` is 512 or 1024 bytes.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$0\" worker \"$1\" \"$2\""]);
    let output = shell.arg(std::env::current_exe().unwrap()).args([&path, &log]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(NOT_RECORDED), "{said}");
    assert!(said.contains("Journal"), "{said}");

    let before = check_log(&path, &[log]);
    assert!((1..ROOM as usize).contains(&before), "{before}");
    // With room again, the ledger goes on.
    charge(&mut account(&path, "ann").unwrap(), pure(1.0 / 4096.0)).unwrap();
    assert_eq!(Ledger::open(&path).unwrap().charges().unwrap().len(), before + 1);
    eprintln!("full disk: {before} charges fitted");
}

fn check(path: &Path, logs: &[PathBuf]) {
    // Powers of two add up exactly: the budget is used up, to the last charge and not beyond.
    assert_eq!(check_log(path, logs), ROOM as usize);
    assert_eq!(Ledger::open(path).unwrap().total(2).unwrap(), f64::from(ROOM) / 4096.0);
}

/// Everything that any worker was granted is recorded; returns how many charges there are.
fn check_log(path: &Path, logs: &[PathBuf]) -> usize {
    let ledger = Ledger::open(path).unwrap();
    ledger.verify(None).unwrap();
    let charges = ledger.charges().unwrap();
    let recorded: HashSet<u64> = charges.iter().map(|charge| charge.number).collect();
    let mut seen = HashSet::new();
    for line in logs.iter().filter_map(|log| fs::read_to_string(log).ok()).flat_map(lines) {
        let (word, number) = line.split_once(' ').unwrap();
        let number: u64 = number.parse().unwrap();
        assert!(recorded.contains(&number), "charge {number} was granted and is not recorded");
        match word {
            "granted" => assert!(seen.insert(number), "charge {number} was granted twice"),
            _ => {
                let charge = charges.iter().find(|charge| charge.number == number).unwrap();
                assert!(matches!(charge.state, State::Booked { .. }), "{number} was booked and is not");
            }
        }
    }
    assert!(!seen.is_empty() && seen.len() <= charges.len());
    charges.len()
}

/// Whole lines; a killed worker may leave half of one.
fn lines(text: String) -> Vec<String> {
    let end = text.rfind('\n').map_or(0, |place| place + 1);
    text[..end].lines().map(str::to_owned).collect()
}

fn work(ledger: &Path, log: &Path) {
    let mut log = OpenOptions::new().create(true).append(true).open(log).unwrap();
    let mut account = account(ledger, "a worker").unwrap();
    loop {
        match charge(&mut account, pure(1.0 / 4096.0)) {
            Ok(number) => {
                log.write_all(format!("granted {number}\n").as_bytes()).unwrap();
                if number % 4 == 0 {
                    account.book(number, None).unwrap();
                    log.write_all(format!("booked {number}\n").as_bytes()).unwrap();
                }
            }
            Err(ChargeError::Refused(_)) => return,
            Err(error) => {
                eprintln!("{error:?}");
                std::process::exit(NOT_RECORDED);
            }
        }
    }
}
