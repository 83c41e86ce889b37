//! The second pass computes from the very bytes that the first pass digested.

mod files;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use files::{file, gzip, idx, npy, numbers, refused, schema};
use sha2::{Digest, Sha256};
use sordino_data::{
    DataError, Door, Encoding, EncodingOptions, Loader, Schema, Source, Survey, Table, Wanted,
};
use sordino_noise::danger::seeded;

/// Two columns, for the CSV examples below.
const SCHEMA: &str = "
columns.age = { kind = 'number', bounds = [0, 120] }
columns.ill = { kind = 'boolean' }
";
const VISITS: &str = "
unit = { column = 'who', max_records = 2 }
columns.age = { kind = 'number', bounds = [0, 120] }
columns.ill = { kind = 'boolean' }
";

fn encoding(schema: &Schema, source: &Source) -> Encoding {
    let target = source.names().into_iter().find(|name| name == "ill");
    Encoding::new(schema, &source.names(), EncodingOptions { target, ..Default::default() }).unwrap()
}

fn survey(loader: &Loader<'_>, encoding: &Encoding) -> Survey {
    loader.survey(Wanted::Encoding(encoding), &mut seeded(1)).unwrap()
}

/// Overwrites the existing file in place, as an unrelated job does.
fn rewrite(path: &Path, content: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(content).unwrap();
    file.set_len(content.len() as u64).unwrap();
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn ages(table: &Table) -> Vec<f64> {
    numbers(table, "age")
}

/// The path was once opened again after the digest, and a link that was moved in between led to an
/// answer from another table.
#[test]
fn a_path_that_leads_elsewhere_later_is_not_followed() {
    let schema = schema(SCHEMA);
    let path = file("moved.csv", b"age,ill\n1,no\n2,yes\n");
    let source = Source::open(&path, schema.csv()).unwrap();
    let loader = Loader::new(&source, &schema, Door::Strict);
    let survey = loader.survey(Wanted::Columns(&["age"]), &mut seeded(1)).unwrap();
    let other = file("moved-other.csv", b"age,ill\n7,no\n8,yes\n9,yes\n");
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(ages(&loader.table(&["age"], &survey).unwrap()), [1.0, 2.0]);
    assert_eq!(survey.content(), sha256(b"age,ill\n1,no\n2,yes\n"));
    assert_eq!(source.content().unwrap(), survey.content());
}

#[cfg(unix)]
#[test]
fn a_link_that_is_moved_is_not_followed() {
    let schema = schema(SCHEMA);
    let (one, two) = (file("one.csv", b"age,ill\n1,no\n"), file("two.csv", b"age,ill\n2,no\n"));
    let link = one.with_file_name("link.csv");
    let point_to = |target: &PathBuf| {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
    };
    point_to(&one);
    let source = Source::open(&link, schema.csv()).unwrap();
    let loader = Loader::new(&source, &schema, Door::Strict);
    let survey = loader.survey(Wanted::Columns(&["age"]), &mut seeded(1)).unwrap();
    point_to(&two);
    assert_eq!(ages(&loader.table(&["age"], &survey).unwrap()), [1.0]);
    assert_eq!(ages(&loader.read_columns(&["age"], &mut seeded(1)).unwrap()), [1.0]);
}

struct Example {
    name: &'static str,
    schema: &'static str,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// Every format that is read in order, each with a changed content.
fn examples() -> Vec<Example> {
    let example = |name, schema, before, after| Example { name, schema, before, after };
    let (one, two) = (&b"age,ill\n1,no\n2,yes\n"[..], &b"age,ill\n1,no\n3,yes\n"[..]);
    let zstd = |bytes| zstd::encode_all(bytes, 1).unwrap();
    let array = |last: f64| npy("<f8", "False", "(2, 1)", &[1f64.to_le_bytes(), last.to_le_bytes()].concat());
    let (x, pixels) = (
        "columns.'x*' = { kind = 'number', bounds = [0, 9] }",
        "columns.'pixel_*' = { kind = 'number', bounds = [0, 255] }
         columns.label = { kind = 'number', bounds = [0, 9] }",
    );
    let cifar = |last: u8| [vec![3], vec![7; 3071], vec![last]].concat();
    vec![
        example("plain.csv", SCHEMA, one.to_vec(), two.to_vec()),
        example("gzip.csv.gz", SCHEMA, gzip(one), gzip(two)),
        example("zstd.csv.zst", SCHEMA, zstd(one), zstd(two)),
        example("longer.csv", SCHEMA, one.to_vec(), [one, b"4,no\n"].concat()),
        example("shorter.csv", SCHEMA, one.to_vec(), one[..13].to_vec()),
        example("misfit.csv", SCHEMA, one.to_vec(), b"age,ill\n1,no\nold,yes\n".to_vec()),
        example("array.npy", x, array(2.0), array(3.0)),
        example("cut.npy", x, array(2.0), array(2.0)[..array(2.0).len() - 1].to_vec()),
        example("behind.npy", x, [array(2.0), vec![1]].concat(), [array(2.0), vec![2]].concat()),
        example(
            "behind.npy.gz",
            x,
            gzip(&[array(2.0), vec![1]].concat()),
            gzip(&[array(2.0), vec![2]].concat()),
        ),
        example("a-images-idx3", pixels, idx(&[2, 1, 1], &[1, 2]), idx(&[2, 1, 1], &[1, 3])),
        example("cifar.bin", pixels, cifar(1), cifar(2)),
    ]
}

/// A job once rewrote the file between two passes, and the answer came from both contents.
#[test]
fn a_file_that_is_rewritten_between_two_passes_is_refused() {
    file("a-labels-idx1", &idx(&[2], &[1, 2]));
    for door in [Door::Strict, Door::Permissive] {
        for Example { name, schema, before, after } in examples() {
            let (schema, path) = (self::schema(schema), file(name, &before));
            let source = Source::open(&path, schema.csv()).unwrap();
            let loader = Loader::new(&source, &schema, door);
            let (encoding, columns) = (encoding(&schema, &source), source.names());
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let survey = survey(&loader, &encoding);
            let encoded = loader.encoded(&encoding, &survey).unwrap();
            assert_eq!(encoded.content(), Some(survey.content()), "{name}");
            assert_eq!(source.content().unwrap(), survey.content(), "{name}");
            loader.table(&columns, &survey).unwrap();
            rewrite(&path, &after);
            for result in
                [loader.encoded(&encoding, &survey).map(|_| ()), loader.table(&columns, &survey).map(|_| ())]
            {
                let error = result.expect_err(name);
                assert!(matches!(error, DataError::Changed { .. }), "{name}: {error}");
            }
            rewrite(&path, &before);
            loader.encoded(&encoding, &survey).unwrap();
        }
    }
}

/// A file was once rewritten between opening and the first pass: names and sizes came from the old
/// header, and the records from the new content.
#[test]
fn a_header_that_is_rewritten_before_the_first_pass_is_refused() {
    let one = npy("<f8", "False", "(2, 1)", &[0; 16]);
    let two = npy("<f8", "False", "(1, 2)", &[0; 16]);
    let x = "columns.'*' = { kind = 'number', bounds = [0, 9] }";
    let cifar = vec![1; 3073];
    for (name, text, before, after) in [
        ("swapped.csv", x, b"a,b\n1,2\n".to_vec(), b"b,a\n1,2\n".to_vec()),
        ("one.csv", x, b"a\n1\n".to_vec(), b"b\n1\n".to_vec()),
        ("blanked.csv", x, b"a\n1\n".to_vec(), b"\n\n1\n".to_vec()),
        ("emptied.csv", x, b"a,b\n1,2\n".to_vec(), Vec::new()),
        ("swapped.npy", x, one, two),
        ("swapped-idx", x, idx(&[2, 1, 2], &[0; 4]), idx(&[1, 2, 2], &[0; 4])),
        ("grown.bin", x, cifar.clone(), cifar.repeat(2)),
    ] {
        let (schema, path) = (schema(text), file(name, &before));
        let source = Source::open(&path, schema.csv()).unwrap();
        let names = source.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let loader = Loader::new(&source, &schema, Door::Permissive);
        rewrite(&path, &after);
        let error = loader.survey(Wanted::Columns(&names), &mut seeded(1)).expect_err(name);
        assert!(matches!(error, DataError::Changed { .. }), "{name}: {error}");
    }
}

#[test]
fn other_labels_are_another_content() {
    let images = file("b-images-idx3", &idx(&[2, 1, 1], &[5, 6]));
    let content = |labels: &[u8]| {
        file("b-labels-idx1", &idx(&[2], labels));
        Source::open(&images, &Default::default()).unwrap().content().unwrap()
    };
    let one = content(&[1, 2]);
    assert_eq!(one, content(&[1, 2]));
    assert_ne!(one, content(&[1, 3]));
    assert_ne!(one, sha256(&idx(&[2, 1, 1], &[5, 6])));
    // Without labels, the content is the digest of the file.
    let alone = file("c-images-idx3", &idx(&[2, 1, 1], &[5, 6]));
    let source = Source::open(&alone, &Default::default()).unwrap();
    assert_eq!(source.content().unwrap(), sha256(&idx(&[2, 1, 1], &[5, 6])));
}

/// A rewritten file of labels is a change too.
#[test]
fn labels_that_are_rewritten_are_refused() {
    let schema = schema("columns.'*' = { kind = 'number', bounds = [0, 255] }");
    let images = file("d-images-idx3", &idx(&[2, 1, 1], &[5, 6]));
    let labels = file("d-labels-idx1", &idx(&[2], &[1, 2]));
    let source = Source::open(&images, schema.csv()).unwrap();
    let loader = Loader::new(&source, &schema, Door::Strict);
    let survey = loader.survey(Wanted::Columns(&["pixel_0", "label"]), &mut seeded(1)).unwrap();
    rewrite(&labels, &idx(&[2], &[1, 3]));
    let error = loader.table(&["pixel_0"], &survey).unwrap_err();
    assert!(matches!(error, DataError::Changed { .. }), "{error}");
}

fn visits() -> String {
    let mut text = "who,age,ill\n".to_owned();
    (0..30_000)
        .for_each(|row| text += &format!("u{},{},{}\n", row % 7000, row % 100, ["no", "yes"][row % 2]));
    text
}

/// The file was once read six times: to digest it, to count, to check units, to check values, to
/// choose the records of units, and to encode.
#[test]
fn the_strict_path_with_units_reads_the_file_twice() {
    let (schema, text) = (schema(VISITS), visits());
    for (name, bytes) in [("visits.csv", text.clone().into_bytes()), ("visits.csv.gz", gzip(text.as_bytes()))]
    {
        let source = Source::open(&file(name, &bytes), schema.csv()).unwrap();
        let loader = Loader::new(&source, &schema, Door::Strict);
        let encoding = encoding(&schema, &source);
        let before = source.bytes_read();
        let survey = survey(&loader, &encoding);
        assert_eq!(source.bytes_read() - before, bytes.len() as u64, "{name}");
        survey.check().unwrap();
        assert_eq!((survey.slots(), survey.content()), (30_000, sha256(&bytes)), "{name}");
        let encoded = loader.encoded(&encoding, &survey).unwrap();
        assert_eq!(source.bytes_read() - before, 2 * bytes.len() as u64, "{name}");
        let kept = (0..encoded.slots()).filter(|slot| encoded.row(*slot).is_some()).count();
        assert_eq!((encoded.slots(), kept), (30_000, 14_000), "{name}");
    }
}

/// Both kinds of second pass keep the records that their survey chose; another survey chooses other
/// records.
#[test]
fn a_second_pass_keeps_what_the_survey_chose() {
    let schema = schema(VISITS);
    let source = Source::open(&file("chosen.csv", visits().as_bytes()), schema.csv()).unwrap();
    let (loader, encoding) = (Loader::new(&source, &schema, Door::Strict), encoding(&schema, &source));
    let survey = |seed| loader.survey(Wanted::Encoding(&encoding), &mut seeded(seed)).unwrap();
    let (one, two) = (survey(1), survey(2));
    let encoded = loader.encoded(&encoding, &one).unwrap();
    let table = loader.table(&["age"], &one).unwrap();
    let other = loader.table(&["age"], &two).unwrap();
    let is_kept = |slot| encoded.row(slot).is_some();
    assert!((0..30_000).all(|slot| is_kept(slot) == table.is_present(slot)));
    assert!((0..30_000).any(|slot| is_kept(slot) != other.is_present(slot)));
    // Reading without a survey, with the same bits, gives the same.
    let read = loader.read(&encoding, &mut seeded(1)).unwrap();
    assert!((0..30_000).all(|slot| encoded.row(slot) == read.row(slot)));
    assert_eq!(table, loader.read_columns(&["age"], &mut seeded(1)).unwrap());
}

/// Such a survey chose five records of a unit where two are paid for, or records of other lines.
#[test]
fn the_survey_of_another_source_or_unit_is_refused() {
    let (two, five) = (schema(VISITS), schema(&VISITS.replace("max_records = 2", "max_records = 5")));
    let path = file("surveyed.csv", b"who,age,ill\na,1,no\na,2,no\na,3,no\n");
    let (source, again) = (Source::open(&path, two.csv()).unwrap(), Source::open(&path, two.csv()).unwrap());
    let survey = |source, schema| {
        Loader::new(source, schema, Door::Strict).survey(Wanted::Columns(&["age"]), &mut seeded(1)).unwrap()
    };
    let loader = Loader::new(&source, &two, Door::Strict);
    assert_eq!(loader.table(&["age"], &survey(&source, &two)).unwrap().records(), 2);
    for other in [survey(&source, &five), survey(&again, &two)] {
        refused(loader.table(&["age"], &other), &["surveyed.csv", "another source, or for another unit"]);
    }
}

/// Whatever a record holds, the survey reads to the end. Only `check` tells what it found.
#[test]
fn a_survey_does_not_fail_because_of_a_records_values() {
    let schema = schema(VISITS);
    let text = "who,age,ill\na,1,no\na,2,perhaps\n,3,no\nb,old,no\nb,4\nb,5,no\n";
    let path = file("survey.csv", text.as_bytes());
    let source = Source::open(&path, schema.csv()).unwrap();
    let survey = |door| {
        let loader = Loader::new(&source, &schema, door);
        loader.survey(Wanted::Columns(&["age", "ill"]), &mut seeded(1)).unwrap()
    };
    for door in [Door::Strict, Door::Permissive] {
        let survey = survey(door);
        assert_eq!((survey.slots(), survey.content()), (6, sha256(text.as_bytes())));
        let shown = format!("{survey:?}");
        assert!(!shown.contains("row") && !shown.contains('6'), "{shown}");
    }
    survey(Door::Permissive).check().unwrap();
    // The misfit in the first row comes first.
    refused(survey(Door::Strict).check(), &["row 2, column `ill`"]);
    let first = |lines: &str| {
        let path = file("survey-first.csv", format!("who,age,ill\na,1,no\n{lines}").as_bytes());
        let source = Source::open(&path, schema.csv()).unwrap();
        let loader = Loader::new(&source, &schema, Door::Strict);
        loader.survey(Wanted::Columns(&["age", "ill"]), &mut seeded(1)).unwrap().check()
    };
    refused(first(",3,no\nb,old,no\n"), &["row 2, column `who`: expected the unit"]);
    refused(first("b,old,no\n,3,no\n"), &["row 2, column `age`: expected a number"]);
    refused(first("b,4\nb,old,no\n"), &["row 2: expected 3 fields, got 2"]);
}

#[test]
fn a_survey_fails_at_once_if_the_columns_do_not_fit_the_schema() {
    let schema = schema(VISITS);
    for (name, content, says) in [
        ("no-unit.csv", "age,ill\n1,no\n", "declares column `who`"),
        ("no-age.csv", "who,ill\na,no\n", "declares column `age`"),
        ("extra.csv", "who,age,ill,id\na,1,no,1\n", "has column `id`"),
    ] {
        let source = Source::open(&file(name, content.as_bytes()), schema.csv()).unwrap();
        for door in [Door::Strict, Door::Permissive] {
            let loader = Loader::new(&source, &schema, door);
            refused(loader.survey(Wanted::Columns(&["age"]), &mut seeded(1)), &[says]);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_twice_is_refused() {
    refused(
        Source::open(Path::new("/dev/null"), &Default::default()),
        &["not a regular file", "save it as a file"],
    );
}
