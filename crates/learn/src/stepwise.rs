//! Fits of many steps: watched, stopped, kept and resumed.
//!
//! # What it costs
//! A fit pays for all its steps before the first. Stopped on request, it goes on for nothing. After a crash the steps that no checkpoint knows of are
//! charged again ([`StepwisePlan::replay_claim`]), and the guarantee of the result is that of both charges; see [`Checkpoint`].

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use sordino_data::Encoded;
use sordino_noise::{Bits, entropy};
use sordino_optim::{Checkpoint, Checkpoints, Progress};
use sordino_privacy::{Claim, Permit, Release};

use crate::error::LearnError;
use crate::plan::LearningPlan;

/// A plan whose fit can be watched, stopped, and go on later.
pub trait StepwisePlan: LearningPlan {
    /// How many steps progress and checkpoints count: those of gradient descent, passes over all coordinates of coordinate descent.
    fn steps(&self) -> u64;

    /// Learns as `fit` does, and is watched, stopped or kept on the way.
    fn fit_under(
        &self,
        data: &Encoded,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<Self::Model>, LearnError>;

    /// What must be charged before a fit can go on from `checkpoint`: the steps that may be done a second time.
    fn replay_claim(&self, checkpoint: &Checkpoint) -> Result<Claim, LearnError>;

    /// Goes on from a checkpoint, against a permit for [`replay_claim`](Self::replay_claim). The guarantee of the result is that of both charges
    /// together. Unless all that is left was charged, as for a copy, `options` must name the checkpoint's own place.
    fn resume(
        &self,
        data: &Encoded,
        checkpoint: Checkpoint,
        permit: Permit,
        options: FitOptions<'_>,
    ) -> Result<Release<Self::Model>, LearnError>;
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
    /// How many threads; the result is the same. Coordinate descent has one, whatever is said: each of its steps waits for the one before.
    pub threads: Option<NonZero<usize>>,
    /// Bits for the noise. With [`danger::seeded`](sordino_noise::danger::seeded) ones the guarantee says that it is void.
    pub bits: Option<&'a mut dyn Bits>,
}

/// Whom bits come from: given ones, or the operating system, asked anew each time.
pub(crate) struct Source<'a>(Option<&'a mut dyn Bits>);

impl<'a> Source<'a> {
    pub(crate) fn new(given: Option<&'a mut dyn Bits>) -> Self {
        Self(given)
    }

    pub(crate) fn is_seeded(&self) -> bool {
        self.0.as_ref().is_some_and(|bits| bits.is_seeded())
    }

    pub(crate) fn draw<T>(
        &mut self,
        draw: impl FnOnce(&mut dyn Bits) -> Result<T, LearnError>,
    ) -> Result<T, LearnError> {
        match &mut self.0 {
            Some(bits) => draw(*bits),
            None => draw(&mut entropy()?),
        }
    }
}
