//! Whatever a file holds, it is read, or a message says what is wrong and where. It never panics.

mod files;

use std::path::Path;

use files::{file, gzip, idx, npy, numbers, read, refused, schema};
use proptest::prelude::*;
use sordino_data::{Door, Source};

const SCHEMA: &str = "
columns.age = { kind = 'number', bounds = [0, 120] }
columns.smoker = { kind = 'category', values = ['no', 'yes'] }
";

#[track_caller]
fn strict(name: &str, content: &[u8], parts: &[&str]) {
    refused(read(&file(name, content), &schema(SCHEMA), Door::Strict), parts);
}

#[test]
fn absent_files_and_files_without_data_are_refused() {
    refused(read(Path::new("nowhere.csv"), &schema(SCHEMA), Door::Strict), &["cannot read `nowhere.csv`"]);
    refused(read(Path::new("."), &schema(SCHEMA), Door::Strict), &["is a directory"]);
    strict("empty.csv", b"", &["is empty"]);
    strict("blank.csv", b"\n\n", &["is empty"]);
    strict("header-only.csv", b"age,smoker\n", &["has no records"]);
    strict("noise.dat", &[0, 159, 3, 0, 7], &["unknown format"]);
    strict("not.parquet", b"age,smoker\n", &["not a sound Parquet file", "PAR1"]);
    strict("not.npy", b"age,smoker\n", &["not a sound NPY file"]);
    strict("odd.bin", &[1; 3000], &["3073"]);
    strict("cut.csv.gz", &gzip(b"age,smoker\n1,no\n")[..20], &["cannot read"]);
}

#[test]
fn columns_that_do_not_fit_the_schema_are_refused() {
    strict("missing.csv", b"smoker\nno\n", &["declares column `age`, which", "does not have"]);
    strict("misspelled.csv", b"agee,smoker\n1,no\n", &["has column `agee`", "did you mean `age`?"]);
    strict("extra.csv", b"age,smoker,id\n1,no,7\n", &["has column `id`", "kind = \"ignore\""]);
    strict("twice.csv", b"age,age,smoker\n1,1,no\n", &["no header", "field 2", "the same as another field"]);
    strict("latin1.csv", b"\xe4ge,smoker\n1,no\n", &["header", "not UTF-8"]);
}

#[test]
fn values_that_do_not_fit_the_schema_are_named_by_row_and_column() {
    strict("word.csv", b"age,smoker\n1,no\nold,no\n", &["row 2, column `age`: expected a number"]);
    strict("hole.csv", b"age,smoker\n,no\n", &["row 1, column `age`: expected a number", "missing = ..."]);
    strict(
        "unknown.csv",
        b"age,smoker\n1,no\n2,maybe\n",
        &["row 2, column `smoker`", "declared values", "other ="],
    );
    strict("bytes.csv", b"age,smoker\n1,\xff\n", &["row 1, column `smoker`"]);
    strict("bytes2.csv", b"age,smoker\n\xff1,no\n", &["row 1, column `age`"]);
    strict("short.csv", b"age,smoker\n1,no\n1\n", &["row 2: expected 2 fields, got 1"]);
    strict("long.csv", b"age,smoker\n1,no,3\n", &["row 1: expected 2 fields, got 3"]);
}

/// The permissive door drops the same records without a message; the others stay.
#[test]
fn no_value_of_a_record_stops_the_permissive_door() {
    let enormous = vec![b'7'; 9 << 20];
    let content = [
        &b"age,smoker\n1,no\nold,no\n,no\n3,maybe\n4,\xff\n\xff,no\n5\n6,no,7\n"[..],
        &enormous,
        b",no\ninf,yes\n",
    ];
    let path = file("permissive.csv", &content.concat());
    let table = read(&path, &schema(SCHEMA), Door::Permissive).unwrap();
    assert_eq!(numbers(&table, "age"), [1.0, 120.0]);
    assert_eq!(table.slots(), 10);
    let none = file("permissive-none.csv", b"age,smoker\n");
    assert_eq!(read(&none, &schema(SCHEMA), Door::Permissive).unwrap().slots(), 0);
}

/// An enormous line, with or without an open quote, takes bounded memory and is refused by its row.
#[test]
fn an_enormous_line_takes_bounded_memory() {
    let long = [b"age,smoker\n1,no\n".as_slice(), &vec![b'1'; 9 << 20], b",no\n2,yes\n"].concat();
    strict("enormous.csv", &long, &["row 2", "longer than"]);
    let open = [b"age,smoker\n1,no\n\"2,no\n".as_slice(), &b"3,no\n".repeat(2 << 20)].concat();
    strict("open-quote.csv", &open, &["row 2", "closing quote"]);
    let header = vec![b'a'; 9 << 20];
    strict("enormous-header.csv", &header, &["header of more than"]);
    let commas = vec![b','; 3 << 20];
    strict("commas.csv", &commas, &["header of more than"]);
}

#[test]
fn unsupported_arrays_are_refused() {
    let any = schema("columns.'x*' = { kind = 'number', bounds = [0, 1] }");
    let refuse = |name: &str, bytes: &[u8], parts: &[&str]| {
        refused(read(&file(name, bytes), &any, Door::Strict), parts)
    };
    refuse(
        "fortran.npy",
        &npy("<f8", "True", "(2, 2)", &[0; 32]),
        &["column by column", "ascontiguousarray"],
    );
    refuse("object.npy", &npy("|O", "False", "(2,)", &[0; 16]), &["no plain numbers", "astype"]);
    refuse("cube.npy", &npy("<f8", "False", "(2, 2, 2)", &[0; 64]), &["one or two dimensions"]);
    refuse("cut.npy", &npy("<f8", "False", "(3, 2)", &[0; 40]), &["ends before its last record"]);
    refuse("wide.npy", &npy("<f8", "False", "(1, 99999999999)", &[0; 8]), &["too many elements"]);
    refuse("zero.npy", &npy("<f8", "False", "(3, 0)", &[]), &["too many elements"]);
    refuse("huge-idx", &idx(&[1, u32::MAX, u32::MAX], &[0]), &["not a sound IDX"]);
    refuse("cut-idx", &idx(&[2, 1, 1], &[0])[..10], &["not a sound IDX"]);
}

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let csv = b"age,smoker\n41,yes\n\"17\",no\n3,\"n\"\"o\"\n";
    vec![
        ("mutated.csv", csv.to_vec()),
        ("mutated.csv.gz", gzip(csv)),
        ("mutated.csv.zst", zstd::encode_all(&csv[..], 1).unwrap()),
        ("mutated.npy", npy("<f8", "False", "(2, 2)", &[7; 32])),
        ("mutated-idx3", idx(&[2, 2, 2], &[1, 2, 3, 4, 5, 6, 7, 8])),
        ("mutated.bin", vec![1; 3073]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Random damage to every format, through both doors. (The limits above bound the memory.)
    #[test]
    fn damaged_files_never_panic(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        keep in any::<prop::sample::Index>(),
    ) {
        let schema = schema(
            "columns.age = { kind = 'number', bounds = [0, 120] }
             columns.'*' = { kind = 'category', values = ['no', 'yes', '1'] }",
        );
        for (name, mut bytes) in seeds() {
            for (place, byte) in &cuts {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            bytes.truncate(keep.index(bytes.len()) + 1);
            let path = file(name, &bytes);
            if let Ok(source) = Source::open(&path, schema.csv()) {
                prop_assert!(!source.header().is_empty());
                for door in [Door::Strict, Door::Permissive] {
                    let _ = read(&path, &schema, door);
                }
            }
        }
    }
}
