//! Words from outside in messages: "did you mean", and quoting that keeps a message short.
//!
//! A word that a person typed is [`quoted`]. A word of a file that may be anything is shown by
//! [`name`] or [`quoted_name`]: whoever may name a file to be read must not learn from the refusal
//! what stands in a file of another kind.
//!
//! ```
//! use sordino_spelling::hint;
//!
//! let known = ["gaussian", "laplace"];
//! assert_eq!(hint("gausian", known), "; did you mean `gaussian`?");
//! assert_eq!(hint("banana", known), "");
//! ```

/// Longer words are no slip of the finger, and hostile input must not buy quadratic time.
const LONGEST_WORD: usize = 60;

/// Longer words of an unknown file are not taken for names.
const LONGEST_NAME: usize = 40;

/// The word of `known` that `word` is most likely a slip of, if any is near enough.
///
/// Near means at most one edit (a letter inserted, removed, changed, or swapped with its neighbour)
/// more than a quarter of the known word's letters. Case and punctuation are no edits: `MaxPool` is
/// `max_pool`.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let folded = fold(word);
    let candidates = known.into_iter().filter(|known| known.len() <= LONGEST_WORD);
    let measured = candidates.map(|known| (strsim::osa_distance(&folded, &fold(known)), known));
    measured
        .filter(|(edits, known)| *edits <= 1 + known.chars().count() / 4)
        // Among equally near words, take the one whose case and punctuation agree.
        .min_by_key(|(edits, known)| (*edits, strsim::osa_distance(word, known)))
        .map(|(_, known)| known)
}

/// ``; did you mean `sigma`?``, or nothing where no known word is near.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|near| format!("; did you mean {}?", quoted(near))).unwrap_or_default()
}

/// ``; did you mean `conv2d`?``, or all known words where none is near.
pub fn hint_or_all(word: &str, known: &[&str]) -> String {
    let hint = hint(word, known.iter().copied());
    if hint.is_empty() { format!("; there are {}", known.join(", ")) } else { hint }
}

/// The word in backticks, without control characters, and shortened.
pub fn quoted(word: &str) -> String {
    let start: String = word.chars().take(LONGEST_WORD).collect();
    let rest = if start.len() < word.len() { "…" } else { "" };
    format!("`{}{rest}`", start.escape_debug())
}

/// A word of a file that may be anything: short names as they are, `…` for the rest.
pub fn name(word: &str) -> &str {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if word.chars().all(is_name) && word.chars().count() <= LONGEST_NAME { word } else { "…" }
}

/// [`name`] in backticks.
pub fn quoted_name(word: &str) -> String {
    format!("`{}`", name(word))
}

/// Small letters and digits; the word itself where it has none.
fn fold(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    let folded: String = letters.flat_map(char::to_lowercase).collect();
    if folded.is_empty() { word.to_owned() } else { folded }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["gaussian", "laplace", "sigma", "age", "patient_id", "Income", "ill"];
        for (word, meant) in [
            ("gausian", "gaussian"),
            ("sgima", "sigma"),
            ("patientid", "patient_id"),
            ("patient-id", "patient_id"),
            ("INCOME", "Income"),
            ("agee", "age"),
            ("il", "ill"),
        ] {
            assert_eq!(nearest(word, known), Some(meant), "{word}");
        }
        for stranger in ["banana", "", "x", &"g".repeat(1000), &"é".repeat(10_000)] {
            assert_eq!(nearest(stranger, known), None, "{stranger}");
        }
    }

    #[test]
    fn names_of_other_systems_are_recognised() {
        let known = ["linear", "conv2d", "max_pool", "average_pool", "group_norm", "leaky_relu"];
        for (word, meant) in [
            ("MaxPool2d", "max_pool"),
            ("GroupNorm", "group_norm"),
            ("con2d", "conv2d"),
            ("Conv1d", "conv2d"),
            ("LeakyReLU", "leaky_relu"),
            ("Linear", "linear"),
        ] {
            assert_eq!(nearest(word, known), Some(meant), "{word}");
        }
    }

    #[test]
    fn of_equally_near_words_the_one_in_the_same_case_is_meant() {
        assert_eq!(nearest("Sex", ["SEX", "sex", "se_x"]), Some("sex"));
        assert_eq!(nearest("b", ["a", "B", "c"]), Some("B"));
        assert_eq!(nearest("%%", ["--", "%"]), Some("%"));
    }

    #[test]
    fn a_hint_names_one_word_or_all() {
        assert_eq!(hint("x", ["cdefg"]), "");
        assert_eq!(hint_or_all("x", &["a b", "cdefg"]), "; there are a b, cdefg");
        assert_eq!(hint_or_all("cdef", &["a b", "cdefg"]), "; did you mean `cdefg`?");
    }

    #[test]
    fn names_are_shown_and_lines_are_not() {
        assert_eq!((name("max_records"), name("naïve-2")), ("max_records", "naïve-2"));
        assert_eq!((name("root:x:0:0:root:/root:/bin/bash"), name(&"a".repeat(41))), ("…", "…"));
        assert_eq!(quoted_name("a\nb"), "`…`");
    }

    #[test]
    fn quoted_words_are_short_and_printable() {
        assert_eq!(quoted("a\nb"), "`a\\nb`");
        assert!(quoted(&"x".repeat(10_000)).len() < 80);
        assert!(quoted(&"é".repeat(10_000)).len() < 200);
    }

    proptest! {
        /// One letter too many, too few or changed in a word of at least four letters is always
        /// seen.
        #[test]
        fn one_slip_is_always_recognised(
            word in "[a-z]{4,20}",
            at in any::<prop::sample::Index>(),
            slip in 0..3
        ) {
            let at = at.index(word.len());
            let (head, tail) = word.split_at(at);
            let typed = match slip {
                0 => format!("{head}x{tail}"),
                1 => format!("{head}{}", &tail[1..]),
                _ => format!("{head}x{}", &tail[1..]),
            };
            prop_assert_eq!(nearest(&typed, [word.as_str(), "0123456789"]), Some(word.as_str()));
        }
    }
}
