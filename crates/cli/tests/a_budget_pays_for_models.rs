//! Two analysts share a budget: it falls, it refuses, and a run that dies is finished without
//! paying twice.

mod command;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
    let (left, of) = first.line("left").split_once(' ').unwrap();
    assert!((0.0..=0.5).contains(&left.parse().unwrap()) && of == "of 1.2, the grant of ann", "{first:?}");
    // Ann has spent her share; Bob has his own.
    let refused = train(&here, "--epsilon 1 --steps 10 --who ann --out more");
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains("the grant of `ann`"), "{refused:?}");
    let second = train(&here, "--epsilon 0.5 --steps 10 --who bob --out bob");
    assert_eq!(second.code, 0, "{second:?}");
    // An analyst without a share is refused, and so is a charge above all that is left.
    assert_eq!(train(&here, "--epsilon 0.1 --steps 10 --who eve --out eve").code, 1);
    let history = sordino_in(&here, &["ledger", "history", "b.ledger"]);
    for part in ["ann", "bob", "train diagnosis", "booked"] {
        assert!(history.stdout.contains(part), "{history:?}");
    }
    assert!(!here.join("more").exists() && !here.join("more.part").exists());
}

/// An exhausted budget means exit 1, and no record is reported: one that would stop the strict door
/// is not named.
#[test]
fn a_refused_run_reads_nothing_and_writes_nothing() {
    let here = folder("refused");
    fs::write(here.join("t.csv"), "a,y\n1,no\nSECRET,yes\n0,no\n").unwrap();
    let schema = "columns.a = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'category', values \
        = ['no', 'yes'] }";
    fs::write(here.join("t.toml"), schema).unwrap();
    let create = "ledger create b.ledger --data t.csv --epsilon 0.1 --delta 1e-6 --neighbours zero_out";
    let create: Vec<&str> = create.split(' ').collect();
    assert_eq!(sordino_in(&here, &create).code, 0);
    let train = "train t.csv --target y --schema t.toml --ledger b.ledger --epsilon";
    let train = |epsilon| sordino_in(&here, &train.split(' ').chain([epsilon]).collect::<Vec<_>>());
    let refused = train("1");
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains("left of 0.1"), "{refused:?}");
    // A run that the budget allows is stopped by the record, before anything is charged.
    let strict = train("0.05");
    strict.refuses(&["row 2", "column `a`"]);
    assert!(!strict.stderr.contains("SECRET"), "{strict:?}");
    assert_eq!(history(&here)["charges"].as_array().map(Vec::len), Some(0));
    let left: Vec<_> = fs::read_dir(&here).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("t.model")), "{left:?}");
}

/// A plan states the cost and checks no record: one that would stop the run is not named.
#[test]
fn a_plan_spends_nothing_and_reads_no_record() {
    let here = folder("planned");
    let mut table = String::from("a,y\n");
    (0..200).for_each(|row| table.push_str(if row == 7 { "SECRET,yes\n" } else { "1,no\n" }));
    fs::write(here.join("t.csv"), table).unwrap();
    let schema = "columns.a = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'category', values \
        = ['no', 'yes'] }";
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
    assert_eq!(said.line("left before"), "1 of 1");
    let object = plan("--epsilon 0.5 --rows 100000 --json").object();
    assert_eq!((object["rows"].as_u64(), object["event"]["count"].as_u64()), (Some(100_000), Some(3000)));
    // With more records, the noise costs less accuracy.
    let few = plan("--epsilon 0.5 --rows 100 --json").object();
    let harm = |object: &Value| {
        object["score_without_noise"].as_f64().unwrap() - object["score_with_noise"].as_f64().unwrap()
    };
    assert!(harm(&object) < 0.02 && harm(&few) > harm(&object), "{object} {few}");
    assert_eq!(plan("--epsilon 1.5").code, 1);
    assert_eq!(history(&here)["charges"].as_array().map(Vec::len), Some(0));
    assert!(!here.join("t.model.part").exists());
}

/// A ledger for another relation or another file cannot pay for training. A pure budget cannot pay
/// for Gaussian noise, so the default method then uses none.
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
    train(&here, "--epsilon 1 --method gradient-descent").refuses(&["delta is 0", "Gaussian"]);
    let pure = train(&here, "--epsilon 1");
    assert!(pure.line("learned by").starts_with("objective-perturbation"), "{pure:?}");
    let here = folder("other-data");
    ledger(&here, "--epsilon 2 --neighbours zero_out");
    let (data, schema) = (example("data/breast-cancer-test.csv.gz"), example("breast-cancer.toml"));
    sordino_in(&here, &words(&data, &schema, "--epsilon 1")).refuses(&["nuclei"]);
}

/// A kind of run that is long enough to be interrupted: its flags, what it counts, and whether it
/// pays for an estimate beside the steps.
struct Long {
    name: &'static str,
    flags: &'static str,
    counts: &'static str,
    has_estimate: bool,
}

/// Runs of 4000 steps, or of passes over the 31 coordinates of the table.
const LONG: [Long; 2] = [
    Long { name: "gradients", flags: "--steps 4000", counts: "steps", has_estimate: false },
    Long {
        name: "coordinates",
        flags: "--method coordinate-descent --steps 124000",
        counts: "passes",
        has_estimate: true,
    },
];

fn begun(folder: &Path, more: &str) -> Child {
    let (data, schema) = (example(DATA), example("breast-cancer.toml"));
    Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(words(&data, &schema, more))
        .current_dir(folder)
        .env("USER", "ada")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn guarantee(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("m/guarantee.json")).unwrap()).unwrap()
}

/// After SIGKILL, at most `--checkpoint-every` steps are done and charged again.
#[test]
fn a_killed_run_is_resumed_and_pays_for_the_steps_it_repeats() {
    for Long { name, flags, has_estimate, .. } in LONG {
        let here = folder(&format!("killed-{name}"));
        ledger(&here, "--epsilon 2 --delta 1e-6 --neighbours zero_out");
        let more = format!("--epsilon 1 {flags} --checkpoint-every 20 --threads 1 --out m");
        let mut child = begun(&here, &more);
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

        // Without --resume the unfinished run is kept.
        train(&here, &more).refuses(&["m.part", "--resume"]);
        let resumed = train(&here, &format!("{more} --resume"));
        assert_eq!(resumed.code, 0, "{resumed:?}");
        // 4020 steps were paid for, and the guarantee says so; the estimate was paid for once.
        let guarantee = guarantee(&here);
        let events = guarantee["event"]["events"].as_array().unwrap();
        let counts: Vec<u64> = events.iter().filter_map(|event| event["count"].as_u64()).collect();
        assert_eq!(counts, [4000, 20], "{guarantee}");
        assert_eq!(events.len(), if has_estimate { 3 } else { 2 }, "{guarantee}");
        let upper = ends(&guarantee["epsilon"]).1;
        assert!(upper > 1.0 && upper < 1.01, "{upper}");
        let history = history(&here);
        let charges = history["charges"].as_array().unwrap();
        assert_eq!(charges.len(), 2, "{history}");
        assert!(!here.join("m.part").exists());
        let test = example("data/breast-cancer-test.csv.gz");
        assert_eq!(sordino_in(&here, &["predict", "m", &test, "--ledger", "b.ledger"]).code, 0);
    }
}

/// Ctrl-C stops the run between two steps, and the message says how to resume. Resuming is free,
/// once: the budget would not pay for a second run.
#[cfg(unix)]
#[test]
fn a_stopped_run_is_resumed_at_no_cost() {
    for Long { name, flags, counts, .. } in LONG {
        let here = folder(&format!("stopped-{name}"));
        ledger(&here, "--epsilon 1 --delta 1e-6 --neighbours zero_out");
        let more = format!("--epsilon 1 {flags} --checkpoint-every 1000 --threads 1 --out m --verbose");
        let mut child = begun(&here, &more);
        while !here.join("m.part/checkpoint").exists() {
            assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be stopped");
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(&format!("of 4000 {counts}")) && stderr.contains("--resume"), "{stderr}");
        let resumed = train(&here, &format!("{more} --resume"));
        assert_eq!(resumed.code, 0, "{resumed:?}");
        let upper = ends(&guarantee(&here)["epsilon"]).1;
        assert!(upper <= 1.0, "{upper}");
        // The resumption has a free entry of its own; the history shows the run in one line.
        let history = sordino_in(&here, &["ledger", "history", "b.ledger"]);
        assert!(history.stdout.lines().count() == 2 && !history.stdout.contains("0 events"), "{history:?}");
        assert!(history.stdout.contains("booked, 4000 steps"), "{history:?}");
        assert_eq!(sordino_in(&here, &["ledger", "show", "b.ledger"]).line("charges"), "1");
    }
}

/// A run dies after its last step and before its model is in place (here: because it cannot be
/// written). For every learner with steps, resuming does no step, costs nothing and writes the
/// model.
#[test]
fn a_run_that_has_paid_for_its_model_writes_it_later() {
    let here = folder("unplaced");
    ledger(&here, "--epsilon 4 --delta 1e-6 --neighbours zero_out");
    for (out, kind) in [
        ("linear", "--steps 20 --checkpoint-every 7"),
        ("coordinates", "--method coordinate-descent --steps 620 --checkpoint-every 7"),
        ("network", "--steps 20 --model mlp --hidden 4"),
    ] {
        let more = format!("--epsilon 1 {kind} --out {out}");
        let part = here.join(format!("{out}.part"));
        fs::create_dir(&part).unwrap();
        fs::write(part.join("model"), "no folder, and none can be made here").unwrap();
        train(&here, &more).refuses(&["--resume writes it at no further cost", out]);
        assert_eq!(Checkpoint::read(&part.join("checkpoint")).unwrap().steps(), 20);
        train(&here, &more).refuses(&["holds a run that was stopped", "--resume"]);
        let show = || sordino_in(&here, &["ledger", "show", "b.ledger", "--json"]).object();
        let spent = || show()["data_sets"][0]["spent"].as_f64().unwrap();
        let before = spent();
        fs::remove_file(part.join("model")).unwrap();
        let resumed = train(&here, &format!("{more} --resume"));
        assert_eq!(resumed.code, 0, "{resumed:?}");
        assert_eq!(spent(), before);
        let guarantee = fs::read_to_string(here.join(out).join("guarantee.json")).unwrap();
        let guarantee: Value = serde_json::from_str(&guarantee).unwrap();
        assert!(ends(&guarantee["epsilon"]).1 <= 1.0, "{guarantee}");
        assert!(!part.exists());
    }
    let charges = history(&here)["charges"].as_array().unwrap().clone();
    assert_eq!(charges.len(), 6, "{charges:?}");
    assert!(charges.iter().all(|charge| charge["state"] == "booked"), "{charges:?}");
}
