//! A schema to fill in, made from the header of a file: names and types, never a value. Each column
//! has one line.

use std::fmt::Write;

use super::dictionary::Dictionary;
use super::{Column, CsvOptions, Rule};

/// A column as the file's header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderColumn {
    /// The name.
    pub name: String,
    /// The type of its values, as the format states it, not the data.
    pub hint: TypeHint,
}

/// The type that a format states for the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeHint {
    /// The format states no type.
    Unknown,
    /// Bytes: whole numbers from 0 to 255.
    Byte,
    /// Numbers.
    Number,
    /// Text.
    Text,
    /// False or true.
    Boolean,
    /// A type that a schema cannot describe, such as a list.
    Nested,
}

/// The fewest consecutive numbered columns, such as `x1`, `x2`, ..., that become one pattern.
const MIN_RUN: usize = 4;

/// A template for a table with these columns and CSV options: valid TOML in which every column that
/// needs a decision is ignored.
pub fn template(columns: &[HeaderColumn], csv: &CsvOptions) -> String {
    let mut text = head(csv);
    text.push_str(KINDS);
    // Numbered columns of a file without a header keep a line each: the user renames them.
    let lines = match csv.names {
        None => folded(columns),
        Some(_) => columns.iter().map(|column| (column.name.clone(), column.hint)).collect(),
    };
    for (name, hint) in lines {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{} = {}", key(&name), body(hint));
    }
    text
}

/// A schema for a table with these columns, from a data dictionary. Columns that are not in the
/// dictionary are ignored.
pub(super) fn filled(columns: &[HeaderColumn], csv: &CsvOptions, dictionary: &Dictionary) -> String {
    let mut text = format!("{FROM_DICTIONARY}{}[columns]\n", settings(csv));
    let mut patterns: Vec<&str> = Vec::new();
    for HeaderColumn { name, .. } in columns {
        let declared = dictionary.entry(name);
        let (name, column) =
            declared.map_or((name.as_str(), &Column::Ignore), |(name, column)| (name, column));
        if patterns.contains(&name) {
            continue;
        }
        if declared.is_some() && name.ends_with('*') {
            patterns.push(name);
        }
        let _ = writeln!(text, "{} = {}", key(name), inline(column));
    }
    text
}

const FROM_DICTIONARY: &str = "\
# Made from a data dictionary and the names of the columns: no record was looked at. Check that nothing in the
# dictionary was read off the data: such bounds or categories void the guarantee.
";

const KINDS: &str = "\
# A column is one of:
#   { kind = \"number\", bounds = [LOWER, UPPER], missing = NUMBER }      (or \"integer\"; missing: \
or \"drop\", which sums and means refuse)
#   { kind = \"category\", values = [\"...\", \"...\"], missing = \"drop\", other = \"drop\" }      (or one \
of the values)
#   { kind = \"boolean\", missing = \"drop\" }
[columns]
";

fn head(csv: &CsvOptions) -> String {
    let from = match &csv.names {
        None => "Made from the header alone: no value of the file was looked at.",
        Some(_) => "Made from the number of fields in the first line: no value of the file was looked at.",
    };
    format!(
        "# {from} Every column is ignored until you say what it may\n# hold. Write down what is publicly \
        known; bounds or categories that are read off the data void the guarantee.\n{}",
        settings(csv)
    )
}

/// All keys of the schema except the columns.
fn settings(csv: &CsvOptions) -> String {
    let mut text = String::from(
        "format_version = 1\n\
         unit = \"record\"                # or, where a person has several records: { column = \"...\", \
         max_records = 5 }\n",
    );
    let usual = CsvOptions::default();
    let character = |byte: u8| quoted(&char::from(byte).to_string());
    if let Some(names) = &csv.names {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let _ = writeln!(
            text,
            "csv.names = [{}]      # the file has no header: rename them here and below",
            names.join(", ")
        );
    }
    if csv.header {
        text.push_str("csv.header = true\n");
    }
    if csv.delimiter != usual.delimiter {
        let _ = writeln!(text, "csv.delimiter = {}", character(csv.delimiter));
    }
    if csv.decimal != usual.decimal {
        let _ = writeln!(text, "csv.decimal = {}", character(csv.decimal));
    } else if csv.delimiter == b';' {
        text.push_str("# csv.decimal = \",\"            # if numbers are written 3,5\n");
    }
    if let Some(thousands) = csv.thousands {
        let _ = writeln!(text, "csv.thousands = {}", character(thousands));
    }
    text.push('\n');
    text
}

fn body(hint: TypeHint) -> &'static str {
    match hint {
        TypeHint::Byte => "{ kind = \"integer\", bounds = [0, 255] }",
        TypeHint::Boolean => "{ kind = \"boolean\", missing = \"drop\" }",
        TypeHint::Nested => "{ kind = \"ignore\" }      # a list or a structure: flatten it to use it",
        TypeHint::Number => "{ kind = \"ignore\" }      # numbers",
        TypeHint::Text => "{ kind = \"ignore\" }      # text",
        TypeHint::Unknown => "{ kind = \"ignore\" }",
    }
}

/// A declaration as an inline table.
fn inline(column: &Column) -> String {
    let mut parts = Vec::new();
    match column {
        Column::Ignore => parts.push("kind = \"ignore\"".to_owned()),
        Column::Number(number) => {
            parts.push(format!("kind = \"{}\"", if number.is_whole() { "integer" } else { "number" }));
            let bounds = number.bounds();
            parts.push(format!("bounds = [{}, {}]", spelled(bounds.lower()), spelled(bounds.upper())));
            parts.extend(rule("missing", number.missing_rule(), spelled));
        }
        Column::Category(category) => {
            // No panic: a rule's code is the index of a listed value.
            let value = |code: u32| quoted(&category.values()[code as usize]);
            parts.push(format!("kind = \"{}\"", if category.is_boolean() { "boolean" } else { "category" }));
            if !category.is_boolean() {
                let values: Vec<String> = category.values().iter().map(|value| quoted(value)).collect();
                parts.push(format!("values = [{}]", values.join(", ")));
            }
            parts.extend(rule("missing", category.missing_rule(), value));
            parts.extend(rule("other", category.other_rule(), value));
        }
    }
    format!("{{ {} }}", parts.join(", "))
}

fn rule<T>(key: &str, rule: Rule<T>, value: impl Fn(T) -> String) -> Option<String> {
    match rule {
        Rule::Undeclared => None,
        Rule::Drop => Some(format!("{key} = \"drop\"")),
        Rule::Become(to) => Some(format!("{key} = {}", value(to))),
    }
}

/// The number as TOML: whole numbers below 1e15 without a point.
fn spelled(number: f64) -> String {
    if number.abs() < 1e15 { number.to_string() } else { format!("{number:?}") }
}

/// Replaces runs of numbered columns such as `pixel_0`, `pixel_1`, ... by one pattern.
fn folded(columns: &[HeaderColumn]) -> Vec<(String, TypeHint)> {
    let stem = |column: &HeaderColumn| {
        let stem = column.name.trim_end_matches(|c: char| c.is_ascii_digit());
        (!stem.is_empty() && stem.len() < column.name.len()).then(|| (stem.to_owned(), column.hint))
    };
    let mut folded: Vec<(String, TypeHint)> = Vec::new();
    let runs = columns.chunk_by(|left, right| stem(left).is_some() && stem(left) == stem(right));
    for run in runs {
        match stem(&run[0]) {
            Some((stem, hint)) if hint == TypeHint::Byte || run.len() >= MIN_RUN => {
                let pattern = format!("{stem}*");
                // Two runs with one stem share a pattern.
                if !folded.iter().any(|(name, _)| *name == pattern) {
                    folded.push((pattern, hint));
                }
            }
            _ => folded.extend(run.iter().map(|column| (column.name.clone(), column.hint))),
        }
    }
    folded
}

/// The name as a TOML key: bare where TOML allows it, else quoted.
fn key(name: &str) -> String {
    let is_bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// The text as a basic TOML string, on one line.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        '\t' => "\\t".to_owned(),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
