//! Whatever is wrong with a table, a schema, a flag or a disk, the message names it and says what
//! to do, before anything is charged or written.

mod command;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use command::{Run, example, folder, sordino_in};

const SCHEMA: &str = "columns.age = { kind = 'number', bounds = [0, 120] }
columns.ward = { kind = 'category', values = ['north', 'south'] }
columns.ill = { kind = 'category', values = ['no', 'yes'] }
";

/// Trains on a file with this content, and checks that a failed run leaves nothing behind.
fn train(folder: &Path, data: &[u8], more: &str) -> Run {
    fs::write(folder.join("t.csv"), data).unwrap();
    let schema = folder.join("t.toml");
    if !schema.exists() {
        fs::write(&schema, SCHEMA).unwrap();
    }
    let line = format!("train t.csv --schema t.toml --steps 5 {more}");
    let line = if more.contains("--target") { line } else { line + " --target ill" };
    let line = if more.contains("--epsilon") { line } else { line + " --epsilon 1" };
    let run = sordino_in(folder, &line.split_whitespace().collect::<Vec<_>>());
    if run.code != 0 {
        assert!(!folder.join("t.model").exists() && !folder.join("t.model.part").exists(), "{run:?}");
    }
    run
}

const GOOD: &[u8] = b"age,ward,ill\n41,north,no\n57,south,yes\n33,north,no\n";

#[test]
fn the_unchanged_table_is_sound() {
    let run = train(&folder("good"), GOOD, "");
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn columns_and_values_that_do_not_fit_are_refused() {
    let here = folder("columns");
    train(&here, b"age,wards,ill\n41,north,no\n", "").refuses(&["`wards`", "did you mean `ward`?"]);
    train(&here, b"age,ill\n41,no\n", "").refuses(&["the schema declares column `ward`"]);
    train(&here, GOOD, "--target il").refuses(&["no column `il`", "did you mean `ill`?"]);
    train(&here, b"age,ward,ill\n41,north,no\nSECRET,south,yes\n", "").refuses(&[
        "row 2",
        "column `age`",
        "a number",
    ]);
    let other = train(&here, b"age,ward,ill\n41,north,no\n41,SECRET,yes\n", "");
    other.refuses(&["row 2", "column `ward`", "one of the declared values"]);
    assert!(!other.stderr.contains("SECRET"), "{other:?}");
    train(&here, b"age,ward,ill\n41,north,no\n41,north\n", "").refuses(&["row 2", "3 fields, got 2"]);
    // The permissive door replaces and drops without a message.
    assert_eq!(train(&here, b"age,ward,ill\n41,north,no\nSECRET,x,y\n", "--permissive").code, 0);
}

/// The number of records that a schema drops is private, so no message may say that none is left:
/// the model is noise.
#[test]
fn a_table_whose_records_are_all_dropped_gives_noise_and_no_message() {
    let here = folder("dropped");
    fs::write(
        here.join("t.toml"),
        SCHEMA.replace("bounds = [0, 120]", "bounds = [0, 120], missing = 'drop'"),
    )
    .unwrap();
    let run = train(&here, b"age,ward,ill\n,north,no\n,south,yes\n,north,no\n", "");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.line("learned by").contains("3 records"), "{run:?}");
    assert!(!run.stderr.contains("drop"), "{run:?}");
}

#[test]
fn files_that_are_no_tables_are_refused() {
    let here = folder("files");
    train(&here, b"", "").refuses(&["t.csv` is empty"]);
    train(&here, b"age,ward,ill\n", "").refuses(&["has no records"]);
    train(&here, b"\xff\xfe,ward,ill\n1,north,no\n", "").refuses(&["not UTF-8"]);
    train(&here, b"age,ward,ill\n1,\xff\xfe,no\n", "").refuses(&["row 1", "column `ward`"]);
    let mut long = b"age,ward,ill\n1,\"".to_vec();
    long.extend(std::iter::repeat_n(b'x', 5 << 20));
    train(&here, &long, "").refuses(&["row 1", "longer than", "closing quote"]);
    let missing =
        sordino_in(&here, &["train", "no.csv", "--schema", "t.toml", "--target", "ill", "--epsilon", "1"]);
    missing.refuses(&["cannot read `no.csv`"]);
    let folder =
        sordino_in(&here, &["train", ".", "--schema", "t.toml", "--target", "ill", "--epsilon", "1"]);
    folder.refuses(&["directory"]);
    #[cfg(target_os = "linux")]
    {
        // A file that exists and that no user can read.
        let words = ["train", "/proc/self/mem", "--schema", "t.toml", "--target", "ill", "--epsilon", "1"];
        sordino_in(&here, &words).refuses(&["cannot read `/proc/self/mem`"]);
    }
}

#[test]
fn a_nested_column_of_parquet_is_named() {
    use parquet::data_type::{DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    let here = folder("nested");
    let message = "message table { required double age; optional group visits (LIST) { repeated group list { \
        optional int64 element; } } }";
    let message = Arc::new(parquet::schema::parser::parse_message_type(message).unwrap());
    let file = fs::File::create(here.join("t.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, message, Arc::new(WriterProperties::default())).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&[1.0, 2.0], None, None).unwrap();
    column.close().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[], Some(&[0, 0]), Some(&[0, 0])).unwrap();
    column.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
    let number = |name: &str| format!("columns.{name} = {{ kind = 'number', bounds = [0, 9] }}\n");
    fs::write(here.join("t.toml"), number("age") + &number("visits")).unwrap();
    let words = ["train", "t.parquet", "--schema", "t.toml", "--target", "age", "--epsilon", "1"];
    sordino_in(&here, &words).refuses(&["`visits`, a list", "kind = \"ignore\""]);
}

#[test]
fn schemas_and_settings_that_do_not_fit_are_refused() {
    let here = folder("settings");
    train(&here, GOOD, "--epsilon 0").refuses(&["--epsilon 0", "above 0"]);
    train(&here, GOOD, "--epsilon -1").refuses(&["epsilon must be"]);
    train(&here, GOOD, "--learning-rate 0").refuses(&["learning rate must be", "got 0"]);
    train(&here, GOOD, "--l2 -1").refuses(&["l2 penalty must be", "got -1"]);
    train(&here, GOOD, "--rows 4").refuses(&["--rows says 4", "3 records"]);
    train(&here, GOOD, "--delta 0").refuses(&["delta is 0"]);
    train(&here, GOOD, "--method sufficient-statistics").refuses(&["squared loss", "a category of 2 values"]);
    train(&here, GOOD, "--method output-perturbation").refuses(&["--steps has no meaning"]);
    train(&here, GOOD, "--method sdg").refuses(&["'sdg'", "sgd"]);
    train(&here, GOOD, "--step 4").refuses(&["--step", "--steps"]);
    train(&here, GOOD, "--sampling-rate 0.5 --method gradient-descent")
        .refuses(&["--sampling-rate has no meaning for gradient-descent on a linear model"]);
    train(&here, GOOD, "--loss squared").refuses(&["squared loss", "a category of 2 values"]);
    train(&here, GOOD, "--who ada").refuses(&["--who has no meaning for a run without --ledger"]);
    train(&here, GOOD, "--resume").refuses(&["no run to resume"]);
    train(&here, GOOD, "--public-test no.csv").refuses(&["cannot read `no.csv`"]);
    fs::write(here.join("half.csv"), "age,ward\n41,north\n").unwrap();
    train(&here, GOOD, "--public-test half.csv").refuses(&["half.csv` has no column `ill`"]);
    // A schema of another file, and no schema at all.
    let digits = example("digits.toml");
    let words = ["train", "t.csv", "--schema", &digits, "--target", "ill", "--epsilon", "1"];
    sordino_in(&here, &words).refuses(&["none of the columns that the schema declares"]);
    let words = ["train", "t.csv", "--schema", &digits, "--target", "digit", "--epsilon", "1"];
    sordino_in(&here, &words).refuses(&["none of the columns that the schema declares"]);
    let none = sordino_in(&here, &["train", "t.csv", "--target", "ill", "--epsilon", "1"]);
    none.refuses(&["no --schema given", "`sordino schema t.csv` writes a template"]);
    sordino_in(&here, &["train"]).refuses(&["DATA is missing", "--config"]);
}

#[test]
fn places_that_cannot_be_written_are_refused() {
    let here = folder("places");
    train(&here, GOOD, "--out t.csv/m").refuses(&["cannot write `t.csv/m.part`"]);
    train(&here, GOOD, "--out no/such/folder").refuses(&["cannot write `no/such/folder.part`"]);
    // The place of the report is checked too, before anything is charged; an existing file keeps
    // its content if the run fails later.
    train(&here, GOOD, "--report t.csv/report.html").refuses(&["cannot write `t.csv/report.html`"]);
    train(&here, GOOD, "--report .").refuses(&["cannot write `.`"]);
    fs::write(here.join("old.html"), "old").unwrap();
    train(&here, b"age,ward,ill\nx,north,no\n", "--report old.html").refuses(&["row 1"]);
    assert_eq!(fs::read_to_string(here.join("old.html")).unwrap(), "old");
    train(&here, b"age,ward,ill\nx,north,no\n", "--report new.html").refuses(&["row 1"]);
    assert!(!here.join("new.html").exists());
    fs::create_dir(here.join("taken")).unwrap();
    train(&here, GOOD, "--out taken").refuses(&["`taken` exists", "never overwritten"]);
    #[cfg(unix)]
    {
        // A limit on the size of files acts like a full disk. The shell ignores its signal, and so
        // does the command.
        let limited = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_sordino")])
            .args(["train", "t.csv", "--schema", "t.toml", "--target", "ill", "--epsilon", "1"])
            .current_dir(&here)
            .output()
            .unwrap();
        let stderr = String::from_utf8(limited.stderr).unwrap();
        assert_eq!(limited.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("no room for") && stderr.contains("nothing was charged"), "{stderr}");
        assert!(!here.join("t.model").exists() && !here.join("t.model.part").exists());
    }
}

/// A write that was cut short leaves `OUT.part` behind: never half a model under its own name, and
/// nothing that blocks the next run.
#[test]
fn half_a_model_is_never_taken_for_one() {
    let here = folder("interrupted");
    let part = here.join("t.model.part");
    fs::create_dir_all(part.join("model")).unwrap();
    fs::write(part.join("model/model.safetensors"), "cut sh").unwrap();
    fs::write(here.join("p.csv"), GOOD).unwrap();
    sordino_in(&here, &["predict", "t.model.part/model", "p.csv"]).refuses(&["manifest.json"]);
    sordino_in(&here, &["predict", "t.model", "p.csv"]).refuses(&["no model", "no directory"]);
    assert_eq!(train(&here, GOOD, "").code, 0);
    assert!(!part.exists());
    assert_eq!(sordino_in(&here, &["predict", "t.model", "p.csv"]).code, 0);
    // A file of the directory is shortened.
    let weights = here.join("t.model/model.safetensors");
    let whole = fs::read(&weights).unwrap();
    fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    let cut = sordino_in(&here, &["predict", "t.model", "p.csv"]);
    assert!(cut.code == 1 && cut.stderr.contains("SHA-256 differs"), "{cut:?}");
}

/// Another file takes the place of the model during training. The model is paid for: resuming
/// writes it at no further cost.
#[test]
fn a_model_whose_place_was_taken_is_written_later() {
    let here = folder("taken");
    let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
    let line = format!(
        "train {data} --schema {schema} --target diagnosis --epsilon 1 --steps 1500 --checkpoint-every 1000 \
        --threads 1 --out m"
    );
    let child = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(line.split(' '))
        .current_dir(&here)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !here.join("m.part/checkpoint").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    fs::create_dir(here.join("m")).unwrap();
    fs::write(here.join("m/mine"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("`m`") && stderr.contains("--resume writes it at no further cost"), "{stderr}");
    assert_eq!(fs::read_dir(here.join("m")).unwrap().count(), 1);
    fs::rename(here.join("m"), here.join("theirs")).unwrap();
    let resumed = sordino_in(&here, &line.split(' ').chain(["--resume"]).collect::<Vec<_>>());
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let test = example("data/breast-cancer-test.csv.gz");
    assert_eq!(sordino_in(&here, &["predict", "m", &test]).code, 0);
    assert!(!here.join("m.part").exists());
}

/// Methods without steps cannot be resumed, so their model is written elsewhere, whole.
#[test]
fn a_model_that_cannot_be_written_is_not_lost() {
    let here = folder("rescued");
    fs::create_dir(here.join("tmp")).unwrap();
    // A file in place of the working folder cannot be replaced.
    fs::create_dir(here.join("m.part")).unwrap();
    fs::write(here.join("m.part/model"), "").unwrap();
    let (data, schema) = (example("data/breast-cancer-train.csv.gz"), example("breast-cancer.toml"));
    let output = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(["train", &data, "--schema", &schema, "--target", "diagnosis", "--epsilon", "1", "--out", "m"])
        .args(["--method", "output-perturbation"])
        .current_dir(&here)
        .env("TMPDIR", here.join("tmp"))
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let place = stderr.split("is in `").nth(1).and_then(|rest| rest.split('`').next()).expect(&stderr);
    assert!(Path::new(place).starts_with(here.join("tmp")), "{stderr}");
    let test = example("data/breast-cancer-test.csv.gz");
    assert_eq!(sordino_in(&here, &["predict", place, &test]).code, 0);
    assert!(!here.join("m").exists());
}

#[test]
fn tables_that_do_not_fit_the_model_are_refused() {
    let here = folder("predicted");
    assert_eq!(train(&here, GOOD, "--out m").code, 0);
    let predict = |data: &str, more: &str| {
        fs::write(here.join("p.csv"), data).unwrap();
        let line = format!("predict m p.csv {more}");
        sordino_in(&here, &line.split_whitespace().collect::<Vec<_>>())
    };
    // The target may be present or absent, with any values.
    assert_eq!(predict("age,ward,ill\n41,north,?\n", "").stdout.lines().count(), 2);
    assert_eq!(predict("ward,age\nsouth,41\n", "").stdout.lines().count(), 2);
    predict("age\n41\n", "").refuses(&["`ward`"]);
    predict("age,ward\n41,nroth\n", "").refuses(&["row 1", "column `ward`"]);
    // A record that does not fit has a line without a prediction.
    let mapped = predict("age,ward\n41,nroth\n41,north\n", "--permissive");
    let lines: Vec<&str> = mapped.stdout.lines().collect();
    assert!(lines.len() == 3 && lines[1].is_empty() && !lines[2].is_empty(), "{mapped:?}");
    let object = predict("age,ward\n41,nroth\n41,north\n", "--permissive --proba --json").object();
    assert!(object["predictions"][0].is_null() && object["probabilities"][0].is_null(), "{object}");
    assert_eq!(object["probabilities"][1].as_array().map(Vec::len), Some(2));
    sordino_in(&here, &["predict", "t.toml", "p.csv"]).refuses(&["no model", "sordino train"]);
    sordino_in(&here, &["predict", ".", "p.csv"]).refuses(&["manifest.json"]);
    fs::write(
        here.join("m/manifest.json"),
        r#"{"sordino":"0","format_version":1,"files":{"../t.toml":"00"}}"#,
    )
    .unwrap();
    sordino_in(&here, &["predict", "m", "p.csv"]).refuses(&["manifest.json"]);
}
