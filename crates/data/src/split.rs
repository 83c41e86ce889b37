//! Training and test parts by a public rule.
//!
//! # Definition
//! A record belongs to the test part if a hash of a public salt and of its slot (or, where
//! records have units, of its unit, so that nobody is on both sides) falls below the test share.
//! The rule looks at no other value.
//!
//! # Pitfalls
//! The test part is as private as the training part. An accuracy measured on it is a statistic of
//! its records and must be paid for; only data that its owner declares public may be evaluated for
//! free. Keep such data in a file of its own.

use sha2::{Digest, Sha256};
use sordino_privacy::ParamError;
use sordino_privacy::SamplingRate;

/// Which part of the data is kept for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    test_share: f64,
    salt: u64,
}

impl Split {
    /// `test_share` lies above 0 and is at most 1. The salt is public; another salt gives another
    /// split.
    pub fn new(test_share: f64, salt: u64) -> Result<Self, ParamError> {
        Ok(Self { test_share: SamplingRate::new(test_share)?.get(), salt })
    }

    /// Whether this slot, or this unit, belongs to the test part.
    pub(crate) fn is_test(&self, slot: u64, unit: Option<&[u8]>) -> bool {
        let mut hash = Sha256::new();
        hash.update(self.salt.to_le_bytes());
        match unit {
            Some(unit) => hash.update(unit),
            None => hash.update(slot.to_le_bytes()),
        }
        let digest = hash.finalize();
        // 53 bits, exact as a double: uniform on [0, 1) for a hash without pattern.
        let word = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| digest[byte]));
        ((word >> 11) as f64 / (1u64 << 53) as f64) < self.test_share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_has_its_share_is_repeatable_and_follows_the_salt() {
        let split = Split::new(0.2, 1).unwrap();
        let side = |split: &Split| (0..10_000).map(|slot| split.is_test(slot, None)).collect::<Vec<_>>();
        let share = side(&split).iter().filter(|is_test| **is_test).count() as f64;
        // Six standard deviations of a binomial (the hash is fixed: it is right or it is not).
        assert!((share - 2000.0).abs() < 6.0 * 40.0, "{share}");
        assert_eq!(side(&split), side(&Split::new(0.2, 1).unwrap()));
        assert_ne!(side(&split), side(&Split::new(0.2, 2).unwrap()));
        assert!(Split::new(0.0, 1).is_err() && Split::new(1.5, 1).is_err());
    }

    #[test]
    fn a_unit_is_on_one_side_wherever_its_records_are() {
        let split = Split::new(0.5, 3).unwrap();
        for unit in [&b"ann"[..], b"bob", b"eve"] {
            assert_eq!(split.is_test(1, Some(unit)), split.is_test(999, Some(unit)));
        }
    }
}
