//! Evidence of what was paid for earlier.
//!
//! A computation that goes on where an earlier one stopped, or a model on a schema that was bought, is
//! promised what both cost together. What the earlier part cost is then part of a new promise, so that it
//! must not be anybody's word: charging nothing, and joining a promise read from a file, would make a release
//! that says `"metered": true` and that no budget has paid for. For the same reason one charge is evidence once, and for
//! permits of its own budget.
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
//! ```compile_fail
//! # fn example(paid: sordino_privacy::Paid) {
//! let copy = paid.clone();
//! # }
//! ```
//! ```compile_fail
//! # fn example(release: sordino_privacy::Release<u64>) {
//! let (one, two) = (release.clone().into_paid(), release.into_paid());
//! # }
//! ```

use crate::event::Event;
use crate::grant::guarantee::Guarantee;
use crate::grant::payer::Payer;

/// What was paid for earlier.
///
/// | made by | from | metered |
/// |---|---|---|
/// | [`Release::into_paid`](crate::Release::into_paid) | a release of this process | as the release is |
/// | [`Budget::paid`](crate::Budget::paid) | what a budget has recorded, priced anew | yes |
/// | [`danger::unmetered_paid`](crate::danger::unmetered_paid) | what a file says, priced anew | no |
///
/// It is no right to release anything: for that there is a [`Permit`](crate::Permit), with which it can be
/// [joined](crate::Permit::together_with). Joining uses it up: it cannot be copied, and one charge is evidence for one computation. Metered
/// evidence joins what the same [`Budget`](crate::Budget) has paid for; with another's it is refused.
#[derive(Debug, PartialEq)]
pub struct Paid {
    guarantee: Guarantee,
    payer: Option<Payer>,
}

impl Paid {
    /// Only of a release, of a budget's record, or marked as unmetered.
    pub(in crate::grant) fn new(guarantee: Guarantee, payer: Option<Payer>) -> Self {
        Self { guarantee, payer }
    }

    /// What it was paid for.
    pub fn event(&self) -> &Event {
        &self.guarantee.event
    }

    /// The budget that has paid; none if it was not metered.
    pub(in crate::grant) fn payer(&self) -> Option<Payer> {
        self.payer
    }

    /// What is promised about that alone.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }
}
