//! Handles Ctrl-C, and says how to resume.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes the first request to stop set the flag, and the second end the process at once. A system
/// without such handlers stops the process in its own way.
pub(crate) fn on_request(flag: &Arc<AtomicBool>) {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        for signal in [SIGINT, SIGTERM] {
            // In this order, so that only the second request finds the flag set and shuts down.
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 2, Arc::clone(flag))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(flag)));
        }
    }
    #[cfg(not(unix))]
    let _ = flag;
}

/// The command line that resumes this run.
pub(crate) fn command_to_resume() -> String {
    let words = std::env::args().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ");
    if words.ends_with(" --resume") { words } else { format!("{words} --resume") }
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
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quoted("a/b.csv"), "a/b.csv");
        assert_eq!(quoted("my file"), "'my file'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
