//! The words for the unit that a sentence is about: a record, all records of one patient, a client,
//! or a person if no unit is stated.

use sordino_privacy::Unit;

use crate::escape::visible;

/// The words for one unit and for several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whose {
    /// The data of one unit: `one record`, `the records of one patient_id`.
    pub(crate) data: String,
    /// The same data when it was just named: `that record`.
    pub(crate) it: String,
    /// The data of all other units.
    pub(crate) others: String,
    /// Each unit, for the end of a sentence.
    pub(crate) each: String,
    /// The plural.
    pub(crate) many: String,
    /// An example of units that belong together.
    pub(crate) such_as: &'static str,
    /// The items whose number is public under some relations.
    pub(crate) counted: &'static str,
    /// Whether `data` takes a verb in the singular.
    is_one: bool,
}

impl Whose {
    /// The words for a promise to a person.
    pub fn person() -> Self {
        Self {
            data: "one person's data".into(),
            it: "that person's data".into(),
            others: "everybody else's data".into(),
            each: "each person".into(),
            many: "people".into(),
            such_as: "such as a family",
            counted: "people",
            is_one: false,
        }
    }

    /// The words for a promise to a declared unit.
    pub fn unit(unit: &Unit) -> Self {
        match unit {
            Unit::Record => Self {
                data: "one record".into(),
                it: "that record".into(),
                others: "all other records".into(),
                each: "each record".into(),
                many: "records".into(),
                such_as: "such as those of one person",
                counted: "records",
                is_one: true,
            },
            Unit::Column(name) => {
                let name = visible(name);
                Self {
                    data: format!("the records of one {name}"),
                    it: format!("the records of that {name}"),
                    others: "all other records".into(),
                    each: format!("each {name}"),
                    many: format!("values of {name}"),
                    such_as: "such as those of a family",
                    counted: "records",
                    is_one: false,
                }
            }
            Unit::Client => Self {
                data: "one client's data".into(),
                it: "that client's data".into(),
                others: "all other clients' data".into(),
                each: "each client".into(),
                many: "clients".into(),
                such_as: "such as those of one person",
                counted: "clients",
                is_one: false,
            },
        }
    }

    /// The replacement of the unit's data.
    pub(crate) fn another(&self) -> &'static str {
        if self.is_one { "another" } else { "those of another" }
    }

    /// `was` or `were`.
    pub(crate) fn was(&self) -> &'static str {
        if self.is_one { "was" } else { "were" }
    }

    /// `is` or `are`.
    pub(crate) fn is(&self) -> &'static str {
        if self.is_one { "is" } else { "are" }
    }
}
