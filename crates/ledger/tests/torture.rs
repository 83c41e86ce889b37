//! Processes that charge one budget are killed at random moments. Nothing granted may be lost, and
//! the budget holds. In a file, and with the feature `postgresql` in a real server that this test
//! starts and stops.
//!
//! This file is its own worker: `torture worker LEDGER LOG` charges until the budget refuses, and
//! notes each grant in its log *after* it was granted, as an analyst would who has seen a result.

#[path = "common/mod.rs"]
mod common;
#[cfg(feature = "postgresql")]
#[path = "common/server.rs"]
mod server;

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
const KILLS: u64 = 200;
/// Charges that the budget has room for.
const ROOM: u32 = 4000;
/// Exit code of a worker whose charge could not be recorded.
const NOT_RECORDED: i32 = 3;
fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.as_slice() {
        [_, role, ledger, log] if role == "worker" => work(Path::new(ledger), Path::new(log)),
        _ => {
            let folder = folder("torture");
            torture(&folder.join("a.ledger"), &folder);
            #[cfg(feature = "postgresql")]
            in_a_database();
            #[cfg(unix)]
            full_disk();
            #[cfg(target_os = "linux")]
            small_disk();
        }
    }
}

/// Eight writers at a time, 200 of which are killed, on a budget for 8 times 500 charges.
fn torture(path: &Path, folder: &Path) {
    drop(with_census(path, &terms(f64::from(ROOM) / 4096.0)));
    let mut logs = Vec::new();
    let mut start = || {
        let log = folder.join(format!("log-{}", logs.len()));
        let child = Command::new(std::env::current_exe().unwrap()).arg("worker").arg(path).arg(&log).spawn();
        logs.push(log);
        child.expect("a worker starts")
    };
    let mut workers: Vec<Child> = (0..WRITERS).map(|_| start()).collect();
    let (begin, mut random) = (Instant::now(), 1_u64);
    let observer = Ledger::open(path).unwrap();
    for killed in 0..KILLS {
        // Which one, and when, by a fixed sequence; the scheduler adds what no seed can.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Kills are spread over the first part of the budget, whatever the speed of the disk and
        // the load of the machine.
        let begun = Instant::now();
        while observer.head().unwrap().number < 8 * killed && begun.elapsed() < Duration::from_millis(200) {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_micros(random >> 52));
        let victim = &mut workers[(random >> 32) as usize % WRITERS];
        victim.kill().unwrap();
        // No exit code: it was killed, and at work.
        assert_eq!(victim.wait().unwrap().code(), None, "a worker ended before the budget did");
        *victim = start();
    }
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success(), "a worker that was left alone fails");
    }
    check(path, &logs);
    eprintln!("torture: {KILLS} of {} workers killed, {:?}", logs.len(), begin.elapsed());
}

#[cfg(feature = "postgresql")]
fn in_a_database() {
    match server::Server::start() {
        Ok(server) => torture(Path::new(&server.url("torture")), &folder("torture-database")),
        Err(reason) => eprintln!("skipped: torture against PostgreSQL, because {reason}"),
    }
}

/// A worker may write no file beyond some size, which is what a full disk looks like from inside.
#[cfg(unix)]
fn full_disk() {
    let folder = folder("full");
    let (path, log) = (folder.join("a.ledger"), folder.join("log"));
    drop(with_census(&path, &terms(f64::from(ROOM) / 4096.0)));
    let mut shell = Command::new("sh");
    // Ignored, the signal lets the write fail as on a full disk. The block of `ulimit` is 512 or
    // 1024 bytes.
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

/// A real file system with room for some charges and no more, which then becomes read-only. Needs
/// the right to mount one.
#[cfg(target_os = "linux")]
fn small_disk() {
    let folder = folder("small");
    let mount = |words: &[&str]| {
        let output = Command::new("mount").args(words).arg(&folder).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=320k", "tmpfs"]) {
        return eprintln!("skipped: a small disk, because this user cannot mount one");
    }
    let path = folder.join("a.ledger");
    drop(with_census(&path, &terms(f64::from(ROOM) / 4096.0)));
    let mut open = account(&path, "ann").unwrap();
    let mut granted = 0;
    let error = loop {
        match charge(&mut open, pure(1.0 / 4096.0)) {
            Ok(_) => granted += 1,
            Err(error) => break error,
        }
    };
    let said = format!("{error:?}");
    assert!(matches!(error, ChargeError::Journal(_)) && granted > 0, "{said}");
    // What was granted is there, although there is no room to fold the log into the file.
    assert!(open.ledger().charges().unwrap().len() >= granted, "{granted}");
    assert!(mount(&["-o", "remount,size=4m"]));
    charge(&mut open, pure(1.0 / 4096.0)).unwrap();
    assert!(open.total().unwrap() >= (granted + 1) as f64 / 4096.0);
    drop(open);
    assert!(mount(&["-o", "remount,ro"]));
    let refusal = match account(&path, "ann") {
        Ok(mut open) => charge(&mut open, pure(1.0 / 4096.0)).map(drop).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(mount(&["-o", "remount,rw"]));
    assert!(Ledger::open(&path).unwrap().charges().unwrap().len() > granted, "{refusal}");
    Ledger::open(&path).unwrap().verify(None).unwrap();
    assert!(Command::new("umount").arg(&folder).status().unwrap().success());
    eprintln!("small disk: {granted} charges fitted; read-only: {refusal}");
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
