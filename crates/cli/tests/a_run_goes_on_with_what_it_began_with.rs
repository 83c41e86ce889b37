//! A resumed run relies on the charge of its first part: for the same data, from the same ledger,
//! and once.

mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::{Run, folder, sordino_in};

const SCHEMA: &str = "columns.x = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'category', \
    values = ['no', 'yes'] }";

fn run(here: &Path, line: &str) -> Run {
    sordino_in(here, &line.split_whitespace().collect::<Vec<_>>())
}

/// Two tables with equally many records and one schema.
fn tables(name: &str) -> PathBuf {
    let here = folder(name);
    for (file, odd) in [("a.csv", 0), ("b.csv", 1)] {
        let record = |row: i32| format!("0.{},{}\n", row % 10, if row % 2 == odd { "yes" } else { "no" });
        fs::write(here.join(file), format!("x,y\n{}", (0..200).map(record).collect::<String>())).unwrap();
    }
    fs::write(here.join("t.toml"), SCHEMA).unwrap();
    here
}

fn budget(here: &Path, ledger: &str, data: &str, epsilon: f64) {
    let made = run(
        here,
        &format!(
            "ledger create {ledger} --data {data} --epsilon {epsilon} --delta 1e-6 --neighbours zero_out"
        ),
    );
    assert_eq!(made.code, 0, "{made:?}");
}

fn train(here: &Path, data: &str, more: &str) -> Run {
    run(here, &format!("train {data} --target y --schema t.toml --epsilon 1 --steps 20 --out m {more}"))
}

/// A run whose model cannot be written: it is paid for and waits in `m.part`.
fn unfinished(here: &Path, data: &str, more: &str) {
    fs::create_dir_all(here.join("m.part")).unwrap();
    fs::write(here.join("m.part/model"), "in the way").unwrap();
    train(here, data, more).refuses(&["--resume"]);
    fs::remove_file(here.join("m.part/model")).unwrap();
    assert!(here.join("m.part/checkpoint").exists());
}

fn spent(here: &Path, ledger: &str, set: usize) -> f64 {
    let shown = run(here, &format!("ledger show {ledger} --json")).object();
    shown["data_sets"][set]["spent"].as_f64().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The budget of one table once paid for the model of another: resuming was free, whatever the
/// data.
#[test]
fn one_table_does_not_pay_for_the_model_of_another() {
    for (kind, model) in [("linear", ""), ("network", "--model mlp --hidden 4")] {
        let here = tables(&format!("other-data-{kind}"));
        budget(&here, "l", "a.csv", 10.0);
        budget(&here, "l", "b.csv", 0.1);
        unfinished(&here, "a.csv", &format!("--ledger l {model}"));
        let stolen = train(&here, "b.csv", &format!("--ledger l {model} --resume"));
        stolen.refuses(&["other data", "the file that it was begun with"]);
        assert!(!here.join("m").exists() && spent(&here, "l", 1) == 0.0);
        // With its own data the run still resumes, for free.
        let before = spent(&here, "l", 0);
        let own = train(&here, "a.csv", &format!("--ledger l {model} --resume"));
        assert_eq!(own.code, 0, "{own:?}");
        assert_eq!(spent(&here, "l", 0), before);
    }
}

#[test]
fn without_a_ledger_other_data_is_refused_too() {
    let here = tables("unmetered");
    unfinished(&here, "a.csv", "--delta 1e-6");
    train(&here, "b.csv", "--delta 1e-6 --resume").refuses(&["other data"]);
    // A ledger does not resume a run that was not charged there.
    budget(&here, "l", "a.csv", 10.0);
    train(&here, "a.csv", "--ledger l --resume").refuses(&["begun without a ledger"]);
    assert_eq!(train(&here, "a.csv", "--delta 1e-6 --resume").code, 0);
}

#[test]
fn a_run_resumes_only_with_the_ledger_that_paid_for_it() {
    let here = tables("other-ledger");
    for ledger in ["one", "two"] {
        budget(&here, ledger, "a.csv", 10.0);
    }
    // Both ledgers have a charge of the same number.
    unfinished(&here, "a.csv", "--ledger one");
    let other = run(&here, "query a.csv count --schema t.toml --epsilon 0.1 --ledger two");
    assert_eq!(other.code, 0, "{other:?}");
    train(&here, "a.csv", "--ledger two --resume").refuses(&["another ledger"]);
    train(&here, "a.csv", "--delta 1e-6 --resume").refuses(&["give --ledger as before"]);
    assert_eq!(train(&here, "a.csv", "--ledger one --resume").code, 0);
}

/// A network with another activation has equally many weights, but they mean something else.
#[test]
fn a_network_resumes_only_as_the_same_network() {
    let here = tables("other-network");
    for (name, activation) in [("tanh", "tanh"), ("relu", "relu")] {
        let network = format!(
            "[[layers]]\ntype = 'linear'\noutputs = 4\n[[layers]]\ntype = '{activation}'\n[[layers]]\ntype = \
            'linear'\noutputs = 2\n"
        );
        fs::write(here.join(format!("{name}.toml")), network).unwrap();
    }
    unfinished(&here, "a.csv", "--delta 1e-6 --model tanh.toml");
    train(&here, "a.csv", "--delta 1e-6 --model relu.toml --resume")
        .refuses(&["begun with --model \"tanh.toml\", and now it is \"relu.toml\""]);
    // The same file, rewritten in between.
    let tanh = fs::read_to_string(here.join("tanh.toml")).unwrap();
    fs::copy(here.join("relu.toml"), here.join("tanh.toml")).unwrap();
    train(&here, "a.csv", "--delta 1e-6 --model tanh.toml --resume").refuses(&["the file of --model"]);
    fs::write(here.join("tanh.toml"), tanh).unwrap();
    assert_eq!(train(&here, "a.csv", "--delta 1e-6 --model tanh.toml --resume").code, 0);
}

/// Views are not layers, and were once forgotten: a run that had begun with plain images resumed
/// with mirrored ones.
#[test]
fn a_network_resumes_only_with_the_same_views() {
    let here = tables("other-views");
    let layers = "[[layers]]\ntype = 'flatten'\n[[layers]]\ntype = 'linear'\noutputs = 2\n";
    for (name, views) in [("same", "['same']"), ("mirrored", "['same', 'mirrored']")] {
        let input = "input = { image = { channels = 1, height = 1, width = 1 } }";
        fs::write(here.join(format!("{name}.toml")), format!("{input}\nviews = {views}\n{layers}")).unwrap();
    }
    unfinished(&here, "a.csv", "--delta 1e-6 --model same.toml");
    train(&here, "a.csv", "--delta 1e-6 --model mirrored.toml --resume").refuses(&["--model \"same.toml\""]);
    assert_eq!(train(&here, "a.csv", "--delta 1e-6 --model same.toml --resume").code, 0);
}

/// The message once was "another plan or other options", came after the charge, and left users to
/// compare the flags themselves.
#[test]
fn the_flag_that_differs_is_named() {
    let here = tables("other-flags");
    budget(&here, "l", "a.csv", 10.0);
    let line = |more: &str| {
        run(
            &here,
            &format!(
                "train a.csv --target y --schema t.toml --ledger l --method gradient-descent --out m {more}"
            ),
        )
    };
    fs::create_dir_all(here.join("m.part")).unwrap();
    fs::write(here.join("m.part/model"), "in the way").unwrap();
    line("--epsilon 1 --steps 20").refuses(&["--resume"]);
    fs::remove_file(here.join("m.part/model")).unwrap();
    let history = || run(&here, "ledger history l").stdout.lines().count();
    let before = history();
    for (flags, says) in [
        ("--epsilon 1 --steps 30", "begun with --steps 20, and now it is 30"),
        ("--epsilon 2 --steps 20", "begun with --epsilon 1.0, and now it is 2.0"),
        ("--epsilon 1", "begun with --steps 20, and now it is not given"),
        ("--epsilon 1 --steps 20 --l2 0.1", "begun with --l2 not given, and now it is 0.1"),
    ] {
        line(&format!("{flags} --resume")).refuses(&[says, "give all flags as before"]);
    }
    // Rows of the same width whose coordinates mean something else.
    fs::write(here.join("t.toml"), SCHEMA.replace("[0, 1]", "[0, 2]")).unwrap();
    line("--epsilon 1 --steps 20 --resume").refuses(&["the file of --schema"]);
    fs::write(here.join("t.toml"), SCHEMA).unwrap();
    assert_eq!(history(), before);
    assert_eq!(line("--epsilon 1 --steps 20 --threads 1 --resume").code, 0);
}

/// A copy of the working folder that is put back after the model is written would give a second
/// model for the same price.
#[test]
fn a_folder_that_is_put_back_is_refused_by_the_ledger() {
    let here = tables("put-back");
    budget(&here, "l", "a.csv", 10.0);
    unfinished(&here, "a.csv", "--ledger l");
    copy(&here.join("m.part"), &here.join("kept"));
    assert_eq!(train(&here, "a.csv", "--ledger l --resume").code, 0);
    fs::rename(here.join("m"), here.join("first")).unwrap();
    fs::rename(here.join("kept"), here.join("m.part")).unwrap();
    train(&here, "a.csv", "--ledger l --resume").refuses(&["its charge is booked"]);
    assert!(!here.join("m").exists());
}

/// Resuming a run makes older copies of its folder void, even if the resumed run never ends.
#[test]
fn a_copy_from_before_a_resumption_is_refused() {
    let here = tables("left-behind");
    budget(&here, "l", "a.csv", 10.0);
    unfinished(&here, "a.csv", "--ledger l");
    copy(&here.join("m.part"), &here.join("kept"));
    fs::write(here.join("m.part/model"), "in the way").unwrap();
    train(&here, "a.csv", "--ledger l --resume").refuses(&["--resume writes it"]);
    fs::rename(here.join("m.part"), here.join("newer")).unwrap();
    fs::rename(here.join("kept"), here.join("m.part")).unwrap();
    train(&here, "a.csv", "--ledger l --resume").refuses(&["its charge is booked"]);
    fs::remove_dir_all(here.join("m.part")).unwrap();
    fs::rename(here.join("newer"), here.join("m.part")).unwrap();
    fs::remove_file(here.join("m.part/model")).unwrap();
    assert_eq!(train(&here, "a.csv", "--ledger l --resume").code, 0);
    let charges = run(&here, "ledger export l").object()["charges"].clone();
    assert!(charges.as_array().unwrap().iter().all(|charge| charge["state"] == "booked"), "{charges}");
}

/// The strict door tells the owner for free which record does not fit. Nobody else may use it: an
/// analyst with a share of the budget could ask about any row, for next to nothing.
#[test]
fn only_the_owner_learns_which_record_does_not_fit() {
    let here = tables("shares");
    let create = "ledger create l --data a.csv --epsilon 10 --delta 1e-6 --neighbours zero_out --owner owner";
    assert_eq!(run(&here, create).code, 0);
    let no = "columns.x = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'category', values = \
        ['no', 'never'] }";
    fs::write(here.join("no.toml"), no).unwrap();
    let ask = |who: &str| {
        let query = format!("query a.csv histogram y --schema no.toml --epsilon 0.1 --ledger l --who {who}");
        let line = "train a.csv --target y --schema no.toml --epsilon 1 --steps 5 --ledger l";
        [run(&here, &query), run(&here, &format!("{line} --who {who} --out {who}"))]
    };
    ask("owner").iter().for_each(|told| told.refuses(&["row"]));
    assert_eq!(spent(&here, "l", 0), 0.0);
    for grant in [None, Some("ledger grant l a.csv --to ann --epsilon 5")] {
        if let Some(grant) = grant {
            let granted = run(&here, grant);
            assert_eq!(granted.code, 0, "{granted:?}");
            fs::remove_dir_all(here.join("ann")).unwrap();
        }
        for answered in ask("ann") {
            assert!(answered.code == 0 && !answered.stderr.contains("row 1"), "{answered:?}");
            assert!(answered.stderr.contains("only the owner is"), "{answered:?}");
        }
    }
    // Once grants exist, the owner needs one too.
    ask("owner").iter().for_each(|refused| assert_eq!(refused.code, 1, "{refused:?}"));
}

/// A schema that was paid for is not paid for again, and does not serve another data set, another
/// question or another ledger.
#[test]
fn a_bought_schema_answers_its_own_question() {
    let here = tables("bought");
    budget(&here, "l", "a.csv", 10.0);
    budget(&here, "l", "b.csv", 10.0);
    budget(&here, "other", "a.csv", 10.0);
    let buy = |data: &str, more: &str| {
        let line = "--target y --epsilon 4 --steps 20 --out m --estimate-schema-with 0.5 --numbers x";
        run(&here, &format!("train {data} {line} {more}"))
    };
    // The schema is kept, and the run is abandoned.
    fs::write(here.join("y.toml"), "columns.y = { kind = 'category', values = ['no', 'yes'] }").unwrap();
    fs::create_dir(here.join("m.part")).unwrap();
    fs::write(here.join("m.part/model"), "in the way").unwrap();
    buy("a.csv", "--ledger l --schema y.toml").refuses(&["--resume"]);
    fs::remove_file(here.join("m.part/checkpoint")).unwrap();
    fs::remove_file(here.join("m.part/model")).unwrap();
    fs::write(here.join("wider.toml"), "columns.y = { kind = 'category', values = ['no', 'yes', 'never'] }")
        .unwrap();
    buy("a.csv", "--ledger l --schema wider.toml").refuses(&["other columns or another price"]);
    buy("b.csv", "--ledger l --schema y.toml").refuses(&["other data"]);
    buy("a.csv", "--ledger other --schema y.toml").refuses(&["another ledger"]);
    // Without a ledger no δ is set aside, so the price differs.
    buy("a.csv", "--delta 1e-6 --schema y.toml").refuses(&["another price"]);
    let before = spent(&here, "l", 0);
    let again = buy("a.csv", "--ledger l --schema y.toml");
    assert_eq!(again.code, 0, "{again:?}");
    let charges = run(&here, "ledger export l").object()["charges"].as_array().unwrap().len();
    assert!(charges == 3 && spent(&here, "l", 0) > before, "one schema, two runs: {charges}");
}

#[test]
fn private_data_is_refused_as_a_public_test() {
    let here = tables("public-test");
    fs::copy(here.join("a.csv"), here.join("copy.csv")).unwrap();
    train(&here, "a.csv", "--delta 1e-6 --public-test copy.csv").refuses(&["is private", "one more release"]);
    budget(&here, "l", "a.csv", 10.0);
    budget(&here, "l", "b.csv", 10.0);
    train(&here, "a.csv", "--ledger l --public-test b.csv").refuses(&["is private", "has a budget"]);
    assert_eq!(spent(&here, "l", 0), 0.0);
    assert_eq!(train(&here, "a.csv", "--public-test b.csv").code, 0);
}
