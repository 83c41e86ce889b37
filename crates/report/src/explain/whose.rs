//! Whose data a sentence speaks of: a record, all records of one patient, a
//! client; a person where nobody said.

use sordino_privacy::Unit;

use crate::escape::visible;

/// The words for one unit and for several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whose {
    /// What is used or not: `one record`, `the records of one patient_id`.
    pub(crate) data: String,
    /// The same, as what was just named: `that record`.
    pub(crate) it: String,
    /// The data of all others.
    pub(crate) others: String,
    /// Each of them, as the end of a sentence.
    pub(crate) each: String,
    /// Several of them.
    pub(crate) many: String,
    /// Several that belong together, for example.
    pub(crate) such_as: &'static str,
    /// What a relation with a public number makes public.
    pub(crate) counted: &'static str,
    /// Is there one of them or are there several? For the verb.
    is_one: bool,
}

impl Whose {
    /// A promise to people, whatever they handed over.
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

    /// A promise to a declared unit, by its name.
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

    /// What is there in place of it.
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
