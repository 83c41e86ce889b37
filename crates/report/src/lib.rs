//! What a person reads about a guarantee and a release: plain words, a few numbers, pictures.
//!
//! - [`Explanation`]: what (ε, δ), or everything that an event releases, lets the best attacker do.
//! - [`picture`]: the same as a trade-off curve, a self-contained SVG.
//! - [`RunFacts`]: everything that a report states about one release, in JSON; it holds public
//!   facts only.
//! - [`Report`]: a run as one self-contained HTML file and as a Markdown model card, with the
//!   [`Finding`]s that weaken its claim.
//!
//! # Rule
//! Every number is rounded against us: an attacker's success is rounded up, an attacker's errors
//! down, and the scores of a model towards worse. No number becomes a colour or a grade, and
//! nothing is called anonymous.
#![forbid(unsafe_code)]

// The sample in `examples/` uses the crate by its name; unit tests use the sample too.
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
