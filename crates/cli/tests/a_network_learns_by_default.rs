//! `--model mlp` without other settings learns from small tables and rare classes, and its
//! probabilities are calibrated.

mod command;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use command::{Run, folder, sordino_in};
use serde_json::Value;

const FEATURES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn sordino(folder: &Path, line: &str) -> Run {
    sordino_in(folder, &line.split_whitespace().collect::<Vec<_>>())
}

/// Draws uniform numbers from [0, 1) by a linear congruential generator (Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 * 2f64.powi(-53)
    }

    /// A sum of uniform numbers, with mean 0 and deviation 1.
    fn bell(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// Writes a table, a table of public records of the same kind, and their schema. `target` draws a
/// value and says how far it moves the features.
fn tables(
    name: &str,
    rows: [usize; 2],
    kind: &str,
    target: impl Fn(&mut Numbers) -> (String, f64),
) -> PathBuf {
    let here = folder(name);
    let mut schema = String::new();
    for feature in FEATURES {
        writeln!(schema, "columns.{feature} = {{ kind = 'number', bounds = [-1, 1] }}").unwrap();
    }
    writeln!(schema, "columns.y = {{ {kind} }}").unwrap();
    fs::write(here.join("t.toml"), schema).unwrap();
    for (at, (file, rows)) in ["t.csv", "public.csv"].into_iter().zip(rows).enumerate() {
        let mut numbers = Numbers(7 + at as u64);
        let mut text = format!("{},y\n", FEATURES.join(","));
        for _ in 0..rows {
            let (value, shift) = target(&mut numbers);
            for _ in FEATURES {
                write!(text, "{:.4},", (shift + 0.3 * numbers.bell()).clamp(-1.0, 1.0)).unwrap();
            }
            writeln!(text, "{value}").unwrap();
        }
        fs::write(here.join(file), text).unwrap();
    }
    here
}

/// About one record in sixteen has the rare class.
fn rare(name: &str) -> PathBuf {
    tables(name, [4000, 2000], "kind = 'category', values = ['no', 'yes']", |numbers| {
        if numbers.next() < 0.06 { ("yes".to_owned(), 0.35) } else { ("no".to_owned(), -0.1) }
    })
}

fn train(here: &Path, more: &str) -> Value {
    let line = "train t.csv --schema t.toml --target y --delta 1e-6 --danger-seed 1 --public-test public.csv";
    sordino(here, &format!("{line} --model mlp --json {more}")).object()
}

fn score(run: &Value, name: &str) -> f64 {
    let scores = run["evaluation"]["scores"].as_array().unwrap();
    scores.iter().find(|score| score["name"] == name).unwrap()["value"].as_f64().unwrap()
}

fn setting(run: &Value, name: &str) -> Value {
    let settings = run["method"]["settings"].as_array().unwrap();
    settings.iter().find(|setting| setting["name"] == name).unwrap()["value"].clone()
}

/// The median gradient once belonged to the class that is well predicted: the clip norm followed it
/// towards 0, steps became as short, and the model never predicted the rare class.
#[test]
fn adaptive_clipping_finds_a_rare_class() {
    let here = rare("rare-adaptive");
    for epsilon in [1, 3] {
        let run = train(&here, &format!("--epsilon {epsilon} --clipping adaptive --out m{epsilon}"));
        let balanced = score(&run, "balanced accuracy");
        assert!(balanced > 0.8, "{epsilon}: {balanced}");
    }
}

/// Log loss and calibration of a rare class, with noise and almost without noise.
#[test]
fn probabilities_are_calibrated_with_the_default_clip_norm() {
    let here = rare("rare-flat");
    for epsilon in [1, 100] {
        let run = train(&here, &format!("--epsilon {epsilon} --out m{epsilon}"));
        let (loss, error) = (score(&run, "log loss"), score(&run, "calibration error"));
        assert!(loss < 0.1 && error < 0.03, "{epsilon}: {loss} {error}");
    }
}

/// 400 records and a number to learn: networks with two layers of 1024 units once took long and
/// were worse than the mean.
#[test]
fn a_small_table_of_numbers_is_learned() {
    let here = tables("small-number", [400, 1000], "kind = 'number', bounds = [0, 10]", |numbers| {
        let y = (5.0 + 2.0 * numbers.bell()).clamp(0.0, 10.0);
        (format!("{y:.3}"), 0.15 * (y - 5.0))
    });
    for epsilon in [1, 3, 1000] {
        let run = train(&here, &format!("--epsilon {epsilon} --out m{epsilon}"));
        let r2 = score(&run, "R²");
        assert!(r2 > 0.3, "{epsilon}: {r2}");
        assert_eq!(setting(&run, "hidden"), if epsilon == 1000 { "256" } else { "32" }, "{run}");
    }
}

/// The width is a setting like others: it is stored, and the same run can be repeated.
#[test]
fn the_width_follows_from_public_numbers_and_is_written_down() {
    let here = rare("widths");
    let run = train(&here, "--epsilon 1 --steps 20 --out m");
    assert_eq!(run["released"]["weights"], 32 * 7 + 33 * 2);
    let configuration = fs::read_to_string(here.join("m/configuration.toml")).unwrap();
    assert!(configuration.contains("hidden = [32]\n"), "{configuration}");
    assert_eq!(sordino(&here, "train --config m/configuration.toml --out again").code, 0);
    let weights = |model: &str| fs::read(here.join(model).join("model.safetensors")).unwrap();
    assert_eq!(weights("m"), weights("again"));
}
