//! Targets other than two classes: a post office reads digits of 8 by 8 pixels, a laboratory
//! predicts one measurement from others.

mod command;

use std::fs;
use std::path::Path;

use command::{Run, digits, example, folder, sordino_in};

fn score(run: &Run, name: &str) -> f64 {
    run.line(name).split(' ').next().unwrap().parse().unwrap()
}

fn train_reader(folder: &Path, more: &str) -> Run {
    let line = "train train.csv --target digit --schema digits.toml --epsilon 8 --public-test public.csv \
        --out reader";
    sordino_in(folder, &line.split(' ').chain(more.split(' ')).collect::<Vec<_>>())
}

#[test]
fn a_post_office_reads_digits() {
    let here = folder("digits");
    digits(&here);
    let run = train_reader(&here, "--steps 30");
    // Guessing would be right one time in ten.
    assert!(score(&run, "accuracy") > 0.6, "{run:?}");
    assert!(run.line("learned by").contains("softmax"), "{run:?}");
    let predictions = sordino_in(&here, &["predict", "reader", "public.csv", "--quiet"]);
    let right = fs::read_to_string(here.join("public.csv")).unwrap();
    let right: Vec<&str> = right.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    let same = predictions.stdout.lines().skip(1).zip(&right).filter(|(said, is)| said == *is).count();
    let accuracy = same as f64 / right.len() as f64;
    assert!((accuracy - score(&run, "accuracy")).abs() < 1e-4, "{accuracy}: {run:?}");
}

#[test]
fn sampled_batches_are_learned_from_too() {
    let here = folder("sampled");
    digits(&here);
    let run = train_reader(&here, "--method sgd --sampling-rate 0.1 --steps 40");
    assert!(score(&run, "accuracy") > 0.5, "{run:?}");
    let guarantee = fs::read_to_string(here.join("reader/guarantee.json")).unwrap();
    assert!(guarantee.contains("poisson_sampled") && guarantee.contains("\"pld\""), "{guarantee}");
}

#[test]
fn a_laboratory_predicts_a_measure() {
    let here = folder("measure");
    let (data, test) =
        (example("data/breast-cancer-train.csv.gz"), example("data/breast-cancer-test.csv.gz"));
    let schema = example("breast-cancer.toml");
    for (method, out) in [("gradient-descent", "a"), ("coordinate-descent", "b")] {
        let run = sordino_in(
            &here,
            &[
                "train",
                &data,
                "--target",
                "worst_radius",
                "--schema",
                &schema,
                "--epsilon",
                "8",
                "--method",
                method,
                "--public-test",
                &test,
                "--out",
                out,
            ],
        );
        // The standard deviation of the column is 4.8.
        assert!(score(&run, "root mean squared error") < 4.5, "{run:?}");
        let learned = run.line("learned by");
        assert!(learned.contains("Huber") || learned.contains("squared"), "{run:?}");
        let predictions = sordino_in(&here, &["predict", out, &test]);
        let numbers: Vec<f64> =
            predictions.stdout.lines().skip(1).map(|line| line.parse().unwrap()).collect();
        assert!(
            numbers.len() == 113 && numbers.iter().all(|number| (0.0..=40.0).contains(number)),
            "{numbers:?}"
        );
        let refused = sordino_in(&here, &["predict", out, &test, "--proba"]);
        refused.refuses(&["loss has no probabilities"]);
    }
}
