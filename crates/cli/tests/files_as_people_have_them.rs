//! Tables without headers, from other countries, from spreadsheets, and with mistakes in them.

mod command;

use std::fs;
use std::io::Write;
use std::path::Path;

use command::{Run, folder, sordino_in};
use flate2::Compression;
use flate2::write::GzEncoder;
use sordino_data::{Column, Schema};

const SCHEMA: &str = "columns.age = { kind = 'number', bounds = [0, 120] }
columns.wage = { kind = 'number', bounds = [0, 9000] }
columns.ill = { kind = 'category', values = ['no', 'yes'] }
";

fn sordino(folder: &Path, line: &str) -> Run {
    sordino_in(folder, &line.split_whitespace().collect::<Vec<_>>())
}

fn write(folder: &Path, name: &str, content: &str) {
    fs::write(folder.join(name), content).unwrap();
}

/// 200 records with a header.
fn table(delimiter: &str, decimal: &str) -> String {
    let mut text = ["age", "wage", "ill"].join(delimiter) + "\n";
    for row in 0..200 {
        let (age, ill) = (20 + row % 60, if row % 60 > 30 { "yes" } else { "no" });
        text += &[age.to_string(), format!("{}{decimal}5", 1000 + row), ill.to_owned()].join(delimiter);
        text.push('\n');
    }
    text
}

/// `schema` once wrote the first record's values as column names, under the line "no value was
/// looked at".
#[test]
fn the_first_record_is_no_header() {
    let here = folder("headless");
    write(&here, "t.csv", "4711,1963-05-07,smoker,yes\n4712,1970-01-02,never,no\n");
    let values = ["4711", "1963", "smoker", "4712", "never"];
    write(&here, "t.toml", SCHEMA);
    for line in [
        "schema t.csv",
        "schema t.csv --json",
        "schema t.csv --epsilon 1 --numbers age",
        "query t.csv count --epsilon 1",
        "query t.csv count --epsilon 1 --schema t.toml",
        "train t.csv --schema t.toml --target ill --epsilon 1",
        "ledger create l --data t.csv --epsilon 1",
    ] {
        let run = sordino(&here, line);
        run.refuses(&["first line of `t.csv` is no header: field 1 is a number", "--no-header"]);
        values.iter().for_each(|value| assert!(!run.stderr.contains(value), "{line}: {run:?}"));
    }

    // The columns are numbered instead, and the template reads the file.
    let run = sordino(&here, "schema t.csv --no-header");
    assert_eq!(run.code, 0, "{run:?}");
    values.iter().for_each(|value| assert!(!run.stdout.contains(value), "{run:?}"));
    assert!(
        run.stdout.contains("csv.names = [\"column_1\", \"column_2\", \"column_3\", \"column_4\"]"),
        "{run:?}"
    );
    let text = run.stdout.replace("column_4 = { kind = \"ignore\" }", "column_4 = { kind = \"boolean\" }");
    assert_ne!(text, run.stdout);
    write(&here, "named.toml", &text);
    let count = "query t.csv histogram column_4 --epsilon 1000";
    let counted = sordino(&here, &format!("{count} --schema named.toml --json")).object();
    assert!(counted["counts"].as_array().unwrap().iter().all(|cell| cell["count"] == 1), "{counted}");
    // `query` needs no schema for it.
    let counted = sordino(&here, &format!("{count} --no-header --values no,yes --json")).object();
    assert!(counted["counts"].as_array().unwrap().iter().all(|cell| cell["count"] == 1), "{counted}");
}

#[test]
fn a_header_of_numbers_is_read_if_the_user_says_so() {
    let here = folder("years");
    write(&here, "t.csv", "city,2019,2020\nulm,1,2\n");
    sordino(&here, "schema t.csv").refuses(&["field 2 is a number", "--header"]);
    let run = sordino(&here, "schema t.csv --header");
    let schema = Schema::from_toml(&run.stdout).unwrap();
    assert!(schema.csv().header && schema.column("2019").is_some(), "{run:?}");
    write(
        &here,
        "t.toml",
        &run.stdout.replace("2019 = { kind = \"ignore\" }", "2019 = { kind = 'number', bounds = [0, 9] }"),
    );
    assert_eq!(sordino(&here, "query t.csv sum 2019 --schema t.toml --epsilon 1").code, 0);
}

/// A record of plain words looks like a header, and messages about a schema with other names would
/// show it.
#[test]
fn a_first_line_that_the_schema_does_not_know_is_not_shown() {
    let here = folder("words");
    write(&here, "t.csv", "adalbert,ulm,yes\nberta,bonn,no\n");
    write(&here, "t.toml", SCHEMA);
    let train = sordino(&here, "train t.csv --schema t.toml --target ill --epsilon 1");
    train.refuses(&["none of the columns that the schema declares"]);
    assert!(!train.stderr.contains("adalbert") && !train.stderr.contains("ulm"), "{train:?}");
    let template = sordino(&here, "schema t.csv");
    assert!(
        template.stderr.contains("if that line is a record") && template.stderr.contains("--no-header"),
        "{template:?}"
    );
}

/// A German spreadsheet has semicolons, decimal commas, a byte order mark and a line `sep=;`.
#[test]
fn a_table_from_another_country_is_read() {
    let here = folder("german");
    let excel = format!("\u{feff}sep=;\r\n{}", table(";", ",").replace('\n', "\r\n"));
    for (name, text) in [("plain.csv", table(";", ",")), ("excel.csv", excel)] {
        write(&here, name, &text);
        let template = sordino(&here, &format!("schema {name} --decimal ,"));
        assert_eq!(template.code, 0, "{template:?}");
        assert!(template.stderr.contains("separated by `;`"), "{template:?}");
        let schema = Schema::from_toml(&template.stdout).unwrap();
        assert_eq!((schema.csv().delimiter, schema.csv().decimal), (b';', b','), "{template:?}");
        assert!(["age", "wage", "ill"].iter().all(|name| schema.column(name) == Some(&Column::Ignore)));
        write(&here, "t.toml", &format!("csv = {{ delimiter = ';', decimal = ',' }}\n{SCHEMA}"));
        let train =
            format!("train {name} --schema t.toml --target ill --epsilon 1 --steps 5 --out {name}.model");
        let trained = sordino(&here, &train);
        assert_eq!(trained.code, 0, "{trained:?}");
        // `query` reads the files that `train` reads, and finds the delimiter itself.
        for flags in
            ["--schema t.toml", "--bounds 0,9000 --decimal ,", "--bounds 0,9000 --delimiter ; --decimal ,"]
        {
            let mean =
                sordino(&here, &format!("query {name} mean wage --epsilon 1000 {flags} --json")).object();
            assert!((mean["value"].as_f64().unwrap() - 1100.0).abs() < 5.0, "{mean}");
        }
        let noted = sordino(&here, &format!("query {name} count --epsilon 1"));
        assert!(noted.code == 0 && noted.stderr.contains("separated by `;`"), "{noted:?}");
        let predicted = sordino(&here, &format!("predict {name}.model {name}"));
        assert_eq!(predicted.code, 0, "{predicted:?}");
    }
    for (name, text, mark) in [("tabs.txt", table("\t", "."), "\\t"), ("pipes.csv", table("|", "."), "|")] {
        write(&here, name, &text);
        let template = sordino(&here, &format!("schema {name}"));
        assert!(template.stdout.contains(&format!("csv.delimiter = \"{mark}\"\n")), "{template:?}");
        assert_eq!(sordino(&here, &format!("query {name} mean age --epsilon 1 --bounds 0,120")).code, 0);
    }
}

#[test]
fn a_wrong_delimiter_is_named() {
    let here = folder("delimiters");
    write(&here, "t.csv", &table(";", ","));
    write(&here, "t.toml", SCHEMA);
    let called = "one column called `age;wage;…`: is the delimiter `;`?";
    for line in [
        "train t.csv --schema t.toml --target ill --epsilon 1",
        "query t.csv mean age --schema t.toml --epsilon 1",
        "ledger create l --data t.csv --epsilon 1",
        "schema t.csv --delimiter ,",
    ] {
        sordino(&here, line).refuses(&[called, "csv.delimiter = \";\""]);
    }
    write(&here, "t.toml", &format!("csv.decimal = ','\n{SCHEMA}"));
    sordino(&here, "train t.csv --schema t.toml --target ill --epsilon 1")
        .refuses(&["csv.decimal and csv.delimiter are both `,`"]);
    write(&here, "t.toml", &format!("csv.delimiter = ';'\n{SCHEMA}"));
    sordino(&here, "train t.csv --schema t.toml --target ill --epsilon 1")
        .refuses(&["row 1, column `wage`", "csv.decimal = \",\""]);
    write(&here, "two.csv", "a,b;c\n1,2;3\n");
    sordino(&here, "schema two.csv").refuses(&["--delimiter"]);
    sordino(&here, "schema two.csv --decimal x").refuses(&["--decimal"]);
}

/// The owner's recorded reading binds; flags cannot change it.
#[test]
fn flags_do_not_change_how_the_owner_reads() {
    let here = folder("owners");
    write(&here, "t.csv", &table(";", "."));
    write(&here, "t.toml", &format!("csv.delimiter = ';'\n{SCHEMA}"));
    let create = "ledger create l --data t.csv --schema t.toml --epsilon 5 --delta 1e-6";
    assert_eq!(sordino(&here, create).code, 0);
    let query = "query t.csv mean age --bounds 0,120 --epsilon 0.5 --ledger l";
    assert_eq!(sordino(&here, query).code, 0);
    assert_eq!(sordino(&here, &format!("{query} --delimiter ;")).code, 0);
    for flags in ["--delimiter ,", "--decimal ,", "--thousands .", "--no-header"] {
        sordino(&here, &format!("{query} {flags}")).refuses(&["the owner of the data has stated csv."]);
        let found = format!("schema t.csv --epsilon 0.5 --numbers age --ledger l {flags}");
        sordino(&here, &found).refuses(&["the owner of the data has stated csv."]);
    }
    // `--header` does not change how this file is read.
    assert_eq!(sordino(&here, &format!("{query} --header")).code, 0);
}

#[test]
fn other_formats_of_spreadsheets_are_refused_with_a_remedy() {
    let here = folder("spreadsheets");
    let wide: Vec<u8> =
        format!("\u{feff}{}", table("\t", ",")).encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(here.join("unicode.txt"), wide).unwrap();
    sordino(&here, "schema unicode.txt").refuses(&["UTF-16", "iconv -f UTF-16 -t UTF-8"]);
    fs::write(here.join("book.xlsx"), b"PK\x03\x04\x14\x00\x06\x00\x08\x00").unwrap();
    sordino(&here, "schema book.xlsx").refuses(&["workbook", "save the sheet as CSV"]);
    fs::write(here.join("latin.csv"), b"gr\xf6\xdfe,alter\n1,2\n").unwrap();
    sordino(&here, "schema latin.csv").refuses(&["not UTF-8", "iconv -f WINDOWS-1252"]);
}

/// Each run once named one mistake, so a table with forty mistakes took forty runs.
#[test]
fn the_owner_learns_of_all_mistakes_in_one_run() {
    let here = folder("mistakes");
    write(&here, "t.toml", SCHEMA);
    let bad = "old,1000,no\n41,much,maybe\n42,1000\nyoung,1000,perhaps\n";
    write(&here, "t.csv", &(table(",", ".") + bad));
    for line in [
        "train t.csv --schema t.toml --target ill --epsilon 1 --out m",
        "train t.csv --schema t.toml --target ill --epsilon 1 --out m --ledger l --who ada",
    ] {
        if line.contains("--ledger") {
            let create = "ledger create l --data t.csv --epsilon 5 --delta 1e-6 --owner ada";
            assert_eq!(sordino(&here, create).code, 0);
        }
        let run = sordino(&here, line);
        run.refuses(&[
            "`t.csv` does not fit the schema in 6 places:",
            "row 201, column `age`: expected a number (2 times);",
            "row 202, column `wage`: expected a number;",
            "row 202, column `ill`: expected one of the declared values (2 times);",
            "row 203: expected 3 fields, got 2",
        ]);
        ["old", "young", "much", "maybe"]
            .iter()
            .for_each(|value| assert!(!run.stderr.contains(value), "{run:?}"));
    }
    // An analyst who is not the owner is told nothing.
    let analyst =
        sordino(&here, "train t.csv --schema t.toml --target ill --epsilon 1 --ledger l --who bob --out m2");
    assert!(analyst.code == 0 && !analyst.stderr.contains("row"), "{analyst:?}");
    // For predictions, the schema is the model's.
    let run = sordino(&here, "predict m2 t.csv");
    run.refuses(&["does not fit the model in", "--permissive", "row 201, column `age`"]);
}

#[test]
fn a_dictionary_becomes_a_schema() {
    let here = folder("dictionary");
    write(&here, "t.csv", &table(",", "."));
    let dictionary =
        "name,type,minimum,maximum,values,description\nage,integer,0,120,,in years\nill,category,,,no|yes,\n";
    write(&here, "d.csv", dictionary);
    let run = sordino(&here, "schema t.csv --from d.csv");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("1 of 3 columns are not in `d.csv`"), "{run:?}");
    assert!(run.stdout.contains("age = { kind = \"integer\", bounds = [0, 120] }"), "{run:?}");
    write(&here, "t.toml", &run.stdout);
    let train = sordino(&here, "train t.csv --schema t.toml --target ill --epsilon 1 --steps 5 --out m");
    assert_eq!(train.code, 0, "{train:?}");
    let object = sordino(&here, "schema t.csv --from d.csv --json").object();
    assert_eq!(object["schema"], run.stdout);
    for (from, to, parts) in [
        (
            "integer",
            "integr",
            &["d.csv`, row 1", "`age` has another type than", "did you mean `integer`?"][..],
        ),
        ("0,120", "120,0", &["row 1", "bounds"]),
        ("no|yes", "", &["row 2", "`ill` has no values"]),
        ("ill,", "il,", &["`il`, which the data does not have", "did you mean `ill`?"]),
        ("name,", "", &["no column `name`"]),
    ] {
        let bad = if from == "name," {
            "type,minimum,maximum,values\ninteger,0,120,\n".to_owned()
        } else {
            dictionary.replacen(from, to, 1)
        };
        write(&here, "d.csv", &bad);
        sordino(&here, "schema t.csv --from d.csv").refuses(parts);
    }
    sordino(&here, "schema t.csv --from nowhere.csv").refuses(&["cannot read `nowhere.csv`"]);
    sordino(&here, "schema t.csv --from d.csv --epsilon 1").refuses(&["--from", "--epsilon"]);
}

fn gzip(text: &[u8], level: u32) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::new(level));
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

/// The private file was once accepted as a public test when it was packed.
#[test]
fn the_private_table_is_private_however_it_is_packed() {
    let here = folder("packed");
    let text = table(",", ".");
    write(&here, "t.toml", SCHEMA);
    write(&here, "t.csv", &text);
    fs::write(here.join("fast.csv.gz"), gzip(text.as_bytes(), 1)).unwrap();
    fs::write(here.join("small.csv.gz"), gzip(text.as_bytes(), 9)).unwrap();
    let (first, rest) = text.as_bytes().split_at(777);
    fs::write(here.join("members.csv.gz"), [gzip(first, 6), gzip(rest, 6)].concat()).unwrap();
    let train = |data: &str, test: &str, more: &str| {
        let line =
            format!("train {data} --schema t.toml --target ill --epsilon 0.5 --steps 5 --public-test {test}");
        sordino(&here, &format!("{line} {more}"))
    };
    let all = ["t.csv", "fast.csv.gz", "small.csv.gz", "members.csv.gz"];
    for data in all {
        for test in all {
            train(data, test, "--delta 1e-6 --out m").refuses(&["is private"]);
        }
    }
    // A packed table that has a budget, as the public test of other data.
    write(&here, "other.csv", &(text.clone() + "33,1000,no\n"));
    assert_eq!(sordino(&here, "ledger create l --data t.csv --epsilon 5 --delta 1e-6").code, 0);
    assert_eq!(sordino(&here, "ledger create l --data other.csv --epsilon 5 --delta 1e-6").code, 0);
    train("other.csv", "small.csv.gz", "--ledger l --out m").refuses(&["is private"]);
    fs::write(here.join("public.csv.gz"), gzip((text + "34,1000,no\n").as_bytes(), 6)).unwrap();
    let trained = train("other.csv", "public.csv.gz", "--ledger l --out m");
    assert_eq!(trained.code, 0, "{trained:?}");
}

#[test]
fn query_suggests_near_names_and_rounds_by_the_error() {
    let here = folder("queries");
    write(&here, "t.csv", &table(",", "."));
    write(&here, "t.toml", SCHEMA);
    let median = sordino(&here, "query t.csv median age --bounds 0,120 --epsilon 1 --json").object();
    assert_eq!(median["statistic"], "quantile");
    for flags in ["--schema t.toml", "--bounds 0,120"] {
        sordino(&here, &format!("query t.csv mean agee {flags} --epsilon 1"))
            .refuses(&["`agee`", "did you mean `age`?"]);
    }
    write(
        &here,
        "pattern.toml",
        "columns.'a*' = { kind = 'number', bounds = [0, 120] }\ncolumns.'*' = { kind = 'ignore' }\n",
    );
    for (column, near) in [("agee", "age"), ("wagee", "wage")] {
        sordino(&here, &format!("query t.csv mean {column} --schema pattern.toml --epsilon 1"))
            .refuses(&[&format!("no column `{column}`"), &format!("did you mean `{near}`?")]);
    }
    // The error has two digits, and the value ends at the same place.
    let mean = sordino(&here, "query t.csv mean age --bounds 0,120 --epsilon 1");
    let (value, error) = mean.line("mean age").split_once(" ± ").unwrap();
    let digits =
        |text: &str| text.trim_start_matches(['0', '.', '-']).chars().filter(char::is_ascii_digit).count();
    assert_eq!(digits(error), 2, "{mean:?}");
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    assert_eq!(decimals(value), decimals(error), "{mean:?}");
    // A target with one value leaves nothing to learn.
    write(&here, "one.toml", &SCHEMA.replace("'no', 'yes'", "'no'"));
    let one = sordino(&here, "train t.csv --schema one.toml --target ill --epsilon 1");
    one.refuses(&["the target `ill` has one value, `no`", "nothing to tell apart"]);
}

#[test]
fn a_histogram_of_numbers_has_declared_edges() {
    let here = folder("edges");
    write(&here, "t.csv", &table(",", "."));
    write(&here, "t.toml", SCHEMA);
    let line = "query t.csv histogram age --epsilon 1000 --json";
    // 200 records with ages from 20 to 79; each age from 20 to 39 occurs four times.
    let count = |object: &serde_json::Value| -> Vec<i64> {
        object["counts"].as_array().unwrap().iter().map(|cell| cell["count"].as_i64().unwrap()).collect()
    };
    let inline = sordino(&here, &format!("{line} --edges 0,40,60,120")).object();
    assert_eq!(count(&inline), [80, 60, 60], "{inline}");
    assert_eq!(inline["counts"][0]["bounds"], serde_json::json!([0.0, 40.0]));
    assert_eq!(inline["counts"][2]["value"], "[60, 120]");
    // With a schema, its bounds are edges too.
    let by_schema = sordino(&here, &format!("{line} --edges 40,60 --schema t.toml")).object();
    assert_eq!(count(&by_schema), [80, 60, 60], "{by_schema}");
    let table = sordino(&here, "query t.csv histogram age --epsilon 1 --edges 0,40,120");
    assert!(table.line("[0, 40)").contains(" ± "), "{table:?}");
    assert!(table.line("[40, 120]").contains(" ± "), "{table:?}");
    assert_eq!(table.line("epsilon"), "1 exactly", "{table:?}");
    let create = "ledger create l --data t.csv --epsilon 5 --delta 1e-6";
    assert_eq!(sordino(&here, create).code, 0);
    let paid = sordino(&here, "query t.csv histogram age --epsilon 1 --edges 0,40,120 --ledger l");
    assert_eq!(paid.code, 0, "{paid:?}");
    assert!(sordino(&here, "ledger history l").stdout.contains("query histogram age"));
    sordino(&here, "query t.csv histogram age --epsilon 1 --schema t.toml").refuses(&["--edges 0,10,20"]);
    sordino(&here, "query t.csv histogram age --epsilon 1 --edges 5,3")
        .refuses(&["each above the one before"]);
    sordino(&here, "query t.csv histogram age --epsilon 1 --edges 0,999 --schema t.toml")
        .refuses(&["999 lies outside"]);
    sordino(&here, "query t.csv mean age --epsilon 1 --edges 0,9")
        .refuses(&["--edges has no meaning for a mean"]);
    sordino(&here, "query t.csv histogram ill --epsilon 1 --edges 0,9 --schema t.toml").refuses(&["`ill`"]);
}
