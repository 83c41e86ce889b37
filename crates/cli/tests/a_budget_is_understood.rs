//! A budget says what is left, what a charge takes and what can still be asked, and keeps to it.

mod command;

use std::fs;
use std::path::Path;
use std::process::Command;

use command::{Run, folder, sordino_in};
use serde_json::Value;

const SCHEMA: &str = "columns.age = { kind = 'number', bounds = [0, 100] }
columns.y = { kind = 'category', values = ['no', 'yes'] }
";

/// A table of 400 records, and a ledger with a budget for it.
fn scene(name: &str, budget: &str) -> std::path::PathBuf {
    let here = folder(name);
    let mut table = String::from("age,y\n");
    for row in 0..400 {
        let age = (row * 37) % 100;
        table.push_str(&format!("{age},{}\n", if age > 50 { "yes" } else { "no" }));
    }
    fs::write(here.join("t.csv"), table).unwrap();
    fs::write(here.join("t.toml"), SCHEMA).unwrap();
    let created = run(&here, &format!("ledger create b.ledger --data t.csv {budget}"));
    assert_eq!(created.code, 0, "{created:?}");
    here
}

fn run(here: &Path, line: &str) -> Run {
    sordino_in(here, &line.split_whitespace().collect::<Vec<_>>())
}

/// Runs `train` or `query` at a price that the ledger pays.
fn paid(here: &Path, words: &str, epsilon: f64, more: &str) -> Run {
    run(here, &format!("{words} --epsilon {epsilon} --schema t.toml --ledger b.ledger {more}"))
}

fn shown(here: &Path) -> Value {
    run(here, "ledger show b.ledger --json").object()["data_sets"][0].clone()
}

fn left(here: &Path) -> f64 {
    shown(here)["left"].as_f64().unwrap()
}

/// Commands that charge, in their order, each with its ε. One that ends in `--out` gets a new
/// directory each time.
const ROUND: [(&str, f64); 5] = [
    ("train t.csv --target y --method gradient-descent --steps 20 --out", 0.3),
    ("query t.csv count", 0.01),
    ("train t.csv --target y --method sgd --steps 40 --batch-size 20 --out", 0.3),
    ("query t.csv mean age", 0.05),
    ("query t.csv histogram y", 0.1),
];

/// A budget of 3 once had 2.70 left after a training run for 0.3, then 1.63 after a count for 0.01,
/// then 1.60 after another training run.
#[test]
fn twenty_charges_take_what_their_plans_said() {
    let here = scene("twenty", "--epsilon 3 --delta 1e-6");
    let mut before = left(&here);
    assert_eq!(before, 3.0);
    for turn in 0..20 {
        let (words, epsilon) = ROUND[turn % ROUND.len()];
        let words = if words.ends_with("--out") { format!("{words} m{turn}") } else { words.to_owned() };
        let plan = paid(&here, &words, epsilon, "--plan --json").object();
        let said = plan["takes"].as_f64().unwrap();
        assert_eq!(plan["left"].as_f64(), Some(before), "{plan}");
        let done = paid(&here, &words, epsilon, "");
        assert_eq!(done.code, 0, "{done:?}");
        let after = left(&here);
        let fell = before - after;
        assert!((after - plan["left_after"].as_f64().unwrap()).abs() < 1e-9, "{after} {plan}");
        assert!(fell > 0.0 && fell <= 1.5 * said, "turn {turn}: {fell}, and {said} was said");
        // Here the ε of the flags is an upper bound on what a charge takes.
        assert!(fell <= 1.5 * epsilon, "turn {turn}: {fell} for {epsilon}");
        before = after;
    }
    assert!(before > 1.0, "{before}");
}

#[test]
fn the_price_is_shown_before_anybody_pays() {
    let here = scene("plan", "--epsilon 1 --delta 1e-6");
    let plan = paid(&here, "query t.csv mean age", 0.1, "--plan");
    assert_eq!(plan.line("left before"), "1 of 1");
    assert!(plan.line("spend").starts_with("epsilon at most 0.1, "), "{plan:?}");
    let after = plan.line("left after").to_owned();
    let train = paid(&here, "train t.csv --target y --out m", 0.3, "--plan");
    assert_eq!(train.line("left before"), "1 of 1");
    assert!(
        train.line("left after").ends_with(" of 1") && train.line("takes").ends_with(" of 1"),
        "{train:?}"
    );
    assert_eq!((left(&here), shown(&here)["charges"].as_u64()), (1.0, Some(0)), "a plan charges nothing");
    // The query takes what its plan said.
    let answer = paid(&here, "query t.csv mean age", 0.1, "");
    assert_eq!((answer.line("took"), answer.line("left")), (plan.line("takes"), after.as_str()));
    // A plan is refused if its run would be.
    assert_eq!(paid(&here, "query t.csv mean age", 2.0, "--plan").code, 1);
    // Without a ledger there is a price, and no budget to take it from.
    let free = run(&here, "query t.csv mean age --epsilon 0.1 --schema t.toml --plan");
    assert!(
        !free.stdout.contains("left") && free.line("spend").starts_with("epsilon at most 0.1, "),
        "{free:?}"
    );
}

#[test]
fn a_budget_says_how_often_usual_charges_still_fit() {
    let here = scene("ask", "--epsilon 3 --delta 1e-6");
    let show = run(&here, "ledger show b.ledger");
    let said = show.line("can ask").to_owned();
    assert!(said.contains("more counts at 0.03, or ") && said.contains("more trainings at 0.3"), "{said}");
    let asks = || -> Vec<u64> {
        let set = shown(&here);
        set["can_ask"].as_array().unwrap().iter().map(|ask| ask["times"].as_u64().unwrap()).collect()
    };
    let before = asks();
    assert!(before[0] > 100 && before[1] > 9, "{before:?}");
    // After one training at that price, one training fewer fits.
    assert_eq!(
        paid(&here, "train t.csv --target y --method gradient-descent --steps 9 --out m", 0.3, "").code,
        0
    );
    let after = asks();
    assert!(after[1] + 1 == before[1] && after[0] < before[0], "{before:?} {after:?}");
    // The budget pays as often as it said, and not once more.
    let small = scene("asks-all", "--epsilon 0.05 --delta 0");
    let times = shown(&small)["can_ask"][0]["times"].as_u64().unwrap();
    assert_eq!(times, 100);
    assert_eq!(run(&small, "ledger show b.ledger").line("can ask"), "100 more counts at 0.0005");
    assert_eq!(paid(&small, "query t.csv count", 0.0495, "").code, 0);
    assert_eq!(run(&small, "ledger show b.ledger").line("can ask"), "1 more count at 0.0005");
    assert_eq!(paid(&small, "query t.csv count", 0.0005, "").code, 0);
    assert_eq!(paid(&small, "query t.csv count", 0.0005, "").code, 1);
    assert_eq!(run(&small, "ledger show b.ledger").line("can ask"), "no count at 0.0005");
}

/// Large pure charges take their ε. The first charge that needs δ then has less to spend, and
/// `show` says so in advance.
#[test]
fn show_says_what_pure_charges_leave_for_training() {
    let here = scene("pure", "--epsilon 3 --delta 1e-6");
    for _ in 0..3 {
        assert_eq!(paid(&here, "query t.csv mean age", 0.5, "").code, 0);
    }
    let show = run(&here, "ledger show b.ledger");
    assert_eq!(show.line("left"), "1.5 of 3");
    assert!(show.stdout.contains("trainings see 0.7"), "{show:?}");
    assert!(shown(&here)["left_beyond_pure"].as_f64().unwrap() < 0.75);
    let plan = paid(
        &here,
        "train t.csv --target y --method gradient-descent --steps 9 --out m",
        0.3,
        "--plan --json",
    )
    .object();
    assert!(plan["left_after"].as_f64().unwrap() > 0.4, "{plan}");
}

/// An owner who trains by full batches gets a tenth more models from a budget that adds up squares.
/// Such a budget refuses sampled batches, with a reason.
#[test]
fn a_budget_may_add_up_squares_of_gaussian_distances() {
    let trainings = |here: &Path| shown(here)["can_ask"][1]["times"].as_u64().unwrap();
    let (renyi, gaussian) = (
        scene("renyi", "--epsilon 3 --delta 1e-6"),
        scene("squares", "--epsilon 3 --delta 1e-6 --filter gaussian"),
    );
    let (fewer, more) = (trainings(&renyi), trainings(&gaussian));
    assert!(more as f64 > 1.08 * fewer as f64, "{fewer} {more}");
    assert_eq!(shown(&gaussian)["filter"], "gaussian");
    assert_eq!(paid(&gaussian, "query t.csv count", 0.01, "").code, 0);
    let sampled = "train t.csv --target y --method sgd --steps 40 --batch-size 20 --out m";
    let refused = paid(&gaussian, sampled, 0.3, "");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("Gaussian noise on samples of the records has none"), "{refused:?}");
    assert!(
        paid(&gaussian, "train t.csv --target y --method gradient-descent --steps 9 --out m", 0.3, "").code
            == 0
    );
    // A grant adds up squares too.
    assert_eq!(run(&gaussian, "ledger grant b.ledger t.csv --to ann --epsilon 1").code, 0);
    assert_eq!(paid(&gaussian, &sampled.replace("--out m", "--out m2"), 0.1, "--who ann").code, 1);
}

#[test]
fn an_analyst_sees_what_is_left_of_their_own_grant() {
    let here = scene("own", "--epsilon 2 --delta 0");
    for (who, epsilon) in [("ann", "0.5"), ("bob", "1")] {
        let granted = run(&here, &format!("ledger grant b.ledger t.csv --to {who} --epsilon {epsilon}"));
        assert_eq!(granted.code, 0, "{granted:?}");
    }
    assert_eq!(
        paid(&here, "query t.csv count", 0.75, "--who bob").line("left"),
        "0.25 of 1, the grant of bob"
    );
    assert_eq!(
        paid(&here, "query t.csv count", 0.125, "--who ann").line("left"),
        "0.375 of 0.5, the grant of ann"
    );
    let plan = paid(&here, "query t.csv count", 0.25, "--who ann --plan");
    assert_eq!(plan.line("left before"), "0.375 of 0.5, the grant of ann");
    assert_eq!(plan.line("left after"), "0.125 of 0.5, the grant of ann");
    let object = paid(&here, "query t.csv count", 0.25, "--who ann --json").object();
    assert_eq!((object["left"].as_f64(), object["took"].as_f64()), (Some(0.125), Some(0.25)));
    let show = run(&here, "ledger show b.ledger");
    assert!(show.line("for ann").ends_with("0.125 left of 0.5"), "{show:?}");
}

/// The message once said "ask the owner for more" where no owner can give more, and did not say how
/// where one can.
#[test]
fn a_refusal_exits_1_and_says_what_can_be_done() {
    let here = scene("refusals", "--epsilon 1 --delta 0");
    let refused = paid(&here, "query t.csv count", 2.0, "");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(!refused.stderr.contains("owner"), "nobody can raise a budget: {refused:?}");
    assert_eq!(run(&here, "ledger grant b.ledger t.csv --to ann --epsilon 0.5").code, 0);
    let way = "`sordino ledger grant LEDGER t.csv --to";
    let refused = paid(&here, "query t.csv count", 0.75, "--who ann");
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("the grant of `ann` has 0.5 left of 0.5"), "{refused:?}");
    assert!(refused.stderr.contains(&format!("{way} ann --epsilon EPSILON`")), "{refused:?}");
    for more in ["", "--plan"] {
        let stranger = paid(&here, "query t.csv count", 0.1, &format!("--who eve {more}"));
        assert_eq!((stranger.code, stranger.stdout.as_str()), (1, ""), "{stranger:?}");
        assert!(stranger.stderr.contains(&format!("{way} eve --epsilon EPSILON`")), "{stranger:?}");
    }
    let stranger =
        paid(&here, "train t.csv --target y --method output-perturbation --out m", 0.1, "--who eve");
    assert_eq!(stranger.code, 1, "{stranger:?}");
}

/// A run that died after its charge and before its first checkpoint is lost, and the message says
/// so.
#[test]
fn a_run_without_a_checkpoint_cannot_be_resumed() {
    let here = scene("no-checkpoint", "--epsilon 1 --delta 1e-6");
    fs::create_dir(here.join("m.part")).unwrap();
    fs::write(here.join("m.part/receipt.json"), "{}").unwrap();
    let words = "train t.csv --target y --method gradient-descent --steps 9 --out m";
    paid(&here, words, 0.3, "--resume").refuses(&["before its first checkpoint", "its charge stays spent"]);
    assert_eq!(left(&here), 1.0);
    // A new run is charged again.
    assert_eq!(paid(&here, words, 0.3, "").code, 0);
    assert!(left(&here) < 1.0);
}

/// The command does not ask for a name that the system knows.
#[cfg(target_os = "linux")]
#[test]
fn the_analyst_is_the_systems_user_by_default() {
    let here = scene("who", "--epsilon 1 --delta 0");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
    for name in ["USER", "LOGNAME", "USERNAME"] {
        command.env_remove(name);
    }
    let words = "query t.csv count --epsilon 0.25 --schema t.toml --ledger b.ledger";
    let output = command.args(words.split(' ')).current_dir(&here).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let name = Command::new("id").arg("-un").output().unwrap();
    let name = String::from_utf8(name.stdout).unwrap();
    let charge = run(&here, "ledger history b.ledger --json").object()["charges"][0].clone();
    assert_eq!(charge["who"].as_str(), Some(name.trim()));
}

/// The auditor may read the files and do nothing else. Root ignores permissions, so under root the
/// test runs the command as the user `nobody`.
#[cfg(unix)]
#[test]
fn an_auditor_who_may_only_read_can_show_and_verify() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let scene = scene("auditor", "--epsilon 1 --delta 0");
    assert_eq!(paid(&scene, "query t.csv count", 0.25, "").code, 0);
    // Everybody may enter this folder and run the copied program.
    let here = sordino_testing::Scratch::new("auditor");
    fs::create_dir(here.join("books")).unwrap();
    let allow = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_sordino"), here.join("sordino")).unwrap();
    allow(&here, 0o755);
    allow(&here.join("sordino"), 0o755);
    for file in ["b.ledger", "b.ledger-head"] {
        fs::copy(scene.join(file), here.join("books").join(file)).unwrap();
        allow(&here.join("books").join(file), 0o444);
    }
    allow(&here.join("books"), 0o555);
    let is_root = fs::metadata(&here).unwrap().uid() == 0;
    let audit = |words: &[&str]| {
        let mut command = Command::new(here.join("sordino"));
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        let output = command.args(words).current_dir(&here).env("USER", "eve").output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    };
    let books = "books/b.ledger";
    assert_eq!(audit(&["ledger", "show", books]).line("left"), "0.75 of 1");
    let history = audit(&["ledger", "history", books]);
    assert!(history.code == 0 && history.stdout.contains("query count"), "{history:?}");
    assert_eq!(audit(&["ledger", "verify", books]).line("verified"), "4 entries");
    assert_eq!(audit(&["ledger", "export", books]).code, 0);
    // The auditor can spend nothing, and leaves no file behind.
    let spends = audit(&["ledger", "grant", books, "t.csv", "--to", "eve", "--epsilon", "1"]);
    assert_eq!((spends.code, spends.stdout.as_str()), (2, ""), "{spends:?}");
    let files: Vec<_> =
        fs::read_dir(here.join("books")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    // A leftover log is not ignored: without it, the last entries would be missing.
    allow(&here.join("books"), 0o755);
    fs::write(here.join("books/b.ledger-wal"), b"not empty").unwrap();
    allow(&here.join("books/b.ledger-wal"), 0o444);
    allow(&here.join("books"), 0o555);
    let refused = audit(&["ledger", "show", books]);
    assert!(refused.code == 2 && refused.stderr.contains("-wal"), "{refused:?}");
    allow(&here.join("books"), 0o755);
}
