//! The files of an owner are read, in every format.

mod files;

use files::{codes, file, gzip, idx, npy, numbers, read, refused, schema};
use sordino_data::{Door, Encoding, EncodingOptions, Loader, Source, Split, TypeHint, Wanted};
use sordino_noise::danger::seeded;

const PATIENTS: &str = "
columns.age = { kind = 'number', bounds = [0, 120], missing = 'drop' }
columns.smoker = { kind = 'category', values = ['no', 'yes'] }
columns.notes = { kind = 'ignore' }
";
const CSV: &[u8] = b"age,notes,smoker\n41,\"fell, twice\nbadly \"\"\", yes \n17,,no\n200,x,no\n";

#[test]
fn csv_with_quotes_plain_and_packed() {
    for (name, content) in [
        ("patients.csv", CSV.to_vec()),
        ("patients.csv.gz", gzip(CSV)),
        ("patients.csv.zst", zstd::encode_all(CSV, 1).unwrap()),
        ("patients-crlf.csv", String::from_utf8_lossy(CSV).replace('\n', "\r\n").into_bytes()),
        ("patients-bom.csv", [b"\xef\xbb\xbf", CSV].concat()),
        ("no-ending", CSV.to_vec()),
        // A gzip file with two members has the content of both.
        ("members.csv.gz", [gzip(&CSV[..20]), gzip(&CSV[20..])].concat()),
    ] {
        let table = read(&file(name, &content), &schema(PATIENTS), Door::Strict).unwrap();
        assert_eq!(numbers(&table, "age"), [41.0, 17.0, 120.0], "{name}");
        assert_eq!(codes(&table, "smoker"), [1, 0, 0], "{name}");
    }
}

#[test]
fn csv_of_another_dialect_without_a_header() {
    let schema = schema(
        "csv = { names = ['age', 'income'], delimiter = ';', comment = '|', missing = ['', '?'] }
         columns.age = { kind = 'integer', bounds = [0, 120], missing = 40 }
         columns.income = { kind = 'category', values = ['<=50K', '>50K'] }",
    );
    let path = file("adult.test", b"|1x3 Cross validator\n39; <=50K\n ?; >50K\n\n");
    let table = read(&path, &schema, Door::Strict).unwrap();
    assert_eq!(numbers(&table, "age"), [39.0, 40.0]);
    assert_eq!(codes(&table, "income"), [0, 1]);
    let tabs = file("tabs.tsv", b"age\tsmoker\tnotes\n1\tno\t\n");
    assert_eq!(numbers(&read(&tabs, &self::schema(PATIENTS), Door::Strict).unwrap(), "age"), [1.0]);
}

#[test]
fn npy_of_every_type() {
    let schema = schema("columns.'x*' = { kind = 'number', bounds = [-1000, 1000] }");
    let le = |values: [f64; 4]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let be = |values: [i16; 4]| values.iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>();
    for (name, bytes) in [
        ("f8.npy", npy("<f8", "False", "(2, 2)", &le([1.0, -2.0, 3.0, 4.0]))),
        ("i2.npy", npy(">i2", "False", "(2, 2)", &be([1, -2, 3, 4]))),
        ("packed.npy.gz", gzip(&npy("<f8", "False", "(2, 2)", &le([1.0, -2.0, 3.0, 4.0])))),
    ] {
        let table = read(&file(name, &bytes), &schema, Door::Strict).unwrap();
        assert_eq!(
            (numbers(&table, "x0"), numbers(&table, "x1")),
            (vec![1.0, 3.0], vec![-2.0, 4.0]),
            "{name}"
        );
    }
    let flat = file("flat.npy", &npy("|u1", "False", "(3,)", &[1, 2, 3]));
    assert_eq!(numbers(&read(&flat, &schema, Door::Strict).unwrap(), "x0"), [1.0, 2.0, 3.0]);
}

#[test]
fn idx_images_find_their_labels() {
    let images =
        file("t10k-images-idx3-ubyte.gz", &gzip(&idx(&[2, 2, 2], &[0, 1, 2, 3, 250, 251, 252, 253])));
    file("t10k-labels-idx1-ubyte", &idx(&[2], &[7, 9]));
    let source = Source::open(&images, &Default::default()).unwrap();
    let header: Vec<_> = source.header().iter().map(|column| (column.name.as_str(), column.hint)).collect();
    assert_eq!(header[0], ("pixel_0", TypeHint::Byte));
    assert_eq!(header[4].0, "label");
    let schema = schema(
        "columns.'pixel_*' = { kind = 'number', bounds = [0, 255] }
         columns.label = { kind = 'category', values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }",
    );
    let table = read(&images, &schema, Door::Strict).unwrap();
    assert_eq!(numbers(&table, "pixel_3"), [3.0, 253.0]);
    assert_eq!(codes(&table, "label"), [7, 9]);
    let alone = file("other-images-idx3-ubyte", &idx(&[1, 1, 1], &[5]));
    assert_eq!(Source::open(&alone, &Default::default()).unwrap().header().len(), 1);
    let odd = file("odd-images-idx3-ubyte", &idx(&[1, 1, 1], &[5]));
    file("odd-labels-idx1-ubyte", &idx(&[2], &[1, 2]));
    refused(Source::open(&odd, &Default::default()), &["odd-labels", "one byte for each of the 1 images"]);
}

#[test]
fn cifar_records() {
    let record = |label: u8| [vec![label], vec![label + 100; 3072]].concat();
    let path = file("data_batch_1.bin", &[record(3), record(8)].concat());
    let schema = schema(
        "columns.'pixel_*' = { kind = 'number', bounds = [0, 255] }
         columns.label = { kind = 'integer', bounds = [0, 9] }",
    );
    let table = read(&path, &schema, Door::Strict).unwrap();
    assert_eq!(
        (numbers(&table, "label"), numbers(&table, "pixel_3071")),
        (vec![3.0, 8.0], vec![103.0, 108.0])
    );
    let hundred = file("train.bin", &[vec![1, 2], vec![9; 3072]].concat());
    assert_eq!(Source::open(&hundred, &Default::default()).unwrap().header()[0].name, "coarse_label");
}

#[test]
fn units_keep_their_records_and_stay_on_one_side_of_a_split() {
    let schema = schema(
        "unit = { column = 'who', max_records = 2 }
         columns.age = { kind = 'number', bounds = [0, 120] }
         columns.ill = { kind = 'boolean' }",
    );
    let mut text = "who,age,ill\n".to_owned();
    for row in 0..6000 {
        text += &format!("u{},{},{}\n", row % 1000, row % 1000 % 100, row % 2);
    }
    let path = file("visits.csv", text.as_bytes());
    let table = read(&path, &schema, Door::Strict).unwrap();
    assert_eq!((table.slots(), table.records()), (6000, 2000));
    let source = Source::open(&path, schema.csv()).unwrap();
    let names: Vec<String> = source.header().iter().map(|column| column.name.clone()).collect();
    let options = EncodingOptions { target: Some("ill".to_owned()), ..Default::default() };
    let encoding = Encoding::new(&schema, &names, options).unwrap();
    assert_eq!(encoding.coordinates(), ["age"]);
    let loader = Loader::new(&source, &schema, Door::Strict);
    let split = Split::new(0.25, 1).unwrap();
    let (train, test) = loader.split(&encoding, &split, &mut seeded(3)).unwrap();
    assert_eq!(train.slots() + test.slots(), 6000);
    // All six visits of a user are on one side: 250 users of 1000, within six standard deviations
    // of 14.
    assert!(test.slots().is_multiple_of(6) && (test.slots() / 6).abs_diff(250) < 84, "{}", test.slots());
    let whole = loader.read(&encoding, &mut seeded(3)).unwrap();
    assert_eq!((whole.slots(), whole.has_target()), (6000, true));
}

#[test]
fn prediction_needs_no_target() {
    let schema = schema(PATIENTS);
    let training = file("train.csv", b"age,smoker\n41,yes\n");
    let source = Source::open(&training, schema.csv()).unwrap();
    let names: Vec<String> = source.header().iter().map(|column| column.name.clone()).collect();
    let options = EncodingOptions { target: Some("smoker".to_owned()), ..Default::default() };
    let encoding = Encoding::from_json(&Encoding::new(&schema, &names, options).unwrap().to_json()).unwrap();
    let fresh = file("fresh.csv", b"age\n60\n");
    let source = Source::open(&fresh, encoding.schema().csv()).unwrap();
    let loader = Loader::new(&source, encoding.schema(), Door::Permissive);
    let encoded = loader.read(&encoding, &mut seeded(1)).unwrap();
    assert_eq!((encoded.row(0), encoded.has_target()), (Some(&[0.0][..]), false));
}

/// The number of records is public under `zero_out`. Only the owner learns whether each record fits
/// the schema.
#[test]
fn records_are_counted_and_checked_without_being_kept() {
    let schema = schema(PATIENTS);
    let path = file("checked.csv", b"age,notes,smoker\n41,,yes\n17,,maybe\n50,,no\n");
    let source = Source::open(&path, schema.csv()).unwrap();
    let options = EncodingOptions { target: Some("smoker".to_owned()), ..Default::default() };
    let encoding = Encoding::new(&schema, &source.names(), options).unwrap();
    let loader = |door| Loader::new(&source, &schema, door);
    let survey = |door| loader(door).survey(Wanted::Encoding(&encoding), &mut seeded(1)).unwrap();
    let (strict, permissive) = (survey(Door::Strict), survey(Door::Permissive));
    assert_eq!((strict.slots(), permissive.slots()), (3, 3));
    let error = strict.check().unwrap_err().to_string();
    assert!(error.contains("row 2, column `smoker`") && !error.contains("maybe"), "{error}");
    // A second pass fails with the same error.
    assert_eq!(loader(Door::Strict).encoded(&encoding, &strict).unwrap_err().to_string(), error);
    permissive.check().unwrap();
    assert_eq!(loader(Door::Permissive).encoded(&encoding, &permissive).unwrap().slots(), 3);
    // Columns that are not asked for are not checked.
    loader(Door::Strict).survey(Wanted::Columns(&["age"]), &mut seeded(1)).unwrap().check().unwrap();
    let empty = file("checked-empty.csv", b"age,notes,smoker\n");
    let source = Source::open(&empty, schema.csv()).unwrap();
    let loader = Loader::new(&source, &schema, Door::Strict);
    let survey = loader.survey(Wanted::Encoding(&encoding), &mut seeded(1)).unwrap();
    refused(survey.check(), &["has no records"]);
}
