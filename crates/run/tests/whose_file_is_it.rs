//! The schema is the analyst's file; the owner decides how the data is parsed and what the unit is.

mod scene;

use std::fs;

use scene::{SCHEMA, Scene, label, train};
use sordino_data::ReadingError;
use sordino_privacy::Unit;
use sordino_run::training;
use sordino_run::{LockSettings, RunError, Settings};

/// `comment = "y"` once made `train --plan` tell for free how many rows begin with y.
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
            // The message shows nothing of the table, whose records all begin with a digit.
            assert!(!error.to_string().contains("yes"), "{error}");
        }
    }
    assert_eq!(scene.spent(), 0.0);
}

/// `comment = "h"` with `names` once gave the name of the patients' column to a unique one, so a
/// promise to patients protected only visits.
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
    // The analyst may choose fewer records per patient; the price accounts for it.
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

/// Nobody may use a column that the owner ignores.
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
    // Its bounds cannot be bought either.
    let settings = Settings {
        schema: Some(scene.path("owners.toml")),
        estimate_schema_with: Some(0.5),
        numbers: Some(vec!["x".to_owned()]),
        ..scene.settings()
    };
    assert!(matches!(train(&settings), Err(RunError::IgnoredColumn { .. })));
    assert_eq!(scene.spent(), 0.0);
}

/// If the owner has set no rules, the ledger reads the file as a plain table.
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

/// A lock fixes all of this, so a wrapper for analysts need not.
#[test]
fn a_locked_data_set_is_used_by_its_owners_rules() {
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
        csv: sordino_data::CsvAsked::default(),
        edges: None,
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

    // Even the owner uses the permissive door: no message names a record that does not fit.
    let text = fs::read_to_string(scene.path("t.csv")).unwrap().replacen("0,no", "SECRET,no", 1);
    scene.write("t.csv", &text);
    let linked = sordino_run::identity(&scene.path("t.csv"), None).unwrap();
    scene.ledger().link(&linked).unwrap();
    let trained = train(&allowed).unwrap();
    assert!(trained.guarantee.epsilon.upper <= 1.0);
    assert!(trained.plan.notes.iter().any(|note| note.contains("only the owner is")));
}

/// With other options, the first record would become the header.
#[test]
fn the_owner_decides_which_line_is_the_header() {
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

/// A bought schema is kept in the working folder until the model is written, where it may be
/// changed. It once skipped the owner's rules, and any open charge counted as its price.
#[test]
fn a_bought_schema_must_keep_the_owners_rules() {
    let scene = Scene::new("bought");
    let owners = "columns.x = { kind = 'number', bounds = [0, 1] }\ncolumns.z = { kind = 'ignore' }\n\
                  columns.y = { kind = 'category', values = ['no', 'yes'] }\n";
    let rows: String =
        (0..200).map(|row| format!("0.{},{},{}\n", row % 10, row % 3, ["no", "yes"][row % 2])).collect();
    scene.write("t.csv", &format!("x,z,y\n{rows}"));
    scene.write("owners.toml", &owners.replace("columns.x = { kind = 'number', bounds = [0, 1] }\n", ""));
    scene.budget_for(Unit::Record, "owners.toml", None);
    let settings = Settings {
        schema: Some(scene.path("owners.toml")),
        estimate_schema_with: Some(0.5),
        numbers: Some(vec!["x".to_owned()]),
        epsilon: Some(scene::epsilon(4.0)),
        ..scene.settings()
    };
    // A run that dies after it has bought its schema.
    struct Dies;
    impl training::Observer for Dies {
        fn doing(&mut self, what: &str) {
            assert!(!what.starts_with("planned"), "killed");
        }
    }
    let run = || scene::train_watched(&settings, false, &mut Dies).map(drop);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    let kept = scene.path("m.part/schema.toml");
    let honest = fs::read_to_string(&kept).unwrap();
    let spent = scene.spent();
    fs::write(&kept, honest.replace("kind = \"ignore\"", "kind = \"category\"\nvalues = [0, 1, 2]")).unwrap();
    assert_ne!(fs::read_to_string(&kept).unwrap(), honest);
    let refused = train(&settings).map(drop).unwrap_err();
    assert!(matches!(refused, RunError::Resume(_) | RunError::Reading(_)), "{refused}");
    assert_eq!(scene.spent(), spent);
    // Another open charge does not count as its price.
    let identity = sordino_run::identity(&scene.path("t.csv"), None).unwrap();
    let mut account =
        sordino_ledger::Account::open(scene.ledger(), &identity, label("owner"), label("query count"))
            .unwrap();
    let event = sordino_privacy::Event::Pure { epsilon: scene::epsilon(1e-6) };
    let cheap = sordino_privacy::Charge::charge(&mut account, event).unwrap().reservation().unwrap();
    let purchase = scene.path("m.part/schema.purchase.json");
    let mut record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&purchase).unwrap()).unwrap();
    record["receipt"]["charges"] =
        serde_json::json!([{ "number": cheap, "history": scene.ledger().head().unwrap() }]);
    fs::write(&purchase, record.to_string()).unwrap();
    let refused = train(&settings).map(drop).unwrap_err();
    assert!(matches!(refused, RunError::OtherSchemaBought { .. }), "{refused}");
}

/// Nothing gets around a lock's rules for schemas and places.
#[test]
fn a_lock_cannot_be_bypassed() {
    let scene = Scene::new("side-doors");
    fs::create_dir(scene.path("results")).unwrap();
    let verbs = vec![label("train"), label("schema")];
    let lock = LockSettings { verbs, most: scene::epsilon(1.0), folder: scene.path("results") };
    scene.budget_for(Unit::Record, "t.toml", Some(lock));
    let allowed = Settings { out: Some(scene.path("results/m")), ..scene.settings() };
    let bought = Settings {
        estimate_schema_with: Some(0.5),
        categories: Some(vec!["y".to_owned()]),
        ..allowed.clone()
    };
    assert!(matches!(train(&bought), Err(RunError::LockedSchema)));
    // Another result, and a link that leads elsewhere.
    scene.write("results/other.json", "{}");
    let over = Settings { report: Some(scene.path("results/other.json")), ..allowed.clone() };
    assert!(matches!(train(&over), Err(RunError::FileExists { .. })));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(scene.path("elsewhere"), scene.path("results/link")).unwrap();
        let linked = Settings { report: Some(scene.path("results/link")), ..allowed.clone() };
        assert!(matches!(train(&linked), Err(RunError::FileExists { .. })));
        fs::create_dir(scene.path("elsewhere")).unwrap();
        std::os::unix::fs::symlink(scene.path("elsewhere"), scene.path("results/m.part")).unwrap();
        assert!(matches!(train(&allowed), Err(RunError::WriteFile { .. })));
        assert_eq!(fs::read_dir(scene.path("elsewhere")).unwrap().count(), 0);
        fs::remove_file(scene.path("results/m.part")).unwrap();
    }
    assert_eq!(scene.spent(), 0.0);
    train(&allowed).unwrap();
}

/// Private images beside other labels are private: a score on them once told how many are taken for
/// a class.
#[test]
fn private_images_are_no_public_test() {
    let scene = Scene::new("images");
    let images: Vec<u8> =
        [0, 0, 8, 3, 0, 0, 0, 60, 0, 0, 0, 2, 0, 0, 0, 2].into_iter().chain(0..240).collect();
    let labels = |label: u8| [vec![0, 0, 8, 1, 0, 0, 0, 60], vec![label; 60]].concat();
    for (folder, label) in [("private", 0), ("mine", 1)] {
        fs::create_dir(scene.path(folder)).unwrap();
        fs::write(scene.path(&format!("{folder}/a-images-idx3-ubyte")), &images).unwrap();
        fs::write(scene.path(&format!("{folder}/a-labels-idx1-ubyte")), labels(label)).unwrap();
    }
    scene.write(
        "t.toml",
        "columns.'pixel_*' = { kind = 'number', bounds = [0, 255] }\ncolumns.label = { kind = 'category', \
        values = [0, 1] }",
    );
    let settings = Settings {
        data: Some(scene.path("private/a-images-idx3-ubyte")),
        target: Some("label".to_owned()),
        payment: Default::default(),
        public_test: Some(scene.path("mine/a-images-idx3-ubyte")),
        ..scene.settings()
    };
    assert!(matches!(train(&settings), Err(RunError::PrivateTest { .. })));
    // Packed images are the same images.
    fs::create_dir(scene.path("packed")).unwrap();
    for (name, bytes) in [("a-images-idx3-ubyte", &images), ("a-labels-idx1-ubyte", &labels(1))] {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut packed, bytes).unwrap();
        fs::write(scene.path(&format!("packed/{name}.gz")), packed.finish().unwrap()).unwrap();
    }
    let packed = Some(scene.path("packed/a-images-idx3-ubyte.gz"));
    let packed = Settings { public_test: packed, ..settings.clone() };
    assert!(matches!(train(&packed), Err(RunError::PrivateTest { .. })));
    train(&Settings { public_test: None, ..settings }).unwrap();
}

/// An analyst uses the permissive door, and n is public. A record that does not fit counts as the
/// middle of the bounds, so the divisor does not depend on values.
#[test]
fn an_analysts_mean_divides_by_a_public_number() {
    let scene = Scene::new("filled");
    let text = fs::read_to_string(scene.path("t.csv")).unwrap();
    scene.write("t.csv", &text.replace("0.9,yes", "none,yes").replace("0.8,yes", "0.8,yes,no record"));
    scene.budget();
    let query = |statistic, epsilon| sordino_run::query::Query {
        data: scene.path("t.csv"),
        statistic,
        column: Some("x".to_owned()),
        epsilon: scene::epsilon(epsilon),
        schema: Some(scene.path("t.toml")),
        bounds: None,
        values: None,
        csv: sordino_data::CsvAsked::default(),
        edges: None,
        equals: None,
        at: 0.5,
        neighbours: None,
        permissive: false,
        payment: sordino_run::Payment { who: Some(label("ann")), ..scene.settings().payment },
        danger_seed: None,
    };
    use sordino_run::query::{AnswerValue, Statistic, answer};
    let (mean, _) = answer(&query(Statistic::Mean, 5.0)).unwrap();
    let AnswerValue::Estimate(mean) = mean.value else { panic!("a mean is a number") };
    // 0 to 0.7 stay as they are, 0.8 and 0.9 count as 0.5: the mean is 0.38. The noise of a mean of
    // 200 at ε = 5 exceeds 0.02 with probability e^-40.
    assert!((mean.value - 0.38).abs() < 0.02, "{}", mean.value);
    assert!(matches!(answer(&query(Statistic::Variance, 1.0)), Err(RunError::Drops { .. })));
}

/// The schema is compared with the owner's reading before the file is opened, because with other
/// options an error about the first line can show records. So the first error is never about the
/// file.
#[test]
fn the_owners_reading_is_checked_before_the_file_is_opened() {
    use sordino_run::query::{Query, Statistic};
    let scene = Scene::new("order");
    scene.budget();
    let query = |csv: sordino_data::CsvAsked, schema: Option<&str>| Query {
        data: scene.path("t.csv"),
        statistic: Statistic::Mean,
        column: Some("x".to_owned()),
        epsilon: scene::epsilon(0.1),
        schema: schema.map(|name| scene.path(name)),
        bounds: schema.is_none().then_some((0.0, 1.0)),
        values: None,
        csv,
        edges: None,
        equals: None,
        at: 0.5,
        neighbours: None,
        permissive: false,
        payment: scene.settings().payment,
        danger_seed: None,
    };
    let search = |schema: Option<&str>, csv: sordino_data::CsvAsked| sordino_run::discovery::Search {
        data: scene.path("t.csv"),
        epsilon: scene::epsilon(0.1),
        delta: None,
        schema: schema.map(|name| scene.path(name)),
        csv,
        numbers: vec!["x".to_owned()],
        categories: Vec::new(),
        neighbours: None,
        payment: scene.settings().payment,
        out: None,
        danger_seed: None,
    };
    let asked = || sordino_data::CsvAsked { delimiter: Some(b';'), ..Default::default() };
    scene.write("t.toml", &format!("csv.comment = '0'\n{SCHEMA}"));
    // A file without a header, one that is no table, and a missing file.
    for content in [Some(&b"0.5,yes\n0.4,no\n"[..]), Some(b"\0\x01"), Some(b""), None] {
        match content {
            Some(content) => fs::write(scene.path("t.csv"), content).unwrap(),
            None => fs::remove_file(scene.path("t.csv")).unwrap(),
        }
        let bought = Settings {
            estimate_schema_with: Some(0.5),
            numbers: Some(vec!["x".to_owned()]),
            ..scene.settings()
        };
        let none = sordino_data::CsvAsked::default;
        for result in [
            training::plan(&scene.settings()).map(drop),
            train(&scene.settings()).map(drop),
            train(&bought).map(drop),
            sordino_run::query::answer(&query(none(), Some("t.toml"))).map(drop),
            sordino_run::query::answer(&query(asked(), None)).map(drop),
            sordino_run::discovery::PlannedDiscovery::new(&search(Some("t.toml"), none())).map(drop),
            sordino_run::discovery::PlannedDiscovery::new(&search(None, asked())).map(drop),
        ] {
            let error = result.unwrap_err();
            assert!(matches!(error, RunError::Reading(ReadingError::Csv { .. })), "{error}");
        }
    }
}
