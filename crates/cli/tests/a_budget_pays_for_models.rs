//! Two analysts share a budget: it falls, it is refused, and a run that dies is finished without paying twice.

mod command;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use command::{Run, ends, example, folder, sordino_in};
use serde_json::Value;
use sordino_optim::Checkpoint;

const DATA: &str = "data/breast-cancer-train.csv.gz";

/// A ledger with a budget for the shipped table.
fn ledger(folder: &Path, words: &str) {
    let data = example(DATA);
    let mut all = vec!["ledger", "create", "b.ledger", "--data", &data, "--name", "nuclei"];
    all.extend(words.split_whitespace());
    let created = sordino_in(folder, &all);
    assert_eq!(created.code, 0, "{created:?}");
}

fn words<'a>(data: &'a str, schema: &'a str, more: &'a str) -> Vec<&'a str> {
    let mut all = vec!["train", data, "--target", "diagnosis", "--schema", schema, "--ledger", "b.ledger"];
    all.extend(["--name", "nuclei"]);
    all.extend(more.split_whitespace());
    all
}

fn train(folder: &Path, more: &str) -> Run {
    let (data, schema) = (example(DATA), example("breast-cancer.toml"));
    sordino_in(folder, &words(&data, &schema, more))
}

fn history(folder: &Path) -> Value {
    sordino_in(folder, &["ledger", "export", "b.ledger"]).object()
}

#[test]
fn two_analysts_share_a_budget_and_the_next_request_is_refused() {
    let here = folder("shared");
    ledger(&here, "--epsilon 2 --delta 1e-6 --neighbours zero_out");
    for (who, share) in [("ann", "1.2"), ("bob", "1.2")] {
        let words = ["ledger", "grant", "b.ledger", "nuclei", "--to", who, "--epsilon", share];
        assert_eq!(sordino_in(&here, &words).code, 0);
    }
    let first = train(&here, "--epsilon 1 --steps 10 --who ann --out ann");
    let left: f64 = first.line("left").trim_start_matches("epsilon ").parse().unwrap();
    assert!((0.0..=1.1).contains(&left), "{first:?}");
    // Ann has spent her share, Bob has his own.
    let refused = train(&here, "--epsilon 1 --steps 10 --who ann --out more");
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains("the grant of `ann`"), "{refused:?}");
    let second = train(&here, "--epsilon 0.5 --steps 10 --who bob --out bob");
    assert_eq!(second.code, 0, "{second:?}");
    // Someone without a share, and what is more than all that is left.
    train(&here, "--epsilon 0.1 --steps 10 --who eve --out eve").refuses(&["eve"]);
    let history = sordino_in(&here, &["ledger", "history", "b.ledger"]);
    for part in ["ann", "bob", "train diagnosis", "booked"] {
        assert!(history.stdout.contains(part), "{history:?}");
    }
    assert!(!here.join("more").exists() && !here.join("more.part").exists());
}

/// An exhausted budget is exit 1, and the data is not read: a record that would stop the strict door is not found.
#[test]
fn a_refused_run_reads_nothing_and_writes_nothing() {
    let here = folder("refused");
    fs::write(here.join("t.csv"), "a,y\n1,no\nSECRET,yes\n0,no\n").unwrap();
    let schema = "columns.a = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'category', values = ['no', 'yes'] }";
    fs::write(here.join("t.toml"), schema).unwrap();
    let create = "ledger create b.ledger --data t.csv --epsilon 0.1 --delta 1e-6 --neighbours zero_out";
    let create: Vec<&str> = create.split(' ').collect();
    assert_eq!(sordino_in(&here, &create).code, 0);
    let train = "train t.csv --target y --schema t.toml --ledger b.ledger --epsilon";
    let train = |epsilon| sordino_in(&here, &train.split(' ').chain([epsilon]).collect::<Vec<_>>());
    let refused = train("1");
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains("left of 0.1"), "{refused:?}");
    // What the budget would allow is then stopped by the record, before anything is charged.
    let strict = train("0.05");
    strict.refuses(&["row 2", "column `a`"]);
    assert!(!strict.stderr.contains("SECRET"), "{strict:?}");
    assert_eq!(history(&here)["charges"].as_array().map(Vec::len), Some(0));
    let left: Vec<_> = fs::read_dir(&here).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("t.model")), "{left:?}");
}

/// What would it cost? The plan says, and asks nothing of the data: a record that would stop the run is not found.
#[test]
fn a_plan_spends_nothing_and_reads_no_record() {
    let here = folder("planned");
    let mut table = String::from("a,y\n");
    (0..200).for_each(|row| table.push_str(if row == 7 { "SECRET,yes\n" } else { "1,no\n" }));
    fs::write(here.join("t.csv"), table).unwrap();
    let schema = "columns.a = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'category', values = ['no', 'yes'] }";
    fs::write(here.join("t.toml"), schema).unwrap();
    let create = "ledger create b.ledger --data t.csv --epsilon 1 --delta 1e-6 --neighbours zero_out";
    assert_eq!(sordino_in(&here, &create.split(' ').collect::<Vec<_>>()).code, 0);
    let plan = |more: &str| {
        let line = format!("train t.csv --target y --schema t.toml --ledger b.ledger --plan {more}");
        sordino_in(&here, &line.split_whitespace().collect::<Vec<_>>())
    };
    let said = plan("--epsilon 0.5");
    assert!(said.line("spend").starts_with("epsilon at most 0.5"), "{said:?}");
    assert!(said.line("accuracy").contains("estimate"), "{said:?}");
    assert_eq!(said.line("left before"), "epsilon 1");
    let object = plan("--epsilon 0.5 --rows 100000 --json").object();
    assert_eq!((object["rows"].as_u64(), object["event"]["count"].as_u64()), (Some(100_000), Some(100)));
    // More records, less harm.
    let few = plan("--epsilon 0.5 --rows 100 --json").object();
    let harm = |object: &Value| {
        object["score_without_noise"].as_f64().unwrap() - object["score_with_noise"].as_f64().unwrap()
    };
    assert!(harm(&object) < 0.02 && harm(&few) > harm(&object), "{object} {few}");
    assert_eq!(plan("--epsilon 1.5").code, 1);
    assert_eq!(history(&here)["charges"].as_array().map(Vec::len), Some(0));
    assert!(!here.join("t.model.part").exists());
}

/// A ledger for another relation, another file, or one that promises pure privacy cannot pay for training.
#[test]
fn a_ledger_that_cannot_pay_says_why() {
    let here = folder("other-relation");
    ledger(&here, "--epsilon 2 --delta 1e-6 --neighbours add_remove");
    train(&here, "--epsilon 1").refuses(&["public number of records", "add_remove", "--neighbours zero_out"]);
    let here = folder("other-unit");
    ledger(&here, "--epsilon 2 --delta 1e-6 --unit column:patient_id");
    train(&here, "--epsilon 1").refuses(&["column `patient_id`", "`sordino ledger create --unit record`"]);
    let here = folder("pure");
    ledger(&here, "--epsilon 2 --delta 0 --neighbours zero_out");
    train(&here, "--epsilon 1").refuses(&["delta is 0", "Gaussian"]);
    let here = folder("other-data");
    ledger(&here, "--epsilon 2 --neighbours zero_out");
    let (data, schema) = (example("data/breast-cancer-test.csv.gz"), example("breast-cancer.toml"));
    sordino_in(&here, &words(&data, &schema, "--epsilon 1")).refuses(&["nuclei"]);
}

/// SIGKILL, the machine's own way of stopping: up to `--checkpoint-every` steps are done and charged again, and no more.
#[test]
fn a_killed_run_goes_on_and_pays_for_what_it_repeats() {
    let here = folder("killed");
    ledger(&here, "--epsilon 2 --delta 1e-6 --neighbours zero_out");
    let (data, schema) = (example(DATA), example("breast-cancer.toml"));
    // Long enough to be caught: some thousand steps.
    let more = "--epsilon 1 --steps 4000 --checkpoint-every 20 --threads 1 --out m";
    let all = words(&data, &schema, more);
    let mut child = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(&all)
        .current_dir(&here)
        .env("USER", "ada")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let checkpoint = here.join("m.part/checkpoint");
    let steps = || Some(Checkpoint::read(&checkpoint).ok()?.steps());
    while steps().is_none_or(|steps| steps == 0) {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!here.join("m").exists());
    let done = steps().unwrap();
    assert!(done < 4000, "{done}");

    // Without --resume the rest is not thrown away.
    train(&here, more).refuses(&["m.part", "--resume"]);
    let resumed = train(&here, &format!("{more} --resume"));
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let guarantee: Value =
        serde_json::from_str(&fs::read_to_string(here.join("m/guarantee.json")).unwrap()).unwrap();
    // 4020 steps were paid for, and the guarantee says so.
    let counts: Vec<u64> = guarantee["event"]["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [4000, 20], "{guarantee}");
    let upper = ends(&guarantee["epsilon"]).1;
    assert!(upper > 1.0 && upper < 1.01, "{upper}");
    let history = history(&here);
    let charges = history["charges"].as_array().unwrap();
    assert_eq!(charges.len(), 2, "{history}");
    assert!(!here.join("m.part").exists());
    let test = example("data/breast-cancer-test.csv.gz");
    assert_eq!(sordino_in(&here, &["predict", "m", &test, "--ledger", "b.ledger"]).code, 0);
}

/// Ctrl-C: the run stops between two steps, says how to go on, and going on costs nothing.
#[cfg(unix)]
#[test]
fn a_stopped_run_goes_on_at_no_cost() {
    let here = folder("stopped");
    ledger(&here, "--epsilon 2 --delta 1e-6 --neighbours zero_out");
    let (data, schema) = (example(DATA), example("breast-cancer.toml"));
    let more = "--epsilon 1 --steps 4000 --checkpoint-every 1000 --threads 1 --out m --verbose";
    let child = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(words(&data, &schema, more))
        .current_dir(&here)
        .env("USER", "ada")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !here.join("m.part/checkpoint").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("of 4000 steps") && stderr.contains("--resume"), "{stderr}");
    let resumed = train(&here, &format!("{more} --resume"));
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let guarantee = fs::read_to_string(here.join("m/guarantee.json")).unwrap();
    let upper = ends(&serde_json::from_str::<Value>(&guarantee).unwrap()["epsilon"]).1;
    assert!(upper <= 1.0, "{guarantee}");
}
