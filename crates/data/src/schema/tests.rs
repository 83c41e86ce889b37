use proptest::prelude::*;

use super::*;

const HOSPITAL: &str = r#"
format_version = 1
unit = { column = "patient_id", max_records = 5 }
[csv]
delimiter = ";"
missing = ["", "NA"]
[columns.age]
kind = "integer"
bounds = [0, 120]
missing = 40
[columns.weight]
kind = "number"
bounds = [0.5, 300]
missing = "drop"
[columns.smoker]
kind = "category"
values = ["no", "yes", "unknown"]
missing = "unknown"
other = "unknown"
[columns.ward]
kind = "category"
values = [1, 2, 3]
[columns.insured]
kind = "boolean"
[columns."pixel_*"]
kind = "number"
bounds = [0, 255]
[columns.notes]
kind = "ignore"
"#;

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let message = Schema::from_toml(text).expect_err("a refusal").to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn a_schema_is_read_and_written() {
    let schema = Schema::from_toml(HOSPITAL).unwrap();
    assert_eq!(Schema::from_toml(&schema.to_toml()).unwrap(), schema, "{}", schema.to_toml());
    assert_eq!(schema.unit().max_records().get(), 5);
    assert_eq!(schema.csv().delimiter, b';');
    let Some(Column::Number(age)) = schema.column("age") else { panic!() };
    assert!(age.is_whole() && age.missing_rule() == Rule::Become(40.0));
    let Some(Column::Category(smoker)) = schema.column("smoker") else { panic!() };
    assert_eq!((smoker.code("yes"), smoker.other_rule()), (Some(1), Rule::Become(2)));
    let Some(Column::Category(ward)) = schema.column("ward") else { panic!() };
    assert_eq!(ward.values(), ["1", "2", "3"]);
    let Some(Column::Category(insured)) = schema.column("insured") else { panic!() };
    assert_eq!((insured.code("Yes"), insured.code("0"), insured.code("maybe")), (Some(1), Some(0), None));
}

#[test]
fn the_longest_pattern_decides_and_a_name_wins() {
    let text = "columns.'a*' = { kind = 'ignore' }\ncolumns.'ab*' = { kind = 'boolean' }\n\
                columns.abc = { kind = 'number', bounds = [0, 1] }";
    let schema = Schema::from_toml(text).unwrap();
    assert_eq!(schema.column("ax"), Some(&Column::Ignore));
    assert!(matches!(schema.column("abx"), Some(Column::Category(_))));
    assert!(matches!(schema.column("abc"), Some(Column::Number(_))));
    assert_eq!(schema.column("b"), None);
}

#[test]
fn a_misspelled_word_gets_the_nearest_known_word() {
    refused("colums = {}", &["`colums` is not known here", "did you mean `columns`?"]);
    refused("columns.age = { kind = 'nubmer' }", &["column `age`: kind must be", "did you mean `number`?"]);
    refused(
        "columns.age = { kind = 'number', bound = [0, 1] }",
        &["column `age`: `bound` is not known", "did you mean `bounds`?"],
    );
    refused(
        "columns.s = { kind = 'category', values = ['no', 'yes'], missing = 'yse' }",
        &["column `s`: missing must be \"drop\" or one of values, got `yse`; add it to values to make it a \
            category of its own; did you mean `yes`?"],
    );
}

#[test]
fn missing_and_invalid_values_are_named() {
    refused("", &["no columns", "sordino schema"]);
    refused("[columns", &["not TOML", "line 1"]);
    refused("format_version = 2\n[columns]", &["format_version 2", "update"]);
    refused("columns.age = { kind = 'number' }", &["column `age`: bounds is missing", "not from the data"]);
    refused("columns.age = { bounds = [0, 1] }", &["column `age`: kind is missing"]);
    for bounds in ["[1, 0]", "[1, 1]", "[nan, 1]", "[0, inf]", "[-1.7e308, 1.7e308]"] {
        let text = format!("columns.age = {{ kind = 'number', bounds = {bounds} }}");
        refused(&text, &["column `age`: bounds must be two finite numbers"]);
    }
    for bounds in ["[1]", "[0, 1, 2]", "['0', 1]", "3"] {
        let text = format!("columns.age = {{ kind = 'number', bounds = {bounds} }}");
        refused(&text, &["column `age`: bounds must be two numbers"]);
    }
    refused(
        "columns.a = { kind = 'number', bounds = [0, 1], missing = 2 }",
        &["column `a`: missing must lie"],
    );
    refused("columns.a = { kind = 'integer', bounds = [0, 9], missing = 1.5 }", &["a whole number or"]);
    refused("columns.a = { kind = 'category', values = [] }", &["at least one value"]);
    refused("columns.a = { kind = 'category', values = ['x', 'x'] }", &["lists `x` twice"]);
    refused("unit = 'person'\ncolumns.a = { kind = 'ignore' }", &["unit must be \"record\" or"]);
    refused("unit = { column = 'u' }\ncolumns.a = { kind = 'ignore' }", &["max_records is missing"]);
    refused("unit = { column = 'u', max_records = 0 }\ncolumns.a = { kind = 'ignore' }", &["from 1"]);
    refused("csv.delimiter = 'ab'\ncolumns.a = { kind = 'ignore' }", &["delimiter must be one ASCII"]);
    refused("columns.age = 3", &["column `age`: it must be a table with a kind, got 3"]);
}

#[test]
fn a_template_is_a_schema_made_of_names() {
    let column = |name: &str, hint| HeaderColumn { name: name.to_owned(), hint };
    let columns = [
        column("age", TypeHint::Unknown),
        column("free text \"x\"\n", TypeHint::Text),
        column("", TypeHint::Number),
        column("pixel_0", TypeHint::Byte),
        column("pixel_1", TypeHint::Byte),
        column("label", TypeHint::Byte),
        column("insured", TypeHint::Boolean),
        column("visits", TypeHint::Nested),
    ];
    let csv = CsvOptions { delimiter: b'\t', decimal: b',', thousands: Some(b'.'), ..CsvOptions::default() };
    let text = template(&columns, &csv);
    let schema = Schema::from_toml(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for ignored in ["age", "free text \"x\"\n", "", "visits"] {
        assert_eq!(schema.column(ignored), Some(&Column::Ignore), "{ignored:?}\n{text}");
    }
    assert!(matches!(schema.column("pixel_7"), Some(Column::Number(_))), "{text}");
    assert!(matches!(schema.column("insured"), Some(Column::Category(_))), "{text}");
    assert_eq!(schema.csv(), &csv, "{text}");
    let nameless =
        CsvOptions { names: Some(vec!["a".to_owned(), "b \"c\"".to_owned()]), ..CsvOptions::default() };
    assert_eq!(Schema::from_toml(&template(&columns, &nameless)).unwrap().csv(), &nameless);
    // Twenty columns take a line each; numbered columns share one line.
    let twenty: Vec<HeaderColumn> =
        (0..20).map(|c| column(&format!("{}_x", (b'a' + c) as char), TypeHint::Unknown)).collect();
    assert!(template(&twenty, &CsvOptions::default()).lines().count() <= 30);
    let numbered: Vec<HeaderColumn> =
        (0..64).map(|c| column(&format!("pixel_{c}"), TypeHint::Unknown)).collect();
    let text = template(&numbered, &CsvOptions::default());
    assert_eq!(
        text.lines().filter(|line| line.contains("pixel_")).collect::<Vec<_>>(),
        ["\"pixel_*\" = { kind = \"ignore\" }"]
    );
}

/// Locks keep digests of schemas: options that later versions added must not change the digest of
/// a schema without them.
#[test]
fn digests_of_older_schemas_hold() {
    let schema = Schema::from_toml("columns.age = { kind = 'number', bounds = [0, 120] }").unwrap();
    let hex: String = schema.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "e90a0d4522295fffce11c06de1654bce3094ee85efbdb1ede3985cf79b119587");
    let csv = schema.csv().clone();
    let others = [
        CsvOptions { header: true, ..csv.clone() },
        CsvOptions { decimal: b',', delimiter: b';', ..csv.clone() },
        CsvOptions { delimiter: b';', ..csv.clone() },
        CsvOptions { thousands: Some(b','), ..csv.clone() },
        csv,
    ];
    let digests: std::collections::HashSet<_> =
        others.map(|csv| schema.clone().with_csv(csv).digest()).into();
    assert_eq!(digests.len(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A damaged text is refused or read, and what is read can be written and read again.
    #[test]
    fn a_damaged_schema_never_panics(cut in 0..HOSPITAL.len(), byte in any::<u8>(), extra in "\\PC{0,20}") {
        let mut bytes = HOSPITAL.as_bytes().to_vec();
        bytes[cut] = byte;
        bytes.splice(cut..cut, extra.bytes());
        if let Ok(schema) = Schema::from_toml(&String::from_utf8_lossy(&bytes)) {
            prop_assert_eq!(Schema::from_toml(&schema.to_toml()).unwrap(), schema);
        }
    }
}

/// The test part of a well-known data set writes its classes with a full stop.
#[test]
fn a_value_may_have_other_spellings() {
    let text = "columns.income = { kind = 'category', values = ['<=50K', '>50K'], \
                aliases = { '<=50K.' = '<=50K', '>50K.' = '>50K' } }";
    let schema = Schema::from_toml(text).unwrap();
    let Some(Column::Category(column)) = schema.column("income") else { panic!("{schema}") };
    assert_eq!((column.code(">50K."), column.code(">50K"), column.code(">50K..")), (Some(1), Some(1), None));
    assert_eq!(column.values().len(), 2);
    assert_eq!(Schema::from_toml(&schema.to_toml()).unwrap(), schema);
    let refused = |aliases: &str| {
        let text =
            format!("columns.c = {{ kind = 'category', values = ['no', 'yes'], aliases = {aliases} }}");
        Schema::from_toml(&text).unwrap_err().to_string()
    };
    assert!(refused("{ y = 'yse' }").contains("did you mean `yes`?"), "{}", refused("{ y = 'yse' }"));
    assert!(refused("{ no = 'yes' }").contains("`no`"));
    assert!(refused("['y']").contains("aliases"));
}

#[test]
fn whether_a_record_can_be_dropped_is_read_off_the_schema() {
    let schema = Schema::from_toml(
        "columns.a = { kind = 'number', bounds = [0, 1] }
         columns.b = { kind = 'number', bounds = [0, 1], missing = 'drop' }
         columns.c = { kind = 'category', values = ['x'], missing = 'x', other = 'drop' }
         columns.d = { kind = 'category', values = ['x'], missing = 'x', other = 'x' }",
    )
    .unwrap();
    let drops = |column, door| schema.may_drop(&[column], door);
    assert_eq!(["a", "b", "c", "d"].map(|c| drops(c, Door::Strict)), [false, true, true, false]);
    assert!(["a", "b", "c", "d"].iter().all(|c| drops(c, Door::Permissive)));
}

/// A ledger binds the declarations of a schema, not how they are written.
#[test]
fn equal_schemas_have_one_digest_and_others_another() {
    let digest = |text: &str| Schema::from_toml(text).unwrap().digest();
    let one = digest(HOSPITAL);
    let sections: Vec<&str> = HOSPITAL.split("\n[").collect();
    let mut turned = sections[0].to_owned();
    sections[1..].iter().rev().for_each(|section| turned += &format!("\n# as written elsewhere\n[{section}"));
    assert_eq!(digest(&turned), one);
    let same = [
        ("[0, 120]", "[-0.0, 120.0]"),
        ("[\"\", \"NA\"]", "[\"NA\", \"\"]"),
        ("[1, 2, 3]", "['1', '2', '3']"),
    ];
    for (from, to) in same {
        assert!(HOSPITAL.contains(from), "{from}");
        assert_eq!(digest(&HOSPITAL.replace(from, to)), one, "{from} -> {to}");
    }
    assert_eq!(
        Schema::from_toml(HOSPITAL).unwrap().to_toml().parse::<toml::Table>().map(|t| digest(&t.to_string())),
        Ok(one)
    );
    let others = [
        ("[0, 120]", "[0, 121]"),
        ("missing = 40", "missing = 41"),
        ("missing = 40", "missing = 'drop'"),
        ("missing = 40", ""),
        ("\"integer\"", "\"number\""),
        ("max_records = 5", "max_records = 6"),
        ("\"patient_id\"", "\"visit_id\""),
        ("delimiter = \";\"", "delimiter = \",\""),
        ("delimiter = \";\"", "delimiter = \";\"\ncomment = \"#\""),
        ("delimiter = \";\"", "delimiter = \";\"\nnames = [\"age\"]"),
        ("[\"\", \"NA\"]", "[\"\"]"),
        ("[\"no\", \"yes\", \"unknown\"]", "[\"yes\", \"no\", \"unknown\"]"),
        ("other = \"unknown\"", "other = \"no\""),
        ("other = \"unknown\"", "aliases = { Y = 'yes' }\nother = \"unknown\""),
        ("pixel_*", "pixels_*"),
        ("kind = \"ignore\"", "kind = \"boolean\""),
    ];
    let mut seen = vec![one];
    for (from, to) in others {
        assert!(HOSPITAL.contains(from), "{from}");
        let other = digest(&HOSPITAL.replacen(from, to, 1));
        assert!(!seen.contains(&other), "{from} -> {to}");
        seen.push(other);
    }
    // Pinned, because ledgers keep it.
    let small = digest("columns.age = { kind = 'number', bounds = [0, 120] }");
    assert_eq!(
        small.map(|byte| format!("{byte:02x}")).concat(),
        "e90a0d4522295fffce11c06de1654bce3094ee85efbdb1ede3985cf79b119587"
    );
}

/// A user who may name a schema can name any file. If it is no schema, the message shows nothing of
/// it but a short name.
#[test]
fn a_file_that_is_no_schema_is_not_shown() {
    for (text, says) in [
        ("root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/bin/sh\n", "line 1, column "),
        ("[client]\nuser = root\npassword = hunter2\n", "line 2, column"),
        ("# a key\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n", "line 2, column"),
        ("password = 'hunter2'\n", "`password` is not known here"),
        ("'root:x:0:0:root:/root:/bin/bash' = 1\n", "`…` is not known here"),
        ("[columns]\nage = 'hunter2 and more'\n", "got a text"),
        ("columns = [['root', 'hunter2']]\n", "got a list"),
        ("[unit]\nroot = 'hunter2'\n", "`root` is not known here"),
        ("unit = 'root:x:0:0:root:/root:/bin/bash'\n", "got a text"),
    ] {
        let error = Schema::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        for secret in ["hunter2", "/bin", "root:", "PRIVATE", "MIIE"] {
            assert!(!error.contains(secret), "{error}");
        }
    }
}
