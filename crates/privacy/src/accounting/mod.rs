//! From events to certified numbers.

mod closed;
pub(crate) mod composition;
mod error;
mod flatten;
mod front;
mod member;
pub(crate) mod optimal;
mod pld;
pub(crate) mod rdp;
#[cfg(test)]
mod reference;
pub(crate) mod step;
mod tally;

pub use error::AccountError;
pub use front::{Account, Accountant, delta, epsilon};
pub(crate) use front::{gaussian_distance, upper_profile};
pub(crate) use tally::{Tally, tally};
