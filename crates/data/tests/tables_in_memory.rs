//! Tables in memory take the road of files: the same rows, the same refusals, one identity.
#![cfg(all(feature = "parquet", feature = "arrow"))]

mod files;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch};
use arrow_ipc::writer::FileWriter;
use files::{file, schema};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sha2::{Digest, Sha256};
use sordino_data::{
    ArrowTable, Columns, DataError, Door, Encoded, Encoding, EncodingOptions, FixedTexts, HeaderColumn,
    Loader, Matrix, RawTable, Schema, Source, SparseRows, Truth, TypeHint, Values, Wanted,
};
use sordino_noise::danger::seeded;

const SCHEMA: &str = "
unit = { column = 'person', max_records = 2 }
columns.age = { kind = 'number', bounds = [0, 120], missing = 40 }
columns.smoker = { kind = 'category', values = ['no', 'yes'], aliases = { ja = 'yes' } }
columns.insured = { kind = 'boolean' }
columns.note = { kind = 'ignore' }
";

const AGES: [f64; 4] = [41.0, f64::NAN, -0.0, 88.5];
const SMOKES: [&str; 4] = ["yes", "no", "yes", "no"];
const INSURED: [bool; 4] = [true, false, true, false];
const PEOPLE: [i64; 4] = [9_007_199_254_740_993, 7, 7, 7];

/// The same table in five forms.
fn everywhere() -> Vec<(&'static str, Source)> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    // Tests run at the same time, and each has files of its own.
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let file = |ending: &str, bytes: &[u8]| file(&format!("{call}.{ending}"), bytes);
    let open = |path: std::path::PathBuf| Source::open(&path, schema(SCHEMA).csv()).unwrap();
    let csv = "person,age,smoker,insured,note\n9007199254740993,41,ja,yes,a\n7,,no,no,b\n7,0,yes,1,c\n\
               7,88.50,no,false,d\n";
    let message = "message table { required boolean insured; optional double age; \
                   required binary smoker (UTF8); required int64 person; }";
    let mut bytes = Vec::new();
    let message = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(&mut bytes, message, Default::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<BoolType>().write_batch(&INSURED, None, None).unwrap();
    column.close().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    let there = [AGES[0], AGES[2], AGES[3]];
    column.typed::<DoubleType>().write_batch(&there, Some(&[1, 0, 1, 1]), None).unwrap();
    column.close().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<ByteArrayType>().write_batch(&SMOKES.map(ByteArray::from), None, None).unwrap();
    column.close().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&PEOPLE, None, None).unwrap();
    column.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
    let parquet = file("parquet", &bytes);

    let dictionary: DictionaryArray<Int32Type> = SMOKES.into_iter().collect();
    let ages = AGES.map(|age| (!age.is_nan()).then_some(age));
    let batch = RecordBatch::try_from_iter([
        ("age", Arc::new(Float64Array::from(ages.to_vec())) as ArrayRef),
        ("smoker", Arc::new(dictionary)),
        ("insured", Arc::new(BooleanArray::from(INSURED.to_vec()))),
        ("person", Arc::new(Int64Array::from(PEOPLE.to_vec()))),
    ])
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let arrow = file("arrow", &bytes);
    let batches = vec![batch.slice(0, 1), batch.slice(1, 0), batch.slice(1, 3)];
    let batches = ArrowTable::new(batch.schema(), batches).unwrap();

    let numbers = Matrix::<f64, _>::new(vec!["age".into()], AGES.to_vec(), 4, [0, 1, 1]).unwrap();
    let people = Matrix::<i64, _>::new(vec!["person".into()], PEOPLE.to_vec(), 4, [0, 1, 0]).unwrap();
    let insured = INSURED.map(|is_insured| Truth(u8::from(is_insured))).to_vec();
    let insured = Matrix::<Truth, _>::new(vec!["insured".into()], insured, 4, [0, 1, 0]).unwrap();
    let letters: Vec<u32> =
        SMOKES.iter().flat_map(|text| text.chars().map(u32::from).chain([0; 3]).take(3)).collect();
    let smokes = FixedTexts::new(vec!["smoker".into()], letters, 4, [0, 3, 3], 3).unwrap();
    let parts: Vec<Arc<dyn Columns>> =
        vec![Arc::new(people), Arc::new(smokes), Arc::new(insured), Arc::new(numbers)];

    vec![
        ("CSV", open(file("csv", csv.as_bytes()))),
        ("Parquet", open(parquet)),
        ("Arrow IPC", open(arrow)),
        ("Arrow in memory", Source::memory("batches", vec![Arc::new(batches)]).unwrap()),
        ("arrays", Source::memory("arrays", parts).unwrap()),
    ]
}

/// The definition of the identity, typed again.
fn identity() -> [u8; 32] {
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    };
    let number = |number: f64| number.to_bits().to_le_bytes();
    let age = [number(41.0), 0x7ff8_0000_0000_0000u64.to_le_bytes(), [0; 8], number(88.5)].concat();
    let (mut insured, mut person, mut smoker) = (Vec::new(), Vec::new(), Vec::new());
    ["true", "false", "true", "false"].iter().for_each(|value| text(&mut insured, value));
    ["9007199254740993", "7", "7", "7"].iter().for_each(|value| text(&mut person, value));
    SMOKES.iter().for_each(|value| text(&mut smoker, value));
    let mut all = b"sordino table, version 1\n".to_vec();
    all.extend(schema(SCHEMA).digest());
    all.extend(4u64.to_le_bytes());
    all.extend(4u64.to_le_bytes());
    for (name, kind, values) in
        [("age", 0, age), ("insured", 1, insured), ("person", 2, person), ("smoker", 1, smoker)]
    {
        text(&mut all, name);
        all.push(kind);
        all.extend(Sha256::digest(values));
    }
    Sha256::digest(all).into()
}

#[test]
fn a_table_has_one_identity_in_every_form() {
    let schema = schema(SCHEMA);
    for (form, source) in everywhere() {
        assert_eq!(source.identity(&schema).unwrap(), identity(), "{form}");
        let source = source.identified(&schema);
        let loader = Loader::new(&source, &schema, Door::Strict);
        let survey = loader.survey(Wanted::Columns(&["age"]), &mut seeded(1)).unwrap();
        assert_eq!(source.content().unwrap(), survey.content(), "{form}");
        assert_eq!(survey.content() == identity(), source.is_memory(), "{form}");
        loader.table(&["age"], &survey).unwrap();
    }
}

/// How a CSV file is written is no value; bounds, values and units are declarations.
#[test]
fn the_identity_covers_declarations_and_values_alone() {
    let table = |age: f64| {
        let table = RawTable::new().numbers("age", vec![1.0, age]).unwrap();
        Source::memory("table", vec![Arc::new(table)]).unwrap()
    };
    let plain = "columns.age = { kind = 'number', bounds = [0, 120] }";
    let under = |source: Source, text: &str| source.identity(&schema(text)).unwrap();
    let one = under(table(2.0), plain);
    assert_eq!(under(table(2.0), &format!("csv.delimiter = ';'\n{plain}")), one);
    assert_ne!(under(table(2.5), plain), one);
    assert_ne!(under(table(2.0), &plain.replace("120", "90")), one);
}

fn encoded(source: &Source, schema: &Schema, seed: u64) -> Encoded {
    let options = EncodingOptions { target: Some("smoker".to_owned()), ..Default::default() };
    let mut names = source.names();
    names.sort();
    let encoding = Encoding::new(schema, &names, options).unwrap();
    let loader = Loader::new(source, schema, Door::Strict);
    let survey = loader.survey(Wanted::Encoding(&encoding), &mut seeded(seed)).unwrap();
    survey.check().unwrap();
    loader.encoded(&encoding, &survey).unwrap()
}

fn rows(encoded: &Encoded) -> Vec<Option<(Vec<f32>, f32)>> {
    let row = |slot| encoded.row(slot).map(|row| (row.to_vec(), encoded.target(slot)));
    (0..encoded.slots()).map(row).collect()
}

/// The unit has three records and keeps two, whichever form the table has.
#[test]
fn every_form_is_encoded_alike() {
    let schema = schema(SCHEMA);
    for seed in 0..5 {
        let all: Vec<_> =
            everywhere().iter().map(|(_, source)| rows(&encoded(source, &schema, seed))).collect();
        assert_eq!(all[0].iter().flatten().count(), 3);
        assert!(all.iter().all(|rows| *rows == all[0]), "seed {seed}");
    }
}

#[test]
fn every_order_and_stride_gives_the_same_rows() {
    let (rows_of, columns) = (5000usize, 7usize);
    let value = |row: usize, column: usize| ((row * 31 + column * 17) % 1000) as f32 / 8.0;
    let names: Vec<String> = (0..columns).map(|column| format!("x{column}")).collect();
    let schema = schema(
        "columns.'x*' = { kind = 'number', bounds = [0, 100] }\n\
         columns.smoker = { kind = 'category', values = ['0', '1'] }",
    );
    let target = || {
        let codes: Vec<u8> = (0..rows_of).map(|row| (row % 2) as u8).collect();
        let target: Arc<dyn Columns> =
            Arc::new(Matrix::<u8, _>::new(vec!["smoker".into()], codes, rows_of, [0, 1, 1]).unwrap());
        target
    };
    let of = |matrix: Arc<dyn Columns>| {
        let source = Source::memory("x", vec![matrix, target()]).unwrap();
        rows(&encoded(&source, &schema, 1))
    };
    let by_rows: Vec<f64> =
        (0..rows_of).flat_map(|row| (0..columns).map(move |column| f64::from(value(row, column)))).collect();
    let by_columns: Vec<f32> =
        (0..columns).flat_map(|column| (0..rows_of).map(move |row| value(row, column))).collect();
    let backwards: Vec<f64> = by_rows.iter().rev().copied().collect();
    let (down, right) = (columns as isize, rows_of as isize);
    let last = (rows_of * columns - 1) as isize;
    let c = Matrix::<f64, _>::new(names.clone(), by_rows.clone(), rows_of, [0, down, 1]).unwrap();
    let f = Matrix::<f32, _>::new(names.clone(), by_columns, rows_of, [0, 1, right]).unwrap();
    let negative = Matrix::<f64, _>::new(names.clone(), backwards, rows_of, [last, -down, -1]).unwrap();
    let starts: Vec<usize> = (0..=rows_of).map(|row| row * columns).collect();
    let places: Vec<usize> = (0..rows_of * columns).map(|index| index % columns).collect();
    let sparse = SparseRows::new(names, Box::new(starts), Box::new(places), Box::new(by_rows)).unwrap();
    let first = of(Arc::new(c));
    assert_eq!(first.len(), rows_of);
    assert_eq!(first[9].as_ref().unwrap().0[3], (2.0 * f64::from(value(9, 3)) / 100.0 - 1.0) as f32);
    let others: [Arc<dyn Columns>; 3] = [Arc::new(f), Arc::new(negative), Arc::new(sparse)];
    for other in others {
        assert_eq!(of(other), first);
    }
}

#[test]
fn zeros_of_sparse_rows_need_no_place() {
    let sparse = SparseRows::new(
        vec!["a".into(), "b".into()],
        Box::new(vec![0usize, 1, 1, 3]),
        Box::new(vec![1usize, 0, 0]),
        Box::new(vec![5.0, 2.0, 4.0]),
    );
    let source = Source::memory("sparse", vec![Arc::new(sparse.unwrap())]).unwrap();
    let schema = schema("columns.'*' = { kind = 'number', bounds = [-9, 9] }");
    let table =
        Loader::new(&source, &schema, Door::Strict).read_columns(&["a", "b"], &mut seeded(1)).unwrap();
    assert_eq!(files::numbers(&table, "a"), [0.0, 0.0, 6.0]);
    assert_eq!(files::numbers(&table, "b"), [5.0, 0.0, 0.0]);
}

/// What does not fit together is refused before anything is read.
#[test]
fn memory_that_contradicts_itself_is_refused() {
    let names = || vec!["a".to_owned(), "b".to_owned()];
    assert!(Matrix::<f64, _>::new(names(), vec![0.0; 6], 3, [0, 2, 1]).is_ok());
    for places in [[1, 2, 1], [0, 3, 1], [0, -1, 0], [0, 2, isize::MAX], [-1, 1, 1]] {
        assert!(Matrix::<f64, _>::new(names(), vec![0.0; 6], 3, places).is_err(), "{places:?}");
    }
    assert!(FixedTexts::new(vec!["a".into()], vec![0; 5], 2, [0, 3, 3], 3).is_err());
    let sparse = |starts: Vec<usize>, columns: Vec<usize>| {
        SparseRows::new(names(), Box::new(starts), Box::new(columns), Box::new(vec![1.0; 2])).is_err()
    };
    assert!(!sparse(vec![0, 1, 2], vec![0, 1]));
    assert!(sparse(vec![0, 1, 2], vec![0, 2]), "a column that is not there");
    assert!(sparse(vec![0, 2, 1], vec![0, 1]) && sparse(vec![0, 3], vec![0, 1]) && sparse(vec![], vec![]));
    let short = RawTable::new().numbers("y", vec![0.0]).unwrap();
    let long = RawTable::new().numbers("x", vec![0.0; 2]).unwrap();
    let error = Source::memory("t", vec![Arc::new(long), Arc::new(short)]).unwrap_err();
    assert!(matches!(error, DataError::Lengths { expected: 2, got: 1, .. }), "{error}");
    let twice = || -> Arc<dyn Columns> { Arc::new(RawTable::new().numbers("x", vec![0.0]).unwrap()) };
    assert!(matches!(Source::memory("t", vec![twice(), twice()]), Err(DataError::TwiceInHeader { .. })));
}

#[test]
fn the_owner_learns_where_a_value_does_not_fit_and_never_which() {
    let table = RawTable::new().numbers("x", vec![1.0, f64::NAN]).unwrap();
    let table = table.texts("y", [Some("0.5"), Some("sentinel-4711")]).unwrap();
    let table = table.texts("c", [Some("other-sentinel"), Some("a")]).unwrap();
    let source = Source::memory("patients", vec![Arc::new(table)]).unwrap();
    let schema = schema(
        "columns.x = { kind = 'number', bounds = [0, 1] }\ncolumns.y = { kind = 'number', bounds = [0, 1] }\n\
         columns.c = { kind = 'category', values = ['a', 'b'] }",
    );
    let strict = Loader::new(&source, &schema, Door::Strict);
    let survey = strict.survey(Wanted::Columns(&["x", "y", "c"]), &mut seeded(1)).unwrap();
    let error = survey.check().unwrap_err();
    let said = format!("{error} {error:?} {source:?} {survey:?}");
    assert!(
        said.contains("row 2, column \"x\": expected a number") || said.contains("row 2, column `x`"),
        "{said}"
    );
    assert!(!said.contains("sentinel"), "{said}");
    assert!(strict.table(&["x", "y", "c"], &survey).is_err());
    let permissive = Loader::new(&source, &schema, Door::Permissive);
    let table = permissive.read_columns(&["x", "y", "c"], &mut seeded(1)).unwrap();
    assert_eq!((table.slots(), table.records()), (2, 0));
}

/// A column that says something else each time it is read.
struct Restless(AtomicUsize);

impl Columns for Restless {
    fn header(&self) -> Vec<HeaderColumn> {
        vec![HeaderColumn { name: "x".to_owned(), hint: TypeHint::Number }]
    }

    fn rows(&self) -> usize {
        3
    }

    fn read(&self, _: usize, rows: Range<usize>, out: &mut Values<'_>) {
        let said = self.0.fetch_add(1, Ordering::Relaxed) as f64;
        out.numbers(rows.map(|_| said));
    }
}

/// A table that is bound to one budget releases nothing from another one.
#[test]
fn a_table_that_changes_between_two_passes_is_refused_if_it_was_identified() {
    let schema = schema("columns.x = { kind = 'number', bounds = [0, 9] }");
    let read = |source: &Source| {
        let loader = Loader::new(source, &schema, Door::Strict);
        let survey = loader.survey(Wanted::Columns(&["x"]), &mut seeded(1)).unwrap();
        loader.table(&["x"], &survey).map(|_| survey.content())
    };
    let restless = || Source::memory("x", vec![Arc::new(Restless(AtomicUsize::new(0)))]).unwrap();
    assert!(matches!(read(&restless().identified(&schema)), Err(DataError::Changed { .. })));
    // Nobody asked which table it is. Its content is a number of its own.
    let one = restless();
    assert_eq!(read(&one).unwrap(), one.content().unwrap());
    assert_ne!(read(&restless()).unwrap(), read(&restless()).unwrap());
}

/// A part that adds too few values is a mistake of the program, and no table.
#[test]
fn a_part_that_keeps_values_back_is_refused() {
    struct Short;
    impl Columns for Short {
        fn header(&self) -> Vec<HeaderColumn> {
            vec![HeaderColumn { name: "x".to_owned(), hint: TypeHint::Number }]
        }
        fn rows(&self) -> usize {
            3
        }
        fn read(&self, _: usize, _: Range<usize>, out: &mut Values<'_>) {
            out.number(1.0);
        }
    }
    let source = Source::memory("x", vec![Arc::new(Short)]).unwrap();
    let schema = schema("columns.x = { kind = 'number', bounds = [0, 9] }");
    let loader = Loader::new(&source, &schema, Door::Permissive);
    let error = loader.read_columns(&["x"], &mut seeded(1)).unwrap_err();
    assert!(matches!(error, DataError::Lengths { expected: 3, got: 1, .. }), "{error}");
}
