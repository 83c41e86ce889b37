//! gzip and zstd, recognised by their first bytes.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};
use zstd::stream::read::Decoder;

use super::kept::{Digesting, KeptFile};
use crate::error::DataError;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The bytes of the content from which a format is recognised.
const MAGIC_BYTES: u64 = 1024;
/// The largest window of a zstd frame, 256 MiB: memory must not depend on the file.
const ZSTD_WINDOW_LOG: u32 = 28;

/// The content of a file, unpacked if it is packed. The digest is that of the packed file.
pub(super) enum Unpacked {
    Plain(BufReader<Digesting>),
    Gzip(Box<MultiGzDecoder<BufReader<Digesting>>>),
    Zstd(Box<Decoder<'static, BufReader<Digesting>>>),
}

impl Unpacked {
    pub(super) fn open(file: &KeptFile) -> Result<Self, DataError> {
        Self::of(Digesting::new(file)).map_err(|source| DataError::io(file.path(), source))
    }

    fn of(file: Digesting) -> io::Result<Self> {
        let mut input = BufReader::with_capacity(1 << 16, file);
        let start = input.fill_buf()?;
        if start.starts_with(GZIP) {
            Ok(Self::Gzip(Box::new(MultiGzDecoder::new(input))))
        } else if start.starts_with(ZSTD) {
            let mut decoder = Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Ok(Self::Zstd(Box::new(decoder)))
        } else {
            Ok(Self::Plain(input))
        }
    }

    /// The SHA-256 of the whole file, including all bytes after the content.
    pub(super) fn finish(self) -> io::Result<[u8; 32]> {
        // Bytes that are left in a buffer were digested when they were read.
        let file = match self {
            Self::Plain(input) => input,
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.finish(),
        };
        file.into_inner().finish()
    }
}

impl Read for Unpacked {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(bytes),
            Self::Gzip(decoder) => decoder.read(bytes),
            Self::Zstd(decoder) => decoder.read(bytes),
        }
    }
}

/// The first bytes of the content.
pub(super) fn magic(file: &KeptFile) -> Result<Vec<u8>, DataError> {
    let mut start = Vec::new();
    let read = Unpacked::open(file)?.take(MAGIC_BYTES).read_to_end(&mut start);
    read.map_err(|source| DataError::io(file.path(), source))?;
    Ok(start)
}

/// The SHA-256 of the unpacked content of a packed file; `None` if the file is not packed.
pub(super) fn unpacked_digest(file: &KeptFile) -> Result<Option<[u8; 32]>, DataError> {
    let mut content = match Unpacked::open(file)? {
        Unpacked::Plain(_) => return Ok(None),
        packed @ (Unpacked::Gzip(_) | Unpacked::Zstd(_)) => packed,
    };
    let mut hash = Sha256::new();
    let mut bytes = vec![0; 1 << 16];
    loop {
        match content.read(&mut bytes).map_err(|source| DataError::io(file.path(), source))? {
            0 => return Ok(Some(hash.finalize().into())),
            read => hash.update(&bytes[..read]),
        }
    }
}

/// The length of the content in bytes. A packed file has to be read for it.
pub(super) fn content_length(file: &KeptFile) -> Result<u64, DataError> {
    let length = match Unpacked::open(file)? {
        Unpacked::Plain(_) => file.length(),
        mut packed @ (Unpacked::Gzip(_) | Unpacked::Zstd(_)) => io::copy(&mut packed, &mut io::sink()),
    };
    length.map_err(|source| DataError::io(file.path(), source))
}
