//! A budget as it is shown: what is used of it, what is left, what a charge takes.
//!
//! # The currency
//! All numbers here are shares of the budget's capacity, times its ε
//! ([`Gate::total`](super::Gate::total)). A charge is granted if it takes no more than is left;
//! only the very first one may take more, and then takes everything. None of them is an ε that may
//! be promised: the promise is the budget's (ε, δ), for everything together. A pure charge takes
//! its ε or less; many others take far less than they cost alone.

/// How much of a budget is used.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Gauge {
    /// All of it: ε of the budget.
    pub epsilon: f64,
    /// What is used. Above `epsilon` for a share that was given after it was spent.
    pub used: f64,
    /// What is left.
    pub left: f64,
    /// What would be left if one charge were not pure. Less than `left` where all of them are pure
    /// and large: sums of pure ε need no δ, and from the first other charge on they are not enough.
    pub left_beyond_pure: f64,
}

/// What a charge would take.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Quote {
    /// What is left before it.
    pub before: f64,
    /// What is left after it.
    pub after: f64,
}

impl Quote {
    /// What it takes.
    pub fn price(&self) -> f64 {
        self.before - self.after
    }
}
