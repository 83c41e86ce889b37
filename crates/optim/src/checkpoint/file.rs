//! The file of a checkpoint: a head that people can read, and vectors as they are in memory.
//!
//! # Format, version 2
//! | bytes | what |
//! |---|---|
//! | 19 | `sordino checkpoint`, a line end |
//! | 8 | length of the head, at most 2²⁴ |
//! | as many | the head: JSON |
//! | 8 a number | vectors whose numbers are here, in the order of [`Vectors`] |
//! | 32 | SHA-256 of all before |
//!
//! Integers and doubles are little-endian, and doubles come back to the last bit. A vector that is all zeros, or that nobody keeps (the
//! memory of a rule that has none, the average that is the last iterate), is a word in the head. Version 1 was JSON from end to end, some
//! twenty bytes a number; it is refused by name.
//!
//! # Pitfalls
//! Reading asks for no more memory than four times the file's length, whatever the head says: parameters are always here, and the length of
//! the file must be what the head speaks of. A checksum tells an accident, not an adversary: who can write the file can write its digest.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sordino_privacy::Guarantee;

use super::{CHECKPOINT_FORMAT_VERSION, State};
use crate::average::{Average, Averaging};
use crate::rule::RuleState;

const MAGIC: &[u8] = b"sordino checkpoint\n";
const DIGEST: usize = 32;
const LONGEST_HEAD: u64 = 1 << 24;
/// Numbers that are turned into bytes at a time.
const CHUNK: usize = 4096;

/// Everything but the vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub(crate) format_version: u32,
    /// The file that it was written to.
    pub(crate) place: PathBuf,
    /// Digest of everything public that the run is made of; it must be the same when it goes on.
    pub(crate) run: String,
    pub(crate) every: u64,
    /// Whether no step can have been begun after this was written.
    pub(crate) is_final: bool,
    /// What was paid so far.
    pub(crate) guarantee: Guarantee,
    step: u64,
    clip_norm: f64,
    averaging: Averaging,
    /// Sum of the weights of the average.
    weight: f64,
    dimension: u64,
    vectors: Vectors,
}

/// Where each vector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors {
    parameters: Stored,
    first: Stored,
    second: Stored,
    average: Stored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    /// In this file.
    Here,
    Zeros,
    /// Nowhere: it has no numbers.
    Nothing,
}

/// Of a head of any version.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

/// Why a file is no checkpoint.
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
    /// The head of a file with this state.
    pub(crate) fn new(
        place: &Path,
        run: &str,
        every: u64,
        is_final: bool,
        paid: &Guarantee,
        state: &State,
    ) -> Self {
        Self {
            format_version: CHECKPOINT_FORMAT_VERSION,
            place: place.to_owned(),
            run: run.to_owned(),
            every,
            is_final,
            guarantee: paid.clone(),
            step: state.step,
            clip_norm: state.clip_norm,
            averaging: state.average.averaging,
            weight: state.average.weight,
            dimension: state.parameters.len() as u64,
            vectors: Vectors {
                parameters: Stored::Here,
                first: Stored::of(&state.rule.first),
                second: Stored::of(&state.rule.second),
                average: Stored::of(&state.average.sum),
            },
        }
    }

    /// Numbers in the file; none if that is beyond counting.
    fn numbers(&self) -> Option<u64> {
        let here = self.vectors.all().into_iter().filter(|stored| *stored == Stored::Here).count();
        self.dimension.checked_mul(here as u64)
    }
}

impl Vectors {
    fn all(&self) -> [Stored; 4] {
        [self.parameters, self.first, self.second, self.average]
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

/// Writes a whole file.
pub(crate) fn write(to: impl Write, head: &Head, state: &State) -> io::Result<()> {
    let mut to = Hashed { inner: to, digest: Sha256::new() };
    let text = serde_json::to_vec(head)?;
    if text.len() as u64 > LONGEST_HEAD {
        return Err(io::Error::other("the guarantee is too long to be written down"));
    }
    to.write_all(MAGIC)?;
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(&text)?;
    let vectors = [&state.parameters, &state.rule.first, &state.rule.second, &state.average.sum];
    for (vector, stored) in vectors.into_iter().zip(head.vectors.all()) {
        if stored == Stored::Here {
            write_numbers(&mut to, vector)?;
        }
    }
    let Hashed { mut inner, digest } = to;
    inner.write_all(&digest.finalize())
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<(Head, State), Failed> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut from = Hashed { inner: file.take(length), digest: Sha256::new() };
    let head = read_head(&mut from, length)?;
    let dimension = usize::try_from(head.dimension).map_err(|_| Failed::Content(altered()))?;
    let mut vector = |stored| match stored {
        Stored::Here => read_numbers(&mut from, dimension),
        Stored::Zeros => Ok(vec![0.0; dimension]),
        Stored::Nothing => Ok(Vec::new()),
    };
    let Vectors { first, second, average, .. } = head.vectors;
    let parameters = vector(Stored::Here)?;
    let rule = RuleState { first: vector(first)?, second: vector(second)? };
    let sum = vector(average)?;
    let Hashed { mut inner, digest } = from;
    let mut said = [0; DIGEST];
    inner.read_exact(&mut said)?;
    if digest.finalize()[..] != said {
        return Err(Failed::Content(altered()));
    }
    let average = Average { averaging: head.averaging, sum, weight: head.weight };
    let state = State { step: head.step, clip_norm: head.clip_norm, parameters, rule, average };
    Ok((head, state))
}

/// A head of this version that speaks of as many bytes as there are.
fn read_head(from: &mut impl Read, length: u64) -> Result<Head, Failed> {
    let mut magic = Vec::new();
    from.take(MAGIC.len() as u64).read_to_end(&mut magic)?;
    if magic.starts_with(b"{") {
        return Err(Failed::Content(other_version("1, which is text")));
    }
    if magic != MAGIC {
        return Err(Failed::Content(
            "it is no checkpoint of Sordino; name the file that a run has left".to_owned(),
        ));
    }
    let mut size = [0; 8];
    from.read_exact(&mut size)?;
    let size = u64::from_le_bytes(size);
    if size > LONGEST_HEAD.min(length) {
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
    let spoken_of = head.numbers().and_then(|numbers| numbers.checked_mul(8)?.checked_add(fixed));
    if head.vectors.parameters != Stored::Here || spoken_of != Some(length) {
        return Err(Failed::Content(altered()));
    }
    Ok(head)
}

fn other_version(version: &str) -> String {
    format!(
        "it has format version {version}, and this program knows {CHECKPOINT_FORMAT_VERSION}; end the run with the program that began it"
    )
}

fn altered() -> String {
    "it was cut or altered after it was written; resume from it is not possible, and what was charged stays charged".to_owned()
}

fn write_numbers(to: &mut impl Write, numbers: &[f64]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(8 * CHUNK);
    for some in numbers.chunks(CHUNK) {
        bytes.clear();
        some.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        to.write_all(&bytes)?;
    }
    Ok(())
}

fn read_numbers(from: &mut impl Read, count: usize) -> io::Result<Vec<f64>> {
    let mut numbers = Vec::with_capacity(count);
    let mut bytes = [0; 8 * CHUNK];
    while numbers.len() < count {
        let some = &mut bytes[..8 * CHUNK.min(count - numbers.len())];
        from.read_exact(some)?;
        let (each, _) = some.as_chunks::<8>();
        numbers.extend(each.iter().map(|bytes| f64::from_le_bytes(*bytes)));
    }
    Ok(numbers)
}

/// Takes a digest of what goes through.
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
