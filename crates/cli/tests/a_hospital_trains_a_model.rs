//! A hospital has a table of 456 images of cell nuclei, and 113 more that are public. It trains a
//! classifier, reads its guarantee, and uses it.

mod command;

use std::fs;
use std::path::Path;

use command::{Run, ends, example, folder, sordino_in};
use serde_json::Value;

/// `sordino train` on the shipped table, with few steps.
fn train(folder: &Path, words: &str) -> Run {
    let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
    let mut all = vec!["train", &data, "--target", "diagnosis", "--schema", &schema, "--steps", "20"];
    all.extend(words.split_whitespace());
    sordino_in(folder, &all)
}

fn predict(folder: &Path, model: &str, words: &str) -> Run {
    let data = example("data/breast-cancer-test.csv.gz");
    let mut all = vec!["predict", model, &data];
    all.extend(words.split_whitespace());
    sordino_in(folder, &all)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_model_is_trained_explained_and_used() {
    let here = folder("trained");
    let test = example("data/breast-cancer-test.csv.gz");
    let run = train(&here, &format!("--epsilon 3 --public-test {test} --out nuclei"));
    // Benign is 63 % of the records: the model has learned something.
    let accuracy: f64 = run.line("accuracy").split(' ').next().unwrap().parse().unwrap();
    assert!(accuracy > 0.8, "{run:?}");
    assert!(run.line("epsilon").starts_with("at most 3"), "{run:?}");
    assert_eq!((run.line("delta"), run.line("neighbours"), run.line("unit")), ("1e-6", "zero_out", "record"));
    for note in ["no --delta given: took delta = 1e-6", "no --ledger given: nothing was charged"] {
        assert_eq!(run.stderr.matches(note).count(), 1, "{run:?}");
    }

    let model = here.join("nuclei");
    let mut files: Vec<_> =
        fs::read_dir(&model).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    for file in
        ["configuration.toml", "encoding.json", "guarantee.json", "manifest.json", "model.safetensors"]
    {
        assert!(files.iter().any(|name| name == file), "{files:?}");
    }
    assert!(!here.join("nuclei.part").exists());
    let guarantee = json(&model.join("guarantee.json"));
    assert_eq!((&guarantee["metered"], &guarantee["seeded"]), (&false.into(), &false.into()));
    assert_eq!(guarantee["event"]["count"], 20);
    assert!(ends(&guarantee["epsilon"]).1 <= 3.0);

    let predictions = predict(&here, "nuclei", "--proba");
    assert_eq!(predictions.code, 0, "{predictions:?}");
    let mut lines = predictions.stdout.lines();
    assert_eq!(lines.next(), Some("prediction,probability_malignant,probability_benign"));
    assert_eq!(lines.clone().count(), 113);
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let (malignant, benign): (f64, f64) = (fields[1].parse().unwrap(), fields[2].parse().unwrap());
        assert!((malignant + benign - 1.0).abs() < 1e-12);
        assert_eq!(fields[0], if benign > 0.5 { "benign" } else { "malignant" });
    }
    let object = predict(&here, "nuclei", "--json --quiet").object();
    assert_eq!(object["predictions"].as_array().unwrap().len(), 113);
    assert_eq!(object["classes"], serde_json::json!(["malignant", "benign"]));
}

/// `--json`, `run.json` and the copy inside the report are equal; the report points out large
/// numbers.
#[test]
fn the_report_holds_what_json_says() {
    let here = folder("report");
    let run = train(&here, "--epsilon 9 --delta 0.01 --out m --report copy.html --json");
    let object = run.object();
    assert_eq!(object, json(&here.join("m/run.json")));
    assert_eq!((&object["sordino"], &object["source"]["rows"]), (&"0.1.0".into(), &456.into()));
    let html = fs::read_to_string(here.join("m/report.html")).unwrap();
    let inside = html.split("application/json").nth(1).unwrap();
    let inside = inside.split_once('>').unwrap().1.split("</script>").next().unwrap();
    assert_eq!(serde_json::from_str::<Value>(inside).unwrap(), object);
    assert_eq!(html, fs::read_to_string(here.join("copy.html")).unwrap());
    assert!(run.stderr.contains("above 8") && run.stderr.contains("no --ledger given"), "{run:?}");
    assert!(fs::read_to_string(here.join("m/card.md")).unwrap().starts_with("# "));
}

/// The report is handed out: it says what a number means before it states the number, and does not
/// show where the files are.
#[test]
fn a_report_is_readable_without_knowing_the_run() {
    let here = folder("handed-out");
    let ledger = here.join("b.ledger").display().to_string();
    let data = example("data/breast-cancer-train.csv.gz");
    sordino_in(&here, &["ledger", "create", &ledger, "--data", &data, "--epsilon", "2", "--delta", "1e-6"]);
    let run = train(&here, &format!("--epsilon 1 --ledger {ledger} --who ann --out m --tuned-on none"));
    assert_eq!(run.code, 0, "{run:?}");
    let folder = Path::new(&data).parent().unwrap().display().to_string();
    for file in ["report.html", "card.md", "run.json"] {
        let text = fs::read_to_string(here.join("m").join(file)).unwrap();
        assert!(text.contains("breast-cancer-train.csv.gz") && text.contains("b.ledger"), "{file}");
        for path in [&folder, &here.display().to_string()] {
            assert!(!text.contains(path), "{file} says {path}");
        }
        assert!(!text.contains("tuning_not_stated"), "{file}");
    }
    let card = fs::read_to_string(here.join("m/card.md")).unwrap();
    let opens = card.lines().nth(2).unwrap();
    assert!(
        opens.starts_with("Whoever sees this model and guesses whether one record was used is right at most"),
        "{opens}"
    );
    let kept = fs::read_to_string(here.join("m/configuration.toml")).unwrap();
    assert!(kept.contains(&ledger) && kept.contains("tuned_on = \"none\""), "{kept}");
}

/// The schema is part of the model, so a user who predicts cannot change it.
#[test]
fn advice_for_predictions_can_be_followed() {
    let here = folder("advice");
    fs::write(here.join("t.csv"), "age,ward,ill\n41,north,no\n57,south,yes\n33,north,no\n").unwrap();
    let schema = "columns.age = { kind = 'number', bounds = [0, 120] }
        columns.ward = { kind = 'category', values = ['north', 'south'] }
        columns.ill = { kind = 'category', values = ['no', 'yes'] }";
    fs::write(here.join("t.toml"), schema).unwrap();
    let line = "train t.csv --schema t.toml --target ill --epsilon 1 --steps 5 --out m";
    assert_eq!(sordino_in(&here, &line.split(' ').collect::<Vec<_>>()).code, 0);
    let predict = |content: &str, more: &[&str]| {
        fs::write(here.join("p.csv"), content).unwrap();
        sordino_in(&here, &[&["predict", "m", "p.csv"], more].concat())
    };
    let odd = "age,ward\n41,west\n50,south\n";
    predict(odd, &[]).refuses(&["row 1, column `ward`", "give --permissive"]);
    assert_eq!(predict(odd, &["--permissive"]).code, 0);
    let more = "age,ward,shoe\n41,north,38\n";
    predict(more, &[]).refuses(&["column `shoe`", "not trained with", "remove the column"]);
    predict("age\n41\n", &[]).refuses(&["needs column `ward`", "add it"]);
    for content in [odd, more] {
        let run = predict(content, &[]);
        assert!(!run.stderr.contains("add it to") && !run.stderr.contains("kind ="), "{run:?}");
    }
}

/// A copy predicts the same, and the effective configuration can be read as a configuration.
#[test]
fn a_copied_directory_predicts_the_same() {
    let here = folder("copied");
    assert_eq!(train(&here, "--epsilon 1 --out first --quiet").code, 0);
    fs::create_dir(here.join("second")).unwrap();
    for file in fs::read_dir(here.join("first")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), here.join("second").join(file.file_name())).unwrap();
    }
    let (first, second) = (predict(&here, "first", ""), predict(&here, "second", "--out predictions.csv"));
    assert_eq!((first.code, second.code), (0, 0), "{second:?}");
    assert_eq!(first.stdout, fs::read_to_string(here.join("predictions.csv")).unwrap());

    let again = sordino_in(&here, &["train", "--config", "first/configuration.toml", "--out", "third"]);
    assert_eq!(again.code, 0, "{again:?}");
    let (first, third) = (json(&here.join("first/guarantee.json")), json(&here.join("third/guarantee.json")));
    assert_eq!(first, third);
}

/// Two runs differ in their noise and in nothing else. A seed makes them equal, and voids the
/// guarantee.
#[test]
fn the_same_command_gives_another_model_unless_it_is_seeded() {
    let here = folder("again");
    let weights = |out: &str| fs::read(here.join(out).join("model.safetensors")).unwrap();
    for out in ["a", "b"] {
        assert_eq!(train(&here, &format!("--epsilon 1 --out {out}")).code, 0);
    }
    assert_ne!(weights("a"), weights("b"));
    for (out, threads) in [("c", 1), ("d", 3)] {
        let run = train(&here, &format!("--epsilon 1 --danger-seed 7 --threads {threads} --out {out}"));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stderr.contains("the noise is seeded"), "{run:?}");
    }
    assert_eq!(weights("c"), weights("d"));
    assert_eq!(json(&here.join("c/guarantee.json"))["seeded"], true);
    assert!(predict(&here, "c", "").stderr.contains("nothing is promised"));
}

/// A penalty that the method chose is a setting like any other: it is written, and read back the
/// same.
#[test]
fn a_penalty_that_was_chosen_is_written_down() {
    let here = folder("chosen");
    for method in ["output-perturbation", "objective-perturbation"] {
        let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
        let line = format!(
            "train {data} --schema {schema} --target diagnosis --epsilon 1 --method {method} --out {method}"
        );
        let run = sordino_in(&here, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(run.code, 0, "{run:?}");
        let configuration = fs::read_to_string(here.join(method).join("configuration.toml")).unwrap();
        let l2 = |text: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix("l2 = ")).expect("a line for l2");
            line.parse::<f64>().unwrap()
        };
        assert!(l2(&configuration) > 0.0, "{configuration}");
        let again = here.join(method).join("configuration.toml").display().to_string();
        let run = sordino_in(&here, &["train", "--config", &again, "--out", "again", "--quiet"]);
        assert_eq!(run.code, 0, "{run:?}");
        let second = fs::read_to_string(here.join("again/configuration.toml")).unwrap();
        assert!((l2(&second) / l2(&configuration) - 1.0).abs() < 1e-12, "{second}");
        fs::remove_dir_all(here.join("again")).unwrap();
    }
}

#[test]
fn a_tampered_model_or_guarantee_is_noticed() {
    let here = folder("tampered");
    let ledger = "l.ledger";
    let data = example("data/breast-cancer-train.csv.gz");
    let created = sordino_in(
        &here,
        &["ledger", "create", ledger, "--data", &data, "--epsilon", "2", "--neighbours", "zero_out"],
    );
    assert_eq!(created.code, 0, "{created:?}");
    let run = train(&here, &format!("--epsilon 1 --out m --ledger {ledger} --who ada"));
    assert_eq!(run.code, 0, "{run:?}");
    let booked = predict(&here, "m", &format!("--ledger {ledger}"));
    assert_eq!(booked.code, 0, "{booked:?}");
    assert!(booked.stderr.contains("train diagnosis, by ada"), "{booked:?}");

    for name in ["model.safetensors", "guarantee.json", "encoding.json"] {
        let path = here.join("m").join(name);
        let before = fs::read(&path).unwrap();
        let mut after = before.clone();
        *after.last_mut().unwrap() ^= 1;
        fs::write(&path, &after).unwrap();
        let refused = predict(&here, "m", "");
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
        assert!(refused.stderr.contains(name) && refused.stderr.contains("SHA-256"), "{refused:?}");
        fs::write(&path, before).unwrap();
    }

    // If the manifest is rewritten too, only the ledger finds out.
    let path = here.join("m/guarantee.json");
    let text = fs::read_to_string(&path).unwrap().replace("\"record\"", "\"client\"");
    fs::write(&path, &text).unwrap();
    let manifest = here.join("m/manifest.json");
    let mut listed = json(&manifest);
    listed["files"]["guarantee.json"] = sordino_ledger_digest(text.as_bytes()).into();
    fs::write(&manifest, listed.to_string()).unwrap();
    assert_eq!(predict(&here, "m", "").code, 0);
    let refused = predict(&here, "m", &format!("--ledger {ledger}"));
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains("no booking"), "{refused:?}");
}

fn sordino_ledger_digest(bytes: &[u8]) -> String {
    sordino_ledger::Digest::of(bytes).to_string()
}
