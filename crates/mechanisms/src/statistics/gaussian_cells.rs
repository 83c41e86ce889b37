//! Discrete Gaussian noise on counts of keys, as histograms have it.
//!
//! # Guarantee
//! One neighbour moves c counts by at most m each: c = k for a contributor who appears or
//! disappears, 2 k for one who becomes another and leaves k keys for k others (see
//! [`Contributor`]), and never more than there are keys. In L2 that is `sqrt(c) m`, and independent
//! noise of
//! ```text
//! sigma^2 = c m^2 / (2ρ)                                                                               (1)
//! ```
//! on each count makes all of them together ρ-zCDP (Canonne, Kamath, Steinke, "The discrete
//! Gaussian for differential privacy", 2020, Theorem 4, added up over independent coordinates). The
//! limits on an owner are drawn from the owner's rows alone, so that a release is a mixture over
//! draws which neighbours share; no mixture has more divergence than the worst of its parts.
//!
//! # Event
//! If only one count moves, the event is that of one integer, with a loss distribution of its own.
//! Otherwise it is `zcdp`: a vector with discrete noise is not the scalar event at its L2 norm.

use sordino_noise::Bits;
use sordino_privacy::{Count, Event, Rho, Scale};

use super::contributor::Contributor;
use crate::accuracy;
use crate::discrete_gaussian::DiscreteGaussian;
use crate::error::MechanismError;
use crate::mechanism::Mechanism;

#[derive(Debug)]
pub(super) struct GaussianCells {
    rho: Rho,
    noise: DiscreteGaussian,
    one_moves: bool,
}

impl GaussianCells {
    /// Noise for the counts of at most `keys` keys. Fails for ρ = 0, for sigma beyond 2^40, and for
    /// a relation without rows.
    pub(super) fn new(rho: Rho, keys: u64, who: &Contributor) -> Result<Self, MechanismError> {
        let moved = who.moved_counts()?.min(keys);
        if rho.get() == 0.0 {
            return Err(MechanismError::NoBudget);
        }
        let sigma = who.rows() as f64 * (moved as f64 / (2.0 * rho.get())).sqrt();
        // Quotient, root and product are each within half a unit of the last place: four units are
        // more than all of them.
        let sigma = Scale::new(sigma * (1.0 + 4.0 * f64::EPSILON))?;
        let shift = who.shift(Count::new(who.rows())?);
        Ok(Self { rho, noise: DiscreteGaussian::with_sigma(sigma, shift)?, one_moves: moved == 1 })
    }

    /// sigma of (1).
    pub(super) fn sigma(&self) -> Scale {
        self.noise.sigma()
    }

    pub(super) fn event(&self) -> Event {
        if self.one_moves { self.noise.event() } else { Event::Zcdp { rho: self.rho } }
    }

    /// A whole number that the noise of none of `cells` counts exceeds, with probability at least
    /// `confidence`.
    pub(super) fn error_at(&self, confidence: f64, cells: usize) -> f64 {
        self.noise.error_at(1.0 - accuracy::miss_of_each(confidence, cells))
    }

    pub(super) fn noisy<R: Bits + ?Sized>(&self, count: i64, bits: &mut R) -> i64 {
        self.noise.noisy(count, bits)
    }
}
