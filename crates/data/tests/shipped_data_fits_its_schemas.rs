//! The data sets and schemas in `examples/` belong together.

mod files;

use std::path::PathBuf;

use files::{codes, numbers, read, schema};
use sordino_data::Door;

fn examples() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../examples")
}

fn example_schema(name: &str) -> sordino_data::Schema {
    schema(&std::fs::read_to_string(examples().join(name)).unwrap())
}

#[test]
fn breast_cancer() {
    let path = examples().join("data/breast-cancer.csv.gz");
    let table = read(&path, &example_schema("breast-cancer.toml"), Door::Strict).unwrap();
    assert_eq!((table.slots(), table.records(), table.names().len()), (569, 569, 31));
    let malignant = codes(&table, "diagnosis").iter().filter(|code| **code == 0).count();
    assert_eq!(malignant, 212);
    assert_eq!(numbers(&table, "mean_radius")[0], 17.99);
    // Training part and test part together are the whole data set.
    let all = numbers(&table, "mean_area");
    let part = |name: &str| {
        let path = examples().join("data").join(name);
        numbers(&read(&path, &example_schema("breast-cancer.toml"), Door::Strict).unwrap(), "mean_area")
    };
    let (mut train, mut test) =
        (part("breast-cancer-train.csv.gz").into_iter(), part("breast-cancer-test.csv.gz").into_iter());
    let joined: Vec<f64> =
        (0..569).map(|row| if row % 5 == 4 { test.next() } else { train.next() }.unwrap()).collect();
    assert_eq!(joined, all);
}

#[test]
fn digits() {
    let path = examples().join("data/digits.csv.gz");
    let table = read(&path, &example_schema("digits.toml"), Door::Strict).unwrap();
    assert_eq!((table.slots(), table.names().len()), (1797, 65));
    let mut counts = [0; 10];
    codes(&table, "digit").iter().for_each(|digit| counts[*digit as usize] += 1);
    assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
}

#[test]
fn shipped_files_are_small_and_the_other_schemas_are_sound() {
    for file in std::fs::read_dir(examples().join("data")).unwrap() {
        assert!(file.unwrap().metadata().unwrap().len() <= 200 << 10);
    }
    for name in ["adult.toml", "mnist.toml"] {
        assert!(example_schema(name).columns().count() > 1);
    }
}

/// The guide's schema has twenty columns on few lines, and its dictionary can be read.
#[test]
fn the_guides_schema_and_dictionary_are_read() {
    let guide = include_str!("../../../docs/guide/schema.md");
    let block = |start: &str| {
        let from = guide.find(start).unwrap_or_else(|| panic!("{start}"));
        let text = &guide[from + start.find('\n').unwrap() + 1..];
        &text[..text.find("```").unwrap()]
    };
    let text = block("```toml\nunit = {");
    assert!(text.lines().count() <= 25);
    let schema = schema(text);
    let own = ["patient", "name", "notes", "age", "sex", "height_cm", "weight_kg", "smoker", "ward"]
        .map(str::to_owned);
    let numbered = |stem: &str, most: u32| (1..=most).map(|n| format!("{stem}_{n}")).collect::<Vec<_>>();
    let names = [own.to_vec(), numbered("question", 5), numbered("day", 6)].concat();
    assert_eq!(names.len(), 20);
    assert!(names.iter().all(|name| schema.column(name).is_some()));
    assert_eq!(schema.column("day_6"), Some(&sordino_data::Column::Ignore));
    let scratch = sordino_testing::Scratch::new("guide-dictionary");
    let path = scratch.file("dictionary.csv", block("```text\nname,type,minimum"));
    sordino_data::Dictionary::read(&path).unwrap();
}
