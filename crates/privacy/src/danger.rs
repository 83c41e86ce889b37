//! Doors that skip a safeguard. A search for `danger` finds every use.

use crate::budget::{ChargeError, price};
use crate::claim::Claim;
use crate::params::Delta;
use crate::permit::Permit;
use crate::relation::Unit;

/// A permit that no budget knows of, for experiments and for programs that were given no ledger. Its
/// releases say `"metered": false`. What is spent over several of them is nobody's sum.
///
/// The claim must still be one that an accountant understands; an unbounded ε is allowed and stated.
pub fn unmetered(claim: Claim, unit: Unit, delta: Delta) -> Result<Permit, ChargeError> {
    let guarantee = price(claim, unit, delta, false)?;
    Ok(Permit::new(guarantee, None))
}
