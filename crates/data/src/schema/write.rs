//! From a schema to TOML.

use toml::{Table, Value};

use super::{
    CategoryColumn, Column, CsvOptions, NumberColumn, Rule, SCHEMA_FORMAT_VERSION, Schema, UnitRule,
};

pub(super) fn schema(schema: &Schema) -> String {
    let mut table = Table::new();
    table.insert("format_version".to_owned(), i64::from(SCHEMA_FORMAT_VERSION).into());
    table.insert("unit".to_owned(), unit(&schema.unit));
    if schema.csv != CsvOptions::default() {
        table.insert("csv".to_owned(), csv(&schema.csv).into());
    }
    let columns: Table = schema.columns.iter().map(|(name, c)| (name.clone(), column(c).into())).collect();
    table.insert("columns".to_owned(), columns.into());
    table.to_string()
}

fn unit(unit: &UnitRule) -> Value {
    match unit {
        UnitRule::Record => "record".into(),
        UnitRule::Column { column, max_records } => {
            let mut table = Table::new();
            table.insert("column".to_owned(), column.as_str().into());
            // Counts are at most 2^53.
            table.insert("max_records".to_owned(), (max_records.get() as i64).into());
            table.into()
        }
    }
}

fn csv(options: &CsvOptions) -> Table {
    let mut table = Table::new();
    if let Some(names) = &options.names {
        table.insert("names".to_owned(), names.clone().into());
    }
    table.insert("delimiter".to_owned(), char::from(options.delimiter).to_string().into());
    if let Some(comment) = options.comment {
        table.insert("comment".to_owned(), char::from(comment).to_string().into());
    }
    table.insert("missing".to_owned(), options.missing.clone().into());
    let usual = CsvOptions::default();
    if options.header != usual.header {
        table.insert("header".to_owned(), options.header.into());
    }
    if options.decimal != usual.decimal {
        table.insert("decimal".to_owned(), char::from(options.decimal).to_string().into());
    }
    if let Some(thousands) = options.thousands {
        table.insert("thousands".to_owned(), char::from(thousands).to_string().into());
    }
    table
}

fn column(column: &Column) -> Table {
    match column {
        Column::Number(number) => self::number(number),
        Column::Category(category) => self::category(category),
        Column::Ignore => Table::from_iter([("kind".to_owned(), Value::from("ignore"))]),
    }
}

fn number(column: &NumberColumn) -> Table {
    let mut table = Table::new();
    table.insert("kind".to_owned(), if column.is_whole() { "integer" } else { "number" }.into());
    let bounds = column.bounds();
    table.insert("bounds".to_owned(), vec![bounds.lower(), bounds.upper()].into());
    match column.missing_rule() {
        Rule::Undeclared => None,
        Rule::Drop => table.insert("missing".to_owned(), "drop".into()),
        Rule::Become(value) => table.insert("missing".to_owned(), value.into()),
    };
    table
}

fn category(column: &CategoryColumn) -> Table {
    let mut table = Table::new();
    table.insert("kind".to_owned(), if column.is_boolean() { "boolean" } else { "category" }.into());
    if !column.is_boolean() {
        table.insert("values".to_owned(), column.values().to_vec().into());
    }
    let aliases: Table = column.aliases().map(|(from, to)| (from.to_owned(), to.into())).collect();
    if !aliases.is_empty() {
        table.insert("aliases".to_owned(), aliases.into());
    }
    for (key, rule) in [("missing", column.missing_rule()), ("other", column.other_rule())] {
        match rule {
            Rule::Undeclared => None,
            Rule::Drop => table.insert(key.to_owned(), "drop".into()),
            // No panic: a rule's code is the index of a listed value.
            Rule::Become(code) => {
                table.insert(key.to_owned(), column.values()[code as usize].as_str().into())
            }
        };
    }
    table
}
