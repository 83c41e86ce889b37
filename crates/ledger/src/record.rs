//! What a ledger says of data sets and charges.

use sordino_privacy::{Event, Spent, Terms};

use crate::clock::Time;
use crate::digest::Digest;
use crate::grant::Grant;
use crate::label::Label;
use crate::progress::Progress;
use crate::rules::Rules;

/// A data set with its budget.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// Number of the entry that created it.
    pub number: u64,
    /// Its names, the first one first.
    pub names: Vec<Label>,
    /// Its contents, the first one first.
    pub contents: Vec<Digest>,
    /// What may be spent.
    pub terms: Terms,
    /// What was granted.
    pub spent: Spent,
    /// The shares of analysts, in the order in which they were first given.
    pub grants: Vec<Grant>,
    /// How its owner lets it be read and used; `None` if nothing was said.
    pub rules: Option<Rules>,
}

/// One grant.
#[derive(Clone, Debug, PartialEq)]
pub struct ChargeRecord {
    /// Number of the entry that reserved it.
    pub number: u64,
    /// When it was reserved.
    pub time: Time,
    /// Number of the data set.
    pub data_set: u64,
    /// Who asked.
    pub who: Label,
    /// What for.
    pub what: Label,
    /// What it does.
    pub event: Event,
    /// Whether the noise comes from a fixed seed, so that nobody is protected.
    pub seeded: bool,
    /// How far the run is that it pays for, if that was recorded.
    pub progress: Option<Progress>,
    /// Number of the charge whose run it goes on with. That one is booked without a result.
    pub follows: Option<u64>,
    /// What became of it.
    pub state: State,
}

/// What became of a charge. Both are spent.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Granted; its end was not recorded. The process may be at work or may have died: the result may have been seen.
    Reserved,
    /// Its result was released.
    Booked {
        /// When.
        time: Time,
        /// Hash of the result, if it was given.
        result: Option<Digest>,
    },
}

impl State {
    /// `reserved` or `booked`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Booked { .. } => "booked",
        }
    }
}
