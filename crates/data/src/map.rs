//! Files as memory: the one place of this crate with `unsafe`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;

/// A file, mapped: read by the system page by page as it is touched,
/// and dropped again under pressure.
///
/// The file must not be changed while it is mapped; that is the owner's
/// part, and is documented at the doors.
#[derive(Clone)]
pub(crate) struct MappedFile(Arc<Mmap>);

impl MappedFile {
    /// Maps an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and private to this process, and lives as long as whoever
        // shares it. What `Mmap::map` asks beyond that is that nobody truncates or rewrites the
        // file meanwhile. No program can enforce this; files that we map are either inputs, which
        // their owner leaves alone while they are read, or caches, which are written under another
        // name, renamed into place once and never written again. Every read of the map is a read of
        // plain bytes by code that checks offsets and lengths against it, so that torn content is
        // an error or a wrong value within its bounds, as it would be if the file were read; a
        // truncation is a bus error, not a wrong answer.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self(Arc::new(map)))
    }

    /// The content.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }

    /// Gives back the memory of the pages that hold `part`; they are read again when they are
    /// touched again. Does nothing where the system does not know how, or `part` lies elsewhere.
    #[cfg(unix)]
    pub(crate) fn drop_pages(&self, part: &[f32]) {
        let (start, first) = (self.0.as_ptr().addr(), part.as_ptr().addr());
        let Some(offset) = first.checked_sub(start) else { return };
        if offset.checked_add(size_of_val(part)).is_none_or(|end| end > self.0.len()) {
            return;
        }
        // SAFETY: what makes this advice dangerous is that changes to private pages are lost. The
        // map is read-only: there are none, and a page that is dropped comes back from the file
        // with the same content, also while others read it.
        let dropped = unsafe {
            self.0.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, size_of_val(part))
        };
        // Advice that was not taken costs memory and nothing else.
        drop(dropped);
    }

    /// There is no such advice here.
    #[cfg(not(unix))]
    pub(crate) fn drop_pages(&self, _part: &[f32]) {}
}

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
