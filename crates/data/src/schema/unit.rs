//! The unit of protection, as a schema declares it.

use sordino_privacy::{Count, Unit};

/// Whose records are protected together, and how many of them are used at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitRule {
    /// Each record is a unit of its own.
    Record,
    /// All records with one value of `column` are one unit.
    Column {
        /// The column that names the unit, such as a patient.
        column: String,
        /// How many records of one unit are used at most.
        max_records: Count,
    },
}

impl UnitRule {
    /// The unit as a guarantee states it.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Record => Unit::Record,
            Self::Column { column, .. } => Unit::Column(column.clone()),
        }
    }

    /// The column that names the unit, if one does.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Record => None,
            Self::Column { column, .. } => Some(column),
        }
    }

    /// How many records of one unit are used at most.
    pub fn max_records(&self) -> Count {
        match self {
            Self::Record => Count::ONE,
            Self::Column { max_records, .. } => *max_records,
        }
    }
}
