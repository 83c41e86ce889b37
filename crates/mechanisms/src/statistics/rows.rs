//! Rows of a table and their owners, and the limit on what an owner contributes.
//!
//! # Guarantee
//! The rows of an owner that count are drawn from that owner's rows alone: uniformly, by exact
//! integers. They depend on nobody else's rows, on no order of rows and on no frequency of a key.

use std::collections::BTreeMap;
use std::num::NonZero;

use sordino_noise::{Bits, uniform_below};

use super::contributor::Contributor;
use crate::error::MechanismError;

/// One column, and perhaps who owns each row.
#[derive(Clone, Copy)]
pub struct Rows<'a, T> {
    values: &'a [T],
    owners: Option<&'a [u64]>,
}

impl<'a, T: Copy> Rows<'a, T> {
    /// Every row by itself.
    pub fn new(values: &'a [T]) -> Self {
        Self { values, owners: None }
    }

    /// Row i belongs to owner `owners[i]`. Fails for lists of different length.
    pub fn owned(values: &'a [T], owners: &'a [u64]) -> Result<Self, MechanismError> {
        if values.len() != owners.len() {
            return Err(MechanismError::Owners { advice: "give one owner for every row" });
        }
        Ok(Self { values, owners: Some(owners) })
    }

    /// What counts: every row, or for each owner at most as many as the contributor may have.
    pub(super) fn limited<R: Bits + ?Sized>(
        &self,
        who: &Contributor,
        bits: &mut R,
    ) -> Result<Vec<T>, MechanismError> {
        let Some(owned) = self.by_owner(who)? else { return Ok(self.values.to_vec()) };
        let mut kept = Vec::new();
        for mut rows in owned.into_values() {
            keep(&mut rows, who.rows(), bits);
            kept.append(&mut rows);
        }
        Ok(kept)
    }

    /// The rows of each owner, or none if rows stand by themselves. Fails if the plan expects the
    /// other.
    pub(super) fn by_owner(
        &self,
        who: &Contributor,
    ) -> Result<Option<BTreeMap<u64, Vec<T>>>, MechanismError> {
        match (self.owners, who.has_owners()) {
            (None, false) => Ok(None),
            (Some(owners), true) => {
                let mut owned: BTreeMap<u64, Vec<T>> = BTreeMap::new();
                for (&owner, &value) in owners.iter().zip(self.values) {
                    owned.entry(owner).or_default().push(value);
                }
                Ok(Some(owned))
            }
            (None, true) => Err(MechanismError::Owners {
                advice: "the plan limits what an owner contributes: say who owns each row with `Rows::owned`",
            }),
            (Some(_), false) => Err(MechanismError::Owners {
                advice: "the plan protects single rows: make it with `Contributor::owner` to protect owners",
            }),
        }
    }
}

impl<T> std::fmt::Debug for Rows<'_, T> {
    /// Without what is in them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("owned", &self.owners.is_some()).finish_non_exhaustive()
    }
}

/// Cuts a list to a uniformly random part of at most `most` of its members.
pub(super) fn keep<T, R: Bits + ?Sized>(list: &mut Vec<T>, most: u64, bits: &mut R) {
    let length = list.len() as u64;
    if length <= most {
        return;
    }
    for place in 0..most {
        // Proof: place < most < length.
        let left = NonZero::new(length - place).expect("some are left");
        list.swap(place as usize, (place + uniform_below(left, bits)) as usize);
    }
    list.truncate(most as usize);
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{chi_square, count, histogram};

    #[test]
    fn every_part_of_an_owners_rows_is_as_likely() {
        // Pairs out of 4 rows, by which two bits are set.
        let counts = histogram(16, 30_000, 61, |bits| {
            let mut rows = vec![0, 1, 2, 3];
            keep(&mut rows, 2, bits);
            rows.iter().map(|row| 1 << row).sum()
        });
        let pair = |set: &usize| f64::from(u32::from(set.count_ones() == 2)) / 6.0;
        chi_square(&counts, &(0..16).map(|set| pair(&set)).collect::<Vec<_>>()).unwrap();
    }

    #[test]
    fn no_owner_has_more_than_the_limit() {
        let owners: Vec<u64> = (0..1000).map(|i| if i < 900 { 7 } else { i }).collect();
        let values: Vec<u64> = (0..1000).collect();
        let who = Contributor::owner(Neighbours::AddRemove, "user_id", count(3));
        let mut bits = sordino_noise::danger::seeded(62);
        let kept = Rows::owned(&values, &owners).unwrap().limited(&who, &mut bits).unwrap();
        assert_eq!(kept.iter().filter(|row| **row < 900).count(), 3);
        assert_eq!(kept.len(), 103);
    }

    #[test]
    fn plan_and_rows_must_agree_on_owners() {
        let mut bits = sordino_noise::danger::seeded(63);
        let record = Contributor::record(Neighbours::AddRemove);
        let owner = Contributor::owner(Neighbours::AddRemove, "user_id", count(1));
        let rows = Rows::owned(&[1.0], &[5]).unwrap();
        assert!(rows.limited(&record, &mut bits).unwrap_err().to_string().contains("protects single rows"));
        assert!(Rows::new(&[1.0]).limited(&owner, &mut bits).is_err());
        assert!(Rows::owned(&[1.0], &[]).is_err());
        assert!(!format!("{:?}", Rows::new(&[4711.0])).contains("4711"));
    }
}
