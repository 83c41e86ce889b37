//! Why an accountant has no answer.

/// A claim that cannot be accounted for. Nothing is ever counted as free instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// The event means something, but no accountant here can bound it.
    #[error("no accountant can bound `{event}`: {why}")]
    Unsupported {
        /// The type of the event.
        event: String,
        /// What is missing, and what to state instead.
        why: String,
    },
    /// The event has no meaning under the relation it is claimed for.
    #[error("`{event}` has no meaning here: {why}")]
    Meaningless {
        /// The type of the event.
        event: String,
        /// Why, and what to state instead.
        why: String,
    },
    /// One accountant that was asked by name cannot answer; another may.
    #[error(
        "the accountant `{accountant}` cannot answer: {why}; ask for none by name, and the tightest answers"
    )]
    NotByThis {
        /// The accountant's name.
        accountant: String,
        /// What is in its way.
        why: String,
    },
    /// Nothing in the range that is searched meets the target.
    #[error("{what} costs more than epsilon = {epsilon} at delta = {delta}; raise epsilon or delta")]
    OutOfReach {
        /// The cheapest that was tried.
        what: String,
        /// The target.
        epsilon: f64,
        /// The target.
        delta: f64,
    },
    /// More than can be counted.
    #[error("{what} must be at most {limit}; more is not a plan but a slip")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The largest that is accepted.
        limit: u64,
    },
}

impl AccountError {
    pub(crate) fn unsupported(event: &str, why: impl Into<String>) -> Self {
        Self::Unsupported { event: event.to_owned(), why: why.into() }
    }

    pub(crate) fn not_by(accountant: &str, why: impl Into<String>) -> Self {
        Self::NotByThis { accountant: accountant.to_owned(), why: why.into() }
    }

    pub(crate) fn meaningless(event: &str, why: impl Into<String>) -> Self {
        Self::Meaningless { event: event.to_owned(), why: why.into() }
    }
}
