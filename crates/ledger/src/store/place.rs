//! One file, one name.
//!
//! SQLite keeps a file's log and locks beside the name under which it was opened, and the witness stands there too. Under a second
//! name the same file has another log and other locks, so that two processes would decide on two histories.
//!
//! # Guarantee
//! A file with a second hard link, and a file that is a mount point by itself, are refused when a ledger is opened. Under the
//! lock of every charge the name must still be that of the file that was opened, and its only one. Symbolic links are
//! followed first: whoever comes through one finds the same name.
//!
//! # Limits
//! A copy of the file is another file, and so is a file that was moved away from its log. Hard links are counted on Unix alone, and
//! mount points are looked up on Linux alone.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use crate::error::LedgerError;

/// The file of a ledger, by the one name that it has.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    file: FileId,
}

impl Place {
    /// The file that `path` leads to. It is not opened here: closing a second handle would give up SQLite's locks on it.
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

    /// Without symbolic links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Is this still the file, and has it no other name?
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        let path = || self.path.clone();
        // Whatever keeps the name from being looked up, the file is not to be found under it.
        let now = fs::symlink_metadata(&self.path).map_err(|_| LedgerError::Moved { path: path() })?;
        if FileId::of(&now) != self.file {
            return Err(LedgerError::Moved { path: path() });
        }
        match links(&now) {
            // Some file systems do not count.
            0 | 1 => Ok(()),
            links => Err(LedgerError::HardLinked { path: path(), links }),
        }
    }
}

/// What a file is, whatever it is called.
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

/// Is the file at `path`, without symbolic links, bound to this place by a mount of its own?
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

/// The fifth field of every line (Linux manual page `proc_pid_mountinfo(5)`).
#[cfg(target_os = "linux")]
fn mount_points(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(unescaped)
}

/// Spaces, tabs, line feeds and backslashes are written as `\` and three octal digits.
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
        // What is no escape stands for itself.
        assert_eq!(unescaped(br"\9\04x\400\"), br"\9\04x\400\");
    }

    #[test]
    fn the_root_is_a_mount_point_and_a_file_is_none() {
        assert!(is_mount_point(Path::new("/")).unwrap());
        assert!(!is_mount_point(&std::env::current_exe().unwrap()).unwrap());
    }
}
