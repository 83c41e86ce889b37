//! Pitfall 14: a change of version, or of a flag, switches the private path off and nobody notices.
//! These tests run every method that the command itself lists, so a new method is tested too.

mod command;

use std::fs;

use command::{ends, example, folder, sordino, sordino_in};
use serde_json::Value;

fn methods() -> Vec<String> {
    let listed = sordino("train --method ?");
    let names = listed.stderr.split("[possible values: ").nth(1).expect("a list of methods");
    names.split(']').next().unwrap().split(", ").map(str::to_owned).collect()
}

#[test]
fn pitfall_14_every_method_adds_the_noise_that_it_states() {
    let here = folder("methods");
    let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
    let methods = methods();
    assert!(methods.len() >= 6, "{methods:?}");
    for method in methods {
        let target = if method == "sufficient-statistics" { "worst_radius" } else { "diagnosis" };
        let train = |out: &str| {
            let words = [
                "train",
                &data,
                "--schema",
                &schema,
                "--target",
                target,
                "--epsilon",
                "1",
                "--method",
                &method,
                "--out",
                out,
            ];
            let run = sordino_in(&here, &words);
            assert_eq!(run.code, 0, "{method}: {run:?}");
            let read = |file: &str| fs::read(here.join(out).join(file)).unwrap();
            let guarantee: Value = serde_json::from_slice(&read("guarantee.json")).unwrap();
            (read("model.safetensors"), guarantee)
        };
        let ((first, guarantee), (second, _)) =
            (train(&format!("{method}-1")), train(&format!("{method}-2")));
        assert_ne!(first, second, "{method} gives the same model twice");
        let upper = ends(&guarantee["epsilon"]).1;
        assert!(upper > 0.5 && upper <= 1.0, "{method}: {guarantee}");
        assert!(!guarantee["event"].to_string().contains("non_private"), "{method}: {guarantee}");
    }
}

/// Networks too have other weights each time, and stay within ε.
#[test]
fn pitfall_14_networks_add_the_noise_that_they_state() {
    let here = folder("networks");
    let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
    let train = |out: &str| {
        let line = format!(
            "train {data} --schema {schema} --target diagnosis --epsilon 1 --model softmax --steps 20 --out \
            {out}"
        );
        let run = sordino_in(&here, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(run.code, 0, "{run:?}");
        let read = |file: &str| fs::read(here.join(out).join(file)).unwrap();
        let guarantee: Value = serde_json::from_slice(&read("guarantee.json")).unwrap();
        (read("model.safetensors"), guarantee)
    };
    let ((first, guarantee), (second, _)) = (train("1"), train("2"));
    assert_ne!(first, second);
    let upper = ends(&guarantee["epsilon"]).1;
    assert!(upper > 0.5 && upper <= 1.0, "{guarantee}");
    assert!(guarantee["event"].to_string().contains("poisson_sampled"), "{guarantee}");
}

/// No flag of the command switches noise, clipping or the permit off. The only dangerous flag marks
/// its results.
#[test]
fn pitfall_14_only_the_flag_called_danger_voids_a_guarantee() {
    let help = sordino("train --help").stdout;
    let flags: Vec<&str> = help.split_whitespace().filter(|word| word.starts_with("--")).collect();
    for word in ["no-noise", "non-private", "unsafe", "disable", "skip", "force", "no-clip", "insecure"] {
        assert!(!flags.iter().any(|flag| flag.contains(word)), "{word}: {flags:?}");
    }
    assert_eq!(flags.iter().filter(|flag| flag.contains("danger")).count(), 1, "{flags:?}");
}

/// A log is about the run, never about a record.
#[test]
fn a_log_carries_no_data() {
    let here = folder("log");
    let mut table = String::from("age,ill\n");
    (0..50).for_each(|row| {
        table.push_str(&format!("4711.{row:03},{}\n", if row % 2 == 0 { "no" } else { "yes" }))
    });
    fs::write(here.join("t.csv"), table).unwrap();
    let schema = "columns.age = { kind = 'number', bounds = [0, 9999] }\ncolumns.ill = { kind = 'category', \
        values = ['no', 'yes'] }";
    fs::write(here.join("t.toml"), schema).unwrap();
    let line = "train t.csv --schema t.toml --target ill --epsilon 1 --steps 20 -v --log run.log";
    let run = sordino_in(&here, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:?}");
    let log = fs::read_to_string(here.join("run.log")).unwrap();
    for text in [&log, &run.stderr] {
        assert!(text.contains("planned: 50 records") && text.contains("step 20 of 20"), "{text}");
        assert!(!text.contains("4711"), "{text}");
    }
    for file in ["report.html", "card.md", "run.json", "configuration.toml"] {
        assert!(!fs::read_to_string(here.join("t.model").join(file)).unwrap().contains("4711"), "{file}");
    }
}
