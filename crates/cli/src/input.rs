//! Reads a claim to account for, from a file or standard input: bounded in size, checked before
//! use.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sordino::prelude::*;
use sordino_run::RunError;

use crate::error::Error;

/// The largest input in bytes, as large as the reader of claims allows.
const LIMIT: u64 = Claim::MAX_BYTES as u64;

/// Some editors write this before UTF-8 text; it is not part of the text (RFC 8259, section 8.1).
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The claim in `path` (`-` is standard input). `asked` is the relation that a flag names, if any:
/// it completes a bare event, and must agree with a file that states its own.
pub(crate) fn claim(path: &Path, asked: Option<Neighbours>) -> Result<Claim, Error> {
    let name = name(path);
    let text = text(path, &name)?;
    let claim = Claim::from_json(&text).map_err(|source| Error::Claim { name: name.clone(), source })?;
    match asked {
        None => Ok(claim),
        Some(asked) if asked == claim.neighbours || is_bare(&text) => Ok(Claim::new(asked, claim.event)),
        Some(asked) => Err(Error::TwoRelations { name, stated: claim.neighbours, asked }),
    }
}

/// Whether the text is a bare event, which states no relation.
fn is_bare(text: &str) -> bool {
    serde_json::from_str::<Event>(text).is_ok()
}

fn name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn text(path: &Path, name: &str) -> Result<String, Error> {
    let failed = |source| RunError::Read { name: name.to_owned(), source };
    let bytes = if is_standard_input(path) {
        at_most(io::stdin().lock(), LIMIT)
    } else if path.is_dir() {
        // Opening a directory succeeds on some systems and fails obscurely on others.
        return Err(Error::Directory { name: name.to_owned() });
    } else {
        File::open(path).and_then(|file| at_most(file, LIMIT))
    };
    let bytes =
        bytes.map_err(failed)?.ok_or_else(|| Error::TooLong { name: name.to_owned(), limit: LIMIT })?;
    let mut text = String::from_utf8(bytes).map_err(|error| Error::NotText {
        name: name.to_owned(),
        position: error.utf8_error().valid_up_to() + 1,
    })?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok(text)
}

/// All bytes of `source`, or `None` if there are more than `limit`. It reads no further, so an
/// endless source does no harm.
fn at_most(source: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(if bytes.len() as u64 > limit { None } else { Some(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_source_is_cut_off() {
        assert_eq!(at_most(io::repeat(b'['), 1000).unwrap(), None);
        assert_eq!(at_most(&b"1234"[..], 4).unwrap().as_deref(), Some(&b"1234"[..]));
        assert_eq!(at_most(&b"12345"[..], 4).unwrap(), None);
    }
}
