//! Parquet and Arrow files, and the cache.
#![cfg(all(feature = "parquet", feature = "arrow"))]

mod files;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch,
};
use arrow_ipc::writer::FileWriter;
use files::{codes, file, numbers, read, refused, schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use sha2::Digest;
use sordino_data::{
    DataError, Door, Encoded, Encoding, EncodingOptions, Loader, ROWS_PER_BLOCK, Schema, Source, TypeHint,
    Wanted,
};
use sordino_noise::danger::seeded;

const SCHEMA: &str = "
columns.id = { kind = 'ignore' }
columns.age = { kind = 'number', bounds = [0, 120], missing = 40 }
columns.smoker = { kind = 'category', values = ['no', 'yes'] }
columns.insured = { kind = 'boolean' }
columns.visits = { kind = 'ignore' }
";

/// Two groups of two rows; the second age is missing.
fn parquet_file(name: &str, compression: Compression) -> PathBuf {
    let message = "message table {
        required int64 id;
        optional double age;
        required binary smoker (UTF8);
        required boolean insured;
        optional group visits (LIST) { repeated group list { optional int64 element; } }
    }";
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut bytes = Vec::new();
    let message = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(&mut bytes, message, Arc::new(properties)).unwrap();
    for group in 0..2i64 {
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[2 * group, 2 * group + 1], None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[41.0 + group as f64], Some(&[1, 0]), None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let words = ["yes", "no"].map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&words, None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<BoolType>().write_batch(&[true, false], None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[], Some(&[0, 0]), Some(&[0, 0])).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    }
    writer.close().unwrap();
    file(name, &bytes)
}

fn arrow_file(name: &str) -> PathBuf {
    let dictionary: DictionaryArray<Int32Type> = ["yes", "no", "yes", "no"].into_iter().collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]); 4]);
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![0, 1, 2, 3])) as ArrayRef),
        ("age", Arc::new(Float64Array::from(vec![Some(41.0), None, Some(42.0), None]))),
        ("smoker", Arc::new(dictionary)),
        ("insured", Arc::new(BooleanArray::from(vec![true, false, true, false]))),
        ("visits", Arc::new(lists)),
    ])
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch.slice(0, 3)).unwrap();
    writer.write(&batch.slice(3, 1)).unwrap();
    writer.finish().unwrap();
    drop(writer);
    file(name, &bytes)
}

#[test]
fn both_formats_give_the_same_table() {
    for path in [
        parquet_file("plain.parquet", Compression::UNCOMPRESSED),
        parquet_file("snappy.parquet", Compression::SNAPPY),
        parquet_file("zstd.parquet", Compression::ZSTD(ZstdLevel::default())),
        arrow_file("table.arrow"),
        arrow_file("no-ending"),
    ] {
        let table = read(&path, &schema(SCHEMA), Door::Strict).unwrap();
        assert_eq!(numbers(&table, "age"), [41.0, 40.0, 42.0, 40.0], "{}", path.display());
        assert_eq!(codes(&table, "smoker"), [1, 0, 1, 0]);
        assert_eq!(codes(&table, "insured"), [1, 0, 1, 0]);
        let hints: Vec<_> = Source::open(&path, &Default::default())
            .unwrap()
            .header()
            .iter()
            .map(|column| column.hint)
            .collect();
        use TypeHint::{Boolean, Nested, Number, Text};
        assert_eq!(hints, [Number, Number, Text, Boolean, Nested]);
    }
}

#[test]
fn nested_columns_are_refused_by_name_unless_ignored() {
    let text = SCHEMA.replace(
        "columns.visits = { kind = 'ignore' }",
        "columns.visits = { kind = 'number', bounds = [0, 1] }",
    );
    for path in [parquet_file("nested.parquet", Compression::UNCOMPRESSED), arrow_file("nested.arrow")] {
        refused(
            read(&path, &schema(&text), Door::Permissive),
            &["column `visits`, a list", "kind = \"ignore\""],
        );
    }
}

#[test]
fn text_where_a_number_is_declared_is_named_by_its_row() {
    let text = SCHEMA.replace(
        "columns.smoker = { kind = 'category', values = ['no', 'yes'] }",
        "columns.smoker = { kind = 'number', bounds = [0, 1] }",
    );
    for path in [parquet_file("text.parquet", Compression::UNCOMPRESSED), arrow_file("text.arrow")] {
        refused(read(&path, &schema(&text), Door::Strict), &["row 1, column `smoker`: expected a number"]);
        assert_eq!(read(&path, &schema(&text), Door::Permissive).unwrap().records(), 0);
    }
}

/// Both formats are read part by part, and digested as a whole at the end of a pass.
#[test]
fn a_file_that_is_rewritten_between_two_passes_is_refused() {
    let schema = schema(SCHEMA);
    for path in [parquet_file("rewritten.parquet", Compression::UNCOMPRESSED), arrow_file("rewritten.arrow")]
    {
        let bytes = std::fs::read(&path).unwrap();
        let source = Source::open(&path, schema.csv()).unwrap();
        let loader = Loader::new(&source, &schema, Door::Strict);
        let columns = ["age", "smoker"];
        let survey = loader.survey(Wanted::Columns(&columns), &mut seeded(1)).unwrap();
        let content = survey.content();
        assert_eq!((survey.slots(), content), (4, sha2::Sha256::digest(&bytes).into()));
        assert_eq!(numbers(&loader.table(&columns, &survey).unwrap(), "age"), [41.0, 40.0, 42.0, 40.0]);
        // Another age. A page with a checksum would be damaged by this.
        let mut other = bytes.clone();
        let at = bytes.windows(8).position(|window| window == 42f64.to_le_bytes()).unwrap();
        other[at..at + 8].copy_from_slice(&43f64.to_le_bytes());
        std::fs::write(&path, &other).unwrap();
        let error = loader.table(&columns, &survey).unwrap_err();
        assert!(matches!(error, DataError::Changed { .. }), "{error}");
        // The columns also change before the first pass.
        std::fs::write(&path, &bytes).unwrap();
        let source = Source::open(&path, schema.csv()).unwrap();
        let renamed = replaced(&bytes, b"smoker", b"Smoker");
        std::fs::write(&path, renamed).unwrap();
        let loader = Loader::new(&source, &schema, Door::Strict);
        let error = loader.survey(Wanted::Columns(&columns), &mut seeded(1)).unwrap_err();
        assert!(matches!(error, DataError::Changed { .. }), "{error}");
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

/// Through either door, the survey finds a damaged column before anything is charged.
#[test]
fn a_damaged_column_is_found_before_anything_is_charged() {
    let schema = schema(SCHEMA);
    let path = parquet_file("damaged.parquet", Compression::SNAPPY);
    let mut bytes = std::fs::read(&path).unwrap();
    let source = Source::open(&path, schema.csv()).unwrap();
    // Damages the pages, not the footer.
    bytes[4..300].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    for door in [Door::Strict, Door::Permissive] {
        let loader = Loader::new(&source, &schema, door);
        refused(loader.survey(Wanted::Columns(&["age"]), &mut seeded(1)), &["not a sound Parquet file"]);
    }
}

fn encoding(schema: &Schema, source: &Source) -> Encoding {
    let names: Vec<String> = source.header().iter().map(|column| column.name.clone()).collect();
    let options = EncodingOptions { target: Some("ill".to_owned()), intercept: true, ..Default::default() };
    Encoding::new(schema, &names, options).unwrap()
}

#[test]
fn a_cache_holds_the_same_rows_as_memory() {
    let schema = schema(
        "columns.age = { kind = 'number', bounds = [0, 100] }\ncolumns.ill = { kind = 'boolean', missing = \
        'drop' }",
    );
    let rows = ROWS_PER_BLOCK + 700;
    let mut text = "age,ill\n".to_owned();
    (0..rows).for_each(|row| text += &format!("{},{}\n", row % 101, ["yes", "no", ""][row % 3]));
    let path = file("cached.csv", text.as_bytes());
    let source = Source::open(&path, schema.csv()).unwrap();
    let encoding = encoding(&schema, &source);
    let loader = Loader::new(&source, &schema, Door::Strict);
    let place = path.with_file_name("cached.arrow");
    let memory = loader.read(&encoding, &mut seeded(1)).unwrap();
    let cached = loader.cached(&encoding, &place, &mut seeded(1)).unwrap();
    let again = Encoded::open_cache(&place, &encoding).unwrap();
    assert_eq!(memory.content(), Some(sha2::Sha256::digest(&text).into()));
    assert_eq!((cached.content(), again.content()), (memory.content(), None));
    for other in [&cached, &again] {
        assert_eq!((other.slots(), other.has_target()), (rows, true));
        // Released pages come back with the same content.
        other.blocks().for_each(|block| block.done());
        for slot in 0..rows {
            assert_eq!(other.row(slot), memory.row(slot));
            assert_eq!(other.target(slot).to_bits(), memory.target(slot).to_bits());
        }
    }
    let options = EncodingOptions { target: Some("ill".to_owned()), ..Default::default() };
    let other = Encoding::new(&schema, &["age".to_owned(), "ill".to_owned()], options).unwrap();
    refused(Encoded::open_cache(&place, &other), &["not a cache of this encoding"]);
    refused(Encoded::open_cache(&path, &encoding), &["not a sound Arrow IPC file"]);
}

/// A row that its encoding cannot have made becomes an empty slot, so a damaged cache cannot exceed
/// a sensitivity.
#[test]
fn a_cached_row_out_of_bounds_becomes_an_empty_slot() {
    let schema =
        schema("columns.age = { kind = 'number', bounds = [0, 100] }\ncolumns.ill = { kind = 'boolean' }");
    let path = file("forged.csv", b"age,ill\n100,no\n50,no\n");
    let source = Source::open(&path, schema.csv()).unwrap();
    let encoding = encoding(&schema, &source);
    let place = path.with_file_name("forged.arrow");
    let loader = Loader::new(&source, &schema, Door::Strict);
    drop(loader.cached(&encoding, &place, &mut seeded(1)).unwrap());
    let mut bytes = std::fs::read(&place).unwrap();
    // The first row is (1, 1); its first number becomes 1e9.
    let pattern: Vec<u8> = [1f32, 1.0, 0.0, 1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let at = bytes.windows(16).position(|window| window == pattern).unwrap();
    bytes[at..at + 4].copy_from_slice(&1e9f32.to_le_bytes());
    let forged = file("forged-2.arrow", &bytes);
    let encoded = Encoded::open_cache(&forged, &encoding).unwrap();
    assert_eq!((encoded.row(0), encoded.row(1)), (None, Some(&[0.0, 1.0][..])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn damaged_files_never_panic(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        keep in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let wide = schema("columns.'*' = { kind = 'category', values = ['no', 'yes', '1'] }");
        for (path, name) in [
            (parquet_file("seed.parquet", Compression::SNAPPY), "mutated.parquet"),
            (arrow_file("seed.arrow"), "mutated.arrow"),
        ] {
            let mut bytes = std::fs::read(&path).unwrap();
            for (place, byte) in &cuts {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            if let Some(keep) = &keep {
                bytes.truncate(keep.index(bytes.len()) + 1);
            }
            let path = file(name, &bytes);
            for schema in [schema(SCHEMA), wide.clone()] {
                for door in [Door::Strict, Door::Permissive] {
                    let _ = read(&path, &schema, door);
                }
            }
        }
    }
}
