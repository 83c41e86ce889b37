//! Whom a statistic protects, and how much one of them may contribute.
//!
//! # Definition
//! A contributor is a row by itself, or an owner of rows. At most `rows` rows of an owner count,
//! chosen uniformly from the owner's own rows; in statistics of keys at most `rows` rows in each of
//! at most `keys` keys. One neighbour makes a contributor appear, disappear or become another, as
//! the relation says.
//!
//! # Sensitivity
//! With m rows, k keys, integers in low..=high for each row:
//!
//! | | appears or disappears | a row becomes another | an owner becomes another |
//! |---|---|---|---|
//! | count of rows | m | 1 | m |
//! | sum of integers | m max(\|low\|, \|high\|) | high - low | m (max(high, 0) - min(low, 0)) |
//! | counts of keys, added up in absolute value | k m | 2 | 2 k m |
//! | counts of keys, their squares added up | k m² | 2 | 2 k m² |
//! | difference of two counts of keys | m | 2 | 2 m |
//!
//! The middle column is smaller because a row that becomes another is still one row.
//!
//! # Public counts
//! Where rows are the contributors and the relation is not `add_remove`, the number of rows is
//! public and divides; under `zero_out` a null row counts as a row and contributes nothing to any
//! (centred) sum, rank or key. In all other cases the number of rows is private.
//!
//! # Pitfalls
//! Tables hold no null rows. NaN is not one: it is a missing number, and counts as
//! [`Bounds::missing`](super::Bounds::missing) says. *Whether* it is NaN is protected as any other
//! value is, under `zero_out` at twice ε (by way of the null row).

use sordino_privacy::{Contribution, Count, Neighbours, Unit};

use crate::error::MechanismError;
use crate::protection::Protection;
use crate::shift::Shift;

/// What one neighbour changes: one row, or all rows of one owner that count.
///
/// Neither protects the other: one more row of an owner can change which of the owner's rows count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contributor {
    /// For [`Unit::Record`], every row by itself.
    protection: Protection,
    rows: Count,
    keys: Count,
}

impl Contributor {
    /// Every row by itself.
    pub fn record(neighbours: Neighbours) -> Self {
        Self::of(Protection::of_records(neighbours), Count::ONE)
    }

    /// Owners, named by a column. At most `rows` rows of each count (for each key, in statistics of
    /// keys).
    pub fn owner(neighbours: Neighbours, column: impl Into<String>, rows: Count) -> Self {
        Self::of(Protection::of_records(neighbours).for_unit(Unit::Column(column.into())), rows)
    }

    /// Clients of a federation. At most `rows` rows of each count.
    pub fn client(neighbours: Neighbours, rows: Count) -> Self {
        Self::of(Protection::of_records(neighbours).for_unit(Unit::Client), rows)
    }

    fn of(protection: Protection, rows: Count) -> Self {
        Self { protection, rows, keys: Count::ONE }
    }

    /// In statistics of keys, at most `keys` keys of one owner count. A row has one key.
    pub fn in_keys(self, keys: Count) -> Self {
        Self { keys, ..self }
    }

    /// The relation, and who is protected.
    pub fn protection(&self) -> &Protection {
        &self.protection
    }

    /// The relation.
    pub fn neighbours(&self) -> Neighbours {
        self.protection.neighbours()
    }

    /// Who is protected.
    pub fn unit(&self) -> &Unit {
        self.protection.unit()
    }

    /// Whether rows have owners.
    pub(super) fn has_owners(&self) -> bool {
        match self.unit() {
            Unit::Record => false,
            Unit::Column(_) | Unit::Client => true,
        }
    }

    /// m.
    pub(super) fn rows(&self) -> u64 {
        self.rows.get()
    }

    /// k. A row has one key.
    pub(super) fn keys(&self) -> u64 {
        if self.has_owners() { self.keys.get() } else { 1 }
    }

    /// Whether the number of rows is public.
    pub(super) fn has_public_count(&self) -> bool {
        let public = match self.neighbours() {
            Neighbours::ZeroOut
            | Neighbours::ZeroOutUnordered
            | Neighbours::Replace
            | Neighbours::ReplaceOrdered => true,
            Neighbours::AddRemove | Neighbours::AddRemoveOrdered | Neighbours::MetricBall(_) => false,
        };
        public && !self.has_owners()
    }

    /// The change that a neighbour makes to a contributor. Fails for vectors.
    pub(super) fn change(&self, what: &'static str) -> Result<Contribution, MechanismError> {
        let advice = "its inputs are vectors, not rows of a table";
        let neighbours = self.neighbours();
        neighbours.contribution().ok_or(MechanismError::Relation { what, neighbours, advice })
    }

    /// A [`Shift`] with this bound, for this contributor.
    pub(super) fn shift(&self, most: Count) -> Shift {
        Shift::new(most, self.neighbours()).for_unit(self.unit().clone())
    }

    /// How far a sum of integers in `low..=high` moves.
    pub(super) fn moves_sum(&self, low: i64, high: i64) -> Result<u128, MechanismError> {
        let row = match (self.change("a sum of rows")?, self.has_owners()) {
            (Contribution::Absent, _) => low.unsigned_abs().max(high.unsigned_abs()),
            (Contribution::Changed, false) => high.abs_diff(low),
            (Contribution::Changed, true) => high.max(0).abs_diff(low.min(0)),
        };
        Ok(u128::from(row) * u128::from(self.rows()))
    }

    /// How many counts of keys move, each by at most m.
    pub(super) fn moved_counts(&self) -> Result<u64, MechanismError> {
        Ok(match self.change("a histogram")? {
            Contribution::Absent => self.keys(),
            Contribution::Changed => 2 * self.keys(), // counts have 53 bits
        })
    }

    /// How far counts of keys move, added up in absolute value.
    pub(super) fn moves_counts(&self) -> Result<Count, MechanismError> {
        let moves = u128::from(self.moved_counts()?) * u128::from(self.rows());
        Ok(Count::new(u64::try_from(moves).unwrap_or(u64::MAX))?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RowCount, Rows};
    use super::*;
    use crate::Mechanism;
    use crate::testing::{count, epsilon, permit_for};

    /// All multisets of at most `most` integers of `low..=high`, as sums.
    fn sums(low: i64, high: i64, least: usize, most: usize) -> Vec<i64> {
        let mut all = vec![vec![]];
        for _ in 0..most {
            let longer =
                |head: &Vec<i64>| (low..=high).map(|x| [head.as_slice(), &[x]].concat()).collect::<Vec<_>>();
            all = all.iter().flat_map(longer).chain(all.clone()).collect();
        }
        all.iter().filter(|rows| rows.len() >= least).map(|rows| rows.iter().sum()).collect()
    }

    fn farthest(one: &[i64], two: &[i64]) -> u128 {
        one.iter().flat_map(|a| two.iter().map(move |b| a.abs_diff(*b))).max().unwrap().into()
    }

    /// By brute force over all that one contributor can have before and after.
    #[test]
    fn no_neighbour_moves_a_sum_farther() {
        for (low, high) in [(-2, 3), (1, 3), (-3, -1), (0, 2)] {
            for m in 1..=2 {
                let owner = |neighbours| Contributor::owner(neighbours, "user_id", count(m as u64));
                let owned = sums(low, high, 0, m);
                assert_eq!(
                    owner(Neighbours::AddRemove).moves_sum(low, high).unwrap(),
                    farthest(&owned, &[0])
                );
                assert_eq!(
                    owner(Neighbours::Replace).moves_sum(low, high).unwrap(),
                    farthest(&owned, &owned)
                );
            }
            let rows: Vec<i64> = (low..=high).collect();
            let row = |neighbours| Contributor::record(neighbours).moves_sum(low, high).unwrap();
            assert_eq!(row(Neighbours::AddRemove), farthest(&rows, &[0]));
            assert_eq!(row(Neighbours::ZeroOut), farthest(&rows, &[0]));
            assert_eq!(row(Neighbours::ReplaceOrdered), farthest(&rows, &rows));
        }
    }

    #[test]
    fn counts_of_keys_move_by_rows_times_keys() {
        let owner = Contributor::owner(Neighbours::AddRemove, "user_id", count(3)).in_keys(count(2));
        assert_eq!(owner.moves_counts().unwrap(), count(6));
        let replaced = Contributor::owner(Neighbours::Replace, "user_id", count(3)).in_keys(count(2));
        assert_eq!(replaced.moves_counts().unwrap(), count(12));
        // A row has one key, whatever else is said.
        let row = Contributor::record(Neighbours::Replace).in_keys(count(5));
        assert_eq!(row.moves_counts().unwrap(), count(2));
    }

    /// A guarantee must not name a unit that the plan does not protect.
    #[test]
    fn permits_for_another_unit_are_refused() {
        let (row, owner, client) = (
            Contributor::record(Neighbours::AddRemove),
            Contributor::owner(Neighbours::AddRemove, "user_id", Count::ONE),
            Contributor::client(Neighbours::AddRemove, Count::ONE),
        );
        let rows = |who: &Contributor| match who.has_owners() {
            true => Rows::owned(&[true], &[7]).unwrap(),
            false => Rows::new(&[true]),
        };
        let units = [Unit::Record, Unit::Column("user_id".into()), Unit::Client, Unit::Column("home".into())];
        for who in [row, owner, client] {
            let plan = RowCount::new(epsilon(1.0), who.clone()).unwrap();
            for unit in &units {
                let released = plan.release(rows(&who), permit_for(&plan, unit.clone()));
                let is_refused = matches!(
                    released,
                    Err(MechanismError::Release(sordino_privacy::ReleaseError::OtherUnit { .. }))
                );
                assert_eq!(is_refused, unit != who.unit(), "{who:?} {unit}");
            }
        }
    }

    #[test]
    fn counts_are_public_only_where_the_relation_says_so() {
        assert!(Contributor::record(Neighbours::Replace).has_public_count());
        assert!(Contributor::record(Neighbours::ZeroOut).has_public_count());
        assert!(!Contributor::record(Neighbours::AddRemove).has_public_count());
        assert!(!Contributor::owner(Neighbours::Replace, "user_id", count(1)).has_public_count());
    }
}
