use proptest::prelude::*;
use sordino_noise::danger::seeded;

use super::*;

const SCHEMA: &str = "
columns.age = { kind = 'integer', bounds = [0, 120], missing = 40 }
columns.weight = { kind = 'number', bounds = [0.5, 300.0] }
columns.smoker = { kind = 'category', values = ['no', 'yes', '?'], missing = '?', other = '?' }
columns.ward = { kind = 'category', values = [1, 2] }
";

fn schema() -> Schema {
    Schema::from_toml(SCHEMA).unwrap()
}

fn table(
    ages: &[f64],
    weights: &[f64],
    smokers: &[Option<&str>],
    wards: &[f64],
    door: Door,
) -> Result<Table, DataError> {
    let raw = RawTable::new()
        .numbers("age", ages.to_vec())?
        .numbers("weight", weights.to_vec())?
        .texts("smoker", smokers.iter().copied())?
        .numbers("ward", wards.to_vec())?;
    Table::new(raw, &schema(), door, &mut seeded(1))
}

#[test]
fn values_follow_the_rules_of_the_schema() {
    let ages = [41.0, 200.0, f64::NAN, f64::NEG_INFINITY];
    let smokers = [Some("yes"), None, Some("often"), Some("no")];
    let table = table(&ages, &[70.0, 0.0, 1e9, 70.0], &smokers, &[1.0, 2.0, 1.0, 2.0], Door::Strict).unwrap();
    assert_eq!(table.numbers("age").unwrap().1.collect::<Vec<_>>(), [41.0, 120.0, 40.0, 0.0]);
    assert_eq!(table.numbers("weight").unwrap().1.collect::<Vec<_>>(), [70.0, 0.5, 300.0, 70.0]);
    assert_eq!(table.codes("smoker").unwrap().1.collect::<Vec<_>>(), [1, 2, 2, 0]);
    assert_eq!(table.codes("ward").unwrap().1.collect::<Vec<_>>(), [0, 1, 0, 1]);
    assert!(table.numbers("smoker").is_err_and(|e| e.to_string().contains("must be a number")));
    assert!(table.numbers("agee").is_err_and(|e| e.to_string().contains("did you mean `age`?")));
}

#[test]
fn the_strict_door_names_row_and_column_and_no_value() {
    for (ages, weights, wards, column) in [
        ([1.0, 41.5], [1.0, 1.0], [1.0, 1.0], "row 2, column `age`: expected a whole number"),
        ([1.0, 1.0], [1.0, f64::NAN], [1.0, 1.0], "row 2, column `weight`: expected a number"),
        ([1.0, 1.0], [1.0, 1.0], [1.0, 77.0], "row 2, column `ward`: expected one of the declared values"),
        ([1.0, 1.0], [1.0, 1.0], [f64::NAN, 1.0], "row 1, column `ward`: expected a value"),
    ] {
        let error = table(&ages, &weights, &[Some("no"); 2], &wards, Door::Strict).unwrap_err().to_string();
        assert!(error.contains(column), "{error}");
        assert!(!error.contains("41") && !error.contains("77"), "{error}");
    }
}

#[test]
fn the_permissive_door_drops_misfits_and_moves_no_other_record() {
    let weights = [1.0, f64::NAN, 3.0];
    let table =
        table(&[1.5, 2.0, 3.0], &weights, &[Some("no"); 3], &[1.0, 1.0, 9.0], Door::Permissive).unwrap();
    assert_eq!((table.slots(), table.records()), (3, 1));
    assert!(table.is_present(0) && !table.is_present(1) && !table.is_present(2));
    // A fraction in a column of whole numbers is treated as missing.
    assert_eq!(table.numbers("age").unwrap().1.collect::<Vec<_>>(), [40.0]);
}

#[test]
fn a_unit_keeps_at_most_its_records() {
    let text = format!("unit = {{ column = 'who', max_records = 2 }}\n{SCHEMA}");
    let schema = Schema::from_toml(&text).unwrap();
    let raw = RawTable::new().numbers("age", vec![1.0; 6]).unwrap().numbers("weight", vec![1.0; 6]).unwrap();
    let raw = raw.texts("smoker", [Some("no"); 6]).unwrap().numbers("ward", vec![1.0; 6]).unwrap();
    let raw = raw.texts("who", ["a", "a", "b", "a", "a", "b"].map(Some)).unwrap();
    let table = Table::new(raw, &schema, Door::Strict, &mut seeded(2)).unwrap();
    assert_eq!((table.slots(), table.records()), (6, 4));
    assert_eq!(table.limit().max_records().get(), 2);
}

#[test]
fn a_table_of_another_schema_is_refused() {
    let raw = RawTable::new().numbers("agee", vec![1.0]).unwrap();
    let error = Table::new(raw, &schema(), Door::Permissive, &mut seeded(1)).unwrap_err().to_string();
    assert!(error.contains("has column `agee`") && error.contains("did you mean `age`?"), "{error}");
    let raw = RawTable::new().numbers("age", vec![1.0]).unwrap();
    let error = Table::new(raw, &schema(), Door::Permissive, &mut seeded(1)).unwrap_err().to_string();
    assert!(error.contains("does not have"), "{error}");
    assert!(RawTable::new().numbers("a", vec![1.0]).unwrap().numbers("b", vec![]).is_err());
}

proptest! {
    /// Pitfall 6: whatever the file holds, the values of a table lie within the declared bounds,
    /// and the error, if any, is the same for every value.
    #[test]
    fn pitfall_06_bounded_data_is_bounded(
        ages in prop::collection::vec(prop::num::f64::ANY, 4),
        weights in prop::collection::vec(prop::num::f64::ANY, 4),
        smokers in prop::collection::vec(prop::option::of("\\PC{0,3}|no|yes"), 4),
        wards in prop::collection::vec(prop::num::f64::ANY, 4),
    ) {
        let smokers: Vec<_> = smokers.iter().map(Option::as_deref).collect();
        let table = table(&ages, &weights, &smokers, &wards, Door::Permissive).unwrap();
        prop_assert_eq!(table.slots(), 4);
        for name in ["age", "weight"] {
            let (bounds, mut values) = table.numbers(name).unwrap();
            prop_assert!(values.all(|value| bounds.contains(value)));
        }
        for name in ["smoker", "ward"] {
            let (values, mut codes) = table.codes(name).unwrap();
            prop_assert!(codes.all(|code| (code as usize) < values.len()));
        }
    }

    /// What happens to a record does not depend on the others: removing one from the input changes
    /// no other slot.
    #[test]
    fn each_record_is_mapped_alone(
        ages in prop::collection::vec(prop::num::f64::ANY, 5),
        wards in prop::collection::vec(0.0..4.0f64, 5),
        other in prop::num::f64::ANY,
    ) {
        let wards: Vec<f64> = wards.iter().map(|ward| ward.floor()).collect();
        let one = table(&ages, &[1.0; 5], &[Some("no"); 5], &wards, Door::Permissive).unwrap();
        let mut changed = ages.clone();
        changed[2] = other;
        let two = table(&changed, &[1.0; 5], &[Some("no"); 5], &wards, Door::Permissive).unwrap();
        for slot in [0, 1, 3, 4] {
            prop_assert_eq!(one.is_present(slot), two.is_present(slot));
            let value = |table: &Table| match table.column("age").unwrap() {
                BoundedColumn::Numbers { values, .. } => values[slot].to_bits(),
                BoundedColumn::Categories { .. } => unreachable!("age is a number"),
            };
            prop_assert_eq!(value(&one), value(&two));
        }
    }
}
