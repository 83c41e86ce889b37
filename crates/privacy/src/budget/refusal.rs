//! Why there is no permit.

use std::fmt;

use super::Terms;
use crate::bound::Bound;
use crate::params::Rounded;

/// The numbers of a refusal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// What refuses: `the budget`, or the name of a part of it.
    pub name: String,
    /// What the event costs alone.
    pub costs: Bound,
    /// What the budget exceeds the present total by.
    pub left: f64,
    /// What the total would have become.
    pub total: f64,
    /// The budget.
    pub terms: Terms,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (costs, left, total) = (Rounded(self.costs.upper), Rounded(self.left), Rounded(self.total));
        let Terms { epsilon, delta, .. } = &self.terms;
        if self.costs.upper == f64::INFINITY {
            let reason =
                if delta.get() == 0.0 { " at δ = 0; a budget with δ > 0 may have room for it" } else { "" };
            return write!(f, "this release has no finite ε{reason}; nothing was charged");
        }
        if self.total == f64::INFINITY {
            return write!(
                f,
                "this release costs ε = {costs} alone, but has neither a pure nor a Rényi bound that adds \
                 up when events \
                 depend on earlier results, or exceeds the δ that was set aside for such releases; charge it \
                 first, or to a budget that is planned or sets δ aside; nothing was charged"
            );
        }
        write!(
            f,
            "this release costs ε = {costs}, but {} has {left} left of {epsilon} (δ = {delta}; \
             the total would be \
             {total}); add noise, release less often, or ask the budget's owner for more",
            self.name
        )
    }
}
