//! From events to certified numbers.

mod balls;
mod closed;
pub(crate) mod composition;
#[cfg(test)]
mod corners;
mod drawn;
mod error;
mod flatten;
mod front;
mod instance;
mod member;
mod memo;
mod mixture;
pub(crate) mod optimal;
mod pld;
pub(crate) mod rdp;
#[cfg(test)]
mod reference;
mod selected;
mod shuffled;
pub(crate) mod step;
mod table;
mod tally;
#[cfg(test)]
mod tight;
mod with_replacement;

pub use error::AccountError;
pub use front::{Accountant, Cost, delta, epsilon};
pub(crate) use front::{gaussian_distance, upper_profile};
pub(crate) use tally::{Tally, tally};
