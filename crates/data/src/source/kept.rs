//! A file that is opened once. Every pass reads the open file, wherever its path leads by then, and
//! digests what it reads.
//!
//! A program that digests a file by its path and then opens the path again may read two files, if a
//! link was moved in between. Here the path is used once. Comparing the digests of two passes shows
//! whether somebody wrote to the file in between.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::error::DataError;

/// Bytes per read, when only the digest is wanted.
const BUFFER: usize = 1 << 16;

/// An open file. Clones are the same file; readers do not disturb each other.
#[derive(Clone)]
pub(crate) struct KeptFile(Arc<Inner>);

struct Inner {
    path: PathBuf,
    file: File,
    bytes_read: AtomicU64,
    /// Readers take turns on systems without positioned reads.
    #[cfg(not(any(unix, windows)))]
    turn: std::sync::Mutex<()>,
}

impl KeptFile {
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        let failed = |source| DataError::io(path, source);
        // Checked before opening, too: opening a pipe blocks until its other end is open.
        check_kind(path, &std::fs::metadata(path).map_err(failed)?)?;
        let file = File::open(path).map_err(failed)?;
        check_kind(path, &file.metadata().map_err(failed)?)?;
        Ok(Self(Arc::new(Inner {
            path: path.to_owned(),
            file,
            bytes_read: AtomicU64::new(0),
            #[cfg(not(any(unix, windows)))]
            turn: std::sync::Mutex::new(()),
        })))
    }

    /// The path by which it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether both are the same opening of a file.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    #[cfg(feature = "arrow")]
    pub(crate) fn file(&self) -> &File {
        &self.0.file
    }

    pub(crate) fn length(&self) -> io::Result<u64> {
        self.0.file.metadata().map(|metadata| metadata.len())
    }

    /// Bytes that all readers of this file have read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.0.bytes_read.load(Ordering::Relaxed)
    }

    /// A new reader that starts at this byte.
    pub(crate) fn reader(&self, at: u64) -> KeptReader {
        KeptReader { file: self.clone(), at }
    }

    /// The SHA-256 of the whole file.
    pub(crate) fn digest(&self) -> Result<[u8; 32], DataError> {
        Digesting::new(self).finish().map_err(|source| DataError::io(self.path(), source))
    }

    /// The error of a pass that found other bytes than the pass before.
    pub(crate) fn changed(&self) -> DataError {
        DataError::Changed { path: self.path().to_owned() }
    }

    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.0.file, bytes, at)
    }

    #[cfg(windows)]
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.0.file, bytes, at)
    }

    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        use std::io::{Seek, SeekFrom};
        // A poisoned lock does no harm: each reader seeks first.
        let _turn = self.0.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut file = &self.0.file;
        file.seek(SeekFrom::Start(at))?;
        file.read(bytes)
    }
}

fn check_kind(path: &Path, metadata: &Metadata) -> Result<(), DataError> {
    if metadata.is_dir() {
        return Err(DataError::Directory { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(DataError::NotAFile { path: path.to_owned() });
    }
    Ok(())
}

/// Reads a kept file in order.
pub(crate) struct KeptReader {
    file: KeptFile,
    at: u64,
}

impl Read for KeptReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = loop {
            match self.file.read_at(bytes, self.at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.at += read as u64;
        self.file.0.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Reads a kept file from its start, and digests what it reads.
pub(crate) struct Digesting {
    input: KeptReader,
    hash: Sha256,
}

impl Digesting {
    pub(crate) fn new(file: &KeptFile) -> Self {
        Self { input: file.reader(0), hash: Sha256::new() }
    }

    /// The SHA-256 of the whole file: what was not read yet is read now.
    pub(crate) fn finish(mut self) -> io::Result<[u8; 32]> {
        let mut rest = vec![0; BUFFER];
        while self.read(&mut rest)? > 0 {}
        Ok(self.hash.finalize().into())
    }
}

impl Read for Digesting {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes)?;
        self.hash.update(&bytes[..read]);
        Ok(read)
    }
}

/// The digest of a table whose labels are in a second file: it covers both files.
pub(crate) fn with_labels(records: [u8; 32], labels: Option<[u8; 32]>) -> [u8; 32] {
    let Some(labels) = labels else { return records };
    let mut hash = Sha256::new();
    hash.update(b"sordino: a file of records and a file of labels, version 1\n");
    hash.update(records);
    hash.update(labels);
    hash.finalize().into()
}
