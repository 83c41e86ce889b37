//! In a file with one column every line is a record, whatever it holds: the number of records does
//! not depend on values.

mod files;

use files::{file, gzip, numbers, read, refused, schema};
use proptest::prelude::*;
use sordino_data::{Door, Schema, Source, Table};

fn ages() -> Schema {
    schema("columns.age = { kind = 'number', bounds = [0, 120], missing = 40 }")
}

fn table(name: &str, content: &[u8]) -> Table {
    read(&file(name, content), &ages(), Door::Strict).unwrap()
}

/// Blank lines were once skipped: "1, missing, 2" had two records, and "1, 3, 2" three.
#[test]
fn a_blank_line_is_a_missing_value() {
    for (name, content, expected) in [
        ("between.csv", "age\n1\n\n2\n", &[1.0, 40.0, 2.0][..]),
        ("spaces.csv", "age\n1\n  \t\n2\n", &[1.0, 40.0, 2.0]),
        ("crlf.csv", "age\r\n1\r\n\r\n2\r\n", &[1.0, 40.0, 2.0]),
        ("crlf-spaces.csv", "age\r\n1\r\n \r\n2", &[1.0, 40.0, 2.0]),
        ("first.csv", "age\n\n1\n", &[40.0, 1.0]),
        ("last.csv", "age\n1\n\n", &[1.0, 40.0]),
        ("last-crlf.csv", "age\r\n1\r\n\r\n", &[1.0, 40.0]),
        ("only.csv", "age\n\n\n\n", &[40.0, 40.0, 40.0]),
        ("quoted.csv", "age\n\"\"\n\"1\"\n\n\"\"", &[40.0, 1.0, 40.0, 40.0]),
        ("no-end.csv", "age\n1\n2", &[1.0, 2.0]),
        ("spaces-no-end.csv", "age\n1\n ", &[1.0, 40.0]),
        ("end.csv", "age\n1\n2\n", &[1.0, 2.0]),
        ("mark.csv", "\u{feff}age\n\n1\n", &[40.0, 1.0]),
    ] {
        assert_eq!(numbers(&table(name, content.as_bytes()), "age"), expected, "{name}");
    }
    assert_eq!(numbers(&table("packed.csv.gz", &gzip(b"age\n1\n\n2\n")), "age"), [1.0, 40.0, 2.0]);
}

#[test]
fn comments_are_skipped_and_blank_lines_beside_them_are_not() {
    let text = "csv = { names = ['age'], comment = '#' }
                columns.age = { kind = 'number', bounds = [0, 120], missing = 40 }";
    for (name, content) in [
        ("comments.data", "# one\n\n# two\n1\n#\n\n# the end"),
        ("comments-crlf.data", "# one\r\n\r\n# two\r\n1\r\n#\r\n\r\n# the end\r\n"),
        ("comments-mark.data", "\u{feff}\n# two\n1\n\n"),
    ] {
        let table = read(&file(name, content.as_bytes()), &schema(text), Door::Strict).unwrap();
        assert_eq!(numbers(&table, "age"), [40.0, 1.0, 40.0], "{name}");
    }
}

/// The blank line was once skipped, and the first record became the name of the column.
#[test]
fn a_blank_line_is_no_header() {
    for (name, content) in [
        ("no-name.csv", "\n1\n2\n"),
        ("no-name-crlf.csv", "\r\n1\r\n2\r\n"),
        ("no-name-mark.csv", "\u{feff}\n1\n2\n"),
        ("no-name-spaces.csv", "  \n1\n2\n"),
    ] {
        let opened = Source::open(&file(name, content.as_bytes()), &Default::default());
        refused(opened, &[name, "a blank line where its name is expected", "csv.names"]);
    }
}

#[test]
fn several_columns_are_read_as_before() {
    let schema = schema("columns.'*' = { kind = 'number', bounds = [0, 120] }");
    let path = file("several.csv", b"\n\na,b\n1,2\n\n3,4\n\r\n\n5,6\n\n");
    assert_eq!(numbers(&read(&path, &schema, Door::Strict).unwrap(), "b"), [2.0, 4.0, 6.0]);
}

proptest! {
    /// Every line is one record, also if the lines together do not fit into a buffer.
    #[test]
    fn the_number_of_records_does_not_depend_on_their_values(
        lines in prop::collection::vec(
            prop::sample::select(vec!["", " ", "7", "\"\"", "\" 7\"", "x\"y", "NA"]),
            0..30,
        ),
        is_crlf in any::<bool>(),
        copies in prop_oneof![Just(1usize), Just(4000)],
    ) {
        let end = if is_crlf { "\r\n" } else { "\n" };
        let ended: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        let text = format!("age{end}{}", ended.repeat(copies));
        let table = read(&file("any.csv", text.as_bytes()), &ages(), Door::Permissive).unwrap();
        prop_assert_eq!(table.slots(), lines.len() * copies);
    }
}
