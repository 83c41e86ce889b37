//! A schema to fill in, from the header of a file: names and types, never a value.

use std::fmt::Write;

/// What a file says of a column before its first record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderColumn {
    /// The name.
    pub name: String,
    /// What the format, not the data, says of its values.
    pub hint: TypeHint,
}

/// What a format says of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeHint {
    /// Anything.
    Unknown,
    /// Bytes: whole numbers from 0 to 255.
    Byte,
    /// Numbers.
    Number,
    /// Text.
    Text,
    /// False or true.
    Boolean,
    /// Nothing that a schema can describe, such as a list.
    Nested,
}

/// A template for a table of these columns: valid TOML in which every column that needs a decision is ignored.
pub fn template(columns: &[HeaderColumn]) -> String {
    let mut text = String::from(HEAD);
    for (name, hint) in folded(columns) {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\n[columns.{}]\n{}", key(&name), body(hint));
    }
    text
}

const HEAD: &str = "\
# Made from the header alone: no value of the file was looked at. Every column is ignored until you say what it may
# hold. Write down what is publicly known; bounds or categories that are read off the data void the guarantee.
format_version = 1
unit = \"record\"                # or, where a person has several records: { column = \"...\", max_records = 5 }
";

const NUMBER: &str = "\
# kind = \"number\"              # or \"integer\"
# bounds = [LOWER, UPPER]
# missing = \"drop\"             # or a number within the bounds
";
const CATEGORY: &str = "\
# kind = \"category\"            # or \"boolean\", which needs no values
# values = [\"...\", \"...\"]
# missing = \"drop\"             # or one of the values
# other = \"drop\"               # or one of the values: where values that are not listed go
";

fn body(hint: TypeHint) -> String {
    let ignored = |rest: &str| format!("kind = \"ignore\"\n{rest}");
    match hint {
        TypeHint::Byte => "kind = \"integer\"\nbounds = [0, 255]\n".to_owned(),
        TypeHint::Boolean => "kind = \"boolean\"\nmissing = \"drop\"\n".to_owned(),
        TypeHint::Nested => ignored("# a list or a structure: flatten it to use it\n"),
        TypeHint::Number => ignored(NUMBER),
        TypeHint::Text => ignored(CATEGORY),
        TypeHint::Unknown => ignored(&format!("{NUMBER}# or\n{CATEGORY}")),
    }
}

/// Runs of byte columns such as `pixel_0`, `pixel_1`, ... become one pattern.
fn folded(columns: &[HeaderColumn]) -> Vec<(String, TypeHint)> {
    let mut folded: Vec<(String, TypeHint)> = Vec::new();
    for column in columns {
        let stem = column.name.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_numbered = column.hint == TypeHint::Byte && stem.len() < column.name.len();
        let name = if is_numbered { format!("{stem}*") } else { column.name.clone() };
        if folded.last().is_none_or(|(last, _)| *last != name) {
            folded.push((name, column.hint));
        }
    }
    folded
}

/// The name as a key: bare where TOML allows it, else a basic string on one line.
fn key(name: &str) -> String {
    let is_bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(is_bare) {
        return name.to_owned();
    }
    let escaped = name.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
