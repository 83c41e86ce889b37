//! Seeded mutations of every input: each is refused with a message or read correctly. No input
//! causes a panic or a row outside of its bounds.
//!
//! The targets in `fuzz/` run the same functions without a time limit; both start from the files in
//! `fuzz/seeds`.

#[path = "common/any.rs"]
mod any;

use std::fs;
use std::path::{Path, PathBuf};

use sordino_optim::Checkpoint;

/// A fixed sequence (Knuth, "The Art of Computer Programming", volume 2, 3.3.4, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    /// One to four changes, such as disks, editors and forgers make.
    fn mutated(&mut self, whole: &[u8]) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        for _ in 0..=self.below(4) {
            let (from, length) = (self.below(bytes.len()), 1 + self.below(32));
            let end = (from + length).min(bytes.len());
            match self.below(6) {
                _ if bytes.is_empty() => bytes.push(self.below(256) as u8),
                0 => bytes[from] ^= 1 << self.below(8),
                1 => bytes[from] = self.below(256) as u8,
                2 => bytes.truncate(from),
                3 => drop(bytes.drain(from..end)),
                4 => bytes[from..end].fill(b'9'),
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

/// The folder of a target's seed files.
fn seeds(target: &str) -> PathBuf {
    let own = std::env::var("CARGO_MANIFEST_DIR").expect("Cargo says where it is");
    Path::new(&own).join("../../fuzz/seeds").join(target)
}

/// Runs `body` on the seed files of a target, and on `rounds` mutations of them.
fn each(target: &str, rounds: usize, body: impl Fn(&[u8])) {
    let folder = seeds(target);
    let mut files: Vec<_> =
        fs::read_dir(&folder).expect("seeds").map(|file| file.expect("a seed").path()).collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("a seed")).collect();
    assert!(!seeds.is_empty(), "{}", folder.display());
    seeds.iter().for_each(|seed| body(seed));
    let mut random = Random(1);
    (0..rounds).for_each(|round| body(&random.mutated(&seeds[round % seeds.len()])));
}

fn text(body: impl Fn(&str)) -> impl Fn(&[u8]) {
    move |bytes| body(&String::from_utf8_lossy(bytes))
}

#[test]
fn any_table() {
    each("csv", 1000, |bytes| any::data("any.csv", bytes));
    each("npy", 1000, |bytes| any::data("any.npy", bytes));
    each("idx", 1000, |bytes| any::data("any-idx3-ubyte", bytes));
    each("cifar", 20, |bytes| any::data("any.bin", bytes));
}

#[test]
fn any_columnar_table() {
    each("parquet", 300, |bytes| any::data("any.parquet", bytes));
    each("arrow", 300, |bytes| any::data("any.arrow", bytes));
}

#[test]
fn any_schema() {
    each("schema", 5000, text(any::schema));
}

#[test]
fn any_configuration() {
    each("configuration", 1000, text(any::configuration));
}

#[test]
fn any_network() {
    each("description", 3000, text(any::description));
    each("safetensors", 5000, any::weights);
}

#[test]
fn any_checkpoint() {
    let seeds = seeds("checkpoint");
    for (seed, steps) in [("stopped", 32_800), ("coordinates", 18_900)] {
        assert_eq!(Checkpoint::read(&seeds.join(seed)).expect("a checkpoint").steps(), steps);
    }
    each("checkpoint", 3000, any::checkpoint);
}
