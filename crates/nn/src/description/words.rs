//! Words from outside: the nearest known one, and quoting that keeps a message a message.

/// `; did you mean `conv2d`?`, or all known words where none is near.
pub(super) fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; there are {}", known.join(", ")),
    }
}

/// In backticks, without control characters, shortened.
pub(super) fn quoted(word: &str) -> String {
    format!("`{}`", shortened(word))
}

/// Without control characters, and not longer than a line.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    let start: String = text.chars().take(LONGEST).collect();
    let rest = if start.len() < text.len() { "…" } else { "" };
    format!("{}{rest}", start.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>())
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
    fn quoted_words_are_short_and_printable() {
        assert_eq!(quoted("a\nb"), "`a b`");
        assert!(quoted(&"é".repeat(10_000)).len() < 200);
    }
}
