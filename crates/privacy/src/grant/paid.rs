//! Evidence of what was paid for earlier.
//!
//! A computation that goes on where an earlier one stopped, or a model on a schema that was bought,
//! has a guarantee for both parts together. So the cost of the earlier part needs evidence.
//! Otherwise one could charge nothing, join a promise read from a file, and get a release that says
//! `"metered": true` although no budget paid for it. For the same reason one charge is evidence
//! once, and only for permits of its own budget.
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
/// It does not permit a release; a [`Permit`](crate::Permit) does, and evidence can be
/// [joined](crate::Permit::together_with) to it. Joining uses it up: it cannot be copied, and one
/// charge is evidence for one computation. Metered evidence joins only what the same
/// [`Budget`](crate::Budget) has paid for.
#[derive(Debug, PartialEq)]
pub struct Paid {
    guarantee: Guarantee,
    payer: Option<Payer>,
}

impl Paid {
    /// Called only for a release, for a budget's record, or with the mark of unmetered evidence.
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

    /// The guarantee of the earlier part alone.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }
}
