//! When a sum of records may be computed block by block in `f64`.

use sordino_data::ROWS_PER_BLOCK;
use sordino_noise::grid::{Allowance, FloatGroups, Grouping};
use sordino_privacy::Neighbours;

/// The allowance for sums over blocks of fixed slots: `f64` where the relation leaves every record
/// in its slot, exact otherwise. A term of the sum is rounded at most once for each slot of the
/// block, and `factors` more times when it is made.
pub(crate) fn allowance(neighbours: Neighbours, factors: u64) -> Allowance {
    match neighbours {
        Neighbours::ZeroOut | Neighbours::ReplaceOrdered => Allowance::FloatGroups(FloatGroups {
            group_size: ROWS_PER_BLOCK as u32,
            chain: ROWS_PER_BLOCK as u64 + factors,
            unit_roundoff: FloatGroups::F64,
            beta: 1.0,
            positions: 1,
            grouping: Grouping::FixedSlots,
        }),
        // A float sum depends on the order of records, which may differ between these neighbours.
        Neighbours::AddRemove
        | Neighbours::AddRemoveOrdered
        | Neighbours::ZeroOutUnordered
        | Neighbours::Replace
        | Neighbours::MetricBall(_) => Allowance::Exact,
    }
}
