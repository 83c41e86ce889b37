//! What grants: budgets, permits, and the releases and guarantees that permits turn into.
//!
//! All code that can make a [`Permit`], a [`Guarantee`], a [`Release`] or evidence of payment
//! ([`Paid`]) stands in this module. Their constructors are visible here and nowhere else, and the
//! compiler checks that. What the rest of the crate knows (events, relations, accountants, notions,
//! calibration) prices, and never grants: it does not use this module.

mod budget;
pub mod danger;
mod guarantee;
mod individual;
mod paid;
mod payer;
mod permit;
mod release;
mod statement;

pub use budget::{
    Budget, Charge, ChargeError, Charged, Choice, Filter, Gate, Gauge, Journal, MemoryJournal, Odometer,
    OdometerReading, Prospect, Quote, Refusal, SoFar, Spent, Terms, TypicalRelease, Voucher, Work,
};
pub use guarantee::Guarantee;
pub use individual::IndividualFilter;
pub use paid::Paid;
pub use permit::{Permit, ReleaseError};
pub use release::Release;
pub use statement::Statement;
