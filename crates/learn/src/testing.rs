//! Small data sets for tests.

use sordino_data::{Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table};
use sordino_noise::danger::seeded;
use sordino_privacy::{Delta, Permit, Unit, danger};

use sordino_optim::LearningPlan;

/// Rows of numbers in [-1, 1] with an intercept, at most 1 long, and a class for each. A row with
/// NaN becomes an empty slot.
pub(crate) fn classes(rows: &[Vec<f64>], labels: &[usize], classes: usize) -> Encoded {
    let names: Vec<String> = (0..classes).map(|k| format!("'c{k}'")).collect();
    let target =
        format!("columns.y = {{ kind = 'category', values = [{}], missing = 'c0' }}\n", names.join(","));
    let labels: Vec<String> = labels.iter().map(|k| format!("c{k}")).collect();
    encoded(rows, &target, |raw| raw.texts("y", labels.iter().map(|label| Some(label.as_str()))).unwrap())
}

/// Such rows with a target in [-1, 1] for each.
pub(crate) fn numbers(rows: &[Vec<f64>], targets: &[f64]) -> Encoded {
    let target = "columns.y = { kind = 'number', bounds = [-1, 1], missing = 0 }\n";
    encoded(rows, target, |raw| raw.numbers("y", targets.to_vec()).unwrap())
}

fn encoded(rows: &[Vec<f64>], target: &str, add_target: impl FnOnce(RawTable) -> RawTable) -> Encoded {
    let width = rows[0].len();
    let number = |j| format!("columns.x{j} = {{ kind = 'number', bounds = [-1, 1], missing = 'drop' }}\n");
    let features: String = (0..width).map(number).collect();
    let schema = Schema::from_toml(&(features + target)).unwrap();
    let mut names: Vec<String> = (0..width).map(|j| format!("x{j}")).collect();
    let mut raw = RawTable::new();
    for (j, name) in names.iter().enumerate() {
        raw = raw.numbers(name, rows.iter().map(|row| row[j]).collect()).unwrap();
    }
    let raw = add_target(raw);
    names.push("y".to_owned());
    let options = EncodingOptions {
        target: Some("y".to_owned()),
        intercept: true,
        row_norm: Some(1.0),
        ..EncodingOptions::default()
    };
    let encoding = Encoding::new(&schema, &names, options).unwrap();
    let table = Table::new(raw, &schema, Door::Permissive, &mut seeded(1)).unwrap();
    Encoded::new(&encoding, &table).unwrap()
}

/// An unmetered permit for the plan's claim.
pub(crate) fn permit(plan: &impl LearningPlan) -> Permit {
    danger::unmetered(plan.claim(), Unit::Record, Delta::new(1e-6).unwrap()).unwrap()
}
