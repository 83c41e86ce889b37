use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use sordino_privacy::{Claim, Delta, Event, Neighbours, NoiseMultiplier, Unit, danger};
use sordino_testing::{Scratch, ScratchFile};

use super::file::{self, Head};
use super::writer::{put_in_place, write_beside};
use super::{Checkpoint, Snapshot};
use crate::error::OptimError;

/// Numbers that are easily lost in text or arithmetic.
fn delicate() -> Vec<f64> {
    vec![0.1, -0.0, 5e-324, f64::MAX, f64::from_bits(0x7ff8_0000_0000_1234), f64::NEG_INFINITY, 1.0 / 3.0]
}

/// Three vectors, the first of which is [`delicate`].
struct State([Vec<f64>; 3]);

impl State {
    fn new(second: Vec<f64>, third: Vec<f64>) -> Self {
        Self([delicate(), second, third])
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
fn a_checkpoint_keeps_every_bit() {
    let path = ScratchFile::new("checkpoint-bits", "c");
    let other: Vec<f64> = delicate().into_iter().rev().collect();
    for state in [
        State::new(other.clone(), other.clone()),
        State::new(other.clone(), delicate()),
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

/// Vectors of zeros and empty vectors take no room.
#[test]
fn files_have_eight_bytes_for_each_stored_number() {
    let path = ScratchFile::new("checkpoint-size", "c");
    let size = |state: &State| {
        write(&path, state).unwrap();
        std::fs::metadata(&path).unwrap().len()
    };
    let other: Vec<f64> = delicate().into_iter().rev().collect();
    let (least, most) =
        (size(&State::new(vec![0.0; 7], Vec::new())), size(&State::new(other.clone(), other)));
    // The words "zeros" and "nothing" are longer than "here".
    assert_eq!(most - least, 2 * 7 * 8 + 2 * 4 - 5 - 7);
}

#[test]
fn altered_and_truncated_files_are_refused() {
    let path = ScratchFile::new("checkpoint-altered", "c");
    write(&path, &State::new(delicate(), delicate())).unwrap();
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

/// A head that states a size beyond the file must not make the reader allocate it.
#[test]
fn sizes_beyond_the_file_are_refused() {
    let path = ScratchFile::new("checkpoint-sizes", "c");
    write(&path, &State::new(delicate(), delicate())).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&whole);
    let at = text.find("\"dimension\":7").unwrap() + "\"dimension\":".len();
    let mut long = whole.clone();
    long[at] = b'9';
    std::fs::write(&path, &long).unwrap();
    let message = |path: &Path| Checkpoint::read(path).unwrap_err().to_string();
    assert!(message(&path).contains("truncated or altered"), "{}", message(&path));
    let mut long = whole;
    long[19..27].copy_from_slice(&u64::MAX.to_le_bytes());
    std::fs::write(&path, &long).unwrap();
    assert!(message(&path).contains("truncated or altered"), "{}", message(&path));
}

#[test]
fn other_files_and_other_versions_are_refused_by_name() {
    let path = ScratchFile::new("checkpoint-names", "c");
    for (content, expected) in [
        (&b"{\"format_version\":1,\"place\":\"/tmp/c\"}"[..], "format version 1, which is text"),
        (b"PAR1 and so on and so forth", "not a checkpoint of Sordino"),
        (b"", "not a checkpoint of Sordino"),
    ] {
        std::fs::write(&path, content).unwrap();
        let message = Checkpoint::read(&path).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn vectors_of_several_lengths_and_too_many_are_not_written() {
    let path = ScratchFile::new("checkpoint-lengths", "c");
    assert!(write(&path, &State::new(vec![1.0; 6], Vec::new())).is_err());
    assert!(write(&path, &State([Vec::new(), delicate(), delicate()])).is_err());
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

/// If the disk is full in the middle of a file, the previous file stays, and no part of the new one
/// is left.
#[test]
fn a_failed_write_leaves_the_previous_checkpoint() {
    let folder = Scratch::new("checkpoint-full");
    let path = folder.join("c");
    let before = State::new(delicate(), delicate());
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

/// Only the owner may read the iterates, also where the umask would allow everyone.
#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_checkpoint() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Scratch::new("checkpoint-mode");
    let path = folder.join("c");
    write(&path, &State::new(delicate(), delicate())).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
