//! Values from outside in messages, and words without case and punctuation.
//!
//! A refusal shows short names only: a person who may name any file as a network must
//! not read files of other kinds by it.

use serde_json::Value;

/// A value of a known field in a message: numbers, and of others the type.
pub(super) fn shown(value: &Value) -> String {
    let is_plain = |value: &Value| value.is_number() || value.is_boolean();
    match value {
        Value::Array(items) if items.len() <= 8 && items.iter().all(is_plain) => value.to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) | Value::String(_) => kind(value).to_owned(),
    }
}

/// The type of a value that may be anything.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

/// Small letters and digits: `MaxPool2d`, as PyTorch has it, is then `maxpool`.
pub(super) fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    let small: String = letters.flat_map(char::to_lowercase).collect();
    ["1d", "2d", "3d"].iter().find_map(|end| small.strip_suffix(end)).unwrap_or(&small).to_owned()
}
