//! The face that every mechanism has, and the one path from a permit to a release.

use sordino_noise::{Bits, entropy};
use sordino_privacy::{Claim, Event, Neighbours, Permit, Release, Unit};

use crate::error::MechanismError;
use crate::protection::Protection;

/// A way to release one answer: its price first, then the answer against a permit.
///
/// A mechanism says whom it protects, what a release costs and how it draws. The release path is
/// the same for all: check the permit, draw, seal.
///
/// # Contract
/// - [`event`](Self::event) and [`protection`](Self::protection) depend on public parameters only.
/// - Whether a release fails does not depend on the values of the answer (its length is public).
/// - A permit for another event, other parameters, another relation or another unit is refused
///   before the answer is looked at.
/// - What was drawn from a seed is marked as such in the guarantee; a permit that does not allow it
///   is refused before a bit is drawn.
pub trait Mechanism {
    /// What is protected.
    type Answer<'a>;
    /// What leaves.
    type Output;

    /// The relation and the unit for which sensitivities were stated.
    fn protection(&self) -> &Protection;

    /// The cost of one release, in the accountant's language.
    fn event(&self) -> Event;

    /// The noisy answer, not yet sealed. Callers use [`release`](Self::release): only it has the
    /// evidence that a permit covers the draw.
    fn draw<R: Bits + ?Sized>(
        &self,
        answer: Self::Answer<'_>,
        bits: &mut R,
        covered: &Covered,
    ) -> Result<Self::Output, MechanismError>;

    /// The relation under which sensitivities were stated.
    fn neighbours(&self) -> Neighbours {
        self.protection().neighbours()
    }

    /// The unit for which sensitivities were stated.
    fn unit(&self) -> &Unit {
        self.protection().unit()
    }

    /// The cost, under the relation.
    fn claim(&self) -> Claim {
        Claim::new(self.neighbours(), self.event())
    }

    /// Releases `answer` with noise from the operating system's entropy.
    fn release(
        &self,
        answer: Self::Answer<'_>,
        permit: Permit,
    ) -> Result<Release<Self::Output>, MechanismError> {
        self.release_with(answer, permit, &mut entropy()?)
    }

    /// The same with given bits. With [`danger::seeded`](sordino_noise::danger::seeded) bits the
    /// guarantee says that it is void.
    fn release_with<R: Bits + ?Sized>(
        &self,
        answer: Self::Answer<'_>,
        permit: Permit,
        bits: &mut R,
    ) -> Result<Release<Self::Output>, MechanismError> {
        sealed(self, permit, bits, |bits, covered| self.draw(answer, bits, covered))
    }
}

/// Evidence that a permit covers what is being drawn. Only the release path makes it, and lends it
/// for one draw.
///
/// ```compile_fail
/// let forged = sordino_mechanisms::Covered(());
/// ```
#[derive(Debug)]
pub struct Covered(());

impl Covered {
    #[cfg(test)]
    pub(crate) fn by_no_permit() -> Self {
        Self(())
    }
}

/// Draws only if the permit covers the mechanism's claim and unit, and seals what was drawn.
pub(crate) fn sealed<M: Mechanism + ?Sized, R: Bits + ?Sized, T>(
    mechanism: &M,
    permit: Permit,
    bits: &mut R,
    draw: impl FnOnce(&mut R, &Covered) -> Result<T, MechanismError>,
) -> Result<Release<T>, MechanismError> {
    let claim = mechanism.claim();
    permit.covers(&claim, mechanism.unit())?;
    let permit = permit.drawn_with(bits.is_seeded())?;
    let value = draw(bits, &Covered(()))?;
    Ok(permit.seal(&claim.event, value)?)
}

/// A noisy answer as an integer of 64 bits.
///
/// Clamping the sum is post-processing. Clamping the noise before it is added would change its
/// distribution, and wrapping would throw a large answer to the far side.
pub(crate) fn clamped(noisy: i128) -> i64 {
    // Proof: within the range of the type after clamping.
    noisy.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
