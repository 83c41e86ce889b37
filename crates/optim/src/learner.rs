//! The interface of every learner: it states its price first, then fits a model against a permit.
//!
//! # The gate
//! Every fit calls [`check_permit`] and then [`check_data`] before it reads a record. The permit
//! must pay for the plan's claim, under its relation, for the unit of the schema, and must allow
//! seeded noise if bits are seeded. The data must have the encoding, the number of slots and the
//! limit of records per unit that the plan was made for.
//!
//! # What steps cost
//! A fit pays for all its steps before the first. A fit that was stopped on request
//! resumes at no further cost. After a crash, the steps since the last checkpoint are
//! charged again ([`StepwisePlan::replay_claim`]), and the guarantee of the result covers
//! both charges; see [`Checkpoint`].

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use sordino_data::{ContributionLimit, Encoded, Encoding};
use sordino_noise::{Bits, EntropyError, entropy};
use sordino_privacy::{Claim, Delta, Epsilon, Neighbours, NoiseMultiplier, Paid, Permit, Release};

use crate::checkpoint::{Checkpoint, Checkpoints, Witness};
use crate::error::OptimError;
use crate::progress::Progress;

/// A learner with all its numbers, before it is paid for.
///
/// # Contract
/// - [`claim`](Self::claim) depends on public numbers only. So does whether a fit fails.
/// - A permit for another event, other parameters, another relation or another unit is
///   refused before a record is read.
/// - The guarantee says if noise was seeded. A permit that does not allow seeds
///   is refused before a bit is drawn.
pub trait LearningPlan {
    /// The model.
    type Model;
    /// Why a fit failed.
    type Error: From<OptimError> + From<EntropyError>;

    /// The claim that a permit must pay for.
    fn claim(&self) -> Claim;

    /// Fits a model to `data`, with noise from the operating system's entropy.
    fn fit(&self, data: &Encoded, permit: Permit) -> Fitted<Self> {
        self.fit_with(data, permit, &mut entropy()?)
    }

    /// Fits a model with the given bits. Bits from
    /// [`danger::seeded`](sordino_noise::danger::seeded) void the guarantee, which says so.
    fn fit_with(&self, data: &Encoded, permit: Permit, bits: &mut dyn Bits) -> Fitted<Self>;
}

/// The result of a fit: a released model, or the reason why there is none.
pub type Fitted<P> = Result<Release<<P as LearningPlan>::Model>, <P as LearningPlan>::Error>;

/// A plan whose fit can be watched, stopped and resumed.
pub trait StepwisePlan: LearningPlan {
    /// The number of steps, as progress and checkpoints count them: steps of gradient descent, or
    /// passes over all coordinates of coordinate descent.
    fn steps(&self) -> u64;

    /// Fits as `fit` does, with progress, cancellation and checkpoints.
    fn fit_under(&self, data: &Encoded, permit: Permit, options: FitOptions<'_>) -> Fitted<Self>;

    /// The claim that must be paid before a fit can resume from `checkpoint`: the
    /// steps that may be done a second time.
    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, Self::Error>;

    /// Resumes from a checkpoint, against a permit for [`replay_claim`](Self::replay_claim). The
    /// guarantee of the result covers this charge and the earlier ones, of which `paid` is the
    /// evidence. `options` must write checkpoints to the file that `checkpoint` was read from,
    /// unless the permit pays for all remaining steps.
    fn resume(&self, data: &Encoded, from: Stopped, permit: Permit, options: FitOptions<'_>) -> Fitted<Self>;
}

/// Where a fit stopped, and the evidence of what was paid for it.
#[derive(Debug)]
pub struct Stopped {
    /// Its last checkpoint.
    pub checkpoint: Checkpoint,
    /// Its charges so far.
    pub paid: Paid,
}

/// Options of a fit with steps.
#[derive(Default)]
pub struct FitOptions<'a> {
    /// Called after each step, with public things only.
    pub progress: Option<&'a mut dyn FnMut(Progress<'_>)>,
    /// Once set, the fit stops before its next step. What was charged stays spent.
    pub cancel: Option<&'a AtomicBool>,
    /// Where and how often to write checkpoints.
    pub checkpoints: Option<Checkpoints>,
    /// Counts steps outside the checkpoint's folder, so that an old copy of it is detected.
    pub witness: Option<&'a dyn Witness>,
    /// The number of threads; the result does not depend on it. Coordinate descent always has one:
    /// each of its steps needs the one before.
    pub threads: Option<NonZero<usize>>,
    /// Bits for the noise. Bits from [`danger::seeded`](sordino_noise::danger::seeded)
    /// void the guarantee, which says so.
    pub bits: Option<&'a mut dyn Bits>,
}

impl FitOptions<'_> {
    /// Whether the bits for the noise come from a seed.
    pub fn is_seeded(&self) -> bool {
        self.bits.as_ref().is_some_and(|bits| bits.is_seeded())
    }
}

/// The amount of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// The least noise whose cost is within (ε, δ).
    Budget {
        /// ε.
        epsilon: Epsilon,
        /// δ.
        delta: Delta,
    },
    /// The noise of each step, in clip norms.
    Multiplier(NoiseMultiplier),
}

/// Checks that a permit pays for a claim, and protects the unit of the schema: an event for
/// records does not protect users with many records. If bits are seeded, the permit must
/// allow it, and is marked as seeded.
pub fn check_permit(
    permit: Permit,
    claim: &Claim,
    encoding: &Encoding,
    is_seeded: bool,
) -> Result<Permit, OptimError> {
    permit.covers(claim, &encoding.schema().unit().unit())?;
    Ok(permit.drawn_with(is_seeded)?)
}

/// Checks that `data` is what a plan was made for: encoding, number of slots, limit of records per
/// unit, and a target. Looks at shapes only.
pub fn check_data(encoding: &Encoding, n: u64, data: &Encoded) -> Result<(), OptimError> {
    if data.encoding() != encoding {
        return Err(OptimError::OtherEncoding);
    }
    if data.slots() as u64 != n {
        return Err(OptimError::OtherData { planned: n, slots: data.slots() });
    }
    // The plan's event assumes this limit; a table that another schema has
    // bounded may have more records per unit.
    if *data.limit() != ContributionLimit::of(encoding.schema().unit()) {
        return Err(OptimError::OtherLimit);
    }
    if data.has_target() { Ok(()) } else { Err(OptimError::NoTarget) }
}

/// Checks that n is public under the relation, since learners divide by n.
pub fn check_public_size(neighbours: Neighbours) -> Result<(), OptimError> {
    if neighbours.has_public_size() { Ok(()) } else { Err(OptimError::PrivateSize { neighbours }) }
}
