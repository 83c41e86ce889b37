//! Sums of records block by block in double precision, and when they may be.

use sordino_data::ROWS_PER_BLOCK;
use sordino_noise::grid::{Allowance, FloatGroups, Grouping};
use sordino_privacy::Neighbours;

/// Blocks of fixed slots are summed in `f64` where a relation leaves every record in its slot. The
/// chain of roundings of a sum is that of a plain loop over a block, and `more` factors beside it.
pub(crate) fn allowance(neighbours: Neighbours, more: u64) -> Allowance {
    match neighbours {
        Neighbours::ZeroOut | Neighbours::ReplaceOrdered => Allowance::FloatGroups(FloatGroups {
            group_size: ROWS_PER_BLOCK as u32,
            chain: ROWS_PER_BLOCK as u64 + more,
            unit_roundoff: FloatGroups::F64,
            beta: 1.0,
            positions: 1,
            grouping: Grouping::FixedSlots,
        }),
        // Groups show the order of records, which may differ here.
        Neighbours::AddRemove
        | Neighbours::AddRemoveOrdered
        | Neighbours::ZeroOutUnordered
        | Neighbours::Replace
        | Neighbours::MetricBall(_) => Allowance::Exact,
    }
}
