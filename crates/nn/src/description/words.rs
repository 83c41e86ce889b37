//! Words from outside: the nearest known one, and quoting that keeps a message a message.
//!
//! Whoever may name a file to be read as a network must not learn from the refusal what stands in a
//! file that is none.

use serde_json::Value;

/// `; did you mean `conv2d`?`, or all known words where none is near.
pub(super) fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; there are {}", known.join(", ")),
    }
}

/// In backticks, if it could be a name.
pub(super) fn quoted(word: &str) -> String {
    format!("`{}`", name(word))
}

/// A word of a file that may be anything: short names as they are, and nothing of the rest.
pub(super) fn name(word: &str) -> &str {
    const LONGEST: usize = 40;
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if word.chars().all(is_name) && word.chars().count() <= LONGEST { word } else { "…" }
}

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

fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    // Longer words are no slip of the finger, and hostile input must not buy quadratic time.
    const LONGEST: usize = 60;
    let word = plain(word.get(..LONGEST).unwrap_or(word));
    let near = known.iter().map(|known| (strsim::osa_distance(&word, &plain(known)), *known));
    let near = near.filter(|(distance, known)| word.len() < LONGEST && *distance <= 1 + known.len() / 4);
    near.min_by_key(|near| near.0).map(|near| near.1)
}

/// Small letters and digits: `MaxPool2d`, as PyTorch has it, is then `maxpool`.
pub(super) fn plain(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    let small: String = letters.flat_map(char::to_lowercase).collect();
    ["1d", "2d", "3d"].iter().find_map(|end| small.strip_suffix(end)).unwrap_or(&small).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_the_names_of_pytorch_are_recognised_and_strangers_are_not() {
        let known = ["linear", "conv2d", "max_pool", "group_norm", "leaky_relu"];
        assert_eq!(nearest("MaxPool2d", &known), Some("max_pool"));
        assert_eq!(nearest("GroupNorm", &known), Some("group_norm"));
        assert_eq!(nearest("con2d", &known), Some("conv2d"));
        assert_eq!(nearest("banana", &known), None);
        assert_eq!(nearest(&"é".repeat(10_000), &known), None);
        assert_eq!(hint("x", &["a b", "cdefg"]), "; there are a b, cdefg");
    }

    #[test]
    fn names_are_shown_and_lines_are_not() {
        assert_eq!((name("max_pool"), name("naïve-2")), ("max_pool", "naïve-2"));
        assert_eq!((name("root:x:0:0:root:/root:/bin/bash"), name(&"a".repeat(41))), ("…", "…"));
        assert_eq!(quoted("a\nb"), "`…`");
    }
}
