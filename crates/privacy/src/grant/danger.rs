//! Doors that skip a safeguard. A search for `danger` finds every use.

use crate::claim::Claim;
use crate::grant::budget::{ChargeError, price};
use crate::grant::individual::IndividualFilter;
use crate::grant::paid::Paid;
use crate::grant::permit::{Permit, Seeds};
use crate::grant::statement::Statement;
use crate::params::Delta;
use crate::relation::Unit;

/// A permit that no budget knows of, for experiments and for programs without a ledger. Its
/// releases say `"metered": false`. Nobody adds up what several of them cost.
///
/// The claim must still be one that an accountant understands; an unbounded ε is allowed and
/// stated.
pub fn unmetered(claim: Claim, unit: Unit, delta: Delta) -> Result<Permit, ChargeError> {
    let guarantee = price(claim, unit, delta, false)?;
    Ok(Permit::new(guarantee, None, None, Seeds::Allowed))
}

/// Evidence on the word of a file, for programs without a ledger. Its ε is not believed: the event
/// is priced again. Whatever it is joined with says `"metered": false`.
pub fn unmetered_paid(said: &Statement) -> Result<Paid, ChargeError> {
    let claim = Claim::new(said.neighbours, said.event.clone());
    let guarantee = price(claim, said.unit.clone(), said.delta, false)?;
    Ok(Paid::new(guarantee.seeded_if(said.seeded).with_arithmetic(said.arithmetic), None))
}

/// What each record has spent of an individual filter, in full steps: private data of these
/// records, for the eyes of the data's owner alone. Anything that is released must not depend on
/// it.
pub fn spent_by_each(filter: &IndividualFilter) -> Vec<f64> {
    filter.spent().collect()
}
