use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use sordino_privacy::{Claim, Delta, Event, Neighbours, NoiseMultiplier, Unit, danger};
use sordino_testing::{Scratch, ScratchFile};

use super::file::{self, Head};
use super::writer::{put_in_place, write_beside};
use super::{Checkpoint, Snapshot};
use crate::error::OptimError;

/// Numbers that text and arithmetic like to lose.
fn strange() -> Vec<f64> {
    vec![0.1, -0.0, 5e-324, f64::MAX, f64::from_bits(0x7ff8_0000_0000_1234), f64::NEG_INFINITY, 1.0 / 3.0]
}

/// Three vectors, of which the first is [`strange`].
struct State([Vec<f64>; 3]);

impl State {
    fn new(second: Vec<f64>, third: Vec<f64>) -> Self {
        Self([strange(), second, third])
    }

    fn snapshot(&self) -> Snapshot<'_> {
        let [first, second, third] = &self.0;
        let vectors: Vec<(_, &[f64])> = vec![("z", first), ("b", second), ("a", third)];
        Snapshot { step: 3, numbers: vec![("x", 0.1 + 0.7), ("y", 0.1 + 0.2)], vectors }
    }
}

fn write(path: &Path, state: &State) -> Result<(), Box<dyn Error>> {
    let event = Event::gaussian(NoiseMultiplier::new(1.0)?);
    let claim = Claim::new(Neighbours::ZeroOut, event);
    let permit = danger::unmetered(claim, Unit::Record, Delta::new(1e-5)?)?;
    let snapshot = state.snapshot();
    let head = Head::new(path, "a run", 7, false, permit.guarantee(), &snapshot);
    let (part, _) = write_beside(path, |to| file::write(to, &head, &snapshot))?;
    Ok(put_in_place(&part, path)?)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn what_was_written_comes_back_to_the_last_bit() {
    let path = ScratchFile::new("checkpoint-bits", "c");
    let other: Vec<f64> = strange().into_iter().rev().collect();
    for state in [
        State::new(other.clone(), other.clone()),
        State::new(other.clone(), strange()),
        State::new(vec![0.0; 7], vec![0.0; 7]),
        State::new(vec![-0.0; 7], Vec::new()),
    ] {
        write(&path, &state).unwrap();
        let mut read = Checkpoint::read(&path).unwrap();
        assert_eq!((read.steps(), read.replays(5), read.replays(100)), (3, 2, 7));
        assert!(read.is_of("a run") && !read.is_of("another run"));
        for (name, put) in state.snapshot().vectors {
            assert_eq!(bits(&read.take_vector(name)), bits(put), "{name}");
        }
        assert_eq!(read.take_vector("no such"), Vec::<f64>::new());
        assert_eq!((read.number("x"), read.number("y")), (Some(0.1 + 0.7), Some(0.1 + 0.2)));
        assert_eq!(read.number("no such"), None);
    }
}

/// Zeros take no room, and neither do vectors that nobody keeps.
#[test]
fn files_have_eight_bytes_for_each_number_that_says_something() {
    let path = ScratchFile::new("checkpoint-size", "c");
    let size = |state: &State| {
        write(&path, state).unwrap();
        std::fs::metadata(&path).unwrap().len()
    };
    let other: Vec<f64> = strange().into_iter().rev().collect();
    let (least, most) =
        (size(&State::new(vec![0.0; 7], Vec::new())), size(&State::new(other.clone(), other)));
    // "zeros" and "nothing" are longer words than "here".
    assert_eq!(most - least, 2 * 7 * 8 + 2 * 4 - 5 - 7);
}

#[test]
fn no_byte_can_be_altered_and_no_end_cut_off() {
    let path = ScratchFile::new("checkpoint-altered", "c");
    write(&path, &State::new(strange(), strange())).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Checkpoint::read(&path).is_err()
    };
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(refused(&bytes), "byte {at}");
        assert!(refused(&whole[..at]), "cut at {at}");
    }
    let longer: Vec<u8> = whole.iter().copied().chain([0]).collect();
    assert!(refused(&longer));
    assert!(!refused(&whole));
}

/// A head that promises more than there is must not make the reader ask for that much memory.
#[test]
fn sizes_beyond_the_file_are_refused() {
    let path = ScratchFile::new("checkpoint-sizes", "c");
    write(&path, &State::new(strange(), strange())).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&whole);
    let at = text.find("\"dimension\":7").unwrap() + "\"dimension\":".len();
    let mut long = whole.clone();
    long[at] = b'9';
    std::fs::write(&path, &long).unwrap();
    let message = |path: &Path| Checkpoint::read(path).unwrap_err().to_string();
    assert!(message(&path).contains("cut or altered"), "{}", message(&path));
    let mut long = whole;
    long[19..27].copy_from_slice(&u64::MAX.to_le_bytes());
    std::fs::write(&path, &long).unwrap();
    assert!(message(&path).contains("cut or altered"), "{}", message(&path));
}

#[test]
fn other_files_and_other_versions_are_refused_by_name() {
    let path = ScratchFile::new("checkpoint-names", "c");
    for (content, expected) in [
        (&b"{\"format_version\":1,\"place\":\"/tmp/c\"}"[..], "format version 1, which is text"),
        (b"PAR1 and so on and so forth", "no checkpoint of Sordino"),
        (b"", "no checkpoint of Sordino"),
    ] {
        std::fs::write(&path, content).unwrap();
        let message = Checkpoint::read(&path).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// What no reader would take is not written.
#[test]
fn vectors_of_several_lengths_and_too_many_are_not_written() {
    let path = ScratchFile::new("checkpoint-lengths", "c");
    assert!(write(&path, &State::new(vec![1.0; 6], Vec::new())).is_err());
    assert!(write(&path, &State([Vec::new(), strange(), strange()])).is_err());
    let guarantee = |path| -> Result<(), Box<dyn Error>> {
        let claim = Claim::new(Neighbours::ZeroOut, Event::gaussian(NoiseMultiplier::new(1.0)?));
        let permit = danger::unmetered(claim, Unit::Record, Delta::new(1e-5)?)?;
        let vectors = vec![("v", &[1.0][..]); 5];
        let snapshot = Snapshot { step: 0, numbers: Vec::new(), vectors };
        let head = Head::new(path, "a run", 7, false, permit.guarantee(), &snapshot);
        let (part, _) = write_beside(path, |to| file::write(to, &head, &snapshot))?;
        Ok(put_in_place(&part, path)?)
    };
    assert!(guarantee(&path).is_err());
    assert!(!path.exists());
}

/// The disk is full in the middle of a file: the one before it stays,
/// and nothing is left beside it.
#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let folder = Scratch::new("checkpoint-full");
    let path = folder.join("c");
    let before = State::new(strange(), strange());
    write(&path, &before).unwrap();
    let failed = write_beside(&path, |mut file| -> std::io::Result<()> {
        file.write_all(b"half of a")?;
        Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
    });
    assert_eq!(failed.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(bits(&Checkpoint::read(&path).unwrap().take_vector("z")), bits(&before.0[0]));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let missing = Checkpoint::read(&folder.join("other"));
    assert!(matches!(missing, Err(OptimError::CheckpointFile { .. })));
}

/// Iterates are paid for by one who may read them; the process's umask gives them to everybody.
#[cfg(unix)]
#[test]
fn files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Scratch::new("checkpoint-mode");
    let path = folder.join("c");
    write(&path, &State::new(strange(), strange())).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
