//! Memory-mapped files: the only `unsafe` code of this crate.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;

/// A memory-mapped file. The system reads its pages when they are touched, and drops them when
/// memory runs short.
///
/// Nobody may change the file while it is mapped; the owner has to see to that.
#[derive(Clone)]
pub(crate) struct MappedFile(Arc<Mmap>);

impl MappedFile {
    /// Maps an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and private to this process, and lives as long as its last
        // clone. `Mmap::map` also asks that nobody truncates or rewrites the file meanwhile. No
        // program can enforce this; files that we map are either inputs, which their owner leaves
        // alone while they are read, or caches, which are written under another name, renamed into
        // place once and never written again. Every read of the map is a read of plain bytes by
        // code that checks offsets and lengths against it, so torn content is an error or a wrong
        // value within its bounds, as it would be if the file were read; a truncation is a bus
        // error, not a wrong answer.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self(Arc::new(map)))
    }

    /// The content.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }

    /// Releases the pages that hold `part`; the system reads them again when they are touched. Does
    /// nothing if the system does not support it, or if `part` lies outside of the map.
    #[cfg(unix)]
    pub(crate) fn drop_pages(&self, part: &[f32]) {
        let (start, first) = (self.0.as_ptr().addr(), part.as_ptr().addr());
        let Some(offset) = first.checked_sub(start) else { return };
        if offset.checked_add(size_of_val(part)).is_none_or(|end| end > self.0.len()) {
            return;
        }
        // SAFETY: this advice is dangerous because it loses changes to private pages. The map is
        // read-only, so there are no changes, and a dropped page comes back from the file with the
        // same content, even while others read it.
        let dropped = unsafe {
            self.0.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, size_of_val(part))
        };
        // If the system ignores the advice, the pages merely stay in memory.
        drop(dropped);
    }

    /// Does nothing: this system has no such advice.
    #[cfg(not(unix))]
    pub(crate) fn drop_pages(&self, _part: &[f32]) {}
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
