//! From events to certified numbers.

mod closed;
mod composition;
mod error;
mod flatten;
mod front;
mod member;
mod pld;
mod rdp;
#[cfg(test)]
mod reference;
mod step;
mod tally;

pub use error::AccountError;
pub use front::{Account, Accountant, delta, epsilon};
pub(crate) use tally::{Tally, tally};
