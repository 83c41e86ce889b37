//! What the tests of several crates share: chi-square tests and scratch folders.
//!
//! A dev-dependency, never a dependency. It knows no other crate of the project, so every crate can
//! use it.

mod chi_square;
mod scratch;

pub use chi_square::{chi_square, same_distribution};
pub use scratch::{Scratch, ScratchFile};
