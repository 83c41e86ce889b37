//! Why there is no permit.

use std::fmt;

use super::terms::SLACK;
use super::{Filter, Terms};
use crate::bound::Bound;
use crate::params::{Rounded, RoundedDown};

/// The numbers of a refusal.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// What refuses: `the budget`, or the name of a part of it.
    pub name: String,
    /// What the event costs alone.
    pub costs: Bound,
    /// What is left of the budget.
    pub left: f64,
    /// What the event would take of it. ∞ if it has no bound that adds up.
    pub takes: f64,
    /// The largest ε that a release of the same kind could cost alone and fit, rounded down; `None`
    /// if it is not known.
    pub fits: Option<f64>,
    /// What to do besides asking for less; empty if there is nothing.
    pub remedy: String,
    /// The budget.
    pub terms: Terms,
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (costs, takes) = (Rounded(self.costs.upper), Rounded(self.takes));
        // Charges are compared with a slack of this size, so 0.2 of 1 after 0.8 is 0.2.
        let left = (self.left + SLACK * self.terms.epsilon.get()).min(self.terms.epsilon.get());
        let left = RoundedDown(if self.left > 0.0 { left } else { 0.0 });
        let Terms { epsilon, delta, .. } = &self.terms;
        if self.costs.upper == f64::INFINITY {
            let reason =
                if delta.get() == 0.0 { " at δ = 0; a budget with δ > 0 may have room for it" } else { "" };
            return write!(f, "this release has no finite ε{reason}; nothing was charged");
        }
        if self.takes == f64::INFINITY {
            let (why, instead) = match self.terms.filter {
                Filter::Renyi => ("neither a pure nor a Rényi bound", ""),
                Filter::Gaussian => (
                    "neither a pure bound nor a Gaussian one, as Gaussian noise on samples of the records \
                     has none,",
                    ", add noise to sums over all records",
                ),
            };
            return write!(
                f,
                "this release costs ε = {costs} alone, but has {why} that adds up when events depend on \
                 earlier results, or exceeds the δ that was set aside for such releases; charge it \
                 first{instead}, or to a budget that is planned or sets δ aside; nothing was charged"
            );
        }
        // What a pure release takes of a budget of pure ones is its ε.
        let is_plain = (self.takes - self.costs.upper).abs() <= 1e-6 * self.costs.upper;
        let taken = if is_plain { String::new() } else { format!(" alone and takes {takes} of the budget") };
        write!(
            f,
            "this release costs ε = {costs}{taken}, but {} has {left} left of {epsilon} (δ = {delta}); ",
            self.name
        )?;
        match self.fits {
            Some(fits) => write!(f, "ask again with `--epsilon {}` or less", RoundedDown(fits))?,
            None => f.write_str("add noise, or release less often")?,
        }
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}
