//! Handles Ctrl-C, and says how to resume.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// On Unix, the first SIGINT or SIGTERM sets `flag`, and the second exits at once with status 2.
/// Elsewhere this does nothing.
pub(crate) fn on_request(flag: &Arc<AtomicBool>) {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        for signal in [SIGINT, SIGTERM] {
            // The handlers run in this order: at the first signal the flag is still false, so only
            // the second one exits.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 2, Arc::clone(flag))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(flag)));
        }
    }
    #[cfg(not(unix))]
    let _ = flag;
}

/// The command line that resumes this run.
pub(crate) fn command_to_resume() -> String {
    resuming(&std::env::args().collect::<Vec<_>>())
}

/// The words as a shell reads them, with `--resume` once.
fn resuming(words: &[String]) -> String {
    let line = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    if words.iter().any(|word| word == "--resume") { line } else { format!("{line} --resume") }
}

/// The word, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{quoted, resuming};

    /// A flag that stood in the middle was added once more, and the line was refused.
    #[test]
    fn a_run_is_resumed_by_a_line_with_one_flag() {
        let line = |text: &str| resuming(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(line("sordino train a.csv"), "sordino train a.csv --resume");
        assert_eq!(line("sordino train --resume a.csv"), "sordino train --resume a.csv");
        assert_eq!(line("sordino train a.csv --resume"), "sordino train a.csv --resume");
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quoted("a/b.csv"), "a/b.csv");
        assert_eq!(quoted("my file"), "'my file'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
