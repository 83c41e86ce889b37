//! A rare class counts for more, by weights that are declared before the data is seen.

mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::{Run, folder, sordino_in};

const SCHEMA: &str = "columns.x = { kind = 'number', bounds = [0, 1] }\n\
    columns.z = { kind = 'number', bounds = [0, 1] }\n\
    columns.ill = { kind = 'category', values = ['no', 'yes'] }";

/// One record in ten is ill. x is then 0.3 larger, with much overlap between the classes.
fn table(records: u64, seed: u64) -> String {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut text = "x,z,ill\n".to_owned();
    for row in 0..records {
        let is_ill = row % 10 == 0;
        let x = 0.7 * uniform() + if is_ill { 0.3 } else { 0.0 };
        text.push_str(&format!("{x:.6},{:.6},{}\n", uniform(), if is_ill { "yes" } else { "no" }));
    }
    text
}

fn scene(name: &str) -> PathBuf {
    let here = folder(name);
    fs::write(here.join("a.csv"), table(2000, 1)).unwrap();
    fs::write(here.join("test.csv"), table(2000, 2)).unwrap();
    fs::write(here.join("s.toml"), SCHEMA).unwrap();
    here
}

fn train(here: &Path, words: &str) -> Run {
    let line = format!("train a.csv --schema s.toml --epsilon 3 --danger-seed 7 --quiet {words}");
    sordino_in(here, &line.split_whitespace().collect::<Vec<_>>())
}

/// The recall of the ill.
fn recall(run: &serde_json::Value) -> f64 {
    let count = |predicted: usize| run["evaluation"]["confusion"]["counts"][1][predicted].as_f64().unwrap();
    count(1) / (count(0) + count(1))
}

/// Without weights the model predicts *no* for everybody; only a threshold could change that.
#[test]
fn the_recall_of_a_rare_class_rises_with_its_weight() {
    let here = scene("weighted");
    for (number, how) in [
        "",
        "--method sgd",
        "--method objective-perturbation",
        "--method output-perturbation",
        "--method coordinate-descent",
        "--model mlp --hidden 8 --epochs 5",
        "--model mlp --hidden 8 --epochs 5 --clipping automatic",
    ]
    .iter()
    .enumerate()
    {
        let [equal, weighted] = [1, 12].map(|weight| {
            let line = format!(
                "--target ill {how} --class-weights no=1,yes={weight} --public-test test.csv --out \
                {number}-{weight} --json"
            );
            recall(&train(&here, &line).object())
        });
        assert!(equal + 0.3 < weighted, "{how}: {equal} and {weighted}");
    }
}

#[test]
fn the_weights_are_stated_wherever_the_settings_are() {
    let here = scene("stated");
    let line = "--target ill --class-weights yes=4,no=1 --public-test test.csv --out m";
    let run = train(&here, line);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("class weights  no=0.25,yes=1\n"), "{run:?}");
    let configuration = fs::read_to_string(here.join("m/configuration.toml")).unwrap();
    assert!(configuration.contains("class_weights = \"no=0.25,yes=1\""), "{configuration}");
    let report = fs::read_to_string(here.join("m/report.html")).unwrap();
    assert!(report.contains("no=0.25,yes=1"));
    let json = train(&here, "--target ill --class-weights no=1,yes=4 --out n --json").object();
    let settings = json["method"]["settings"].as_array().unwrap();
    assert!(
        settings
            .iter()
            .any(|setting| setting["name"] == "class_weights" && setting["value"] == "no=0.25,yes=1"),
        "{settings:?}"
    );
    // Scaled weights stay the same when they are read again; equal weights count as none.
    let again = train(&here, "--target ill --config m/configuration.toml --out again --json").object();
    let weights = |folder: &str| fs::read(here.join(folder).join("model.safetensors")).unwrap();
    assert_eq!(again["guarantee"], json["guarantee"]);
    assert_eq!(weights("again"), weights("m"));
    for (words, out) in [("", "plain"), ("--class-weights no=2,yes=2", "equal")] {
        assert_eq!(train(&here, &format!("--target ill {words} --out {out}")).code, 0);
    }
    assert_eq!(weights("plain"), weights("equal"));
    assert_ne!(weights("plain"), weights("m"));
    let plan = train(&here, "--target ill --class-weights no=1,yes=4 --plan");
    assert!(plan.stdout.contains("class weights"), "{plan:?}");
}

#[test]
fn invalid_class_weights_are_refused() {
    let here = scene("refused");
    for (words, says) in [
        ("--target ill --class-weights balanced", ["counts of the private data", "public knowledge"]),
        ("--target ill --class-weights no=1,yess=3", ["no class `yess`", "did you mean `yes`?"]),
        ("--target ill --class-weights no=1", ["`yes` has no weight", "give each class"]),
        ("--target ill --class-weights no=1,yes=0", ["above 0", "got 0"]),
        ("--target ill --class-weights no=1,yes=-3", ["above 0", "got -3"]),
        ("--target ill --class-weights no,yes", ["CLASS=WEIGHT", "no=1,yes=3"]),
        ("--target x --class-weights no=1,yes=3", ["--class-weights", "a target that is a number"]),
        (
            "--target x --method sufficient-statistics --class-weights no=1,yes=3",
            ["--class-weights", "no meaning"],
        ),
        ("--target x --model mlp --hidden 4 --class-weights no=1,yes=3", ["--class-weights", "is a number"]),
    ] {
        train(&here, words).refuses(&says);
    }
    assert!(!here.join("a.model").exists());
}

/// A run that is killed and resumed with other weights would be half of one model and half of
/// another.
#[test]
fn a_run_resumes_only_with_the_same_weights() {
    let here = scene("resumed");
    for (number, how) in ["--steps 20", "--model softmax --epochs 2"].iter().enumerate() {
        let line = |weights: &str, more: &str| {
            format!("--target ill {how} --class-weights {weights} --out {number} {more}")
        };
        let part = here.join(format!("{number}.part"));
        fs::create_dir_all(&part).unwrap();
        fs::write(part.join("model"), "in the way").unwrap();
        train(&here, &line("no=1,yes=4", "")).refuses(&["--resume"]);
        fs::remove_file(part.join("model")).unwrap();
        train(&here, &line("no=1,yes=5", "--resume")).refuses(&["--class-weights"]);
        let resumed = train(&here, &line("no=1,yes=4", "--resume"));
        assert_eq!(resumed.code, 0, "{resumed:?}");
    }
}
