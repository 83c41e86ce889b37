use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sordino_privacy::{Claim, Delta, Event, Neighbours, NoiseMultiplier, Unit, danger};

use super::file::{self, Head};
use super::{Checkpoint, State, write_at_once};
use crate::average::{Average, Averaging};
use crate::error::OptimError;
use crate::rule::RuleState;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sordino-checkpoint-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

/// Numbers that text and arithmetic like to lose.
fn strange() -> Vec<f64> {
    vec![0.1, -0.0, 5e-324, f64::MAX, f64::from_bits(0x7ff8_0000_0000_1234), f64::NEG_INFINITY, 1.0 / 3.0]
}

fn state(first: Vec<f64>, average: Vec<f64>) -> State {
    let parameters = strange();
    let rule = RuleState { first, second: vec![0.0; parameters.len()] };
    let average =
        Average { averaging: Averaging::Exponential { decay: 0.9 }, sum: average, weight: 0.1 + 0.2 };
    State { step: 3, clip_norm: 0.1 + 0.7, parameters, rule, average }
}

fn write(path: &Path, state: &State) -> Result<(), Box<dyn Error>> {
    let event = Event::gaussian(NoiseMultiplier::new(1.0)?);
    let claim = Claim::new(Neighbours::ZeroOut, event);
    let permit = danger::unmetered(claim, Unit::Record, Delta::new(1e-5)?)?;
    let head = Head::new(path, "a run", 7, false, permit.guarantee(), state);
    Ok(write_at_once(path, |to| file::write(to, &head, state))?)
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn what_was_written_comes_back_to_the_last_bit() {
    let path = folder("bits").join("c");
    let other: Vec<f64> = strange().into_iter().rev().collect();
    for state in [
        state(other.clone(), other.clone()),
        state(other.clone(), strange()),
        state(vec![0.0; 7], vec![0.0; 7]),
        state(vec![-0.0; 7], Vec::new()),
    ] {
        write(&path, &state).unwrap();
        let read = Checkpoint::read(&path).unwrap();
        assert_eq!((read.steps(), read.replays(5), read.replays(100)), (3, 2, 7));
        assert!(read.is_of("a run") && !read.is_of("another run"));
        let got = read.state;
        for (got, put) in [
            (&got.parameters, &state.parameters),
            (&got.rule.first, &state.rule.first),
            (&got.rule.second, &state.rule.second),
            (&got.average.sum, &state.average.sum),
        ] {
            assert_eq!(bits(got), bits(put));
        }
        assert_eq!((got.clip_norm, got.average.weight), (state.clip_norm, state.average.weight));
        assert_eq!(got.average.averaging, state.average.averaging);
    }
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// Zeros take no room, and neither do vectors that nobody keeps.
#[test]
fn files_have_eight_bytes_for_each_number_that_says_something() {
    let path = folder("size").join("c");
    let size = |state: &State| {
        write(&path, state).unwrap();
        std::fs::metadata(&path).unwrap().len()
    };
    let other: Vec<f64> = strange().into_iter().rev().collect();
    let (least, most) = (size(&state(vec![0.0; 7], Vec::new())), size(&state(other.clone(), other)));
    // "zeros" and "nothing" are longer words than "here".
    assert_eq!(most - least, 2 * 7 * 8 + 2 * 4 - 5 - 7);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn no_byte_can_be_altered_and_no_end_cut_off() {
    let path = folder("altered").join("c");
    write(&path, &state(strange(), strange())).unwrap();
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
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// A head that promises more than there is must not make the reader ask for that much memory.
#[test]
fn sizes_beyond_the_file_are_refused() {
    let path = folder("sizes").join("c");
    write(&path, &state(strange(), strange())).unwrap();
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
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn other_files_and_other_versions_are_refused_by_name() {
    let path = folder("names").join("c");
    for (content, expected) in [
        (&b"{\"format_version\":1,\"place\":\"/tmp/c\"}"[..], "format version 1, which is text"),
        (b"PAR1 and so on and so forth", "no checkpoint of Sordino"),
        (b"", "no checkpoint of Sordino"),
    ] {
        std::fs::write(&path, content).unwrap();
        let message = Checkpoint::read(&path).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// The disk is full in the middle of a file: the one before it stays, and nothing is left beside it.
#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let folder = folder("full");
    let path = folder.join("c");
    let before = state(strange(), strange());
    write(&path, &before).unwrap();
    let failed = write_at_once(&path, |mut file| {
        file.write_all(b"half of a")?;
        Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
    });
    assert_eq!(failed.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(bits(&Checkpoint::read(&path).unwrap().state.parameters), bits(&before.parameters));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    let missing = Checkpoint::read(&folder.join("other"));
    assert!(matches!(missing, Err(OptimError::CheckpointFile { .. })));
    std::fs::remove_dir_all(folder).unwrap();
}
