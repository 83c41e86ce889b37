//! The face that every learner has: the price first, then the model against a permit.
//!
//! # The gate
//! [`check_permit`] and [`check_data`] stand before every fit, in this order, and look at no record: the permit must
//! pay for the plan's claim, under its relation, for the unit that the schema speaks of, and for seeded noise
//! if that is what there is; the data must have the encoding, the number of slots and the limit of records a
//! unit that the plan was made for.
//!
//! # What steps cost
//! A fit of many steps pays for all of them before the first. Stopped on request, it goes on for nothing. After a
//! crash the steps that no checkpoint knows of are charged again ([`StepwisePlan::replay_claim`]), and the guarantee
//! of the result is that of both charges; see [`Checkpoint`].

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use sordino_data::{ContributionLimit, Encoded, Encoding};
use sordino_noise::{Bits, EntropyError, entropy};
use sordino_privacy::{Claim, Delta, Epsilon, Neighbours, NoiseMultiplier, Paid, Permit, Release};

use crate::checkpoint::{Checkpoint, Checkpoints, Witness};
use crate::error::OptimError;
use crate::progress::Progress;

/// A learner with all its numbers, ready to be charged.
///
/// # Contract
/// - [`claim`](Self::claim) depends on public numbers only, and so does whether a fit fails.
/// - A permit for another event, other parameters, another relation or another unit is refused before a record is
///   read.
/// - What was drawn from a seed is marked as such in the guarantee; a permit that does not allow it is
///   refused before a bit is drawn.
pub trait LearningPlan {
    /// What is learned.
    type Model;
    /// Why nothing was learned.
    type Error: From<OptimError> + From<EntropyError>;

    /// What a fit costs, under which relation.
    fn claim(&self) -> Claim;

    /// Learns from `data`, with noise from the operating system's entropy.
    fn fit(&self, data: &Encoded, permit: Permit) -> Result<Release<Self::Model>, Self::Error> {
        self.fit_with(data, permit, &mut entropy()?)
    }

    /// The same with given bits. With [`danger::seeded`](sordino_noise::danger::seeded) bits the guarantee says that
    /// it is void.
    fn fit_with(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
    ) -> Result<Release<Self::Model>, Self::Error>;
}

/// A plan whose fit can be watched, stopped, and go on later.
pub trait StepwisePlan: LearningPlan {
    /// How many steps progress and checkpoints count: those of gradient descent, passes over all coordinates of
    /// coordinate descent.
    fn steps(&self) -> u64;

    /// Learns as `fit` does, and is watched, stopped or kept on the way.
    fn fit_under(
        &self,
        data: &Encoded,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<Self::Model>, Self::Error>;

    /// What must be charged before a fit can go on from `checkpoint`: the steps that may be done a second time.
    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, Self::Error>;

    /// Goes on from a checkpoint, against a permit for [`replay_claim`](Self::replay_claim). The guarantee of the
    /// result is that of this charge and of those before it, of which `paid` is the evidence. Unless all that
    /// is left was charged, as for a copy, `options` must name the checkpoint's own place.
    fn resume(
        &self,
        data: &Encoded,
        checkpoint: Checkpoint,
        paid: Paid,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<Self::Model>, Self::Error>;
}

/// What a fit of many steps may be told beside its data. All of it is optional.
#[derive(Default)]
pub struct FitOptions<'a> {
    /// Who is told how far it is, after each step. Nothing private is told.
    pub progress: Option<&'a mut dyn FnMut(Progress<'_>)>,
    /// Stops before the next step once it is set; what was charged stays charged.
    pub cancel: Option<&'a AtomicBool>,
    /// Where to keep what is needed to go on.
    pub checkpoints: Option<Checkpoints>,
    /// Who counts the steps that checkpoints keep, where no copy of them can be put back.
    pub witness: Option<&'a dyn Witness>,
    /// How many threads; the result is the same. Coordinate descent has one, whatever is said: each of its steps waits
    /// for the one before.
    pub threads: Option<NonZero<usize>>,
    /// Bits for the noise. With [`danger::seeded`](sordino_noise::danger::seeded) ones the guarantee says that it is
    /// void.
    pub bits: Option<&'a mut dyn Bits>,
}

impl FitOptions<'_> {
    /// Whether the bits for the noise come from a seed.
    pub fn is_seeded(&self) -> bool {
        self.bits.as_ref().is_some_and(|bits| bits.is_seeded())
    }
}

/// How much noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// The least that costs at most this.
    Budget {
        /// ε.
        epsilon: Epsilon,
        /// δ.
        delta: Delta,
    },
    /// So much a step, in clip norms.
    Multiplier(NoiseMultiplier),
}

/// Checks that a permit pays for a claim, and promises it to the unit that the schema speaks of: an event for records
/// is no promise to users, who may have many. Where bits are seeded, the permit must allow it, and is marked.
pub fn check_permit(
    permit: Permit,
    claim: &Claim,
    encoding: &Encoding,
    is_seeded: bool,
) -> Result<Permit, OptimError> {
    permit.covers(claim, &encoding.schema().unit().unit())?;
    Ok(permit.drawn_with(is_seeded)?)
}

/// Checks that `data` is what a plan was made for: encoding, size, records a unit, and a target to learn. Looks at
/// shapes alone.
pub fn check_data(encoding: &Encoding, n: u64, data: &Encoded) -> Result<(), OptimError> {
    if data.encoding() != encoding {
        return Err(OptimError::OtherEncoding);
    }
    if data.slots() as u64 != n {
        return Err(OptimError::OtherData { planned: n, slots: data.slots() });
    }
    // The plan's event is for units of so many records; a table that was bounded by another schema may have more.
    if *data.limit() != ContributionLimit::of(encoding.schema().unit()) {
        return Err(OptimError::OtherLimit);
    }
    if data.has_target() { Ok(()) } else { Err(OptimError::NoTarget) }
}

/// Checks that n is public under the relation: learners divide by it.
pub fn check_public_size(neighbours: Neighbours) -> Result<(), OptimError> {
    if neighbours.has_public_size() { Ok(()) } else { Err(OptimError::PrivateSize { neighbours }) }
}
