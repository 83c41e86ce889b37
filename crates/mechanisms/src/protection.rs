//! The relation and the unit that a sensitivity was derived for.
//!
//! A bound on what neighbours change means nothing without the relation that says what neighbours
//! are and the unit in which they differ. They travel in one value, from the bound to the permit's
//! check.

use sordino_privacy::{Neighbours, Unit};

/// The relation and the unit for which a sensitivity was derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    neighbours: Neighbours,
    unit: Unit,
}

impl Protection {
    /// Single records under this relation.
    pub fn of_records(neighbours: Neighbours) -> Self {
        Self { neighbours, unit: Unit::Record }
    }

    /// This unit instead, however many records one of them has.
    pub fn for_unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }

    /// The relation.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// Whose data moves between neighbours.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }
}
