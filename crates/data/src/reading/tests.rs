use proptest::prelude::*;
use sordino_testing::ScratchFile;

use super::*;

const OWNER: &str = "
unit = { column = 'patient_id', max_records = 3 }
csv = { delimiter = ';', comment = '#', missing = ['', 'NA'] }
columns.age = { kind = 'number', bounds = [0, 120] }
columns.'pixel_*' = { kind = 'number', bounds = [0, 255] }
columns.'pixel_9*' = { kind = 'ignore' }
columns.name = { kind = 'ignore' }
";

fn schema(text: &str) -> Schema {
    Schema::from_toml(text).unwrap()
}

fn owner() -> Reading {
    Reading::of(&schema(OWNER))
}

/// A file that is removed with the test.
fn file(name: &str, text: &str) -> ScratchFile {
    let file = ScratchFile::new(&format!("reading-{name}"), name);
    std::fs::write(&file, text).unwrap();
    file
}

#[track_caller]
fn refused(changed: &str, says: &[&str]) {
    let message = owner().check_before_opening(&schema(changed)).expect_err("a refusal").to_string();
    says.iter().for_each(|part| assert!(message.contains(part), "{part:?} is not in {message:?}"));
}

/// An analyst's `comment = "y"` told how many rows begin with `y`, and other column names turned
/// every visit into a patient.
#[test]
fn the_owner_decides_parsing_and_unit() {
    refused(
        &OWNER.replace("comment = '#'", "comment = 'y'"),
        &["csv.comment as `\"#\"`, and the schema says `\"y\"`"],
    );
    refused(&OWNER.replace("comment = '#', ", ""), &["csv.comment", "`left out`"]);
    refused(&OWNER.replace("delimiter = ';'", "delimiter = ','"), &["csv.delimiter"]);
    refused(&OWNER.replace("'', 'NA'", "'', 'NA', 'yes'"), &["csv.missing"]);
    let names = OWNER.replace("comment = '#'", "comment = '#', names = ['patient_id', 'age', 'name']");
    refused(&names, &["csv.names", "`left out`"]);
    refused(
        &OWNER.replace("'patient_id'", "'name'"),
        &["the unit column `patient_id`", "the unit column `name`"],
    );
    let by_record = OWNER.replace("{ column = 'patient_id', max_records = 3 }", "'record'");
    refused(&by_record, &["unit column `patient_id`", "the unit record"]);
}

#[test]
fn the_analyst_decides_what_the_price_accounts_for() {
    let other = OWNER
        .replace("max_records = 3", "max_records = 1")
        .replace("[0, 120]", "[18, 90]")
        .replace("['', 'NA']", "['NA', '', 'NA']")
        .replace("columns.age = { kind = 'number', bounds = [18, 90] }", "columns.age = { kind = 'ignore' }");
    owner().check_before_opening(&schema(&other)).unwrap();
}

#[test]
fn a_column_that_the_owner_ignores_is_not_used() {
    let file = file("ignored.csv", "patient_id;age;name;pixel_1;pixel_90\n");
    let (owners, reading) = (schema(OWNER), owner());
    let source = Source::open(&file, owners.csv()).unwrap();
    reading.check(&owners, &source).unwrap();
    let used = |from: &str, to: &str| reading.check(&schema(&OWNER.replace(from, to)), &source);
    let named =
        used("columns.name = { kind = 'ignore' }", "columns.name = { kind = 'category', values = ['Ann'] }");
    assert_eq!(named, Err(ReadingError::Ignored { column: "`name`".to_owned() }));
    let pattern = used("columns.'pixel_9*' = { kind = 'ignore' }", "");
    assert_eq!(pattern, Err(ReadingError::Ignored { column: "`pixel_90`".to_owned() }));
    // The unit's column is not declared, so it may not be a feature.
    let unit =
        used("columns.age =", "columns.patient_id = { kind = 'number', bounds = [0, 9] }\ncolumns.age =");
    assert_eq!(unit, Err(ReadingError::Ignored { column: "`patient_id`".to_owned() }));
    // An analyst may ignore more columns.
    used(
        "columns.'pixel_*' = { kind = 'number', bounds = [0, 255] }",
        "columns.'pixel_*' = { kind = 'ignore' }",
    )
    .unwrap();
}

#[test]
fn without_an_owners_schema_a_file_has_default_options() {
    let reading = Reading::default_for(Unit::Record);
    reading.check_before_opening(&schema("columns.a = { kind = 'ignore' }")).unwrap();
    assert!(!reading.ignores("a"));
    for other in [
        "csv.comment = 'y'",
        "csv.names = ['a']",
        "csv.missing = ['y']",
        "unit = { column = 'u', max_records = 1 }",
    ] {
        let schema = schema(&format!("{other}\ncolumns.a = {{ kind = 'ignore' }}"));
        assert!(reading.check_before_opening(&schema).is_err(), "{other}");
    }
    let by_column = Reading::default_for(Unit::Column("u".to_owned()));
    let schema = schema("unit = { column = 'u', max_records = 7 }\ncolumns.a = { kind = 'ignore' }");
    by_column.check_before_opening(&schema).unwrap();
}

/// A link whose name ends in `.tsv` turns the same bytes into another table: a quoted line end then
/// ends a record.
#[test]
fn a_name_that_changes_the_format_is_refused() {
    let text = "a\n\"x\ny\"\n";
    let (csv, tsv) = (file("named.csv", text), file("named.tsv", text));
    let schema = schema("columns.'*' = { kind = 'ignore' }");
    let open = |file: &ScratchFile| Source::open(file, schema.csv()).unwrap();
    let reading = Reading::of(&schema).in_format(&open(&csv));
    reading.check(&schema, &open(&csv)).unwrap();
    let error = reading.check(&schema, &open(&tsv)).unwrap_err();
    assert_eq!(error, ReadingError::Format { stated: "CSV".to_owned(), got: "TSV" });
    Reading::of(&schema).check(&schema, &open(&tsv)).unwrap(); // no format was stated
}

#[test]
fn equal_readings_have_one_text_that_is_read_back() {
    let reading = owner();
    let text = reading.to_text();
    assert_eq!(Reading::from_text(&text).unwrap(), reading);
    let turned: String = OWNER.trim().lines().rev().collect::<Vec<_>>().join("\n# a comment\n");
    assert_eq!(Reading::of(&schema(&turned.replace("'', 'NA'", "'NA', ''"))).to_text(), text);
    // Pinned, because ledgers keep it.
    assert_eq!(
        text,
        "{\"format_version\":1,\"format\":null,\
         \"csv\":{\"names\":null,\"delimiter\":\";\",\"comment\":\"#\",\"missing\":[\"\",\"NA\"]},\
         \"unit\":{\"column\":\"patient_id\"},\"ignored\":[\"name\",\"patient_id\",\"pixel_9*\"],\"used\":[]}"
    );
}

#[test]
fn a_text_that_is_no_reading_is_refused_and_not_shown() {
    let text = owner().to_text();
    for wrong in ["root:x:0:0", "{}", "[]", &text.replace("\";\"", "\"é\""), &text.replace("used", "secret")]
    {
        let message = Reading::from_text(wrong).unwrap_err().to_string();
        assert!(
            message.contains("not sound") && !message.contains("root") && !message.contains("secret"),
            "{message}"
        );
    }
    let newer = Reading::from_text("{\"format_version\":2,\"more\":1}").unwrap_err();
    assert_eq!(newer, ReadingError::Version { got: 2, known: 1 });
    assert!(matches!(
        Reading::from_text(&" ".repeat(READING_MAX_BYTES + 1)),
        Err(ReadingError::TooLong { .. })
    ));
}

proptest! {
    /// A reading keeps only the names and patterns that decide which columns are ignored.
    #[test]
    fn a_reading_ignores_the_columns_that_the_schema_ignores(
        names in prop::collection::btree_map("[ab*]{0,3}\\*?", any::<bool>(), 1..8),
        asked in prop::collection::vec("[ab*]{0,4}", 1..20),
    ) {
        let column = |ignored: bool| if ignored { "{ kind = 'ignore' }" } else { "{ kind = 'boolean' }" };
        let line = |(name, ignored): (&String, &bool)| format!("columns.'{name}' = {}\n", column(*ignored));
        let text: String = names.iter().map(line).collect();
        let schema = schema(&text);
        let reading = Reading::of(&schema);
        for name in asked {
            let is_ignored = schema.column(&name) == Some(&Column::Ignore);
            prop_assert_eq!(reading.ignores(&name), is_ignored, "{} in {}", name, text);
        }
    }
}

/// A data set from before first lines were checked can still be read: the user may say that the
/// line is a header.
#[test]
fn a_line_that_is_surely_a_header_is_read_as_before() {
    let plain = "columns.age = { kind = 'number', bounds = [0, 120] }";
    let sure = schema(&format!("csv.header = true\n{plain}"));
    Reading::of(&schema(plain)).check_before_opening(&sure).unwrap();
    Reading::of(&sure).check_before_opening(&schema(plain)).unwrap();
}

/// Texts of older ledgers are read as before, later options bind too, and a text has them only if
/// they are stated.
#[test]
fn the_owner_decides_how_numbers_are_written_too() {
    let plain = "columns.age = { kind = 'number', bounds = [0, 120] }";
    let old = Reading::of(&schema(plain));
    for key in ["header", "decimal", "thousands"] {
        assert!(!old.to_text().contains(key), "{}", old.to_text());
    }
    for (csv, key) in
        [("csv.thousands = ','", "thousands"), ("csv = { delimiter = ';', decimal = ',' }", "decimal")]
    {
        let other = schema(&format!("{csv}\n{plain}"));
        let error = old.check_before_opening(&other).unwrap_err();
        assert!(matches!(error, ReadingError::Csv { .. }), "{csv}: {error}");
        let reading = Reading::of(&other);
        assert!(reading.to_text().contains(key));
        assert_eq!(Reading::from_text(&reading.to_text()).unwrap(), reading);
        reading.check_before_opening(&other).unwrap();
        let error = reading.check_before_opening(&schema(plain)).unwrap_err();
        assert!(matches!(error, ReadingError::Csv { .. }), "{csv}: {error}");
    }
}
