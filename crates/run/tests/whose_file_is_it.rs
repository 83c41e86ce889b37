//! The schema is the analyst's file; how the data is parsed and whom the unit is are the owner's.

mod scene;

use std::fs;

use scene::{SCHEMA, Scene, label, train};
use sordino_data::ReadingError;
use sordino_privacy::Unit;
use sordino_run::training;
use sordino_run::{LockSettings, RunError, Settings};

/// `comment = "y"` made `train --plan` tell how many rows begin with y, for nothing.
#[test]
fn a_comment_character_counts_no_rows() {
    let scene = Scene::new("comment");
    scene.budget();
    for csv in
        ["comment = '0'", "comment = 'x'", "delimiter = '0'", "missing = ['0.5']", "names = ['y', 'x']"]
    {
        scene.write("t.toml", &format!("[csv]\n{csv}\n[columns]\n{}", SCHEMA.replace("columns.", "")));
        for result in [training::plan(&scene.settings()).map(drop), train(&scene.settings()).map(drop)] {
            let error = result.unwrap_err();
            assert!(matches!(error, RunError::Reading(ReadingError::Csv { .. })), "{csv}: {error}");
            // Nothing of the table, of which every record begins with a digit.
            assert!(!error.to_string().contains("yes"), "{error}");
        }
    }
    assert_eq!(scene.spent(), 0.0);
}

/// `comment = "h"` with `names` renamed a unique column to the patients', so that a promise to patients
/// protected visits.
#[test]
fn a_unit_is_the_owners_column() {
    let scene = Scene::new("unit");
    let visits: Vec<String> = (0..100).map(|visit| format!("{visit},{},0.5,no\n", visit % 10)).collect();
    scene.write("t.csv", &format!("header,patient,x,y\n{}", visits.concat()));
    let owners = format!(
        "unit = {{ column = 'patient', max_records = 10 }}\ncolumns.header = {{ kind = 'ignore' }}\n\
         columns.patient = {{ kind = 'ignore' }}\n{SCHEMA}"
    );
    scene.write("owners.toml", &owners);
    scene.budget_for(Unit::Column("patient".to_owned()), "owners.toml", None);
    scene.write("t.toml", &owners);
    training::plan(&scene.settings()).unwrap();
    // Fewer records a patient are the analyst's choice: they cost what they cost.
    scene.write("t.toml", &owners.replace("max_records = 10", "max_records = 1"));
    training::plan(&scene.settings()).unwrap();
    for (schema, why) in [
        (format!("[csv]\ncomment = 'h'\nnames = ['patient', 'header', 'x', 'y']\n{owners}"), "csv."),
        (owners.replace("column = 'patient'", "column = 'header'"), "the ledger protects"),
        (owners.replace("unit = {", "# {"), "the ledger protects"),
    ] {
        let schema = match schema.split_once("\nunit") {
            Some((csv, rest)) if csv.starts_with("[csv]") => format!("unit{rest}\n{csv}\n"),
            _ => schema,
        };
        scene.write("t.toml", &schema);
        let error = training::plan(&scene.settings()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(scene.spent(), 0.0);
}

/// A column that the owner ignores is nobody's feature.
#[test]
fn an_ignored_column_stays_ignored() {
    let scene = Scene::new("ignored");
    scene.write(
        "owners.toml",
        "columns.x = { kind = 'ignore' }\ncolumns.y = { kind = 'category', values = ['no', 'yes'] }",
    );
    scene.budget_for(Unit::Record, "owners.toml", None);
    let error = train(&scene.settings()).unwrap_err();
    assert!(matches!(error, RunError::Reading(ReadingError::Ignored { .. })), "{error}");
    // Nor can its bounds be bought.
    let settings = Settings {
        schema: Some(scene.path("owners.toml")),
        estimate_schema_with: Some(0.5),
        numbers: Some(vec!["x".to_owned()]),
        ..scene.settings()
    };
    assert!(matches!(train(&settings), Err(RunError::IgnoredColumn { .. })));
    assert_eq!(scene.spent(), 0.0);
}

/// A ledger knows how a file is read even where its owner has said nothing of it: as a plain table.
#[test]
fn a_data_set_without_rules_is_a_plain_table() {
    let scene = Scene::new("no-rules");
    let ledger = sordino_ledger::Ledger::create(&scene.path("l")).unwrap();
    let terms = sordino_privacy::Terms::new(scene::epsilon(10.0), sordino_privacy::Neighbours::ZeroOut);
    let terms = terms.with_delta(sordino_privacy::Delta::new(1e-6).unwrap());
    ledger.create_data_set(&sordino_run::identity(&scene.path("t.csv"), None).unwrap(), &terms).unwrap();
    scene.write("t.toml", &format!("csv.comment = '0'\n{SCHEMA}"));
    assert!(matches!(train(&scene.settings()), Err(RunError::Reading(ReadingError::Csv { .. }))));
    scene.write("t.toml", SCHEMA);
    train(&scene.settings()).unwrap();
}

/// Everything that a wrapper for analysts need not fix itself.
#[test]
fn a_locked_data_set_is_used_as_its_owner_said() {
    let scene = Scene::new("locked");
    fs::create_dir(scene.path("results")).unwrap();
    let lock = LockSettings {
        verbs: vec![label("train")],
        most: scene::epsilon(1.0),
        folder: scene.path("results"),
    };
    scene.budget_for(Unit::Record, "t.toml", Some(lock));
    let allowed = Settings { out: Some(scene.path("results/m")), ..scene.settings() };
    scene.write("wider.toml", &SCHEMA.replace("[0, 1]", "[0, 2]"));
    let refused = |settings: Settings| train(&settings).unwrap_err();
    let other = Settings { schema: Some(scene.path("wider.toml")), ..allowed.clone() };
    assert!(matches!(refused(other), RunError::OtherSchema { .. }));
    let elsewhere = Settings { out: Some(scene.path("m")), ..allowed.clone() };
    assert!(matches!(refused(elsewhere), RunError::OtherFolder { .. }));
    let report = Settings { report: Some(scene.path("report.html")), ..allowed.clone() };
    assert!(matches!(refused(report), RunError::OtherFolder { .. }));
    let above = Settings { out: Some(scene.path("results/../m")), ..allowed.clone() };
    assert!(matches!(refused(above), RunError::OtherFolder { .. }));
    let tested = Settings { public_test: Some(scene.path("t.csv")), ..allowed.clone() };
    assert!(matches!(refused(tested), RunError::LockedTest));
    let seeded = Settings { danger_seed: Some(1), ..allowed.clone() };
    assert!(matches!(refused(seeded), RunError::SeededCharge));
    let dear = Settings { epsilon: Some(scene::epsilon(2.0)), ..allowed.clone() };
    let dear = refused(dear);
    assert!(dear.is_refusal() && dear.to_string().contains("allows at most 1"), "{dear}");
    let query = sordino_run::query::Query {
        data: scene.path("t.csv"),
        statistic: sordino_run::query::Statistic::Count,
        column: None,
        epsilon: scene::epsilon(0.1),
        schema: Some(scene.path("t.toml")),
        bounds: None,
        values: None,
        equals: None,
        at: 0.5,
        neighbours: None,
        permissive: false,
        payment: allowed.payment.clone(),
        danger_seed: None,
    };
    let verb = sordino_run::query::answer(&query).unwrap_err();
    assert!(verb.is_refusal() && verb.to_string().contains("query"), "{verb}");
    assert_eq!(scene.spent(), 0.0);

    // Even the owner comes through the permissive door: a record that does not fit is not spoken of.
    let text = fs::read_to_string(scene.path("t.csv")).unwrap().replacen("0,no", "SECRET,no", 1);
    scene.write("t.csv", &text);
    let linked = sordino_run::identity(&scene.path("t.csv"), None).unwrap();
    scene.ledger().link(&linked).unwrap();
    let trained = train(&allowed).unwrap();
    assert!(trained.guarantee.epsilon.upper <= 1.0);
    assert!(trained.plan.notes.iter().any(|note| note.contains("the strict door is the owner's")));
}

/// A table whose first record would become its header.
#[test]
fn a_header_is_what_the_owner_says_it_is() {
    let scene = Scene::new("header");
    scene.budget();
    scene.write(
        "t.toml",
        &format!(
            "csv.comment = 'x'\n{}",
            "columns.'*' = { kind = 'ignore' }\ncolumns.y = { kind = 'category', values = ['no', 'yes'] }"
        ),
    );
    let error = train(&scene.settings()).unwrap_err().to_string();
    assert!(error.contains("csv.comment") && !error.contains("0.1"), "{error}");
    assert!(!scene.path("m").exists() && !scene.path("m.part").exists());
}
