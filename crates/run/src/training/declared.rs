//! The columns of a run as they were declared, for its report.

use sordino_data::{Column, Encoding, Schema};
use sordino_report::DeclaredColumns;

/// The most values of a category that are listed.
const MAX_VALUES: usize = 12;

/// The target, then the features in order; adjacent columns with the same declaration are joined.
pub(super) fn columns(schema: &Schema, encoding: &Encoding) -> Vec<DeclaredColumns> {
    let entry = |name: &str, is_target| DeclaredColumns {
        first: name.to_owned(),
        last: None,
        columns: 1,
        declared: schema.column(name).map(declared).unwrap_or_default(),
        is_target,
    };
    let mut columns: Vec<DeclaredColumns> =
        encoding.target().map(|name| entry(name, true)).into_iter().collect();
    for name in encoding.features() {
        let next = entry(name, false);
        match columns.last_mut().filter(|last| !last.is_target && last.declared == next.declared) {
            Some(last) => {
                last.columns += 1;
                last.last = Some(next.first);
            }
            None => columns.push(next),
        }
    }
    columns
}

fn declared(column: &Column) -> String {
    match column {
        Column::Number(column) => {
            let kind = if column.is_whole() { "whole number" } else { "number" };
            format!("{kind} from {} to {}", column.bounds().lower(), column.bounds().upper())
        }
        Column::Category(column) if column.values().len() <= MAX_VALUES => {
            format!("category: {}", column.values().join(", "))
        }
        Column::Category(column) => format!("category of {} values", column.values().len()),
        Column::Ignore => "ignored".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use sordino_data::EncodingOptions;

    use super::*;

    #[test]
    fn neighbours_that_are_declared_alike_stand_together() {
        let schema = Schema::from_toml(
            "columns.'p*' = { kind = 'number', bounds = [0, 16] }
             columns.age = { kind = 'integer', bounds = [0, 120] }
             columns.y = { kind = 'category', values = ['no', 'yes'] }",
        );
        let schema = schema.unwrap();
        let names = ["p1", "p2", "p3", "age", "y"].map(str::to_owned);
        let options = EncodingOptions { target: Some("y".into()), ..EncodingOptions::default() };
        let encoding = Encoding::new(&schema, &names, options).unwrap();
        let shown: Vec<_> = columns(&schema, &encoding)
            .into_iter()
            .map(|column| (column.first, column.last, column.columns, column.declared, column.is_target))
            .collect();
        assert_eq!(
            shown,
            [
                ("y".into(), None, 1, "category: no, yes".into(), true),
                ("p1".into(), Some("p3".into()), 3, "number from 0 to 16".into(), false),
                ("age".into(), None, 1, "whole number from 0 to 120".into(), false),
            ]
        );
    }
}
