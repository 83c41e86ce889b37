//! Checks the widths of lines in Rust sources. `rustfmt` wraps code, but neither comments nor
//! strings.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::run;

/// The most columns in a line of code, as in `rustfmt.toml`.
const MAX_CODE: usize = 110;
/// The most columns in a line of prose in a comment. Tables, code blocks and links may be as wide
/// as code.
const MAX_PROSE: usize = 100;

/// Checks every Rust file of the project.
pub(crate) fn check() -> Result<(), Failure> {
    let mut problems = Vec::new();
    for folder in ["crates", "bench", "xtask", "fuzz", "python"] {
        for file in rust_below(&run::root().join(folder))? {
            let text = std::fs::read_to_string(&file).map_err(|error| Failure::file(&file, &error))?;
            problems.extend(too_wide(&text).map(|line| format!("{}:{line}", file.display())));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::check(problems.join("\n"))) }
}

/// A line that is too wide. Lines are counted from 1.
#[derive(Debug, PartialEq, Eq)]
struct Wide {
    line: usize,
    columns: usize,
    limit: usize,
}

impl fmt::Display for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} columns, at most {}", self.line, self.columns, self.limit)
    }
}

fn too_wide(text: &str) -> impl Iterator<Item = Wide> {
    let mut in_block = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let limit = match comment(line) {
            None => {
                in_block = false;
                MAX_CODE
            }
            Some(prose) => {
                let is_fence = prose.starts_with("```");
                in_block ^= is_fence;
                let is_prose = !in_block && !is_fence && !prose.starts_with('|') && !prose.contains("://");
                if is_prose { MAX_PROSE } else { MAX_CODE }
            }
        };
        let columns = line.chars().count();
        (columns > limit).then_some(Wide { line: number + 1, columns, limit })
    })
}

/// The text of a comment that has its own line.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

/// All Rust files below a folder; none if the folder does not exist.
fn rust_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Failure::file(folder, &error))?.path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_may_be_wider_than_prose() {
        let of = |start: &str, columns: usize| format!("{start}{}", "ε".repeat(columns - start.len()));
        let columns = |text: &str| too_wide(text).map(|wide| wide.columns).collect::<Vec<_>>();
        for prose in ["    // ", "/// ", "//! "] {
            assert_eq!(columns(&format!("{}\n{}", of(prose, 100), of(prose, 101))), [101], "{prose}");
        }
        for other in ["let x = ", "/// | a | ", "//! <https://", "    \""] {
            assert_eq!(columns(&format!("{}\n{}", of(other, 110), of(other, 111))), [111], "{other}");
        }
        let block = format!("/// ```\n{}\n/// ```\n{}", of("/// ", 110), of("/// ", 101));
        assert_eq!(columns(&block), [101]);
    }

    #[test]
    fn lines_are_named_by_number() {
        let text = format!("fn f() {{}}\n// {}\n", "a".repeat(98));
        let wide = too_wide(&text).next().unwrap();
        assert_eq!(wide.to_string(), "2: 101 columns, at most 100");
    }
}
