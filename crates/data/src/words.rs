//! Words from outside: the nearest known one, and quoting that keeps a message a message.
//!
//! Whoever may name a file to be read as a schema must not learn from the refusal
//! what stands in a file that is none.

/// `; did you mean `age`?`, or nothing.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|near| format!("; did you mean {}?", quoted(near))).unwrap_or_default()
}

/// The word in backticks, without control characters, shortened.
pub(crate) fn quoted(word: &str) -> String {
    const LONGEST: usize = 60;
    let start: String = word.chars().take(LONGEST).collect();
    let rest = if start.len() < word.len() { "…" } else { "" };
    format!("`{}{rest}`", start.escape_debug())
}

/// A character as a TOML text.
pub(crate) fn toml_text(character: char) -> String {
    match character {
        '\t' => "\"\\t\"".to_owned(),
        other => format!("\"{other}\""),
    }
}

/// A key of a file that may be anything: short names as they are, and nothing of the rest.
pub(crate) fn name(word: &str) -> &str {
    const LONGEST: usize = 40;
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if word.chars().all(is_name) && word.chars().count() <= LONGEST { word } else { "…" }
}

fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are no slip of the finger, and hostile input must not buy quadratic time.
    const LONGEST: usize = 60;
    let distance = |known: &str| {
        let case_only = known.to_lowercase() == word.to_lowercase();
        if case_only { 0 } else { strsim::osa_distance(word, known) }
    };
    let candidates = known.into_iter().filter(|known| known.len() <= LONGEST && word.len() <= LONGEST);
    let near = candidates.map(|known| (distance(known), known));
    near.filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .min_by_key(|near| near.0)
        .map(|near| near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_other_letter_cases_are_recognised_and_strangers_are_not() {
        let known = ["age", "patient_id", "Income"];
        assert_eq!(nearest("patientid", known), Some("patient_id"));
        assert_eq!(nearest("INCOME", known), Some("Income"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest(&"a".repeat(10_000), known), None);
    }

    #[test]
    fn names_are_shown_and_lines_are_not() {
        assert_eq!((name("max_records"), name("naïve-2")), ("max_records", "naïve-2"));
        assert_eq!((name("root:x:0:0:root:/root:/bin/bash"), name(&"a".repeat(41))), ("…", "…"));
    }

    #[test]
    fn quoted_words_are_short_and_printable() {
        assert_eq!(quoted("a\nb"), "`a\\nb`");
        assert!(quoted(&"é".repeat(10_000)).len() < 200);
    }
}
