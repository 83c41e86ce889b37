//! Ctrl-C, and how to go on afterwards.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::Error;

/// A flag that the first request to stop sets, and the second no longer waits for. Where a run cannot be stopped midway the
/// system's own way of stopping it stays.
pub(crate) fn on_request(can_stop: bool) -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    if can_stop {
        use signal_hook::consts::{SIGINT, SIGTERM};
        for signal in [SIGINT, SIGTERM] {
            let failed = |source| Error::Signals { source };
            // In this order: the second of two requests finds the flag set.
            signal_hook::flag::register_conditional_shutdown(signal, 2, Arc::clone(&flag)).map_err(failed)?;
            signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(failed)?;
        }
    }
    #[cfg(not(unix))]
    let _ = can_stop;
    Ok(flag)
}

/// The command line that goes on with this run.
pub(crate) fn command_to_resume() -> String {
    let words = std::env::args().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ");
    if words.ends_with(" --resume") { words } else { format!("{words} --resume") }
}

/// As a shell reads it back.
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
