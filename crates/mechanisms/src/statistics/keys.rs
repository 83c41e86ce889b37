//! Counts of keys after the limit on what a contributor may have, and what histograms release of
//! them.
//!
//! At most k keys of one owner count, drawn uniformly from the owner's own keys, with at most m
//! rows each.

use std::collections::{BTreeMap, BTreeSet};

use sordino_noise::Bits;

use super::contributor::Contributor;
use super::estimate::Cells;
use super::rows::{Rows, keep};
use crate::error::MechanismError;

/// Every declared key with its noisy count. `noisy` adds the noise to all exact counts.
pub(super) fn declared_cells<R: Bits + ?Sized>(
    keys: &[String],
    rows: Rows<'_, &str>,
    who: &Contributor,
    error: f64,
    bits: &mut R,
    noisy: impl FnOnce(Vec<i64>, &mut R) -> Result<Vec<i64>, MechanismError>,
) -> Result<Cells, MechanismError> {
    let exact = counts_of_declared(keys, rows, who, bits)?;
    Ok(Cells { counts: keys.iter().cloned().zip(noisy(exact, bits)?).collect(), error })
}

/// The keys whose noisy count is at least `threshold`. `noisy` adds the noise to one exact count.
///
/// How many keys there were is private, so `error` speaks of each count by itself.
pub(super) fn open_cells<R: Bits + ?Sized>(
    rows: Rows<'_, &str>,
    who: &Contributor,
    threshold: i128,
    error: f64,
    bits: &mut R,
    noisy: impl Fn(i64, &mut R) -> i64,
) -> Result<Cells, MechanismError> {
    let exact = counts_where(rows, |_| true, who, bits)?;
    let noisy = exact.into_iter().map(|(key, count)| (key.to_owned(), noisy(count as i64, bits)));
    Ok(Cells { counts: noisy.filter(|(_, count)| i128::from(*count) >= threshold).collect(), error })
}

/// Counts of declared keys in their order. Rows of other keys are left out before the limit: they
/// use up no place.
pub(super) fn counts_of_declared<'a, R: Bits + ?Sized>(
    keys: &[String],
    rows: Rows<'a, &'a str>,
    who: &Contributor,
    bits: &mut R,
) -> Result<Vec<i64>, MechanismError> {
    let declared: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
    let counts = counts_where(rows, |key| declared.contains(key), who, bits)?;
    Ok(keys.iter().map(|key| counts.get(key.as_str()).map_or(0, |count| *count as i64)).collect())
}

fn counts_where<'a, R: Bits + ?Sized>(
    rows: Rows<'a, &'a str>,
    is_counted: impl Fn(&str) -> bool,
    who: &Contributor,
    bits: &mut R,
) -> Result<BTreeMap<&'a str, u64>, MechanismError> {
    let mut counts = BTreeMap::new();
    match rows.by_owner(who)? {
        None => {
            for key in rows.limited(who, bits)?.into_iter().filter(|key| is_counted(key)) {
                *counts.entry(key).or_insert(0) += 1;
            }
        }
        Some(owned) => {
            for mut keys in owned.into_values() {
                keys.retain(|key| is_counted(key));
                for (key, count) in limited(keys, who, bits) {
                    *counts.entry(key).or_insert(0) += count;
                }
            }
        }
    }
    Ok(counts)
}

/// The keys of one owner that count, with their numbers of rows.
fn limited<'a, R: Bits + ?Sized>(keys: Vec<&'a str>, who: &Contributor, bits: &mut R) -> Vec<(&'a str, u64)> {
    let mut own: BTreeMap<&str, u64> = BTreeMap::new();
    for key in keys {
        *own.entry(key).or_insert(0) += 1;
    }
    let mut own: Vec<(&str, u64)> =
        own.into_iter().map(|(key, count)| (key, count.min(who.rows()))).collect();
    keep(&mut own, who.keys(), bits);
    own
}

/// The declared keys, each once.
pub(super) fn declared(keys: &[impl AsRef<str>]) -> Result<Vec<String>, MechanismError> {
    if keys.is_empty() {
        return Err(MechanismError::Keys { what: "no key was declared" });
    }
    let mut sorted: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(MechanismError::Keys { what: "a key was declared twice" });
    }
    Ok(keys.iter().map(|key| key.as_ref().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::count;

    /// One owner of a million rows in a hundred keys, with and without: counts differ by no more
    /// than is declared.
    #[test]
    fn one_owner_moves_counts_by_no_more_than_declared() {
        let names: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let mut keys: Vec<&str> = (0..1_000_000).map(|i| names[i % 100].as_str()).collect();
        let mut owners = vec![7u64; keys.len()];
        let who = Contributor::owner(Neighbours::AddRemove, "user_id", count(3)).in_keys(count(4));
        let mut bits = sordino_noise::danger::seeded(64);
        let alone = counts_where(Rows::owned(&keys, &owners).unwrap(), |_| true, &who, &mut bits).unwrap();
        assert_eq!(alone.values().sum::<u64>(), 12);
        assert!(alone.values().all(|count| *count <= 3));
        keys.extend(["5", "5", "6"]);
        owners.extend([8, 8, 9]);
        let with = counts_where(Rows::owned(&keys, &owners).unwrap(), |_| true, &who, &mut bits).unwrap();
        assert_eq!(with.values().sum::<u64>(), 15);
        // The twin without a limit moves by a million.
        let twin =
            counts_where(Rows::new(&keys), |_| true, &Contributor::record(Neighbours::AddRemove), &mut bits)
                .unwrap();
        assert!(twin.values().sum::<u64>() > who.moves_counts().unwrap().get());
    }

    #[test]
    fn declared_keys_are_a_set() {
        assert!(declared(&["a", "b", "a"]).is_err() && declared(&[] as &[&str]).is_err());
    }

    /// An owner of a hundred other keys and one declared one has room for the latter.
    #[test]
    fn other_keys_take_no_place() {
        let keys = declared(&["b", "a"]).unwrap();
        let names: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let rows: Vec<&str> = names.iter().map(String::as_str).chain(["a", "a", "a"]).collect();
        let mut bits = sordino_noise::danger::seeded(65);
        let one_row = Contributor::record(Neighbours::AddRemove);
        assert_eq!(counts_of_declared(&keys, Rows::new(&rows), &one_row, &mut bits).unwrap(), [0, 3]);
        let owners = vec![7; rows.len()];
        let (rows, owner) = (
            Rows::owned(&rows, &owners).unwrap(),
            Contributor::owner(Neighbours::AddRemove, "user_id", count(2)),
        );
        assert_eq!(counts_of_declared(&keys, rows, &owner, &mut bits).unwrap(), [0, 2]);
    }
}
