//! Formats whose libraries are features of this crate, and a fence that turns panics of those
//! libraries into errors.

use super::Layout;
use super::kept::KeptFile;
use crate::error::DataError;
#[cfg(any(feature = "parquet", feature = "arrow"))]
pub(crate) use fence::{fenced, fenced_rows};

#[cfg(feature = "parquet")]
pub(super) fn parquet(file: &KeptFile) -> Result<Layout, DataError> {
    use super::parquet::{FORMAT, ParquetLayout};
    fenced(file.path(), FORMAT, || ParquetLayout::new(file)).map(Layout::Parquet)
}

#[cfg(feature = "arrow")]
pub(super) fn arrow(file: &KeptFile) -> Result<Layout, DataError> {
    use super::arrow::{ArrowLayout, FORMAT};
    fenced(file.path(), FORMAT, || ArrowLayout::new(file)).map(Layout::Arrow)
}

#[cfg(not(feature = "parquet"))]
pub(super) fn parquet(file: &KeptFile) -> Result<Layout, DataError> {
    Err(left_out(file, "the Parquet format"))
}

#[cfg(not(feature = "arrow"))]
pub(super) fn arrow(file: &KeptFile) -> Result<Layout, DataError> {
    Err(left_out(file, "the Arrow IPC format"))
}

#[cfg(not(all(feature = "parquet", feature = "arrow")))]
fn left_out(file: &KeptFile, what: &str) -> DataError {
    let instead = "this program was built without it; build it with its default features";
    DataError::Unsupported { path: file.path().to_owned(), what: what.to_owned(), instead }
}

/// The libraries of these formats panic on some damaged files. The fence turns such a panic into an
/// error. Reading ends with it, so nothing uses the library's state again.
#[cfg(any(feature = "parquet", feature = "arrow"))]
mod fence {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::{Path, PathBuf};

    use super::super::ReadRows;
    use crate::error::DataError;
    use crate::misfit::Notes;
    use crate::raw::RawChunk;

    struct Fenced {
        path: PathBuf,
        format: &'static str,
        rows: Box<dyn ReadRows>,
    }

    impl ReadRows for Fenced {
        fn read(&mut self, chunk: &mut RawChunk, rows: usize, misfits: &mut Notes) -> Result<(), DataError> {
            fenced(&self.path, self.format, || self.rows.read(chunk, rows, misfits))
        }

        fn finish(self: Box<Self>) -> Result<[u8; 32], DataError> {
            self.rows.finish()
        }
    }

    /// A reader whose panics become errors.
    pub(crate) fn fenced_rows(
        path: &Path,
        format: &'static str,
        open: impl FnOnce() -> Result<Box<dyn ReadRows>, DataError>,
    ) -> Result<Box<dyn ReadRows>, DataError> {
        let rows = fenced(path, format, open)?;
        Ok(Box::new(Fenced { path: path.to_owned(), format, rows }))
    }

    /// Does `work`, and turns a panic into an error.
    pub(crate) fn fenced<T>(
        path: &Path,
        format: &'static str,
        work: impl FnOnce() -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            let reason = "its parts contradict each other; was it copied whole?".to_owned();
            Err(DataError::Damaged { path: path.to_owned(), format, reason })
        })
    }
}
