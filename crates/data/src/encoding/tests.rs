use sordino_noise::danger::seeded;

use super::*;
use crate::encoded::{Encoded, ROWS_PER_BLOCK};
use crate::raw::RawTable;
use crate::source::Door;
use crate::table::Table;

const SCHEMA: &str = "
columns.age = { kind = 'number', bounds = [0, 100] }
columns.ward = { kind = 'category', values = ['a', 'b', 'c'] }
columns.ill = { kind = 'boolean' }
columns.cost = { kind = 'number', bounds = [-50, 150] }
columns.notes = { kind = 'ignore' }
";

fn names() -> Vec<String> {
    ["age", "ward", "ill", "cost", "notes"].map(str::to_owned).to_vec()
}

fn encoding(options: EncodingOptions) -> Result<Encoding, DataError> {
    Encoding::new(&Schema::from_toml(SCHEMA).unwrap(), &names(), options)
}

fn table(rows: usize) -> Table {
    let schema = Schema::from_toml(SCHEMA).unwrap();
    let raw = RawTable::new().numbers("age", vec![75.0; rows]).unwrap();
    let raw =
        raw.texts("ward", vec![Some("c"); rows]).unwrap().texts("ill", vec![Some("yes"); rows]).unwrap();
    let mut costs = vec![0.0; rows];
    costs[rows - 1] = f64::NAN;
    let raw = raw.numbers("cost", costs).unwrap().texts("notes", vec![None; rows]).unwrap();
    Table::new(raw, &schema, Door::Permissive, &mut seeded(1)).unwrap()
}

#[test]
fn rows_are_what_the_definition_says() {
    let options = EncodingOptions { target: Some("ill".to_owned()), intercept: true, ..Default::default() };
    let encoding = encoding(options).unwrap();
    assert_eq!(encoding.coordinates(), ["age", "ward=a", "ward=b", "ward=c", "cost", "(intercept)"]);
    let encoded = Encoded::new(&encoding, &table(3)).unwrap();
    assert_eq!(encoded.row(0), Some(&[0.5, 0.0, 0.0, 1.0, -0.5, 1.0][..]));
    assert_eq!((encoded.class(0), encoded.target(0)), (1, 1.0));
    // The last record has no cost: its slot is empty, with a row of zeros in its block.
    assert_eq!(encoded.row(2), None);
    let block = encoded.blocks().next().unwrap();
    assert_eq!((&block.rows[12..], block.present), (&[0.0; 6][..], &[true, true, false][..]));
    assert_eq!(encoding.coordinate_bounds(), [1.0; 6]);
    assert!((2.0..2.0001).contains(&encoding.row_norm()));
}

#[test]
fn each_scaling_maps_the_bounds_as_defined() {
    let with = |scaling| {
        let options = EncodingOptions { target: Some("cost".to_owned()), scaling, ..Default::default() };
        let encoding = encoding(options).unwrap();
        let encoded = Encoded::new(&encoding, &table(2)).unwrap();
        let (age, cost) = (encoded.row(0).unwrap()[0], f64::from(encoded.target(0)));
        assert!((encoding.decode_target(cost) - 0.0).abs() < 1e-5);
        (age, cost)
    };
    assert_eq!(with(Scaling::Symmetric), (0.5, -0.5));
    assert_eq!(with(Scaling::Unit), (0.75, 0.25));
    assert_eq!(with(Scaling::None), (75.0, 0.0));
    let none = encoding(EncodingOptions { scaling: Scaling::None, ..Default::default() }).unwrap();
    assert_eq!(none.coordinate_bounds(), [100.0, 1.0, 1.0, 1.0, 1.0, 1.0, 150.0]);
}

#[test]
fn the_row_norm_counts_the_intercept() {
    let options = EncodingOptions { intercept: true, row_norm: Some(0.5), ..Default::default() };
    let encoding = encoding(options).unwrap();
    assert_eq!(encoding.row_norm(), 0.5);
    let encoded = Encoded::new(&encoding, &table(2)).unwrap();
    let square: f64 = encoded.row(0).unwrap().iter().map(|x| f64::from(*x).powi(2)).sum();
    assert!(square <= 0.25 && square > 0.2499, "{square}");
    assert!(encoding.coordinate_bounds().iter().all(|bound| *bound == 0.5));
}

#[test]
fn an_encoding_is_stored_and_applied_without_its_target() {
    let options = EncodingOptions {
        target: Some("ill".to_owned()),
        scaling: Scaling::Unit,
        intercept: true,
        row_norm: Some(1.5),
    };
    let encoding = encoding(options).unwrap();
    let again = Encoding::from_json(&encoding.to_json()).unwrap();
    assert_eq!(again, encoding);
    for (from, to) in [("\"format_version\":1", "\"format_version\":2"), ("\"age\"", "\"ag\""), ("1.5", "-1")]
    {
        let text = encoding.to_json().replacen(from, to, 1);
        assert!(Encoding::from_json(&text).is_err(), "{text}");
    }
}

#[test]
fn invalid_encodings_are_refused() {
    let target = |name: &str| EncodingOptions { target: Some(name.to_owned()), ..Default::default() };
    let refused = |options| encoding(options).unwrap_err().to_string();
    assert!(refused(target("il")).contains("no column `il` to use; did you mean `ill`?"));
    assert!(refused(target("notes")).contains("must be a number or a category"));
    assert!(refused(EncodingOptions { row_norm: Some(f64::NAN), ..Default::default() }).contains("row_norm"));
    let schema = Schema::from_toml("columns.a = { kind = 'ignore' }").unwrap();
    let error = Encoding::new(&schema, &["a".to_owned()], EncodingOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no column is left"), "{error}");
}

#[test]
fn blocks_are_filled_in_order() {
    let encoding = encoding(EncodingOptions::default()).unwrap();
    let rows = ROWS_PER_BLOCK + 3;
    let encoded = Encoded::new(&encoding, &table(rows)).unwrap();
    let sizes: Vec<_> = encoded.blocks().map(|block| (block.first_slot, block.present.len())).collect();
    assert_eq!(sizes, [(0, ROWS_PER_BLOCK), (ROWS_PER_BLOCK, 3)]);
    assert_eq!(encoded.slots(), rows);
    assert!(encoded.row(ROWS_PER_BLOCK).is_some() && encoded.row(rows - 1).is_none());
}

#[test]
fn rows_for_prediction_need_neither_target_nor_unit() {
    let schema =
        Schema::from_toml(&format!("unit = {{ column = 'person', max_records = 1 }}\n{SCHEMA}")).unwrap();
    let options = EncodingOptions { target: Some("ill".to_owned()), intercept: true, ..Default::default() };
    let mut all = names();
    all.push("person".to_owned());
    let trained = Encoding::new(&schema, &all, options).unwrap();
    let reading = trained.for_prediction();
    assert_eq!((reading.coordinates(), reading.target()), (trained.coordinates(), None));
    // Two records of one person whose target is unknown.
    let raw = RawTable::new().numbers("age", vec![75.0; 2]).unwrap();
    let raw = raw.texts("ward", vec![Some("c"); 2]).unwrap().numbers("cost", vec![0.0; 2]).unwrap();
    let table = Table::new(raw, reading.schema(), Door::Strict, &mut seeded(1)).unwrap();
    let rows = Encoded::new(&reading, &table).unwrap();
    assert_eq!((rows.row(0), rows.has_target()), (Some(&[0.5, 0.0, 0.0, 1.0, -0.5, 1.0][..]), false));
    assert_eq!(rows.row(1), rows.row(0));
}

/// A table that another schema has bounded may have wider bounds than the row norm allows for, or
/// more categories than there are coordinates.
#[test]
fn pitfall_06_a_table_of_another_schema_is_refused() {
    for (was, is, target) in [
        ("bounds = [0, 100]", "bounds = [0, 1000]", "ill"),
        ("values = ['a', 'b', 'c']", "values = ['a', 'b', 'c', 'd']", "ill"),
        ("bounds = [-50, 150]", "bounds = [-50, 15000]", "cost"),
    ] {
        let schema = Schema::from_toml(&SCHEMA.replace(was, is)).unwrap();
        let options = EncodingOptions { target: Some(target.to_owned()), ..Default::default() };
        let encoding = Encoding::new(&schema, &names(), options).unwrap();
        let error = Encoded::new(&encoding, &table(2)).unwrap_err().to_string();
        assert!(error.contains("by another schema"), "{is}: {error}");
    }
}
