//! The nearest known word to one that is not known.

/// The word of `known` that needs the fewest edits to become `word`, if it is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are no slip of the finger, and hostile input must not buy quadratic time.
    if word.len() > 40 {
        return None;
    }
    let near = |candidate: &str| distance(word, candidate) <= 1 + candidate.len() / 4;
    known.into_iter().filter(|c| near(c)).min_by_key(|c| distance(word, c))
}

/// `, did you mean `sigma`?`, or nothing.
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Words from outside, shortened so that a message stays a message.
pub(crate) fn quoted(word: &str) -> String {
    const LONGEST: usize = 40;
    if word.chars().count() <= LONGEST {
        format!("`{}`", word.escape_debug())
    } else {
        let start: String = word.chars().take(LONGEST).collect();
        format!("`{}…`", start.escape_debug())
    }
}

/// A word of a file that may be anything: short names as they are, and nothing of the rest.
pub(crate) fn name_of(word: &str) -> String {
    const LONGEST: usize = 40;
    let is_name = word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if is_name && word.chars().count() <= LONGEST { quoted(word) } else { "`…`".to_owned() }
}

/// Levenshtein distance: insertions, deletions and changes of a letter.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("sgima", "sigma"), 2);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["gaussian", "laplace", "sigma"];
        assert_eq!(nearest("gausian", known), Some("gaussian"));
        assert_eq!(nearest("sgima", known), Some("sigma"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest(&"g".repeat(1000), known), None);
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(quoted("a\nb"), "`a\\nb`");
        assert!(quoted(&"x".repeat(10_000)).len() < 60);
    }
}
