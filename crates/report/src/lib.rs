//! What a person reads about a guarantee and a release: plain words, a few numbers, pictures.
//!
//! - [`Explanation`]: what (ε, δ), or everything that an event releases, lets the best attacker do.
//! - [`picture`]: the same as a trade-off curve, a self-contained SVG.
//! - [`RunFacts`]: everything that is said about one release, in JSON; it
//!   has room for public things only.
//! - [`Report`]: a run as one self-contained HTML file and as a Markdown model card, with the
//!   [`Finding`]s that weaken its claim.
//!
//! # Rule
//! Every number is rounded against us: what an attacker can do is rounded up, where it errs down;
//! scores of a model are rounded away from what is better. No number is turned into a colour or a
//! grade, and nothing is called anonymous.
#![forbid(unsafe_code)]

// The sample of `examples/` is written from outside; unit tests use it too.
#[cfg(test)]
extern crate self as sordino_report;

mod escape;
mod explain;
mod lint;
mod number;
mod page;
mod picture;
mod pitfalls;
mod report;
mod run;
#[cfg(test)]
mod sample;

pub use explain::{Attack, Crowd, Explanation, GroupPromise, Odds, Promise, Whose, words};
pub use lint::{Code, Finding};
pub use picture::picture;
pub use pitfalls::Avoided;
pub use report::Report;
pub use run::{
    Better, Bin, BoundsOrigin, BudgetUse, Calibration, Confusion, Curve, DataFacts, DecisionRule,
    DeclaredColumns, Evaluation, GroupScores, Groups, Interval, MethodFacts, Point, PrivateSize, Provenance,
    PublicData, PublicRows, Released, ReleasedFile, Requested, RunFacts, Scale, Score, Setting, SettingValue,
    Task, Tuning, WholeBudget,
};
