//! Bounds and values that nobody can declare are found with noise, and the budget pays for them.

mod command;

use std::fs;
use std::path::Path;

use command::{Run, ends, folder, sordino_in};
use serde_json::Value;
use sordino_data::{Column, Schema};

/// 3000 records: incomes from 100 to 999, two cities, and one village that one person comes from.
fn table(folder: &Path) {
    let mut text = String::from("income,city,age\n");
    for row in 0..3000 {
        let city = if row == 7 { "littlehampton" } else { ["ulm", "bonn"][row % 2] };
        text.push_str(&format!("{},{city},{}\n", 100 + row * 7 % 900, row % 90));
    }
    fs::write(folder.join("t.csv"), text).unwrap();
    fs::write(folder.join("known.toml"), "columns.age = { kind = 'number', bounds = [0, 120] }\n").unwrap();
}

fn sordino(folder: &Path, line: &str) -> Run {
    sordino_in(folder, &line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn an_owner_buys_a_schema_and_trains_with_it() {
    let here = folder("bought");
    table(&here);
    let create =
        "ledger create b.ledger --data t.csv --epsilon 3 --delta 1e-5 --set-aside 5e-6 --neighbours zero_out";
    assert_eq!(sordino(&here, create).code, 0);
    let buy = "schema t.csv --schema known.toml --numbers income --categories city --ledger b.ledger";
    let bought = sordino(&here, &format!("{buy} --epsilon 1 --out s.toml"));
    assert_eq!((bought.code, bought.stdout.as_str()), (0, ""), "{bought:?}");

    let text = fs::read_to_string(here.join("s.toml")).unwrap();
    let schema = Schema::from_toml(&text).unwrap();
    let Some(Column::Number(income)) = schema.column("income") else { panic!("{text}") };
    assert_eq!((income.bounds().lower(), income.bounds().upper()), (64.0, 1024.0));
    let Some(Column::Category(city)) = schema.column("city") else { panic!("{text}") };
    assert_eq!(city.values(), ["bonn", "ulm", "other"]);
    // Declared columns stay as they were, and the village of one person appears nowhere.
    let Some(Column::Number(age)) = schema.column("age") else { panic!("{text}") };
    assert_eq!(age.bounds().upper(), 120.0);
    assert!(!text.contains("littlehampton") && text.starts_with('#'), "{text}");

    let guarantee = fs::read_to_string(here.join("s.guarantee.json")).unwrap();
    let guarantee: Value = serde_json::from_str(&guarantee).unwrap();
    assert!(ends(&guarantee["epsilon"]).1 <= 1.0 && guarantee["metered"] == true, "{guarantee}");
    assert_eq!(guarantee["neighbours"], "zero_out");

    // The budget has fallen and still pays for a model; a charge above all that is left is refused.
    let history = sordino(&here, "ledger history b.ledger");
    assert!(history.stdout.contains("schema") && history.stdout.contains("booked"), "{history:?}");
    let train = "train t.csv --schema s.toml --target city --epsilon 1 --steps 5 --ledger b.ledger --out m";
    assert_eq!(sordino(&here, train).code, 0);
    let refused = sordino(&here, &format!("{buy} --epsilon 2.5 --delta 1e-7 --out more.toml"));
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(!here.join("more.toml").exists());
}

#[test]
fn without_a_ledger_the_schema_is_printed_and_says_that_nothing_was_charged() {
    let here = folder("unmetered");
    table(&here);
    let found = sordino(&here, "schema t.csv --epsilon 1 --numbers income --danger-seed 1");
    assert_eq!(found.code, 0, "{found:?}");
    assert!(Schema::from_toml(&found.stdout).unwrap().column("income").is_some(), "{found:?}");
    assert!(found.stderr.contains("nothing was charged") && found.stderr.contains("seeded"), "{found:?}");
    let object = sordino(&here, "schema t.csv --epsilon 1 --categories city --json").object();
    assert_eq!(object["columns"][0]["found"], "category");
    assert_eq!(object["guarantee"]["metered"], false);
    // At so small an ε nothing stands out of the noise, and a note says so.
    let nothing = sordino(&here, "schema t.csv --epsilon 1e-5 --numbers income");
    assert!(nothing.code == 0 && nothing.stderr.contains("income: ignored"), "{nothing:?}");
}

#[test]
fn an_invalid_search_is_refused_before_anything_is_charged() {
    let here = folder("refused");
    table(&here);
    sordino(&here, "schema t.csv --epsilon 1").refuses(&["`income`", "--numbers", "--categories"]);
    sordino(&here, "schema t.csv --epsilon 1 --numbers incom")
        .refuses(&["no column `incom`", "did you mean `income`?"]);
    sordino(&here, "schema t.csv --epsilon 0 --numbers income").refuses(&["--epsilon 0"]);
    sordino(&here, "schema t.csv --schema known.toml --epsilon 1 --numbers age")
        .refuses(&["`age` is declared already"]);
    sordino(&here, "schema t.csv --ledger b.ledger").refuses(&["--ledger", "a template costs nothing"]);
    sordino(&here, "schema t.csv --numbers income").refuses(&["--epsilon"]);
    sordino(&here, "schema t.csv --epsilon 1 --numbers income --out t.csv").refuses(&["`t.csv` exists"]);
    sordino(&here, "schema t.csv --epsilon 1 --numbers income --out no/s.toml")
        .refuses(&["cannot write `no/s.toml`"]);
    // A budget that sets no δ aside cannot pay for categories.
    let create = "ledger create b.ledger --data t.csv --epsilon 3 --delta 1e-5 --neighbours zero_out";
    assert_eq!(sordino(&here, create).code, 0);
    sordino(&here, "schema t.csv --epsilon 1 --categories city --ledger b.ledger").refuses(&["delta"]);
    let charges = sordino(&here, "ledger export b.ledger").object();
    assert_eq!(charges["charges"].as_array().map(Vec::len), Some(0));
}

/// The report states what was spent before and after the command; the price of the schema is the
/// difference.
#[test]
fn the_stated_budget_before_the_run_is_that_before_the_schema_was_paid() {
    let here = folder("before");
    table(&here);
    let create =
        "ledger create b.ledger --data t.csv --epsilon 3 --delta 1e-5 --set-aside 1e-6 --neighbours zero_out";
    let created = sordino(&here, create);
    assert_eq!(created.code, 0, "{created:?}");
    let train = |out: &str| {
        let line = "train t.csv --target income --epsilon 1 --estimate-schema-with 0.25 --numbers income,age \
            --steps 5 --ledger b.ledger --json";
        sordino(&here, &format!("{line} --out {out}")).object()
    };
    let budget = |run: &Value| {
        let of = |name: &str| run["budget"][name].as_f64().unwrap_or_else(|| panic!("{name}: {run}"));
        (of("spent_before"), of("spent_after"))
    };
    let (first, second) = (train("first"), train("second"));
    assert_eq!(budget(&first).0, 0.0, "{first}");
    assert!(budget(&first).1 > 0.25, "{first}");
    assert_eq!(budget(&second).0, budget(&first).1, "{second}");
    assert!(first["guarantee"]["metered"].as_bool().unwrap(), "{first}");
}

/// `train` can pay for the schema itself: one guarantee covers both, and a run that stops does not
/// pay for the schema twice.
#[test]
fn a_part_of_the_budget_buys_the_schema_of_a_model() {
    let here = folder("part");
    table(&here);
    let line = "train t.csv --target income --epsilon 2 --delta 1e-5 --estimate-schema-with 0.25 --numbers \
        income,age --steps 5 --out m";
    // The run turns out to be impossible after the schema was paid for; the schema is kept.
    sordino(&here, &format!("{line} --loss logistic")).refuses(&["logistic loss"]);
    let first = fs::read_to_string(here.join("m.part/schema.toml")).unwrap();
    sordino(&here, &line.replace("income,age", "income")).refuses(&["m.part/schema.toml", "other columns"]);
    let run = sordino(&here, &format!("{line} -v"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!here.join("m.part").exists());

    let read = |name: &str| fs::read_to_string(here.join("m").join(name)).unwrap();
    let guarantee: Value = serde_json::from_str(&read("guarantee.json")).unwrap();
    let (_, upper) = ends(&guarantee["epsilon"]);
    assert!(upper <= 2.0 && upper > 1.0, "{guarantee}");
    assert_eq!(guarantee["delta"].as_f64(), Some(1e-5));
    assert!(guarantee["event"]["events"].as_array().is_some_and(|events| events.len() >= 2), "{guarantee}");
    assert!(guarantee["event"].to_string().contains("gaussian"), "{guarantee}");
    let schema = Schema::from_toml(&first).unwrap();
    let Some(Column::Number(income)) = schema.column("income") else { panic!("{first}") };
    assert_eq!((income.bounds().lower(), income.bounds().upper()), (64.0, 1024.0));
    let configuration = read("configuration.toml");
    for part in ["estimate_schema_with = 0.25", "epsilon = 2.0", "delta = 0.00001"] {
        assert!(configuration.contains(part), "{part}: {configuration}");
    }
    assert!(read("run.json").contains("estimated"), "{}", read("run.json"));
    assert_eq!(sordino(&here, "predict m t.csv").code, 0);

    sordino(&here, &format!("{} --plan", line.replace("--out m", "--out n")))
        .refuses(&["--plan needs a schema"]);
    sordino(&here, "train t.csv --target age --epsilon 1 --schema known.toml --numbers income")
        .refuses(&["--estimate-schema-with"]);
    sordino(&here, &line.replace("0.25", "1.5")).refuses(&["fraction", "below 1"]);
}
