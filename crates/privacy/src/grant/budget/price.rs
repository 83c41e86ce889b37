//! What the tightest accountant says about one claim.

use super::ChargeError;
use crate::accounting::{self, AccountError, Accountant};
use crate::bound::Bound;
use crate::claim::Claim;
use crate::grant::guarantee::Guarantee;
use crate::grant::statement::Statement;
use crate::params::{Delta, Inflation};
use crate::relation::Unit;

/// The guarantee of one event alone.
pub(in crate::grant) fn price(
    claim: Claim,
    unit: Unit,
    delta: Delta,
    metered: bool,
) -> Result<Guarantee, ChargeError> {
    let (epsilon, accountant) = certified(&claim, delta)?;
    Ok(Guarantee::new(Statement {
        neighbours: claim.neighbours,
        unit,
        epsilon,
        delta,
        accountant: accountant.to_owned(),
        event: claim.event,
        // 0 is in the range of inflations.
        arithmetic: Inflation::new(0.0).expect("0 is an inflation"),
        seeded: false,
        metered,
    }))
}

/// ε of a claim, and which accountant certified it.
pub(super) fn certified(claim: &Claim, delta: Delta) -> Result<(Bound, &'static str), AccountError> {
    let account = accounting::epsilon(claim, delta, Accountant::Auto)?;
    Ok((account.bound, account.accountant))
}
