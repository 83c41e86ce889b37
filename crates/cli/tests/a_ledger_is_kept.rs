//! A data owner sets a budget, analysts spend it, and somebody checks the books.

mod command;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use command::{Run, place, sordino};
use sordino::prelude::*;
use sordino_data::{Schema, Source};
use sordino_ledger::{Account, Digest, Identity, Label, Ledger};

/// A folder with a data file and no ledger.
fn scene(name: &str) -> PathBuf {
    let folder = place(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("census.csv"), DATA).unwrap();
    folder
}

const DATA: &str = "age\n41\n17\n";

fn create(folder: &Path, words: &str) -> Run {
    let folder = folder.display();
    sordino(&format!("ledger create {folder}/a.ledger --data {folder}/census.csv {words}"))
}

fn ledger(folder: &Path, verb: &str, words: &str) -> Run {
    sordino(&format!("ledger {verb} {}/a.ledger {words}", folder.display()))
}

/// Charges the ledger, as an analyst's program would.
fn spend(folder: &Path, epsilon: f64, is_booked: bool) {
    let identity = Identity { name: Label::new("census.csv").unwrap(), content: Digest::of(DATA.as_bytes()) };
    let ledger = Ledger::open(&folder.join("a.ledger")).unwrap();
    let (who, what) = (Label::new("ann").unwrap(), Label::new("a count").unwrap());
    let mut account = Account::open(ledger, &identity, who, what).unwrap();
    let permit = account.charge(Event::Pure { epsilon: Epsilon::new(epsilon).unwrap() }).unwrap();
    if is_booked {
        account.book(permit.reservation().unwrap(), Some(Digest::of(b"2"))).unwrap();
    }
}

/// Charges Gaussian releases until the budget refuses.
fn spend_gaussians(folder: &Path, noise_multiplier: f64) {
    let identity = Identity { name: Label::new("census.csv").unwrap(), content: Digest::of(DATA.as_bytes()) };
    let ledger = Ledger::open(&folder.join("a.ledger")).unwrap();
    let (who, what) = (Label::new("ann").unwrap(), Label::new("a sum").unwrap());
    let mut account = Account::open(ledger, &identity, who, what).unwrap();
    let event = Event::gaussian(NoiseMultiplier::new(noise_multiplier).unwrap());
    while account.charge(event.clone()).is_ok() {}
}

#[test]
fn a_new_budget_is_shown_whole() {
    let folder = scene("new");
    let run = create(&folder, "--epsilon 2 --delta 1e-7 --unit column:user --neighbours zero_out");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    assert_eq!(run.line("data set"), "census.csv");
    assert_eq!(run.line("budget"), "epsilon 2, delta 1e-7");
    assert_eq!((run.line("left"), run.line("charges")), ("2 of 2", "none"));
    assert_eq!((run.line("neighbours"), run.line("unit")), ("zero_out", "column `user`"));
    assert_eq!(ledger(&folder, "show", "").stdout, run.stdout);
    assert_eq!(ledger(&folder, "history", "").stdout, "no charges\n");
}

#[test]
fn the_used_share_is_shown_in_words_as_a_bar_and_as_json() {
    let folder = scene("spent");
    create(&folder, "--epsilon 1 --delta 0");
    spend(&folder, 0.25, true);
    spend(&folder, 0.25, false);
    let run = ledger(&folder, "show", "");
    assert_eq!(run.line("left"), "0.5 of 1");
    assert_eq!(run.line("used"), "[###############...............] 50 % of the budget");
    assert!(run.line("charges").starts_with("2, of which 1 not booked"), "{run:?}");

    let object = ledger(&folder, "show", "--json").object();
    let set = &object["data_sets"][0];
    assert_eq!((set["spent"].as_f64(), set["left"].as_f64()), (Some(0.5), Some(0.5)));
    assert_eq!((set["charges"].as_u64(), set["not_booked"].as_u64()), (Some(2), Some(1)));
    assert_eq!((set["neighbours"].as_str(), set["choice"].as_str()), (Some("zero_out"), Some("adaptive")));
    assert_eq!(object["sordino"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_share_is_given_shown_and_kept() {
    let folder = scene("grant");
    create(&folder, "--epsilon 1 --delta 0");
    spend(&folder, 0.25, true);
    let run = ledger(&folder, "grant", "census.csv --to ann --epsilon 0.5");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    assert_eq!(run.line("for ann"), "[###############...............] 0.25 left of 0.5");
    assert_eq!(run.line("used"), "[#######.......................] 25 % of the budget");
    spend(&folder, 0.25, true);
    let object = ledger(&folder, "show", "--json").object();
    let share = &object["data_sets"][0]["grants"][0];
    assert_eq!(
        (share["to"].as_str(), share["spent"].as_f64(), share["left"].as_f64()),
        (Some("ann"), Some(0.5), Some(0.0))
    );
    assert_eq!(object["data_sets"][0]["so_far"]["epsilon"], 0.5);
    ledger(&folder, "grant", "census.csv --to bob --epsilon 2").refuses(&["at most the budget"]);
    ledger(&folder, "grant", "sales --to bob --epsilon 1").refuses(&["no data set `sales`"]);
    assert_eq!(ledger(&folder, "export", "").object()["data_sets"][0]["grants"][0]["epsilon"], 0.5);
}

/// A schema of the owner, in the same folder.
fn schema(folder: &Path, text: &str) -> String {
    let path = folder.join("owner.toml");
    fs::write(&path, text).unwrap();
    format!("--schema {}", path.display())
}

#[test]
fn a_budget_says_how_its_data_is_read_and_whose_it_is() {
    let folder = scene("read");
    let run = create(&folder, "--epsilon 1 --delta 0 --neighbours zero_out");
    assert_eq!(run.line("read as"), "CSV, columns named by the first line");
    // Without --owner, the owner is the user.
    assert_eq!(run.line("owner"), "ada");
    assert!(!run.stdout.contains("locked"), "{run:?}");

    let folder = scene("read-otherwise");
    fs::write(folder.join("census.csv"), "1;41\n1;17\n").unwrap();
    let words = schema(
        &folder,
        "unit = { column = 'user', max_records = 2 }\n\
         csv = { names = ['user', 'age'], delimiter = ';', comment = '#', missing = ['', 'NA'] }\n\
         columns.age = { kind = 'number', bounds = [0, 120] }\ncolumns.'x*' = { kind = 'ignore' }",
    );
    create(&folder, &format!("--epsilon 1 --delta 0 --unit record {words}"))
        .refuses(&["the ledger protects record and the schema column `user`"]);
    let run = create(&folder, &format!("--epsilon 1 --delta 0 --owner olga {words}"));
    assert_eq!(run.line("unit"), "column `user`");
    assert_eq!(run.line("owner"), "olga");
    assert_eq!(
        run.line("read as"),
        "CSV, columns `user`, `age`, delimiter `;`, comments after `#`, missing where ``, `NA`, \
        without `user`, `x*`"
    );
    assert_eq!(ledger(&folder, "show", "").stdout, run.stdout);
    let rules = &ledger(&folder, "show", "--json").object()["data_sets"][0]["rules"];
    assert_eq!((rules["owner"].as_str(), rules["lock"].as_str()), (Some("olga"), None));
    assert!(rules["reading"].as_str().unwrap().contains("\"delimiter\":\";\""));
    let export = ledger(&folder, "export", "").object();
    assert_eq!(&export["data_sets"][0]["rules"], rules);
}

/// If the environment names no user, the owner is the system's user.
#[cfg(target_os = "linux")]
#[test]
fn an_owner_has_a_name() {
    let folder = scene("nobody");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
    for name in ["USER", "LOGNAME", "USERNAME"] {
        command.env_remove(name);
    }
    let ledger = folder.join("a.ledger");
    let output = command
        .args(["ledger", "create", "--epsilon", "1", "--delta", "0", "--data"])
        .args([&folder.join("census.csv"), &ledger])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let name = Command::new("id").arg("-un").output().unwrap();
    let name = String::from_utf8(name.stdout).unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let owner = shown.lines().find_map(|line| line.strip_prefix("owner")).unwrap();
    assert_eq!(owner.trim(), name.trim());
}

#[test]
fn a_locked_data_set_holds_analysts_to_the_owners_rules() {
    let folder = scene("locked");
    let schema = schema(&folder, "columns.age = { kind = 'number', bounds = [0, 120] }");
    let results = folder.join("results");
    let lock =
        format!("--locked --verbs query,schema --most-epsilon 0.25 --out-folder {}", results.display());
    let words = "--epsilon 1 --delta 0 --neighbours zero_out";
    create(&folder, &format!("{words} {schema} {lock}")).refuses(&["results`: No such file"]);
    fs::create_dir(&results).unwrap();
    // A lock needs all of its flags.
    create(&folder, &format!("{words} {lock}")).refuses(&["--schema"]);
    for (left_out, named) in [
        ("--verbs query,schema", "--verbs"),
        ("--most-epsilon 0.25", "--most-epsilon"),
        ("--locked", "--locked"),
    ] {
        create(&folder, &format!("{words} {schema} {}", lock.replace(left_out, ""))).refuses(&[named]);
    }
    create(&folder, &format!("{words} {schema} {} ", lock.replace("query", "predict"))).refuses(&["predict"]);
    assert!(!folder.join("a.ledger").exists());

    let run = create(&folder, &format!("{words} {schema} {lock}"));
    assert_eq!(run.line("locked"), "for query, schema, at most epsilon 0.25 a charge");
    assert!(
        run.stdout.contains(&format!("into `{}`", fs::canonicalize(&results).unwrap().display())),
        "{run:?}"
    );
    let object = ledger(&folder, "show", "--json").object();
    assert_eq!(object["data_sets"][0]["rules"]["lock"]["verbs"].as_array().unwrap().len(), 2);

    let identity = Identity { name: Label::new("census.csv").unwrap(), content: Digest::of(DATA.as_bytes()) };
    let charge = |what: &str, epsilon: f64| {
        let ledger = Ledger::open(&folder.join("a.ledger")).unwrap();
        let (who, what) = (Label::new("ann").unwrap(), Label::new(what).unwrap());
        let mut account = Account::open(ledger, &identity, who, what).unwrap();
        account.charge(Event::Pure { epsilon: Epsilon::new(epsilon).unwrap() }).is_ok()
    };
    assert!(charge("query count", 0.25) && !charge("query count", 0.5) && !charge("train age", 0.25));
    // The command charges under its own name.
    let ask = |epsilon| {
        let (data, ledger) = (folder.join("census.csv"), folder.join("a.ledger"));
        let words = format!("count --neighbours zero_out --ledger {} --who ann {schema}", ledger.display());
        sordino(&format!("query {} {words} --epsilon {epsilon}", data.display()))
    };
    assert_eq!(ask(0.25).code, 0, "{:?}", ask(0.25));
    let refused = ask(0.5);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("costs epsilon 0.5 alone, and the owner of the data set allows at most 0.25")
    );
    assert!(ledger(&folder, "history", "").stdout.contains("query count"));
}

#[test]
fn a_data_set_without_rules_gets_rules_once() {
    let folder = scene("rule");
    let identity = Identity { name: Label::new("census.csv").unwrap(), content: Digest::of(DATA.as_bytes()) };
    let terms = sordino::privacy::Terms::new(Epsilon::new(1.0).unwrap(), Neighbours::ZeroOut);
    Ledger::create(&folder.join("a.ledger")).unwrap().create_data_set(&identity, &terms).unwrap();
    assert!(ledger(&folder, "show", "").line("read as").starts_with("a plain table, until its owner"));
    let words = schema(&folder, "csv.comment = '#'\ncolumns.age = { kind = 'number', bounds = [0, 120] }");
    let other = folder.join("other.csv");
    fs::write(&other, "age\n1\n").unwrap();
    ledger(&folder, "rule", &format!("census.csv {words} --data {}", other.display()))
        .refuses(&["its content has changed"]);
    ledger(&folder, "rule", &format!("sales {words}")).refuses(&["no data set `sales`"]);
    let by_unit =
        schema(&folder, "unit = { column = 'age', max_records = 1 }\ncolumns.x = { kind = 'ignore' }");
    ledger(&folder, "rule", &format!("census.csv {by_unit}")).refuses(&["the ledger protects record"]);

    let words = schema(&folder, "csv.comment = '#'\ncolumns.age = { kind = 'number', bounds = [0, 120] }");
    let run = ledger(&folder, "rule", &format!("census.csv --owner olga {words}"));
    assert!(run.stderr.contains("the rules do not fix the file's format"), "{run:?}");
    assert_eq!(run.line("read as"), "any format, columns named by the first line, comments after `#`");
    ledger(&folder, "rule", &format!("census.csv {words}")).refuses(&["has rules of its owner already"]);
}

#[test]
fn history_shows_the_steps_of_a_run_and_seeded_charges() {
    let folder = scene("steps");
    create(&folder, "--epsilon 1 --delta 0 --neighbours zero_out");
    spend(&folder, 0.25, false);
    let identity = Identity { name: Label::new("census.csv").unwrap(), content: Digest::of(DATA.as_bytes()) };
    let (who, what) = (Label::new("ann").unwrap(), Label::new("train").unwrap());
    let opened = Ledger::open(&folder.join("a.ledger")).unwrap();
    let mut account = Account::open(opened, &identity, who, what).unwrap();
    account.keep(3, 600, Digest::of(b"a"), false).unwrap();
    account.keep(3, 1200, Digest::of(b"b"), false).unwrap();
    let _paid = account.charge_seeded(Event::Pure { epsilon: Epsilon::new(0.25).unwrap() }).unwrap();
    let run = ledger(&folder, "history", "");
    assert_eq!(run.stdout.lines().count(), 3);
    assert!(run.stdout.contains("reserved, seeded: protects nobody  pure"), "{run:?}");
    assert!(run.stdout.contains("reserved, 1200 steps "), "{run:?}");
    assert_eq!(ledger(&folder, "history", "--json").object()["charges"][0]["steps"], 1200);
}

#[test]
fn a_ledger_of_the_newest_version_needs_no_migration() {
    let folder = scene("migrate");
    create(&folder, "--epsilon 1 --delta 1e-6 --set-aside 1e-7");
    let run = ledger(&folder, "migrate", "");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "nothing to do: the ledger has format version 4, the newest\n")
    );
    assert_eq!(ledger(&folder, "migrate", "--json").object()["to"], 4);
    assert_eq!(ledger(&folder, "show", "").line("set aside"), "delta 1e-7");
}

#[cfg(not(feature = "postgresql"))]
#[test]
fn a_database_needs_a_program_that_was_built_for_it() {
    sordino("ledger show postgres://ann:s3cret@localhost/x")
        .refuses(&["postgres://ann@localhost/x", "--features postgresql"]);
}

#[test]
fn history_shows_who_charged_what_and_its_state() {
    let folder = scene("history");
    create(&folder, "--epsilon 1 --delta 0");
    spend(&folder, 0.25, true);
    spend(&folder, 0.5, false);
    let run = ledger(&folder, "history", "");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{run:?}");
    assert!(lines[1].contains("ann  a count  booked    pure(epsilon 0.25)"), "{run:?}");
    assert!(lines[2].contains("ann  a count  reserved  pure(epsilon 0.5)"), "{run:?}");
    let object = ledger(&folder, "history", "--json --name census.csv").object();
    assert_eq!(object["charges"][0]["result"], Digest::of(b"2").to_string());
    assert_eq!(object["charges"][1]["event"]["epsilon"], 0.5);
    ledger(&folder, "history", "--name sales").refuses(&["no data set `sales`"]);
}

#[test]
fn a_second_budget_for_the_same_data_is_refused() {
    let folder = scene("second");
    create(&folder, "--epsilon 1 --delta 0");
    create(&folder, "--epsilon 9 --delta 0").refuses(&["`census.csv` has a budget already"]);
    create(&folder, "--epsilon 9 --delta 0 --name other").refuses(&["is known as data set `census.csv`"]);
    fs::write(folder.join("census.csv"), "age\n42\n17\n").unwrap();
    create(&folder, "--epsilon 9 --delta 0").refuses(&["content has changed", "sordino ledger link"]);
    assert_eq!(ledger(&folder, "show", "").line("budget"), "epsilon 1, delta 0");
}

#[test]
fn a_changed_file_is_linked_by_its_owner_and_shares_the_budget() {
    let folder = scene("link");
    create(&folder, "--epsilon 1 --delta 0");
    spend(&folder, 0.75, true);
    fs::write(folder.join("census.csv"), "age\n42\n17\n").unwrap();
    let link = format!("--data {}/census.csv", folder.display());
    let run = ledger(&folder, "link", &link);
    assert_eq!(run.line("left"), "0.25 of 1");
    assert_eq!(run.line("content").matches("sha256").count(), 2);
    ledger(&folder, "link", &link).refuses(&["nothing to link"]);
}

/// A program that has the same values in memory finds the budget by them.
#[test]
fn a_table_is_linked_by_its_values() {
    let folder = scene("values");
    create(&folder, "--epsilon 1 --delta 0");
    let text = "columns.age = { kind = 'number', bounds = [0, 120] }";
    let words = format!("--data {}/census.csv {}", folder.display(), schema(&folder, text));
    let run = ledger(&folder, "link", &words);
    assert_eq!(run.line("content").matches("sha256").count(), 2);
    let file = Source::open(&folder.join("census.csv"), &Default::default()).unwrap();
    let values = file.identity(&Schema::from_toml(text).unwrap()).unwrap();
    let known = Ledger::open(&folder.join("a.ledger")).unwrap().data_sets().unwrap().remove(0).contents;
    assert_eq!(known[1], Digest::from_bytes(values));
    ledger(&folder, "link", &words).refuses(&["nothing to link"]);
}

#[test]
fn verify_prints_a_head_and_finds_later_changes() {
    let folder = scene("verify");
    create(&folder, "--epsilon 1 --delta 0");
    spend(&folder, 0.5, true);
    let run = ledger(&folder, "verify", "");
    assert_eq!(run.line("verified"), "4 entries");
    let head = run.line("head").to_owned();
    spend(&folder, 0.25, true);
    let object = ledger(&folder, "verify", &format!("--json --head {head}")).object();
    assert_eq!(object["entries"], 6);
    let wrong = head.replace(|c: char| c.is_ascii_digit(), "3");
    let run = ledger(&folder, "verify", &format!("--head {wrong}"));
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
    ledger(&folder, "verify", "--head 3:x").refuses(&["NUMBER:HASH"]);

    // Somebody edits a charge in the file.
    let path = folder.join("a.ledger");
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(14).position(|part| part == br#""epsilon":0.25"#).unwrap();
    bytes[place + 13] = b'1';
    fs::write(&path, bytes).unwrap();
    let run = ledger(&folder, "verify", "");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run:?}");
    assert!(run.stderr.contains("tampered with or damaged at entry 5"), "{run:?}");
    // Every other command refuses the ledger too.
    for verb in ["show", "history", "export"] {
        ledger(&folder, verb, "").refuses(&["at entry 5"]);
    }
}

#[test]
fn a_backup_is_a_ledger_and_is_not_overwritten() {
    let folder = scene("backup");
    create(&folder, "--epsilon 1 --delta 0");
    spend(&folder, 0.5, true);
    let copy = folder.join("b.ledger");
    let head = ledger(&folder, "backup", &copy.display().to_string()).line("head").to_owned();
    let run = sordino(&format!("ledger verify {} --head {head}", copy.display()));
    assert_eq!(run.line("verified"), "4 entries");
    assert_eq!(sordino(&format!("ledger show {}", copy.display())).line("left"), "0.5 of 1");
    ledger(&folder, "backup", &copy.display().to_string()).refuses(&["exists already"]);
}

#[test]
fn exports_are_json_or_csv() {
    let folder = scene("export");
    create(&folder, "--epsilon 1 --delta 0 --planned");
    spend(&folder, 0.5, true);
    let object = ledger(&folder, "export", "").object();
    assert_eq!(object["data_sets"][0]["terms"]["choice"], "planned");
    assert_eq!(
        (object["ledger_version"].as_u64(), object["charges"][0]["who"].as_str()),
        (Some(4), Some("ann"))
    );
    let csv = ledger(&folder, "export", "--format csv");
    assert_eq!((csv.code, csv.stdout.lines().count()), (0, 2), "{csv:?}");
    assert!(
        csv.stdout
            .starts_with("charge,time,data_set,name,who,what,state,booked,result,event,seeded,steps\r\n")
    );
}

#[test]
fn without_a_delta_the_default_is_taken_and_a_note_says_so() {
    let folder = scene("delta");
    let run = create(&folder, "--epsilon 1");
    assert!(run.stderr.contains("took delta = 1e-6"), "{run:?}");
    assert_eq!(run.line("budget"), "epsilon 1, delta 1e-6");
}

/// A budget is never replaced, so a default that `train` cannot spend would be a trap.
#[test]
fn the_default_relation_is_the_one_that_training_needs_and_a_note_says_so() {
    let folder = scene("relation");
    let run = create(&folder, "--epsilon 1 --delta 0");
    assert!(run.stderr.contains("took zero_out") && run.stderr.contains("add_remove hides it"), "{run:?}");
    assert_eq!(run.line("neighbours"), "zero_out");
    let folder = scene("relation-named");
    let run = create(&folder, "--epsilon 1 --delta 0 --neighbours add_remove");
    assert_eq!((run.line("neighbours"), run.stderr.as_str()), ("add_remove", ""));
}

/// `show` once said of a budget of 0.5 that more than 0.5 was released.
#[test]
fn the_running_bound_never_exceeds_the_budget() {
    let folder = scene("so-far");
    create(&folder, "--epsilon 0.5 --delta 0");
    let data = folder.join("census.csv").display().to_string();
    let ledger_file = folder.join("a.ledger").display().to_string();
    let ask =
        format!("query {data} histogram age --values 17,41 --epsilon 0.5 --ledger {ledger_file} --who ann");
    let run = sordino(&ask);
    assert_eq!((run.line("left"), run.code), ("0 of 0.5", 0), "{run:?}");
    let show = ledger(&folder, "show", "");
    assert_eq!(show.line("left"), "0 of 0.5");
    assert_eq!(
        show.line("used"),
        format!("[{}] all of the budget: further charges are refused", "#".repeat(30))
    );
    assert!(
        show.line("so far").starts_with("everything released is within epsilon 0.5, delta 0"),
        "{show:?}"
    );
    let set = &ledger(&folder, "show", "--json").object()["data_sets"][0];
    assert_eq!((set["spent"].as_f64(), set["so_far"]["by"].as_str()), (Some(0.5), Some("odometer")));

    // Gaussian charges until the budget refuses: a bound at every moment would be larger than the
    // budget, which holds anyway.
    let folder = scene("so-far-full");
    create(&folder, "--epsilon 1.5 --delta 1e-6");
    spend_gaussians(&folder, 40.0);
    let show = ledger(&folder, "show", "");
    let said = show.line("so far");
    assert!(said.starts_with("everything released is within epsilon 1.5, delta 1e-6 (the budget,"), "{said}");
    let so_far = &ledger(&folder, "show", "--json").object()["data_sets"][0]["so_far"];
    assert_eq!((so_far["epsilon"].as_f64(), so_far["by"].as_str()), (Some(1.5), Some("budget")));
}

#[test]
fn a_refused_create_leaves_no_ledger_behind() {
    let folder = scene("bad");
    create(&folder, "--epsilon -1").refuses(&["epsilon must be"]);
    create(&folder, "--epsilon 1 --unit person").refuses(&["a unit is `record`, `client` or `column:NAME`"]);
    let shown = folder.display();
    sordino(&format!("ledger create {shown}/a.ledger --data {shown}/none.csv --epsilon 1 --delta 0"))
        .refuses(&["cannot read", "none.csv"]);
    sordino(&format!("ledger create {shown}/a.ledger --data {shown} --epsilon 1 --delta 0"))
        .refuses(&["it is a directory"]);
    assert!(!folder.join("a.ledger").exists());
    ledger(&folder, "show", "").refuses(&["cannot open"]);
    sordino(&format!("ledger verify {shown}/census.csv")).refuses(&["is not a ledger"]);
}

/// An example that no longer runs is worse than none.
#[test]
fn the_examples_in_the_help_run_one_after_the_other() {
    let folder = scene("examples");
    let help = sordino("ledger --help").stdout;
    let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("    sordino ")).collect();
    assert!(examples.len() >= 4, "{help}");
    for example in examples {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sordino"));
        command.args(example.split_whitespace()).current_dir(&folder).env("USER", "ada");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{example}: {output:?}");
    }
}
