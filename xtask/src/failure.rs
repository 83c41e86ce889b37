//! The failure of a chore: a message and an exit code.

use std::fmt;
use std::path::Path;

/// Why a chore stopped.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    exit_code: u8,
}

impl Failure {
    /// A check did not pass.
    pub(crate) fn check(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit_code: 1 }
    }

    /// The chore could not run: a wrong command line, or something missing on this machine.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit_code: 2 }
    }

    /// The file system refused.
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        Self::usage(format!("{}: {error}", path.display()))
    }

    pub(crate) fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
