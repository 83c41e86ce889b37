//! How far one neighbour moves an integer answer.
//!
//! # Sensitivity
//! | question | a contribution appears or disappears | it becomes another |
//! |---|---|---|
//! | how many records have a property | 1 | 1 |
//! | sum of integers clamped to l..=u | max(\|l\|, \|u\|) | u - l |
//!
//! # Unit
//! The table speaks of single records, and so does every bound unless [`for_unit`](Shift::for_unit)
//! says otherwise. Where a person may have many records it is another bound: m records of each
//! person, at most, move a count by m.
//!
//! # Pitfalls
//! - The sum is of *clamped* values: clamp each record before adding, with bounds that do not come
//!   from the data.
//! - Add in integers wide enough never to overflow: a wrapped sum moves by the whole range, and a
//!   saturated one depends on the order (Casacuberta, Shoemate, Vadhan, Wagaman, "Widespread
//!   underestimation of sensitivity in differentially private libraries", 2022).

use sordino_privacy::{Contribution, Count, Epsilon, Neighbours, Scale, Unit};

use crate::error::MechanismError;
use crate::protection::Protection;

/// The most that one neighbour moves an integer answer, and the relation and unit for which that
/// was derived.
///
/// ```
/// use sordino_mechanisms::Shift;
/// use sordino_privacy::{Count, Neighbours, Unit};
/// // A table that was cut to four visits of each patient: a count of visits moves by 4.
/// let patient = Unit::Column("patient_id".into());
/// let visits = Shift::new(Count::new(4)?, Neighbours::AddRemove).for_unit(patient);
/// assert_eq!(visits.most().get(), 4);
/// assert_eq!(*Shift::count(Neighbours::AddRemove)?.unit(), Unit::Record);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shift {
    most: Count,
    protection: Protection,
}

impl Shift {
    /// States a bound that was derived elsewhere, for single records.
    pub fn new(most: Count, neighbours: Neighbours) -> Self {
        Self { most, protection: Protection::of_records(neighbours) }
    }

    /// States that the bound was derived for this unit: however many records one of them has.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { protection: self.protection.for_unit(unit), ..self }
    }

    /// The number of records that have a property. Fails for vectors, which are not records.
    pub fn count(neighbours: Neighbours) -> Result<Self, MechanismError> {
        records("a count of records", neighbours)?;
        Ok(Self::new(Count::ONE, neighbours))
    }

    /// The sum of integers, each clamped to `lower..=upper`. Fails for bounds that leave nothing to
    /// hide, and beyond 2^53.
    pub fn sum(lower: i64, upper: i64, neighbours: Neighbours) -> Result<Self, MechanismError> {
        if lower > upper {
            return Err(MechanismError::Bounds { lower, upper });
        }
        let most = match records("a sum of clamped integers", neighbours)? {
            Contribution::Absent => lower.unsigned_abs().max(upper.unsigned_abs()),
            Contribution::Changed => upper.abs_diff(lower),
        };
        Ok(Self::new(Count::new(most)?, neighbours))
    }

    /// The bound.
    pub fn most(&self) -> Count {
        self.most
    }

    /// The relation and the unit for which it was derived.
    pub fn protection(&self) -> &Protection {
        &self.protection
    }

    /// The relation.
    pub fn neighbours(&self) -> Neighbours {
        self.protection.neighbours()
    }

    /// Whose data moves between neighbours.
    pub fn unit(&self) -> &Unit {
        self.protection.unit()
    }
}

fn records(what: &'static str, neighbours: Neighbours) -> Result<Contribution, MechanismError> {
    let advice = "its inputs are vectors: state the bound with `Shift::new`";
    neighbours.contribution().ok_or(MechanismError::Relation { what, neighbours, advice })
}

/// The least double t with `moves / t <= epsilon` exactly: rounding never takes noise away.
pub(crate) fn scale_for(moves: u64, epsilon: Epsilon) -> Result<Scale, MechanismError> {
    let (moves, epsilon) = (moves as f64, epsilon.get());
    if epsilon == 0.0 {
        return Err(MechanismError::NoBudget);
    }
    let quotient = moves / epsilon;
    // The fused product has the sign of the exact difference.
    let scale = if quotient.mul_add(epsilon, -moves) < 0.0 { quotient.next_up() } else { quotient };
    Ok(Scale::new(scale)?)
}

#[cfg(test)]
mod tests {
    use sordino_privacy::{MetricBall, Norm, Radius};

    use super::*;

    fn sum(lower: i64, upper: i64, neighbours: Neighbours) -> u64 {
        Shift::sum(lower, upper, neighbours).unwrap().most().get()
    }

    /// Brute force over every pair of small neighbouring data sets.
    #[test]
    fn no_pair_of_neighbours_is_farther_apart() {
        for (lower, upper) in [(-3, 5), (2, 6), (-4, -1), (0, 1)] {
            let absent = (lower..=upper).map(i64::unsigned_abs).max().unwrap();
            let changed =
                (lower..=upper).flat_map(|a| (lower..=upper).map(move |b| a.abs_diff(b))).max().unwrap();
            for one in [Neighbours::AddRemove, Neighbours::ZeroOut, Neighbours::AddRemoveOrdered] {
                assert_eq!(sum(lower, upper, one), absent);
            }
            for two in [Neighbours::Replace, Neighbours::ReplaceOrdered] {
                assert_eq!(sum(lower, upper, two), changed);
            }
        }
        assert_eq!(Shift::count(Neighbours::Replace).unwrap().most(), Count::ONE);
    }

    #[test]
    fn nonsense_is_refused() {
        let ball = Neighbours::MetricBall(MetricBall { norm: Norm::L1, radius: Radius::new(1.0).unwrap() });
        let error = Shift::count(ball).unwrap_err().to_string();
        assert!(error.starts_with("a count of records has no sensitivity under metric_ball"), "{error}");
        let error = Shift::sum(3, 2, Neighbours::Replace).unwrap_err().to_string();
        assert_eq!(error, "the lower bound must be at most the upper, got 3 and 2");
        assert!(Shift::sum(0, 0, Neighbours::AddRemove).is_err(), "nothing to hide");
        assert!(Shift::sum(i64::MIN, i64::MAX, Neighbours::Replace).is_err());
    }

    /// Pitfall 11: a quotient rounded down gives a little less noise than was asked for.
    #[test]
    fn pitfall_11_scales_never_round_down() {
        let mut naive_errs = 0;
        for moves in [1u64, 3, 7, 10] {
            for tenths in 1..200 {
                let epsilon = f64::from(tenths) / 10.0;
                let scale = scale_for(moves, Epsilon::new(epsilon).unwrap()).unwrap().get();
                assert!(scale.mul_add(epsilon, -(moves as f64)) >= 0.0);
                assert!(scale.next_down().mul_add(epsilon, -(moves as f64)) < 0.0, "and no more than needed");
                naive_errs += u32::from((moves as f64 / epsilon).mul_add(epsilon, -(moves as f64)) < 0.0);
            }
        }
        assert!(naive_errs > 0, "the naive quotient does err");
        assert!(matches!(scale_for(1, Epsilon::new(0.0).unwrap()), Err(MechanismError::NoBudget)));
    }
}
