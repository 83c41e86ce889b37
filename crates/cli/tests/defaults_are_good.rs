//! `train` without a method learns good models from uneven columns, learns quickly from many
//! records, and says so when nothing can be learned.

mod command;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use command::{Run, folder, sordino_in};

/// Draws repeatable numbers between -1 and 1, nearly normal: means of four uniform numbers, scaled
/// by two.
struct Numbers(u64);

impl Numbers {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn next(&mut self) -> f64 {
        (0..4).map(|_| self.uniform()).sum::<f64>() - 2.0
    }
}

/// Six columns whose deviations are 0.002 to 0.2 of their range, far from its middle. All matter
/// equally.
fn uneven(here: &Path, classes: bool) {
    let mut numbers = Numbers(7);
    for (name, rows) in [("train.csv", 6000), ("test.csv", 2000)] {
        let mut text = String::from("a,b,c,d,e,f,y\n");
        for _ in 0..rows {
            let z: Vec<f64> = (0..6).map(|_| numbers.next()).collect();
            for (j, z) in z.iter().enumerate() {
                write!(text, "{:.6},", 0.7 - 0.2 * j as f64 + z * 0.4 * 0.4f64.powi(j as i32)).unwrap();
            }
            let effect: f64 = z.iter().sum::<f64>() + 0.4 * numbers.next();
            if classes {
                writeln!(text, "{}", if effect > 0.2 { "yes" } else { "no" }).unwrap();
            } else {
                writeln!(text, "{:.5}", (50.0 + 10.0 * effect).clamp(0.0, 100.0)).unwrap();
            }
        }
        fs::write(here.join(name), text).unwrap();
    }
    let mut schema = String::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        writeln!(schema, "columns.{name} = {{ kind = 'number', bounds = [-2, 2] }}").unwrap();
    }
    let target = if classes { "'category', values = ['no', 'yes']" } else { "'number', bounds = [0, 100]" };
    writeln!(schema, "columns.y = {{ kind = {target} }}").unwrap();
    fs::write(here.join("s.toml"), schema).unwrap();
}

fn train(here: &Path, more: &str) -> Run {
    let line = format!("train train.csv --schema s.toml --target y --danger-seed 3 --delta 1e-6 {more}");
    sordino_in(here, &line.split_whitespace().collect::<Vec<_>>())
}

/// The number with which a line of the table begins.
fn number(run: &Run, line: &str) -> f64 {
    run.line(line).split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{run:?}"))
}

/// 100 steps of gradient descent once reached 0.66 only, whatever ε was.
#[test]
fn uneven_columns_are_learned_from() {
    let here = folder("uneven");
    uneven(&here, true);
    let large = train(&here, "--epsilon 10000 --public-test test.csv --out large");
    assert!(number(&large, "accuracy") > 0.91, "{large:?}");
    let small = train(&here, "--epsilon 1 --public-test test.csv --out small");
    let coordinates =
        train(&here, "--epsilon 1 --method coordinate-descent --public-test test.csv --out coordinates");
    assert!(
        number(&small, "accuracy") > number(&coordinates, "accuracy") - 0.01,
        "{small:?} {coordinates:?}"
    );
}

/// 100 steps of gradient descent once reached an R² of 0.22 only, whatever ε was.
#[test]
fn numbers_are_learned_from_uneven_columns() {
    let here = folder("uneven-number");
    uneven(&here, false);
    let small = train(&here, "--epsilon 0.5 --public-test test.csv --out small");
    assert!(number(&small, "R²") > 0.3, "{small:?}");
    let large = train(&here, "--epsilon 10000 --public-test test.csv --out large");
    assert!(number(&large, "R²") > 0.93, "{large:?}");
}

/// A hundred columns and half a million records are learned from in one pass. The plan uses the
/// stated number of records.
#[test]
fn many_records_are_learned_from_in_one_pass() {
    let here = folder("many");
    let names: Vec<String> = (0..100).map(|j| format!("x{j}")).collect();
    let mut schema = String::from("columns.y = { kind = 'category', values = ['no', 'yes'] }\n");
    for name in &names {
        writeln!(schema, "columns.{name} = {{ kind = 'number', bounds = [0, 1] }}").unwrap();
    }
    fs::write(here.join("s.toml"), schema).unwrap();
    fs::write(here.join("train.csv"), format!("{},y\n{}no\n", names.join(","), "0,".repeat(100))).unwrap();
    for (rows, method) in [("500000", "objective-perturbation"), ("20000", "gradient-descent")] {
        let plan = train(&here, &format!("--epsilon 1 --rows {rows} --plan"));
        assert!(plan.line("learn by").starts_with(method), "{plan:?}");
    }
}

#[test]
fn a_run_that_can_learn_nothing_says_so_before_it_pays() {
    let here = folder("nothing");
    uneven(&here, true);
    let tiny = train(&here, "--epsilon 1e-9 --out tiny");
    assert!(tiny.stderr.contains("expect no more than from a constant"), "{tiny:?}");
    let plan = train(&here, "--epsilon 1e-9 --plan");
    assert!(plan.stderr.contains("6000 records at epsilon 0.000000001"), "{plan:?}");
    fs::write(here.join("train.csv"), "a,b,c,d,e,f,y\n0,0,0,0,0,0,yes\n").unwrap();
    let one = train(&here, "--epsilon 1 --out one");
    assert!(one.stderr.contains("1 records") || one.stderr.contains("one record"), "{one:?}");
    assert!(one.stderr.contains("use more records"), "{one:?}");
}

#[test]
fn settings_imply_their_method() {
    let here = folder("implied");
    uneven(&here, true);
    for (flags, method) in [
        ("--steps 20", "gradient-descent"),
        ("--clip-norm 1 --epochs 20", "gradient-descent"),
        ("--batch-size 500 --epochs 2", "sgd"),
        ("--epsilon 100", "objective-perturbation"),
    ] {
        let epsilon = if flags.contains("epsilon") { "" } else { "--epsilon 1" };
        let run = train(&here, &format!("{epsilon} {flags} --out {}", flags.replace([' ', '-'], "")));
        assert!(run.line("learned by").starts_with(method), "{flags}: {run:?}");
    }
}

/// The configuration of a default run has every setting, and gives the same plan again.
#[test]
fn the_configuration_of_a_default_makes_the_same_model() {
    let here = folder("again");
    uneven(&here, false);
    for epsilon in ["0.5", "100"] {
        let first = train(&here, &format!("--epsilon {epsilon} --out first{epsilon}"));
        assert_eq!(first.code, 0, "{first:?}");
        let line = format!("train --config first{epsilon}/configuration.toml --out again{epsilon}");
        let again = sordino_in(&here, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(again.code, 0, "{again:?}");
        let model = |out: &str| fs::read(here.join(format!("{out}{epsilon}/model.safetensors"))).unwrap();
        assert_eq!(model("first"), model("again"));
    }
}
