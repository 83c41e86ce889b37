//! What a person reads about a guarantee: plain words, a few numbers, one picture.
//!
//! - [`Explanation`]: what (ε, δ), or everything that an event releases, lets the best attacker do.
//! - [`picture`]: the same as a trade-off curve, a self-contained SVG.
//!
//! # Rule
//! Every number is rounded against us: what an attacker can do is rounded up, where it errs down. No
//! number is turned into a colour or a grade, and nothing is called anonymous.
#![forbid(unsafe_code)]

mod explain;
mod number;
mod picture;
mod plot;

pub use explain::{Attack, Crowd, Explanation, Group, Odds, Promise, words};
pub use picture::picture;
