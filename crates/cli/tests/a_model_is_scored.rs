//! A model is scored on public records: scores, intervals, the best constant, and groups.

mod command;

use std::fs;
use std::io::Read;
use std::path::Path;

use command::{Run, example, folder, sordino_in};
use serde_json::Value;

const TEST: &str = "data/breast-cancer-test.csv.gz";

fn train(folder: &Path, words: &str) -> Run {
    let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
    let mut all = vec!["train", &data, "--schema", &schema, "--epsilon", "3", "--quiet"];
    all.extend(words.split_whitespace());
    sordino_in(folder, &all)
}

fn lines(folder: &Path, words: &[&str]) -> Vec<Vec<String>> {
    let run = sordino_in(folder, words);
    assert_eq!(run.code, 0, "{run:?}");
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    run.stdout.lines().skip(1).map(fields).collect()
}

/// A column of the public records.
fn truth(column: &str) -> Vec<String> {
    let mut text = String::new();
    let file = fs::File::open(example(TEST)).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut lines = text.lines();
    let place = lines.next().unwrap().split(',').position(|name| name == column).unwrap();
    lines.map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
}

#[track_caller]
fn score<'a>(scores: &'a Value, name: &str) -> &'a Value {
    scores
        .as_array()
        .unwrap()
        .iter()
        .find(|score| score["name"] == name)
        .unwrap_or_else(|| panic!("{scores}"))
}

#[track_caller]
fn close(got: &Value, expected: f64) {
    let got = got.as_f64().unwrap();
    assert!((got - expected).abs() < 1e-9, "{got} instead of {expected}");
}

/// The command once showed an accuracy alone, without an interval and without a comparison.
#[test]
fn every_score_is_shown_with_that_of_the_best_constant() {
    let here = folder("scores");
    let test = example(TEST);
    let run = train(&here, &format!("--target diagnosis --public-test {test} --out m --json")).object();
    let scores = &run["evaluation"]["scores"];
    let predicted = lines(&here, &["predict", "m", &test, "--proba", "--quiet"]);
    let pairs: Vec<(bool, f64, bool)> = truth("diagnosis")
        .iter()
        .zip(&predicted)
        .map(|(is, fields)| (is == "benign", fields[2].parse().unwrap(), is == &fields[0]))
        .collect();
    let n = pairs.len() as f64;
    let mean = |value: &dyn Fn(&(bool, f64, bool)) -> f64| pairs.iter().map(value).sum::<f64>() / n;
    let accuracy = score(scores, "accuracy");
    close(&accuracy["value"], mean(&|pair| f64::from(u8::from(pair.2))));
    close(&accuracy["constant"], 71.0 / 113.0);
    let (lower, upper) = (&accuracy["interval"]["lower"], &accuracy["interval"]["upper"]);
    assert!(upper.as_f64().unwrap() - lower.as_f64().unwrap() > 0.03, "{accuracy}");
    let loss = score(scores, "log loss");
    close(&loss["value"], mean(&|(is, p, _)| -(if *is { *p } else { 1.0 - p }).max(1e-15).ln()));
    let share: f64 = 71.0 / 113.0;
    close(&loss["constant"], -share * share.ln() - (1.0 - share) * (1.0 - share).ln());
    let wins = pairs.iter().filter(|pair| pair.0).flat_map(|x| {
        pairs.iter().filter(|pair| !pair.0).map(move |y| match x.1.total_cmp(&y.1) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
    });
    close(&score(scores, "AUC")["value"], wins.sum::<f64>() / (71.0 * 42.0));
    for name in ["balanced accuracy", "calibration error"] {
        assert!(score(scores, name)["value"].is_f64(), "{scores}");
    }
    let counts = run["evaluation"]["confusion"]["counts"].as_array().unwrap();
    let all: u64 =
        counts.iter().flat_map(|row| row.as_array().unwrap()).map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(all, 113);
    assert_eq!(run["evaluation"]["calibration"]["bins"].as_array().unwrap().len(), 10);
    let report = fs::read_to_string(here.join("m/report.html")).unwrap();
    for words in ["AUC", "log loss", "balanced accuracy", "calibration error", "best constant", "95\u{a0}%"] {
        assert!(report.contains(words), "{words}");
    }
}

#[test]
fn numbers_are_scored_as_they_are_predicted() {
    let here = folder("numbers");
    let test = example(TEST);
    let line = format!("--target mean_radius --public-test {test} --out m --json");
    let run = train(&here, &line).object();
    let scores = &run["evaluation"]["scores"];
    let predicted = lines(&here, &["predict", "m", &test, "--quiet"]);
    let is: Vec<f64> = truth("mean_radius").iter().map(|text| text.parse().unwrap()).collect();
    let errors: Vec<f64> =
        is.iter().zip(&predicted).map(|(is, fields)| is - fields[0].parse::<f64>().unwrap()).collect();
    let n = is.len() as f64;
    let mean = is.iter().sum::<f64>() / n;
    let (squares, spread) = (
        errors.iter().map(|error| error * error).sum::<f64>(),
        is.iter().map(|is| (is - mean).powi(2)).sum::<f64>(),
    );
    let near = |got: &Value, expected: f64| {
        // Targets are stored in single precision.
        assert!((got.as_f64().unwrap() / expected - 1.0).abs() < 1e-4, "{got} instead of {expected}");
    };
    near(&score(scores, "root mean squared error")["value"], (squares / n).sqrt());
    near(&score(scores, "root mean squared error")["constant"], (spread / n).sqrt());
    near(
        &score(scores, "mean absolute error")["value"],
        errors.iter().map(|error| error.abs()).sum::<f64>() / n,
    );
    near(&score(scores, "R²")["value"], 1.0 - squares / spread);
}

/// A threshold is declared with the other settings and is part of the model.
#[test]
fn a_declared_threshold_decides_predictions() {
    let here = folder("threshold");
    let test = example(TEST);
    let line = format!("--target diagnosis --public-test {test} --threshold malignant=0.05 --out m --json");
    let run = train(&here, &line).object();
    assert_eq!(run["evaluation"]["threshold"]["class"], "malignant");
    let predicted = lines(&here, &["predict", "m", &test, "--proba", "--quiet"]);
    for fields in &predicted {
        let malignant: f64 = fields[1].parse().unwrap();
        assert_eq!(fields[0], if malignant >= 0.05 { "malignant" } else { "benign" });
    }
    // The scores belong to the same decisions.
    let right = truth("diagnosis").iter().zip(&predicted).filter(|(is, fields)| *is == &fields[0]).count();
    close(&score(&run["evaluation"]["scores"], "accuracy")["value"], right as f64 / 113.0);
    let report = fs::read_to_string(here.join("m/report.html")).unwrap();
    assert!(
        report.contains("0.05")
            && fs::read_to_string(here.join("m/configuration.toml")).unwrap().contains("malignant=0.05")
    );
    train(&here, "--target mean_radius --threshold 0.3 --out n").refuses(&["--threshold", "a number"]);
    train(&here, "--target diagnosis --threshold begin=0.3 --out n")
        .refuses(&["no class `begin`", "`benign`"]);
    train(&here, "--target diagnosis --threshold 1.5 --out n").refuses(&["above 0 and below 1"]);
    assert!(!here.join("n.part").exists());
}

#[test]
fn groups_are_scored_by_a_column_of_the_public_records() {
    let here = folder("groups");
    let record = |i: usize| {
        let (ward, sex) = (["north", "south"][usize::from(i.is_multiple_of(10))], ["f", "m"][i % 2]);
        format!("0.{},{ward},{sex},{}\n", i % 10, if i % 10 >= 5 { "yes" } else { "no" })
    };
    let table =
        |from: usize, to: usize| format!("x,ward,sex,y\n{}", (from..to).map(record).collect::<String>());
    fs::write(here.join("a.csv"), table(0, 400)).unwrap();
    fs::write(here.join("public.csv"), table(1000, 1200)).unwrap();
    let schema = "columns.x = { kind = 'number', bounds = [0, 1] }
        columns.ward = { kind = 'category', values = ['north', 'south'] }
        columns.sex = { kind = 'ignore' }
        columns.y = { kind = 'category', values = ['no', 'yes'] }";
    fs::write(here.join("t.toml"), schema).unwrap();
    let train = |words: &str| {
        let line = format!("train a.csv --schema t.toml --target y --epsilon 5 --quiet {words}");
        sordino_in(&here, &line.split_whitespace().collect::<Vec<_>>())
    };
    let run = train("--public-test public.csv --by ward --out m --json").object();
    let groups = run["evaluation"]["groups"]["groups"].as_array().unwrap();
    let shown: Vec<_> = groups
        .iter()
        .map(|group| (group["value"].as_str(), group["records"].as_u64(), group["few"].as_bool()))
        .collect();
    assert_eq!(shown, [(Some("north"), Some(180), Some(false)), (Some("south"), Some(20), Some(true))]);
    let hits = |scores: &Value, records: f64| score(scores, "accuracy")["value"].as_f64().unwrap() * records;
    let parts = hits(&groups[0]["scores"], 180.0) + hits(&groups[1]["scores"], 20.0);
    assert!((parts - hits(&run["evaluation"]["scores"], 200.0)).abs() < 1e-9);
    assert!(fs::read_to_string(here.join("m/report.html")).unwrap().contains("few records"));
    // A column that no model may use can still define groups: its values are listed.
    train("--public-test public.csv --by sex --out n")
        .refuses(&["declares no values", "--by sex=VALUE,VALUE"]);
    let text = train("--public-test public.csv --by sex=f,m --out n");
    assert!(text.line("by") == "sex" && text.line("  f").contains("on 100 records"), "{text:?}");
    let numbers = train("--public-test public.csv --by x --out o --json").object();
    assert_eq!(numbers["evaluation"]["groups"]["groups"][0]["value"], "0 to 0.25");
    train("--public-test public.csv --by wrad --out p")
        .refuses(&["no column `wrad`", "did you mean `ward`?"]);
    train("--by ward --out p").refuses(&["--by has no meaning for a run without --public-test"]);
}

/// The command once did not say that the model had learned nothing.
#[test]
fn a_model_that_is_no_better_than_a_constant_says_so() {
    let here = folder("constant");
    let record = |i: usize| format!("0.5,{}\n", if i.is_multiple_of(3) { "yes" } else { "no" });
    for (name, from) in [("a.csv", 0), ("public.csv", 1001)] {
        let records: String = (from..from + 120).map(record).collect();
        fs::write(here.join(name), format!("x,y\n{records}")).unwrap();
    }
    let schema = "columns.x = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'category', values \
        = ['no', 'yes'] }";
    fs::write(here.join("t.toml"), schema).unwrap();
    let line = "train a.csv --schema t.toml --target y --epsilon 5 --public-test public.csv --out m";
    let run = sordino_in(&here, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:?}");
    for words in ["no better than always naming the commonest class", "against 0.6667", "--epsilon", "--plan"]
    {
        assert!(run.stderr.contains(words), "{words}: {run:?}");
    }
    for file in ["report.html", "card.md", "run.json"] {
        let text = fs::read_to_string(here.join("m").join(file)).unwrap();
        assert!(text.contains("no better than always naming the commonest class"), "{file}");
    }
    // A model that has learned something gets no such note.
    let test = example(TEST);
    let run = train(&here, &format!("--target diagnosis --public-test {test} --out n"));
    let loud = sordino_in(&here, &["predict", "n", &test]);
    assert!(loud.code == 0 && !run.stderr.contains("no better"), "{run:?}");
    let report = fs::read_to_string(here.join("n/report.html")).unwrap();
    assert!(!report.contains("no better than"));
}
