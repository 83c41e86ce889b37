//! The file of a checkpoint: a head that people can read, and vectors in binary.
//!
//! # Format, version 3
//! | bytes | what |
//! |---|---|
//! | 19 | `sordino checkpoint`, a line end |
//! | 8 | length of the head, at most 2²⁴ |
//! | that length | the head: JSON |
//! | 8 for each number | the vectors that are stored here, in the order of the head |
//! | 32 | SHA-256 of everything before |
//!
//! Integers and doubles are little-endian, and doubles keep every bit. Numbers and vectors have the
//! names that the run gave them. A vector of zeros or an empty one (the state of a rule that has
//! none, the average that is the last iterate) is a word in the head. Version 1 was JSON
//! throughout, about twenty bytes for each number, and version 2 had only gradient descent; both
//! are refused by name.
//!
//! # Pitfalls
//! Reading needs at most four times the file's length of memory, whatever the head says: there are
//! at most four vectors of one length, the first is always in the file, and the head must state the
//! true length of the file. The checksum detects accidents, not adversaries: anyone who can write
//! the file can write its digest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sordino_privacy::Statement;

use super::{CHECKPOINT_FORMAT_VERSION, Snapshot};

const MAGIC: &[u8] = b"sordino checkpoint\n";
/// Bytes of the digest.
const DIGEST: usize = 32;
/// The most vectors of a checkpoint.
const MAX_VECTORS: usize = 4;
/// The most bytes of a head.
const MAX_HEAD: u64 = 1 << 24;
/// Numbers that are converted to bytes at a time.
const CHUNK: usize = 4096;

/// The vectors, by name.
pub(crate) type Vectors = BTreeMap<String, Vec<f64>>;

/// The digest at the end of a file.
pub(crate) type Digest = [u8; DIGEST];

/// Everything but the vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub(crate) format_version: u32,
    /// The path that the file was written to.
    pub(crate) place: PathBuf,
    /// The digest of everything public that the run depends on. A resumed run must have the same.
    pub(crate) run: String,
    /// Steps between two checkpoints.
    pub(crate) every: u64,
    /// Whether no step can have begun after this checkpoint was written.
    pub(crate) is_final: bool,
    /// What was paid so far.
    pub(crate) guarantee: Statement,
    pub(crate) step: u64,
    pub(crate) numbers: BTreeMap<String, f64>,
    /// The length of each vector that is not empty.
    dimension: u64,
    /// How each vector is stored.
    vectors: Vec<(String, Stored)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    /// Its numbers are in the file.
    Here,
    /// All its numbers are 0.
    Zeros,
    /// It is empty.
    Nothing,
}

/// The part of a head that every version has.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

/// Why a file cannot be read as a checkpoint.
pub(crate) enum Failed {
    System(io::Error),
    Content(String),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl Head {
    /// The head of a file with this content.
    pub(crate) fn new(
        place: &Path,
        run: &str,
        every: u64,
        is_final: bool,
        paid: &Statement,
        snapshot: &Snapshot<'_>,
    ) -> Self {
        let mut vectors: Vec<_> =
            snapshot.vectors.iter().map(|(name, vector)| ((*name).to_owned(), Stored::of(vector))).collect();
        // The first is stored even if it is all zeros: its length bounds those of the others.
        vectors.iter_mut().take(1).for_each(|(_, stored)| *stored = Stored::Here);
        Self {
            format_version: CHECKPOINT_FORMAT_VERSION,
            place: place.to_owned(),
            run: run.to_owned(),
            every,
            is_final,
            guarantee: paid.clone(),
            step: snapshot.step,
            numbers: snapshot.numbers.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect(),
            dimension: snapshot.vectors.first().map_or(0, |(_, vector)| vector.len() as u64),
            vectors,
        }
    }

    /// Whether there are at most [`MAX_VECTORS`] vectors, and the first is in the file.
    fn is_bounded(&self) -> bool {
        let first = self.vectors.first().map(|(_, stored)| *stored);
        first == Some(Stored::Here) && self.vectors.len() <= MAX_VECTORS
    }

    /// How many numbers are in the file; `None` on overflow.
    fn numbers(&self) -> Option<u64> {
        let here = self.vectors.iter().filter(|(_, stored)| *stored == Stored::Here).count();
        self.dimension.checked_mul(here as u64)
    }
}

impl Stored {
    fn of(vector: &[f64]) -> Self {
        if vector.is_empty() {
            Self::Nothing
        } else if vector.iter().all(|number| number.to_bits() == 0) {
            Self::Zeros
        } else {
            Self::Here
        }
    }
}

/// Writes a whole file, and returns its digest.
pub(crate) fn write(to: impl Write, head: &Head, snapshot: &Snapshot<'_>) -> io::Result<Digest> {
    let has_length = |length: usize| length == 0 || length as u64 == head.dimension;
    if !head.is_bounded() || !snapshot.vectors.iter().all(|(_, vector)| has_length(vector.len())) {
        return Err(io::Error::other("a checkpoint has one to four vectors of one length"));
    }
    let mut to = Hashed { inner: to, digest: Sha256::new() };
    let text = serde_json::to_vec(head)?;
    if text.len() as u64 > MAX_HEAD {
        return Err(io::Error::other("the guarantee is too long for a checkpoint"));
    }
    to.write_all(MAGIC)?;
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(&text)?;
    for ((_, vector), (_, stored)) in snapshot.vectors.iter().zip(&head.vectors) {
        if *stored == Stored::Here {
            write_numbers(&mut to, vector)?;
        }
    }
    let Hashed { mut inner, digest } = to;
    let digest: Digest = digest.finalize().into();
    inner.write_all(&digest)?;
    Ok(digest)
}

/// Reads a whole file: head, vectors and digest, which is checked.
pub(crate) fn read(path: &Path) -> Result<(Head, Vectors, Digest), Failed> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut from = Hashed { inner: file.take(length), digest: Sha256::new() };
    let head = read_head(&mut from, length)?;
    let dimension = usize::try_from(head.dimension).map_err(|_| Failed::Content(altered()))?;
    let mut vectors = Vectors::new();
    for (name, stored) in &head.vectors {
        let vector = match stored {
            Stored::Here => read_numbers(&mut from, dimension)?,
            Stored::Zeros => vec![0.0; dimension],
            Stored::Nothing => Vec::new(),
        };
        vectors.insert(name.clone(), vector);
    }
    let Hashed { mut inner, digest } = from;
    let mut stated = [0; DIGEST];
    inner.read_exact(&mut stated)?;
    if digest.finalize()[..] != stated {
        return Err(Failed::Content(altered()));
    }
    Ok((head, vectors, stated))
}

/// The digest that a file states, not checked.
pub(crate) fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-(DIGEST as i64)))?;
    let mut stated = [0; DIGEST];
    file.read_exact(&mut stated)?;
    Ok(stated)
}

/// Reads a head of this version, and checks that it states the length of the file.
fn read_head(from: &mut impl Read, length: u64) -> Result<Head, Failed> {
    let mut magic = Vec::new();
    from.take(MAGIC.len() as u64).read_to_end(&mut magic)?;
    if magic.starts_with(b"{") {
        return Err(Failed::Content(other_version("1, which is text")));
    }
    if magic != MAGIC {
        return Err(Failed::Content(
            "it is not a checkpoint of Sordino; name the file that a run has left".to_owned(),
        ));
    }
    let mut size = [0; 8];
    from.read_exact(&mut size)?;
    let size = u64::from_le_bytes(size);
    if size > MAX_HEAD.min(length) {
        return Err(Failed::Content(altered()));
    }
    let mut text = Vec::new();
    from.take(size).read_to_end(&mut text)?;
    let unreadable = |error: serde_json::Error| Failed::Content(format!("{}: {error}", altered()));
    let Version { format_version } = serde_json::from_slice(&text).map_err(unreadable)?;
    if format_version != CHECKPOINT_FORMAT_VERSION {
        return Err(Failed::Content(other_version(&format_version.to_string())));
    }
    let head: Head = serde_json::from_slice(&text).map_err(unreadable)?;
    let fixed = (MAGIC.len() + 8 + DIGEST) as u64 + size;
    let stated_length = head.numbers().and_then(|numbers| numbers.checked_mul(8)?.checked_add(fixed));
    if !head.is_bounded() || stated_length != Some(length) {
        return Err(Failed::Content(altered()));
    }
    Ok(head)
}

fn other_version(version: &str) -> String {
    format!(
        "it has format version {version}, and this program knows {CHECKPOINT_FORMAT_VERSION}; \
        finish the run with the program that started it"
    )
}

fn altered() -> String {
    "it was truncated or altered after it was written; the run cannot resume from it, and what was charged \
    stays charged"
        .to_owned()
}

fn write_numbers(to: &mut impl Write, numbers: &[f64]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(8 * CHUNK);
    for chunk in numbers.chunks(CHUNK) {
        bytes.clear();
        chunk.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        to.write_all(&bytes)?;
    }
    Ok(())
}

fn read_numbers(from: &mut impl Read, count: usize) -> io::Result<Vec<f64>> {
    let mut numbers = Vec::with_capacity(count);
    let mut bytes = [0; 8 * CHUNK];
    while numbers.len() < count {
        let chunk = &mut bytes[..8 * CHUNK.min(count - numbers.len())];
        from.read_exact(chunk)?;
        let (each, _) = chunk.as_chunks::<8>();
        numbers.extend(each.iter().map(|bytes| f64::from_le_bytes(*bytes)));
    }
    Ok(numbers)
}

/// Computes the digest of all bytes that are read or written through it.
struct Hashed<T> {
    inner: T,
    digest: Sha256,
}

impl<T: Write> Write for Hashed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Hashed<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.digest.update(&bytes[..read]);
        Ok(read)
    }
}
