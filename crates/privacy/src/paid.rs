//! Evidence of what was paid for earlier.
//!
//! A computation that goes on where an earlier one stopped, or a model on a schema that was bought, is
//! promised what both cost together. What the earlier part cost is then part of a new promise, so that it
//! must not be anybody's word: charging nothing, and joining a promise read from a file, would make a release
//! that says `"metered": true` and that no budget has paid for.
//!
//! ```compile_fail
//! let forged = sordino_privacy::Paid { guarantee: todo!() };
//! ```
//! ```compile_fail
//! let forged: sordino_privacy::Paid = serde_json::from_str("{}").unwrap();
//! ```
//! ```compile_fail
//! # fn example(permit: sordino_privacy::Permit, read: &sordino_privacy::Statement) {
//! let joined = permit.together_with(read);
//! # }
//! ```

use crate::event::Event;
use crate::guarantee::Guarantee;

/// What was paid for earlier.
///
/// | made by | from | metered |
/// |---|---|---|
/// | [`Release::paid`](crate::Release::paid) | a release of this process | as the release is |
/// | [`Budget::paid`](crate::Budget::paid) | what a budget has recorded, priced anew | yes |
/// | [`danger::unmetered_paid`](crate::danger::unmetered_paid) | what a file says, priced anew | no |
///
/// It is no right to release anything: for that there is a [`Permit`](crate::Permit), with which it can be
/// [joined](crate::Permit::together_with).
#[derive(Clone, Debug, PartialEq)]
pub struct Paid {
    guarantee: Guarantee,
}

impl Paid {
    /// Only of a release, of a budget's record, or marked as unmetered.
    pub(crate) fn new(guarantee: Guarantee) -> Self {
        Self { guarantee }
    }

    /// What it was paid for.
    pub fn event(&self) -> &Event {
        &self.guarantee.event
    }

    /// What is promised about that alone.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }
}
