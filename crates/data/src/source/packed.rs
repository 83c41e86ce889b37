//! gzip and zstd, recognised by their first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::DataError;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// What recognition looks at.
const MAGIC_BYTES: u64 = 1024;
/// A frame that asks for a larger window (256 MiB) is refused: memory must not depend on the file.
const ZSTD_WINDOW_LOG: u32 = 28;

/// The content of the file, unpacked if it is packed.
pub(super) fn unpacked(file: File) -> io::Result<Box<dyn Read>> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    let start = input.fill_buf()?;
    if start.starts_with(GZIP) {
        Ok(Box::new(MultiGzDecoder::new(input)))
    } else if start.starts_with(ZSTD) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG)?;
        Ok(Box::new(decoder))
    } else {
        Ok(Box::new(input))
    }
}

/// The first bytes of the content.
pub(super) fn magic(path: &Path) -> Result<Vec<u8>, DataError> {
    let mut start = Vec::new();
    let read = super::open(path)?.take(MAGIC_BYTES).read_to_end(&mut start);
    read.map_err(|source| DataError::io(path, source))?;
    Ok(start)
}
