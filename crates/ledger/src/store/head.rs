//! A witness beside the ledger: the last entry that was known to be durable.
//!
//! A hash chain cannot tell a history from its own beginning, and neither can SQLite where its
//! write-ahead log was lost or is damaged: it goes on with what is left. So the head is written
//! into a small file after each commit, and a ledger that no longer contains it has lost entries.
//!
//! The witness is a lower bound. It is written after the commit and without a barrier, so a crash
//! may leave an older one; that is weaker, never wrong. It is overwritten in place by lines of one
//! length, so a killed process leaves the old line or the new one. A line that does not read, after
//! a loss of power, witnesses nothing.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::entry::Head;
use crate::error::LedgerError;

/// Twenty digits, a space, the hash, a space, eight digits of the hash of these, a line feed.
const LENGTH: usize = 20 + 1 + 64 + 1 + 8 + 1;

#[derive(Debug)]
pub(super) struct Witness {
    pub(super) path: PathBuf,
}

impl Witness {
    pub(super) fn beside(ledger: &Path) -> Self {
        let mut path = ledger.as_os_str().to_owned();
        path.push("-head");
        Self { path: path.into() }
    }

    pub(super) fn read(&self) -> Result<Option<Head>, LedgerError> {
        let mut text = String::new();
        match File::open(&self.path).and_then(|file| file.take(LENGTH as u64 + 1).read_to_string(&mut text)) {
            Ok(_) => Ok(parse(&text)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => Ok(None),
            Err(source) => Err(self.failed("read", source)),
        }
    }

    pub(super) fn write(&self, head: Head) -> Result<(), LedgerError> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.path)
            .map_err(|source| self.failed("open", source))?;
        file.write_all(line(head).as_bytes()).map_err(|source| self.failed("write", source))
    }

    fn failed(&self, doing: &'static str, source: std::io::Error) -> LedgerError {
        LedgerError::Io { doing, path: self.path.clone(), source }
    }
}

fn line(head: Head) -> String {
    let words = format!("{:020} {}", head.number, head.hash);
    let check = Digest::of(words.as_bytes()).to_string();
    format!("{words} {}\n", &check[..8])
}

fn parse(text: &str) -> Option<Head> {
    let mut words = text.split_ascii_whitespace();
    let head = Head { number: words.next()?.parse().ok()?, hash: words.next()?.parse().ok()? };
    (line(head) == text).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_and_any_other_witnesses_nothing() {
        for number in [1, 17, u64::MAX] {
            let head = Head { number, hash: Digest::of(b"x") };
            let text = line(head);
            assert_eq!((text.len(), parse(&text)), (LENGTH, Some(head)));
            assert_eq!(parse(&text[..LENGTH - 1]), None);
            for place in 0..LENGTH {
                let mut bytes = text.clone().into_bytes();
                bytes[place] ^= 1;
                assert_eq!(parse(&String::from_utf8(bytes).unwrap()), None, "{place}");
            }
        }
    }
}
