//! From TOML to a checked schema. It walks the tables by hand, so that each message names the
//! column and the nearest known word.

use sordino_privacy::Count;
use sordino_spelling::{hint, name as shown_name, quoted};
use toml::{Table, Value};

use super::csv::{DECIMALS, THOUSANDS};
use super::{
    Bounds, CategoryColumn, Column, CsvOptions, NumberColumn, Rule, SCHEMA_FORMAT_VERSION, SCHEMA_MAX_BYTES,
    Schema, SchemaError, UnitRule,
};

const KINDS: [&str; 5] = ["number", "integer", "category", "boolean", "ignore"];

pub(super) fn schema(text: &str) -> Result<Schema, SchemaError> {
    if text.len() > SCHEMA_MAX_BYTES {
        return Err(SchemaError::TooLong { bytes: text.len(), limit: SCHEMA_MAX_BYTES });
    }
    let table: Table = text.parse().map_err(|error: toml::de::Error| syntax(text, &error))?;
    let fields = Fields { place: "the schema".to_owned(), table: &table };
    fields.known(&["format_version", "unit", "csv", "columns"])?;
    version(&fields)?;
    let unit = fields.optional("unit").map_or(Ok(UnitRule::Record), |value| unit(&fields, value))?;
    let csv = fields.optional("csv").map_or(Ok(CsvOptions::default()), |value| csv(&fields, value))?;
    let columns = match fields.optional("columns") {
        None => return Err(SchemaError::NoColumns),
        Some(value) => {
            value.as_table().ok_or_else(|| fields.wrong("columns", "a table of columns", value))?
        }
    };
    let columns = columns.iter().map(|(name, value)| Ok((name.clone(), column(name, value)?)));
    Schema::checked(unit, csv, columns.collect::<Result<_, SchemaError>>()?)
}

/// The parser's message, with line and column. It speaks of TOML alone. The parser's excerpt is
/// left out: it would show a line of a file that may hold anything.
fn syntax(text: &str, error: &toml::de::Error) -> SchemaError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = String::from_utf8_lossy(&text.as_bytes()[..start]);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    let reason = error.message().lines().next().unwrap_or("cannot be read");
    SchemaError::Syntax { message: format!("line {line}, column {column}: {reason}") }
}

fn version(fields: &Fields<'_>) -> Result<(), SchemaError> {
    let Some(value) = fields.optional("format_version") else { return Ok(()) };
    match value.as_integer() {
        Some(version) if version == i64::from(SCHEMA_FORMAT_VERSION) => Ok(()),
        Some(got) if got > i64::from(SCHEMA_FORMAT_VERSION) => {
            Err(SchemaError::Version { got, known: SCHEMA_FORMAT_VERSION })
        }
        _ => Err(fields.wrong("format_version", "a whole number from 1", value)),
    }
}

fn unit(fields: &Fields<'_>, value: &Value) -> Result<UnitRule, SchemaError> {
    const EXPECTED: &str = "\"record\" or { column = \"...\", max_records = ... }";
    if value.as_str() == Some("record") {
        return Ok(UnitRule::Record);
    }
    let table = value.as_table().ok_or_else(|| fields.wrong("unit", EXPECTED, value))?;
    let fields = Fields { place: "unit".to_owned(), table };
    fields.known(&["column", "max_records"])?;
    let advice = "name the column that says whose record it is";
    let column = fields.text("column")?.ok_or_else(|| fields.missing("column", advice))?;
    let advice = "say how many records of one unit are used at most: noise grows with it";
    let most = fields.optional("max_records").ok_or_else(|| fields.missing("max_records", advice))?;
    let whole = most.as_integer().and_then(|most| u64::try_from(most).ok());
    let whole = whole.ok_or_else(|| fields.wrong("max_records", "a whole number from 1", most))?;
    Ok(UnitRule::Column { column: column.to_owned(), max_records: Count::new(whole)? })
}

fn csv(outer: &Fields<'_>, value: &Value) -> Result<CsvOptions, SchemaError> {
    let table = value.as_table().ok_or_else(|| outer.wrong("csv", "a table", value))?;
    let fields = Fields { place: "csv".to_owned(), table };
    fields.known(&["names", "header", "delimiter", "comment", "missing", "decimal", "thousands"])?;
    let usual = CsvOptions::default();
    let options = CsvOptions {
        names: fields.texts("names")?,
        header: fields.truth("header")?.unwrap_or(usual.header),
        delimiter: fields.ascii("delimiter")?.unwrap_or(usual.delimiter),
        comment: fields.ascii("comment")?,
        missing: fields.texts("missing")?.unwrap_or(usual.missing),
        decimal: fields.one_of("decimal", DECIMALS)?.unwrap_or(usual.decimal),
        thousands: fields.one_of("thousands", THOUSANDS)?,
    };
    options.check()?;
    Ok(options)
}

fn column(name: &str, value: &Value) -> Result<Column, SchemaError> {
    let place = format!("column {}", quoted(name));
    let table = value.as_table().ok_or_else(|| SchemaError::Type {
        place: place.clone(),
        key: "it".to_owned(),
        expected: "a table with a kind".to_owned(),
        got: shown(value),
    })?;
    let fields = Fields { place, table };
    let advice = "write kind = \"number\", \"integer\", \"category\", \"boolean\" or \"ignore\"";
    let kind = fields.text("kind")?.ok_or_else(|| fields.missing("kind", advice))?;
    match kind {
        "number" | "integer" => number(&fields, kind == "integer").map_err(|e| named(e, name)),
        "category" => category(&fields).map_err(|e| named(e, name)),
        "boolean" => boolean(&fields).map_err(|e| named(e, name)),
        "ignore" => fields.known(&["kind"]).map(|()| Column::Ignore),
        other => Err(SchemaError::Type {
            place: fields.place.clone(),
            key: "kind".to_owned(),
            expected: KINDS.map(|kind| format!("\"{kind}\"")).join(" or "),
            got: format!("`{}`{}", shown_name(other), hint(other, KINDS)),
        }),
    }
}

/// Adds the column's name to errors about values; errors about keys already name it.
fn named(error: SchemaError, column: &str) -> SchemaError {
    let is_named = matches!(
        error,
        SchemaError::UnknownKey { .. } | SchemaError::Type { .. } | SchemaError::MissingKey { .. }
    );
    if is_named { error } else { error.of_column(column) }
}

fn number(fields: &Fields<'_>, whole: bool) -> Result<Column, SchemaError> {
    fields.known(&["kind", "bounds", "missing"])?;
    let advice = "write bounds = [LOWER, UPPER] from public knowledge, not from the data";
    let bounds = fields.optional("bounds").ok_or_else(|| fields.missing("bounds", advice))?;
    let pair: Option<Vec<f64>> = bounds.as_array().map(|ends| ends.iter().filter_map(float).collect());
    let (lower, upper) = match (pair.as_deref(), bounds.as_array().map(Vec::len)) {
        (Some(&[lower, upper]), Some(2)) => (lower, upper),
        _ => return Err(fields.wrong("bounds", "two numbers, [LOWER, UPPER]", bounds)),
    };
    let column = NumberColumn::new(Bounds::new(lower, upper)?);
    let column = if whole { column.whole() } else { column };
    let missing = match fields.optional("missing") {
        None => Rule::Undeclared,
        Some(Value::String(word)) if word == "drop" => Rule::Drop,
        Some(value) => {
            let number = float(value).filter(|value| column.accepts(*value));
            let expected = if whole { "a whole number or \"drop\"" } else { "a number or \"drop\"" };
            Rule::Become(number.ok_or_else(|| fields.wrong("missing", expected, value))?)
        }
    };
    Ok(Column::Number(column.missing(missing)?))
}

fn category(fields: &Fields<'_>) -> Result<Column, SchemaError> {
    fields.known(&["kind", "values", "aliases", "missing", "other"])?;
    let advice = "list them from public knowledge, not from the data: values = [\"no\", \"yes\"]";
    let values = fields.texts("values")?.ok_or_else(|| fields.missing("values", advice))?;
    let mut column = CategoryColumn::new(values)?;
    if let Some(aliases) = fields.optional("aliases") {
        let wrong = || fields.wrong("aliases", "a table of spellings and values, { N = \"no\" }", aliases);
        for (spelling, value) in aliases.as_table().ok_or_else(wrong)? {
            column = column.alias(spelling, &word(value).ok_or_else(wrong)?)?;
        }
    }
    rules(fields, column)
}

fn boolean(fields: &Fields<'_>) -> Result<Column, SchemaError> {
    fields.known(&["kind", "missing", "other"])?;
    rules(fields, CategoryColumn::boolean())
}

fn rules(fields: &Fields<'_>, column: CategoryColumn) -> Result<Column, SchemaError> {
    let read = |key: &str| -> Result<Option<String>, SchemaError> {
        let Some(value) = fields.optional(key) else { return Ok(None) };
        word(value).map(Some).ok_or_else(|| fields.wrong(key, "\"drop\" or one of values", value))
    };
    let (missing, other) = (read("missing")?, read("other")?);
    let column = column.missing(rule(missing.as_deref()))?.other(rule(other.as_deref()))?;
    Ok(Column::Category(column))
}

fn rule(word: Option<&str>) -> Rule<&str> {
    match word {
        None => Rule::Undeclared,
        Some("drop") => Rule::Drop,
        Some(value) => Rule::Become(value),
    }
}

/// One table, with its place for messages.
struct Fields<'a> {
    place: String,
    table: &'a Table,
}

impl<'a> Fields<'a> {
    fn known(&self, known: &[&str]) -> Result<(), SchemaError> {
        match self.table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(SchemaError::UnknownKey {
                place: self.place.clone(),
                key: shown_name(key).to_owned(),
                known: known.join(", "),
                hint: hint(key, known.iter().copied()),
            }),
        }
    }

    fn optional(&self, key: &str) -> Option<&'a Value> {
        self.table.get(key)
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, SchemaError> {
        let Some(value) = self.optional(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.wrong(key, "text in quotes", value))
    }

    /// A list of texts; whole numbers and booleans become their usual spelling.
    fn texts(&self, key: &str) -> Result<Option<Vec<String>>, SchemaError> {
        let Some(value) = self.optional(key) else { return Ok(None) };
        let words = value.as_array().and_then(|list| list.iter().map(word).collect::<Option<Vec<_>>>());
        words.map(Some).ok_or_else(|| self.wrong(key, "a list of texts or whole numbers", value))
    }

    fn ascii(&self, key: &str) -> Result<Option<u8>, SchemaError> {
        let Some(value) = self.optional(key) else { return Ok(None) };
        match value.as_str().map(str::as_bytes) {
            Some(&[byte]) if byte.is_ascii() && !b"\"\r\n".contains(&byte) => Ok(Some(byte)),
            _ => Err(self.wrong(key, "one ASCII character, no quote and no line end", value)),
        }
    }

    fn one_of(&self, key: &str, known: &[u8]) -> Result<Option<u8>, SchemaError> {
        let Some(value) = self.optional(key) else { return Ok(None) };
        match value.as_str().map(str::as_bytes) {
            Some(&[byte]) if known.contains(&byte) => Ok(Some(byte)),
            _ => {
                let known: Vec<String> =
                    known.iter().map(|byte| format!("\"{}\"", char::from(*byte))).collect();
                Err(self.wrong(key, &known.join(" or "), value))
            }
        }
    }

    fn truth(&self, key: &str) -> Result<Option<bool>, SchemaError> {
        let Some(value) = self.optional(key) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.wrong(key, "true or false", value))
    }

    fn wrong(&self, key: &str, expected: &str, value: &Value) -> SchemaError {
        let (place, key) = (self.place.clone(), key.to_owned());
        SchemaError::Type { place, key, expected: expected.to_owned(), got: shown(value) }
    }

    fn missing(&self, key: &'static str, advice: &'static str) -> SchemaError {
        SchemaError::MissingKey { place: self.place.clone(), key, advice }
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(truth) => Some(truth.to_string()),
        Value::Float(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        // Bounds beyond 2^53 round to the nearest double, which is then the bound.
        Value::Integer(number) => Some(*number as f64),
        Value::String(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

/// A value for a message: numbers and texts that look like names are shown, others only by type.
fn shown(value: &Value) -> String {
    let is_plain = |value: &Value| matches!(value, Value::Integer(_) | Value::Float(_) | Value::Boolean(_));
    match value {
        Value::String(text) => match shown_name(text) {
            shown if shown == text => format!("`{shown}`"),
            _ => "a text".to_owned(),
        },
        Value::Array(items) if items.len() <= 8 && items.iter().all(is_plain) => value.to_string(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => value.to_string(),
        Value::Datetime(_) => "a date or a time".to_owned(),
    }
}
