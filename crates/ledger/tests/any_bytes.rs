//! Seeded mutations of files, entries and histories: refused in words, or read as what they were.
//! Never a panic, never another history.
//!
//! The targets in `fuzz/` run the same functions for as long as one likes.

#[path = "common/any.rs"]
#[allow(dead_code)]
mod any;
mod common;

use std::fs;

use common::{account, charge, folder, label, pure, terms, with_census};
use sordino_ledger::{Digest, Ledger, Lock, Rules};
use sordino_privacy::Epsilon;

/// A fixed sequence (Knuth, "The Art of Computer Programming", volume 2, 3.3.4, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    /// One to four changes of a kind that disks, editors and forgers make.
    fn mutated(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        for _ in 0..=self.below(4) {
            let (from, length) = (self.below(bytes.len()), 1 + self.below(64));
            let end = (from + length).min(bytes.len());
            match self.below(6) {
                _ if bytes.is_empty() => bytes.push(self.below(256) as u8),
                0 => bytes[from] ^= 1 << self.below(8),
                1 => bytes[from] = self.below(256) as u8,
                2 => bytes.truncate(from),
                3 => drop(bytes.drain(from..end)),
                4 => bytes[from..end].fill(0),
                _ => {
                    let part = bytes[from..end].to_vec();
                    let at = self.below(bytes.len());
                    drop(bytes.splice(at..at, part));
                }
            }
        }
        bytes
    }
}

/// A ledger with entries of every kind, and their texts.
fn example(name: &str) -> (std::path::PathBuf, Vec<String>) {
    let path = folder(name).join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    for _ in 0..6 {
        let number = charge(&mut ann, pure(1.0 / 16.0)).unwrap();
        ann.book(number, Some(Digest::of(b"result"))).unwrap();
    }
    ledger.link(&common::identity("survey", "the census")).unwrap();
    ledger.grant(&label("census"), &label("ann"), Epsilon::new(0.5).unwrap(), None).unwrap();
    let verbs = vec![label("a"), label("train")];
    let lock = Lock::new(Digest::of(b"schema"), verbs, Epsilon::new(0.5).unwrap(), "/srv/results").unwrap();
    let rules = Rules::new("unit = \"record\"").unwrap().owned_by(label("olga"));
    ledger.rule(&label("census"), &rules.clone().locked(lock)).unwrap();
    ledger.create_data_set_with(&common::identity("sales", "the sales"), &terms(1.0), &rules).unwrap();
    let mut ann = account(&path, "ann").unwrap();
    let number = charge(&mut ann, pure(1.0 / 16.0)).unwrap();
    ann.keep(number, 10, Digest::of(b"checkpoint"), false).unwrap();
    ann.keep(number, 12, Digest::of(b"another"), true).unwrap();
    let lines = ledger.entries().unwrap().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    (path, lines)
}

#[test]
fn a_mutated_file_is_refused_or_the_same() {
    let (path, _) = example("files");
    let truth = any::look(&path).unwrap();
    let (whole, witness) = (fs::read(&path).unwrap(), path.with_extension("ledger-head"));
    let head = fs::read(&witness).unwrap();
    let mut random = Random(1);
    let mut refused = 0;
    for round in 0..240 {
        let mutant = random.mutated(&whole);
        fs::write(&path, &mutant).unwrap();
        // In every third round somebody also lost the witness: then a shorter history of the same
        // entries may pass.
        let is_witnessed = round % 3 != 0;
        if is_witnessed {
            fs::write(&witness, &head).unwrap()
        } else {
            fs::remove_file(&witness).unwrap_or(())
        }
        match any::look(&path) {
            Ok(found) if is_witnessed => assert_eq!(found, truth, "round {round}"),
            Ok(found) => {
                assert!(found.iter().zip(&truth).all(|(a, b)| a.number == b.number && a.event == b.event))
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
        for side in ["ledger-wal", "ledger-shm"] {
            let _ = fs::remove_file(path.with_extension(side));
        }
    }
    assert!(refused > 120, "{refused}");
}

#[test]
fn mutated_texts_are_refused_or_read_as_what_they_are() {
    let (_, lines) = example("texts");
    let mut random = Random(2);
    for round in 0..20_000 {
        let mutant = random.mutated(lines[round % lines.len()].as_bytes());
        any::text(&String::from_utf8_lossy(&mutant));
    }
}

/// A forger who knows the format makes a chain that holds. What it says must still be possible.
#[test]
fn a_chain_that_holds_and_says_nonsense_is_refused() {
    let (path, lines) = example("histories");
    let mut random = Random(3);
    any::history(&lines.join("\n"));
    for _ in 0..30 {
        let mut mutant: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (from, to) = (random.below(mutant.len()), random.below(mutant.len()));
        match random.below(3) {
            0 => mutant.swap(from, to),
            1 => drop(mutant.remove(from)),
            _ => mutant.insert(from, &lines[to]),
        }
        any::history(&mutant.join("\n"));
        let text = mutant.join("\n");
        any::history(&String::from_utf8_lossy(&random.mutated(text.as_bytes())));
    }
    // Two that matter, by name: a second budget for the same data, and a booking of nothing.
    for (line, change) in
        [(1, ("\"number\":2", "\"number\":3")), (3, ("\"reservation\":3", "\"reservation\":2"))]
    {
        let mut forged = lines[..=line].to_vec();
        let changed = forged[line].replace(change.0, change.1);
        if line == 1 {
            forged.push(changed)
        } else {
            forged[line] = changed
        }
        let connection = rusqlite::Connection::open(&path).unwrap();
        any::forge(&connection, forged.iter().map(String::as_str));
        drop(connection);
        let _ = fs::remove_file(path.with_extension("ledger-head"));
        let error = Ledger::open(&path).unwrap_err().to_string();
        assert!(error.contains("at entry"), "{error}");
    }
}
