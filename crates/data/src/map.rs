//! Files as memory: the one place of this crate with `unsafe`.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use crate::error::DataError;

/// The content of a file, mapped: read by the system page by page as it is touched, and dropped again under pressure.
///
/// The file must not be changed while it is mapped; that is the owner's part, and is documented at the doors.
pub(crate) fn file(path: &Path) -> Result<Bytes, DataError> {
    let file = File::open(path).map_err(|source| DataError::io(path, source))?;
    // SAFETY: the map is read-only and private to this process, and lives as long as the `Bytes` that owns it. What
    // `Mmap::map` asks beyond that is that nobody truncates or rewrites the file meanwhile. No program can enforce this;
    // files that we map are either inputs, which their owner leaves alone while they are read, or caches, which are
    // written under another name, renamed into place once and never written again. Every read of the map is a read
    // of plain bytes by code that checks offsets and lengths against it, so that torn content is an error or a wrong
    // value within its bounds, as it would be if the file were read; a truncation is a bus error, not a wrong answer.
    let map = unsafe { Mmap::map(&file) }.map_err(|source| DataError::io(path, source))?;
    Ok(Bytes::from_owner(map))
}
