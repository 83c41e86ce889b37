//! The budget that has paid.
//!
//! Evidence from one budget, joined to a permit of another, would make a release that the other has
//! not paid for: a budget over nobody's data has room for any price. So permits, releases and
//! evidence know their budget.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::grant::budget::ChargeError;

/// One opened budget of this process. What was not metered has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::grant) struct Payer(u64);

impl Payer {
    /// A new identity, unlike all others of this process.
    pub(in crate::grant) fn new() -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        Self(OPENED.fetch_add(1, Ordering::Relaxed))
    }

    /// The payer of both parts of one release; none if one part was not metered.
    pub(in crate::grant) fn of_both(
        one: Option<Self>,
        other: Option<Self>,
    ) -> Result<Option<Self>, ChargeError> {
        match (one, other) {
            (Some(one), Some(other)) if one != other => Err(ChargeError::OtherBudget),
            (Some(_), Some(_)) => Ok(one),
            (None, _) | (_, None) => Ok(None),
        }
    }
}
