//! The face that every learner has: the price first, then the model against a permit.

use sordino_data::{ContributionLimit, Encoded, Encoding};
use sordino_noise::{Bits, entropy};
use sordino_privacy::{Claim, Count, Inflation, Neighbours, Permit, Release};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::model::LinearModel;

/// A learner with all its numbers, ready to be charged.
///
/// # Contract
/// - [`claim`](Self::claim) depends on public numbers only, and so does whether a fit fails.
/// - A permit for another event, other parameters or another relation is refused before a record is read.
/// - What was drawn from a seed is marked as such in the guarantee.
pub trait LearningPlan {
    /// What is learned.
    type Model;

    /// What a fit costs, under which relation.
    fn claim(&self) -> Claim;

    /// Learns from `data`, with noise from the operating system's entropy.
    fn fit(&self, data: &Encoded, permit: Permit) -> Result<Release<Self::Model>, LearnError> {
        self.fit_with(data, permit, &mut entropy()?)
    }

    /// The same with given bits. With [`danger::seeded`](sordino_noise::danger::seeded) bits the guarantee says that it is void.
    fn fit_with(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
    ) -> Result<Release<Self::Model>, LearnError>;
}

/// What a learner that has no steps to tell of was planned for, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    pub(crate) encoding: Encoding,
    pub(crate) n: Count,
    pub(crate) claim: Claim,
}

/// What came out of noisy numbers, and what rounding took of the guarantee.
pub(crate) struct Learned {
    pub(crate) loss: Loss,
    pub(crate) weights: Vec<f64>,
    pub(crate) arithmetic: Inflation,
}

impl Terms {
    /// The one order of things: the permit first, then shapes, and only then does `learn` see records.
    pub(crate) fn fit(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
        learn: impl FnOnce(&mut dyn Bits) -> Result<Learned, LearnError>,
    ) -> Result<Release<LinearModel>, LearnError> {
        check_permit(&permit, &self.claim, &self.encoding)?;
        check_data(&self.encoding, self.n.get(), data)?;
        let permit = if bits.is_seeded() { permit.seeded() } else { permit };
        let Learned { loss, weights, arithmetic } = learn(bits)?;
        let model = LinearModel::new(loss, self.encoding.clone(), weights);
        Ok(permit.with_arithmetic(arithmetic).seal(&self.claim.event, model)?)
    }
}

/// That a permit pays for a claim, and promises it to the unit that the schema speaks of: an event for records is no promise to users, who may
/// have many.
pub(crate) fn check_permit(permit: &Permit, claim: &Claim, encoding: &Encoding) -> Result<(), LearnError> {
    permit.covers(claim)?;
    let (permitted, declared) = (permit.unit(), encoding.schema().unit().unit());
    if *permitted == declared {
        return Ok(());
    }
    Err(LearnError::OtherUnit { permitted: permitted.to_string(), declared: declared.to_string() })
}

/// That `data` is what a plan was made for: encoding, size, records a unit, and a target to learn. Looks at shapes alone.
pub(crate) fn check_data(encoding: &Encoding, n: u64, data: &Encoded) -> Result<(), LearnError> {
    if data.encoding() != encoding {
        return Err(LearnError::OtherEncoding);
    }
    if data.slots() as u64 != n {
        return Err(LearnError::OtherSize { planned: n, slots: data.slots() });
    }
    // The plan's event is for units of so many records; a table that was bounded by another schema may have more.
    if *data.limit() != ContributionLimit::of(encoding.schema().unit()) {
        return Err(LearnError::OtherLimit);
    }
    if data.has_target() { Ok(()) } else { Err(LearnError::NoTarget) }
}

/// That n is public under the relation.
pub(crate) fn check_relation(neighbours: Neighbours) -> Result<(), LearnError> {
    match neighbours {
        Neighbours::ZeroOut
        | Neighbours::ZeroOutUnordered
        | Neighbours::Replace
        | Neighbours::ReplaceOrdered => Ok(()),
        Neighbours::AddRemove | Neighbours::AddRemoveOrdered | Neighbours::MetricBall(_) => {
            Err(LearnError::PrivateSize { neighbours })
        }
    }
}
