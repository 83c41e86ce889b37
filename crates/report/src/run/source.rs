//! Public facts about the data from which a model was made.

use serde::{Deserialize, Serialize};
use sordino_privacy::{Count, Neighbours};

/// Public facts about the data from which a model was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFacts {
    /// The data's name, as its owner calls it.
    pub data: String,
    /// What identifies the data, such as `sha256:...`. A hash of few or guessable records reveals
    /// them to anyone who can list the candidates: state the ledger's identity, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The number of records (or slots), if the relation does not hide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<PublicRows>,
    /// The number of features of a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<u64>,
    /// The most records of a unit, if the unit is not a single record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_records: Option<u64>,
    /// Where bounds and categories come from.
    pub bounds: BoundsOrigin,
}

/// Where bounds and categories of the columns come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundsOrigin {
    /// A schema that was written without looking at the data.
    Declared,
    /// Private estimates, paid for by the event.
    Estimated,
}

/// A number of records that everybody may know.
///
/// ```
/// use sordino_privacy::{Count, Neighbours};
/// use sordino_report::PublicRows;
/// let rows = PublicRows::new(Count::new(569)?, Neighbours::ZeroOut)?;
/// assert_eq!(rows.get().get(), 569);
/// assert!(PublicRows::new(Count::new(569)?, Neighbours::AddRemove).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublicRows(Count);

/// The relation hides how many records there are.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "the number of records is private under {neighbours}, so a report cannot state it; leave it out, or \
    release a noisy count"
)]
pub struct PrivateSize {
    neighbours: Neighbours,
}

impl PublicRows {
    /// `rows`, if the relation does not hide it.
    pub fn new(rows: Count, neighbours: Neighbours) -> Result<Self, PrivateSize> {
        if hides_size(neighbours) { Err(PrivateSize { neighbours }) } else { Ok(Self(rows)) }
    }

    /// The number.
    pub fn get(self) -> Count {
        self.0
    }
}

/// Whether neighbours differ in their number of records.
pub(crate) fn hides_size(neighbours: Neighbours) -> bool {
    match neighbours {
        Neighbours::AddRemove | Neighbours::AddRemoveOrdered => true,
        Neighbours::ZeroOut
        | Neighbours::ZeroOutUnordered
        | Neighbours::Replace
        | Neighbours::ReplaceOrdered
        | Neighbours::MetricBall(_) => false,
    }
}
