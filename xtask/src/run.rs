//! Starts other programs, and reports their failures.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::failure::Failure;

/// The folder of the workspace's `Cargo.toml`, as Cargo reports it at run time. (A path compiled
/// into the program may be that of another checkout, because builds are shared between checkouts.)
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        // `xtask` is directly below the root.
        let own = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        own.as_deref().and_then(Path::parent).unwrap_or(Path::new(".")).to_owned()
    });
    &ROOT
}

/// The Cargo that started this program.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Cargo's target directory.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Runs a command to its end, with its output shown.
pub(crate) fn shown(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::check(format!("failed ({status}): {}", written(command))))
}

/// Runs a command to its end and returns its standard output. Its standard error is shown.
pub(crate) fn captured(command: &mut Command) -> Result<String, Failure> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| not_started(command, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Failure::check(format!("failed ({}): {}", output.status, written(command))))
}

/// The command as a person would type it.
pub(crate) fn written(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    let program = command.get_program().to_string_lossy();
    if error.kind() == ErrorKind::NotFound {
        return Failure::usage(format!("`{program}` is not installed or not on the PATH"));
    }
    Failure::usage(format!("could not start `{program}`: {error}"))
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("'{word}'")
    } else {
        word.into_owned()
    }
}
