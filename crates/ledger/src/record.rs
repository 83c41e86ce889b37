//! Data sets and charges, as a ledger shows them.

use sordino_privacy::{Event, Spent, Terms};

use crate::clock::Time;
use crate::digest::Digest;
use crate::grant::Grant;
use crate::label::Label;
use crate::progress::RunProgress;
use crate::rules::Rules;

/// A data set with its budget.
#[derive(Clone, Debug)]
pub struct DataSet {
    /// Number of the entry that created it.
    pub number: u64,
    /// Its names, oldest first.
    pub names: Vec<Label>,
    /// The digests of its contents, oldest first.
    pub contents: Vec<Digest>,
    /// The terms of the budget.
    pub terms: Terms,
    /// Everything that was charged.
    pub spent: Spent,
    /// The shares of analysts, in the order in which they were first given.
    pub grants: Vec<Grant>,
    /// The owner's rules, if there are any.
    pub rules: Option<Rules>,
}

/// One charge.
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
    /// The purpose.
    pub what: Label,
    /// The event that it pays for.
    pub event: Event,
    /// Whether the noise comes from a fixed seed, so that nobody is protected.
    pub seeded: bool,
    /// The progress of the run that it pays for, if any was recorded.
    pub progress: Option<RunProgress>,
    /// Number of the earlier charge whose run this one resumes. The earlier one is booked without a
    /// result.
    pub follows: Option<u64>,
    /// Whether its result was released.
    pub state: State,
}

/// The state of a charge. In both states it is spent.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Charged, and not booked yet. The process may still run or may have died; somebody may have
    /// seen the result.
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
