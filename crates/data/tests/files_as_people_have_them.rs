//! Files as people have them: without a header, with delimiters of other countries, from
//! spreadsheets, and with many misfits at once.

mod files;

use files::{file, gzip, numbers, read, refused, schema};
use sordino_data::{CsvAsked, CsvOptions, DataError, Dictionary, Door, FirstLine, Loader, Source, Wanted};
use sordino_noise::danger::seeded;

const SCHEMA: &str = "
columns.age = { kind = 'number', bounds = [0, 120] }
columns.wage = { kind = 'number', bounds = [0, 1e6] }
";

fn opened(name: &str, content: &[u8]) -> Result<Source, DataError> {
    Source::open(&file(name, content), &CsvOptions::default())
}

/// If the schema names the columns, the first line is a record, whatever it holds.
#[test]
fn a_record_that_looks_like_a_sep_line_is_a_record() {
    for (name, content) in [("record1.csv", "sep=;\nb\nc\n"), ("record2.csv", "sep=,\nb\nc\n")] {
        let schema = schema(
            "csv.names = ['word']\ncolumns.word = { kind = 'category', values = ['b', 'c'], other = 'b' }",
        );
        let source = Source::open(&file(name, content.as_bytes()), schema.csv()).unwrap();
        let loader = Loader::new(&source, &schema, Door::Permissive);
        assert_eq!(
            loader.survey(Wanted::Columns(&["word"]), &mut seeded(1)).unwrap().slots(),
            3,
            "{content}"
        );
    }
}

/// The first record is no header, and no message shows it.
#[test]
fn a_record_is_not_taken_for_a_header() {
    for (index, line) in
        ["41,north,yes", "north,yes,1980-05-07", "north,yes,yes", "north,,yes", "ann@example.org,yes"]
            .into_iter()
            .enumerate()
    {
        let error = opened(&format!("none-{index}.csv"), format!("{line}\n{line}\n").as_bytes()).unwrap_err();
        assert!(matches!(error, DataError::NoHeader { .. }), "{line}: {error}");
        let error = error.to_string();
        assert!(error.contains("--no-header") && error.contains("csv.header"), "{error}");
        for value in line.split(',').filter(|value| !value.is_empty()) {
            assert!(!error.contains(value), "{value} is in {error}");
        }
    }
    // The user may say that the line is a header.
    let path = file("years.csv", b"name,2019,2020\nann,1,2\n");
    assert!(matches!(Source::open(&path, &CsvOptions::default()), Err(DataError::NoHeader { field: 2, .. })));
    let sure = CsvOptions { header: true, ..CsvOptions::default() };
    assert_eq!(Source::open(&path, &sure).unwrap().names(), ["name", "2019", "2020"]);
    let asked = CsvAsked { first_line: FirstLine::Record, ..CsvAsked::default() };
    let found = asked.find(&file("none.csv", b"41,north\n17,south\n")).unwrap();
    assert_eq!(found.options.names.unwrap(), ["column_1", "column_2"]);
}

/// A record of plain words looks like a header. If the schema knows none of its words, the message
/// does not show them.
#[test]
fn a_first_line_without_declared_columns_is_not_shown() {
    let path = file("words.csv", b"ann,ulm\nbob,bonn\n");
    let error = read(&path, &schema(SCHEMA), Door::Strict).unwrap_err();
    assert!(matches!(error, DataError::NoDeclaredColumn { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("csv.names") && !error.contains("ann") && !error.contains("ulm"), "{error}");
}

#[test]
fn the_delimiter_is_found_in_the_header() {
    let find = |name: &str, content: &str| CsvAsked::default().find(&file(name, content.as_bytes()));
    for (name, content, delimiter) in [
        ("semicolons.csv", "age;wage\n", b';'),
        ("tabs.csv", "age\twage\n", b'\t'),
        ("pipes.csv", "age|wage\n", b'|'),
        ("within.csv", "age;\"wage, gross\";sex\n", b';'),
        ("stated.csv", "\u{feff}sep=|\r\nage|wage\r\n", b'|'),
    ] {
        let found = find(name, content).unwrap();
        assert_eq!((found.options.delimiter, found.delimiter), (delimiter, Some(delimiter)), "{name}");
    }
    for (name, content) in
        [("commas.csv", "age,wage\n1;2;3;4,5\n"), ("one.csv", "age\n"), ("tabs.tsv", "age\twage\n")]
    {
        let found = find(name, content).unwrap();
        assert_eq!((found.options.delimiter, found.delimiter), (b',', None), "{name}");
    }
    refused(find("two.csv", "a,b;c\n"), &["`,`", "`;`", "--delimiter"]);
    let asked = CsvAsked { decimal: Some(b','), ..CsvAsked::default() };
    refused(asked.find(&file("clash.csv", b"age,wage\n")), &["csv.decimal and csv.delimiter"]);
}

/// A wrong delimiter is named; the line is shown only if it can be a header.
#[test]
fn a_wrong_delimiter_is_named() {
    refused(
        opened("one;.csv", b"age;wage;sex\n1;2;f\n"),
        &["one column called `age;wage;…`: is the delimiter `;`?"],
    );
    let error = opened("record.csv", b"41;2000;ann\n").unwrap_err().to_string();
    assert!(
        error.contains("is the delimiter `;`?") && !error.contains("ann") && !error.contains("41"),
        "{error}"
    );
    let commas = CsvOptions { delimiter: b';', ..CsvOptions::default() };
    refused(Source::open(&file("commas2.csv", b"age,wage\n1,2\n"), &commas), &["is the delimiter `,`?"]);
    refused(
        opened("stated2.csv", b"sep=;\r\nage;wage\r\n1;2\r\n"),
        &["says in its first line", "csv.delimiter = \";\""],
    );
    refused(opened("commas.tsv", b"age,wage\n1,2\n"), &["promises tabs", "rename it to .csv"]);
    let sure = CsvOptions { header: true, ..CsvOptions::default() };
    assert_eq!(Source::open(&file("units.csv", b"weight|kg\n70\n"), &sure).unwrap().names(), ["weight|kg"]);
}

#[test]
fn spreadsheets_are_read_or_refused_with_a_remedy() {
    let german = format!("csv = {{ delimiter = ';', decimal = ',', thousands = '.' }}\n{SCHEMA}");
    let content = "\u{feff}sep=;\r\nage;wage\r\n41;1.234,5\r\n3,5;800\r\n".as_bytes();
    for (name, bytes) in [("excel.csv", content.to_vec()), ("excel.csv.gz", gzip(content))] {
        let table = read(&file(name, &bytes), &schema(&german), Door::Strict).unwrap();
        assert_eq!((numbers(&table, "age"), numbers(&table, "wage")), (vec![41.0, 3.5], vec![1234.5, 800.0]));
    }
    let wide: Vec<u8> = "\u{feff}age,wage\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    refused(opened("wide.csv", &wide), &["UTF-16", "iconv -f UTF-16"]);
    refused(opened("wide-unmarked.csv", &wide[2..]), &["UTF-16"]);
    refused(opened("book.xlsx", b"PK\x03\x04\x14\x00\x06\x00"), &["workbook", "save the sheet as CSV"]);
    refused(opened("book.csv", b"PK\x03\x04\x14\x00\x06\x00"), &["workbook"]);
}

/// The owner is told how numbers seem to be written; nobody else is told anything.
#[test]
fn a_number_of_another_country_gets_a_hint() {
    let strict = |name: &str, cell: &str| {
        let path = file(name, format!("age,wage\n1,\"{cell}\"\n").as_bytes());
        let error = read(&path, &schema(SCHEMA), Door::Strict).unwrap_err().to_string();
        assert!(!error.contains(cell), "{error}");
        assert_eq!(numbers(&read(&path, &schema(SCHEMA), Door::Permissive).unwrap(), "wage").len(), 0);
        error
    };
    assert!(strict("comma.csv", "3,5").contains("csv.decimal = \",\""));
    let either = strict("either.csv", "1,234");
    assert!(either.contains("csv.decimal = \",\" or csv.thousands = \",\""), "{either}");
    assert!(strict("both.csv", "1.234.567,5").contains("csv.decimal and csv.thousands"));
    assert!(strict("thousands.csv", "1,234,567").contains("csv.thousands"));
    assert!(strict("word.csv", "much").contains("csv.missing"));
}

/// One run reports every misfit: counted by column and kind, with the first row of each.
#[test]
fn the_owner_learns_of_all_misfits_at_once() {
    let text = "columns.age = { kind = 'number', bounds = [0, 120] }
                columns.visits = { kind = 'integer', bounds = [0, 9] }
                columns.sex = { kind = 'category', values = ['f', 'm'] }";
    let mut content =
        String::from("age,visits,sex\n41,1,f\nold,1.5,x\n,1,f\nyoung,2,y\n3,1\n3,1,f,4\n5,,m\n");
    content.push_str(&"9,0.5,f\n".repeat(5000));
    let path = file("misfits.csv", content.as_bytes());
    let schema = schema(text);
    let error = read(&path, &schema, Door::Strict).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[0].ends_with("does not fit the schema in 5009 places:"), "{error}");
    let expected = [
        "  row 2, column `age`: expected a number (2 times); correct it",
        "  row 2, column `visits`: expected a whole number (5002 times);",
        "  row 2, column `sex`: expected one of the declared values (2 times);",
        "  row 3, column `age`: expected a number; say in the schema what a missing value becomes",
        "  row 5: expected 3 fields, got 2 (2 times)",
    ];
    assert_eq!(lines.len(), 2 + expected.len(), "{error}");
    for line in expected {
        assert!(lines.iter().any(|found| found.starts_with(line)), "{line:?} is not in {error}");
    }
    for value in ["old", "young", "1.5", "0.5"] {
        assert!(!error.contains(value), "{error}");
    }
    // The survey reports the same, and the permissive door nothing.
    let source = Source::open(&path, schema.csv()).unwrap();
    let survey = |door| {
        let loader = Loader::new(&source, &schema, door);
        loader.survey(Wanted::Columns(&["age", "visits", "sex"]), &mut seeded(1)).unwrap().check()
    };
    assert_eq!(survey(Door::Strict).unwrap_err().to_string(), error);
    assert!(survey(Door::Permissive).is_ok());
}

/// As many kinds of misfits as columns: memory and message stay bounded.
#[test]
fn a_message_about_thousands_of_columns_is_short() {
    let names: Vec<String> = (0..3000).map(|column| format!("c{column}")).collect();
    let content = format!("{}\n{}\n", names.join(","), vec!["x"; 3000].join(","));
    let any = schema("columns.'c*' = { kind = 'number', bounds = [0, 1] }");
    let error =
        read(&file("wide-misfits.csv", content.as_bytes()), &any, Door::Strict).unwrap_err().to_string();
    assert!(error.contains("in 3000 places") && error.contains("and 2980 in other columns"), "{error}");
    assert!(error.lines().count() < 30);
}

#[test]
fn a_dictionary_becomes_a_schema() {
    let dictionary = file(
        "dictionary.csv",
        b"Variable;Type;Min;Max;Values;Missing;Description\n\
          age;integer;0;120;;40;in years\nwage;float;0;1e6;;drop;\nsex;categorical;;;1=male|2=female;;coded\n\
          smoker;bool;;;;drop;\nnotes;text;;;;;free text\nx*;number;-1;1;;;\n",
    );
    let data = opened("described.csv", b"age,wage,sex,smoker,notes,x1,x2,more\n").unwrap();
    let dictionary = Dictionary::read(&dictionary).unwrap();
    let text = dictionary.schema(data.header(), &CsvOptions::default()).unwrap();
    let schema = schema(&text);
    let expected = files::schema(
        "columns.age = { kind = 'integer', bounds = [0, 120], missing = 40 }
         columns.wage = { kind = 'number', bounds = [0, 1e6], missing = 'drop' }
         columns.sex = { kind = 'category', values = ['1', '2'] }
         columns.smoker = { kind = 'boolean', missing = 'drop' }
         columns.notes = { kind = 'ignore' }
         columns.'x*' = { kind = 'number', bounds = [-1, 1] }
         columns.more = { kind = 'ignore' }",
    );
    assert_eq!(schema.digest(), expected.digest(), "{text}");
    assert_eq!(dictionary.unknown(data.header()), 1);
}

#[test]
fn a_bad_dictionary_is_refused_by_row_and_reason() {
    let data = opened("described2.csv", b"age,sex\n").unwrap();
    let cases: [(&str, &[&str]); 16] = [
        ("", &["is empty"]),
        ("name,type\n", &["describes no column"]),
        ("age,sex\n1,2\n", &["no column `name`", "minimum"]),
        ("name,kid,minimum\nage,number,0\n", &["no column `type`"]),
        ("name,type,minimun,maximum\nage,number,0,1\n", &["`minimun`", "did you mean `minimum`?"]),
        ("name,type,kind\nage,number,number\n", &["two columns mean `type`"]),
        ("name,type,minimum,maximum\nage,nmber,0,1\n", &["row 1", "another type", "did you mean `number`?"]),
        ("name,type,minimum,maximum\nage,number,0,\n", &["row 1: `age` has no maximum"]),
        ("name,type,minimum,maximum\nage,number,5,1\n", &["row 1: `age`: bounds", "[5, 1]"]),
        ("name,type,minimum,maximum\nage,number,low,1\n", &["minimum of `age`", "finite number"]),
        ("name,type,values\nsex,category,\n", &["`sex` has no values"]),
        ("name,type,values\nsex,category,f|f\n", &["`sex`: values lists `f` twice"]),
        ("name,type,values,other\nsex,category,f|m,x\n", &["`sex`: other must be"]),
        ("name,type\nage,ignore\nage,ignore\n", &["row 2: `age` has an earlier row"]),
        ("name,type\n,ignore\n", &["row 1: the name is missing"]),
        ("name,type\nage,ignore,3\n", &["row 1: expected 2 fields, got 3"]),
    ];
    for (index, (content, parts)) in cases.into_iter().enumerate() {
        refused(Dictionary::read(&file(&format!("bad-{index}.csv"), content.as_bytes())), parts);
    }
    let stranger = Dictionary::read(&file("stranger.csv", b"name,type\nagee,ignore\n")).unwrap();
    let error = stranger.schema(data.header(), &CsvOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains(
            "`agee`, which the data does not have; remove the row, or correct the name; did you mean `age`?"
        ),
        "{error}"
    );
    // If the file is a private table instead, the message does not show it.
    let error =
        Dictionary::read(&file("private.csv", b"name,type\nann,born 1980-05-07 in ulm\n")).unwrap_err();
    assert!(!error.to_string().contains("ulm"), "{error}");
}
