//! Scratch folders: a new empty folder for one test, gone when the test is done.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A new empty folder under the system's temporary directory; removed when dropped.
///
/// It is named after the test and the process, so that tests and processes do not meet. A folder
/// that an earlier process with the same number left is emptied first. It dereferences to its path.
///
/// ```
/// let scratch = sordino_testing::Scratch::new("doc-of-scratch");
/// std::fs::write(scratch.join("a.csv"), "x\n1\n")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A folder for the test of this name, which no other test of the workspace has.
    #[track_caller]
    pub fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sordino-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let made = fs::create_dir_all(&folder).and_then(|()| folder.canonicalize());
        Self(made.unwrap_or_else(|error| panic!("{}: {error}", folder.display())))
    }

    /// The path of a new file in the folder, with this content.
    #[track_caller]
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A test that took away its own permissions leaves the folder to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// The path of one file, which need not exist, in a [`Scratch`] folder of its own. It dereferences
/// to the path.
#[derive(Debug)]
pub struct ScratchFile {
    path: PathBuf,
    _folder: Scratch,
}

impl ScratchFile {
    /// A file of this name in the folder of the test.
    #[track_caller]
    pub fn new(test: &str, name: &str) -> Self {
        let folder = Scratch::new(test);
        Self { path: folder.join(name), _folder: folder }
    }
}

impl Deref for ScratchFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for ScratchFile {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_new_empty_and_gone_afterwards() {
        let earlier = std::env::temp_dir().join(format!("sordino-scratch-{}", std::process::id()));
        fs::create_dir_all(&earlier).unwrap();
        fs::write(earlier.join("left"), "by an earlier process").unwrap();
        let scratch = Scratch::new("scratch");
        assert_eq!(fs::read_dir(&*scratch).unwrap().count(), 0);
        let path = scratch.file("a", "b");
        assert_eq!((path.parent(), fs::read(&path).unwrap()), (Some(&*scratch), b"b".to_vec()));
        drop(scratch);
        assert!(!earlier.exists());
    }
}
