//! Small data sets, one for each kind of target.

use sordino_data::{Door, Encoded, Encoding, EncodingOptions, RawTable, Schema, Table};
use sordino_learn::Loss;
use sordino_noise::danger::seeded;

/// The number of classes, or `None` for a loss on numbers.
fn classes(loss: Loss) -> Option<usize> {
    loss.is_classification().then(|| loss.outputs().max(2))
}

/// Columns of numbers in [-1, 1] and targets for `loss`: class numbers, or numbers in [-1, 1]. A
/// record with NaN becomes an empty slot.
pub(crate) fn encoded(loss: Loss, columns: &[Vec<f64>], targets: &[f64], intercept: bool) -> Encoded {
    let number =
        |name: &str| format!("columns.{name} = {{ kind = 'number', bounds = [-1, 1], missing = 'drop' }}\n");
    let mut names: Vec<String> = (0..columns.len()).map(|j| format!("x{j}")).collect();
    let features: String = names.iter().map(|name| number(name)).collect();
    let mut raw = RawTable::new();
    for (name, column) in names.iter().zip(columns) {
        raw = raw.numbers(name, column.clone()).unwrap();
    }
    names.push("y".to_owned());
    let (target, raw) = match classes(loss) {
        None => (number("y"), raw.numbers("y", targets.to_vec()).unwrap()),
        Some(k) => {
            let values: Vec<String> = (0..k).map(|k| format!("'c{k}'")).collect();
            let labels: Vec<String> = targets.iter().map(|k| format!("c{k}")).collect();
            let column = format!("columns.y = {{ kind = 'category', values = [{}] }}\n", values.join(","));
            (column, raw.texts("y", labels.iter().map(|label| Some(label.as_str()))).unwrap())
        }
    };
    let schema = Schema::from_toml(&(features + &target)).unwrap();
    let options = EncodingOptions {
        target: Some("y".to_owned()),
        intercept,
        row_norm: Some(1.0),
        ..EncodingOptions::default()
    };
    let encoding = Encoding::new(&schema, &names, options).unwrap();
    let table = Table::new(raw, &schema, Door::Permissive, &mut seeded(1)).unwrap();
    Encoded::new(&encoding, &table).unwrap()
}

/// 400 records whose target depends mostly on the first column.
pub(crate) fn easy(loss: Loss) -> Encoded {
    let x = |i: usize, step: usize| ((i * step) % 400) as f64 / 200.0 - 1.0;
    let columns = [(0..400).map(|i| x(i, 7)).collect(), (0..400).map(|i| x(i, 13)).collect()];
    let score = |i: usize| x(i, 7) + 0.5 * x(i, 171) - 0.1;
    let target = |i: usize| match classes(loss) {
        None => (0.5 * score(i)).clamp(-1.0, 1.0),
        Some(2) => f64::from(u8::from(score(i) > 0.0)),
        Some(_) => f64::from(u8::from(score(i) > -0.4) + u8::from(score(i) > 0.4)),
    };
    encoded(loss, &columns, &(0..400).map(target).collect::<Vec<_>>(), true)
}

/// Unusual data sets, each with its name.
pub(crate) fn strange(loss: Loss) -> Vec<(&'static str, Encoded)> {
    let of = |columns: Vec<Vec<f64>>, targets: &[f64]| encoded(loss, &columns, targets, true);
    let nonsense = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 0.5];
    let mut cases = vec![
        ("a constant column", of(vec![vec![0.3; 6]], &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0])),
        ("a column of zeros", of(vec![vec![0.0; 3], vec![0.1, 0.2, -0.9]], &[1.0, 0.0, 1.0])),
        ("one class", of(vec![vec![0.1, 0.5, -0.7]], &[1.0; 3])),
        ("one record", of(vec![vec![0.9]], &[1.0])),
        ("no record at all", of(vec![vec![f64::NAN; 2]], &[1.0, 0.0])),
        ("more columns than records", of(vec![vec![0.5, -0.5]; 30], &[1.0, 0.0])),
        ("no numbers", of(vec![nonsense], &[1.0, 0.0, 1.0, 0.0, 1.0])),
    ];
    if classes(loss).is_none() {
        let targets = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY, 1e300, 0.0];
        cases.push(("targets that are no numbers", of(vec![vec![0.1, 0.2, 0.3, 0.4, 0.5]], &targets)));
    }
    cases
}

/// Ten records of five users, encoded for at most two records of each user. `is_limited` says
/// whether the table was limited to that.
pub(crate) fn of_users(loss: Loss, is_limited: bool) -> Encoded {
    let target = match classes(loss) {
        None => "columns.y = { kind = 'number', bounds = [-1, 1], missing = 'drop' }\n".to_owned(),
        Some(k) => {
            let values: Vec<String> = (0..k).map(|k| format!("'c{k}'")).collect();
            format!("columns.y = {{ kind = 'category', values = [{}] }}\n", values.join(","))
        }
    };
    let columns =
        "columns.x = { kind = 'number', bounds = [-1, 1], missing = 'drop' }\n".to_owned() + &target;
    let users =
        Schema::from_toml(&format!("unit = {{ column = 'user', max_records = 2 }}\n{columns}")).unwrap();
    let records = Schema::from_toml(&format!("{columns}columns.user = {{ kind = 'ignore' }}")).unwrap();
    let raw = RawTable::new().texts("user", (0..10).map(|i| Some(["a", "b", "c", "d", "e"][i / 2]))).unwrap();
    let raw = raw.numbers("x", (0..10).map(|i| f64::from(i) / 10.0 - 0.4).collect()).unwrap();
    let raw = match classes(loss) {
        None => raw.numbers("y", vec![0.5; 10]).unwrap(),
        Some(_) => raw.texts("y", (0..10).map(|i| Some(["c0", "c1"][i % 2]))).unwrap(),
    };
    let options = EncodingOptions {
        target: Some("y".to_owned()),
        intercept: true,
        row_norm: Some(1.0),
        ..EncodingOptions::default()
    };
    let names = ["user", "x", "y"].map(str::to_owned);
    let encoding = Encoding::new(&users, &names, options).unwrap();
    let bounded_by = if is_limited { &users } else { &records };
    let table = Table::new(raw, bounded_by, Door::Permissive, &mut seeded(1)).unwrap();
    Encoded::new(&encoding, &table).unwrap()
}
