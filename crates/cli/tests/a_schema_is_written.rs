//! An owner describes a table before anything is computed from it.

mod command;

use command::{place, sordino};

#[test]
fn a_template_names_every_column_and_no_value() {
    let path = place("patients.csv");
    std::fs::write(&path, "patient_id,age,\"blood pressure\"\np77,41,138\n").unwrap();
    let run = sordino(&format!("schema {}", path.display()));
    assert_eq!(run.code, 0, "{run:?}");
    // Each column has one line.
    for part in ["\npatient_id = {", "\nage = {", "\n\"blood pressure\" = {", "unit = \"record\""] {
        assert!(run.stdout.contains(part), "{part} is not in {run:?}");
    }
    for value in ["p77", "41", "138"] {
        assert!(!run.stdout.contains(value), "{value} is in {run:?}");
    }
    let schema = sordino_data::Schema::from_toml(&run.stdout).unwrap();
    assert_eq!(schema.column("age"), Some(&sordino_data::Column::Ignore));
    assert!(run.stderr.starts_with("note: "));
}

#[test]
fn the_header_is_printed_as_json() {
    let path = place("digits-idx1");
    std::fs::write(&path, [0, 0, 8, 1, 0, 0, 0, 1, 7]).unwrap();
    let object = sordino(&format!("schema {} --json", path.display())).object();
    assert_eq!(object["format"], "IDX");
    assert_eq!(object["columns"], serde_json::json!([{"name":"label","type":"byte"}]));
    assert_eq!(object["sordino"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn files_without_a_header_are_refused() {
    let path = place("empty.csv");
    std::fs::write(&path, "").unwrap();
    sordino(&format!("schema {}", path.display())).refuses(&["is empty"]);
    sordino("schema nowhere.csv").refuses(&["cannot read `nowhere.csv`"]);
    sordino("schema .").refuses(&["is a directory"]);
    sordino("schema x.csv --delimiter ab").refuses(&["--delimiter", "one ASCII character"]);
}
