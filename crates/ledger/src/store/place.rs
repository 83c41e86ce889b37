//! Makes sure that the file of a ledger has one name only.
//!
//! SQLite keeps log and locks beside the path under which it opens a file; the witness is there
//! too. Under a second path the same file has another log and other locks, and two processes could
//! spend from two histories.
//!
//! # Guarantee
//! Opening a ledger fails if the file has a second hard link or is a mount point by itself. Every
//! charge checks, under its lock, that the path still leads to the file that was opened, and that
//! the file has no second link. Symbolic links are resolved first, so they all lead to the same
//! path.
//!
//! # Limits
//! A copy is another ledger. So is a file that was moved without its log. Hard links are checked on
//! Unix only, mount points on Linux only.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use crate::error::LedgerError;

/// The path of a ledger, and the identity of its file.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    file: FileId,
}

impl Place {
    /// Finds the file that `path` leads to, and checks it. Does not open it: closing a second
    /// handle would release SQLite's locks.
    pub(super) fn find(path: &Path) -> Result<Self, LedgerError> {
        let wrap = |source| LedgerError::Io { doing: "open", path: path.to_owned(), source };
        let place = fs::canonicalize(path).map_err(wrap)?;
        let file = FileId::of(&fs::metadata(&place).map_err(wrap)?);
        let found = Self { path: place, file };
        found.check()?;
        if is_mount_point(&found.path)? {
            return Err(LedgerError::MountPoint { path: found.path });
        }
        Ok(found)
    }

    /// The path, without symbolic links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the path still leads to this file, and that it has no second hard link.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        let path = || self.path.clone();
        // Whatever the error is, the file cannot be found under its path.
        let now = fs::symlink_metadata(&self.path).map_err(|_| LedgerError::Moved { path: path() })?;
        if FileId::of(&now) != self.file {
            return Err(LedgerError::Moved { path: path() });
        }
        match links(&now) {
            // Some file systems do not count links, and report 0.
            0 | 1 => Ok(()),
            links => Err(LedgerError::HardLinked { path: path(), links }),
        }
    }
}

/// The identity of a file, whatever its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

#[cfg(unix)]
impl FileId {
    fn of(file: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: file.dev(), inode: file.ino() }
    }
}

#[cfg(not(unix))]
impl FileId {
    fn of(_: &Metadata) -> Self {
        Self {}
    }
}

#[cfg(unix)]
fn links(file: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(file)
}

#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}

/// Is `path`, which has no symbolic links, a mount point by itself?
#[cfg(target_os = "linux")]
fn is_mount_point(path: &Path) -> Result<bool, LedgerError> {
    use std::os::unix::ffi::OsStrExt;

    let list = Path::new("/proc/self/mountinfo");
    let text = fs::read(list).map_err(|source| LedgerError::Io {
        doing: "look for mounted files in",
        path: list.to_owned(),
        source,
    })?;
    Ok(mount_points(&text).any(|point| point == path.as_os_str().as_bytes()))
}

#[cfg(not(target_os = "linux"))]
fn is_mount_point(_: &Path) -> Result<bool, LedgerError> {
    Ok(false)
}

/// The mount points: the fifth field of every line (Linux manual page `proc_pid_mountinfo(5)`).
#[cfg(target_os = "linux")]
fn mount_points(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(unescaped)
}

/// Undoes the escapes: spaces, tabs, line feeds and backslashes are written as `\` and three octal
/// digits.
#[cfg(target_os = "linux")]
fn unescaped(field: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(field.len()), field);
    while let [first, after @ ..] = rest {
        match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] if *first == b'\\' => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn mount_points_are_read_with_their_escapes_undone() {
        let text = br"22 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw
36 35 98:0 /a.ledger /srv/two\040words/a\134040.ledger rw,noatime master:1 - ext4 /dev/root rw
37 35 98:0 / /mnt/\303\244\011\012x rw - tmpfs tmpfs rw
half a line";
        let found: Vec<Vec<u8>> = mount_points(text).collect();
        let expected = [&b"/"[..], br"/srv/two words/a\040.ledger", "/mnt/ä\t\nx".as_bytes()];
        assert_eq!(found, expected);
        // Anything else stays as it is.
        assert_eq!(unescaped(br"\9\04x\400\"), br"\9\04x\400\");
    }

    #[test]
    fn the_root_is_a_mount_point_and_a_file_is_none() {
        assert!(is_mount_point(Path::new("/")).unwrap());
        assert!(!is_mount_point(&std::env::current_exe().unwrap()).unwrap());
    }
}
