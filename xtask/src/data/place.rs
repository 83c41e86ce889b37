//! Reading, checking and placing one data file.

use std::io::{Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// A file's content, uncompressed if its name ends in `.gz` (archives are left as they are).
pub(crate) fn content(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    if !is_packed(path) {
        return Ok(bytes);
    }
    let mut content = Vec::new();
    let unpacked = MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut content);
    unpacked.map_err(|error| Failure::file(path, &error))?;
    Ok(content)
}

/// Writes `content` to `path` if its checksum is right, compressed if the name ends in `.gz`.
pub(crate) fn put(path: &Path, content: &[u8], expected: &str) -> Result<(), Failure> {
    let came = sha256(content);
    if came != expected {
        let name = path.display();
        return Err(Failure::check(format!(
            "{name}: expected content with sha256 {expected}, got {came}; not written"
        )));
    }
    let bytes = if is_packed(path) {
        packed(content).map_err(|e| Failure::file(path, &e))?
    } else {
        content.to_vec()
    };
    write_at_once(path, &bytes).map_err(|error| Failure::file(path, &error))
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_packed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".gz") && !name.ends_with(".tar.gz")
}

fn packed(content: &[u8]) -> std::io::Result<Vec<u8>> {
    // The header has no file name and no time, so the same content gives the same file.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

/// Writes a file so that it appears whole or not at all: beside its place, flushed to the disk,
/// then renamed.
fn write_at_once(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let beside = path.with_extension(format!("part-{}", std::process::id()));
    let mut file = std::fs::File::create(&beside)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    let placed = written.and_then(|()| std::fs::rename(&beside, path));
    if placed.is_err() {
        // The error above is the one to report.
        let _ = std::fs::remove_file(&beside);
    }
    placed
}

#[cfg(test)]
mod tests {
    use sordino_testing::Scratch;

    use super::*;

    #[test]
    fn content_is_read_as_it_was_put_and_nothing_else_is_left() {
        let folder = Scratch::new("xtask-put");
        let digest = sha256(b"one,two\n");
        for name in ["plain.csv", "packed.csv.gz"] {
            put(&folder.join(name), b"one,two\n", &digest).unwrap();
            assert_eq!(content(&folder.join(name)).unwrap(), b"one,two\n");
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        assert_eq!(std::fs::read(folder.join("packed.csv.gz")).unwrap()[..2], [0x1f, 0x8b]);
    }

    #[test]
    fn a_wrong_checksum_writes_nothing() {
        let folder = Scratch::new("xtask-wrong");
        let failure = put(&folder.join("a.csv"), b"other", &sha256(b"expected")).unwrap_err();
        assert!(failure.to_string().contains("not written"), "{failure}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn the_digest_is_the_published_one() {
        // FIPS 180-4, the example "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
    }
}
