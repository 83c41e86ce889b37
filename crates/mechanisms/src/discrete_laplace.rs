//! Discrete Laplace mechanism: one integer, pure privacy.
//!
//! # Definition
//! With `r = exp(-1/t)`, the answer plus an integer Z is released:
//! ```text
//! P[Z = z] = (1 - r) / (1 + r) * r^|z|,     t >= Δ/ε                                        (1)
//! ```
//! # Guarantee
//! If neighbours move the answer by at most Δ, the release is ε-private under the same relation:
//! shifting (1) by Δ changes no probability by more than a factor `exp(Δ/t) <= exp(ε)` (Ghosh,
//! Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", 2009). t is the
//! quotient rounded up, and the sampler draws for exactly that t.
//!
//! # Pitfalls
//! - Never swap in a floating-point Laplace: the gaps between doubles show the answer (Mironov, "On
//!   significance of the least significant bits for differential privacy", 2012).
//! - Δ means nothing without a relation, so [`Shift`] carries one.
//! - Rounding or clamping the *result* is free; rounding a real answer before the noise moves it by
//!   one more unit.

use sordino_noise::{Bits, DiscreteLaplace as Noise};
use sordino_privacy::{Epsilon, Event, Scale};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism, clamped};
use crate::protection::Protection;
use crate::shift::{Shift, scale_for};

/// Adds two-sided geometric noise to one integer.
///
/// ```
/// use sordino_mechanisms::{DiscreteLaplace, Mechanism, Shift};
/// use sordino_privacy::{Epsilon, Neighbours};
/// // Ages clamped to 0..=120, one person becoming another.
/// let ages = Shift::sum(0, 120, Neighbours::Replace)?;
/// let mechanism = DiscreteLaplace::new(Epsilon::new(0.5)?, ages)?;
/// assert_eq!(mechanism.error_at(0.95), 719.0);
/// # Ok::<(), sordino_mechanisms::MechanismError>(())
/// ```
#[derive(Debug)]
pub struct DiscreteLaplace {
    noise: Noise,
    scale: Scale,
    shift: Shift,
}

impl DiscreteLaplace {
    /// The least noise for ε. Fails for ε = 0, and for a scale beyond 64-bit draws.
    pub fn new(epsilon: Epsilon, shift: Shift) -> Result<Self, MechanismError> {
        Self::with_scale(scale_for(shift.most().get(), epsilon)?, shift)
    }

    /// Noise of a given scale t.
    pub fn with_scale(scale: Scale, shift: Shift) -> Result<Self, MechanismError> {
        Ok(Self { noise: Noise::with_scale(scale.get())?, scale, shift })
    }

    /// The scale t of (1).
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The least w that the noise exceeds with probability at most 1 - `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        accuracy::discrete_laplace(self.scale.get(), accuracy::miss(confidence))
    }

    pub(crate) fn noisy<R: Bits + ?Sized>(&self, answer: i64, bits: &mut R) -> i64 {
        clamped(i128::from(answer) + self.noise.sample(bits))
    }
}

impl Mechanism for DiscreteLaplace {
    type Answer<'a> = i64;
    type Output = i64;

    fn protection(&self) -> &Protection {
        self.shift.protection()
    }

    fn event(&self) -> Event {
        Event::DiscreteLaplace { scale: self.scale, sensitivity: self.shift.most() }
    }

    fn draw<R: Bits + ?Sized>(&self, answer: i64, bits: &mut R, _: &Covered) -> Result<i64, MechanismError> {
        Ok(self.noisy(answer, bits))
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{chi_square, count, epsilon, histogram, permit, reveals_at_most};

    const CELLS: i64 = 60;

    fn mechanism(epsilon_: f64, most: u64) -> DiscreteLaplace {
        DiscreteLaplace::new(epsilon(epsilon_), Shift::new(count(most), Neighbours::AddRemove)).unwrap()
    }

    /// Equation (1), typed again from the definition, for results from -CELLS to CELLS around an
    /// answer; the end cells have the tails.
    fn masses(scale: f64, answer: i64) -> Vec<f64> {
        let r = (-1.0 / scale).exp();
        let pmf = |z: i64| (1.0 - r) / (1.0 + r) * r.powf(z.unsigned_abs() as f64);
        let mut masses: Vec<f64> = (-CELLS..=CELLS).map(|k| pmf(k - answer)).collect();
        let last = masses.len() - 1;
        masses[0] = r.powf((answer + CELLS) as f64) / (1.0 + r);
        masses[last] = r.powf((CELLS - answer) as f64) / (1.0 + r);
        masses
    }

    fn follows(mechanism: &DiscreteLaplace, scale: f64) -> Result<(), String> {
        let draw = |z: i64| (z.clamp(-CELLS, CELLS) + CELLS) as usize;
        let counts = histogram(2 * CELLS as usize + 1, 100_000, 11, |bits| draw(mechanism.noisy(3, bits)));
        chi_square(&counts, &masses(scale, 3))
    }

    /// Closed forms of Ghosh, Roughgarden and Sundararajan at Δ = 1, to 12 digits.
    #[test]
    fn textbook_values() {
        let at = |epsilon: f64| masses(mechanism(epsilon, 1).scale().get(), 0);
        let (one, tenth) = (at(1.0), at(0.1));
        let middle = CELLS as usize;
        assert!((one[middle] - 0.462_117_157_260_0).abs() < 1e-12);
        assert!((one[middle + 1] - 0.170_003_401_568_5).abs() < 1e-12);
        assert!((tenth[middle] - 0.049_958_374_957_88).abs() < 1e-13);
        assert!(((one[middle] / one[middle + 1]).ln() - 1.0).abs() < 1e-14);
        let variance = |epsilon: f64| {
            let r = (-1.0 / mechanism(epsilon, 1).scale().get()).exp();
            (-3000i32..=3000).map(|k| f64::from(k * k) * (1.0 - r) / (1.0 + r) * r.powi(k.abs())).sum::<f64>()
        };
        assert!((variance(1.0) - 1.841_347_188_416).abs() < 1e-11);
        assert!((variance(0.1) - 199.833_416_633_6).abs() < 1e-8);
    }

    #[test]
    fn draws_follow_the_definition() {
        for (epsilon, most) in [(1.0, 1), (0.5, 2), (0.3, 1)] {
            follows(&mechanism(epsilon, most), most as f64 / epsilon).unwrap();
        }
    }

    #[test]
    fn no_output_reveals_more_than_epsilon() {
        for (epsilon, most) in [(0.1, 1), (0.5, 2), (2.0, 7)] {
            let scale = mechanism(epsilon, most).scale().get();
            for moved in 0..=most as i64 {
                reveals_at_most(epsilon, &masses(scale, 0), &masses(scale, moved)).unwrap();
            }
        }
    }

    #[test]
    fn broken_twins_are_caught() {
        let shift = Shift::new(count(2), Neighbours::AddRemove);
        let half = DiscreteLaplace::with_scale(Scale::new(2.0).unwrap(), shift).unwrap();
        follows(&half, 4.0).unwrap_err(); // half of the noise of ε = 0.5
        reveals_at_most(0.5, &masses(half.scale().get(), 0), &masses(half.scale().get(), 2)).unwrap_err();
        let off_by_two = mechanism(0.5, 2).scale().get(); // and an answer that moves by 4
        reveals_at_most(0.5, &masses(off_by_two, 0), &masses(off_by_two, 4)).unwrap_err();
    }

    #[test]
    fn the_stated_error_is_met_and_not_by_far() {
        let mechanism = mechanism(0.2, 1);
        let w = mechanism.error_at(0.95);
        // P[|Z| <= w], by adding up (1).
        let r = (-0.2f64).exp();
        let inside =
            |w: f64| (-(w as i32)..=w as i32).map(|k| (1.0 - r) / (1.0 + r) * r.powi(k.abs())).sum::<f64>();
        assert!(inside(w) >= 0.95 && inside(w - 1.0) < 0.95);
        assert_eq!(mechanism.error_at(1.0), f64::INFINITY);
    }

    #[test]
    fn edges() {
        let small = mechanism(1.0, 1);
        let release = small.release(i64::MAX, permit(&small)).unwrap();
        assert!(*release.value() > i64::MAX / 2, "clamped, never wrapped");
        assert!(release.guarantee().holds() && release.guarantee().epsilon.upper <= 1.0);
        let shift = Shift::count(Neighbours::AddRemove).unwrap();
        assert!(matches!(DiscreteLaplace::new(epsilon(0.0), shift.clone()), Err(MechanismError::NoBudget)));
        assert!(DiscreteLaplace::new(epsilon(1e-17), shift).is_err(), "beyond 64-bit draws");
    }
}
